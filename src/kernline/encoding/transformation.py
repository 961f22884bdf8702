"""Rows → cells: the core encodes numbers, categories and gaps; cells of other terms are added here.

Codes are stored densely, one per feature, or if most are zero as one 32-bit word per non-zero, column·256 + code.
No float copy of the data is made: it is read in place. Codes do not depend on the number of threads that make them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..array_types import Floats, Indices, Matrix, is_sparse
from ..array_types import Numbers as Values
from ..sources import sources
from .column_range import ColumnRange
from .encoded_data import EncodedData
from .terms import column_values

if TYPE_CHECKING:
    from .encoder import Encoder

# Values without a grid are cut off here, as float32 could not square them.
_FARTHEST = np.float32(1e18)


def encoded_rows(
    encoder: Encoder, X: Matrix, write: bool, column_range: ColumnRange | None, n_threads: int
) -> EncodedData:
    """The cells of X, as `Encoder.transform` describes."""
    if encoder.payload is not None:
        data = _with_terms(encoder, X, _sparse(encoder, X, column_range, n_threads))
        return replace(data, payload=encoder.payload.compute(data.cells, write=write))
    if encoder.grid is None and _keeps_values(encoder):
        if is_sparse(X):
            values = _within_reach(X.data, write)
            return EncodedData(X.shape, values, X.indptr.astype(np.int64, copy=False), X.indices)
        if not encoder.packed:
            return EncodedData(X.shape, _within_reach(X, write))
    data = _sparse(encoder, X, column_range, n_threads) if encoder.packed else _dense(encoder, X, n_threads)
    return _with_terms(encoder, X, data)


def _keeps_values(encoder: Encoder) -> bool:
    return not encoder.terms and not encoder.clips and bool((encoder.factors == 1.0).all())


def _with_terms(encoder: Encoder, X: Matrix, data: EncodedData) -> EncodedData:
    """Add the cells of terms that the core does not encode."""
    added = []
    for term, start in zip(encoder.terms, encoder.term_start, strict=True):
        if term.native is None:
            column, u = encoder.cells(term, column_values(X, term.columns))
            added.append((np.where(column >= 0, column + start, -1), encoder.quantised(u)))
    return data.with_cells(added) if added else data


def _dense(encoder: Encoder, X: Matrix, n_threads: int) -> EncodedData:
    cells: Values = np.zeros((X.shape[0], encoder.n_columns), dtype=encoder.cell_type)
    for rows, source in sources(X):
        _core.encode(encoder.native, source, cells[rows], n_threads)
    return EncodedData(cells.shape, cells)


def _sparse(encoder: Encoder, X: Matrix, column_range: ColumnRange | None, n_threads: int) -> EncodedData:
    """Non-zeros only; codes are packed with their columns. Memory is reserved for the non-zeros of X."""
    row_start = np.zeros(X.shape[0] + 1, dtype=np.int64)
    row_start[1:] = _most_cells(encoder, X, column_range, n_threads)
    capacity = int(row_start.sum())
    columns: Values | None = None
    code_bits, cell_type = (0, np.float32) if encoder.grid is None else encoder.word_type
    cells: Values = np.empty(capacity, dtype=cell_type)
    if encoder.grid is None:
        columns = np.empty(capacity, dtype=np.int32 if encoder.n_columns < 1 << 31 else np.int64)
    position = 0
    for rows, source in sources(X):
        row_end = row_start[rows.start + 1 : rows.stop + 1]
        if columns is None:
            position = _core.encode(encoder.native, source, cells, row_end, position, code_bits, n_threads)
        else:
            position = _core.encode(encoder.native, source, cells, columns, row_end, position, n_threads)
    columns = columns[:position] if columns is not None else None
    return EncodedData((X.shape[0], encoder.n_columns), cells[:position], row_start, columns, code_bits=code_bits)


def _most_cells(encoder: Encoder, X: Matrix, column_range: ColumnRange | None, n_threads: int) -> Indices | int:
    """How many cells each row may have."""
    if is_sparse(X):
        return np.diff(X.indptr).astype(np.int64, copy=False)
    if not encoder.keeps_zeros:
        return encoder.n_features  # memory that is not written to is not taken
    if column_range is not None:
        return column_range.row_nonzero
    counts = np.empty(X.shape[0], dtype=np.int64)
    for rows, source in sources(X):
        _core.row_nonzero(source, counts[rows], n_threads)
    return counts


def _within_reach(values: Values, write: bool) -> Floats:
    """Values as they are, but cut off where the core does so (encode.hpp). Those of a fit are far from there."""
    with np.errstate(over="ignore"):
        near = np.require(values, dtype=np.float32, requirements=["C", "A"])
    if not write and near.size and max(-near.min(), near.max()) > _FARTHEST:
        return np.clip(near, -_FARTHEST, _FARTHEST)
    return near
