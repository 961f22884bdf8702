"""X as the core reads it: in place, whatever its number type and order, in blocks of rows so that Ctrl-C is heard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core

# Number types the core reads; others are converted, a small block at a time.
_READ = {np.dtype(kind) for kind in ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")}
# Values in a call of the core, some 20 ms of one thread; and where they have to be converted first, 8 MB of float64.
_CALL_VALUES, _CONVERTED_VALUES = 16_000_000, 1_000_000


def row_blocks(X: Any, values: int = _CONVERTED_VALUES) -> Iterator[slice]:
    """Rows of about so many values, at least one."""
    stored = X.nnz if sp.issparse(X) else X.size
    step = max(1, values * X.shape[0] // max(1, stored))
    for begin in range(0, X.shape[0], step):
        yield slice(begin, min(begin + step, X.shape[0]))


def sources(X: Any) -> Iterator[tuple[slice, Any]]:
    """Blocks of rows of X (CSR or 2-d array), each with the core's view of it."""
    read = X.dtype in _READ
    blocks = row_blocks(X, _CALL_VALUES if read else _CONVERTED_VALUES)
    if not sp.issparse(X):
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


def value_range(X: Any, n_threads: int = 1) -> tuple[float, float, bool]:
    """Return the least and the largest stored value, zero at least, and whether all are finite."""
    low, high, finite = 0.0, 0.0, True
    for _, source in sources(X):
        found = _core.value_range(source, n_threads)
        low, high, finite = min(low, found[0]), max(high, found[1]), finite and found[2]
    return low, high, finite
