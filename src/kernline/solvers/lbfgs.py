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
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lapack

from ..array_types import Array, Indices
from ..joint_losses import JointLoss
from .basis import Basis
from .problem import EpochReport

# Called after each step; True stops.
OnReport = Callable[[EpochReport], bool]

_MEMORY = 20  # steps that L-BFGS remembers
_MOST_ROWS, _LEAST_ROWS = 4000, 1000  # in the sample
_FLOPS = 1.5e10  # for one approximate Hessian, about half a second
_LARGEST_BLOCK = 1500
_SMALL_BLOCK = 128
# Random vectors for traces, shared among classes; conjugate gradients for each, and the share of it that is left.
_PROBES, _TRACE_STEPS, _TRACE_REDUCTION = 2, 40, 0.03
_MOST_UNKNOWNS = 50_000  # with more, no Hessian is formed
_HALVINGS = 30
_ROUNDING = 1e-6  # of sums in float32
# Σβ may be this share of Σc at the end.
_BALANCED, _INTERCEPT_STEPS = 1e-9, 20


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
                point = self._with_best_intercept(point)
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
        for _ in range(_TRACE_STEPS):
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

    def _evaluated(self, point: Point, objective: float | None = None) -> Point:
        """The point with its gradient, and its objective unless it is known."""
        r = self.loss.gradient(point.F)
        gradient = point.theta.copy()
        gradient[:-1] += self.root * self.basis.sums(r)
        gradient[-1] *= self.penalty
        if self.problem.has_intercept:
            gradient[-1] += self.bias * r.sum(axis=0)
        if objective is None:
            objective = self._objective(point.theta, point.F)
        return Point(point.theta, point.F, objective, gradient)

    def _with_best_intercept(self, point: Point) -> Point:
        """The point with a free intercept such that Σβ is almost zero: the certificate needs it."""
        if not self.problem.has_intercept or self.penalty:
            return point
        total = float(self.loss.cost.sum())
        F, theta = point.F, point.theta.copy()
        for _ in range(_INTERCEPT_STEPS):
            slope = self.loss.gradient(F).sum(axis=0)
            if np.abs(slope).max() <= _BALANCED * total:
                break
            hessian = self.loss.total_hessian(F) + 1e-9 * total * np.eye(slope.size)
            step = np.clip(np.linalg.solve(hessian, -slope), -1.0, 1.0)
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
                return self._evaluated(Point(theta, F), objective)
            step *= 0.5
        return None


@dataclass(frozen=True)
class SampledHessian:
    """I + √v A √v per class, where A is the loss's Hessian of a sample of rows, in blocks of whole groups.

    `grams` are the A of each block and class, without √v: the weights may change while they stay.
    """

    blocks: list[slice]
    grams: list[Array]  # (n_problems, size, size)
    coupling: Array  # (size of the first block, n_problems): A between it and the intercept
    intercept: Array  # (n_problems,): of the intercept
    factors: list[list[tuple[Array, bool]]] = field(default_factory=list)
    inverses: list[Array | None] = field(default_factory=list)  # of small blocks: one product for all classes
    borders: Array = field(default_factory=lambda: np.zeros(0))  # H⁻¹ of the first block times its coupling
    pivots: Array = field(default_factory=lambda: np.zeros(0))  # of the intercept, given the first block

    @classmethod
    def of(cls, joint: LBFGS, F: Array) -> SampledHessian | None:
        """The Hessian at the values F; None if there are too many unknowns."""
        basis, loss = joint.basis, joint.loss
        n_unknowns = int(basis.sizes.sum())
        if n_unknowns > _MOST_UNKNOWNS:
            return None
        n = basis.data.n_rows
        n_rows = min(n, _MOST_ROWS if loss.n_problems <= 8 else _MOST_ROWS // 2)
        rows = np.sort(np.random.default_rng(joint.seed).choice(n, n_rows, replace=False))
        weight = loss.curvature(F)[rows] * (n / n_rows)
        size = int(np.clip(_FLOPS / (2.0 * loss.n_problems * n_rows * max(n_unknowns, 1)), 1, _LARGEST_BLOCK))
        blocks = _blocks(basis.sizes, size)
        grams, coupling = [], np.zeros((0, loss.n_problems))
        for block in blocks:
            X = basis.features(rows, block)
            grams.append(_weighted_grams(X, weight))
            if block.start == 0 and joint.problem.has_intercept:
                coupling = joint.bias * (X.T @ weight)
        intercept = joint.penalty + joint.problem.has_intercept * joint.bias**2 * weight.sum(axis=0)
        return cls(blocks, grams, coupling, np.maximum(intercept, 1e-12))

    def factored(self, root: Array) -> SampledHessian:
        """With the Cholesky factors for √v of every unknown."""
        factors, inverses = [], []
        for block, gram in zip(self.blocks, self.grams, strict=True):
            scale = np.outer(root[block], root[block])
            shared = gram.strides[0] == 0
            found = [_factored(A * scale) for A in gram[: 1 if shared else None]]
            factors.append(found * len(gram) if shared else found)
            small = len(gram) > 1 and scale.shape[0] <= _SMALL_BLOCK
            inverses.append(np.stack([_inverse(factor) for factor, _ in factors[-1]]) if small else None)
        made = replace(self, factors=factors, inverses=inverses)
        if not self.coupling.size:
            return replace(made, borders=np.zeros((self.first.stop, 1)), pivots=self.intercept)
        coupling = self.coupling * root[self.first][:, None]
        borders = np.column_stack([cho_solve(factor, c) for factor, c in zip(factors[0], coupling.T, strict=True)])
        pivots = np.maximum(self.intercept - (coupling * borders).sum(axis=0), 1e-3 * self.intercept)
        return replace(made, borders=borders, pivots=pivots)

    @property
    def first(self) -> slice:
        """The first block."""
        return self.blocks[0] if self.blocks else slice(0, 0)

    def solve(self, q: Array) -> Array:
        """H⁻¹ q, without what couples blocks. The intercept is coupled with the first block."""
        out = np.empty_like(q)
        for block, factors, inverse in zip(self.blocks, self.factors, self.inverses, strict=True):
            if inverse is not None:
                out[block] = np.matmul(inverse, q[block].T[:, :, None])[:, :, 0].T
                continue
            for p, factor in enumerate(factors):
                out[block, p] = cho_solve(factor, q[block, p], check_finite=False)
        out[-1] = (q[-1] - (self.borders * q[self.first]).sum(axis=0)) / self.pivots
        out[self.first] -= self.borders * out[-1]
        return out

    @property
    def log_determinant(self) -> float:
        """Log det H, summed over classes. Without what couples blocks, it is too large rather than too small."""
        return sum(2.0 * float(np.log(np.diag(L)).sum()) for block in self.factors for L, _ in block)

    def traces(self, sizes: Indices) -> Array:
        """tr((H⁻¹)_gg) of every group, summed over classes."""
        ends = np.cumsum(sizes)
        traces = np.zeros(sizes.size)
        for block, factors in zip(self.blocks, self.factors, strict=True):
            inside = np.flatnonzero((ends > block.start) & (ends <= block.stop))
            starts = ends[inside] - sizes[inside] - block.start
            for factor, _ in factors:
                traces[inside] += np.add.reduceat(np.diag(_inverse(factor)), starts)
        return traces


def _blocks(sizes: Indices, largest: int) -> list[slice]:
    """Consecutive whole groups of about so many unknowns together; at least one group each."""
    blocks, begin, end = [], 0, 0
    for size in sizes.tolist():
        if end > begin and end + size - begin > largest:
            blocks.append(slice(begin, end))
            begin = end
        end += size
    return [*blocks, slice(begin, end)] if end > begin else blocks


def _weighted_grams(X: NDArray[np.float32], weight: Array) -> Array:
    """Xᵀ diag(w) X for every column w of `weight`; one for all where they are equal, as at f = 0."""
    first = weight[:, :1]
    shared = bool(np.allclose(weight, first, rtol=1e-6, atol=0.0))
    grams = []
    for column in weight.T[: 1 if shared else None]:
        scaled = X * np.sqrt(column)[:, None].astype(np.float32)
        grams.append((scaled.T @ scaled).astype(np.float64))
    return np.broadcast_to(np.stack(grams), (weight.shape[1], X.shape[1], X.shape[1]))


def _inverse(factor: Array) -> Array:
    """The inverse of L Lᵀ, given L in the lower half."""
    lower, _ = lapack.dpotri(factor, lower=True)
    lower = np.tril(lower)
    return lower + np.tril(lower, -1).T


def _factored(A: Array) -> tuple[Array, bool]:
    """The Cholesky factor of I + A. The sums of A are rounded to float32, which large costs can make more than I."""
    diagonal = np.diag_indices_from(A)
    A[diagonal] += 1.0
    try:
        return cho_factor(A, lower=True)
    except np.linalg.LinAlgError:
        A[diagonal] += _ROUNDING * A.trace()
        return cho_factor(A, lower=True)
