"""Dual coordinate descent (Hsieh et al., ICML 2008): settings, the loop over epochs, and when to stop.

The core visits rows (native/loops/dual_cd.hpp). Each visit computes the row's share of the duality gap; their sum
over an epoch is an estimate that costs nothing. When it falls below the tolerance, W is summed again from β and one
pass over all rows computes the gap exactly.

For large C, coordinate descent is slow. When the visits that it still needs would cost more than Newton's method
(takeover.py), Newton's method takes over (newton.py) and returns its β, which the exact gap then judges like any other.
A loss that is not in the core is solved by Newton's method alone.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..array_types import Array
from . import newton
from .descent import Descent, looks_converged
from .parts import least_rows
from .problem import EpochReport, Problem, SolveResult
from .takeover import Takeover

# Most steps of Newton's method before coordinate descent continues.
_NEWTON_STEPS = 50
# Without coordinate descent, Newton's method runs again to a tenth of its last tolerance, at most this many times.
_TIGHTENINGS = 5
# Most epochs per pass over the data: many epochs visit few rows.
EPOCHS_A_PASS = 30
# If C is large, it starts this many doublings below.
_DOUBLINGS = 3

# Called after every epoch; returning True stops the fit.
OnEpoch = Callable[[EpochReport], bool]


@dataclass(frozen=True)
class DualCD:
    """Stop at a duality gap of `tol` times the primal objective, or after `max_iter` passes over the rows.

    Rows are visited in random order, from `seed`; without `shuffle` in their own order, as in the papers on PmSVM.
    `solver` is "dual-cd", "newton" (from the first step; coordinate descent then closes the rest of the gap), or
    "auto": coordinate descent, then Newton's method if the rate of convergence and the shape of the problem suggest
    that it is faster. A problem of many rows is solved in up to `n_parts` parts at the same time, by `n_threads`; the
    result does not depend on the latter.
    """

    tol: float
    max_iter: int = 1000
    seed: int = 0
    shuffle: bool = True
    solver: str = "auto"
    n_threads: int = 1
    n_parts: int = 1

    @property
    def max_epochs(self) -> int:
        """Most epochs: each is a pass, or a part of one."""
        return EPOCHS_A_PASS * self.max_iter

    def solve(
        self,
        problem: Problem,
        on_epoch: OnEpoch | None = None,
        interrupted: threading.Event | None = None,
        start: Array | None = None,
        intercept: float = 0.0,
    ) -> SolveResult:
        """Run to the tolerance, from β = `start` if given, which is clipped to the bounds, and a free intercept.

        Raises KeyboardInterrupt within a slice if another thread sets `interrupted`.
        """
        log = _Log(on_epoch)
        interrupted = interrupted or threading.Event()
        start = None if start is None else np.clip(start, *problem.bounds)
        if problem.loss.in_core:
            return _Run(self, problem, log, interrupted).result(start, intercept)
        return self._newton_alone(problem, log, interrupted, start, intercept)

    def _newton_alone(
        self, problem: Problem, log: _Log, interrupted: threading.Event, start: Array | None, intercept: float
    ) -> SolveResult:
        """Run Newton's method only. Its own gap is that of its curve; the result is the curve of its β."""
        if not newton.applies_to(problem):
            raise ValueError(f"loss {problem.loss.name!r} is not in the core: use a symmetric method, such as 'hats'.")
        start = np.zeros(problem.n_rows) if start is None else start
        method = newton.Newton(problem, start, intercept, self.n_threads, interrupted)
        for tightening in range(_TIGHTENINGS):
            found = method.run(self.tol * 0.1**tightening, max(1, self.max_iter - len(log.history)), log.add)
            solution = method.solution(*found)
            converged = solution.gap <= self.tol * solution.primal
            if converged or log.asked_to_stop or len(log.history) >= self.max_iter:
                break
        return SolveResult(
            beta=solution.beta,
            weights=solution.weights,
            intercept=solution.intercept,
            n_iter=len(log.history),
            primal=solution.primal,
            gap=solution.gap,
            converged=converged,
            history=log.history,
            newton_steps=len(log.history),
            newton_first=True,
            stopped=log.asked_to_stop,
        )


@dataclass
class _Log:
    """The epochs so far, passed on to the callback."""

    on_epoch: OnEpoch | None
    history: list[EpochReport] = field(default_factory=list)
    asked_to_stop: bool = False
    begun: float = field(default_factory=time.perf_counter)

    def add(self, dual: float, gap: float, n_active: int) -> bool:
        """Record an epoch or a step; True asks to stop."""
        seconds = time.perf_counter() - self.begun
        self.history.append(EpochReport(len(self.history) + 1, seconds, dual, gap, n_active))
        if self.on_epoch is not None and self.on_epoch(self.history[-1]):
            self.asked_to_stop = True
        return self.asked_to_stop


class _Run:
    """The run of one problem to the tolerance."""

    def __init__(self, settings: DualCD, problem: Problem, log: _Log, interrupted: threading.Event) -> None:
        self.settings = settings
        self.problem = problem
        self.log = log
        self.interrupted = interrupted
        self.descent = Descent(problem, settings.seed, settings.shuffle, interrupted, settings.n_threads)
        if settings.n_parts > 1 and (rows_a_part := least_rows(problem)):
            self.descent.work_in_parts(settings.n_parts, rows_a_part)
        self.takeover = Takeover(problem, settings.tol, settings.max_iter)
        self.newton_steps = 0

    def result(self, start: Array | None, intercept: float) -> SolveResult:
        if start is not None:
            self.descent.start(start, intercept)
        converged = self._descend()
        return SolveResult(
            beta=self.descent.beta,
            weights=self.descent.weights,
            intercept=self.descent.intercept,
            n_iter=len(self.log.history),
            primal=self.descent.primal,
            gap=self.descent.gap,
            converged=converged,
            history=self.log.history,
            newton_steps=self.newton_steps,
            newton_first=self.settings.solver == "newton" and newton.applies_to(self.problem),
            stopped=self.log.asked_to_stop,
        )

    def _descend(self) -> bool:
        """Run epochs until the exact gap is small enough (True) or a limit is reached. The gap is exact at the end."""
        next_check, exact = self._warm_up(), False
        history = self.log.history
        while self._may_go_on() and not self.log.asked_to_stop:
            exact = self._newton_is_due()
            if exact:
                self._newton()
            else:
                exact = self._epoch(next_check)
            if exact:
                if self.descent.gap <= self.settings.tol * self.descent.primal:
                    return True
                # A check costs a pass over the data, so wait for a tenth of the epochs so far before the next one.
                self.descent.wake_all()
                next_check = len(history) + 1 + len(history) // 10
            self._let_rows_rest()
        if not exact or self.problem.free_intercept:
            self.descent.evaluate()
        return False

    def _may_go_on(self) -> bool:
        """Whether the limit is not reached. Epochs that visit few rows count as parts of a pass."""
        return self.takeover.passes_left > 0 and len(self.log.history) < self.settings.max_epochs

    def _epoch(self, next_check: int) -> bool:
        """Run one epoch; return whether it computed the exact gap."""
        self.descent.sweep()
        epoch = len(self.log.history) + 1
        exact = self.descent.n_active == 0
        exact = exact or (epoch >= next_check and self._looks_converged())
        if exact:
            self.descent.evaluate(self.settings.tol)
        self._report(self.descent.gap if exact else self.descent.active_gap)
        return exact

    def _warm_up(self) -> int:
        """Run epochs with a C that doubles each time up to the requested one; return their number.

        A visit moves β_i by at most about 1 / K(x_i, x_i). If C is far larger, the rows that belong at the bound would
        take many visits to get there. Targets of regression do not grow with C, so regression starts with the full C.
        """
        problem, settings = self.problem, self.settings
        is_cold = self.descent.dual == 0.0 and settings.shuffle and problem.pair.symmetric
        steps = float(np.mean(problem.cost) * np.mean(problem.curvature))
        doublings = int(np.clip(math.log2(max(steps, 1.0)), 0, min(_DOUBLINGS, settings.max_iter - 1)))
        if not is_cold or settings.solver == "newton" or doublings == 0 or problem.loss.targets == "numbers":
            return 0
        self.descent.grow(0.5**doublings)
        while doublings:
            self.descent.sweep()
            if self._report(self.descent.active_gap):
                break
            doublings -= 1
            self.descent.grow(2.0)
            self._let_rows_rest()
        self.descent.grow(2.0**doublings)  # the remaining ones, if the fit was stopped
        self.takeover.begins_at = len(self.log.history)
        return self.takeover.begins_at

    def _report(self, gap: float) -> bool:
        self.takeover.n_visits += self.descent.n_active
        return self.log.add(self.descent.dual, gap, self.descent.n_active)

    def _looks_converged(self) -> bool:
        return looks_converged(self.descent.active_gap, self.descent.dual, self.settings.tol)

    def _let_rows_rest(self) -> None:
        self.descent.let_rest(self.settings.tol, self.log.history[-1].gap)

    def _newton_is_due(self) -> bool:
        """Whether Newton's method is requested, or faster."""
        if self.settings.solver == "newton" and not self.log.history:
            return newton.applies_to(self.problem)
        return self.settings.solver != "dual-cd" and self.takeover.is_due(self.log.history)

    def _newton(self) -> None:
        """Run Newton's steps; keep them if they raise the dual objective. A few epochs close the rest of the gap."""
        if self.problem.free_intercept or self.descent.in_parts:
            # The dual objective of an unbalanced β is no lower bound, and that of parts is not exact.
            self.descent.evaluate()
        before = self.descent.beta, self.descent.intercept
        dual = self.descent.dual

        def on_step(dual: float, gap: float, n_active: int) -> bool:
            self.newton_steps += 1
            self.takeover.n_visits += self.problem.n_rows
            return self.log.add(dual, gap, n_active)

        max_steps = min(_NEWTON_STEPS, math.ceil(self.takeover.passes_left))
        method = newton.Newton(self.problem, *before, self.settings.n_threads, self.interrupted)
        found = method.run(self.settings.tol * 0.25**self.takeover.newton_runs, max_steps, on_step)
        self.descent.start(*found)
        if not self.descent.dual > dual:
            self.descent.start(*before)
        history = self.log.history
        history[-1] = history[-1]._replace(dual=self.descent.dual, gap=self.descent.gap)
        self.takeover.newton_ended(history)
