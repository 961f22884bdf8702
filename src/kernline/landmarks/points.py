"""Landmarks, and the products and distances between them and rows, with one matrix product:

    ‖x − b‖² = ‖x‖² + ‖b‖² − 2 x·b

Both are first moved to the landmarks' mean and scaled to their size, so that no digits are lost on data far from the
origin, and nothing overflows. Training uses float32, prediction the precision of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..array_types import Array, Matrix, Numbers, is_sparse
from ..caching import cached_property

Values = Numbers  # float32 or float64
Precision = type[np.float32] | type[np.float64]

# Scaled values are clipped here: the squares of a row can still be summed in float32, and the row is far from all.
_FARTHEST = 1e15
# Landmarks of sparse rows are made dense up to this many values, which makes products several times faster.
_DENSE_VALUES = 100_000_000
# Density above which sparse rows are made dense.
_SPARSE_BELOW = 0.1


def precision_of(X: Matrix) -> Precision:
    """float32 for rows of that type, else float64."""
    return np.float32 if X.dtype == np.float32 else np.float64


@dataclass(frozen=True)
class Points:
    """Landmarks: the rows `X`, dense or CSR, and the coordinates in which they are compared with other rows.

    Distances are computed between (x − center) / unit; `center` is None for sparse rows, which are not moved. Products
    are computed between x / size.
    """

    X: Matrix
    center: Array | None
    unit: float
    size: float

    @classmethod
    def of(cls, X: Matrix, *, centred: bool = True) -> Points:
        """Landmarks with their own mean as center, and their largest magnitude as unit."""
        if not centred or is_sparse(X):
            return cls(X, None, largest(X), largest(X))
        center = _rounded(X.mean(axis=0, dtype=np.float64))
        return cls(X, center, largest(X - center), largest(X))

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, rows: slice | Numbers) -> Points:
        """A subset, with the same center, unit and size."""
        return Points(self.X[rows], self.center, self.unit, self.size)

    def squared_distances(self, X: Matrix, dtype: Precision) -> Values:
        """‖x − b‖² / unit²."""
        columns, norms = self._moved32 if dtype is np.float32 else self._moved
        X = _scaled(X, self.center, self.unit, dtype)
        out = _product(X, columns)
        out *= dtype(-2.0)
        out += _squared_norms(X)[:, None]
        out += norms
        return np.maximum(out, 0.0, out=out)

    def products(self, X: Matrix, dtype: Precision) -> Values:
        """x·b / size²."""
        columns = self._raw32 if dtype is np.float32 else self._raw
        return _product(_scaled(X, None, self.size, dtype), columns)

    @cached_property
    def largest_norm(self) -> float:
        """The largest ‖b − center‖² / unit²."""
        return float(_squared_norms(_scaled(self.X, self.center, self.unit, np.float64)).max(initial=0.0))

    @cached_property
    def _moved(self) -> tuple[Matrix, Values]:
        return self._for_distances(np.float64)

    @cached_property
    def _moved32(self) -> tuple[Matrix, Values]:
        return self._for_distances(np.float32)

    def _for_distances(self, dtype: Precision) -> tuple[Matrix, Values]:
        moved = _scaled(self.X, self.center, self.unit, dtype)
        return _columns(moved), _squared_norms(moved)

    @cached_property
    def _raw(self) -> Matrix:
        return _columns(_scaled(self.X, None, self.size, np.float64))

    @cached_property
    def _raw32(self) -> Matrix:
        return _columns(_scaled(self.X, None, self.size, np.float32))

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("X", "center", "unit", "size")}


def plain(X: Matrix) -> Matrix:
    """Rows in the form other libraries expect: float32 or float64, 32-bit indices if they suffice."""
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if is_sparse(X) and X.indices.dtype != np.int32 and max(X.nnz, *X.shape) < 2**31:
        return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X


def _rounded(center: Array) -> Array:
    """Round to the digits of float32, for any exponent, so that rows of either precision are moved equally."""
    digits, exponent = np.frexp(center)
    return np.ldexp(digits.astype(np.float32).astype(np.float64), exponent)


def largest(X: Matrix) -> float:
    """The largest magnitude of a value, or 1 if all are zero."""
    values = X.data if is_sparse(X) else X
    # Not by np.abs, which is negative at the lowest value of an integer type.
    return max(float(values.max(initial=0)), -float(values.min(initial=0))) or 1.0


def _scaled(X: Matrix, center: Array | None, unit: float, dtype: Precision) -> Matrix:
    """(x − center) / unit. Sparse rows with many values are made dense, which makes matrix products faster."""
    if is_sparse(X):
        if center is None and X.nnz <= _SPARSE_BELOW * X.shape[0] * X.shape[1]:
            values = np.clip(X.data * (1.0 / unit), -_FARTHEST, _FARTHEST).astype(dtype)
            return sp.csr_array((values, X.indices, X.indptr), shape=X.shape)
        X = X.toarray()
    kind: Precision = np.float32 if dtype is X.dtype.type is np.float32 and 1e-30 < unit < 1e30 else np.float64
    scaled = X * kind(1.0 / unit) if center is None else (X - center.astype(kind)) * kind(1.0 / unit)
    # Row by row in memory: the sums below, and so the last digits, do not depend on the layout of X.
    return np.clip(scaled, -_FARTHEST, _FARTHEST, out=scaled).astype(dtype, order="C", copy=False)


def _columns(scaled: Matrix) -> Matrix:
    """The transpose, contiguous for products; sparse only if it would be too large otherwise."""
    if is_sparse(scaled):
        if scaled.shape[0] * scaled.shape[1] > _DENSE_VALUES:
            return scaled.T.tocsr()
        scaled = scaled.toarray()
    return np.ascontiguousarray(scaled.T)


def _product(X: Matrix, columns: Matrix) -> Values:
    product = X @ columns
    return product.toarray() if is_sparse(product) else np.asarray(product)


def _squared_norms(X: Matrix) -> Values:
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=X.dtype).ravel()
    return np.einsum("ij,ij->i", X, X)
