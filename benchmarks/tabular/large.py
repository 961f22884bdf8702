"""Ten million rows of 50 columns, five of them categories: time and memory of our fit. Generated, ours only."""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
import pandas as pd

from kernline.datasets import Dataset

from .contestants import CLASSIFIERS
from .run import fit_and_evaluate

_LEVELS = (2, 5, 20, 200, 5000)
_NUMBERS = 45
_TEST_ROWS = 100_000


def generated(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers as float32, categories as pandas stores them; the label is a noisy sum of curves and level effects."""
    rng = np.random.default_rng(seed)
    score = rng.logistic(size=n_rows).astype(np.float32)
    columns: dict[str, Any] = {}
    for j in range(_NUMBERS):
        values = rng.standard_normal(n_rows, dtype=np.float32)
        score += (np.sin((1 + j % 4) * values) if j % 3 == 0 else 0.2 * values) * (j < 30)
        columns[f"number {j}"] = np.exp(values) if j % 5 == 0 else values
    for n_levels in _LEVELS:
        codes = (n_levels * rng.random(n_rows, dtype=np.float32) ** 2).astype(np.int16)
        score += rng.normal(scale=0.7, size=n_levels).astype(np.float32)[codes]
        columns[f"one of {n_levels}"] = pd.Categorical.from_codes(codes, [f"level {k}" for k in range(n_levels)])
    return pd.DataFrame(columns, copy=False), (score > 0.0).astype(np.int8)


def peak_gigabytes() -> float:
    """The most memory this process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def large(n_rows: int, names: list[str], threads: int) -> None:
    """Fit, and print seconds, accuracy and memory."""
    start = time.perf_counter()
    X, y = generated(n_rows + min(_TEST_ROWS, n_rows))
    data = Dataset(X.iloc[:n_rows], y[:n_rows], X.iloc[n_rows:], y[n_rows:])
    held = float(X.memory_usage(deep=True).sum()) / 1e9
    print(f"{n_rows:,} × {X.shape[1]}, {len(_LEVELS)} of them categories: {held:.2f} GB", end="; ")
    print(f"generated in {time.perf_counter() - start:.0f} s, peak {peak_gigabytes():.2f} GB", flush=True)
    for name in names:
        result = fit_and_evaluate(CLASSIFIERS[name], data, threads)
        if result.failure:
            print(f"{name}: {result.failure}", flush=True)
            continue
        print(
            f"{name}: fit {result.fit_seconds:.1f} s, {threads} threads; accuracy {100 * result.score:.2f} %; predict "
            f"{result.predict_seconds:.2f} s for {len(data.y_test):,} rows; peak {peak_gigabytes():.2f} GB",
            flush=True,
        )
