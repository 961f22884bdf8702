"""Dual coordinate descent on features that do not fit into memory: block minimisation.

A pass takes the blocks of rows in random order. It computes the features of a block, runs some epochs on the β of the
block for each class, and drops the features; the weights carry the block's part of f to the next block: Yu, Hsieh,
Chang and Lin, "Large linear classification when data cannot fit in memory", KDD 2010. Computing the features dominates
a pass, so the epochs within a block are cheap. Most passes are due to the rows on the margin, 0 < β_i < c_i, which
depend on one another across blocks. Their features, up to the size of a block, are kept until the end of the pass,
where their β are balanced. On MNIST at C = 10 that took 4 passes instead of 136.

The shares of the gap in the first epoch of each block estimate the gap. When their sum is low, an extra pass computes
it exactly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array
from ..encoding import EncodedData
from ..losses import Loss
from ..tables import linear_pair
from ..threads import run_tasks
from .descent import core_solver, in_slices
from .epochs import OnEpoch, looks_converged, negligible_share
from .intercept import Centring, balance, free_square
from .problem import EpochReport, Problem, SolveResult, as_in_core, is_free

# Epochs on the rows of a block, and most epochs on the rows on the margin at the end of a pass.
_EPOCHS, _MARGIN_EPOCHS = 4, 200
# The latter stop at this fraction of the tolerance.
_BALANCED = 0.1

Features = Callable[[slice], NDArray[np.float32]]
Rows = slice | NDArray[np.int64]


class Targets(Protocol):
    """An array of t_i, or what computes those of some rows when it is indexed."""

    def __getitem__(self, rows: slice | NDArray[np.integer], /) -> Array: ...


@dataclass(frozen=True)
class BlockProblems:
    """Problems on the same rows, each with its `targets`. Features are computed one block at a time."""

    features: Features
    blocks: list[slice]
    width: int
    targets: Sequence[Targets]
    cost: Array
    intercept_square: float
    loss: Loss
    free_intercept: bool = False
    mean_norm: float = 1.0  # of the features

    def block(self, rows: Rows, features: NDArray[np.float32], norms: Array, label: int) -> Problem:
        """One problem on one block of rows."""
        return Problem(
            data=EncodedData(features.shape, features),
            pair=linear_pair(),
            scales=np.ones(self.width),
            targets=self.targets[label][rows],
            cost=self.cost[rows],
            curvature=norms,
            intercept_square=self.square,
            loss=self.loss,
        )

    @property
    def square(self) -> float:
        """The constant that the kernel gains while blocks are solved (intercept.py)."""
        return free_square(np.array([self.mean_norm])) if self.free_intercept else self.intercept_square


@dataclass
class _Progress:
    """The state of one problem: β, their weights, and estimates of the objective."""

    beta: Array
    weights: Array
    intercept: float = 0.0
    centre: float = 0.0  # b0 of a free intercept
    centring: Centring | None = None
    dual: float = 0.0
    gap: float = np.inf
    primal: float = 0.0
    estimate: float = 0.0  # of the gap, in this pass
    n_active: int = 0
    converged: bool = False
    stopped: bool = False  # a callback asked for it
    history: list[EpochReport] = field(default_factory=list)

    def resume(self, problem: Problem, rows: Rows, seed: int) -> _core.DualSolver:
        """The core's solver for a block, starting from the current β and weights."""
        core = core_solver(problem, seed, shuffle=True)
        core.set_beta(np.clip(self.beta[rows], *problem.bounds))
        core.set_weights(self.weights.astype(np.float32), self.intercept)
        return core

    def take_over(self, core: _core.DualSolver, problem: Problem, rows: Rows) -> None:
        """Take the core's β of a block, and add the sum of its changes to the weights.

        The core's own float32 weights are not used: many small changes make them drift.
        """
        beta = np.empty(problem.n_rows)
        core.copy_beta(beta)
        change = beta - self.beta[rows]
        self.beta[rows] = beta
        self.weights += change.astype(np.float32) @ problem.data.cells
        self.intercept += float(change.sum()) * problem.intercept_square
        self.dual += core.dual

    @property
    def objective(self) -> float:
        """Report the last pass."""
        return self.history[-1].dual + self.history[-1].gap if self.history else 0.0


@dataclass(frozen=True)
class Blockwise:
    """Stop at a duality gap of `tol` times the primal objective, or after `max_iter` passes."""

    tol: float
    max_iter: int = 1000
    seed: int = 0
    n_threads: int = 1

    def solve(
        self, problems: BlockProblems, watches: Sequence[OnEpoch], interrupted: threading.Event
    ) -> list[SolveResult]:
        """Run all problems to the tolerance. If a watch, called after every pass, returns True, its problem ends."""
        return _Run(self, problems, watches, interrupted).results()


@dataclass
class _Run:
    settings: Blockwise
    problems: BlockProblems
    watches: Sequence[OnEpoch]
    interrupted: threading.Event

    def __post_init__(self) -> None:
        self.begun = time.perf_counter()
        n_rows, width = self.problems.cost.size, self.problems.width
        self.states = [_Progress(np.zeros(n_rows), np.zeros(width)) for _ in self.problems.targets]
        if self.problems.free_intercept:
            for state in self.states:
                state.centring = Centring.of_norms(np.array([self.problems.mean_norm]))
        self.random = np.random.default_rng(self.settings.seed)

    def results(self) -> list[SolveResult]:
        under_way, number = list(range(len(self.states))), 0
        while under_way:
            number += 1
            self._pass(under_way, number)
            last = number == self.settings.max_iter
            self._evaluate([k for k in under_way if last or self._looks_converged(k)])
            for k in under_way:
                self._report(k, number)
            stopped = [k for k in under_way if self.states[k].stopped]
            self._evaluate([k for k in stopped if not np.isfinite(self.states[k].gap)])
            under_way = [k for k in under_way if not (last or self.states[k].converged or k in stopped)]
        return [self._result(state) for state in self.states]

    def _looks_converged(self, k: int) -> bool:
        return looks_converged(self.states[k].estimate, self.states[k].dual, self.settings.tol)

    def _pass(self, under_way: list[int], number: int) -> None:
        """Visit each block once, in random order, then the rows on the margin."""
        for k in under_way:
            self.states[k].gap, self.states[k].estimate, self.states[k].n_active = np.inf, 0.0, 0
        room = max(rows.stop - rows.start for rows in self.problems.blocks)
        kept, kept_features = np.empty(room, dtype=np.int64), np.empty((room, self.problems.width), dtype=np.float32)
        n_kept = 0
        for b in self.random.permutation(len(self.problems.blocks)):
            rows = self.problems.blocks[b]
            features = self.problems.features(rows)
            self._visit(under_way, rows, features, number, self._descend)
            margin = self._on_margin(under_way, rows)[: room - n_kept]
            here = slice(n_kept, n_kept + margin.size)
            kept[here], kept_features[here] = margin, features[margin - rows.start]
            n_kept = here.stop
        if n_kept:
            self._visit(under_way, kept[:n_kept], kept_features[:n_kept], number, self._settle)
        for k in under_way:
            self._move_centre(self.states[k])

    def _visit(
        self,
        under_way: list[int],
        rows: Rows,
        features: NDArray[np.float32],
        number: int,
        work: Callable[[_Progress, _core.DualSolver], None],
    ) -> None:
        """Run every problem on these rows and take its β."""
        norms = self._norms(features)

        def solve(index: int) -> None:
            k = under_way[index]
            state, problem = self.states[k], self.problems.block(rows, features, norms, k)
            core = state.resume(problem, rows, self.settings.seed + 1000 * number + k)
            core.set_negligible(negligible_share(self.settings.tol, state.objective, state.beta.size))
            work(state, core)
            state.take_over(core, problem, rows)

        run_tasks(solve, len(under_way), self.settings.n_threads, self.interrupted)

    def _descend(self, state: _Progress, core: _core.DualSolver) -> None:
        for epoch in range(_EPOCHS):
            in_slices(core.sweep, self.interrupted)
            if epoch == 0:
                state.estimate += core.active_gap
        state.n_active += core.n_active

    def _settle(self, state: _Progress, core: _core.DualSolver) -> None:
        for _ in range(_MARGIN_EPOCHS):
            in_slices(core.sweep, self.interrupted)
            if core.active_gap <= _BALANCED * self.settings.tol * (state.dual + core.dual):
                break

    def _move_centre(self, state: _Progress) -> None:
        if state.centring is None:
            return
        total = float(state.beta.sum())
        centre = state.centring.next_centre(state.intercept, total, state.estimate)
        if centre is not None:
            state.dual -= (centre - state.centre) * total
            state.intercept += centre - state.centre
            state.centre = centre
        state.estimate += state.centring.imbalance(float(state.beta.sum()))

    def _balance(self, k: int) -> None:
        """Make Σβ = 0, in one more pass over the blocks whose β change."""
        state = self.states[k]
        if state.centring is None:
            return
        bounds = self.problems.loss.bounds(self.problems.targets[k][:], as_in_core(self.problems.cost))
        change = balance(state.beta, bounds, np.ones(state.beta.size)) - state.beta
        for rows in self.problems.blocks:
            if change[rows].any():
                state.weights += change[rows].astype(np.float32) @ self.problems.features(rows)
        state.beta += change
        state.centre = state.intercept

    def _on_margin(self, under_way: list[int], rows: slice) -> NDArray[np.int64]:
        """Rows of a block whose β_i is strictly between its bounds and not zero in some problem."""
        loss, cost = self.problems.loss, as_in_core(self.problems.cost[rows])
        free = [
            is_free(self.states[k].beta[rows], *loss.bounds(self.problems.targets[k][rows], cost)) for k in under_way
        ]
        return np.flatnonzero(np.logical_or.reduce(free)) + rows.start

    def _norms(self, features: NDArray[np.float32]) -> Array:
        return np.einsum("ij,ij->i", features, features).astype(np.float64) + self.problems.square

    def _evaluate(self, due: list[int]) -> None:
        """Compute the exact gap of some problems in one more pass."""
        sums, before = np.zeros((len(self.states), 3)), {k: float(self.states[k].beta.sum()) for k in due}
        for k in due:
            self._balance(k)
        for rows in self.problems.blocks if due else []:
            features = self.problems.features(rows)
            norms = self._norms(features)
            for k in due:
                core = self.states[k].resume(self.problems.block(rows, features, norms, k), rows, seed=0)
                in_slices(core.evaluate, self.interrupted)
                sums[k] += core.gap, core.loss_sum, core.squared_norm
        for k in due:
            state = self.states[k]
            state.gap, state.primal = float(sums[k, 0]), float(sums[k, 1] + 0.5 * sums[k, 2])
            state.dual = state.primal - state.gap
            if state.centring is not None:
                estimate = state.estimate - state.centring.imbalance(before[k])
                state.centring.compare(estimate, before[k], state.gap)
            state.estimate = state.gap
            state.converged = state.gap <= self.settings.tol * state.primal

    def _report(self, k: int, number: int) -> None:
        """Report the pass, to a callback that may ask to stop."""
        state = self.states[k]
        seconds = time.perf_counter() - self.begun
        state.history.append(EpochReport(number, seconds, state.dual, state.estimate, state.n_active))
        state.stopped = self.watches[k](state.history[-1])

    def _result(self, state: _Progress) -> SolveResult:
        return SolveResult(
            beta=state.beta,
            weights=state.weights.astype(np.float32)[:, None],
            intercept=state.intercept,
            n_iter=len(state.history),
            primal=state.primal,
            gap=state.gap,
            converged=state.converged,
            history=state.history,
            stopped=state.stopped,
        )
