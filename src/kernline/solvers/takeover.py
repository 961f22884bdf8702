"""Newton's method takes over from coordinate descent when the visits still needed would cost more.

Costs are counted in visits, not measured in seconds: a clock would make results differ from run to run.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from . import newton
from .problem import EpochReport, Problem

# Epochs over which the rate of convergence is measured.
_RATE_EPOCHS = 5
# Approximate cost of a visit of a row, and of Newton's method: passes over the data, and its own arithmetic.
_VISIT_SECONDS, _CELL_SECONDS = 4e-8, 1.5e-9
_NEWTON_PASSES, _UNKNOWN_SECONDS, _NEWTON_SECONDS = 60.0, 6e-6, 0.03
# Do not switch until this fraction of the cost of Newton's method has been spent on epochs.
_EARLY = 0.05
# Lower bound of the rate: with a rate of zero, Newton's method would be due whatever it costs.
_LEAST_RATE = 0.001


@dataclass
class Takeover:
    """The decision, epoch by epoch. `begins_at` is the first epoch that counts for the rate of convergence."""

    problem: Problem
    tol: float
    max_iter: int
    begins_at: int = 0
    newton_runs: int = 0
    n_visits: int = 0

    def is_due(self, history: Sequence[EpochReport]) -> bool:
        """Whether Newton's method would finish sooner than more epochs."""
        epochs = len(history) - self.begins_at
        if (
            not newton.applies_to(self.problem)
            or epochs < 2 * _RATE_EPOCHS * 2**self.newton_runs
            or epochs % _RATE_EPOCHS
        ):
            return False
        data = self.problem.data
        visit = _VISIT_SECONDS + _CELL_SECONDS * data.n_cells / max(1, data.n_rows)
        unknowns = data.n_columns * self.problem.pair.width
        cost = _NEWTON_PASSES * self.problem.n_rows * visit + _UNKNOWN_SECONDS * unknowns + _NEWTON_SECONDS
        epochs_left = self.max_iter - len(history)
        if self.n_visits * visit < _EARLY * cost and epochs_left > self.max_iter // 2:
            return False  # a small problem, which may converge before the switch pays off
        expected = self._expected_epochs(history)
        return expected > epochs_left or expected * history[-1].n_active * visit > cost

    def _expected_epochs(self, history: Sequence[EpochReport]) -> float:
        """Epochs until the gap is small enough, at the current rate."""
        # Medians: the estimate jumps in an epoch that wakes many rows.
        gaps = [report.gap for report in history[-2 * _RATE_EPOCHS :]]
        before, gap = statistics.median(gaps[:_RATE_EPOCHS]), statistics.median(gaps[_RATE_EPOCHS:])
        goal = self.tol * (history[-1].dual + gap)
        if gap <= goal or goal <= 0.0:
            return 0.0  # converged, or a start so far off that coordinate descent has not recovered yet
        rate = max(math.log(before / gap) / _RATE_EPOCHS, _LEAST_RATE) if gap < before else _LEAST_RATE
        return math.log(gap / goal) / rate

    def newton_ended(self, history: Sequence[EpochReport]) -> None:
        """Measure the rate from here. If the next epochs do not close the gap, the next run goes further."""
        self.newton_runs += 1
        self.begins_at = len(history)
