"""Newton's method on the primal problem, in the basis of the method's table: for tall data, and for large C.

With f = Σ_j c_j · (s_j G φ) the unknowns are c, `width` per feature and one for the intercept, whatever the number of
rows. The gradient is c − Σ_i β_i φ(x_i) in the metric of the kernel, with β_i = −c_i ℓ′(t_i, f(x_i)), and the Hessian

    H v = v + Σ_{i in Z} σ_i φ(x_i) (φ(x_i) · s G v)

sums over the rows Z where the loss is curved, σ_i = c_i ℓ″ (newton_system.py). Products with all rows need only codes:
no matrix of their features is formed (newton_space.py).

A loss with a kink (hinge, ε-insensitive) is solved by proximal steps on its dual (the method of multipliers,
Rockafellar 1976). With the β of the last step, the centre, and σ_i = c_i, or more once the steps become easy,

    β_i(f) = argmax_β d_i(β) − f(x_i) β − (β − centre_i)² / 2σ_i

replaces −c_i ℓ′_i. This is the loss's coordinate step with curvature 1 / σ_i; for the hinge, it is clip(α_i +
σ_i (1 − t_i f(x_i)), 0, c_i). Z are the rows strictly between the bounds. Each proximal problem is smooth, and their
solutions converge to that of the loss itself, without smoothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array
from .intercept import Centring, balance, centred_norms
from .newton_sample import sample_of
from .newton_space import Curve, Rows, Space
from .newton_system import System
from .problem import Problem, is_free
from .roots import zero_of_increasing

# Steps on one proximal problem if the objective falls: its exact solution is not worth more. Otherwise it is solved, in
# at most this many steps.
_STEPS_A_CENTRE, _MOST_STEPS_A_CENTRE = 3, 30
# A proximal problem is solved if the squared norm of its gradient is at most the first fraction of the gap. It was
# easy, so that the next one may be sharper, if it is at most the second. Below the third, rounding errors are left.
_SOLVED, _EASY, _EXACT = 1e-3, 0.05, 1e-9
# σ_i starts at this fraction of c_i, so that the loss is curved for rows with margins of 0, where all of them begin; or
# at this divided by the mean of K(x, x), if C is large: a sharper start makes the first problems too hard.
_FIRST_FRACTION, _FIRST_SHARPNESS = 0.1, 100.0
# Values of f are in single precision: a difference of objectives is not known to a smaller fraction of them.
_SINGLE = 1e-6
# A line search ends where the slope is this fraction of the first one.
_FLAT = 0.1
_MOST_SHARPENING = 4.0**6
# The solution of a sample to start from has this gap, if that takes no more than so many steps.
_SAMPLE_TOL, _SAMPLE_STEPS = 0.05, 30
# There, and on all rows from there on, the loss is first smoothed evenly. σ_i begins at these fractions of c_i, and the
# smoothing ends above the next. So many steps are the most for one σ_i.
_FIRST_ANCHORED, _SECOND_ANCHORED = 0.4, 3.2
_SHARP, _STEPS_AN_ANCHOR = 6.0, 5

# Called after every step with the dual objective, the gap and the size of Z; returning True stops.
OnStep = Callable[[float, float, int], bool]


def applies_to(problem: Problem) -> bool:
    """Whether the pair of tables has a primal problem."""
    return problem.pair.symmetric


class _SmoothLoss:
    """The loss of some rows. If it has kinks, it is smoothed around the β of the last proximal step, the centre."""

    def __init__(self, problem: Problem, chosen: NDArray[np.int64], centre: Array, sharpness: float) -> None:
        self.loss = problem.loss
        self.targets = problem.targets[chosen]
        self.cost = problem.cost[chosen]
        self.centre = centre
        if not self.loss.smooth:
            self.sigma = sharpness * self.cost
            self.K = 1.0 / self.sigma
            self.low, self.high = self.loss.bounds(self.targets, self.cost)

    def beta(self, f: Array, out: Array | None = None) -> Array:
        """−c_i ℓ′_i. `out` may be f."""
        if self.loss.smooth:
            slope = np.multiply(self.cost, self.loss.gradient(self.targets, f), out=out)
            return np.negative(slope, out=slope)
        step = self.loss.unbounded_step(self.targets, self.cost, self.centre, f, self.K)
        return np.clip(step, self.low, self.high, out=out)

    def is_curved(self, f: Array, beta: Array) -> NDArray[np.bool_]:
        """ℓ″_i ≠ 0."""
        if self.loss.smooth:
            return self.loss.curvature(self.targets, f) != 0.0
        return is_free(beta, self.low, self.high)

    def curvature(self, f: Array, rows: NDArray[np.int64]) -> Array:
        """c_i ℓ″_i of curved rows."""
        if self.loss.smooth:
            return self.cost[rows] * self.loss.curvature(self.targets[rows], f[rows])
        return self.sigma[rows]

    def primal(self, f: Array) -> float:
        return float((self.cost * self.loss.value(self.targets, f)).sum())

    def dual(self, beta: Array) -> float:
        return float(self.loss.dual(self.targets, self.cost, beta).sum())


class Solution(NamedTuple):
    """The model of some β, with its objective and gap."""

    beta: Array
    weights: NDArray[np.float32]
    intercept: float
    primal: float
    gap: float


class Newton:
    """Newton's iteration from `beta`: the curve f, and the rows that are not idle with their values f(x) and β.

    All rows are evaluated whenever the proximal centre moves; in between, idle rows are left out.
    """

    def __init__(
        self, problem: Problem, beta: Array, intercept: float, n_threads: int, interrupted: threading.Event
    ) -> None:
        self.problem = problem
        self.space = Space(problem, n_threads, interrupted)
        self.system = System(self.space)
        self.members = np.arange(problem.data.n_rows, dtype=np.int32) if problem.members is None else problem.members
        self.f = self._curve(beta, self.members)
        self.intercept_centre = 0.0  # b0 of a free intercept; b − b0 is part of f
        if problem.free_intercept:
            self.intercept_centre = intercept - self.f.W[-1]
        self.centring = Centring.of_norms(problem.curvature) if problem.free_intercept else None
        curvature = float(np.mean(problem.cost) * np.mean(problem.curvature))
        self.sharpness = min(_FIRST_FRACTION, _FIRST_SHARPNESS / curvature) if curvature > 0.0 else _FIRST_FRACTION
        self.sharpest = _MOST_SHARPENING * self.sharpness
        self.anchor: Array | None = None
        self._move_centre(beta)

    @classmethod
    def from_zero(
        cls,
        problem: Problem,
        intercept: float,
        n_threads: int,
        interrupted: threading.Event,
        is_sample: bool = False,
    ) -> Newton:
        """The iteration from β = 0; on many rows, from the solution of a sample.

        Not if C is so large that σ_i begins lower: then the even smoothing takes more steps than it saves.
        """
        method = cls(problem, np.zeros(problem.n_rows), intercept, n_threads, interrupted)
        sample = sample_of(problem) if method.sharpness == _FIRST_FRACTION else None
        if sample is not None:
            of_sample = cls.from_zero(sample, intercept, n_threads, interrupted, is_sample=True)
            of_sample.run(_SAMPLE_TOL, _SAMPLE_STEPS, lambda *_: False)
            method.f, method.intercept_centre = of_sample.best_curve, of_sample.best_centre
            method._anchor(_SECOND_ANCHORED)
        elif is_sample:
            method._anchor(_FIRST_ANCHORED)
        return method

    def _anchor(self, fraction: float) -> None:
        """Let the proximal centre stay in the middle of the bounds until σ_i, now this fraction of c_i, is large."""
        beta = np.zeros(self.problem.n_rows)
        if not self.problem.loss.smooth:
            low, high = self.problem.bounds
            beta = self.anchor = 0.5 * (low + high)
        self.sharpness *= fraction / _FIRST_FRACTION
        self._move_centre(beta)

    def run(self, tol: float, max_steps: int, on_step: OnStep) -> tuple[Array, float]:
        """Take steps until the gap is `tol` times the objective, with at most `max_steps` evaluations of the gap.

        Returns the best β seen, and its intercept.
        """
        best, smallest, steps_here, primal_before = self._point(), np.inf, 0, np.inf
        self.best_curve, self.best_centre = self.f, self.intercept_centre
        for look in range(1, max_steps + 1):
            represented = self._curve(self.beta, self.rows)
            gradient = self.f.plus(-1.0, represented)
            primal = 0.5 * self.f.dot(self.f) + self.loss.primal(self.values)
            total = float(represented.c[-1])
            dual = self.loss.dual(self.beta) - 0.5 * represented.dot(represented) - self.intercept_centre * total
            gap = max(primal - dual, 0.0)
            if self.centring is not None:
                gap += self.centring.imbalance(total)
            if gap < smallest:
                best, smallest = self._point(), gap
                self.best_curve, self.best_centre = self.f, self.intercept_centre
            is_small = gap <= tol * primal and self._loss_left_out() <= tol * primal
            done = is_small and self.solution(*self._point()).gap <= tol * primal
            if (
                on_step(dual, gap, int(np.count_nonzero(self._is_curved())))
                or done
                or look == max_steps
                or not np.isfinite(gap)
            ):
                if done:
                    best = self._point()
                break
            squared = gradient.dot(gradient)
            if self._may_move_on(squared, gap, steps_here, primal <= primal_before, is_small):
                self._move_on(is_easy=squared <= _EASY * gap)
                gradient, steps_here, primal_before = self.f.plus(-1.0, self._curve(self.beta, self.rows)), 0, primal
            if steps_here == _MOST_STEPS_A_CENTRE or not self._step(gradient):
                break
            steps_here += 1
        return best

    def solution(self, beta: Array, intercept: float) -> Solution:
        """The curve of β, balanced if the intercept is free, and its exact gap."""
        problem = self.problem
        if problem.free_intercept:
            beta = balance(beta, problem.bounds, centred_norms(problem))
        curve = self._curve(beta, self.members)
        if not problem.free_intercept:
            intercept = float(curve.W[-1])
        values = self.space.values(curve, self.members) + intercept - curve.W[-1]
        primal = 0.5 * curve.dot(curve) + float((problem.cost * problem.loss.value(problem.targets, values)).sum())
        gap = float(problem.loss.gap(problem.targets, problem.cost, beta, values).sum())
        weights = curve.W[:-1].astype(np.float32).reshape(problem.data.n_columns, -1)
        return Solution(beta, weights, intercept, primal, gap)

    def solution_of_curve(self, beta: Array) -> Solution:
        """The best f that `run` has seen, with its distance from the dual objective of the β that was returned.

        The two differ in that f is not rounded to what β gives: where C and the number of rows are very large, tiny
        errors of β, which have the same sign, add up to another function.
        """
        problem, f = self.problem, self.best_curve
        values = self.space.values(f, self.members) + self.best_centre
        primal = 0.5 * f.dot(f) + float((problem.cost * problem.loss.value(problem.targets, values)).sum())
        if problem.free_intercept:
            beta = balance(beta, problem.bounds, centred_norms(problem))
            primal -= 0.5 * float(f.c[-1] * f.W[-1])
        represented = self._curve(beta, self.members)
        dual = float(problem.loss.dual(problem.targets, problem.cost, beta).sum())
        dual -= 0.5 * represented.dot(represented)
        weights = f.W[:-1].astype(np.float32).reshape(problem.data.n_columns, -1)
        gap = max(primal - dual, _SINGLE * primal)
        return Solution(beta, weights, float(self.best_centre + f.W[-1]), primal, gap)

    def _may_move_on(self, squared: float, gap: float, n_steps: int, falls: bool, is_small: bool) -> bool:
        """Whether the proximal problem is solved as far as it is worth, for the squared norm of its gradient."""
        if is_small:  # the gap of f and β, but not that of β alone: their difference is what is left
            return squared <= _EXACT * gap
        if self._is_anchored:
            return squared <= _EASY * gap or n_steps >= _STEPS_AN_ANCHOR
        return squared <= _SOLVED * gap or (falls and n_steps >= _STEPS_A_CENTRE)

    def _move_on(self, is_easy: bool) -> None:
        """To the next proximal problem, with the present β as its centre unless that is anchored."""
        beta = self._all_beta()
        if self.anchor is not None and self._is_anchored:
            beta, is_easy = self.anchor, True
        self.sharpness = min(self.sharpness * (4.0 if is_easy else 1.0), self.sharpest)
        self._move_centre(beta)

    @property
    def _is_anchored(self) -> bool:
        """Whether the proximal centre stays in the middle of the bounds, so far."""
        return self.anchor is not None and self.sharpness < _SHARP

    def _curve(self, beta: Array, rows: Rows) -> Curve:
        """Σ β_i φ(x_i) over `rows` of the data."""
        support = np.flatnonzero(beta != 0.0)  # faster than of numbers
        return self.space.sum(beta[support], rows[support])

    def _loss_left_out(self) -> float:
        """The loss of the rows that were idle when the centre last moved."""
        left_out = np.setdiff1d(np.arange(self.problem.n_rows), self.chosen, assume_unique=True)
        values = self.space.values(self.f, self.members[left_out]) + self.intercept_centre
        return float(
            (self.problem.cost[left_out] * self.problem.loss.value(self.problem.targets[left_out], values)).sum()
        )

    def _point(self) -> tuple[Array, float]:
        """β and the intercept."""
        return self._all_beta(), float(self.intercept_centre + self.f.W[-1])

    def _move_centre(self, beta: Array) -> None:
        if self.centring is not None:
            self.intercept_centre += float(self.f.W[-1])
            self.f = self.space.curve(np.append(self.f.c[:-1], 0.0))
        values = self.space.values(self.f, self.members) + self.intercept_centre
        self.chosen = np.flatnonzero((beta != 0.0) | ~self.problem.loss.is_idle(self.problem.targets, values))
        self.rows = self.members[self.chosen]
        self.values = values[self.chosen]
        self.loss = _SmoothLoss(self.problem, self.chosen, beta[self.chosen], self.sharpness)
        self.beta = self.loss.beta(self.values)

    def _all_beta(self) -> Array:
        beta = np.zeros(self.problem.n_rows)
        beta[self.chosen] = self.beta
        return beta

    def _is_curved(self) -> NDArray[np.bool_]:
        return self.loss.is_curved(self.values, self.beta)

    def _step(self, gradient: Curve) -> bool:
        """Step along the Newton direction to the minimum of the smooth objective; False if there is none."""
        curved = np.flatnonzero(self._is_curved())
        direction = self.system.solve(gradient, self.rows[curved], self.loss.curvature(self.values, curved))
        change = self.space.values(direction, self.rows)
        linear, quadratic = self.f.dot(direction), direction.dot(direction)

        def slope(step: float) -> float:
            point = step * change  # in place from here: this is called often, on all rows
            point += self.values
            return linear + step * quadratic - float(self.loss.beta(point, out=point) @ change)

        step = _zero_of(slope)
        if step == 0.0:
            return False
        self.f = self.f.plus(step, direction)
        self.values = self.values + step * change
        self.beta = self.loss.beta(self.values)
        return True


def _zero_of(slope: Callable[[float], float]) -> float:
    """Approximate zero of an increasing slope that is negative at 0; 0 if it is not negative there. Tries 1 first."""
    first = slope(0.0)
    if not first < 0.0:
        return 0.0
    end, there = 1.0, slope(1.0)
    if abs(there) <= -_FLAT * first:
        return 1.0
    while there < 0.0 and end < 1e6:
        end *= 4.0
        there = slope(end)
    return zero_of_increasing(slope, 0.0, end, 1e-6 * end, -_FLAT * first) if there > 0.0 else end
