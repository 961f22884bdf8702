"""Exact Gram matrices, in blocks of rows so that Ctrl-C works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core
from .array_types import Array, CSRMatrix, Matrix, MatrixLike, is_sparse
from .sources import plain_array, with_own_indices
from .threads import thread_count

if TYPE_CHECKING:
    from .kernels import AdditiveKernel


# Cells of X × rows of Y in a block, per thread: about a tenth of a second for the slowest kernel.
_BLOCK_WORK = 5_000_000


def gram_matrix(kernel: AdditiveKernel, X: MatrixLike, Y: MatrixLike | None = None) -> Array:
    """K(X, Y) exactly, for dense or sparse X and Y."""
    from sklearn.metrics.pairwise import check_pairwise_arrays  # slow to import, and training needs none of it

    own_X = with_own_indices(X)
    own_Y = own_X if Y is None or Y is X else with_own_indices(Y)
    A, B = check_pairwise_arrays(own_X, own_Y, accept_sparse="csr", dtype=np.float64)
    if kernel.nonnegative:
        _check_nonnegative(kernel, A)
        _check_nonnegative(kernel, B)
    if is_sparse(A) or is_sparse(B):
        A, B = canonical_csr(A), canonical_csr(B)
    if kernel.native_name == "linear":
        return _product(A, B)
    if kernel.native_name == "hellinger":
        return _product(np.sqrt(A), np.sqrt(B))
    out = np.empty((A.shape[0], B.shape[0]))
    if kernel.native_name is None:
        _fill_by_formula(kernel, A, B, out)
    elif is_sparse(A):
        _fill_sparse(kernel, kernel.native_name, A, B, out)
    else:
        _fill_dense(kernel, kernel.native_name, A, B, out)
    return out


def _check_nonnegative(kernel: AdditiveKernel, X: Matrix) -> None:
    values = X.data if is_sparse(X) else X
    if values.size and values.min() < 0.0:
        raise ValueError(f"{kernel.name} needs non-negative values; the minimum given is {values.min():.6g}.")


def _product(X: sp.csr_array | Array, Y: sp.csr_array | Array) -> Array:
    product = X @ Y.T
    return np.asarray(product.toarray() if is_sparse(product) else product)


def canonical_csr(X: Matrix) -> CSRMatrix:
    """CSR with contiguous arrays and each column once per row: duplicate entries are summed.

    X must have passed `with_own_indices`.
    """
    found = sp.csr_array(X)
    if not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    arrays = (found.data, found.indices, found.indptr)
    if all(part.flags.c_contiguous for part in arrays):
        return found
    return sp.csr_array(tuple(np.ascontiguousarray(part) for part in arrays), shape=found.shape)


def _blocks(n_rows: int, work_a_row: int, n_threads: int) -> list[slice]:
    step = max(1, _BLOCK_WORK // max(1, work_a_row)) * n_threads  # this many rows for each thread
    return [slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step)]


def _p(kernel: AdditiveKernel) -> float:
    return float(getattr(kernel, "p", -1.0))


def _fill_dense(kernel: AdditiveKernel, name: str, X: Array, Y: Array, out: Array) -> None:
    X, Y = (np.ascontiguousarray(plain_array(part)) for part in (X, Y))
    Y_companion = kernel.companion(Y)
    threads = thread_count(kernel.n_jobs)
    for rows in _blocks(X.shape[0], Y.size, threads):
        block = X[rows]
        companion = kernel.companion(block)
        _core.gram_dense(name, _p(kernel), block, companion, Y, Y_companion, out[rows], threads)


def _csr_arrays(kernel: AdditiveKernel, X: sp.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, Array]:
    return X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data, kernel.companion(X.data)


def _fill_sparse(kernel: AdditiveKernel, name: str, X: sp.csr_array, Y: sp.csr_array, out: Array) -> None:
    threads = thread_count(kernel.n_jobs)
    points_y = _csr_arrays(kernel, Y)
    for rows in _blocks(X.shape[0], Y.nnz, threads):
        points_x = _csr_arrays(kernel, X[rows])
        _core.gram_sparse(name, _p(kernel), X.shape[1], *points_x, *points_y, out[rows], threads)


def _fill_by_formula(kernel: AdditiveKernel, X: Matrix, Y: Matrix, out: Array) -> None:
    """For user-defined kernels: k(0, v) = 0, so a column contributes only where both rows have a value."""
    by_column = sp.csc_array(X), sp.csc_array(Y)
    out.fill(0.0)
    for j in range(X.shape[1]):
        x, y = (part[:, [j]].tocoo() for part in by_column)
        if x.nnz and y.nnz:
            out[np.ix_(x.row, y.row)] += kernel.scalar(x.data[:, None], y.data[None, :])
