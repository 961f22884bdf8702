"""The array types that signatures use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Array: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[Any]
"""Of any number type: values as the user gave them, codes of one or two bytes."""
Labels: TypeAlias = NDArray[Any]
"""Class labels: numbers or text."""


class SparseMatrix(Protocol):
    """A matrix or array of scipy.sparse, in any format."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    format: str

    @property
    def nnz(self) -> int:
        """Number of stored values."""

    def toarray(self) -> Numbers:
        """A dense copy."""

    def tocsr(self) -> CSRMatrix:
        """The same matrix in CSR format."""


class CSRMatrix(SparseMatrix, Protocol):
    """A matrix or array of scipy.sparse in CSR format."""

    data: Numbers
    indices: NDArray[Any]
    indptr: NDArray[Any]

    def __getitem__(self, rows: slice | NDArray[Any]) -> CSRMatrix: ...

    def astype(self, dtype: DTypeLike, copy: bool = ...) -> CSRMatrix:
        """The same matrix of another number type."""


MatrixLike: TypeAlias = ArrayLike | SparseMatrix
"""What users pass as X: an array, nested lists, a data frame, a sparse matrix."""
Matrix: TypeAlias = Numbers | CSRMatrix
"""X once it is validated."""


def is_sparse(X: object) -> TypeIs[CSRMatrix]:
    """Whether a validated X is a CSR matrix, and not an array."""
    return bool(sp.issparse(X))
