"""The loop over epochs of coordinate descent, and when to stop.

Each visit of a row computes its share of the duality gap; their sum over an epoch is an estimate that costs nothing.
When it falls below the tolerance, the weights are summed again and one pass over all rows computes the gap exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from .problem import EpochReport

# Most epochs per pass over the data: many epochs visit few rows.
EPOCHS_A_PASS = 30
# If C is large, it starts this many doublings below.
_DOUBLINGS = 3
# A row may rest if its share of the gap is at most this fraction of the tolerance, spread over all rows.
_NEGLIGIBLE = 0.1

# Called after every epoch; returning True stops the fit.
OnEpoch = Callable[[EpochReport], bool]


class Stretch(NamedTuple):
    """How far epochs go without a decision in between: so many, or so many visits, or until a check is due.

    A check is due when no row is left to visit, or when the gap looks small enough after the epoch `first_check`, from
    1, or a later one.
    """

    most_epochs: int
    first_check: int
    most_visits: int
    tol: float


class Sweeps(Protocol):
    """What the loop needs of a descent. `gap` and `primal` are exact, as of the last evaluation.

    `dual` is tracked by every update; `active_gap` is a sum of shares of the gap over the visits of the last sweep.
    """

    gap: float
    primal: float

    @property
    def dual(self) -> float:
        """The dual objective."""

    @property
    def active_gap(self) -> float:
        """Estimate of the gap from the last sweep."""

    @property
    def n_active(self) -> int:
        """Rows visited by the last sweep."""

    @property
    def balances(self) -> bool:
        """Whether an evaluation changes β."""

    def sweep(self) -> None:
        """Visit every row that is not resting."""

    def sweeps(self, stretch: Stretch) -> tuple[list[tuple[float, float, float, int]], bool]:
        """Run at least one epoch and at most a stretch of them; return them, and whether a check is due.

        Of every epoch: the seconds since the first began, the dual objective, the estimate of the gap, the visits.
        """

    def evaluate(self, tol: float = ...) -> None:
        """Compute the exact gap; β stays as evaluated if the gap is at most `tol` times the objective."""

    def wake(self) -> None:
        """End the rests of all rows that the exact gap suggests to visit."""

    def let_rest(self, tol: float, gap: float) -> None:
        """Set the share of the gap at which a row rests; `gap` is the last one, exact or estimated."""

    def grow(self, factor: float) -> None:
        """Multiply costs, β and f."""


@dataclass
class Log:
    """The epochs so far, passed on to the callback."""

    on_epoch: OnEpoch | None
    history: list[EpochReport] = field(default_factory=list)
    asked_to_stop: bool = False
    begun: float = field(default_factory=time.perf_counter)

    @property
    def watches_epochs(self) -> bool:
        """Whether the callback has to be called before the next epoch begins."""
        return self.on_epoch is not None and not getattr(self.on_epoch, "is_idle", False)

    def add(self, dual: float, gap: float, n_active: int, seconds: float | None = None) -> bool:
        """Record an epoch or a step, which ended now or so many seconds after the beginning; True asks to stop."""
        if seconds is None:
            seconds = time.perf_counter() - self.begun
        self.history.append(EpochReport(len(self.history) + 1, seconds, float(dual), float(gap), int(n_active)))
        if self.watches_epochs and self.on_epoch is not None and self.on_epoch(self.history[-1]):
            self.asked_to_stop = True
        return self.asked_to_stop


@dataclass
class Effort:
    """Visits of rows so far, and how many times all rows may be visited."""

    n_rows: int
    max_iter: int
    n_visits: int = 0

    @property
    def passes_left(self) -> float:
        """How many times all rows may still be visited."""
        return self.max_iter - self.n_visits / self.n_rows


class Epochs:
    """Epochs of a descent until the exact gap is at most `tol` times the objective, or the effort is spent."""

    def __init__(self, descent: Sweeps, tol: float, effort: Effort, log: Log) -> None:
        self.descent = descent
        self.tol = tol
        self.effort = effort
        self.log = log

    def run(self, doublings: int) -> bool:
        """Return whether the tolerance was reached. The gap is exact at the end."""
        next_check, exact = self.warm_up(doublings), False
        history = self.log.history
        while self._may_go_on() and not self.log.asked_to_stop:
            exact = self.other_step() or self._epochs(next_check)
            if exact:
                if self.is_solved:
                    return True
                # A check costs a pass over the data, so wait for a tenth of the epochs so far before the next one.
                self.descent.wake()
                next_check = len(history) + 1 + len(history) // 10
            self._let_rows_rest()
        if not exact or self.descent.balances:
            self.descent.evaluate()
        return self.is_solved

    @property
    def is_solved(self) -> bool:
        """Whether the exact gap, just computed, is small enough."""
        return self.descent.gap <= self.tol * self.descent.primal

    def other_step(self) -> bool:
        """Do something else than an epoch, with an exact gap at the end, if that is due; return whether it was."""
        return False

    def until_other_step(self) -> tuple[float, float]:
        """The number of epochs, at least one, or of visits, after which something else may be due."""
        return math.inf, math.inf

    def warm_up(self, doublings: int) -> int:
        """Run epochs with a C that doubles so many times, up to the requested one; return their number.

        A visit moves β_i by at most about 1 / K(x_i, x_i). If C is far larger, the rows that belong at the bound would
        take many visits to get there.
        """
        if doublings == 0:
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
        return len(self.log.history)

    def _may_go_on(self) -> bool:
        """Whether the limit is not reached. Epochs that visit few rows count as parts of a pass."""
        return self.effort.passes_left > 0 and len(self.log.history) < EPOCHS_A_PASS * self.effort.max_iter

    def _epochs(self, next_check: int) -> bool:
        """Run epochs until something else may be due; return whether they ended with the exact gap."""
        log, effort = self.log, self.effort
        n_before = len(log.history)
        most_epochs, most_visits = self.until_other_step()
        most_epochs = min(most_epochs, EPOCHS_A_PASS * effort.max_iter - n_before)
        most_visits = min(most_visits, effort.max_iter * effort.n_rows - effort.n_visits)
        # A callback may stop the fit after every epoch.
        most = 1 if log.watches_epochs else int(most_epochs)
        stretch = Stretch(most, next_check - n_before, math.ceil(most_visits), self.tol)
        begun = time.perf_counter() - log.begun
        epochs, is_due = self.descent.sweeps(stretch)
        if is_due:
            self.descent.evaluate(self.tol)
            epochs[-1] = epochs[-1][0], self.descent.dual, self.descent.gap, epochs[-1][3]
        for seconds, dual, gap, n_active in epochs:
            effort.n_visits += n_active
            log.add(dual, gap, n_active, begun + seconds)
        return is_due

    def _report(self, gap: float) -> bool:
        self.effort.n_visits += self.descent.n_active
        return self.log.add(self.descent.dual, gap, self.descent.n_active)

    def _let_rows_rest(self) -> None:
        self.descent.let_rest(self.tol, self.log.history[-1].gap)


def doublings_to(cost: float, norm: float, max_iter: int) -> int:
    """How often C doubles in the warm-up, for a mean cost and a mean of K(x, x)."""
    return int(np.clip(math.log2(max(cost * norm, 1.0)), 0, min(_DOUBLINGS, max_iter - 1)))


def negligible_share(tol: float, objective: float, n_rows: int) -> float:
    """The largest share of the gap for which a row is not updated."""
    return max(0.0, _NEGLIGIBLE * tol * objective / n_rows)


def looks_converged(gap: float, dual: float, tol: float) -> bool:
    """Whether an estimate of the gap is low enough to compute the exact gap.

    The dual objective is a sum of changes. After a start far off it may have lost all its digits, and be negative; the
    exact gap corrects it.
    """
    return bool(gap <= (1.0 - _NEGLIGIBLE) * tol * abs(dual + gap))
