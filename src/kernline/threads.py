"""How many threads `n_jobs` means, as scikit-learn understands it, within the limits of the process."""

from __future__ import annotations

import os

from joblib import effective_n_jobs


def thread_count(n_jobs: int | None) -> int:
    """None: one (or what joblib's parallel_config says); -1: all processors this process may use."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is not None and n_jobs < 0:
        return max(1, available + 1 + n_jobs)
    return int(effective_n_jobs(n_jobs))
