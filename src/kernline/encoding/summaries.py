"""What an encoder must know of all rows, learnt batch by batch: summaries that can be merged.

    summary = ColumnSummary(n_features, sparse=False)
    for X in batches: summary.update(X)
    summary.merge(other)                    # of the rows of another worker

Ranges and counts are exact, whatever the batches are. Ranks are exact as long as all rows fit into the sample, of
200,000 rows at most (fewer, down to 10,000, if they would take more than 256 MB), and for dense columns of at most
1,024 distinct values, whose counts are kept. Other ranks are those of the sample, n rows drawn without replacement: all
ranks of a column are within ε of the true ones but for a probability of 2 exp(−2 n ε²) at most (Massart, Ann. Probab.
1990), so within 0.0059 but for one in a million columns at n = 200,000. The tables of hats have points 1 / 15 apart.

Rows have random priorities, and those of the lowest are kept: the sample of a union is made of the samples of its
parts. The result depends on the seeds and the order of updates and merges, not on who runs them or when.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..array_types import Array, Indices, Matrix, Numbers, is_sparse
from .column_range import ColumnRange, boolean_columns
from .ranks import RANK_ROWS, Edges, edges_of_counts, rank_edges, with_columns

# Distinct values of a column that are counted.
MOST_DISTINCT = 1024
# The sample has fewer rows if they would take more bytes, but not fewer than these.
_SAMPLE_BYTES, _LEAST_ROWS = 2**28, 10_000
# Most columns of continuous values show within so many rows that they have too many.
_FIRST_ROWS = 4096


@dataclass
class RowSample:
    """Random rows with their weights, in the order in which they came."""

    blocks: list[Matrix] = field(default_factory=list)
    weights: list[Array] = field(default_factory=list)
    priorities: list[Array] = field(default_factory=list)
    most_rows: int = RANK_ROWS
    below: float = math.inf  # the priority of a row that can still be taken

    @property
    def n_rows(self) -> int:
        """Rows held."""
        return sum(block.shape[0] for block in self.blocks)

    @property
    def X(self) -> Matrix:
        """The rows."""
        if len(self.blocks) > 1:
            stack: Any = sp.vstack if is_sparse(self.blocks[0]) else np.concatenate
            self.blocks = [stack(self.blocks)]
        return sp.csr_array(self.blocks[0]) if is_sparse(self.blocks[0]) else self.blocks[0]

    @property
    def weight(self) -> Array:
        """The weights of the rows."""
        return np.concatenate(self.weights)

    def add(self, X: Matrix, weight: Array, priority: Array) -> None:
        """Take rows that may be among the lowest."""
        if priority.size > self.most_rows:  # before any row is copied
            self.below = min(self.below, float(np.partition(priority, self.most_rows)[self.most_rows]))
        kept = np.flatnonzero(priority < self.below)
        if kept.size == 0 and self.blocks:
            return
        self.blocks.append(X[kept])  # a copy: batches may be views of memory that is used again
        self.weights.append(weight[kept])
        self.priorities.append(priority[kept])
        if self.n_rows > 2 * self.most_rows:
            self.trim()

    def merge(self, other: RowSample) -> None:
        """Take the rows of another sample."""
        self.most_rows = min(self.most_rows, other.most_rows)
        self.below = min(self.below, other.below)
        for X, weight, priority in zip(other.blocks, other.weights, other.priorities, strict=True):
            self.add(X, weight, priority)
        self.trim()

    def trim(self) -> None:
        """Keep the rows of the lowest priorities, as many as there may be."""
        if not self.blocks:
            return
        X, weight, priority = self.X, self.weight, np.concatenate(self.priorities)
        row_bytes = max(1.0, _bytes(X) / max(1, X.shape[0]))
        self.most_rows = max(min(self.most_rows, int(_SAMPLE_BYTES / row_bytes)), _LEAST_ROWS)
        kept = np.arange(priority.size)
        if priority.size > self.most_rows:
            self.below = min(self.below, float(np.partition(priority, self.most_rows)[self.most_rows]))
        if np.isfinite(self.below):
            kept = np.flatnonzero(priority < self.below)
        self.blocks, self.weights, self.priorities = [X[kept]], [weight[kept]], [priority[kept]]

    def replace_column(self, j: int, lookup: Array) -> None:
        """Replace the numbers 0, 1, … in a column of a dense sample by others; NaN stays."""
        for block in self.blocks:
            column = cast(Numbers, block)[:, j]
            known = ~np.isnan(column)
            column[known] = lookup[column[known].astype(np.int64)]


@dataclass(frozen=True)
class Counts:
    """Distinct values in order, and the weight of each."""

    values: Array
    weight: Array

    @classmethod
    def of(cls, values: Array, weight: Array | None = None) -> Counts:
        """Those of a vector; NaN is left out."""
        known = ~np.isnan(values)
        if not known.all():
            values, weight = values[known], None if weight is None else weight[known]
        if weight is None:
            distinct, count = np.unique(values, return_counts=True)
            return cls(distinct + 0.0, count.astype(np.float64))
        distinct, place = np.unique(values, return_inverse=True)
        return cls(distinct + 0.0, np.bincount(place, weight, distinct.size).astype(np.float64))

    @classmethod
    def of_booleans(cls, n_rows: int, n_ones: int) -> Counts:
        """Those of a column of zeros and ones."""
        count = np.array([n_rows - n_ones, n_ones], dtype=np.float64)
        present = count > 0.0
        return cls(np.array([0.0, 1.0])[present], count[present])

    def plus(self, other: Counts) -> Counts:
        """Those of both."""
        if np.array_equal(self.values, other.values):
            return Counts(self.values, self.weight + other.weight)
        return Counts.of(np.append(self.values, other.values), np.append(self.weight, other.weight))


@dataclass
class ColumnSummary:
    """The range of each column, its counts of zeros and NaN, and what is needed of its values for ranks.

    Batches are validated: CSR matrices or arrays of numbers. Without `ranks`, only ranges and counts are kept.
    `stream` tells the random numbers of one worker, or one partition, from those of others.
    """

    n_features: int
    sparse: bool
    ranks: bool = True
    seed: int = 0
    stream: int = 0
    n_rows: int = 0
    weight: float = 0.0  # of all rows
    minimum: Array = field(init=False)
    maximum: Array = field(init=False)
    n_nonzero: Indices = field(init=False)
    n_nan: Indices = field(init=False)
    booleans: NDArray[np.bool_] = field(init=False)
    counts: dict[int, Counts] = field(init=False)  # of the columns with few distinct values
    sample: RowSample = field(default_factory=RowSample)
    is_weighted: bool = False

    def __post_init__(self) -> None:
        self.minimum, self.maximum = np.zeros((2, self.n_features))
        self.n_nonzero, self.n_nan = np.zeros((2, self.n_features), dtype=np.int64)
        self.booleans = np.full(self.n_features, not self.sparse)
        empty = Counts(np.zeros(0), np.zeros(0))
        self.counts = dict.fromkeys(range(self.n_features), empty) if self.ranks and not self.sparse else {}
        self._random = np.random.default_rng([self.seed, self.stream])

    def update(self, X: Matrix, weight: Array | None = None, n_threads: int = 1) -> None:
        """Add the rows of a batch, all of weight 1 if no weights are given."""
        if X.shape[1] != self.n_features or is_sparse(X) != self.sparse:
            raise ValueError(
                f"a batch of {X.shape[1]} columns, {'sparse' if is_sparse(X) else 'dense'}, and the first one has "
                f"{self.n_features}, {'sparse' if self.sparse else 'dense'}. All batches must have the same columns."
            )
        if X.shape[0] == 0:
            return
        found, n_nan = ColumnRange.of(X, n_threads), count_nan(X)
        self._add_range(found.minimum, found.maximum, found.n_nonzero, n_nan, X.shape[0])
        booleans = np.zeros(0, dtype=np.bool_) if self.sparse else boolean_columns(cast(Numbers, X), found)
        if not self.sparse:
            self.booleans &= booleans
        self.weight += float(X.shape[0]) if weight is None else float(weight.sum())
        self.is_weighted |= weight is not None
        if self.ranks:
            is_plain = booleans & (n_nan == 0) if weight is None and not self.sparse else np.zeros(0, dtype=np.bool_)
            self._count(X, weight, {int(j): int(found.n_nonzero[j]) for j in np.flatnonzero(is_plain)})
            ones = np.ones(X.shape[0]) if weight is None else weight
            self.sample.add(X, ones, self._random.random((X.shape[0],)))

    def widen(self, n_features: int) -> None:
        """Add columns at the end, in which all rows so far are zero: sparse files do not say how many there are."""
        more = n_features - self.n_features
        if more <= 0 or not self.sparse:
            return
        self.n_features = n_features
        for name in ("minimum", "maximum", "n_nonzero", "n_nan", "booleans"):
            setattr(self, name, np.pad(getattr(self, name), (0, more)))
        for block in self.sample.blocks:
            cast(Any, block).resize((block.shape[0], n_features))

    def merge(self, other: ColumnSummary) -> None:
        """Add the rows of another summary, which come after those of this one."""
        if (other.n_features, other.sparse, other.ranks) != (self.n_features, self.sparse, self.ranks):
            raise ValueError(
                f"a part of {other.n_features} columns, {'sparse' if other.sparse else 'dense'}, and another of "
                f"{self.n_features}, {'sparse' if self.sparse else 'dense'}. All parts must have the same columns."
            )
        if other.n_rows == 0:
            return
        self._add_range(other.minimum, other.maximum, other.n_nonzero, other.n_nan, other.n_rows)
        self.booleans &= other.booleans
        self.weight += other.weight
        self.is_weighted |= other.is_weighted
        self._keep_counts({j: self.counts[j].plus(other.counts[j]) for j in self.counts if j in other.counts})
        self.sample.merge(other.sample)

    def _add_range(self, minimum: Array, maximum: Array, n_nonzero: Indices, n_nan: Indices, n_rows: int) -> None:
        """A column of nothing but NaN has a range of 0 to 0, which does not count."""
        unknown, more_unknown = self.n_nan == self.n_rows, n_nan == n_rows
        for mine, theirs, least in ((self.minimum, minimum, np.minimum), (self.maximum, maximum, np.maximum)):
            both = np.where(unknown, theirs, least(mine, theirs))
            mine[:] = np.where(more_unknown, mine, both)
        self.n_nonzero += n_nonzero
        self.n_nan += n_nan
        self.n_rows += n_rows

    def _count(self, X: Matrix, weight: Array | None, n_ones: dict[int, int]) -> None:
        """Count the values of the columns that have few; `n_ones` are those of the columns of zeros and ones."""
        found = {}
        for j, counts in self.counts.items():
            if j in n_ones:
                found[j] = counts.plus(Counts.of_booleans(X.shape[0], n_ones[j]))
                continue
            column = np.asarray(cast(Numbers, X)[:, j], dtype=np.float64)
            if column.size > _FIRST_ROWS and np.unique(column[:_FIRST_ROWS]).size > MOST_DISTINCT:
                continue
            found[j] = counts.plus(Counts.of(column, weight))
        self._keep_counts(found)

    def _keep_counts(self, counts: dict[int, Counts]) -> None:
        self.counts = {j: one for j, one in counts.items() if one.values.size <= MOST_DISTINCT}

    @property
    def some_rows(self) -> Matrix | None:
        """The rows of the sample, if it has any."""
        return self.sample.X if self.sample.blocks else None

    @property
    def column_range(self) -> ColumnRange:
        """The range of all rows, without the counts of each row."""
        return ColumnRange(self.minimum, self.maximum, self.n_nonzero, np.zeros(0, dtype=np.int64))

    @property
    def has_all_rows(self) -> bool:
        """Whether the sample is all there is, so that ranks are exact in every column."""
        return self.sample.n_rows == self.n_rows

    def rank_error(self, chance: float = 1e-6) -> float:
        """The ε within which ranks of columns that are not counted are, but for this chance; 0 if they are exact."""
        return 0.0 if self.has_all_rows else math.sqrt(math.log(2.0 / chance) / (2.0 * self.sample.n_rows))

    def edges(self, column_range: ColumnRange, width: int, n_threads: int = 1) -> Edges:
        """The points of scale="rank" (ranks.py)."""
        self.sample.trim()
        weight = self.sample.weight if self.is_weighted else None
        edges = rank_edges(self.sample.X, column_range, width, weight, self.seed, n_threads)
        if self.has_all_rows:
            return edges
        low, high = column_range.minimum, column_range.maximum
        counted = {
            j: edges_of_counts(one.values, one.weight, float(low[j]), float(high[j]), width)
            for j, one in self.counts.items()
        }
        return with_columns(edges, counted)


def count_nan(X: Matrix) -> Indices:
    """How many values of each column are NaN."""
    values = X.data if is_sparse(X) else X
    if values.dtype.kind != "f":
        return np.zeros(X.shape[1], dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return np.zeros(X.shape[1], dtype=np.int64)
    if is_sparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    return np.count_nonzero(np.isnan(X), axis=0)


def _bytes(X: Matrix) -> int:
    if not is_sparse(X):
        return X.nbytes
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
