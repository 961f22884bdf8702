"""What an encoder learns of columns: how a number becomes u in [0, 1], its scale, and whether rows are packed.

`scale` chooses T_j:

- "max": u = x / max_j. The kernel stays that of the raw values, with s_j = max_j.
- "minmax": u = (x − min_j) / (max_j − min_j). This changes the values, so s_j = 1.
- "rank": u = the share of training values at or below x, linear between as many quantiles as the grid has knots; a
  feature with fewer distinct values than knots gets a knot for each, so that nothing is interpolated. s_j = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from ..array_types import Array, Matrix
from ..tables import CodeGrid, TablePair
from .column_range import ColumnRange
from .columns import Columns
from .ranks import Edges
from .terms import Term

Scale = Literal["max", "minmax", "rank"]
Numbers = Literal["affine", "rank"]

SCALES = ("max", "minmax", "rank")

# Below this share of non-zeros, words of four bytes are faster to sweep than a byte for every feature, and hold no more
# than 1.2 bytes per value. Float32 values with columns beside them pay later: dense rows are plain dot products.
_PACKED_BELOW, _SPARSE_BELOW = 0.3, 0.2


@dataclass(frozen=True)
class ColumnFacts:
    """What an encoder is made from. The range is without the columns that `terms` replace, `edges` are for ranks."""

    column_range: ColumnRange
    n_rows: int
    is_sparse: bool
    edges: Edges
    terms: tuple[Term, ...]
    columns: Columns


def rank_width(pair: TablePair) -> int:
    """Most points of a column with scale="rank"."""
    return pair.width if pair.grid is not None and pair.width > 2 else 256


def affine_map(
    column_range: ColumnRange, scale: Scale, is_linear: bool, is_homogeneous: bool
) -> tuple[Array, Array, Array]:
    """Offset and factor of u = (x − offset) · factor, and s_j."""
    n_features = column_range.maximum.size
    offsets = column_range.minimum.copy() if scale == "minmax" else np.zeros(n_features)
    span = np.full(n_features, _unit(column_range)) if is_linear else column_range.maximum - offsets
    with np.errstate(divide="ignore", over="ignore"):
        factors = np.where(span > 0.0, 1.0 / span, 0.0)
    factors[~np.isfinite(factors)] = 0.0  # a column of zeros, or too small to divide by
    return offsets, factors, column_scales(span, scale, is_linear, is_homogeneous)


def column_scales(span: Array, scale: Scale, is_linear: bool, is_homogeneous: bool) -> Array:
    """s_j of columns with this span."""
    if is_linear:
        return span**2
    return span if scale == "max" and is_homogeneous else np.ones(span.size)


def is_linear_on_raw_values(scale: Scale, pair: TablePair) -> bool:
    """Whether values are neither scaled nor rounded to codes."""
    return scale == "max" and pair.grid is None and pair.payload is None


def is_mostly_zero(
    column_range: ColumnRange, n_rows: int, grid: CodeGrid | None, terms: Sequence[Term], n_of_terms: int
) -> bool:
    """Whether few enough cells are other than zero. Each term has a cell in every row, at most."""
    below = _PACKED_BELOW if grid is not None else _SPARSE_BELOW
    if not terms:
        return column_range.density(n_rows) < below
    n_cells = column_range.n_nonzero.sum() + n_rows * sum(term.native != "missing" for term in terms)
    return bool(n_cells < below * n_rows * (column_range.n_nonzero.size + n_of_terms))


def _unit(column_range: ColumnRange) -> float:
    """1, or the largest magnitude where float32 could not hold the squares of such values."""
    largest = max(-column_range.minimum.min(initial=0.0), column_range.maximum.max(initial=0.0))
    return 1.0 if 1e-9 < largest < 1e9 or largest == 0.0 else float(largest)


def sample_of_values(X: Matrix, column_range: ColumnRange, scale: Scale, seed: int) -> Array:
    """About 100,000 non-zero u from random rows: for methods that place their knots by the values."""
    if scale == "rank":
        return np.linspace(0.0, 1.0, 1001)[1:]  # ranks are even by construction
    n_rows = min(X.shape[0], max(1, 100_000 * X.shape[0] // max(1, int(column_range.n_nonzero.sum()))))
    rows = np.sort(np.random.default_rng(seed).choice(X.shape[0], n_rows, replace=False))
    sample = sp.coo_array(X[rows])
    offsets = column_range.minimum if scale == "minmax" else np.zeros(X.shape[1])
    span = column_range.maximum - offsets
    columns = sample.coords[1]
    wide = span[columns] > 0.0
    unit = (sample.data[wide] - offsets[columns[wide]]) / span[columns[wide]]
    return unit[unit > 0.0]
