"""Coordinate descent in the core: sweeps in time slices, exact sums, and the gap."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array
from ..native import in_calls, native_table
from .epochs import negligible_share
from .intercept import Centring, balance, best_intercept, centred_norms, intercept_square
from .problem import Problem, as_in_core

# Seconds after which the core returns, for callbacks and Ctrl-C.
_SLICE_SECONDS = 0.05
# Epochs between new sums of the weights. Float32 updates drift: without new sums, long runs would settle where the
# drifted weights are best.
EPOCHS_A_REBUILD = 100
# All rows wake when the centre of the intercept has moved by this multiple of its longest step: they rest because of a
# margin that is no longer theirs, and the centre would follow the few that do not.
FAR = 0.5


class Descent:
    """The core's state of one problem, from β = 0, for the loop over epochs (epochs.py)."""

    def __init__(
        self, problem: Problem, seed: int, shuffle: bool, interrupted: threading.Event, n_threads: int = 1
    ) -> None:
        self.problem = problem
        self.interrupted = interrupted
        self.n_threads = n_threads
        self.core = core_solver(problem, seed, shuffle)
        self.centring = Centring.of(problem) if problem.free_intercept else None
        if self.centring is not None:
            self.core.set_centre(self.centring.first)
        self.in_parts = False
        self.gap = self.primal = 0.0
        self.goal = 0.0
        self.awake_at = self.core.centre  # when all rows last were
        self.n_sweeps = 0

    def work_in_parts(self, most_parts: int, least_rows: int) -> None:
        """Visit rows in up to so many parts at the same time, of at least so many rows (parts.py)."""
        self.core.set_parts(most_parts, least_rows)
        self.in_parts = True

    def sweep(self) -> None:
        """Visit every row that is not resting."""
        self.n_sweeps += 1
        self._in_slices(lambda seconds: self.core.sweep(seconds, self.n_threads))
        if self.n_sweeps % EPOCHS_A_REBUILD == 0:
            self._in_slices(self.core.rebuild)
        if self.centring is not None:
            core = self.core
            b = core.centre + self.centring.s * core.beta_sum
            centre = self.centring.next_centre(b, core.beta_sum, core.active_gap)
            if centre is not None:
                core.set_centre(centre)
                if abs(centre - self.awake_at) > FAR * self.centring.reach:
                    core.wake_all()
                    self.awake_at = centre

    def evaluate(self, tol: float = np.inf) -> None:
        """Sum the weights again from β, in double precision, and compute the exact gap in one pass over all rows.

        With a free intercept, β is balanced first. It stays balanced if the gap is at most `tol` times the objective.
        """
        core = self.core
        if self.centring is None or not np.isfinite(core.beta_sum):  # it is not only if data change while they are read
            self._in_slices(core.rebuild)
            self._evaluate_in_core()
            return
        beta, centre, total = self.beta, core.centre, core.beta_sum
        dual, estimate = core.dual, core.active_gap
        balanced = balance(beta, self.problem.bounds, centred_norms(self.problem))
        core.set_centre(centre + self.centring.s * total)
        core.set_beta(balanced)
        self._in_slices(core.rebuild)
        values = self._values()
        self._certify(balanced, values)
        self.centring.compare(estimate, total, self.gap)
        if self.gap > self.goal:
            best = best_intercept(self.problem, values, core.intercept, self.interrupted)
            core.set_centre(core.centre + best - core.intercept)
            self._certify(balanced, values)
        core.set_dual(self.primal - self.gap)
        if self.gap > tol * self.primal:
            # Further epochs start from β as it was: balanced, it may be far from the best.
            core.set_beta(beta)
            core.set_centre(centre)
            self._in_slices(core.rebuild)
            core.set_dual(dual)
            if self.in_parts:  # they track a lower bound
                self._in_slices(core.evaluate)

    def _certify(self, beta: Array, values: Array) -> None:
        """The gap and the objective of β, with Σβ = 0, for φ(x_i) · W = `values` and the current intercept."""
        problem, f = self.problem, values + self.core.intercept
        cost = as_in_core(problem.cost)
        self.gap = float(problem.loss.gap(problem.targets, cost, beta, f).sum())
        self.primal = float(cost @ problem.loss.value(problem.targets, f) + 0.5 * (beta @ values))

    def _evaluate_in_core(self) -> None:
        core = self.core
        self._in_slices(core.evaluate)
        self.gap = core.gap
        self.primal = float(core.loss_sum + 0.5 * (core.squared_norm - core.centre * core.beta_sum))

    def _values(self) -> Array:
        """φ(x_i) · W."""
        problem = self.problem
        members = np.arange(problem.data.n_rows, dtype=np.int32) if problem.members is None else problem.members
        weights, table = np.append(self.weights.ravel(), np.float32(0.0)), native_table(problem.pair.read)
        values = np.empty(members.size)
        for part in in_calls(problem.data, members.size, self.interrupted):
            _core.read_members(problem.data.native, table, weights, members[part], values[part], self.n_threads)
        return values

    def start(self, beta: Array, intercept: float) -> None:
        """Continue from β and, if it is free, this intercept."""
        self._set(beta, intercept)
        self._in_slices(self.core.rebuild)
        self._evaluate_in_core()

    def _set(self, beta: Array, intercept: float) -> None:
        if self.centring is not None:
            beta = balance(beta, self.problem.bounds, centred_norms(self.problem))
            mean = self.problem.mean
            self.core.set_centre(intercept if mean is None else intercept + float(beta @ mean.products))
        self.core.set_beta(beta)

    def wake_all(self) -> None:
        """End all rests."""
        self.core.wake_all()

    def let_rest(self, tol: float, gap: float) -> None:
        """Set the share of the gap at which a row rests; `gap` is the last one, exact or estimated."""
        # Without what balancing may add: should that be overestimated, no row would move any more.
        objective = self.core.dual + min(gap, self.core.active_gap)
        self.goal = tol * objective
        self.core.set_negligible(negligible_share(tol, objective, self.problem.n_rows))

    def grow(self, factor: float) -> None:
        """Multiply costs, β and f."""
        self.core.grow(factor)
        if self.centring is not None:
            self.centring.restart()
            self.awake_at = self.core.centre

    @property
    def balances(self) -> bool:
        """Whether an evaluation changes β, for Σβ = 0."""
        return self.centring is not None

    @property
    def beta(self) -> Array:
        """A copy of the coefficients."""
        beta = np.empty(self.problem.n_rows)
        self.core.copy_beta(beta)
        return beta

    @property
    def weights(self) -> NDArray[np.float32]:
        """W, (n_columns, width)."""
        weights = np.empty(self.problem.data.n_columns * self.problem.pair.width, dtype=np.float32)
        self.core.copy_weights(weights)
        return weights.reshape(self.problem.data.n_columns, -1)

    @property
    def intercept(self) -> float:
        """b."""
        return self.core.intercept

    @property
    def n_active(self) -> int:
        """Rows visited by the last sweep."""
        return self.core.n_active

    @property
    def dual(self) -> float:
        """The dual objective."""
        return self.core.dual

    @property
    def active_gap(self) -> float:
        """Estimate of the gap from the last sweep."""
        imbalance = 0.0 if self.centring is None else self.centring.imbalance(self.core.beta_sum)
        return self.core.active_gap + imbalance

    def _in_slices(self, work: Callable[[float], bool]) -> None:
        in_slices(work, self.interrupted)


def core_solver(problem: Problem, seed: int, shuffle: bool) -> _core.DualSolver:
    """The core's state of a problem, with β = 0."""
    s, mean = intercept_square(problem), problem.mean
    return _core.DualSolver(
        rows=problem.data.native,
        read=native_table(problem.pair.read),
        write=native_table(problem.pair.write),
        scales=problem.scales.astype(np.float32),
        targets=problem.targets,
        cost=problem.cost,
        curvature=centred_norms(problem) + s if problem.free_intercept else problem.curvature,
        intercept_square=s,
        loss=problem.loss.name,
        epsilon=problem.loss.epsilon_or_zero,
        members=problem.members,
        means=None if mean is None else mean.products,
        mean_square=0.0 if mean is None else mean.square,
        seed=seed,
        shuffle=shuffle,
    )


def in_slices(work: Callable[[float], bool], interrupted: threading.Event) -> None:
    """Call `work`, which runs for some seconds at a time, until it is done."""
    done = False
    while not done:
        if interrupted.is_set():
            raise KeyboardInterrupt
        done = work(_SLICE_SECONDS)
