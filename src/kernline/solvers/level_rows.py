"""Rows divided into the cells of curves and those of levels, for tables with so many levels that slots are too many.

Slots are as wide as a curve, and a level needs only one number. With hundreds of thousands of levels, a pass over the
slots takes longer than one over the rows; a sparse matrix with one number for each cell of a level does not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..array_types import Array, Indices
from ..encoding import EncodedData


def has_narrow_curves(data: EncodedData, width: int, levels: Indices) -> bool:
    """Whether the slots of levels are more than the cells of the rows, and come after those of all curves."""
    first = data.n_columns - levels.size
    return bool(
        levels.size * width > data.n_cells
        and not data.is_dense
        and data.columns is None
        and np.array_equal(levels, np.arange(first, data.n_columns))
    )


def of_curves(data: EncodedData, n_columns: int) -> EncodedData:
    """The cells of the first columns of packed rows."""
    assert data.row_start is not None
    is_kept = data.cells[: data.n_cells] < data.cells.dtype.type(n_columns << data.code_bits)
    kept = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(is_kept)])
    cells = data.cells[: data.n_cells][is_kept]
    return replace(data, shape=(data.n_rows, n_columns), cells=cells, row_start=kept[data.row_start])


def of_levels(data: EncodedData, levels: Indices, heights: Array) -> sp.csr_array:
    """The features of levels, (n_rows, n_levels): the height of each where a row has it."""
    row_start, columns, _ = data.entries()
    place = np.full(data.n_columns, -1, dtype=np.int32)
    place[levels] = np.arange(levels.size, dtype=np.int32)
    at = place[columns]
    is_level: NDArray[np.bool_] = at >= 0
    kept = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(is_level)])
    at = at[is_level]
    return sp.csr_array((heights[at], at, kept[row_start]), shape=(data.n_rows, levels.size))
