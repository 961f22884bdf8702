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
Integers: TypeAlias = NDArray[np.integer]
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

    def sum(self, axis: int | None = ..., dtype: DTypeLike = ...) -> Numbers:
        """Sums of rows (axis 1), of columns (0) or of all."""

    def toarray(self) -> Numbers:
        """A dense copy."""

    def tocsc(self) -> CSCMatrix:
        """The same matrix in CSC format."""

    def tocsr(self) -> CSRMatrix:
        """The same matrix in CSR format."""


class CSRMatrix(SparseMatrix, Protocol):
    """A matrix or array of scipy.sparse in CSR format."""

    data: Numbers
    indices: Numbers
    indptr: Numbers

    def __getitem__(self, rows: slice | Numbers | tuple[slice, list[int]]) -> CSRMatrix: ...

    def astype(self, dtype: DTypeLike, copy: bool = ...) -> CSRMatrix:
        """The same matrix of another number type."""

    def multiply(self, other: CSRMatrix) -> CSRMatrix:
        """The element-wise product."""

    def __matmul__(self, other: Numbers | CSRMatrix) -> Numbers | CSRMatrix: ...

    def __rmatmul__(self, other: Numbers) -> Numbers: ...

    @property
    def T(self) -> CSCMatrix:
        """The transpose."""


class CSCMatrix(SparseMatrix, Protocol):
    """A matrix or array of scipy.sparse in CSC format."""

    data: Numbers
    indices: Numbers
    indptr: Numbers


MatrixLike: TypeAlias = ArrayLike | SparseMatrix
"""What users pass as X: an array, nested lists, a data frame, a sparse matrix."""
Matrix: TypeAlias = Numbers | CSRMatrix
"""X once it is validated."""


def is_sparse(X: object) -> TypeIs[SparseMatrix]:
    """Whether X is of scipy.sparse. A validated X is then a CSR matrix, otherwise an array."""
    return bool(sp.issparse(X))
