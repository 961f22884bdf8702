"""One problem, or several on the same rows, on parts of the rows at the same time: on the workers of a cluster.

A round sends the weights to all parts. Each works on its own rows for some epochs (part.py) and returns its change, and
the changes are added up. To be safe, a part expects f to change sigma times as much as it changes it itself: Ma, Smith,
Jaggi, Jordan, Richtárik, Takáč, "Adding vs. averaging in distributed primal-dual optimization", ICML 2015. The right
sigma is the squared norm of the sum of the changes Δ_k divided by the sum of their squared norms, from 1 (orthogonal)
to the number of parts (equal). It follows that of the rounds before, as between threads (native/host/parts.hpp).

Should it have been too small, the sum of all changes goes too far. The dual objective along it is known,

    D(β + η Δ) − D(β) ≥ η (Σ_i d_i(β_i + Δ_i) − d_i(β_i) − Δ_i f(x_i)) − ½ η² ‖Δ‖²,       0 ≤ η ≤ 1,

with equality for the hinge, since d is concave. So the best η for this bound is taken, and D never falls.

Rows on the margin, 0 < β_i < c_i, depend on one another across parts, and most rounds would be due to them. Where they
are few, they are sent to one worker after every round, which finds their β together, as blockwise.py does. On covtype,
spambase and digits that took 3 to 5 rounds instead of up to 235, for 2 to 8 parts.

The loop knows W, a few sums and the number of rows; β stays with the parts. A part that is lost continues from β = 0: W
is then summed again from the β that are there (`PartsLost`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Indices
from ..losses import Loss
from ..tables import TablePair
from . import part
from .epochs import OnEpoch, doublings_to, looks_converged, negligible_share
from .intercept import Centring
from .part import Balance, Candidate, Order, PartRows, Sums, weights_of
from .problem import EpochReport, SolveResult

# Most epochs of a part in a round; it stops at this share of the gap that the first one finds.
_EPOCHS, _ENOUGH = 10, 0.2
# The same for rows on the margin, of all parts together, which one worker visits.
_MARGIN_EPOCHS, _SETTLED = 100, 0.2
# What they leave of the gap, at most, as a first guess: a certificate is tried then.
_LEFT = 0.2
# They are sent if they have at most this share of all cells, or the first number, and not more than the second.
_MARGIN_SHARE, _FEW_CELLS, _MOST_CELLS = 0.3, 2e5, 4e6
# sigma is larger than measured by the margin, and falls at most by the factor.
_MARGIN, _SLOWEST_FALL = 1.1, 0.7
# Intercepts that a certificate tries besides the current one, relative to 1 or its size; and how often it looks closer.
_OFFSETS = np.array([0.0, -0.01, 0.01, -0.03, 0.03, -0.1, 0.1, -0.3, 0.3])
_CLOSER = 3
# How many times larger than its estimate a gap may turn out to be: one check in vain should not prevent the next.
_MOST_UNDERSTATED = 4.0


class PartsLost(Exception):  # noqa: N818, not an error
    """Some parts were lost, and continue from β = 0."""


class Parts(Protocol):
    """The parts of the rows, wherever they are. `steps` are η of the last round, one for each problem.

    Each method returns sums over all parts, one for each problem asked for. All but the first may raise PartsLost.
    """

    @property
    def n_parts(self) -> int:
        """How many there are."""

    def total(self, steps: Array, chosen: Sequence[int]) -> list[Sums]:
        """Sums of β as it is."""

    def work(self, steps: Array, orders: Sequence[Order]) -> list[Sums]:
        """Some epochs on each problem: sums of the changes, which the parts keep."""

    def settled(self, steps: Array, orders: Sequence[Order]) -> list[Sums]:
        """Descent on the rows on the margin, of all parts together: sums of the changes, which the parts keep."""

    def balanced(self, steps: Array, orders: Sequence[Balance]) -> list[Sums]:
        """Sums of β with Σβ = 0, which the parts keep for the next call of `certified`."""

    def certified(self, candidates: Sequence[Candidate]) -> list[Sums]:
        """Exact shares of the gap, of the β that were balanced last."""


@dataclass
class LocalParts:
    """Parts in this process, one after the other: the same result as on workers."""

    rows: Sequence[PartRows]

    def __post_init__(self) -> None:
        self.states = [one.zeros() for one in self.rows]
        self.betas: list[Array] = []

    @property
    def n_parts(self) -> int:
        """How many there are."""
        return len(self.rows)

    def total(self, steps: Array, chosen: Sequence[int]) -> list[Sums]:
        """See Parts."""
        return added([part.total(*both, steps, chosen) for both in zip(self.rows, self.states, strict=True)])

    def work(self, steps: Array, orders: Sequence[Order]) -> list[Sums]:
        """See Parts."""
        done = [
            part.work(rows, state, steps, [of_part(order, k) for order in orders])
            for k, (rows, state) in enumerate(zip(self.rows, self.states, strict=True))
        ]
        self.states = [state for state, _ in done]
        return added([sums for _, sums in done])

    def settled(self, steps: Array, orders: Sequence[Order]) -> list[Sums]:
        """See Parts."""
        sums, found = [], list[list[tuple[Indices, Array]]]()
        for order in orders:
            each = [part.margin(*both, steps, order.problem) for both in zip(self.rows, self.states, strict=True)]
            split, total = part.settled(each, order)
            found.append(split)
            sums.append(total)
        self.states = [
            part.with_margins(state, steps, margins_of_part(orders, found, k)) for k, state in enumerate(self.states)
        ]
        return sums

    def balanced(self, steps: Array, orders: Sequence[Balance]) -> list[Sums]:
        """See Parts."""
        done = [part.balanced(*both, steps, orders) for both in zip(self.rows, self.states, strict=True)]
        self.betas = [beta for beta, _ in done]
        return added([sums for _, sums in done])

    def certified(self, candidates: Sequence[Candidate]) -> list[Sums]:
        """See Parts."""
        return added([part.certified(*both, candidates) for both in zip(self.rows, self.betas, strict=True)])


def of_part(order: Order, number: int) -> Order:
    """The order with a seed for each part."""
    return order._replace(seed=order.seed + 7919 * number)


def margins_of_part(
    orders: Sequence[Order], found: Sequence[list[tuple[Indices, Array]]], number: int
) -> list[tuple[int, Indices, Array]]:
    """The problem, rows and β of each margin that was settled, for one part."""
    return [(order.problem, *split[number]) for order, split in zip(orders, found, strict=True)]


def added(parts: Sequence[list[Sums]]) -> list[Sums]:
    """The sums of each problem over all parts, as a tree, so that the result does not depend on where parts are."""
    while len(parts) > 1:
        pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
        parts = [[a + b for a, b in zip(*pair, strict=True)] if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


@dataclass(frozen=True)
class Outline:
    """What is known of the problems without their rows. `square` is s of part.py, `mean_square` ‖μ‖² of intercept.py.

    `norm` and `cost` are the means of K(x, x), centred, and of c; `firsts` the best intercepts for f = 0, and `reach`
    the ranges of the targets, one for each problem.
    """

    pair: TablePair
    scales: Array
    losses: Sequence[Loss]
    n_rows: int
    n_cells: float
    square: float
    mean_square: float
    free_intercept: bool
    norm: float
    cost: float
    firsts: Sequence[float]
    reach: Sequence[float]
    used: Indices | None = None

    def weights(self, slots: Array) -> Array:
        """W of sums over the slots in use."""
        return weights_of(self.pair, self.scales, slots, self.used)

    @property
    def n_slots(self) -> int:
        """Slots in use."""
        return self.scales.size * self.pair.width if self.used is None else self.used.size

    def centring(self, number: int) -> Centring | None:
        """Where the centre of the intercept begins."""
        if not self.free_intercept:
            return None
        found = Centring.of_norms(np.array([self.norm]))
        found.reach, found.first = self.reach[number], self.firsts[number]
        return found


@dataclass
class _Progress:
    """The state of one problem."""

    slots: Array
    weights: Array
    centring: Centring | None
    centre: float
    sigma: float
    beta_sum: float = 0.0
    mean_sum: float = 0.0
    step: float = 1.0
    dual: float = 0.0
    estimate: float = np.inf  # of the gap
    progress: float = 1.0  # its last fall
    gap: float = np.inf
    primal: float = 0.0
    n_visits: float = 0.0
    next_check: int = 1
    understated: float = 1.0  # the exact gap, as a multiple of its estimate, at the last certificate
    converged: bool = False
    stopped: bool = False
    solution: tuple[NDArray[np.float32], float] | None = None  # W and b of the last certificate
    history: list[EpochReport] = field(default_factory=list)


@dataclass(frozen=True)
class Rounds:
    """Stop at a duality gap of `tol` times the primal objective, or after `max_iter` passes over the rows."""

    tol: float
    max_iter: int = 1000
    seed: int = 0

    def solve(self, parts: Parts, outline: Outline, watches: Sequence[OnEpoch]) -> list[SolveResult]:
        """Run all problems to the tolerance; a watch that returns True after a round ends its problem."""
        return _Run(self, parts, outline, watches).results()


class _Run:
    def __init__(self, settings: Rounds, parts: Parts, outline: Outline, watches: Sequence[OnEpoch]) -> None:
        self.settings, self.parts, self.outline, self.watches = settings, parts, outline, watches
        self.begun = time.perf_counter()
        self.states = [self._first(k) for k in range(len(outline.losses))]
        self.n_rounds = 0

    def _first(self, number: int) -> _Progress:
        centring = self.outline.centring(number)
        zeros = np.zeros(self.outline.n_slots)
        sigma = float(self.parts.n_parts)
        return _Progress(zeros, zeros.copy(), centring, centring.first if centring else 0.0, sigma)

    def results(self) -> list[SolveResult]:
        under_way = list(range(len(self.states)))
        while under_way:
            try:
                self._round(under_way)
                last = [k for k in under_way if self._is_spent(self.states[k])]
                self._certify([k for k in under_way if k in last or self._is_due(k)])
            except PartsLost:
                self._sum_again(under_way)
                continue
            for k in under_way:
                self._report(k)
            stopped = [k for k in under_way if self.states[k].stopped and self.states[k].solution is None]
            self._certified_again(stopped)
            under_way = [k for k in under_way if not (k in last or self.states[k].converged or self.states[k].stopped)]
        return [self._result(state) for state in self.states]

    def _certified_again(self, stopped: list[int]) -> None:
        """Compute the gap of problems that a callback has ended, whatever parts are lost meanwhile."""
        while stopped:
            try:
                self._certify(stopped)
                return
            except PartsLost:
                self._sum_again(stopped)

    @property
    def _steps(self) -> Array:
        return np.array([state.step for state in self.states])

    def _is_spent(self, state: _Progress) -> bool:
        return state.n_visits >= self.settings.max_iter * self.outline.n_rows

    def _is_due(self, k: int) -> bool:
        state = self.states[k]
        if self.n_rounds < state.next_check:
            return False
        return looks_converged(state.understated * self._estimate(state), state.dual, self.settings.tol)

    def _estimate(self, state: _Progress) -> float:
        """Of the gap that a certificate would find: that before the last round, if this one was as good as the last."""
        return state.estimate * state.progress + (
            0.0 if state.centring is None else state.centring.imbalance(state.beta_sum)
        )

    def _round(self, under_way: list[int]) -> None:
        self.n_rounds += 1
        sums = self.parts.work(self._steps, [self._order(k) for k in under_way])
        for state in self.states:
            state.step = 1.0
        narrow, most_cells = [], min(_MOST_CELLS, max(_FEW_CELLS, _MARGIN_SHARE * self.outline.n_cells))
        for k, found in zip(under_way, sums, strict=True):
            self._take(self.states[k], found)
            if self.parts.n_parts > 1 and 0.0 < found.numbers[part.MARGIN_CELLS] <= most_cells:
                narrow.append(k)
        if narrow:
            self._settle(narrow)

    def _settle(self, narrow: list[int]) -> None:
        """Let the rows on the margin of all parts find their β together."""
        orders = [
            self._order(k)._replace(sigma=1.0, n_parts=1, doublings=0, most_epochs=_MARGIN_EPOCHS, enough=_SETTLED)
            for k in narrow
        ]
        sums = self.parts.settled(self._steps, orders)
        for state in self.states:
            state.step = 1.0
        for k, found in zip(narrow, sums, strict=True):
            n_margin = max(1.0, float(found.numbers[part.N_ROWS]))
            self._add(self.states[k], found, float(found.numbers[part.CENTRE]) / n_margin)
            self.states[k].progress = min(self.states[k].progress, _LEFT)

    def _order(self, k: int) -> Order:
        state, outline = self.states[k], self.outline
        doublings = 0
        if self.n_rounds == 1 and outline.losses[k].targets == "labels":
            doublings = doublings_to(outline.cost, outline.norm, self.settings.max_iter)
        objective = state.dual + min(state.estimate, state.gap) if state.history else 0.0
        return Order(
            problem=k,
            weights=state.weights.astype(np.float32),
            intercept=self._intercept(state),
            centre=state.centre,
            centring=state.centring,
            beta_sum=state.beta_sum,
            sigma=state.sigma,
            n_parts=self.parts.n_parts,
            step=state.step,
            negligible=negligible_share(self.settings.tol, objective, outline.n_rows),
            doublings=doublings,
            most_epochs=_EPOCHS,
            enough=_ENOUGH,
            seed=self.settings.seed + 100_003 * self.n_rounds + k,
        )

    def _intercept(self, state: _Progress) -> float:
        """b and what the mean of the rows adds to it: that of a problem whose Σβ is not zero."""
        outline = self.outline
        return state.centre + (outline.square + outline.mean_square) * state.beta_sum - state.mean_sum

    def _take(self, state: _Progress, found: Sums) -> None:
        """Add a change of all parts, and learn from it what the next one should be."""
        together = self._add(state, found, float(found.numbers[part.CENTRE]) / self.outline.n_rows)
        gap = float(found.numbers[part.GAP])
        state.progress = min(1.0, gap / state.estimate) if 0.0 < state.estimate < np.inf else 1.0
        state.estimate, state.gap = gap, np.inf
        self._choose_sigma(state, together, float(found.numbers[part.ALONE]))

    def _add(self, state: _Progress, found: Sums, move: float) -> float:
        """Add as much of a change as raises the dual objective most, once the centre has moved; its squared norm."""
        state.dual -= move * state.beta_sum
        state.centre += move
        slots, numbers = found.slots.astype(np.float64), found.numbers
        dual, beta_sum, mean_sum = numbers[[part.DUAL, part.BETA_SUM, part.MEAN_SUM]]
        weights = self.outline.weights(slots)
        square = self.outline.square + self.outline.mean_square
        together = float(slots @ weights) + square * beta_sum * beta_sum - 2.0 * beta_sum * mean_sum
        moved = float(slots @ state.weights) + self._intercept(state) * beta_sum - state.beta_sum * mean_sum
        slope = dual - moved
        state.step = float(np.clip(slope / together, 0.0, 1.0)) if together > 0.0 else 1.0
        state.dual += state.step * slope - 0.5 * state.step**2 * together
        state.slots += state.step * slots
        state.weights += state.step * weights
        state.beta_sum += state.step * beta_sum
        state.mean_sum += state.step * mean_sum
        state.n_visits += float(numbers[part.N_VISITS])
        return together

    def _choose_sigma(self, state: _Progress, together: float, alone: float) -> None:
        if alone > 0.0 and np.isfinite(together / alone):
            needed = _MARGIN * together / alone
            state.sigma = float(np.clip(max(needed, _SLOWEST_FALL * state.sigma), 1.0, self.parts.n_parts))

    def _sum_again(self, under_way: list[int]) -> None:
        """Take W from the β that parts have."""
        while True:
            try:
                sums = self.parts.total(self._steps, under_way)
            except PartsLost:
                continue
            for k, found in zip(under_way, sums, strict=True):
                self._set(self.states[k], found)
            return

    def _set(self, state: _Progress, found: Sums) -> None:
        state.slots = found.slots.astype(np.float64)
        state.weights = self.outline.weights(state.slots)
        state.beta_sum, state.mean_sum = (float(found.numbers[k]) for k in (part.BETA_SUM, part.MEAN_SUM))
        square = self.outline.square + self.outline.mean_square
        norm = state.slots @ state.weights + square * state.beta_sum**2 - 2.0 * state.beta_sum * state.mean_sum
        state.dual = float(found.numbers[part.DUAL] - 0.5 * norm - state.centre * state.beta_sum)

    def _certify(self, due: list[int]) -> None:
        """Compute the exact gap of some problems, of a β with Σβ = 0 if the intercept is free."""
        if not due:
            return
        balances = []
        for k, found in zip(due, self.parts.total(self._steps, due), strict=True):
            self._set(self.states[k], found)
            self.states[k].solution = None
            balances.append(self._balance(k, found.numbers))
        sums = self.parts.balanced(self._steps, balances)
        pending = {k: self._candidate(k, found) for k, found in zip(due, sums, strict=True)}
        for _ in range(_CLOSER + 1):
            found_all = self.parts.certified(list(pending.values()))
            for (k, candidate), found in zip(list(pending.items()), found_all, strict=True):
                pending[k] = self._judge(k, candidate, found)
            # The parts keep β by position, so all problems are looked at again if one is.
            if all(self.states[k].converged or self.states[k].centring is None for k in pending):
                break
        for state in (self.states[k] for k in due):
            state.next_check = self.n_rounds + 1 + self.n_rounds // 10
            estimate = self._estimate(state)
            state.understated = float(np.clip(state.gap / estimate, 1.0, _MOST_UNDERSTATED)) if estimate > 0.0 else 1.0

    def _balance(self, k: int, numbers: Array) -> Balance:
        total = self.states[k].beta_sum
        if self.states[k].centring is None or total == 0.0:
            return Balance(k, 1.0, 0.0, True)
        sign = float(np.sign(total))
        room = float(numbers[part.FREE_DOWN if sign > 0.0 else part.FREE_UP])
        only_free = room >= abs(total)
        if not only_free:
            room = float(numbers[part.POSITIVE if sign > 0.0 else part.NEGATIVE])
        return Balance(k, sign, min(1.0, abs(total) / room), only_free)

    def _candidate(self, k: int, found: Sums) -> Candidate:
        state, outline = self.states[k], self.outline
        weights = outline.weights(found.slots.astype(np.float64)).astype(np.float32)
        if state.centring is None:
            return Candidate(k, weights, np.array([self._intercept(state)]))
        b = state.centre + outline.square * state.beta_sum - float(found.numbers[part.MEAN_SUM])
        return Candidate(k, weights, b + _OFFSETS * max(1.0, abs(b)))

    def _judge(self, k: int, candidate: Candidate, found: Sums) -> Candidate:
        """Keep the best intercept, and return those to try next, closer to it."""
        state = self.states[k]
        gaps, values = found.numbers[1::2], found.numbers[2::2]
        best = int(np.argmin(gaps))
        if state.solution is None or gaps[best] < state.gap:
            state.gap, state.primal = float(gaps[best]), float(values[best] + 0.5 * found.numbers[0])
            state.solution = candidate.weights, float(candidate.intercepts[best])
        state.converged = state.gap <= self.settings.tol * state.primal
        if state.centring is None:
            return candidate
        ordered = np.sort(candidate.intercepts)
        at = int(np.searchsorted(ordered, candidate.intercepts[best]))
        low, high = ordered[max(at - 1, 0)], ordered[min(at + 1, ordered.size - 1)]
        return candidate._replace(intercepts=np.linspace(low, high, ordered.size))

    def _report(self, k: int) -> None:
        state = self.states[k]
        gap = state.gap if np.isfinite(state.gap) else state.estimate
        n_active = self.outline.n_rows
        seconds = time.perf_counter() - self.begun
        state.history.append(EpochReport(len(state.history) + 1, seconds, state.dual, gap, n_active))
        state.stopped = self.watches[k](state.history[-1])

    def _result(self, state: _Progress) -> SolveResult:
        assert state.solution is not None
        weights, intercept = state.solution
        everywhere = weights
        if self.outline.used is not None:
            everywhere = np.zeros(self.outline.scales.size * self.outline.pair.width, dtype=np.float32)
            everywhere[self.outline.used] = weights
        return SolveResult(
            beta=np.empty(0),
            weights=everywhere.reshape(self.outline.scales.size, -1),
            intercept=intercept,
            n_iter=len(state.history),
            primal=state.primal,
            gap=state.gap,
            converged=state.converged,
            history=state.history,
            stopped=state.stopped,
        )
