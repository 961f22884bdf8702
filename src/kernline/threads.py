"""Threads: how many `n_jobs` means, as scikit-learn understands it, and tasks side by side that Ctrl-C ends."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """None: one (or what joblib's parallel_config says); -1: all processors this process may use."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is not None and n_jobs < 0:
        return max(1, available + 1 + n_jobs)
    return int(effective_n_jobs(n_jobs))


def run_tasks(
    work: Callable[[int], Result], n_tasks: int, n_threads: int, interrupted: threading.Event
) -> list[Result]:
    """Results of work(0), work(1), …, side by side. What ends one, Ctrl-C too, sets `interrupted` for the others.

    NumPy's own threads are held back meanwhile: they come on top of those asked for. With them, a fit on MNIST with
    n_jobs=1 took 1.4 s of processor time, and 0.85 s without.
    """
    with threadpool_limits(1, user_api="blas"):
        if min(n_threads, n_tasks) <= 1:
            return [work(index) for index in range(n_tasks)]
        with ThreadPoolExecutor(min(n_threads, n_tasks)) as pool:
            try:
                return list(pool.map(work, range(n_tasks)))
            except BaseException:
                interrupted.set()
                pool.shutdown(cancel_futures=True)
                raise
