"""The one place where input is checked, and errors about it are worded."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, validate_data

from .array_types import Array
from .encoding import ColumnRange, Encoder, TermSpec
from .encoding.terms import check_columns, nan_columns, replaced_columns
from .gram import canonical_csr
from .kernels import BY_NAME, AdditiveKernel
from .sklearn_compat import check_sample_weight
from .sources import plain_array, row_blocks, value_range, with_own_indices
from .threads import thread_count

# Products of two values must stay finite, and differences too; and products of the largest must not vanish.
LARGEST_VALUE, SMALLEST_VALUE = 1e150, 1e-150
# With at most this many classes, y is taken for labels without a warning.
_MANY_CLASSES = 50
_INFINITE = (float("inf"), float("-inf"))
# The length of a row of which float32 still holds the squared distances.
LARGEST_IN_SQUARE = 1e18


@contextmanager
def kernel_hint(kernel: Any, remedy: str) -> Iterator[None]:
    """Add to the error of a parameter which estimator has the kernel asked for, if it is one that is not additive."""
    try:
        yield
    except ValueError as error:
        from .landmarks.pairwise import NAMES  # imports more than most need

        asked_for = kernel if isinstance(kernel, list | tuple) else [kernel]
        others = [name for name in asked_for if isinstance(name, str) and name in NAMES and name not in BY_NAME]
        if not others:
            raise
        raise type(error)(f"{error} {others[0]!r} is not additive: use {remedy}.") from None


def check_training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
) -> tuple[Any, NDArray[Any], Array | None]:
    """X (CSR or array), y and the weights; rows of weight zero are left out. Without `reset`, X is more of the same."""
    terms = terms_of(estimator)
    missing = nan_columns(terms)
    X, y = validated(estimator, X, y, reset=reset, ensure_all_finite="allow-nan" if missing.size else True)
    check_classification_targets(y)
    check_columns(terms, X.shape[1])
    if missing.size:
        _check_missing(estimator, X, missing)
    if sample_weight is None:
        return X, y, None
    weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = weight > 0.0
    if not kept.any():
        raise ValueError("sample_weight: every weight is zero, so no sample is left to fit on.")
    return (X, y, weight) if kept.all() else (X[kept], y[kept], weight[kept])


def terms_of(estimator: Any) -> Sequence[TermSpec]:
    """The terms that an estimator fits besides numbers."""
    specs: Sequence[TermSpec] = estimator._terms() if hasattr(estimator, "_terms") else ()
    return specs


def check_new_data(estimator: Any, X: Any, encoder: Encoder) -> Any:
    """X to predict on, with the columns of the fit, as it can be encoded."""
    X = _new_rows(estimator, X)
    check_encodable(estimator, X, encoder, thread_count(getattr(estimator, "n_jobs", None)))
    return X


def check_encodable(estimator: Any, X: Any, encoder: Encoder, n_threads: int) -> None:
    """Refuse values that the encoder has no code for."""
    low, high = _number_range(estimator, X, encoder, n_threads)
    if encoder.nonnegative_for and low < 0.0:
        _refuse_negative(estimator, ColumnRange.of(X).without(replaced_columns(encoder.terms)), encoder.nonnegative_for)
    if sp.issparse(X) and not encoder.keeps_zeros:
        why = "columns with negative values, in which zero is not the lowest"
        if encoder.terms:
            why = "columns in which zero is a category, or not the lowest value"
        raise ValueError(
            f"The model was fitted on {why}: a sparse matrix cannot stand for them. Pass a dense array (X.toarray())."
        )
    if not encoder.clips and max(-low, high) > LARGEST_VALUE:
        raise ValueError(f"kernel='linear' takes values up to {LARGEST_VALUE:g}; X holds {max(-low, high):.6g}.")


def _number_range(estimator: Any, X: Any, encoder: Encoder, n_threads: int) -> tuple[float, float]:
    """The least and the largest value among the numbers. All must be finite, but for NaN that has a weight."""
    if not encoder.terms:
        return _finite_range(estimator, X, n_threads)
    assert_all_finite(X, allow_nan=bool(encoder.nan_columns.size), input_name="X")
    _check_missing(estimator, X, encoder.nan_columns)
    found = ColumnRange.of(X, n_threads).without(replaced_columns(encoder.terms))
    return float(found.minimum.min(initial=0.0)), float(found.maximum.max(initial=0.0))


def _check_missing(estimator: Any, X: Any, allowed: NDArray[np.int64]) -> None:
    """Refuse NaN in columns that have no weight for it."""
    if sp.issparse(X):
        found = np.unique(X.indices[np.isnan(X.data)])
    else:
        found = np.flatnonzero(np.any([np.isnan(X[rows]).any(axis=0) for rows in row_blocks(X)], axis=0))
    others = np.setdiff1d(found, allowed)
    if others.size:
        raise ValueError(
            f"Input X contains NaN in column {_column_name(estimator, int(others[0]))}, which has no weight for "
            "missing values. Fill it in, for example by sklearn.impute.SimpleImputer."
        )


def check_new_rows(estimator: Any, X: Any, nonnegative_for: str) -> Any:
    """X to compare with landmarks, with the columns of the fit; the kernel named refuses negative values."""
    X = _new_rows(estimator, X)
    check_rows(estimator, X, nonnegative_for)
    return X


def check_new_points(estimator: Any, X: Any) -> Any:
    """X to predict on by float32 distances, with the columns of the fit."""
    X = _new_rows(estimator, X)
    check_squares(estimator, X)
    return X


def check_squares(estimator: Any, X: Any) -> float:
    """Refuse values whose squared distances float32 does not hold; returns the largest magnitude."""
    largest = max(map(abs, _finite_range(estimator, X, thread_count(estimator.n_jobs))))
    if largest * np.sqrt(X.shape[1]) > LARGEST_IN_SQUARE:
        raise ValueError(
            f"{type(estimator).__name__} takes values up to about {LARGEST_IN_SQUARE / np.sqrt(X.shape[1]):.1g}; "
            f"X holds {largest:.6g}. Rescale it, for example by sklearn.preprocessing.StandardScaler."
        )
    return largest


def check_not_tiny(largest: float) -> None:
    """Refuse training data whose largest magnitude is so small that squares are zero; all zeros are fine."""
    if 0.0 < largest < SMALLEST_VALUE:
        raise ValueError(
            f"The largest magnitude in X is {largest:.3g}, whose square is zero in float64; it must be at least "
            f"{SMALLEST_VALUE:g}. Rescale X, for example by sklearn.preprocessing.MaxAbsScaler."
        )


def check_rows(estimator: Any, X: Any, nonnegative_for: str) -> float:
    """Refuse values that cannot be compared with landmarks; returns the largest magnitude."""
    low, high = _finite_range(estimator, X, thread_count(getattr(estimator, "n_jobs", None)))
    if nonnegative_for and low < 0.0:
        _refuse_negative(estimator, ColumnRange.of(X), nonnegative_for, "Shift the column, or use kernel='rbf'.")
    if max(-low, high) > LARGEST_VALUE:
        raise ValueError(f"Values up to {LARGEST_VALUE:g} can be compared; X holds {max(-low, high):.6g}. Rescale it.")
    return max(-low, high)


def _new_rows(estimator: Any, X: Any) -> Any:
    """X with the columns of the fit; its values are still to be looked at."""
    return validated(estimator, X, reset=False, ensure_all_finite=False)


def _finite_range(estimator: Any, X: Any, n_threads: int) -> tuple[float, float]:
    """The least and the largest value, in one pass over X where scikit-learn's checks would be three."""
    low, high, finite = value_range(X, n_threads)
    if not finite:
        assert_all_finite(X, estimator_name=type(estimator).__name__ if estimator is not None else None, input_name="X")
    return low, high


def validated(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """X, or X and y, checked by scikit-learn's `validate_data`; X is CSR or an array in the form the core takes.

    Index arrays are copied first, so that no other thread can change them once they are checked.
    """
    options = {"accept_sparse": "csr", "accept_large_sparse": True, "dtype": "numeric"} | options
    found = validate_data(estimator, with_own_indices(X), y, **options)
    return (canonical(found[0]), found[1]) if isinstance(found, tuple) else canonical(found)


def canonical(X: Any) -> Any:
    """X in the form the core takes: see `canonical_csr` and `plain_array`."""
    if not sp.issparse(X):
        return plain_array(X)
    # SciPy does not support sparse float16: slices of such rows fail.
    return canonical_csr(X.astype(np.float32) if X.dtype == np.float16 else X)


def check_values(estimator: Any, found: ColumnRange, kernel: AdditiveKernel, scale: str, *, sparse: bool) -> None:
    """Refuse values the kernel is not defined for, naming a column."""
    if kernel.nonnegative and scale == "max":
        _refuse_negative(estimator, found, kernel.name)
    if sparse and scale != "max" and found.minimum.min(initial=0.0) < 0.0:
        raise ValueError(
            f"Negative values in data: scale={scale!r} keeps the zeros of a sparse matrix, and "
            f"{_lowest_column(estimator, found)}. Pass a dense array (X.toarray())."
        )
    largest = np.maximum(np.abs(found.minimum), np.abs(found.maximum))
    if kernel.name == "linear":
        check_not_tiny(float(largest.max(initial=0.0)))
    if (kernel.name == "linear" or scale == "minmax") and largest.max(initial=0.0) > LARGEST_VALUE:
        worst = int(largest.argmax())
        raise ValueError(
            f"kernel={kernel.name!r} with scale={scale!r} takes values up to {LARGEST_VALUE:g}; column "
            f"{_column_name(estimator, worst)} has magnitude {largest[worst]:.6g}. Rescale it, or pass scale='rank'."
        )


def _refuse_negative(
    estimator: Any,
    found: ColumnRange,
    kernel_name: str,
    remedy: str = "Pass scale='minmax' or scale='rank', or use kernel='linear'.",
) -> None:
    if found.minimum.min(initial=0.0) < 0.0:
        lowest = _lowest_column(estimator, found)
        raise ValueError(f"Negative values in data: {kernel_name} needs values >= 0, and {lowest}. {remedy}")


def _lowest_column(estimator: Any, found: ColumnRange) -> str:
    lowest = int(found.minimum.argmin())
    return f"column {_column_name(estimator, lowest)} has minimum {found.minimum[lowest]:.6g}"


def check_classes(estimator: Any, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes in order, and each sample's class number."""
    classes, number = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least two classes; y holds one class only: "
            f"{classes.tolist()[0]!r}."
        )
    return classes, number


def check_class_list(estimator: Any, classes: Any) -> NDArray[Any]:
    """The `classes` of partial_fit, in order. Values that y cannot have are refused."""
    values = check_array(classes, ensure_2d=False, dtype=None, ensure_all_finite=False, input_name="classes")
    missing = [value for value in values.ravel().tolist() if value is None or value != value or value in _INFINITE]
    if values.ndim != 1 or missing:
        got = f"{missing[0]!r} among them" if missing else f"an array of shape {values.shape}"
        raise ValueError(f"classes: pass a list of the labels that y may have, numbers or text; got {got}.")
    return check_classes(estimator, values)[0]


def ask_about_many_classes(classes: NDArray[Any], n_rows: int) -> None:
    """Warn when y does not look like class labels."""
    if classes.size > max(_MANY_CLASSES, n_rows // 10):
        warnings.warn(
            f"y has {classes.size:,} distinct values in {n_rows:,} rows, and each becomes a class with a problem of "
            "its own. Is y an identifier, or the target of a regression?",
            UserWarning,
            stacklevel=level_of_caller(),
        )


def check_known_classes(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
    """Return each sample's class number, of classes named beforehand."""
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"y holds labels that are not among the classes of the first call to partial_fit: {unknown[:5].tolist()}. "
            f"Those are: {classes.tolist()}."
        )
    return np.searchsorted(classes, y)


def _column_name(estimator: Any, j: int) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return repr(str(names[j])) if names is not None else str(j)


def level_of_caller() -> int:
    """The `stacklevel` for a warning of our caller's, such that it names the line outside this library.

    Decorators of scikit-learn lie between a user's call and ours, more or fewer of them by version.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _library_of(frame) in ("kernline", "sklearn"):
        level, frame = level + 1, frame.f_back
    return level


def _library_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
