"""Dual coordinate descent on rows that do not fit into memory: block minimisation.

A pass takes the blocks of rows in random order. It reads or computes a block, runs some epochs on the β of the block
for each problem, and drops it; the weights carry the block's part of f to the next block: Yu, Hsieh, Chang and Lin,
"Large linear classification when data cannot fit in memory", KDD 2010. Reading a block dominates a pass, so the epochs
within a block are cheap. Most passes are due to the rows on the margin, 0 < β_i < c_i, which depend on one another
across blocks. They are kept, up to the size of a block, until the end of the pass, where their β are balanced. On MNIST
at C = 10 with landmarks that took 4 passes instead of 136.

The shares of the gap in the first epoch of each block estimate the gap. When their sum is low, an extra pass computes
it exactly. Besides one block, the next one and the rows on the margin, memory holds β, 4 bytes per row and problem: the
β that balancing gives the rows off the margin are computed when they are read (block_progress.py).

The core's weights of a block are W − S W_μ, with S the sum of all β and W_μ the weights of the mean μ of the rows, if
there is one (intercept.py): that is what the other blocks contribute to the centred kernel.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Numbers
from ..threads import run_tasks
from .block_problems import Block, BlockProblems, Rows
from .block_progress import Progress, Shrink
from .descent import in_slices
from .epochs import OnEpoch, doublings_to, looks_converged, negligible_share
from .intercept import filled
from .problem import EpochReport, SolveResult, as_in_core, is_free

# Epochs on the rows of a block: all rows in the first one, and those whose share of the gap is not negligible in the
# other two, after which all would be visited again. Most epochs on the rows on the margin at the end of a pass.
_EPOCHS, _MARGIN_EPOCHS = 3, 200
# The latter stop at this fraction of the tolerance.
_BALANCED = 0.1
# About how far rows at their bounds are from the margin, in multiples of the scale of the targets.
_DISTANCE = 2.0


class Snapshot(NamedTuple):
    """All problems between two passes: what JSON can hold, and arrays."""

    content: dict[str, Any]
    arrays: dict[str, Numbers]


class Checkpoint(Protocol):
    """Where a run keeps its state, for a later one to continue from."""

    def load(self) -> Snapshot | None:
        """What an earlier run has left."""

    def save(self, snapshot: Snapshot) -> None:
        """Keep the state after a pass; not after every pass, if passes are short."""


@dataclass(frozen=True)
class Blockwise:
    """Stop at a duality gap of `tol` times the primal objective, or after `max_iter` passes."""

    tol: float
    max_iter: int = 1000
    seed: int = 0
    n_threads: int = 1

    def solve(
        self,
        problems: BlockProblems,
        watches: Sequence[OnEpoch],
        interrupted: threading.Event,
        checkpoint: Checkpoint | None = None,
    ) -> list[SolveResult]:
        """Run all problems to the tolerance. If a watch, called after every pass, returns True, its problem ends.

        A run that continues from a `checkpoint` has the result of one that was not interrupted, bit for bit.
        """
        return _Run(self, problems, watches, interrupted, checkpoint).results()


@dataclass
class _Run:
    settings: Blockwise
    problems: BlockProblems
    watches: Sequence[OnEpoch]
    interrupted: threading.Event
    checkpoint: Checkpoint | None

    def __post_init__(self) -> None:
        self.begun = time.perf_counter()
        problems = self.problems
        self.states = [
            Progress(
                problems,
                k,
                np.zeros(problems.n_rows, dtype=problems.beta_type),
                np.zeros(problems.scales.size * problems.pair.width + 1),
                problems.start(k),
            )
            for k in range(len(problems.targets))
        ]
        for state in self.states:
            state.centre = 0.0 if state.centring is None else state.centring.first
        self.random = np.random.default_rng(self.settings.seed)
        self.kept: Block | None = None  # rows on the margin

    def results(self) -> list[SolveResult]:
        doublings = self._begin_small()
        under_way, number = self._continued()
        while under_way:
            number += 1
            self._pass(under_way, number)
            last, warm = number == self.settings.max_iter, number <= doublings
            self._evaluate([k for k in under_way if last or (self._looks_converged(k) and not warm)], final=last)
            for k in under_way:
                self._report(k, number)
                if warm:
                    self.states[k].grow(2.0)
            stopped = [k for k in under_way if self.states[k].stopped]
            self._evaluate([k for k in stopped if not self.states[k].converged], final=True)
            under_way = [k for k in under_way if not (last or self.states[k].converged or k in stopped)]
            if self.checkpoint is not None and under_way and not stopped:
                self.checkpoint.save(self._snapshot(under_way, number))
        return [self._result(state) for state in self.states]

    def _snapshot(self, under_way: list[int], number: int) -> Snapshot:
        """The state after a pass."""
        content: dict[str, Any] = {"under_way": under_way, "number": number, "states": []}
        content["seconds"] = time.perf_counter() - self.begun
        content["random"] = self.random.bit_generator.state
        arrays: dict[str, Numbers] = {}
        for k, state in enumerate(self.states):
            numbers, own = state.snapshot()
            content["states"].append(numbers)
            arrays |= {f"{name}.{k}": array for name, array in own.items()}
        return Snapshot(content, arrays)

    def _continued(self) -> tuple[list[int], int]:
        """The problems that are left, and the number of the last pass; the first ones, if nothing was kept."""
        found = None if self.checkpoint is None else self.checkpoint.load()
        if found is None:
            return list(range(len(self.states))), 0
        content = found.content
        for k, state in enumerate(self.states):
            state.restore(content["states"][k], {name: found.arrays[f"{name}.{k}"] for name in ("beta", "sums")})
        self.begun -= content["seconds"]
        self.random.bit_generator.state = content["random"]
        return content["under_way"], content["number"]

    def _begin_small(self) -> int:
        """Divide the costs by 2, 4 or 8 if they are large, as epochs.py does; returns the passes until they are not."""
        problems = self.problems
        if any(loss.targets == "numbers" for loss in problems.losses):
            return 0
        cost = float(np.mean(problems.cost[problems.blocks[0]]))
        doublings = doublings_to(cost, problems.mean_norm + problems.square, self.settings.max_iter)
        for state in self.states:
            state.factor = 0.5**doublings
        return doublings

    def _looks_converged(self, k: int) -> bool:
        return looks_converged(self.states[k].estimate, self.states[k].dual, self.settings.tol)

    def _pass(self, under_way: list[int], number: int) -> None:
        """Visit each block once, in random order, then the rows on the margin."""
        for k in under_way:
            self.states[k].gap, self.states[k].estimate, self.states[k].n_active = np.inf, 0.0, 0
        room = max(rows.stop - rows.start for rows in self.problems.blocks)
        self.kept, kept = None, []
        order = [self.problems.blocks[b] for b in self.random.permutation(len(self.problems.blocks))]
        for block in self.problems.visits(order):
            self._visit(under_way, block, number, self._descend)
            margin = self._on_margin(under_way, block.rows)[:room]
            if margin.size:
                kept.append(block.some(margin))
                room -= margin.size
            del block  # before the next one is read
        if kept:
            self.kept = Block.joined(kept)
            kept.clear()
            self._visit(under_way, self.kept, number, self._settle)
        for state in (self.states[k] for k in under_way):
            self._move_centre(state)

    def _visit(
        self, under_way: list[int], block: Block, number: int, work: Callable[[Progress, _core.DualSolver], None]
    ) -> None:
        """Run every problem on these rows and take its β."""

        def solve(index: int) -> None:
            k = under_way[index]
            state = self.states[k]
            problem = self.problems.problem(block, k, state.factor)
            core = state.resume(problem, block.rows, self.settings.seed + 1000 * number + k)
            core.set_negligible(negligible_share(self.settings.tol, state.objective, state.beta.size))
            work(state, core)
            state.take_over(core, problem, block)

        run_tasks(solve, len(under_way), self.settings.n_threads, self.interrupted)

    def _descend(self, state: Progress, core: _core.DualSolver) -> None:
        for epoch in range(_EPOCHS):
            in_slices(core.sweep, self.interrupted)
            if epoch == 0:
                state.estimate += core.active_gap
        state.n_active += core.n_visits

    def _settle(self, state: Progress, core: _core.DualSolver) -> None:
        for _ in range(_MARGIN_EPOCHS):
            in_slices(core.sweep, self.interrupted)
            if core.active_gap <= _BALANCED * self.settings.tol * (state.dual + core.dual):
                break

    def _move_centre(self, state: Progress) -> None:
        """Move the centre of a free intercept if Σβ is what keeps the gap open.

        Balancing takes |Σβ| from rows at their bounds, if need be, each of which costs about its distance from the
        margin: with many rows that is far less than the square of Σβ.
        """
        if state.centring is None:
            return
        b = state.centre + self.problems.square * state.total
        centre = state.centring.next_centre(b, state.total, state.estimate)
        if centre is not None:
            state.dual -= (centre - state.centre) * state.total
            state.centre = centre
        state.estimate += min(
            state.centring.imbalance(state.total), _DISTANCE * state.centring.reach * abs(state.total)
        )

    def _balance(self, state: Progress) -> None:
        """Make Σβ = 0 by changes of the rows on the margin that are in memory, or else of all rows of one sign."""
        if state.centring is None or state.total == 0.0:
            return
        b, sign, needed = state.centre + self.problems.square * state.total, np.sign(state.total), abs(state.total)
        places, room = self._room(state)
        left = max(0.0, needed - float(room.sum()))
        if self.kept is not None and room.size:
            beta = state.beta_of(self.kept.rows)
            beta[places] -= sign * (room if left else filled(needed, room, np.ones(room.size)))
            state.set(self.kept, beta)
        if left:
            heavy = sum(float(np.maximum(sign * state.beta[rows], 0.0).sum()) for rows in self.problems.blocks)
            state.shrink_all(Shrink(sign, 1.0 - sign * state.total / heavy))
        state.centre, state.total = b, 0.0

    def _room(self, state: Progress) -> tuple[NDArray[np.int64], Array]:
        """Rows on the margin that are in memory, and how far each can move towards Σβ = 0."""
        if self.kept is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        low, high = self.problems.problem(self.kept, state.number, state.factor).bounds
        beta = state.beta_of(self.kept.rows)
        places = np.flatnonzero(is_free(beta, low, high))
        limit = (low if state.total > 0.0 else high)[places]
        return places, np.abs(beta[places] - np.where(np.isfinite(limit), limit, 0.0))

    def _on_margin(self, under_way: list[int], rows: Rows) -> NDArray[np.int64]:
        """Places in a block of the rows whose β_i is strictly between its bounds and not zero in some problem."""
        free = []
        for k in under_way:
            state = self.states[k]
            cost = as_in_core(state.factor * self.problems.cost[rows])
            bounds = self.problems.losses[k].bounds(self.problems.targets[k][rows], cost)
            free.append(is_free(state.beta[rows], *bounds))
        return np.flatnonzero(np.logical_or.reduce(free))

    def _evaluate(self, due: list[int], *, final: bool) -> None:
        """Compute the exact gap of some problems in one more pass; β stays balanced if it is `final`, or converged."""
        sums, before = np.zeros((len(self.states), 3)), {k: self.states[k].point(self.kept) for k in due}
        for k in due:
            self._balance(self.states[k])
        for block in self.problems.visits(self.problems.blocks if due else []):
            for k in due:
                problem = self.problems.problem(block, k, self.states[k].factor)
                core = self.states[k].resume(problem, block.rows, seed=0)
                in_slices(core.evaluate, self.interrupted)
                sums[k] += core.gap, core.loss_sum, core.squared_norm
        for k in due:
            state = self.states[k]
            state.gap, state.primal = float(sums[k, 0]), float(sums[k, 1] + 0.5 * sums[k, 2])
            state.dual = state.primal - state.gap
            state.converged = state.gap <= self.settings.tol * state.primal
            if state.centring is not None:
                total = before[k].total
                state.centring.compare(max(0.0, state.estimate - state.centring.imbalance(total)), total, state.gap)
            state.estimate = state.gap
            if state.converged or final:
                state.store()
            elif state.centring is not None:
                state.go_back(before[k], self.kept)  # balanced, β may be far from the best

    def _report(self, k: int, number: int) -> None:
        """Report the pass, to a callback that may ask to stop."""
        state = self.states[k]
        seconds = time.perf_counter() - self.begun
        state.history.append(EpochReport(number, seconds, state.dual, state.estimate, state.n_active))
        state.stopped = self.watches[k](state.history[-1])

    def _result(self, state: Progress) -> SolveResult:
        return SolveResult(
            beta=state.beta,
            weights=state.weights.astype(np.float32).reshape(self.problems.scales.size, -1),
            intercept=state.intercept,
            n_iter=len(state.history),
            primal=state.primal,
            gap=state.gap,
            converged=state.converged,
            history=state.history,
            stopped=state.stopped,
        )
