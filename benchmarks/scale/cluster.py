"""Two Dask workers of one thread against the plain estimator on one thread, and rounds against the number of parts.

`dask-covtype`, `dask-text` and `dask-few` have a task per class, as their codes are less than a gigabyte. For
`dask-rounds`, covtype once, rows stay in their partitions, as those of larger data do. `parts` simulates rounds in one
process. Rows are in memory before the clock starts: those of the plain fit in its process, those of Dask in its
workers. Times are of the processor: of the plain fit, and of the busier worker plus the driver, which mostly waits.
Wall times are beside them; they mean little on a machine that does other work.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kernline import AdditiveSVC
from kernline.datasets.loading import load_part

N_PARTS = 4


def covtype(times: int) -> tuple[np.ndarray, np.ndarray]:
    """Covtype, all seven classes, repeated: the numbers of the copies differ by a hundredth of their spread."""
    parts = [load_part("covtype", test=test) for test in (False, True)]
    X = np.concatenate([X.toarray() if sp.issparse(X) else np.asarray(X) for X, _ in parts]).astype(np.float32)
    y = np.concatenate([np.asarray(y) for _, y in parts]).astype(np.int8)
    random, spread = np.random.default_rng(0), 0.01 * X[:, :10].std(axis=0)
    copies = [X]
    for _ in range(times - 1):
        copies.append(X.copy())
        copies[-1][:, :10] += spread * random.normal(size=(len(X), 10)).astype(np.float32)
    return np.concatenate(copies), np.tile(y, times)


def text(n_documents: int, n_classes: int = 20, n_words: int = 30_000) -> tuple[Any, np.ndarray]:
    """Counts of words from Zipf's law; each class prefers some of the words."""
    random = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1, n_words + 1)
    y = random.integers(0, n_classes, n_documents)
    lengths = random.poisson(80, n_documents) + 10
    words = random.choice(n_words, lengths.sum(), p=frequency / frequency.sum())
    document = np.repeat(np.arange(n_documents), lengths)
    own = random.random(words.size) < 0.12  # words of the class, from a list of its own
    words[own] = (words[own] * 7 + 1009 * (1 + y[document[own]])) % n_words
    counts = sp.csr_matrix((np.ones(words.size, dtype=np.float32), (document, words)), shape=(n_documents, n_words))
    counts.sum_duplicates()
    return counts, y


def compare(X: Any, y: np.ndarray, kernel: str, scale: str, C: float) -> dict[str, Any]:
    """Times and objectives of both."""
    settings = {"kernel": kernel, "scale": scale, "loss": "hinge", "C": C}
    begin, cpu = time.perf_counter(), time.process_time()
    plain = AdditiveSVC(**settings).fit(X, y)
    plain_wall, plain_cpu = time.perf_counter() - begin, time.process_time() - cpu
    with tempfile.TemporaryDirectory() as folder:
        model, wall, workers, driver = _on_cluster(X, y, settings, Path(folder))
    return {
        "the clock starts with": "rows in memory",
        "rows": X.shape[0],
        "columns": X.shape[1],
        "classes": len(plain.classes_),
        "plain s": plain_cpu,
        "workers s": workers,
        "driver s": driver,
        "ratio (bar 1.4)": plain_cpu / (max(workers) + driver),
        "plain s by the clock": plain_wall,
        "two workers s by the clock": wall,
        "ratio by the clock": plain_wall / wall,
        "load": os.getloadavg()[0],
        "objectives differ by": float(np.abs(model.objective_ / plain.objective_ - 1.0).max()),
        "rounds, or epochs": int(model.n_iter_.max()),
        "largest relative gap": float((model.dual_gap_ / model.objective_).max()),
    }


def in_rounds() -> dict[str, Any]:
    """Rows that stay in their partitions."""
    from kernline.dask import gathered

    before, gathered.MOST_BYTES = gathered.MOST_BYTES, 0
    try:
        return compare(*covtype(1), "intersection", "rank", 1.0)
    finally:
        gathered.MOST_BYTES = before


def _on_cluster(X: Any, y: np.ndarray, settings: dict[str, Any], folder: Path) -> Any:
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster, wait

    from kernline.dask import DaskAdditiveSVC

    ends = np.linspace(0, X.shape[0], N_PARTS + 1).astype(int)
    blocks, labels = [], []
    order = np.random.default_rng(0).permutation(X.shape[0]) if sp.issparse(X) else None
    for k, (a, b) in enumerate(pairwise(ends.tolist())):
        rows = slice(a, b) if order is None else np.sort(order[a:b])
        if sp.issparse(X):
            sp.save_npz(folder / f"{k}.npz", X[rows], compressed=False)
        else:
            np.save(folder / f"{k}.npy", X[rows])
        np.save(folder / f"y{k}.npy", y[rows])
        load = delayed(sp.load_npz if sp.issparse(X) else np.load)
        path = str(folder / f"{k}.{'npz' if sp.issparse(X) else 'npy'}")
        blocks.append(da.from_delayed(load(path), (b - a, X.shape[1]), dtype=np.float32))
        labels.append(da.from_delayed(delayed(np.load)(str(folder / f"y{k}.npy")), (b - a,), dtype=y.dtype))
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0, "silence_logs": logging.ERROR}
    with LocalCluster(n_workers=2, **options) as cluster, Client(cluster) as client:
        client.run(_warm)
        DaskAdditiveSVC(client=client, **settings).fit(da.concatenate(blocks)[:2000], da.concatenate(labels)[:2000])
        held = client.persist([*blocks, *labels])
        wait(held)
        blocks, labels = held[:N_PARTS], held[N_PARTS:]
        before, begin, cpu = client.run(time.process_time), time.perf_counter(), time.process_time()
        model = DaskAdditiveSVC(client=client, **settings).fit(da.concatenate(blocks), da.concatenate(labels))
        wall, driver = time.perf_counter() - begin, time.process_time() - cpu
        after = client.run(time.process_time)
    return model, wall, [after[one] - before[one] for one in before], driver


def _warm() -> None:
    import kernline.dask  # noqa: F401


def parts() -> list[dict[str, Any]]:
    """Rounds and visits of all rows against the number of parts, in one process."""
    from .simulation import simulated

    found = []
    for C in (1.0, 10.0):
        for n_parts in (1, 2, 4, 8, 16, 32, 64):
            found.append(
                {"C": C, "parts": n_parts, **simulated("covtype", 100_000, "intersection", "rank", C, n_parts)}
            )
            print(found[-1], flush=True)
    return found


MEASUREMENTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "dask-covtype": lambda options: compare(*covtype(10), "intersection", "rank", 1.0),
    "dask-text": lambda options: compare(*text(300_000), "chi2", "max", 1.0),
    "dask-few": lambda options: compare(*text(60_000), "chi2", "max", 1.0),
    "dask-rounds": lambda options: in_rounds(),
    "parts": lambda options: parts(),
}
