"""The intercept, penalised or free.

A penalised intercept is a constant of the kernel: f = Σ_i β_i (K(x_i, ·) + s), so b = s Σ_i β_i, and ½ b²/s is part of
½‖f‖². A free one is not penalised,

    min ½‖f‖² + Σ_i c_i ℓ(t_i, f(x_i) + b)    over f and b,

and its dual has the constraint Σ_i β_i = 0, which coordinate steps cannot keep. So it is found by the proximal point
method (Rockafellar 1976): descent runs with the penalty (b − b0)² / 2s, that is with the kernel K + s and the intercept
b = b0 + s Σ_i β_i. When that problem is solved well enough, the centre b0 moves to b. At the fixed point Σ_i β_i = 0,
whatever s is. With s as large as K(x, x), all rows would share one long direction, along which coordinate descent is
slow; a small s leaves the rows as they are.

With h(b) the optimum over f for this b, every problem solved gives a slope h′(b) = −Σ_i β_i. Two slopes give the secant
to the zero of h′, which is a better centre than b.

While Σ_i β_i = 0, any μ may be subtracted from all rows in the kernel's space, K(x, y) − m(x) − m(y) + ‖μ‖² with m(x) =
⟨μ, φ(x)⟩, and f does not change. Histograms, counts and ranks are not negative, so that their rows have much in common:
without their mean they are shorter (K(x, x) by half for images, two thirds for ranks) and their products small, and
coordinate descent takes half the visits or less. m(x_i) is a number per row; the core keeps Σ_i β_i m(x_i) and Σ_i β_i.

The certificate needs a dual point with Σ_i β_i = 0: `balance` makes it from the current one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array
from ..encoding import EncodedData
from ..losses import Hinge, Loss
from ..native import native_table
from ..tables import TablePair
from .problem import JointProblem, KernelMean, Problem, is_free
from .roots import zero_of_increasing

# s of a free intercept, as a fraction of the mean or the median of K(x, x), centred. Smaller is faster for large C,
# larger for small C.
_SQUARE = 0.05
# The longest step of the centre beyond b, in multiples of b − b0.
_LONGEST = 20.0
# What balancing adds to the gap, ½ κ (Σβ)² + λ |Σβ|: κ in multiples of the median of K(x, x), and λ, of losses with a
# kink, in multiples of that and the mean cost. Rows on the kink leave it, and the loss grows like the change of f.
_SQUARE_COST, _KINK_COST = 2.0, 0.3
# Rows that the median is taken of.
_MEDIAN_ROWS = 2000
# How much this guess may change when it is compared with an exact gap, at once and in all.
_COST_CHANGE, _MOST_CHANGE = 100.0, 1e5
# The search for the best b: the first interval and the precision, relative to b, and the most that the interval grows.
_FIRST_WIDTH, _PRECISION, _MOST_DOUBLINGS = 0.02, 1e-8, 16
# The precision of the first centre, for labels; and that of the hinge, which is not at the kink itself. Where Newton's
# method goes from there is chance: on spambase (chi2, C · K = 10,000) 0.9995 left 160 to 850 epochs, 1 left 730 to 890.
_FIRST_PRECISION, _NEAR_KINK = 1e-3, 0.9995
# Rows that the mean is taken of, and the least fraction of K(x, x) that it must save: where rows have little in common,
# as texts have, a mean makes their products no smaller.
MEAN_ROWS, _LEAST_SAVING = 2000, 0.15
# The centred K(x, x) is not below this fraction of K(x, x), for rounding errors.
_LEAST_NORM = 1e-5


@dataclass(frozen=True)
class MeanCurve:
    """μ as a curve: its weights, as the core reads them, and ‖μ‖²."""

    weights: NDArray[np.float32]
    square: float

    def of(self, data: EncodedData, pair: TablePair, n_threads: int = 1) -> KernelMean:
        """⟨μ, φ(x_i)⟩ of these rows."""
        products = np.empty(data.n_rows)
        all_rows = np.arange(data.n_rows, dtype=np.int32)
        _core.read_members(data.native, native_table(pair.read), self.weights, all_rows, products, n_threads)
        return KernelMean(products.astype(np.float32), self.square)


def mean_curve(data: EncodedData, pair: TablePair, scales: Array, norms: Array, n_threads: int = 1) -> MeanCurve | None:
    """A mean of some of the rows with these K(x_i, x_i), weighted by 1 / K(x_i, x_i); None if all are zero."""
    positive = np.flatnonzero(norms > _LEAST_NORM * norms.max(initial=0.0))
    if positive.size == 0:
        return None
    rows = positive[:: -(-positive.size // MEAN_ROWS)].astype(np.int32)
    weight = 1.0 / norms[rows]
    c = np.zeros(data.n_columns * pair.width + 1)
    _core.add_members(data.native, native_table(pair.read), weight / weight.sum(), rows, c, n_threads)
    slots = c[:-1].reshape(data.n_columns, -1)
    W = ((slots if pair.gram is None else slots @ pair.gram) * scales[:, None]).ravel()
    return MeanCurve(np.append(W, 0.0).astype(np.float32), float(c[:-1] @ W))


def kernel_mean(
    data: EncodedData, pair: TablePair, scales: Array, norms: Array, n_threads: int = 1
) -> KernelMean | None:
    """A mean of the rows with these K(x_i, x_i); None if it would not help."""
    curve = mean_curve(data, pair, scales, norms, n_threads)
    if curve is None:
        return None
    mean = curve.of(data, pair, n_threads)
    return mean if saves(mean, norms) else None


def saves(mean: KernelMean, norms: Array) -> bool:
    """Whether rows are shorter without the mean."""
    positive = np.flatnonzero(norms > _LEAST_NORM * norms.max(initial=0.0))
    ratio = centred(norms[positive], mean.products[positive], mean.square) / norms[positive]
    return bool(ratio.mean() <= 1.0 - _LEAST_SAVING)


def centred(norms: Array, products: NDArray[np.float32], square: float) -> Array:
    """K(x, x) without the mean, from K(x, x), ⟨μ, φ(x)⟩ and ‖μ‖²."""
    return np.maximum(norms - 2.0 * products + square, _LEAST_NORM * norms)


def centred_norms(problem: Problem | JointProblem) -> Array:
    """K(x_i, x_i), centred if the problem has a mean."""
    mean = problem.mean
    return problem.curvature if mean is None else centred(problem.curvature, mean.products, mean.square)


def intercept_square(problem: Problem | JointProblem, norms: Array) -> float:
    """s: the constant that the kernel gains in coordinate descent; `norms` are the `centred_norms`."""
    if not problem.free_intercept:
        return problem.intercept_square
    return free_square(norms, float(np.mean(problem.cost)))


def free_square(norms: Array, cost: float = 0.0) -> float:
    """s of a free intercept, for rows with these K(x_i, x_i) and this mean of the c_i.

    It is a fraction of the mean of K(x, x) for small C, and of the median for large C: where a few rows are far longer
    than the others, as long texts are, the mean of all would be the long direction that most rows share.
    """
    mean = float(np.mean(norms))
    if cost * mean <= 1.0:
        return _SQUARE * (mean or 1.0)
    positive = _some(norms[norms > 0.0])
    return _SQUARE * min(max(_median(positive), 1.0 / cost), mean)


def _some(norms: Array) -> Array:
    """Enough of them for a median."""
    return norms[:: -(-norms.size // _MEDIAN_ROWS) or 1]


def _median(values: Array) -> float:
    """np.median, which takes as long again to look for NaN: every class of a fit asks for one."""
    if values.size == 0:
        return np.nan  # rows of NaN: data that change while they are read
    middle = values.size // 2
    ordered = np.partition(values, [max(middle - 1, 0), middle])
    return float(ordered[middle] if values.size % 2 else 0.5 * (ordered[middle - 1] + ordered[middle]))


@dataclass
class Centring:
    """Where the centre of a free intercept goes, and what Σβ ≠ 0 costs."""

    s: float
    square_cost: float  # κ
    kink_cost: float = 0.0  # λ
    cost_factor: float = 1.0  # of both, learned
    reach: float = 1.0  # the longest step of the centre, on the scale of the targets
    first: float = 0.0  # the first centre
    last: tuple[float, float] | None = None  # b and Σβ when the centre last moved
    low: float = -np.inf  # the best b is about within these
    high: float = np.inf

    @classmethod
    def of(cls, problem: Problem, norms: Array) -> Centring:
        """At the start of coordinate descent; `norms` are the K(x_i, x_i), centred."""
        cost = float(np.mean(problem.cost))
        found = cls.of_norms(norms, cost)
        if not problem.loss.smooth:
            found.kink_cost = _KINK_COST / _SQUARE_COST * found.square_cost * cost
        if problem.loss.targets == "numbers":
            found.reach = float(np.ptp(problem.targets)) or 1.0
        found.first = _first_intercept(problem)
        return found

    @classmethod
    def of_norms(cls, norms: Array, cost: float = 0.0) -> Centring:
        """For labels, and rows with these K(x_i, x_i) and this mean of the c_i."""
        return cls(free_square(norms, cost), _SQUARE_COST * (_median(_some(norms)) or 1.0))

    def next_centre(self, b: float, total: float, gap: float) -> float | None:
        """The new centre for an intercept b with Σβ = `total`, or None if Σβ is not what keeps the gap open."""
        if total == 0.0 or gap > self.imbalance(total):
            return None
        step = self.s * total  # b − b0
        factor = 0.0  # to b itself
        if self.last is not None and self.last[1] != total:
            secant = (b - self.last[0]) / (self.last[1] - total)
            if secant > 0.0:  # h is convex; otherwise the slopes are too inexact
                factor = min(secant / self.s, _LONGEST)
        self.last = b, total
        self._bracket(b, total)
        target = b + min(max(factor * step, -self.reach), self.reach)
        return min(max(target, self.low), self.high)

    def restart(self) -> None:
        """Forget where the centre was: the problem has changed."""
        self.last, self.low, self.high = None, -np.inf, np.inf

    def _bracket(self, b: float, total: float) -> None:
        """Since h is convex, the best b is above this one if Σβ > 0, and below it if Σβ < 0.

        As slopes are inexact, a side that is met again gives way to the other.
        """
        if total > 0.0:
            self.low, self.high = b, self.high if self.high > b else np.inf
        else:
            self.low, self.high = self.low if self.low < b else -np.inf, b

    def imbalance(self, total: float) -> float:
        """About how much balancing adds to the gap."""
        return self.cost_factor * (0.5 * self.square_cost * total * total + self.kink_cost * abs(total))

    def compare(self, estimate: float, total: float, exact: float) -> None:
        """Learn from an exact gap, after balancing Σβ = `total`, what that costs."""
        expected = self.imbalance(total)
        if expected > 0.0:
            change = min(max((exact - estimate) / expected, 1.0 / _COST_CHANGE), _COST_CHANGE)
            self.cost_factor = min(self.cost_factor * change, _MOST_CHANGE)


def best_intercept(
    problem: Problem, values: Array, near: float = 0.0, interrupted: threading.Event | None = None
) -> float:
    """argmin_b Σ_i c_i ℓ(t_i, values_i + b); the search begins near a guess."""

    def slopes(b: float) -> Array:
        if interrupted is not None and interrupted.is_set():
            raise KeyboardInterrupt
        return problem.cost * problem.loss.gradient(problem.targets, values + b)

    width = _FIRST_WIDTH * max(abs(near), 1.0)
    low, high = near - width, near + width
    below, above = slopes(low), slopes(high)
    if below.sum() > 0.0 or above.sum() < 0.0:
        low, high = _interval(lambda b: float(slopes(b).sum()), near, width)
        below, above = slopes(low), slopes(high)
    # Most rows have the same slope at both ends, and so between them.
    rows = np.flatnonzero(below != above)
    others = float(below.sum() - below[rows].sum())
    targets, cost, values = problem.targets[rows], problem.cost[rows], values[rows]

    def slope_between(b: float) -> float:
        return others + float(cost @ problem.loss.gradient(targets, values + b))

    return zero_of_increasing(slope_between, low, high, _PRECISION * max(abs(low), abs(high), 1.0))


def _first_intercept(problem: Problem) -> float:
    """The best b for f = 0. Rows with the same label are alike."""
    if problem.loss.targets == "numbers":
        return best_intercept(problem, np.zeros(problem.n_rows), float(np.average(problem.targets)))
    total, difference = float(problem.cost.sum()), float(problem.cost @ problem.targets)
    cost = np.array([0.5 * (total + difference), 0.5 * (total - difference)])
    return first_intercept_of_labels(problem.loss, cost)


def first_intercept_of_labels(loss: Loss, cost: Array) -> float:
    """The best b for f = 0, given the costs of all rows of label 1 and of label -1."""
    if isinstance(loss, Hinge):  # where the search would take as long as a tenth of a small fit
        return _NEAR_KINK if cost[0] > cost[1] else -_NEAR_KINK
    labels = np.array([1.0, -1.0])

    def slope(b: float) -> float:
        return float(cost @ loss.gradient(labels, np.full(2, b)))

    low, high = _interval(slope, 0.0, 1.0)
    return zero_of_increasing(slope, low, high, _FIRST_PRECISION)


def _interval(slope: Callable[[float], float], middle: float, width: float) -> tuple[float, float]:
    """Where an increasing slope changes its sign, or so far out that it does not matter where."""
    low, high = middle - width, middle + width
    for _ in range(_MOST_DOUBLINGS):
        width *= 4.0
        if slope(low) > 0.0:
            low, high = low - width, low
        elif slope(high) < 0.0:
            low, high = high, high + width
        else:
            break
    return low, high


def balance(beta: Array, bounds: tuple[Array, Array], norms: Array) -> Array:
    """Return β with Σ_i β_i = 0, within the bounds, by changes that move f little; `norms` are the K(x_i, x_i).

    Rows between their bounds change, or if they do not suffice, those of the heavier sign. Each changes in proportion
    to 1 / K(x_i, x_i), as far as it may.
    """
    total = float(beta.sum())
    if total == 0.0 or not np.isfinite(total):
        return beta
    sign = np.sign(total)
    low, high = bounds
    bound = low if sign > 0.0 else high
    rows = np.flatnonzero(is_free(beta, low, high))
    limit = bound[rows]
    room = np.abs(beta[rows] - np.where(np.isfinite(limit), limit, 0.0))
    if room.sum() < abs(total):
        rows = np.flatnonzero(sign * beta > 0.0)
        room = np.abs(beta[rows])
    rate = 1.0 / np.maximum(norms[rows], np.finfo(np.float32).tiny)
    balanced = beta.copy()
    balanced[rows] -= sign * filled(abs(total), room, rate / rate.max())
    return balanced


def filled(total: float, room: Array, rate: Array) -> Array:
    """min(room_i, λ rate_i), with λ such that the sum is `total`, which is at most that of all room.

    The sum is concave in λ, so that Newton's method from λ = 0 comes from below; every step fills more rows, or is the
    last.
    """
    level = room / rate
    is_full = np.zeros(room.size, dtype=bool)
    while not is_full.all():
        factor = (total - float(room[is_full].sum())) / float(rate[~is_full].sum())
        fuller = is_full | (level < factor)
        if np.count_nonzero(fuller) == np.count_nonzero(is_full):
            return np.minimum(room, np.where(is_full, room, factor * rate))  # rounding may exceed it
        is_full = fuller
    return room
