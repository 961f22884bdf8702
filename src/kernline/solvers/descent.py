"""Coordinate descent in the core: sweeps in time slices, exact sums, and the gap."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array
from ..native import native_table
from .problem import Problem

# Seconds after which the core returns, for callbacks and Ctrl-C.
_SLICE_SECONDS = 0.05
# A row may rest if its share of the gap is at most this fraction of the tolerance, spread over all rows.
_NEGLIGIBLE = 0.1
# Epochs between new sums of the weights. Float32 updates drift: without new sums, long runs would settle where the
# drifted weights are best.
_EPOCHS_PER_REBUILD = 100


class Descent:
    """The core's state of one problem, from β = 0.

    `dual` is the dual objective, tracked by every update. `active_gap` is the sum of the shares of the gap over the
    visits of the last sweep, and `n_active` their number. `gap` and `primal` are exact, as of the last evaluation.
    """

    def __init__(self, problem: Problem, seed: int, shuffle: bool, interrupted: threading.Event) -> None:
        self.problem = problem
        self.interrupted = interrupted
        self.core = core_solver(problem, seed, shuffle)
        self.n_sweeps = 0

    def sweep(self) -> None:
        """Visit every row that is not resting."""
        self.n_sweeps += 1
        self._in_slices(self.core.sweep)
        if self.n_sweeps % _EPOCHS_PER_REBUILD == 0:
            self._in_slices(self.core.rebuild)

    def evaluate(self) -> None:
        """Sum the weights again from β, in double precision, and compute the exact gap in one pass over all rows."""
        self._in_slices(self.core.rebuild)
        self._in_slices(self.core.evaluate)

    def wake_all(self) -> None:
        """End all rests."""
        self.core.wake_all()

    def let_rest(self, tol: float, objective: float) -> None:
        """Set the share of the gap at which a row rests."""
        self.core.set_negligible(negligible_share(tol, objective, self.problem.n_rows))

    def grow(self, factor: float) -> None:
        """Multiply costs, β and f."""
        self.core.grow(factor)

    @property
    def beta(self) -> Array:
        """A copy of the coefficients."""
        beta = np.empty(self.problem.n_rows)
        self.core.copy_beta(beta)
        return beta

    @beta.setter
    def beta(self, beta: Array) -> None:
        self.core.set_beta(beta)
        self.evaluate()

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
        return self.core.active_gap

    @property
    def gap(self) -> float:
        """The gap of the last evaluation."""
        return self.core.gap

    @property
    def primal(self) -> float:
        """The objective of the last evaluation."""
        return float(self.core.loss_sum + 0.5 * self.core.squared_norm)

    def _in_slices(self, work: Callable[[float], bool]) -> None:
        in_slices(work, self.interrupted)


def core_solver(problem: Problem, seed: int, shuffle: bool) -> _core.DualSolver:
    """The core's state of a problem, with β = 0."""
    return _core.DualSolver(
        rows=problem.data.native,
        read=native_table(problem.pair.read),
        write=native_table(problem.pair.write),
        scales=problem.scales.astype(np.float32),
        targets=problem.targets,
        cost=problem.cost,
        curvature=problem.curvature,
        intercept_square=problem.intercept_square,
        loss=problem.loss.name,
        epsilon=problem.loss.epsilon_or_zero,
        members=problem.members,
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


def negligible_share(tol: float, objective: float, n_rows: int) -> float:
    """The largest share of the gap for which a row is not updated."""
    return max(0.0, _NEGLIGIBLE * tol * objective / n_rows)


def looks_converged(gap: float, dual: float, tol: float) -> bool:
    """Whether an estimate of the gap is low enough to compute the exact gap.

    The dual objective is a sum of changes. After a start far off it may have lost all its digits, and be negative; the
    exact gap corrects it.
    """
    return bool(gap <= (1.0 - _NEGLIGIBLE) * tol * abs(dual + gap))
