"""Dual coordinate descent (Hsieh et al., ICML 2008): settings, the loop over epochs, and when to stop.

The core visits rows (native/dual_cd.hpp). Each visit shows the row's share of the duality gap; their sum over an epoch
is an estimate that costs nothing. When it falls below the tolerance, W is summed anew from α and one pass over all rows
computes the gap exactly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .. import _core
from ..native import native_table
from .problem import BinaryProblem, EpochReport, SolveResult

# The core gives control back this often, for callbacks and Ctrl-C.
_SLICE_SECONDS = 0.05

# Called after every epoch; returning True stops the fit there.
OnEpoch = Callable[[EpochReport], bool]


@dataclass(frozen=True)
class DualCD:
    """Stop at a duality gap of `tol` times the primal objective, or after `max_iter` epochs.

    Rows come in random order, from `seed`; without `shuffle` in their own, as the papers on PmSVM write.
    """

    tol: float
    max_iter: int = 1000
    seed: int = 0
    shuffle: bool = True

    def solve(
        self, problem: BinaryProblem, on_epoch: OnEpoch | None = None, interrupted: threading.Event | None = None
    ) -> SolveResult:
        """Run to the tolerance. `interrupted`, set by another thread, ends it within a slice by KeyboardInterrupt."""
        return _Run(self, problem, on_epoch, interrupted or threading.Event()).result()


@dataclass
class _Run:
    settings: DualCD
    problem: BinaryProblem
    on_epoch: OnEpoch | None
    interrupted: threading.Event
    history: list[EpochReport] = field(default_factory=list)

    def __post_init__(self) -> None:
        problem = self.problem
        self.core = _core.DualSolver(
            rows=problem.data.native,
            read=native_table(problem.pair.read),
            write=native_table(problem.pair.write),
            scales=problem.scales.astype(np.float32),
            signed_cost=problem.signs * problem.cost,
            curvature=problem.curvature,
            intercept_square=problem.intercept_square,
            squared_hinge=problem.loss == "squared_hinge",
            seed=self.settings.seed,
            shuffle=self.settings.shuffle,
        )
        self.start = time.perf_counter()

    def result(self) -> SolveResult:
        converged = self._descend()
        weights = np.empty(self.problem.data.n_features * self.problem.pair.width, dtype=np.float32)
        alpha = np.empty(self.problem.data.n_rows)
        self.core.copy_weights(weights)
        self.core.copy_alpha(alpha)
        return SolveResult(
            alpha=alpha,
            weights=weights.reshape(self.problem.data.n_features, -1),
            intercept=self.core.intercept,
            n_iter=len(self.history),
            primal=self._primal(),
            gap=self.core.gap,
            converged=converged,
            history=self.history,
        )

    def _descend(self) -> bool:
        """Epochs until the exact gap is small enough (True), or one of the limits. The gap is exact at the end."""
        next_check = 0
        for epoch in range(1, self.settings.max_iter + 1):
            self._in_slices(self.core.sweep)
            if epoch % 100 == 0:
                # Float32 updates drift: long runs would settle where the drifted weights are best.
                self._in_slices(self.core.rebuild)
            due = epoch == self.settings.max_iter or self.core.n_active == 0
            due = due or (epoch >= next_check and self._looks_converged())
            if due:
                self._evaluate()
            stop = self._report(epoch, self.core.gap if due else self.core.active_gap)
            if due and self.core.gap <= self.settings.tol * self._primal():
                return True
            if stop:
                self._evaluate()
                return False
            if due:
                # A row set aside too early shows only in the exact gap: bring all back. A check costs a pass over the
                # data, so the next one waits a tenth of the epochs so far.
                self.core.activate_all()
                next_check = epoch + 1 + epoch // 10
        return False

    def _in_slices(self, work: Callable[[float], bool]) -> None:
        done = False
        while not done:
            if self.interrupted.is_set():
                raise KeyboardInterrupt
            done = work(_SLICE_SECONDS)

    def _looks_converged(self) -> bool:
        gap = self.core.active_gap
        return bool(gap <= self.settings.tol * (self.core.dual + gap))

    def _evaluate(self) -> None:
        self._in_slices(self.core.rebuild)
        self._in_slices(self.core.evaluate)

    def _primal(self) -> float:
        return float(self.core.loss_sum + 0.5 * self.core.squared_norm)

    def _report(self, epoch: int, gap: float) -> bool:
        seconds = time.perf_counter() - self.start
        self.history.append(EpochReport(epoch, seconds, self.core.dual, gap, self.core.n_active))
        return self.on_epoch is not None and self.on_epoch(self.history[-1])
