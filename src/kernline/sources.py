"""X as the core reads it: in place, in any number type and order, in blocks of rows so that Ctrl-C works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core
from .array_types import Matrix, MatrixLike, Numbers, SparseMatrix, is_sparse

# Number types the core reads; others are converted, a small block at a time.
_READ = {np.dtype(kind) for kind in ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")}
# Values per call of the core, about 20 ms on one thread; and if they must be converted first, 8 MB of float64.
_CALL_VALUES, _CONVERTED_VALUES = 16_000_000, 1_000_000


def row_blocks(X: Matrix, values: int = _CONVERTED_VALUES) -> Iterator[slice]:
    """Slices of rows with about this many values, at least one row each."""
    stored = X.nnz if is_sparse(X) else X.size
    step = max(1, values * X.shape[0] // max(1, stored))
    for begin in range(0, X.shape[0], step):
        yield slice(begin, min(begin + step, X.shape[0]))


def with_own_indices(X: MatrixLike) -> MatrixLike:
    """Return a sparse X whose index arrays belong to us alone and are checked; anything else as it is.

    SciPy and the core's loops use column numbers and offsets unchecked. A caller's thread that writes to them during a
    fit would make the process read and write outside its memory, so they are copied before they are checked: 4 or 8
    bytes per value. The values stay where they are: a write to those can only change a result.
    """
    return _with_own_indices(X) if is_sparse(X) else X


def _with_own_indices(X: Any) -> SparseMatrix:
    """The same for a sparse X; what it has depends on its format."""
    if X.format == "coo" and X.ndim == 2:
        return type(X)((plain_array(X.data), (_own_array(X.row), _own_array(X.col))), shape=X.shape)
    if X.format not in ("csr", "csc", "bsr") or X.ndim != 2:
        return X.copy()
    n_rows, n_columns = X.shape[::-1] if X.format == "csc" else X.shape
    if X.format == "bsr":
        n_rows, n_columns = n_rows // X.blocksize[0], n_columns // X.blocksize[1]
    data, indptr = X.data, _own_array(X.indptr)
    _check_offsets(indptr, n_rows, min(len(data), len(X.indices)))
    indices = _own_array(X.indices[: indptr[-1]])
    _check_columns(indices, n_columns)
    values = plain_array(data[: indptr[-1]])
    if values.dtype == np.float16:  # which SciPy's functions refuse
        values = values.astype(np.float32)
    return type(X)((values, indices, indptr), shape=X.shape)


def _own_array(array: Numbers) -> Numbers:
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")


# SciPy's check_format passes offsets that end with 0 or less, and differences that overflow.
def _check_offsets(indptr: Numbers, n_rows: int, n_values: int) -> None:
    if indptr.shape != (n_rows + 1,) or indptr.dtype.kind != "i":
        raise ValueError(
            f"sparse X: indptr must hold {n_rows + 1} integers, one more than the matrix has rows (of CSC: columns); "
            f"it has shape {indptr.shape} and type {indptr.dtype}."
        )
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or indptr[-1] > n_values:
        raise ValueError(
            f"sparse X: indptr must begin with 0, not decrease, and end within the {n_values} stored values. Was X "
            "changed by another thread?"
        )


def _check_columns(indices: Numbers, n_columns: int) -> None:
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        raise ValueError(f"sparse X: indices must be a vector of integers; it is of type {indices.dtype}.")
    unsigned = indices.view(indices.dtype.str.replace("i", "u"))  # negative ones become large
    if indices.size and unsigned.max() >= n_columns:
        raise ValueError(
            f"sparse X: indices must lie between 0 and {n_columns - 1}; they range from {indices.min()} to "
            f"{indices.max()}. Was X changed by another thread?"
        )


def plain_array(values: Numbers) -> Numbers:
    """Return the array itself, or a copy if it is misaligned or of foreign byte order, which the core does not read.

    Fields of packed records and buffers read from an odd offset are misaligned.
    """
    if values.flags.aligned and values.dtype.isnative:
        return values
    return np.require(values, dtype=values.dtype.newbyteorder("="), requirements=["A"])


def sources(X: Matrix) -> Iterator[tuple[slice, _core.Source]]:
    """Blocks of rows of X (CSR or 2-d array), each with the core's view of it."""
    read = X.dtype in _READ and (X.data if is_sparse(X) else X).flags.aligned
    blocks = row_blocks(X, _CALL_VALUES if read else _CONVERTED_VALUES)
    if not is_sparse(X):
        for rows in blocks:
            yield rows, _core.Source.dense(X[rows] if read else X[rows].astype(np.float64))
        return
    indices = X.indices.astype(X.indptr.dtype, copy=False)
    for rows in blocks:
        start = X.indptr[rows.start : rows.stop + 1]
        if read:
            yield rows, _core.Source.csr(start, indices, X.data, X.shape[1])
        else:
            entries = slice(start[0], start[-1])
            data = X.data[entries].astype(np.float64)
            yield rows, _core.Source.csr(start - start[0], indices[entries], data, X.shape[1])


def value_range(X: Matrix, n_threads: int = 1) -> tuple[float, float, bool]:
    """Return the least and the largest stored value, zero at least, and whether all are finite."""
    low, high, finite = 0.0, 0.0, True
    for _, source in sources(X):
        found = _core.value_range(source, n_threads)
        low, high, finite = min(low, found[0]), max(high, found[1]), finite and found[2]
    return low, high, finite
