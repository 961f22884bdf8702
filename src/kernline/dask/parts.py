"""Parts of the rows on the workers of a cluster (solvers/rounds.py).

A round is a task per part, (rows, β, orders) → (β′, sums), and a tree of tasks that adds the sums up. β stays where its
rows are, as the result of a task. The orders, with the weights, are given to the workers without a recipe. Once they
are dropped, the scheduler forgets how β came about, so that its graph does not grow with the rounds. Should a worker
die, its codes are computed again by Dask, from the collection, and its β are lost: they begin at zero again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from distributed import Future

from ..array_types import Array
from ..solvers import part
from ..solvers.part import Balance, Candidate, Order, PartRows, Sums
from ..solvers.rounds import PartsLost, added, margins_of_part, of_part
from .session import CANCELLED, ClusterError, Session, is_gone

# Losses in a row, without a round in between, after which it is not a worker that dies.
_MOST_LOSSES = 20


class ClusterParts:
    """Parts whose rows are futures of PartRows."""

    def __init__(self, session: Session, rows: Sequence[Future]) -> None:
        self.session, self.rows = session, rows
        self.states = [self._zeros(one) for one in rows]
        self.betas: list[Future] = []
        self.n_losses = 0

    @property
    def n_parts(self) -> int:
        """How many there are."""
        return len(self.rows)

    def total(self, steps: Array, chosen: Sequence[int]) -> list[Sums]:
        """See Parts."""
        return self._sums(self._tasks(part.total, self.states, steps, chosen))

    def work(self, steps: Array, orders: Sequence[Order]) -> list[Sums]:
        """See Parts."""
        done, given = self._tasks(_work, self.states, steps, orders)
        states = [self.session.submit(itemgetter(0), one, keep=False) for one in done]
        sums = self._sums(([self.session.submit(itemgetter(1), one, keep=False) for one in done], given))
        self.states = states
        self.n_losses = 0
        return sums

    def settled(self, steps: Array, orders: Sequence[Order]) -> list[Sums]:
        """See Parts. A task per problem has the rows of all parts."""
        given = self.session.scattered(Box((steps, list(orders))))
        both = list(zip(self.rows, self.states, strict=True))
        found = []
        for k, order in enumerate(orders):
            each = [self.session.submit(_margin, *one, given, order.problem, keep=False) for one in both]
            found.append(self.session.submit(_settled, each, given, k, keep=False))
        states = [
            self.session.submit(_with_margins, state, given, found, number, keep=False)
            for number, state in enumerate(self.states)
        ]
        sums = self._sums(([self.session.submit(_sums_of, found, keep=False)], given))
        self.states = states
        return sums

    def balanced(self, steps: Array, orders: Sequence[Balance]) -> list[Sums]:
        """See Parts."""
        done, given = self._tasks(part.balanced, self.states, steps, orders)
        self.betas = [self.session.submit(itemgetter(0), one, keep=False) for one in done]
        return self._sums(([self.session.submit(itemgetter(1), one, keep=False) for one in done], given))

    def certified(self, candidates: Sequence[Candidate]) -> list[Sums]:
        """See Parts."""
        return self._sums(self._tasks(part.certified, self.betas, candidates))

    def _zeros(self, rows: Future) -> Future:
        return self.session.submit(PartRows.zeros, rows, keep=False)

    def _tasks(
        self, function: Callable[..., object], states: Sequence[Future], *orders: object
    ) -> tuple[list[Future], Future]:
        """A task per part, and the orders they are given, which must be kept until the tasks are done."""
        given = self.session.scattered(Box(orders))
        tasks = [
            self.session.submit(_call, function, rows, state, given, number, keep=False)
            for number, (rows, state) in enumerate(zip(self.rows, states, strict=True))
        ]
        return tasks, given

    def _sums(self, tasks: tuple[list[Future], Future]) -> list[Sums]:
        """The sums over all parts. If some are lost, their β begin at zero again."""
        try:
            found: list[Sums] = self.session.result(self.session.tree(tasks[0], added))
            return found
        except CANCELLED:
            self._begin_again()
            raise PartsLost from None

    def _begin_again(self) -> None:
        self.n_losses += 1
        gone = [k for k, rows in enumerate(self.rows) if is_gone(rows)]
        if gone or self.n_losses > _MOST_LOSSES:
            which = f"partition {gone[0]} was" if gone else "partitions were"
            raise ClusterError.of_lost(which)
        self.states = [
            self._zeros(rows) if state.status in ("cancelled", "lost") else state
            for rows, state in zip(self.rows, self.states, strict=True)
        ]


class Box:
    """Orders as one value: a tuple would be scattered item by item."""

    def __init__(self, content: tuple[Any, ...]) -> None:
        self.content = content


def _call(function: Callable[..., Any], rows: PartRows, state: Array, orders: Box, number: int) -> Any:
    numbered = (number,) if function is _work else ()
    return function(rows, state, *orders.content, *numbered)


def _work(rows: PartRows, state: Array, steps: Array, orders: Sequence[Order], number: int) -> tuple[Array, list[Sums]]:
    return part.work(rows, state, steps, [of_part(order, number) for order in orders])


def _margin(rows: PartRows, state: Array, orders: Box, problem: int) -> part.Margin:
    return part.margin(rows, state, orders.content[0], problem)


def _settled(margins: list[part.Margin], orders: Box, number: int) -> Any:
    return part.settled(margins, orders.content[1][number])


def _with_margins(state: Array, orders: Box, found: list[Any], number: int) -> Array:
    steps, given = orders.content
    return part.with_margins(state, steps, margins_of_part(given, [split for split, _ in found], number))


def _sums_of(found: list[Any]) -> list[Sums]:
    return [sums for _, sums in found]
