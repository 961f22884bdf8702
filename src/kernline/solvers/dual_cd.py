"""Dual coordinate descent (Hsieh et al., ICML 2008): settings, the loop over epochs, and when to stop.

The core visits rows (native/dual_cd.hpp). Each visit shows the row's share of the duality gap; their sum over an epoch
is an estimate that costs nothing. When it falls below the tolerance, W is summed anew from α and one pass over all rows
computes the gap exactly.

Where C is large, coordinate descent crawls. The estimates tell: when the visits that their rate still asks for exceed
what Newton's method takes, it takes over (newton.py) and hands back its α, which the exact gap then judges as it does
any other.
"""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .. import _core
from ..native import native_table
from . import newton
from .problem import Array, BinaryProblem, EpochReport, SolveResult

# The core gives control back this often, for callbacks and Ctrl-C.
_SLICE_SECONDS = 0.05
# A row whose share of the gap is this part of the tolerance, spread over all rows, may rest.
_NEGLIGIBLE = 0.1
# Epochs over which the rate of convergence is taken.
_RATE_EPOCHS = 5
# What a visit of a row takes, about, and Newton's method: so many passes over the data, and its own arithmetic.
_VISIT_SECONDS, _CELL_SECONDS = 4e-8, 1.5e-9
_NEWTON_PASSES, _UNKNOWN_SECONDS, _NEWTON_SECONDS = 60.0, 6e-6, 0.03
_NEWTON_STEPS = 50
# A change is not thought of before this part of its cost has been spent.
_EARLY = 0.05
# A rate of nothing at all is taken for this one, or Newton's method would be due whatever it costs.
_LEAST_RATE = 0.001

# C begins so many doublings below, if it is large.
_DOUBLINGS = 3

# Called after every epoch; returning True stops the fit there.
OnEpoch = Callable[[EpochReport], bool]


@dataclass(frozen=True)
class DualCD:
    """Stop at a duality gap of `tol` times the primal objective, or after `max_iter` epochs.

    Rows come in random order, from `seed`; without `shuffle` in their own, as the papers on PmSVM write.
    `solver` is "dual-cd", "newton" (from the first step; coordinate descent then closes what is left of the gap), or
    "auto": coordinate descent, and Newton's method when the rate of the one and the shape of the other's problem say
    that it pays.
    """

    tol: float
    max_iter: int = 1000
    seed: int = 0
    shuffle: bool = True
    solver: str = "auto"
    n_threads: int = 1

    def solve(
        self,
        problem: BinaryProblem,
        on_epoch: OnEpoch | None = None,
        interrupted: threading.Event | None = None,
        start: Array | None = None,
    ) -> SolveResult:
        """Run to the tolerance, from α = `start` if given, which is cut to the bounds.

        `interrupted`, set by another thread, ends it within a slice by KeyboardInterrupt.
        """
        return _Run(self, problem, on_epoch, interrupted or threading.Event()).result(start)


def core_solver(problem: BinaryProblem, seed: int, shuffle: bool) -> _core.DualSolver:
    """The core's state of a problem under way, with α = 0."""
    return _core.DualSolver(
        rows=problem.data.native,
        read=native_table(problem.pair.read),
        write=native_table(problem.pair.write),
        scales=problem.scales.astype(np.float32),
        signed_cost=problem.signs * problem.cost,
        curvature=problem.curvature,
        intercept_square=problem.intercept_square,
        squared_hinge=problem.loss == "squared_hinge",
        members=problem.members,
        seed=seed,
        shuffle=shuffle,
    )


def in_slices(work: Callable[[float], bool], interrupted: threading.Event) -> None:
    """Call `work`, which goes on for some seconds at a time, until it is done."""
    done = False
    while not done:
        if interrupted.is_set():
            raise KeyboardInterrupt
        done = work(_SLICE_SECONDS)


def negligible_share(tol: float, objective: float, n_rows: int) -> float:
    """A row's share of the gap that is not worth an update."""
    return max(0.0, _NEGLIGIBLE * tol * objective / n_rows)


def looks_converged(gap: float, dual: float, tol: float) -> bool:
    """Whether an estimate of the gap is low enough for the exact one to be worth its pass."""
    return bool(gap <= (1.0 - _NEGLIGIBLE) * tol * (dual + gap))


@dataclass
class _Run:
    settings: DualCD
    problem: BinaryProblem
    on_epoch: OnEpoch | None
    interrupted: threading.Event
    history: list[EpochReport] = field(default_factory=list)
    asked_to_stop: bool = False
    newton_steps: int = 0
    rate_since: int = 0  # epochs before this say nothing on the rate: at another C, or before Newton's method
    newton_runs: int = 0
    n_visits: int = 0

    def __post_init__(self) -> None:
        self.core = core_solver(self.problem, self.settings.seed, self.settings.shuffle)
        self.begun = time.perf_counter()

    def result(self, start: Array | None) -> SolveResult:
        if start is not None:
            self._set_alpha(np.minimum(start, self.problem.bound))
        converged = self._descend()
        weights = np.empty(self.problem.data.n_columns * self.problem.pair.width, dtype=np.float32)
        self.core.copy_weights(weights)
        return SolveResult(
            alpha=self._alpha(),
            weights=weights.reshape(self.problem.data.n_columns, -1),
            intercept=self.core.intercept,
            n_iter=len(self.history),
            primal=self._primal(),
            gap=self.core.gap,
            converged=converged,
            history=self.history,
            newton_steps=self.newton_steps,
            newton_first=self.settings.solver == "newton" and newton.applies_to(self.problem),
        )

    def _descend(self) -> bool:
        """Epochs until the exact gap is small enough (True), or one of the limits. The gap is exact at the end."""
        next_check, exact = self._warm_up(), False
        while len(self.history) < self.settings.max_iter and not self.asked_to_stop:
            exact = self._newton_is_due()
            if exact:
                self._newton()
            else:
                epoch = self._sweep()
                exact = epoch == self.settings.max_iter or self.core.n_active == 0
                exact = exact or (epoch >= next_check and self._looks_converged())
                if exact:
                    self._evaluate()
                self._report(self.core.dual, self.core.gap if exact else self.core.active_gap, self.core.n_active)
            if exact:
                if self.core.gap <= self.settings.tol * self._primal():
                    return True
                # A check costs a pass over the data, so the next one waits a tenth of the epochs so far.
                self.core.wake_all()
                next_check = len(self.history) + 1 + len(self.history) // 10
            self._let_rows_rest()
        if not exact:
            self._evaluate()
        return False

    def _warm_up(self) -> int:
        """Epochs at a C that doubles each time until it is the one asked for; returns how many.

        A visit moves α_i by at most about 1 / K(x_i, x_i): where C is far beyond that, the rows that belong at the
        bound would take many visits to get there.
        """
        is_cold = self.core.dual == 0.0 and self.settings.shuffle and self.problem.pair.symmetric
        steps = float(np.mean(self.problem.cost) * np.mean(self.problem.curvature))
        doublings = int(np.clip(math.log2(max(steps, 1.0)), 0, min(_DOUBLINGS, self.settings.max_iter - 1)))
        if not is_cold or self.settings.solver == "newton" or doublings == 0:
            return 0
        self.core.grow(0.5**doublings)
        while doublings:
            self._sweep()
            self._report(self.core.dual, self.core.active_gap, self.core.n_active)
            if self.asked_to_stop:
                break
            doublings -= 1
            self.core.grow(2.0)
            self._let_rows_rest()
        self.core.grow(2.0**doublings)  # what is left of them, if the fit was stopped
        self.rate_since = len(self.history)
        return self.rate_since

    def _sweep(self) -> int:
        """One epoch of coordinate descent; returns its number."""
        epoch = len(self.history) + 1
        self._in_slices(self.core.sweep)
        if epoch % 100 == 0:
            # Float32 updates drift: long runs would settle where the drifted weights are best.
            self._in_slices(self.core.rebuild)
        return epoch

    def _in_slices(self, work: Callable[[float], bool]) -> None:
        in_slices(work, self.interrupted)

    def _looks_converged(self) -> bool:
        return looks_converged(self.core.active_gap, self.core.dual, self.settings.tol)

    def _let_rows_rest(self) -> None:
        objective = self.history[-1].dual + self.history[-1].gap
        self.core.set_negligible(negligible_share(self.settings.tol, objective, self.problem.n_rows))

    def _evaluate(self) -> None:
        self._in_slices(self.core.rebuild)
        self._in_slices(self.core.evaluate)

    def _set_alpha(self, alpha: Array) -> None:
        self.core.set_alpha(alpha)
        self._evaluate()

    def _alpha(self) -> Array:
        alpha = np.empty(self.problem.n_rows)
        self.core.copy_alpha(alpha)
        return alpha

    def _newton_is_due(self) -> bool:
        """Whether Newton's method is asked for, or would end sooner than more epochs."""
        if self.settings.solver == "dual-cd" or not newton.applies_to(self.problem):
            return False
        if not self.history:
            return self.settings.solver == "newton"
        epochs = len(self.history) - self.rate_since
        if epochs < 2 * _RATE_EPOCHS * 2**self.newton_runs or epochs % _RATE_EPOCHS:
            return False
        data = self.problem.data
        visit = _VISIT_SECONDS + _CELL_SECONDS * data.n_cells / max(1, data.n_rows)
        unknowns = data.n_columns * self.problem.pair.width
        cost = _NEWTON_PASSES * self.problem.n_rows * visit + _UNKNOWN_SECONDS * unknowns + _NEWTON_SECONDS
        epochs_left = self.settings.max_iter - len(self.history)
        if self.n_visits * visit < _EARLY * cost and epochs_left > self.settings.max_iter // 2:
            return False  # a small problem, which may well end before the change has paid for itself
        expected = self._expected_epochs()
        return expected > epochs_left or expected * self.history[-1].n_active * visit > cost

    def _expected_epochs(self) -> float:
        """Epochs until the gap is small enough, at the present rate."""
        # Medians: the estimate jumps in an epoch that wakes many rows.
        gaps = [report.gap for report in self.history[-2 * _RATE_EPOCHS :]]
        before, gap = statistics.median(gaps[:_RATE_EPOCHS]), statistics.median(gaps[_RATE_EPOCHS:])
        goal = self.settings.tol * (self.history[-1].dual + gap)
        if gap <= goal or goal <= 0.0:
            return 0.0  # there already, or a start so far off that coordinate descent has not made up for it yet
        rate = max(math.log(before / gap) / _RATE_EPOCHS, _LEAST_RATE) if gap < before else _LEAST_RATE
        return math.log(gap / goal) / rate

    def _newton(self) -> None:
        """Newton's steps, kept if the dual objective is higher for them. A few epochs close what is left."""
        before = self._alpha()
        dual = self.core.dual

        def on_step(dual: float, gap: float, n_active: int) -> bool:
            self.newton_steps += 1
            self._report(dual, gap, n_active)
            return self.asked_to_stop

        max_steps = min(_NEWTON_STEPS, self.settings.max_iter - len(self.history))
        method = newton.Newton(self.problem, before, self.settings.n_threads, self.interrupted)
        alpha = method.run(self.settings.tol * 0.25**self.newton_runs, max_steps, on_step)
        self._set_alpha(alpha)
        # Should the epochs that follow not close the gap, a next run goes further, but not at once.
        self.newton_runs += 1
        if not self.core.dual > dual:
            self._set_alpha(before)
        self.history[-1] = self.history[-1]._replace(dual=self.core.dual, gap=self.core.gap)
        self.rate_since = len(self.history)

    def _primal(self) -> float:
        return float(self.core.loss_sum + 0.5 * self.core.squared_norm)

    def _report(self, dual: float, gap: float, n_active: int) -> None:
        seconds = time.perf_counter() - self.begun
        self.n_visits += n_active
        self.history.append(EpochReport(len(self.history) + 1, seconds, dual, gap, n_active))
        if self.on_epoch is not None and self.on_epoch(self.history[-1]):
            self.asked_to_stop = True
