"""Coordinate descent in the core: sweeps in time slices, exact sums, and the gap."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array
from ..native import in_calls, native_table
from .epochs import Stretch
from .intercept import Centring, balance, centred_norms, intercept_square
from .problem import KnownWeights, Problem

# Seconds after which the core returns, for callbacks and Ctrl-C.
_SLICE_SECONDS = 0.05
# Late epochs of few rows visit them again before they look for others (native/host/epochs.hpp). Not if the mean of
# C · K(x, x) is below a bound: then most rows are at a bound of β, and a few that are not would lead b away.
_LEAST_REPEATED = 1.0
# From this tolerance on, and up to this mean of C · K(x, x), the rounding errors of float32 weights, which are summed
# again every hundred epochs, are far below the gap: then a certificate does not sum them again, which may take longer
# than all else that it does.
_LEAST_ROUNDED, _MOST_ROUNDED = 1e-3, 128.0


class Descent:
    """The core's state of one problem, from β = 0, for the loop over epochs (epochs.py)."""

    def __init__(
        self, problem: Problem, seed: int, shuffle: bool, interrupted: threading.Event, n_threads: int = 1
    ) -> None:
        self.problem = problem
        self.interrupted = interrupted
        self.n_threads = n_threads
        self.norms = centred_norms(problem)
        centring = Centring.of(problem, self.norms) if problem.free_intercept else None
        s = problem.intercept_square if centring is None else centring.s
        self.core = core_solver(problem, seed, shuffle, self.norms, s)
        self.level = float(np.mean(problem.cost)) * float(np.mean(self.norms))  # C · K(x, x)
        self.core.set_may_repeat(self.level >= _LEAST_REPEATED)
        if centring is not None:
            self.core.set_centring(centring.first, centring.square_cost, centring.kink_cost, centring.reach)
        self.in_parts = False
        self.is_exact = True  # whether certificates are to sum the weights again
        self.gap = self.primal = 0.0
        self.n_wakes = 0

    def work_in_parts(self, most_parts: int, least_rows: int) -> None:
        """Visit rows in up to so many parts at the same time, of at least so many rows (parts.py)."""
        self.core.set_parts(most_parts, least_rows)
        self.in_parts = True

    def sweep(self) -> None:
        """Visit every row that is not resting."""
        self.sweeps(Stretch(1, 2, 0, 0.0))

    def sweeps(self, stretch: Stretch) -> tuple[list[tuple[float, float, float, int]], bool]:
        """Run epochs, in the core, until a stretch ends; return them, and whether a check is due."""
        self.is_exact = stretch.tol < _LEAST_ROUNDED or self.level > _MOST_ROUNDED
        self.core.begin_epochs(*stretch)
        self._in_slices(self.core.run_epochs, self.n_threads)
        return self.core.epochs(), self.core.check_is_due

    def evaluate(self, tol: float = np.inf) -> None:
        """Compute the exact gap in one pass over all rows, of weights summed again from β in double precision.

        With a free intercept, β is balanced first, and its weights change with it if that is exact enough. It stays
        balanced if the gap is at most `tol` times the objective.
        """
        core = self.core
        if not self.balances or not np.isfinite(core.beta_sum):  # it is not only if data change while they are read
            self._in_slices(core.rebuild)
            self._evaluate_in_core()
            return
        core.balance(self.is_exact)
        if self.is_exact:
            self._in_slices(core.rebuild)
        self.gap, self.primal = core.certify(self._values())
        if self.gap > tol * self.primal:
            # Further epochs start from β as it was: balanced, it may be far from the best.
            core.restore()
            if self.in_parts:  # they track a lower bound
                self._in_slices(core.evaluate)

    def _evaluate_in_core(self) -> None:
        core = self.core
        self._in_slices(core.evaluate)
        self.gap = core.gap
        self.primal = float(core.loss_sum + 0.5 * (core.squared_norm - core.centre * core.beta_sum))

    def _values(self) -> Array:
        """φ(x_i) · W."""
        problem = self.problem
        members = np.arange(problem.data.n_rows, dtype=np.int32) if problem.members is None else problem.members
        values = np.empty(members.size)
        for part in in_calls(problem.data, members.size, self.interrupted):
            self.core.read(members[part], values[part], self.n_threads)
        return values

    def start(self, beta: Array, intercept: float) -> None:
        """Continue from β and, if it is free, this intercept."""
        self._set(beta, intercept)
        self._in_slices(self.core.rebuild)
        self._evaluate_in_core()

    def start_with(self, beta: Array, intercept: float, known: KnownWeights) -> None:
        """Continue from β, with Σβ = 0 and known weights, and this free intercept: no pass over the rows."""
        mean = self.problem.mean
        self.core.set_centre(intercept if mean is None else intercept + float(beta @ mean.products))
        self.core.set_beta(beta)
        self.core.set_weights(known.weights.ravel(), intercept)
        self.core.set_dual(known.dual)

    def _set(self, beta: Array, intercept: float) -> None:
        if self.balances:
            beta = balance(beta, self.problem.bounds, self.norms)
            mean = self.problem.mean
            self.core.set_centre(intercept if mean is None else intercept + float(beta @ mean.products))
        self.core.set_beta(beta)
        self.core.wake_all()

    def wake(self) -> None:
        """End the rests of the rows whose share of the exact gap is not negligible; of all every second time.

        Shares are known with a free intercept only. They are those of a balanced β, from which descent does not go on.
        """
        self.n_wakes += 1
        if not self.balances or self.n_wakes % 2 == 0:
            self.core.wake_all()
        else:
            self.core.wake_by_shares()

    def let_rest(self, tol: float, gap: float) -> None:
        """Set the share of the gap at which a row rests; `gap` is the last one, exact or estimated."""
        self.core.let_rest(tol, gap)

    def grow(self, factor: float) -> None:
        """Multiply costs, β and f."""
        self.core.grow(factor)

    @property
    def balances(self) -> bool:
        """Whether an evaluation changes β, for Σβ = 0."""
        return self.problem.free_intercept

    @property
    def beta(self) -> Array:
        """A copy of the coefficients."""
        beta = np.empty(self.problem.n_rows)
        self.core.copy_beta(beta)
        return beta

    @property
    def weights(self) -> NDArray[np.float32]:
        """W, (n_columns, width)."""
        weights = np.empty(self._n_weights, dtype=np.float32)
        self.core.copy_weights(weights)
        return weights.reshape(self.problem.data.n_columns, -1)

    @property
    def _n_weights(self) -> int:
        return self.problem.data.n_columns * self.problem.pair.width

    @property
    def intercept(self) -> float:
        """b."""
        return self.core.intercept

    @property
    def n_active(self) -> int:
        """Rows visited by the last sweep."""
        return self.core.n_visits

    @property
    def dual(self) -> float:
        """The dual objective."""
        return self.core.dual

    @property
    def active_gap(self) -> float:
        """Estimate of the gap from the last sweep."""
        return self.core.active_gap + self.core.imbalance

    def _in_slices(self, work: Callable[..., bool], *args: int) -> None:
        in_slices(work, self.interrupted, *args)


def core_solver(
    problem: Problem, seed: int, shuffle: bool, norms: Array | None = None, s: float | None = None
) -> _core.DualSolver:
    """The core's state of a problem, with β = 0; its `centred_norms` and `intercept_square` may be known."""
    norms = centred_norms(problem) if norms is None else norms
    s = intercept_square(problem, norms) if s is None else s
    mean = problem.mean
    return _core.DualSolver(
        rows=problem.data.native,
        read=native_table(problem.pair.read),
        write=native_table(problem.pair.write),
        scales=problem.scales.astype(np.float32),
        targets=problem.targets,
        cost=problem.cost,
        curvature=norms + s if problem.free_intercept else problem.curvature,
        intercept_square=s,
        loss=problem.loss.name,
        epsilon=problem.loss.epsilon_or_zero,
        members=problem.members,
        means=None if mean is None else mean.products,
        mean_square=0.0 if mean is None else mean.square,
        seed=seed,
        shuffle=shuffle,
    )


def in_slices(work: Callable[..., bool], interrupted: threading.Event, *args: int) -> None:
    """Call `work`, which runs for some seconds at a time, until it is done."""
    done = False
    while not done:
        if interrupted.is_set():
            raise KeyboardInterrupt
        done = work(_SLICE_SECONDS, *args)
