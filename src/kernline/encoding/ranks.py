"""scale="rank": the share of training values at or below x, as points (edge, level) of a piecewise-linear curve."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .column_range import ColumnRange

Array = NDArray[np.float64]

# Rows looked at: quantiles of more differ by less than a code.
_RANK_ROWS = 200_000

Edges = tuple[NDArray[np.int64], Array, Array]
NO_EDGES: Edges = (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))


def rank_edges(
    X: Any, column_range: ColumnRange, width: int, sample_weight: Array | None, seed: int, n_threads: int = 1
) -> Edges:
    """Where each feature's points begin, their edges and their levels; at most `width` points a feature.

    The lowest level, 0, belongs to zero or, where a column has negative values, to its minimum: so that a sparse matrix
    and its dense copy are encoded alike.
    """
    rows: Any = slice(None)
    if X.shape[0] > _RANK_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(X.shape[0], _RANK_ROWS, replace=False))
    weight = sample_weight[rows] if sample_weight is not None else None
    sample = X[rows].tocsc() if sp.issparse(X) else X[rows]

    def points(j: int) -> tuple[Array, Array]:
        return _points(column_range.minimum[j], column_range.maximum[j], width, *_column(sample, weight, j))

    if n_threads == 1:
        found = [points(j) for j in range(X.shape[1])]
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            found = list(pool.map(points, range(X.shape[1])))
    start = np.concatenate([[0], np.cumsum([edges.size for edges, _ in found])]).astype(np.int64)
    return start, np.concatenate([edges for edges, _ in found]), np.concatenate([levels for _, levels in found])


def _column(sample: Any, weight: Array | None, j: int) -> tuple[Array, Array | None]:
    """The stored values of column j in order, as float64, and their weights; NaN is left out."""
    if sp.issparse(sample):
        stored = slice(sample.indptr[j], sample.indptr[j + 1])
        values = sample.data[stored].astype(np.float64)
        weight = weight[sample.indices[stored]] if weight is not None else None
    else:
        values = sample[:, j].astype(np.float64)
    if weight is None:
        values = np.sort(values)
        return values[: _n_present(values)], None
    order = np.argsort(values, kind="stable")
    order = order[: _n_present(values[order])]
    return values[order], weight[order]


def _n_present(values: Array) -> int:
    """How many of these sorted values are not NaN, which sorts last."""
    return values.size if not values.size or values[-1] == values[-1] else int(np.searchsorted(values, np.nan))


def _points(minimum: float, maximum: float, width: int, values: Array, weight: Array | None) -> tuple[Array, Array]:
    """Edges and levels of one column, which ranges from `minimum` to `maximum`, of a sample of its values in order."""
    base = min(0.0, minimum)
    above = slice(int(np.searchsorted(values, base, side="right")), None)
    edges, levels = _quantile_points(values[above], weight[above] if weight is not None else None, width)
    if maximum > max([base, *edges[-1:]]):  # the sample may have missed the largest value, or a rare feature
        edges, levels = np.append(edges, maximum), np.append(levels, 1.0)
    return np.append(base, edges), np.append(0.0, levels)


def _quantile_points(values: Array, weight: Array | None, width: int) -> tuple[Array, Array]:
    """At most width − 1 increasing edges with their levels in (0, 1], each level a multiple of 1/(width − 1)."""
    steps = width - 1
    last = np.flatnonzero(np.append(values[1:] != values[:-1], values.size > 0))  # of each distinct value
    distinct = values[last]
    if distinct.size <= steps:
        position = np.ceil(np.arange(1, distinct.size + 1) * steps / max(1, distinct.size))
        return distinct, position / steps
    total = np.cumsum(weight)[last] if weight is not None else last + 1.0
    share = total / total[-1]
    at = np.minimum(np.searchsorted(share, np.arange(1, steps + 1) / steps - 1e-12), distinct.size - 1)
    kept, highest = np.unique(at[::-1], return_index=True)  # a value that fills several quantiles keeps the highest
    return distinct[kept], (steps - highest) / steps
