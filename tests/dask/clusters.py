"""Clusters of the tests: worker processes on free ports of this machine, without a dashboard."""

import gc
import logging
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, Scheduler
from sklearn.datasets import load_digits

# Seconds after which something that must happen has not: far more than a machine with other work needs.
LIMIT = 300
QUIET = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "threads_per_worker": 1}


@contextmanager
def local_client(n_workers: int = 2) -> Iterator[Client]:
    with LocalCluster(n_workers=n_workers, **QUIET) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@contextmanager
def plain_worker(client: Client, *options: str, nice: int = 0) -> Iterator[subprocess.Popen]:
    """A worker without a nanny, in a process of its own."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address, "--no-nanny"]
    name = uuid.uuid4().hex  # by number, one that was killed before might still be counted
    command += ["--nthreads", "1", "--no-dashboard", "--name", name, *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(client, lambda dask_scheduler: name in dask_scheduler.aliases)
            yield process
        finally:
            process.kill()


def wait_until(client: Client, condition: Callable[[Scheduler], bool]) -> None:
    """Wait until the scheduler meets a condition."""
    deadline = time.monotonic() + LIMIT
    while not client.run_on_scheduler(lambda dask_scheduler: condition(dask_scheduler)):
        assert time.monotonic() < deadline, "the cluster has not come to the state that was waited for"
        gc.collect()  # futures in a cycle, such as that of a traceback, keep their tasks
        time.sleep(0.05)


def kill(client: Client, address: str) -> None:
    """SIGKILL of a worker."""
    pid = client.submit(os.getpid, workers=[address], pure=False).result(timeout=LIMIT)
    os.kill(pid, signal.SIGKILL)


class Replaced:
    """A worker that has all data, and is replaced by another: what it alone had is lost for certain."""

    def __init__(self, client: Client) -> None:
        self.client, self.stack = client, ExitStack()

    def __enter__(self) -> Self:
        self.first = self.stack.enter_context(plain_worker(self.client))
        return self

    def replace(self) -> None:
        self.first.kill()
        self.stack.enter_context(plain_worker(self.client))

    def __exit__(self, *error: object) -> None:
        self.stack.close()


def digits(n_rows: int = 900, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X[:n_rows], y[:n_rows] % n_classes


def in_chunks(X: np.ndarray, y: np.ndarray, rows: int) -> tuple[da.Array, da.Array]:
    return da.from_array(X, chunks=(rows, -1)), da.from_array(y, chunks=rows)
