"""A part of the rows of a larger problem: what it does when it is given the weights of all rows.

    task:   (rows, β, W) → (β′, change of W, shares of objective and gap)

A part works on its rows for some epochs, from the weights W to which all parts contribute, while other parts do the
same with theirs (rounds.py). W = s_j G Σ_i β_i φ(u_ij), so what parts return, and what is added up, are sums Σ Δβ_i
φ(u_ij): G and the scales are applied once, to the total. Sums are made in double precision from the changes of β, so
that weights do not drift. Nothing here is changed in place: a part that is lost can be worked on again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Floats, Indices
from ..encoding.encoded_data import joined_rows
from ..native import in_calls, native_table
from ..tables import TablePair
from .descent import in_slices
from .intercept import Centring, centred_norms, filled
from .problem import KernelMean, Problem, as_in_core, is_free


class Order(NamedTuple):
    """What a part is asked to do with one problem in a round."""

    problem: int  # its number
    weights: NDArray[np.float32]  # W at the slots that are in use
    intercept: float
    centre: float  # b0 of a free intercept
    centring: Centring | None  # and how it moves
    beta_sum: float
    sigma: float  # how many times its own change f is expected to change by
    n_parts: int  # and Σβ
    step: float  # how much of the change of the last round was taken
    negligible: float  # share of the gap at which a row rests
    doublings: int  # of C, before the first epoch
    most_epochs: int
    enough: float  # of the gap that the first epoch finds, for a part to stop
    seed: int


@dataclass(frozen=True)
class Sums:
    """What parts return of one problem, to be added up: Σ Δβ φ at the slots in use, and numbers."""

    slots: Array | Floats
    numbers: Array

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.slots + other.slots, self.numbers + other.numbers)


# The numbers of a change, or of β as it is: Σ d(β), Σ β, Σ β m.
DUAL, BETA_SUM, MEAN_SUM = range(3)
# Of a change also: the estimate of the gap by the first epoch, rows visited, ‖Δf‖² of the part alone, the move of the
# centre times the number of rows, the cells of rows on the margin, and the number of rows.
GAP, N_VISITS, ALONE, CENTRE, MARGIN_CELLS, N_ROWS = range(3, 9)
# Of β as it is also: what can be taken from Σβ, or added to it, by rows between their bounds; and by rows of each sign.
FREE_DOWN, FREE_UP, POSITIVE, NEGATIVE = range(3, 7)
_N_NUMBERS = 9


@dataclass(frozen=True)
class PartRows:
    """The problems of a part; they share their rows. `square` is s, the constant that the kernel gains.

    `used` are the numbers of the slots that any row of any part uses: the others stay zero. None: all of them.
    """

    problems: Sequence[Problem]
    square: float
    used: Indices | None = None

    @property
    def n_rows(self) -> int:
        """Rows of the part."""
        return self.problems[0].n_rows

    def zeros(self) -> Array:
        """β of all problems, before the first round."""
        return np.zeros((2, len(self.problems), self.n_rows))

    def in_use(self, slots: Array) -> Array:
        """Sums over all slots, without those that are not used."""
        return slots[:-1] if self.used is None else slots[self.used]

    def spread(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """W of all slots, from those in use."""
        if self.used is None:
            return np.ascontiguousarray(weights)
        problem = self.problems[0]
        everywhere = np.zeros(problem.data.n_columns * problem.pair.width, dtype=np.float32)
        everywhere[self.used] = weights
        return everywhere


def taken(state: Array, steps: Array) -> Array:
    """β of all problems after so much of the last change: of β before and after it, (2, n_problems, n_rows)."""
    before, after = state
    return before + steps[:, None] * (after - before) if (steps != 1.0).any() else after


def work(rows: PartRows, state: Array, steps: Array, orders: Sequence[Order]) -> tuple[Array, list[Sums]]:
    """Some epochs on each problem that is asked for; the new state, and the sums of the changes."""
    before = taken(state, steps)
    after, sums = before.copy(), []
    for order in orders:
        problem = rows.problems[order.problem]
        after[order.problem], numbers = _descend(problem, rows, before[order.problem], order)
        change = after[order.problem] - before[order.problem]
        slots = rows.in_use(_slots(problem, change))
        numbers[BETA_SUM], numbers[MEAN_SUM] = change.sum(), _mean_sum(problem, change)
        margin = is_free(after[order.problem], *problem.bounds)
        numbers[MARGIN_CELLS] = np.count_nonzero(margin) * problem.data.n_cells / max(1, problem.n_rows)
        numbers[ALONE] = _alone(problem, rows, slots, numbers[BETA_SUM], numbers[MEAN_SUM])
        sums.append(Sums(slots.astype(np.float32), numbers))
    return np.stack([before, after]), sums


def _descend(problem: Problem, rows: PartRows, beta: Array, order: Order) -> tuple[Array, Array]:
    """Epochs of coordinate descent from W and β; the new β and the numbers known from visits."""
    core = part_solver(problem, rows.square * order.n_parts / order.sigma, order.seed)
    core.set_centre(order.centre)
    core.set_beta(beta)
    core.set_weights(rows.spread(order.weights), order.intercept, order.beta_sum, order.sigma)
    core.set_negligible(order.negligible)
    interrupted, numbers = threading.Event(), np.zeros(_N_NUMBERS)
    centring = None if order.centring is None else replace(order.centring, last=None, low=-np.inf, high=np.inf)
    core.grow(0.5**order.doublings)
    for epoch in range(order.doublings + order.most_epochs):
        in_slices(core.sweep, interrupted)
        numbers[N_VISITS] += core.n_visits
        if epoch < order.doublings:
            core.grow(2.0)
            continue
        if epoch == order.doublings:
            numbers[GAP] = core.active_gap
        if core.active_gap <= order.enough * numbers[GAP]:
            break
        if centring is not None:
            _move_centre(core, centring, order)
    numbers[CENTRE], numbers[N_ROWS] = problem.n_rows * (core.centre - order.centre), problem.n_rows
    found = np.empty_like(beta)
    core.copy_beta(found)
    cost = as_in_core(problem.cost)
    terms = problem.loss.dual(problem.targets, cost, found) - problem.loss.dual(problem.targets, cost, beta)
    numbers[DUAL] = terms.sum()
    return found, numbers


def _move_centre(core: _core.DualSolver, centring: Centring, order: Order) -> None:
    total = order.beta_sum + order.n_parts / order.sigma * (core.beta_sum - order.beta_sum)
    centre = centring.next_centre(core.centre + centring.s * total, total, core.active_gap)
    if centre is not None:
        core.set_centre(centre)


def part_solver(problem: Problem, square: float, seed: int) -> _core.DualSolver:
    """The core's state of a part, with the constant s of all parts."""
    mean = problem.mean
    norms = centred_norms(problem) if problem.free_intercept else problem.curvature - problem.intercept_square
    return _core.DualSolver(
        rows=problem.data.native,
        read=native_table(problem.pair.read),
        write=native_table(problem.pair.write),
        scales=problem.scales.astype(np.float32),
        targets=problem.targets,
        cost=problem.cost,
        curvature=norms + square,
        intercept_square=square,
        loss=problem.loss.name,
        epsilon=problem.loss.epsilon_or_zero,
        members=None,
        means=None if mean is None else mean.products,
        mean_square=0.0 if mean is None else mean.square,
        seed=seed,
        shuffle=True,
    )


def weights_of(pair: TablePair, scales: Array, slots: Array | Floats, used: Indices | None) -> Array:
    """W = s_j G Σ β_i φ(u_ij) at the slots in use."""
    if used is not None:
        everywhere = np.zeros(scales.size * pair.width)
        everywhere[used] = slots
        slots = everywhere
    table = slots.reshape(scales.size, pair.width)
    W = ((table if pair.gram is None else table @ pair.gram) * scales[:, None]).ravel()
    return W if used is None else W[used]


def _alone(problem: Problem, rows: PartRows, slots: Array, beta_sum: float, mean_sum: float) -> float:
    """‖Δf‖² in the kernel that descent works with: centred, and with the constant s."""
    square = rows.square + (0.0 if problem.mean is None else problem.mean.square)
    W = weights_of(problem.pair, problem.scales, slots, rows.used)
    return float(slots @ W + square * beta_sum * beta_sum - 2.0 * beta_sum * mean_sum)


def _slots(problem: Problem, beta: Array) -> Array:
    """Σ β_i φ(u_ij) over all slots, and an empty one."""
    members = np.flatnonzero(beta).astype(np.int32)
    sums = np.zeros(problem.data.n_columns * problem.pair.width + 1)
    _core.add_members(problem.data.native, native_table(problem.pair.read), beta[members], members, sums, 1)
    return sums


def _mean_sum(problem: Problem, beta: Array) -> float:
    return 0.0 if problem.mean is None else float(beta @ problem.mean.products)


def total(rows: PartRows, state: Array, steps: Array, chosen: Sequence[int]) -> list[Sums]:
    """The sums of β as it is: those of all parts together are the weights, should some have been lost."""
    beta, sums = taken(state, steps), []
    for k in chosen:
        sums.append(_total(rows, rows.problems[k], beta[k]))
    return sums


def _total(rows: PartRows, problem: Problem, beta: Array) -> Sums:
    cost = as_in_core(problem.cost)
    low, high = problem.loss.bounds(problem.targets, cost)
    free = is_free(beta, low, high)
    numbers = np.zeros(_N_NUMBERS)
    numbers[DUAL] = problem.loss.dual(problem.targets, cost, beta).sum()
    numbers[BETA_SUM], numbers[MEAN_SUM] = beta.sum(), _mean_sum(problem, beta)
    numbers[FREE_DOWN], numbers[FREE_UP] = _room(beta, low)[free].sum(), _room(beta, high)[free].sum()
    numbers[POSITIVE], numbers[NEGATIVE] = beta[beta > 0.0].sum(), -beta[beta < 0.0].sum()
    return Sums(rows.in_use(_slots(problem, beta)), numbers)


def _room(beta: Array, bound: Array) -> Array:
    """How far β is from a bound; from zero, where there is none."""
    return np.abs(beta - np.where(np.isfinite(bound), bound, 0.0))


@dataclass(frozen=True)
class Margin:
    """The rows of a part on the margin of one problem, 0 < β_i < c_i: their numbers, their problem and their β."""

    members: Indices
    problem: Problem
    beta: Array
    square: float  # as in PartRows
    used: Indices | None


def margin(rows: PartRows, state: Array, steps: Array, number: int) -> Margin:
    """Those of problem `number`, as a copy that can be sent."""
    problem, beta = rows.problems[number], taken(state, steps)[number]
    members = np.flatnonzero(is_free(beta, *problem.bounds))
    some = replace(
        problem,
        data=replace(problem.data[members], encoder=None),
        targets=problem.targets[members],
        cost=problem.cost[members],
        curvature=problem.curvature[members],
        mean=None if problem.mean is None else KernelMean(problem.mean.products[members], problem.mean.square),
    )
    return Margin(members, some, beta[members], rows.square, rows.used)


def settled(margins: Sequence[Margin], order: Order) -> tuple[list[tuple[Indices, Array]], Sums]:
    """Descent on the rows on the margin of all parts together: the new β of each part's, and the sums of the changes.

    They depend on one another, and most rounds would be due to them (blockwise.py).
    """
    first = margins[0].problem
    problem = replace(
        first,
        data=joined_rows([one.problem.data for one in margins]),
        targets=np.concatenate([one.problem.targets for one in margins]),
        cost=np.concatenate([one.problem.cost for one in margins]),
        curvature=np.concatenate([one.problem.curvature for one in margins]),
        mean=None
        if first.mean is None
        else KernelMean(
            np.concatenate([one.problem.mean.products for one in margins if one.problem.mean]), first.mean.square
        ),
    )
    rows = PartRows([problem], margins[0].square, margins[0].used)
    before = np.concatenate([one.beta for one in margins])
    after, numbers = _descend(problem, rows, before, order)
    change = after - before
    numbers[BETA_SUM], numbers[MEAN_SUM] = change.sum(), _mean_sum(problem, change)
    ends = np.cumsum([0, *(one.members.size for one in margins)])
    split = [(one.members, after[a:b]) for one, a, b in zip(margins, ends[:-1], ends[1:], strict=True)]
    return split, Sums(rows.in_use(_slots(problem, change)), numbers)


def with_margins(state: Array, steps: Array, found: Sequence[tuple[int, Indices, Array]]) -> Array:
    """The state with new β of some rows, by problem."""
    beta = taken(state, steps).copy()
    for number, members, values in found:
        beta[number, members] = values
    return np.stack([beta, beta])


class Balance(NamedTuple):
    """How Σβ of one problem is made zero: take this share of what each part could give."""

    problem: int
    sign: float  # of Σβ
    share: float
    only_free: bool  # rows between their bounds suffice


def balanced(rows: PartRows, state: Array, steps: Array, orders: Sequence[Balance]) -> tuple[Array, list[Sums]]:
    """β of the problems with Σβ = 0 over all parts, (n_orders, n_rows), and their sums (intercept.py: balance)."""
    beta = taken(state, steps)
    out = np.empty((len(orders), rows.n_rows))
    sums = []
    for number, order in enumerate(orders):
        problem = rows.problems[order.problem]
        out[number] = _balanced(problem, beta[order.problem], order)
        sums.append(_total(rows, problem, out[number]))
    return out, sums


def _balanced(problem: Problem, beta: Array, order: Balance) -> Array:
    if order.share == 0.0:
        return beta
    low, high = problem.bounds
    if order.only_free:
        members = np.flatnonzero(is_free(beta, low, high))
        room = _room(beta, low if order.sign > 0.0 else high)[members]
    else:
        members = np.flatnonzero(order.sign * beta > 0.0)
        room = np.abs(beta[members])
    if not members.size:
        return beta
    rate = 1.0 / np.maximum(centred_norms(problem)[members], np.finfo(np.float32).tiny)
    moved = beta.copy()
    moved[members] -= order.sign * filled(order.share * float(room.sum()), room, rate / rate.max())
    return moved


class Candidate(NamedTuple):
    """The weights of one problem, and intercepts to try with it."""

    problem: int
    weights: NDArray[np.float32]
    intercepts: Array


def certified(rows: PartRows, beta: Array, candidates: Sequence[Candidate]) -> list[Sums]:
    """The part's share of Σ β f without intercept, and of gap and loss at each intercept, exactly."""
    sums = []
    for number, candidate in enumerate(candidates):
        problem, own = rows.problems[candidate.problem], beta[number]
        values = _values(problem, rows.spread(candidate.weights))
        intercepts = candidate.intercepts
        if not problem.free_intercept:  # its square is part of ‖f‖²
            values, intercepts = values + intercepts[0], np.zeros(1)
        cost, found = as_in_core(problem.cost), [float(own @ values)]
        for b in intercepts:
            f = values + b
            found.append(float(problem.loss.gap(problem.targets, cost, own, f).sum()))
            found.append(float(cost @ problem.loss.value(problem.targets, f)))
        sums.append(Sums(np.zeros(0), np.array(found)))
    return sums


def _values(problem: Problem, weights: NDArray[np.float32]) -> Array:
    """φ(x_i) · W."""
    members = np.arange(problem.data.n_rows, dtype=np.int32)
    values, padded = np.empty(members.size), np.append(weights, np.float32(0.0))
    for part in in_calls(problem.data, members.size, threading.Event()):
        _core.read_members(problem.data.native, native_table(problem.pair.read), padded, members[part], values[part], 1)
    return values
