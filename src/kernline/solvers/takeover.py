"""Newton's method takes over from coordinate descent when the visits still needed would cost more.

Costs are counted in visits, not measured in seconds: a clock would make results differ from run to run.
"""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..caching import cached_property
from ..tables import ValueTable
from . import newton, newton_system
from .epochs import Effort
from .newton_space import Space
from .problem import EpochReport, Problem

# The rate of convergence is measured between two windows of this many visits per row each: some epochs visit few rows.
_WINDOW = 1.0
# Epochs between two decisions, and fewest epochs in a window.
_EPOCHS = 5
# Approximate cost of a visit of a row: its own, and that of a cell, or of one of several that are read at once. In
# random order, rows that take more memory than a cache has are waited for.
_VISIT_SECONDS, _CELL_SECONDS, _DENSE_VALUE_SECONDS = 4e-8, 1.5e-9, 2e-10
_FAR_SECONDS, _NEAR_BYTES = 1.5e-7, 16_000_000
_ROW_BYTES, _CELL_BYTES = 32, 4
# That of Newton's method by conjugate gradients: passes over the data, and its own arithmetic.
_CG_PASSES, _UNKNOWN_SECONDS, _CG_SECONDS = 60.0, 2e-5, 0.03
# And with systems that are factored: passes, and for each of its steps, the cube of the unknowns, products of two cells
# of a row where the unknowns are slots, vectors of all slots, and the overhead.
_PASSES, _STEPS = 25.0, 35
_CUBE_SECONDS, _PRODUCT_SECONDS, _SLOT_SECONDS, _STEP_SECONDS = 2e-11, 5e-11, 5e-8, 1e-3
# Further decisions wait for this fraction of the epochs so far: late ones are short, and a decision looks at many.
_PATIENCE = 0.05
# Do not switch until this fraction of the cost of Newton's method has been spent on epochs.
_EARLY = 1.0
# Lower bound of the rate per visit of all rows: with a rate of zero, Newton's method would be due whatever it costs.
_LEAST_RATE = 0.001
# While the dual objective grows by this factor within a window, the gap does not show the rate of convergence yet.
_GROWTH = 1.05
# On narrow data, of at least this many rows per slot, the passes that coordinate descent takes grow like C K(x, x),
# times this at least: on covtype, spambase and skin about 60 at 100, and more than 1,000 at 10,000.
_NARROW, _PASSES_A_CURVATURE = 3, 0.4


@dataclass
class Takeover:
    """The decision, epoch by epoch. `begins_at` is the first epoch that counts for the rate of convergence."""

    problem: Problem
    tol: float
    effort: Effort
    begins_at: int = 0
    newton_runs: int = 0
    next_decision: int = 2 * _EPOCHS  # in epochs that count

    def until_decision(self, n_epochs: int) -> tuple[float, float]:
        """How many more epochs, or visits, than these it takes until Newton's method may be due."""
        early = min(_EARLY * self._least_cost / self._visit, self._late_visits) - self.effort.n_visits
        if early > 0.0:
            return math.inf, early
        return max(1, self.begins_at + self.next_decision - n_epochs), math.inf

    def is_due(self, history: Sequence[EpochReport], n_free: Callable[[], int]) -> bool:
        """Whether Newton's method would finish sooner than more epochs.

        `n_free` counts the rows between their bounds.
        """
        epochs = len(history) - self.begins_at
        if epochs < self.next_decision or not newton.applies_to(self.problem):
            return False
        self.next_decision = epochs + max(_EPOCHS, int(_PATIENCE * epochs))
        if self._is_early(self._least_cost):
            return False
        if self._is_late and not self.newton_runs:
            return True
        expected = self._expected_passes(history)
        if expected == 0.0:
            return False
        cost = self._cost(n_free())
        if self._is_early(cost):
            return False  # a small problem, which may converge before the switch pays off
        return expected > self.effort.passes_left or expected * self.problem.n_rows * self._visit > cost

    @cached_property
    def _visit(self) -> float:
        data = self.problem.data
        n_bytes = _ROW_BYTES * data.n_rows + (1 if data.is_dense else _CELL_BYTES) * data.n_cells
        return self._visit_in_order + (_FAR_SECONDS if n_bytes > _NEAR_BYTES else 0.0)

    @cached_property
    def _visit_in_order(self) -> float:
        is_plain = self.problem.data.is_dense and isinstance(self.problem.pair.read, ValueTable)
        return _VISIT_SECONDS + (_DENSE_VALUE_SECONDS if is_plain else _CELL_SECONDS) * self._cells_a_row

    @cached_property
    def _least_cost(self) -> float:
        return self._cost(0)

    @property
    def _late_visits(self) -> float:
        return (self.effort.max_iter - self.effort.max_iter // 2) * self.effort.n_rows

    @cached_property
    def _cells_a_row(self) -> float:
        return self.problem.data.n_cells / max(1, self.problem.data.n_rows)

    def _is_early(self, cost: float) -> bool:
        spent = self.effort.n_visits * self._visit
        return spent < _EARLY * cost and not self._is_late

    @property
    def _is_late(self) -> bool:
        """Whether half of the effort is spent. Descent then may not converge at all: its rate says nothing."""
        return self.effort.n_visits >= self._late_visits

    @property
    def is_first(self) -> bool:
        """Whether coordinate descent is known to take more passes over such data than Newton's method costs.

        Newton's method then begins: from a point that coordinate descent has reached by then, it takes longer.
        """
        n_rows = self.problem.n_rows
        if self._n_slots > newton_system.MOST_SLOTS or n_rows < _NARROW * self._n_slots:
            return False
        if not newton.applies_to(self.problem):
            return False
        curvature = float(np.mean(self.problem.cost) * np.mean(self.problem.curvature))
        expected = _PASSES_A_CURVATURE * curvature * n_rows * self._visit
        return expected > self._least_cost and expected > self._cost(n_rows)

    @property
    def _n_slots(self) -> int:
        return self.problem.data.n_columns * self.problem.pair.width

    @cached_property
    def _n_used(self) -> int:
        """Slots that are unknowns."""
        if self._n_slots > newton_system.MOST_SLOTS:
            return self._n_slots
        return newton_system.used_slots(Space(self.problem, 1, threading.Event())).size

    def _cost(self, n_free: int) -> float:
        """Seconds that Newton's method takes, if about so many rows are between their bounds."""
        pass_seconds = self.problem.n_rows * self._visit_in_order
        unknowns = newton_system.n_unknowns(self._n_slots, n_free)
        by_slots = unknowns == self._n_slots
        if by_slots:
            unknowns = self._n_used
        if unknowns is None:
            return _CG_PASSES * pass_seconds + _UNKNOWN_SECONDS * self._n_slots + _CG_SECONDS
        step_seconds = _CUBE_SECONDS * unknowns**3 + _SLOT_SECONDS * self._n_slots + _STEP_SECONDS
        if by_slots:
            step_seconds += _PRODUCT_SECONDS * self.problem.n_rows * self._cells_a_row**2
        return _PASSES * pass_seconds + _STEPS * step_seconds

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
        self.next_decision = 2 * _EPOCHS * 2**self.newton_runs
