"""The one place where input is checked, and where it is told what is wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from .encoding import ColumnRange
from .kernels import AdditiveKernel

Array = NDArray[np.float64]

# Squares of float32 values must stay finite over a long row.
_LARGEST_LINEAR_VALUE = 1e17


def check_training_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Array | None]:
    """X (CSR or array), y and the weights; rows of weight zero are left out."""
    X, y = validate_data(estimator, X, y, accept_sparse="csr", accept_large_sparse=True, dtype="numeric")
    check_classification_targets(y)
    X = canonical(X)
    if sample_weight is None:
        return X, y, None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = weight > 0.0
    if not kept.any():
        raise ValueError("sample_weight: every weight is zero, so no sample is left to fit on.")
    return (X, y, weight) if kept.all() else (X[kept], y[kept], weight[kept])


def check_new_data(estimator: Any, X: Any, kernel: AdditiveKernel, scale: str) -> Any:
    """X to predict on, with the columns of the fit."""
    X = validate_data(estimator, X, accept_sparse="csr", accept_large_sparse=True, dtype="numeric", reset=False)
    X = canonical(X)
    if kernel.nonnegative and (scale == "max" or sp.issparse(X)) and _minimum(X) < 0.0:
        check_values(estimator, ColumnRange.of(X), kernel, scale, sparse=sp.issparse(X))
    return X


def canonical(X: Any) -> Any:
    """Sparse rows with each column once: two entries for one cell mean their sum, which a kernel needs first."""
    if sp.issparse(X):
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X


def check_values(estimator: Any, found: ColumnRange, kernel: AdditiveKernel, scale: str, *, sparse: bool) -> None:
    """Refuse values the kernel is not defined for, naming a column."""
    if kernel.nonnegative and found.minimum.size:
        worst = int(found.minimum.argmin())
        if found.minimum[worst] < 0.0:
            column = f"column {_column_name(estimator, worst)} has minimum {found.minimum[worst]:.6g}"
            if scale == "max":
                raise ValueError(
                    f"Negative values in data: {kernel.name} needs values >= 0, and {column}. Pass scale='minmax' or "
                    "scale='rank', or use kernel='linear'."
                )
            if sparse:
                raise ValueError(
                    f"Negative values in data: scale={scale!r} keeps the zeros of a sparse matrix, and {column}. "
                    "Pass a dense array, or use kernel='linear'."
                )
    largest = np.maximum(np.abs(found.minimum), np.abs(found.maximum))
    if kernel.name == "linear" and largest.size and largest.max() > _LARGEST_LINEAR_VALUE:
        worst = int(largest.argmax())
        raise ValueError(
            f"kernel='linear' computes in float32, for values up to {_LARGEST_LINEAR_VALUE:g}; column "
            f"{_column_name(estimator, worst)} has magnitude {largest[worst]:.6g}. Rescale it, or pass scale='minmax'."
        )


def check_classes(estimator: Any, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes in order, and each sample's class number."""
    classes, number = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least two classes; y holds one class only: {classes[0]!r}."
        )
    return classes, number


def _minimum(X: Any) -> float:
    values = X.data if sp.issparse(X) else X
    return float(values.min()) if values.size else 0.0


def _column_name(estimator: Any, j: int) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return repr(str(names[j])) if names is not None else str(j)
