"""Intervals of 95 %: Wilson's for shares of rows, the bootstrap's for everything else.

A bootstrap draws counts, how often each row is in a sample of as many rows with replacement, so that a score of all
samples is a product of a matrix and not a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..array_types import Array, Indices

_QUANTILE = 1.959963984540054  # of the normal distribution, for 95 %
N_SAMPLES = 200
# Counts that are in memory at a time, as float64.
_COUNTS_AT_ONCE = 1_000_000


class Interval(NamedTuple):
    """An estimate and the ends of its interval."""

    value: float
    low: float
    high: float


def wilson(n_right: int, n_rows: int) -> Interval | None:
    """Wilson's score interval of a share; None of no rows (Wilson, JASA 1927)."""
    if not n_rows:
        return None
    share, z = n_right / n_rows, _QUANTILE**2 / n_rows
    middle = (share + z / 2.0) / (1.0 + z)
    half = np.sqrt(share * (1.0 - share) * z + z * z / 4.0) / (1.0 + z)
    return Interval(share, max(0.0, float(middle - half)), min(1.0, float(middle + half)))


class Bootstrap:
    """Samples of the rows, the same for all scores of a report."""

    def __init__(self, n_rows: int, seed: int = 0) -> None:
        self.n_rows = n_rows
        self.seed = seed

    def counts(self) -> Iterator[Array]:
        """How often each row is in each sample, (n_samples, n_rows), in blocks of samples."""
        rng = np.random.default_rng(self.seed)
        step = max(1, _COUNTS_AT_ONCE // max(1, self.n_rows))
        for begin in range(0, N_SAMPLES, step):
            n_samples = min(step, N_SAMPLES - begin)
            drawn: Indices = rng.integers(self.n_rows, size=(n_samples, self.n_rows))
            drawn += np.arange(n_samples)[:, None] * self.n_rows
            found = np.bincount(drawn.ravel(), minlength=drawn.size)
            yield found.reshape(drawn.shape).astype(np.float64)

    def sums(self, columns: Array) -> Array:
        """The sum of each column, (n_rows, n_columns), over the rows of each sample: (n_samples, n_columns)."""
        return np.concatenate([counts @ columns for counts in self.counts()])

    def mean(self, values: Array) -> Interval:
        """The interval of a mean over rows."""
        return self.interval(float(values.mean()), self.sums(values[:, None])[:, 0] / self.n_rows)

    @staticmethod
    def interval(value: float, samples: Array) -> Interval:
        """The interval of a score, from its values in all samples. Those without a value are left out."""
        known = samples[np.isfinite(samples)]
        if not known.size:
            return Interval(value, value, value)
        low, high = np.quantile(known, [0.025, 0.975])
        return Interval(value, float(low), float(high))
