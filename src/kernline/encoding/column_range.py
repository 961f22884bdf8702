"""ColumnRange: what an encoder needs to know of each column of the training data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Indices, Matrix, Numbers, is_sparse
from ..sources import sources

_FEW_ROWS, _BLOCK_ROWS = 100, 2048


@dataclass(frozen=True)
class ColumnRange:
    """Minimum, maximum (implicit zeros included) and count of non-zeros of each column, and their count in each row.

    NaN counts as a non-zero, and in no other way; a column of nothing else ranges from 0 to 0.
    """

    minimum: Array
    maximum: Array
    n_nonzero: Indices
    row_nonzero: Indices

    @classmethod
    def of(cls, X: Matrix, n_threads: int = 1) -> ColumnRange:
        """Look at every value once."""
        n_rows, n_features = X.shape
        minimum, maximum = np.full(n_features, np.inf), np.full(n_features, -np.inf)
        n_nonzero, row_nonzero = np.zeros(n_features, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
        for rows, source in sources(X):
            _core.column_range(source, minimum, maximum, n_nonzero, row_nonzero[rows], n_threads)
        if is_sparse(X):
            has_zero = n_nonzero < n_rows
            minimum[has_zero] = np.minimum(minimum[has_zero], 0.0)
            maximum[has_zero] = np.maximum(maximum[has_zero], 0.0)
        is_empty = minimum > maximum
        minimum[is_empty] = maximum[is_empty] = 0.0
        # Without the sign of a zero, which would depend on where it was found.
        return cls(minimum + 0.0, maximum + 0.0, n_nonzero, row_nonzero)

    def density(self, n_rows: int) -> float:
        """Share of cells that are not zero."""
        return float(self.n_nonzero.sum()) / max(1, n_rows * self.n_nonzero.size)

    def of_others(self, columns: Indices) -> ColumnRange:
        """Return the range of all columns but these."""
        if not columns.size:
            return self
        kept = np.delete(np.arange(self.minimum.size), columns)
        return replace(self, minimum=self.minimum[kept], maximum=self.maximum[kept], n_nonzero=self.n_nonzero[kept])

    def without(self, columns: Indices) -> ColumnRange:
        """Return the range with 0 to 0, and no non-zeros, in some columns: those that are not numbers."""
        if not columns.size:
            return self
        minimum, maximum, n_nonzero = self.minimum.copy(), self.maximum.copy(), self.n_nonzero.copy()
        minimum[columns] = maximum[columns] = 0.0
        n_nonzero[columns] = 0
        return replace(self, minimum=minimum, maximum=maximum, n_nonzero=n_nonzero)


def boolean_columns(X: Numbers, found: ColumnRange) -> NDArray[np.bool_]:
    """Which columns of a dense X of this range have no values but 0, 1 and NaN."""
    columns = np.flatnonzero((found.minimum >= 0.0) & (found.maximum <= 1.0))  # a batch may have one of the two only
    first, n_rows = 0, _FEW_ROWS  # most columns show soon that they are not
    while first < X.shape[0] and columns.size:
        values = X[first : first + n_rows, columns]
        columns = columns[((values == 0.0) | (values == 1.0) | np.isnan(values)).all(axis=0)]
        first, n_rows = first + n_rows, _BLOCK_ROWS
    booleans = np.zeros(X.shape[1], dtype=np.bool_)
    booleans[columns] = True
    return booleans
