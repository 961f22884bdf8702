"""Newton's method on the primal problem, in the basis of the method's own table: for tall data, and for large C.

With f = Σ_j c_j · (s_j G φ) the unknowns are c, `width` a feature and one for the intercept, whatever the number of
rows. The gradient is c − Σ_i α_i y_i φ(x_i) in the metric of the kernel, with α_i = −C_i loss′_i, and the Hessian

    H v = v + Σ_{i in Z} σ_i φ(x_i) (φ(x_i) · s G v)

sums over the rows Z on the curved part of the loss. Conjugate gradients need products with it only, and those need only
codes: no matrix of the rows' features is formed (native/products.hpp).

The squared hinge is smooth: σ_i = 2 C_i on the rows with a loss. The hinge is not, so it is approached by proximal
steps on its dual (the method of multipliers, Rockafellar 1976): with the α of the last step and σ_i = C_i, or more once
such steps come easily,

    α_i(f) = clip(α_i + σ_i (1 − y_i f(x_i)), 0, C_i)

is what stands for −C_i loss′_i, and Z are the rows strictly between the bounds. Each proximal problem is smooth, and
their solutions reach that of the hinge itself, with no smoothing left over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..native import native_table
from .problem import BinaryProblem

Array = NDArray[np.float64]
Rows = NDArray[np.int32]

# Rows whose margin is clear by this much are left out, until the exact gap says otherwise.
_CLEAR = 1.0
# Steps on one proximal problem before the next, if the objective falls: its exact solution is not worth more. Otherwise
# it is solved, in at most so many.
_STEPS_A_CENTRE, _MOST_STEPS_A_CENTRE = 3, 30
# A proximal problem is solved when the squared norm of its gradient is this part of the gap, and was easy, so that the
# next may be sharper, at that.
_SOLVED, _EASY = 1e-3, 0.05
_CG_ITERATIONS, _CG_REDUCTION = 30, 0.1
# σ_i begins at C_i, or at this over the mean of K(x, x): a sharper start makes the first problems too hard.
_FIRST_SHARPNESS = 100.0
_MOST_SHARPENING = 4.0**6
# Cells a call of the core may touch, about 50 ms, so that Ctrl-C is heard; and rows, as it adds up in float32.
_CELLS_A_CALL, _ROWS_A_CALL = 20_000_000, 131_072

# Called after every step with the dual objective, the gap and the size of Z; returning True stops there.
OnStep = Callable[[float, float, int], bool]


def applies_to(problem: BinaryProblem) -> bool:
    """Whether the pair of tables has a primal problem at all."""
    return problem.pair.symmetric


@dataclass(frozen=True)
class Curve:
    """A function of the space: coefficients c, and W = s G c, its values at the slots. The intercept is the last."""

    c: Array
    W: Array

    def dot(self, other: Curve) -> float:
        """Return the inner product of the kernel's space."""
        return float(self.c @ other.W)

    def plus(self, step: float, other: Curve) -> Curve:
        """Return self + step · other."""
        return Curve(self.c + step * other.c, self.W + step * other.W)


class _Space:
    """The products with a problem's rows, and the norm of its kernel."""

    def __init__(self, problem: BinaryProblem, n_threads: int, interrupted: threading.Event) -> None:
        self.problem = problem
        self.n_threads = n_threads
        self.interrupted = interrupted
        self.table = native_table(problem.pair.read)
        self.size = problem.data.n_features * problem.pair.width + 1
        cells_a_row = max(1, problem.data.n_cells // max(1, problem.data.n_rows))
        self.rows_a_call = min(max(1, _CELLS_A_CALL // cells_a_row), _ROWS_A_CALL)

    def curve(self, c: Array) -> Curve:
        slots = c[:-1].reshape(self.problem.data.n_features, -1)
        gram = self.problem.pair.gram
        W = np.empty_like(c)
        W[:-1] = ((slots if gram is None else slots @ gram) * self.problem.scales[:, None]).ravel()
        W[-1] = c[-1] * self.problem.intercept_square
        return Curve(c, W)

    def values(self, curve: Curve, rows: Rows) -> Array:
        """f(x_i) of these rows of the data."""
        out = np.empty(rows.size)
        weights = curve.W.astype(np.float32)
        for part in self._parts(rows):
            _core.read_members(self.problem.data.native, self.table, weights, rows[part], out[part], self.n_threads)
        return out + curve.W[-1]

    def sum(self, t: Array, rows: Rows) -> Curve:
        """Σ_i t_i φ(x_i)."""
        c = np.zeros(self.size)
        for part in self._parts(rows):
            _core.add_members(self.problem.data.native, self.table, t[part], rows[part], c, self.n_threads)
        c[-1] = t.sum()
        return self.curve(c)

    def image(self, curve: Curve, s: NDArray[np.float32], rows: Rows) -> Curve:
        """Σ_i s_i v(x_i) φ(x_i) of a curve v, in one pass over the rows."""
        c = np.zeros(self.size)
        weights = curve.W.astype(np.float32)
        for part in self._parts(rows):
            _core.add_image(self.problem.data.native, self.table, weights, s[part], rows[part], c, self.n_threads)
        return self.curve(c)

    def _parts(self, rows: Rows) -> Iterator[slice]:
        for k in range(0, rows.size, self.rows_a_call):
            if self.interrupted.is_set():
                raise KeyboardInterrupt
            yield slice(k, k + self.rows_a_call)


class _Loss:
    """The loss of the rows at hand, made smooth around the α of the last proximal step, the centre."""

    def __init__(self, problem: BinaryProblem, chosen: NDArray[np.int64], alpha: Array, sharpness: float) -> None:
        self.is_hinge = problem.loss == "hinge"
        self.signs = problem.signs[chosen]
        self.cost = problem.cost[chosen]
        self.sigma = sharpness * self.cost if self.is_hinge else 2.0 * self.cost
        self.bound = problem.bound[chosen]
        self.centre = alpha if self.is_hinge else np.zeros(chosen.size)

    def alpha(self, margin: Array) -> Array:
        """−C_i loss′_i."""
        return np.clip(self.centre + self.sigma * margin, 0.0, self.bound)

    def smooth(self, margin: Array, alpha: Array) -> float:
        return float((alpha * margin - (alpha - self.centre) ** 2 / (2.0 * self.sigma)).sum())

    def primal(self, margin: Array) -> float:
        excess = np.maximum(margin, 0.0)
        return float((self.cost * (excess if self.is_hinge else excess * excess)).sum())

    def dual(self, alpha: Array) -> float:
        return float(alpha.sum() if self.is_hinge else (alpha - alpha * alpha / (4.0 * self.cost)).sum())


class Newton:
    """Newton's iteration from `alpha`: the curve f, and the rows not clear of its margin with their 1 − y f(x) and α.

    All rows are looked at whenever the proximal centre moves; between, those that are clear are left out.
    """

    def __init__(self, problem: BinaryProblem, alpha: Array, n_threads: int, interrupted: threading.Event) -> None:
        self.problem = problem
        self.space = _Space(problem, n_threads, interrupted)
        self.members = np.arange(problem.data.n_rows, dtype=np.int32) if problem.members is None else problem.members
        support = np.flatnonzero(alpha)
        self.f = self.space.sum((alpha * problem.signs)[support], self.members[support])
        curvature = float(np.mean(problem.cost) * np.mean(problem.curvature))
        self.sharpness = min(1.0, _FIRST_SHARPNESS / curvature) if curvature > 0.0 else 1.0
        self.sharpest = _MOST_SHARPENING * self.sharpness
        self._move_centre(alpha)

    def run(self, tol: float, max_steps: int, on_step: OnStep) -> Array:
        """At most `max_steps` looks at the gap, with steps between, until it is `tol` times the objective.

        Returns the best α seen.
        """
        best, smallest, steps_here, primal_before = self._all_alpha(), np.inf, 0, np.inf
        for look in range(1, max_steps + 1):
            gradient = self._gradient()
            represented = self.f.plus(-1.0, gradient)  # Σ α_i y_i φ(x_i): the curve that α stands for
            primal = 0.5 * self.f.dot(self.f) + self.loss.primal(self.margin)
            dual = self.loss.dual(self.alpha) - 0.5 * represented.dot(represented)
            gap = max(primal - dual, 0.0)
            if gap < smallest:
                best, smallest = self._all_alpha(), gap
            done = gap <= tol * primal and self._loss_left_out() <= tol * primal
            if on_step(dual, gap, self._curved().size) or done or look == max_steps or not np.isfinite(gap):
                break
            squared = gradient.dot(gradient)
            solved = squared <= _SOLVED * gap
            falls = primal <= primal_before
            if solved or gap <= tol * primal or (falls and steps_here >= _STEPS_A_CENTRE):
                self.sharpness = min(self.sharpness * (4.0 if squared <= _EASY * gap else 1.0), self.sharpest)
                self._move_centre(self._all_alpha())
                gradient, steps_here, primal_before = self._gradient(), 0, primal
            if steps_here == _MOST_STEPS_A_CENTRE or not self._step(gradient):
                break
            steps_here += 1
        return best

    def _loss_left_out(self) -> float:
        """The loss of the rows that were clear when the centre last moved."""
        left_out = np.setdiff1d(np.arange(self.problem.n_rows), self.chosen, assume_unique=True)
        margin = 1.0 - self.problem.signs[left_out] * self.space.values(self.f, self.members[left_out])
        return _Loss(self.problem, left_out, np.zeros(left_out.size), 1.0).primal(margin)

    def _move_centre(self, alpha: Array) -> None:
        margin = 1.0 - self.problem.signs * self.space.values(self.f, self.members)
        self.chosen = np.flatnonzero((alpha > 0.0) | (margin > -_CLEAR))
        self.rows = self.members[self.chosen]
        self.margin = margin[self.chosen]
        self.loss = _Loss(self.problem, self.chosen, alpha[self.chosen], self.sharpness)
        self.alpha = self.loss.alpha(self.margin)

    def _all_alpha(self) -> Array:
        alpha = np.zeros(self.problem.n_rows)
        alpha[self.chosen] = self.alpha
        return alpha

    def _curved(self) -> NDArray[np.int64]:
        return np.flatnonzero((self.alpha > 0.0) & (self.alpha < self.loss.bound))

    def _gradient(self) -> Curve:
        support = np.flatnonzero(self.alpha)
        return self.f.plus(-1.0, self.space.sum((self.alpha * self.loss.signs)[support], self.rows[support]))

    def _step(self, gradient: Curve) -> bool:
        """One step along the Newton direction, to the lowest point of the smooth objective; False if there is none."""
        direction = self._solve(gradient)
        change = -self.loss.signs * self.space.values(direction, self.rows)
        linear, quadratic = self.f.dot(direction), direction.dot(direction)

        def slope(step: float) -> float:
            alpha = self.loss.alpha(self.margin + step * change)
            return linear + step * quadratic + float(alpha @ change)

        step = _zero_of(slope)
        if step == 0.0:
            return False
        self.f = self.f.plus(step, direction)
        self.margin = self.margin + step * change
        self.alpha = self.loss.alpha(self.margin)
        return True

    def _solve(self, gradient: Curve) -> Curve:
        """H d = −gradient, by conjugate gradients in the inner product of the kernel."""
        curved = self._curved()
        rows, sigma = self.rows[curved], self.loss.sigma[curved].astype(np.float32)
        zero = np.zeros_like(gradient.c)
        found = Curve(zero, zero)
        residual = found.plus(-1.0, gradient)
        towards = residual
        squared = residual.dot(residual)
        goal = _CG_REDUCTION**2 * squared
        for _ in range(_CG_ITERATIONS):
            image = towards.plus(1.0, self.space.image(towards, sigma, rows))
            curvature = towards.dot(image)
            if not curvature > 0.0:
                break  # nothing left but rounding
            step = squared / curvature
            found = found.plus(step, towards)
            residual = residual.plus(-step, image)
            previous, squared = squared, residual.dot(residual)
            if squared <= goal:
                break
            towards = residual.plus(squared / previous, towards)
        return found


def _zero_of(slope: Callable[[float], float]) -> float:
    """Where a slope that rises from below zero at 0 crosses it, roughly; 0 if it does not begin below. Try 1 first."""
    from scipy.optimize import brentq  # slow to import

    first = slope(0.0)
    if not first < 0.0:
        return 0.0
    end, there = 1.0, slope(1.0)
    if abs(there) <= 0.1 * -first:
        return 1.0
    while there < 0.0 and end < 1e6:
        end *= 4.0
        there = slope(end)
    return float(brentq(slope, 0.0, end, rtol=0.05)) if there > 0.0 else end
