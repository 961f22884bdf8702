"""Large sparse data, generated: against LinearSVC, and against itself at other sizes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import scipy.sparse as sp

from kernline import AdditiveSVC
from kernline.datasets import Dataset

from ..measure import interleave
from .bar import Bar
from .mnist import against_linear_svc, ours_at


def generated(n_rows: int, n_features: int = 2000, per_row: int = 100, seed: int = 0) -> sp.csr_matrix:
    """Rows of `per_row` distinct columns, low ones more often, with values in (0, 1]."""
    rng = np.random.default_rng(seed)
    columns = np.empty((n_rows, per_row), dtype=np.int32)
    width = n_features // per_row
    starts = np.arange(per_row, dtype=np.int32) * width
    for block in range(0, n_rows, 100_000):
        here = slice(block, min(block + 100_000, n_rows))
        columns[here] = starts + (rng.random((here.stop - block, per_row), dtype=np.float32) ** 2 * width).astype(
            np.int32
        )
    values = rng.random(n_rows * per_row, dtype=np.float32)
    row_start = np.arange(0, n_rows * per_row + 1, per_row, dtype=np.int64 if n_rows * per_row >= 2**31 else np.int32)
    return sp.csr_matrix((values, columns.ravel(), row_start), shape=(n_rows, n_features))


def labels(X: sp.csr_matrix, seed: int = 1) -> np.ndarray:
    """A noisy linear rule."""
    rng = np.random.default_rng(seed)
    score = X @ rng.normal(size=X.shape[1]).astype(np.float32)
    return (score + rng.normal(scale=score.std(), size=score.size) > np.median(score)).astype(int)


def sparse_million(rounds: int) -> Iterator[Bar]:
    """The linear kernel at LinearSVC's objective: time and memory. Hats are included for comparison."""
    X = generated(1_000_000)
    X.data = X.data.astype(np.float64)  # the type LinearSVC trains on, to spare it a conversion
    y = labels(X)
    data = Dataset(X, y, X[:1000], y[:1000])
    C = 0.01
    bar = against_linear_svc(data, C, rounds, "10⁶ × 2,000 sparse", 1.0)
    yield bar
    ours, hats = ours_at("linear", data, C), ours_at("chi2", data, C)
    from sklearn.svm import LinearSVC

    peer = LinearSVC(loss="hinge", C=C, tol=float(bar.against.split("=")[1]), random_state=0)
    runs = interleave(
        {"ours": partial(ours.fit, X, y), "peer": partial(peer.fit, X, y), "hats": partial(hats.fit, X, y)}, 1
    )
    sizes = {name: run.peak_bytes / 1e6 for name, run in runs.items()}
    note = f"above the data itself; chi2 hats: {sizes['hats']:.0f} MB, {runs['hats'].seconds:.1f} s"
    yield Bar("the same, peak memory", "LinearSVC", sizes["ours"], sizes["peer"], 2.5, note, unit="MB")


def growth(rounds: int) -> Iterator[Bar]:
    """Time per non-zero at 10, 100 and 500 million: the slowest within 1.5 times the fastest."""
    times = {}
    for n_rows in (100_000, 1_000_000, 5_000_000):
        X = generated(n_rows)
        y = labels(X)
        model = AdditiveSVC("chi2", C=0.1, random_state=0)
        run = interleave({"ours": partial(model.fit, X, y)}, rounds if n_rows < 1_000_000 else 1)["ours"]
        times[n_rows * 100] = 1e9 * run.seconds / X.nnz
        del X, y
    note = ", ".join(f"{size / 1e6:.0f} M: {value:.1f} ns" for size, value in times.items())
    yield Bar(
        "10 M to 500 M non-zeros, chi2",
        "itself, per non-zero",
        max(times.values()),
        1.5 * min(times.values()),
        1.0,
        note,
        unit="ns",
    )
