"""What a fit asks of a Dask client: tasks, sums as a tree, and results, with an error if the cluster is gone."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self
from weakref import WeakValueDictionary

from distributed import Client, Future, get_client
from distributed.scheduler import KilledWorker

# Seconds between two looks at the cluster, and without a worker or a scheduler until that is an error.
_LOOK, _PATIENCE = 1.0, 30.0
# Seconds after which a value is sent again, and for an answer of the scheduler.
_SEND, _ANSWER = 20.0, 5.0
# Partial results that a task of a tree joins.
_BRANCHES = 4

CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


class ClusterError(ConnectionError):
    """The cluster cannot finish the fit."""

    @classmethod
    def of_lost(cls, which: str = "partitions were") -> ClusterError:
        """Some partitions are gone for good."""
        return cls(
            f"A worker died, and {which} lost with it: X cannot be computed again. Pass a collection that reads its "
            "data from files, not one that was scattered to workers."
        )


def chosen_client(client: Client | None) -> Client:
    """The client given, or the current one; no cluster is started."""
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "There is no Dask client. Create one before the fit, client = dask.distributed.Client(address), or "
            "Client() for workers on this machine; or pass client=."
        ) from None


def connected(address: str) -> Client:
    """A client of the scheduler at this address, or an error within seconds."""
    try:
        return Client(address, timeout=_SEND, set_as_default=False)
    except OSError as error:
        raise ClusterError(f"There is no Dask scheduler at {address}: {error}") from error


class Session:
    """Tasks of one fit. On leaving it, all of them are released, whoever still refers to them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.futures: dict[Any, Future] = {}  # those to keep
        self.alive: WeakValueDictionary[Any, Future] = WeakValueDictionary()  # all that anyone has
        self.alone_since: float | None = None  # without workers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # Client.cancel would also drop what others want, and breaks the connection at a task that no one wants.
        futures = list(self.alive.values())
        self.futures = {}
        for future in futures:
            future.release()

    def submit(self, function: Callable[..., object], *args: object, keep: bool = True) -> Future:
        """A task. Those that are kept end with the session, others when the caller drops them."""
        future = self.client.submit(function, *args, pure=False)
        self.alive[future.key] = future
        if keep:
            self.futures[future.key] = future
        return future

    def given(self, value: object) -> Future:
        """A value for tasks. The scheduler has its recipe, so that it outlives workers."""
        return self.submit(_same, value)

    def drop(self, futures: Iterable[Future | None]) -> None:
        """Forget some tasks."""
        for future in futures:
            if future is not None:
                self.futures.pop(future.key, None)

    def scattered(self, value: object) -> Future:
        """A value on a worker, without a recipe: what depends on it cannot be computed again once it is dropped.

        Workers fetch it from one another. One that has just died may take it with it: then it is sent again.
        """
        while True:
            try:
                future: Future = self.client.sync(
                    lambda: self.client.scatter(value, hash=False, timeout=_SEND, asynchronous=True),
                    callback_timeout=_SEND,
                )
                self.alive[future.key] = future
                return future
            except (OSError, KeyError, TimeoutError, RuntimeError, *CANCELLED):  # no worker, or one that has just gone
                time.sleep(_LOOK)
                self._look()

    def tree(self, futures: Sequence[Future], join: Callable[[list[Any]], object]) -> Future:
        """One result of many, joined in an order that does not depend on where they are."""
        while len(futures) > 1:
            groups = [list(futures[k : k + _BRANCHES]) for k in range(0, len(futures), _BRANCHES)]
            futures = [group[0] if len(group) == 1 else self.submit(join, group, keep=False) for group in groups]
        return futures[0]

    def result(self, future: Future) -> Any:
        """Wait for a result; errors of tasks are raised here."""
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if future.status == "error":
                    raise
            except KilledWorker as error:
                raise ClusterError(
                    f"Workers died while they ran the same task, again and again: {error} Most often there was not "
                    "enough memory: use smaller partitions or workers with more memory."
                ) from error
            except (UnboundLocalError, *CANCELLED) as error:
                # The first is what distributed raises, for want of a result, if its own wait is cancelled.
                if future.status == "error":
                    raise
                self._look()
                while self.client.status == "connecting":  # all futures are cancelled if the scheduler is gone
                    time.sleep(_LOOK)
                    self._look()
                raise asyncio.CancelledError from error
            self._look()

    def _has_workers(self) -> bool:
        return bool(self.client.sync(self.client.scheduler.ncores, callback_timeout=_ANSWER))

    def _look(self) -> None:
        """Raise an error if the scheduler is gone, or if there has been no worker for too long."""
        address = self.client.scheduler.address if self.client.scheduler is not None else "?"
        if self.client.status not in ("running", "connecting"):
            raise ClusterError(f"The Dask cluster at {address} is gone: the connection to its scheduler was lost.")
        try:
            has_workers = self.client.status == "running" and self._has_workers()
        except (OSError, TimeoutError, RuntimeError, *CANCELLED):
            has_workers = False
        if has_workers:
            self.alone_since = None
        elif self.alone_since is None:
            self.alone_since = time.monotonic()
        elif time.monotonic() - self.alone_since > _PATIENCE:
            raise ClusterError(
                f"The Dask cluster at {address} has had no workers, or no scheduler, for {_PATIENCE:.0f} s. Start "
                "workers and fit again."
            )


def is_gone(future: Future) -> bool:
    """Whether a result was lost with its worker and cannot be computed again. One that can be is "lost" until then."""
    return bool(future.status == "cancelled")


def _same(value: object) -> object:
    return value
