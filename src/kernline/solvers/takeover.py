"""Newton's method takes over from coordinate descent when the visits still needed would cost more.

Costs are counted in visits, not measured in seconds: a clock would make results differ from run to run.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from . import newton
from .epochs import Effort
from .problem import EpochReport, Problem

# The rate of convergence is measured between two windows of this many visits per row each: some epochs visit few rows.
_WINDOW = 1.0
# Epochs between two decisions, and fewest epochs in a window.
_EPOCHS = 5
# Approximate cost of a visit of a row, and of Newton's method: passes over the data, and its own arithmetic.
_VISIT_SECONDS, _CELL_SECONDS = 4e-8, 1.5e-9
_NEWTON_PASSES, _UNKNOWN_SECONDS, _NEWTON_SECONDS = 60.0, 2e-5, 0.03
# Do not switch until this fraction of the cost of Newton's method has been spent on epochs.
_EARLY = 0.3
# Lower bound of the rate per visit of all rows: with a rate of zero, Newton's method would be due whatever it costs.
_LEAST_RATE = 0.001
# While the dual objective grows by this factor within a window, the gap does not show the rate of convergence yet.
_GROWTH = 1.05


@dataclass
class Takeover:
    """The decision, epoch by epoch. `begins_at` is the first epoch that counts for the rate of convergence."""

    problem: Problem
    tol: float
    effort: Effort
    begins_at: int = 0
    newton_runs: int = 0

    def is_due(self, history: Sequence[EpochReport]) -> bool:
        """Whether Newton's method would finish sooner than more epochs."""
        epochs = len(history) - self.begins_at
        if not newton.applies_to(self.problem) or epochs < 2 * _EPOCHS * 2**self.newton_runs or epochs % _EPOCHS:
            return False
        data, passes_left = self.problem.data, self.effort.passes_left
        visit = _VISIT_SECONDS + _CELL_SECONDS * data.n_cells / max(1, data.n_rows)
        unknowns = data.n_columns * self.problem.pair.width
        cost = _NEWTON_PASSES * self.problem.n_rows * visit + _UNKNOWN_SECONDS * unknowns + _NEWTON_SECONDS
        if self.effort.n_visits * visit < _EARLY * cost and passes_left > self.effort.max_iter // 2:
            return False  # a small problem, which may converge before the switch pays off
        expected = self._expected_passes(history)
        return expected > passes_left or expected * self.problem.n_rows * visit > cost

    def _expected_passes(self, history: Sequence[EpochReport]) -> float:
        """Visits per row until the gap is small enough, at the current rate; 0 if the rate is not known yet."""
        now, passes_now = self._window(history, len(history))
        before, passes_before = self._window(history, len(history) - len(now))
        if not before:
            return 0.0
        # Medians: the estimate jumps in an epoch that wakes many rows.
        gap, gap_before = statistics.median(now), statistics.median(before)
        goal = self.tol * (history[-1].dual + gap)
        if gap <= goal or goal <= 0.0:
            return 0.0  # converged, or a start so far off that coordinate descent has not recovered yet
        if history[-1].dual > _GROWTH * history[-len(now) - 1].dual:
            return 0.0  # β still grow to their size, and the gap has not begun to fall
        rate = 2.0 * math.log(gap_before / gap) / (passes_now + passes_before) if gap < gap_before else 0.0
        return math.log(gap / goal) / max(rate, _LEAST_RATE)

    def _window(self, history: Sequence[EpochReport], end: int) -> tuple[list[float], float]:
        """The gaps of the epochs before `end` that visit about all rows, and their visits per row; none if too few."""
        gaps: list[float] = []
        n_visits = 0
        for report in reversed(history[self.begins_at : end]):
            gaps.append(report.gap)
            n_visits += report.n_active
            if len(gaps) >= _EPOCHS and n_visits >= _WINDOW * self.problem.n_rows:
                return gaps, n_visits / self.problem.n_rows
        return [], 0.0

    def newton_ended(self, history: Sequence[EpochReport]) -> None:
        """Measure the rate from here. If the next epochs do not close the gap, the next run goes further."""
        self.newton_runs += 1
        self.begins_at = len(history)
