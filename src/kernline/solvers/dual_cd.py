"""Dual coordinate descent (Hsieh et al., ICML 2008), and Newton's method where that is faster.

The core visits rows (native/loops/dual_cd.hpp), epoch by epoch (epochs.py).

For large C, coordinate descent is slow. When the visits that it still needs would cost more than Newton's method
(takeover.py), Newton's method takes over (newton.py) and returns its β, which the exact gap then judges like any other.
Where C and the number of rows are so large that the curve of β has no certificate, its own curve is the solution.
A loss that is not in the core is solved by Newton's method alone.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

import numpy as np

from ..array_types import Array
from . import newton
from .descent import Descent
from .epochs import Effort, Epochs, Log, OnEpoch, doublings_to
from .parts import least_rows
from .problem import KnownWeights, Problem, SolveResult, is_free
from .takeover import Takeover

# Most steps of Newton's method before coordinate descent continues.
_NEWTON_STEPS = 50
# Without coordinate descent, Newton's method runs again to a tenth of its last tolerance, at most this many times.
_TIGHTENINGS = 8
# With a free intercept, C doubles only if C · K(x, x) is at least this, and the mean of the rows leaves at most this
# fraction of K(x, x): else rows do not compete enough to be led astray by a large C.
_LEAST_DOUBLED, _MOST_APART = 32.0, 0.67


@dataclass(frozen=True)
class DualCD:
    """Stop at a duality gap of `tol` times the primal objective, or after `max_iter` passes over the rows.

    Rows are visited in random order, from `seed`; without `shuffle` in their own order, as in the papers on PmSVM.
    `solver` is "dual-cd", "newton" (from the first step; coordinate descent then closes the rest of the gap), or
    "auto": coordinate descent, then Newton's method if the rate of convergence and the shape of the problem suggest
    that it is faster; or Newton's method first, if the shape and C leave no doubt. A problem of many rows is solved in
    up to `n_parts` parts at the same time, by `n_threads`; the result does not depend on the latter.
    """

    tol: float
    max_iter: int = 1000
    seed: int = 0
    shuffle: bool = True
    solver: str = "auto"
    n_threads: int = 1
    n_parts: int = 1

    def solve(
        self,
        problem: Problem,
        on_epoch: OnEpoch | None = None,
        interrupted: threading.Event | None = None,
        start: Array | None = None,
        intercept: float = 0.0,
        known: KnownWeights | None = None,
    ) -> SolveResult:
        """Run to the tolerance, from β = `start` if given, which is clipped to the bounds, and its intercept.

        If what β gives is `known` too, it is not computed again.
        Raises KeyboardInterrupt within a slice if another thread sets `interrupted`.
        """
        log = Log(on_epoch)
        interrupted = interrupted or threading.Event()
        start = None if start is None else np.clip(start, *problem.bounds)
        if problem.loss.in_core:
            return _Run(self, problem, log, interrupted).result(start, intercept, known)
        return self._newton_alone(problem, log, interrupted, start, intercept)

    def _newton_alone(
        self, problem: Problem, log: Log, interrupted: threading.Event, start: Array | None, intercept: float
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


class _Run(Epochs):
    """The run of one problem to the tolerance."""

    descent: Descent

    def __init__(self, settings: DualCD, problem: Problem, log: Log, interrupted: threading.Event) -> None:
        descent = Descent(problem, settings.seed, settings.shuffle, interrupted, settings.n_threads)
        super().__init__(descent, settings.tol, Effort(problem.n_rows, settings.max_iter), log)
        self.settings = settings
        self.problem = problem
        self.interrupted = interrupted
        if settings.n_parts > 1 and (rows_a_part := least_rows(problem)):
            descent.work_in_parts(settings.n_parts, rows_a_part)
        self.takeover = Takeover(problem, settings.tol, self.effort)
        self.newton_steps = 0
        self.newton_first = settings.solver == "newton" and newton.applies_to(problem)
        # A solution that is not the curve of its β, to be taken if coordinate descent does not find one that is.
        self.of_newton: newton.Solution | None = None
        self.takes_curve = False

    def result(self, start: Array | None, intercept: float, known: KnownWeights | None) -> SolveResult:
        if start is not None and known is not None:
            self.descent.start_with(start, intercept, known)
        elif start is not None:
            self.descent.start(start, intercept)
        elif self.settings.solver == "auto":
            self.newton_first = self.takeover.is_first
        converged = self.run(self._doublings())
        self.takes_curve = self.of_newton is not None and (self.takes_curve or not converged)
        found = self._solution()
        return SolveResult(
            **found._asdict(),
            is_of_beta=not self.takes_curve,
            n_iter=len(self.log.history),
            converged=converged or self.takes_curve,
            history=self.log.history,
            newton_steps=self.newton_steps,
            newton_first=self.newton_first,
            stopped=self.log.asked_to_stop,
        )

    @property
    def is_solved(self) -> bool:
        """Whether the exact gap, just computed, is small enough."""
        return self.takes_curve or super().is_solved

    def _solution(self) -> newton.Solution:
        """The solution, and its gap in the last entry of the history."""
        if self.takes_curve and self.of_newton is not None:
            history = self.log.history
            history[-1] = history[-1]._replace(dual=self.of_newton.primal - self.of_newton.gap, gap=self.of_newton.gap)
            return self.of_newton
        descent = self.descent
        return newton.Solution(descent.beta, descent.weights, descent.intercept, descent.primal, descent.gap)

    def other_step(self) -> bool:
        """Run Newton's method if it is due."""
        due = self._newton_is_due()
        if due:
            self._newton()
        return due

    def until_other_step(self) -> tuple[float, float]:
        """The number of epochs, or visits, until Newton's method may be due."""
        if self.settings.solver == "dual-cd":
            return math.inf, math.inf
        return self.takeover.until_decision(len(self.log.history))

    def warm_up(self, doublings: int) -> int:
        """Run the epochs of the warm-up, after which the rate of convergence counts."""
        self.takeover.begins_at = super().warm_up(doublings)
        return self.takeover.begins_at

    def _doublings(self) -> int:
        """How often C doubles at the start. Targets of regression do not grow with C, so regression has the full C."""
        problem, settings = self.problem, self.settings
        is_cold = self.descent.dual == 0.0 and settings.shuffle and problem.pair.symmetric
        if not is_cold or self.newton_first or problem.loss.targets == "numbers":
            return 0
        cost, norm = float(np.mean(problem.cost)), float(np.mean(problem.curvature))
        if problem.free_intercept:
            rest = float(np.mean(self.descent.norms))
            if cost * norm < _LEAST_DOUBLED or rest > _MOST_APART * norm:
                return 0
        return doublings_to(cost, norm, settings.max_iter)

    def _newton_is_due(self) -> bool:
        """Whether Newton's method is requested, or faster."""
        if self.newton_first and not self.log.history:
            return True
        return self.settings.solver != "dual-cd" and self.takeover.is_due(self.log.history, self._n_free)

    def _n_free(self) -> int:
        return int(np.count_nonzero(is_free(self.descent.beta, *self.problem.bounds)))

    def _newton(self) -> None:
        """Run Newton's steps; keep them if they raise the dual objective. A few epochs close the rest of the gap."""
        if self.problem.free_intercept or self.descent.in_parts:
            # The dual objective of an unbalanced β is no lower bound, and that of parts is not exact.
            self.descent.evaluate()
        if self.of_newton is not None:
            self.takes_curve = True
            return
        before = self.descent.beta, self.descent.intercept
        dual = self.descent.dual

        def on_step(dual: float, gap: float, n_active: int) -> bool:
            self.newton_steps += 1
            self.effort.n_visits += self.problem.n_rows
            return self.log.add(dual, gap, n_active)

        max_steps = min(_NEWTON_STEPS, math.ceil(self.effort.passes_left))
        settings = self.settings.n_threads, self.interrupted
        if before[0].any():
            method = newton.Newton(self.problem, *before, *settings)
        else:
            method = newton.Newton.from_zero(self.problem, before[1], *settings)
        found = method.run(self.settings.tol * 0.25**self.takeover.newton_runs, max_steps, on_step)
        self.descent.start(*found)
        if not self.descent.dual > dual:
            self.descent.start(*before)
        if self.problem.free_intercept:
            self.descent.evaluate(self.settings.tol)  # with the best intercept
        if not self.is_solved:
            solution = method.solution_of_curve(found[0])
            self.of_newton = solution if solution.gap <= self.settings.tol * solution.primal else None
        history = self.log.history
        history[-1] = history[-1]._replace(dual=self.descent.dual, gap=self.descent.gap)
        self.takeover.newton_ended(history)
