"""All problems of a smooth loss at once: softmax, or several targets; curves, categories and pairs, each with a weight.

    min_θ,b ½‖θ‖² + Σ_i c_i ℓ(y_i, f(x_i)),        f(x) = b + Σ_g √v_g φ_g(x)·θ_g

by L-BFGS (Nocedal, Math. Comp. 1980), which begins each step with the inverse of an approximate Hessian: that of a
sample of the rows, without what couples the classes, in blocks of as many unknowns as can be factored in a moment. On
tables, one block holds all curves, and a few dozen steps are enough for any C. A step costs one pass of reads and one
of sums over the rows.

The loss is smooth, so β = −c ∇ℓ is a dual point, and the gap is exactly ½‖∇‖²: half the squared norm of the gradient in
θ, once b is such that Σ_i β_i = 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..array_types import Array, Indices
from ..joint_losses import JointLoss
from .basis import Basis
from .problem import EpochReport
from .sampled_hessian import SampledHessian

# Called after each step; True stops.
OnReport = Callable[[EpochReport], bool]

_MEMORY = 20  # steps that L-BFGS remembers
# Random vectors for traces, shared among classes; conjugate gradients for each, twice as many for several classes; and
# the share of it that is left.
_PROBES, _TRACE_STEPS, _TRACE_REDUCTION = 2, 20, 0.03
_HALVINGS = 30
# Σβ may be this share of Σc at the end.
_BALANCED, _INTERCEPT_STEPS = 1e-9, 20
# The share of the objective that Σβ may have in the gap before.
_OFF_BALANCE = 1e-3


@dataclass(frozen=True)
class SmoothProblem:
    """A basis, a loss, and the weight v_g of every group. The intercept is free, absent, or penalised by `square`."""

    basis: Basis
    loss: JointLoss
    group_weights: Array
    has_intercept: bool = True
    intercept_square: float = 0.0

    @property
    def root_weights(self) -> Array:
        """√v_g of every unknown."""
        return np.repeat(np.sqrt(self.group_weights), self.basis.sizes)

    def of_rows(self, rows: Indices) -> SmoothProblem:
        """The problem of some of the rows, with the same unknowns."""
        return replace(self, basis=self.basis.of_rows(rows), loss=self.loss.of_rows(rows))

    def with_mean_cost(self, mean: float) -> SmoothProblem:
        """The problem with costs in the same proportion, and this mean."""
        return replace(self, loss=self.loss.with_cost(self.loss.cost * (mean / self.loss.cost.mean())))


@dataclass
class Point:
    """θ with the scaled intercept as its last row, the values F of all rows, and what the loss says of them."""

    theta: Array
    F: Array
    objective: float = 0.0
    gradient: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def gap(self) -> float:
        """½‖∇‖², a certificate if the last row is zero."""
        return 0.5 * float((self.gradient * self.gradient).sum())


@dataclass(frozen=True)
class SmoothResult:
    """The solution: θ scaled by √v, intercepts, and the certificate."""

    theta: Array
    point: Point
    intercepts: Array
    primal: float
    gap: float
    n_iter: int
    converged: bool
    stopped: bool
    history: list[EpochReport]

    @property
    def scaled(self) -> Array:
        """θ scaled by √v, with the intercept as its last row: where another fit may start."""
        return np.concatenate([self.theta, self.point.theta[-1:]])


class LBFGS:
    """One run of L-BFGS on a problem, from zero or from a former point."""

    def __init__(self, problem: SmoothProblem, seed: int = 0) -> None:
        self.problem = problem
        self.basis, self.loss = problem.basis, problem.loss
        self.root = problem.root_weights[:, None]
        self.bias = np.sqrt(problem.intercept_square) if problem.intercept_square > 0.0 else 1.0
        self.penalty = 1.0 if problem.intercept_square > 0.0 or not problem.has_intercept else 0.0
        self.seed = seed

    def start(self, theta: Array | None = None) -> Point:
        """The point of θ, or of zero."""
        if theta is None:
            theta = np.zeros((self.root.size + 1, self.loss.n_problems))
        return self._evaluated(Point(theta, self._values(theta)))

    def run(
        self,
        point: Point,
        hessian: SampledHessian | None,
        tol: float,
        max_iter: int,
        on_report: OnReport,
        history: list[EpochReport],
    ) -> SmoothResult:
        """Step until the gap is `tol` times the objective; `history` is continued."""
        begin = time.perf_counter() - (history[-1].seconds if history else 0.0)
        steps: list[tuple[Array, Array, float]] = []
        first, stopped = len(history), False
        while True:
            if point.gap <= tol * point.objective:
                point = self.with_best_intercept(point)
            gap = point.gap
            report = EpochReport(
                len(history) + 1, time.perf_counter() - begin, point.objective - gap, gap, self.loss.cost.size
            )
            history.append(report)
            stopped = on_report(report)
            if stopped or gap <= tol * point.objective or len(history) - first >= max_iter:
                break
            towards = self._direction(point.gradient, steps, hessian)
            new = self._line_search(point, towards)
            if new is None:
                break
            change, turn = new.theta - point.theta, new.gradient - point.gradient
            curvature = float((change * turn).sum())
            if curvature > 0.0:
                steps.append((change, turn, curvature))
                del steps[:-_MEMORY]
            point = new
        return SmoothResult(
            theta=point.theta[:-1] * self.root,
            point=point,
            intercepts=self._intercepts(point.theta),
            primal=point.objective,
            gap=point.gap,
            n_iter=len(history) - first,
            converged=point.gap <= tol * point.objective,
            stopped=stopped,
            history=history,
        )

    def traces(self, F: Array, hessian: SampledHessian) -> Array:
        """tr((H⁻¹)_gg) of every group at the values F, summed over classes.

        Exact for the sample of rows if one block has all unknowns. Otherwise blocks would count twice what they have in
        common, so the exact H is applied to random signs z instead: zᵀH⁻¹z is the trace on average (Hutchinson, 1990).
        """
        sizes = self.basis.sizes
        if len(hessian.blocks) <= 1:
            return hessian.traces(sizes)
        starts = np.cumsum(sizes) - sizes
        random = np.random.default_rng(self.seed)
        n_probes = max(1, round(_PROBES / self.loss.n_problems))
        traces = np.zeros(sizes.size)
        for _ in range(n_probes):
            z = random.choice([-1.0, 1.0], (self.root.size + 1, self.loss.n_problems))
            z[-1] = 0.0
            found = self._inverse_product(z, F, hessian)
            traces += np.add.reduceat((z * found)[:-1].sum(axis=1), starts)
        return np.clip(traces / n_probes, 0.0, sizes * self.loss.n_problems)

    def _inverse_product(self, z: Array, F: Array, hessian: SampledHessian) -> Array:
        """H⁻¹ z by conjugate gradients, with the sample's Hessian as preconditioner."""
        found = hessian.solve(z)
        residual = z - self._hessian_product(found, F)
        better = hessian.solve(residual)
        towards, squared = better.copy(), float((residual * better).sum())
        goal = _TRACE_REDUCTION**2 * float((z * z).sum())
        for _ in range(_TRACE_STEPS * min(self.loss.n_problems, 2)):
            if float((residual * residual).sum()) <= goal:
                break
            image = self._hessian_product(towards, F)
            step = squared / float((towards * image).sum())
            found += step * towards
            residual -= step * image
            better = hessian.solve(residual)
            before, squared = squared, float((residual * better).sum())
            towards = better + squared / before * towards
        return found

    def _hessian_product(self, theta: Array, F: Array) -> Array:
        r = self.loss.hessian_product(F, self._values(theta))
        product = theta.copy()
        product[:-1] += self.root * self.basis.sums(r)
        product[-1] *= self.penalty
        if self.problem.has_intercept:
            product[-1] += self.bias * r.sum(axis=0)
        return product

    def _values(self, theta: Array) -> Array:
        F = self.basis.values(theta[:-1] * self.root)
        F += self._intercepts(theta)
        return F

    def _intercepts(self, theta: Array) -> Array:
        return self.bias * theta[-1] if self.problem.has_intercept else np.zeros(theta.shape[1])

    def _objective(self, theta: Array, F: Array) -> float:
        squares = float((theta[:-1] ** 2).sum() + self.penalty * (theta[-1] ** 2).sum())
        return 0.5 * squares + self.loss.value(F)

    def _evaluated(self, point: Point, objective: float | None = None, r: Array | None = None) -> Point:
        """The point with its gradient and objective, unless the latter, or the loss's gradient r, is known."""
        if r is None:
            r = self.loss.gradient(point.F)
        gradient = point.theta.copy()
        gradient[:-1] += self.root * self.basis.sums(r)
        gradient[-1] *= self.penalty
        if self.problem.has_intercept:
            gradient[-1] += self.bias * r.sum(axis=0)
        if objective is None:
            objective = self._objective(point.theta, point.F)
        return Point(point.theta, point.F, objective, gradient)

    def with_best_intercept(self, point: Point) -> Point:
        """The point with a free intercept such that Σβ is almost zero: the certificate needs it."""
        if not self._is_free:
            return point
        total = float(self.loss.cost.sum())
        F, theta = point.F, point.theta.copy()
        for _ in range(_INTERCEPT_STEPS):
            slope = self.loss.gradient(F).sum(axis=0)
            if np.abs(slope).max() <= _BALANCED * total:
                break
            step = self._intercept_step(slope, F)
            theta[-1] += step / self.bias
            F = F + step
        if F is point.F or not self._objective(theta, F) <= point.objective:
            return point
        return self._evaluated(Point(theta, F))

    def _direction(
        self, gradient: Array, steps: list[tuple[Array, Array, float]], hessian: SampledHessian | None
    ) -> Array:
        """−H⁻¹ gradient, by the two-loop recursion."""
        q = gradient.copy()
        alphas = []
        for change, turn, curvature in reversed(steps):
            alpha = float((change * q).sum()) / curvature
            q -= alpha * turn
            alphas.append(alpha)
        d = q if hessian is None else hessian.solve(q)
        if steps:
            change, turn, curvature = steps[-1]
            image = turn if hessian is None else hessian.solve(turn)
            d *= curvature / float((turn * image).sum())
        for (change, turn, curvature), alpha in zip(steps, reversed(alphas), strict=True):
            d += (alpha - float((turn * d).sum()) / curvature) * change
        return -d

    def _line_search(self, point: Point, towards: Array) -> Point | None:
        """The point after a step that lowers the objective enough; None if no step does."""
        slope = float((towards * point.gradient).sum())
        if not slope < 0.0:
            return None
        change = self._values(towards)
        step = 1.0
        for _ in range(_HALVINGS):
            theta, F = point.theta + step * towards, point.F + step * change
            objective = self._objective(theta, F)
            if objective <= point.objective + 1e-4 * step * slope:
                return self._balanced(theta, F, objective)
            step *= 0.5
        return None

    def _balanced(self, theta: Array, F: Array, objective: float) -> Point:
        """The point after one Newton step of a free intercept, if Σβ is far from zero.

        Curves and levels can all be shifted, so that the mean of F has the largest curvature by far: what is left of
        its error would outweigh all else in the gap. A step of its own costs no pass over the rows' cells.
        """
        r = self.loss.gradient(F)
        if self._is_free:
            slope = r.sum(axis=0)
            if 0.5 * self.bias**2 * float(slope @ slope) > _OFF_BALANCE * objective:
                step = self._intercept_step(slope, F)
                shifted, moved = theta.copy(), F + step
                shifted[-1] += step / self.bias
                lower = self._objective(shifted, moved)
                if lower < objective:
                    return self._evaluated(Point(shifted, moved), lower)
        return self._evaluated(Point(theta, F), objective, r)

    @property
    def _is_free(self) -> bool:
        """Whether there is an intercept without a penalty."""
        return self.problem.has_intercept and not self.penalty

    def _intercept_step(self, slope: Array, F: Array) -> Array:
        """Newton's step of all intercepts, at most one each, where Σ_i of the loss's gradient is `slope`."""
        total = float(self.loss.cost.sum())
        hessian = self.loss.total_hessian(F) + 1e-9 * total * np.eye(slope.size)
        return np.clip(np.linalg.solve(hessian, -slope), -1.0, 1.0)
