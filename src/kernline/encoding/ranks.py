"""scale="rank": the share of training values at or below x, as points (edge, level) of a piecewise-linear curve.

Columns are computed many at a time: a column of few values costs no more than its values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, CSCMatrix, Matrix, Numbers, is_sparse

if TYPE_CHECKING:
    from .column_range import ColumnRange

Integers = NDArray[np.int64]

# Rows looked at: quantiles of more differ by less than a code.
RANK_ROWS = 200_000
# Values of the columns that are computed together, and columns, each of which costs some memory without values too.
_BLOCK_VALUES, _BLOCK_COLUMNS = 1_000_000, 100_000
# Sparse columns of more values are sorted one by one, shorter ones together.
_LONG_COLUMN = 500

Edges = tuple[Integers, Array, Array]
NO_EDGES: Edges = (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))


def rank_edges(
    X: Matrix, column_range: ColumnRange, width: int, sample_weight: Array | None, seed: int, n_threads: int = 1
) -> Edges:
    """Where each feature's points begin, their edges and their levels; at most `width` points per feature.

    The lowest level, 0, belongs to zero or, where a column has negative values, to its minimum: so that a sparse matrix
    and its dense copy are encoded equally.
    """
    rows: slice | Integers = slice(None)
    if X.shape[0] > RANK_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(X.shape[0], RANK_ROWS, replace=False))
    weight = sample_weight[rows] if sample_weight is not None else None
    sample = X[rows].tocsc() if is_sparse(X) else X[rows]

    def points(columns: slice) -> Edges:
        minimum, maximum = column_range.minimum[columns], column_range.maximum[columns]
        base = np.minimum(0.0, minimum)
        if is_sparse(sample):
            block = _sparse_block(sample, weight, columns, base)
        else:
            block = _dense_block(sample, weight, columns, base)
        return _points(block, base, maximum, width - 1)

    with ThreadPoolExecutor(n_threads) as pool:
        found = list(pool.map(points, _column_blocks(sample)))
    counts, edges, levels = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return _starts(counts), edges, levels


def edges_of_counts(values: Array, count: Array, minimum: float, maximum: float, width: int) -> tuple[Array, Array]:
    """Edges and levels of one column, given its distinct values in order and how often, or how heavy, each is."""
    base = np.array([min(0.0, minimum)])
    above = values > base[0]
    block = _Block(values[above], np.zeros(np.count_nonzero(above), dtype=np.int64), count[above])
    return _points(block, base, np.array([maximum]), width - 1)[1:]


def with_columns(edges: Edges, others: Mapping[int, tuple[Array, Array]]) -> Edges:
    """The edges with those of some columns replaced."""
    start, values, levels = edges
    parts = [others.get(j, (values[a:b], levels[a:b])) for j, (a, b) in enumerate(pairwise(start.tolist()))]
    counts = np.array([part[0].size for part in parts], dtype=np.int64)
    return _starts(counts), np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _column_blocks(sample: Numbers | CSCMatrix) -> Iterator[slice]:
    """Slices of consecutive columns with about this many values each."""
    n_rows, n_columns = sample.shape
    before = sample.indptr if is_sparse(sample) else np.arange(n_columns + 1) * n_rows
    begin = 0
    while begin < n_columns:
        end = int(np.searchsorted(before, before[begin] + _BLOCK_VALUES, side="right")) - 1
        end = min(max(end, begin + 1), begin + _BLOCK_COLUMNS, n_columns)
        yield slice(begin, end)
        begin = end


def _starts(counts: Integers) -> Integers:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])


@dataclass(frozen=True)
class _Block:
    """The values of some columns above their base, in order within each column. Missing values are not among them.

    `column` is the number of each value's column within the block.
    """

    values: Array
    column: Integers
    weight: Array | None


def _dense_block(sample: Numbers, weight: Array | None, columns: slice, base: Array) -> _Block:
    values = np.array(sample[:, columns].T, dtype=np.float64, order="C")
    if weight is None:
        values.sort(axis=1)
    else:
        order = np.argsort(values, axis=1, kind="stable")
        values = np.take_along_axis(values, order, axis=1)
    kept = values > base[:, None]
    column = np.repeat(np.arange(base.size), np.count_nonzero(kept, axis=1))
    return _Block(values[kept], column, weight[order][kept] if weight is not None else None)


def _sparse_block(sample: CSCMatrix, weight: Array | None, columns: slice, base: Array) -> _Block:
    start = sample.indptr[columns.start : columns.stop + 1].astype(np.int64)
    stored = slice(start[0], start[-1])
    start -= start[0]
    values = sample.data[stored].astype(np.float64)
    column = np.repeat(np.arange(start.size - 1), np.diff(start))
    long = np.diff(start) > _LONG_COLUMN
    short = np.flatnonzero(~long[column])
    order = np.arange(values.size)
    order[short] = short[np.lexsort((values[short], column[short]))]
    for j in np.flatnonzero(long):
        here = slice(start[j], start[j + 1])
        if weight is None:
            values[here].sort()  # several times faster than to find the order
        else:
            order[here] = start[j] + np.argsort(values[here], kind="stable")
    values = values[order]
    kept = values > base[column]
    return _Block(
        values[kept], column[kept], weight[sample.indices[stored]][order][kept] if weight is not None else None
    )


def _points(block: _Block, base: Array, maximum: Array, steps: int) -> Edges:
    """Points of columns from their base to their maximum: how many each has, their edges and their levels."""
    column, edges, levels = _quantile_points(block, base.size, steps)
    counts = np.bincount(column, minlength=base.size)
    highest = base.copy()
    highest[column] = edges  # of each column the last, which is assigned last
    missed = maximum > highest  # the sample may lack the largest value, or a rare feature
    start = _starts(1 + counts + missed)
    place = start[column] + 1 + _position(counts)
    all_edges, all_levels = np.empty(start[-1]), np.empty(start[-1])
    for to, of_base, of_points, of_maximum in (
        (all_edges, base, edges, maximum[missed]),
        (all_levels, 0.0, levels, 1.0),
    ):
        to[start[:-1]] = of_base
        to[place] = of_points
        to[start[1:][missed] - 1] = of_maximum
    return np.diff(start), all_edges, all_levels


def _position(counts: Integers) -> Integers:
    """0, 1, … within each group of consecutive items, given the sizes of the groups."""
    return np.arange(counts.sum()) - np.repeat(_starts(counts)[:-1], counts)


def _quantile_points(block: _Block, n_columns: int, steps: int) -> tuple[Integers, Array, Array]:
    """At most `steps` increasing edges per column with their levels in (0, 1], each level a multiple of 1 / steps.

    Returns the column of each point, its edge and its level.
    """
    differs = (block.values[1:] != block.values[:-1]) | (block.column[1:] != block.column[:-1])
    last = np.flatnonzero(np.append(differs, block.values.size > 0))  # of each distinct value
    distinct, column = block.values[last], block.column[last]
    counts = np.bincount(column, minlength=n_columns)
    few = counts[column] <= steps
    share = np.ceil((_position(counts) + 1)[few] * steps / counts[column[few]]) / steps
    many = np.flatnonzero(counts > steps)
    if not many.size:
        return column, distinct, share
    at, level = _quantiles(block, last, counts, many, steps)
    columns = np.concatenate([column[few], column[at]])
    order = np.argsort(columns, kind="stable")
    edges, levels = np.concatenate([distinct[few], distinct[at]]), np.concatenate([share, level])
    return columns[order], edges[order], levels[order]


def _quantiles(block: _Block, last: Integers, counts: Integers, many: Integers, steps: int) -> tuple[Integers, Array]:
    """The distinct values at the quantiles of the columns `many`, which have more of them than steps; their levels."""
    first = _starts(counts)
    share = _shares(block, last, first, many)
    target = np.broadcast_to(np.arange(1, steps + 1) / steps - 1e-12, (many.size, steps))
    low = np.repeat(first[many], steps).reshape(target.shape)
    high = np.repeat(first[many + 1], steps).reshape(target.shape)
    for _ in range(int(counts[many].max()).bit_length()):  # bisection, for all columns together
        middle = (low + high) // 2
        below = (share[np.minimum(middle, share.size - 1)] < target) & (low < high)
        low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
    at = np.minimum(low, first[many + 1][:, None] - 1)
    # A value that fills several quantiles keeps the highest.
    kept = np.concatenate([at[:, 1:] != at[:, :-1], np.ones((many.size, 1), dtype=bool)], axis=1)
    return at[kept], (np.nonzero(kept)[1] + 1) / steps


def _shares(block: _Block, last: Integers, first: Integers, many: Integers) -> Array:
    """The share of each distinct value's column that lies at or below it; of the columns `many`."""
    begin = np.append(-1, last)[first[:-1]] + 1  # each column's first value
    if block.weight is None:
        column = block.column[last]
        end = np.append(last, -1)[first[1:] - 1] + 1
        return (last - begin[column] + 1.0) / (end - begin).astype(np.float64)[column]
    share = np.zeros(last.size)
    for j in many:
        here = last[first[j] : first[j + 1]]
        total = np.cumsum(block.weight[begin[j] : here[-1] + 1])[here - begin[j]]
        share[first[j] : first[j + 1]] = total / total[-1]
    return share
