"""The one place where input is checked, and errors about it are worded."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length, check_X_y, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import assert_all_finite, validate_data

from .array_types import Array, Indices, Labels, Matrix, MatrixLike, is_sparse
from .encoding import ColumnRange, Columns, EncodedData, Encoder, TermSpec
from .encoding.columns import naming_text, read_training
from .encoding.frames import check_is_table, is_missing
from .encoding.terms import replaced_columns
from .gram import canonical_csr
from .kernels import BY_NAME, AdditiveKernel
from .sklearn_compat import check_n_features, check_sample_weight
from .sources import plain_array, value_range, with_own_indices
from .table_input import TableRules, ask_about_columns, index_doubt, keep_names, new_matrix, table_terms, without_gaps
from .threads import thread_count

# Products of two values must stay finite, and differences too; and products of the largest must not vanish.
LARGEST_VALUE, SMALLEST_VALUE = 1e150, 1e-150
# With at most this many classes, y is taken for labels without a warning.
_MANY_CLASSES = 50
# Whole numbers up to this, in a range of this many values per row, are labels: scikit-learn has no doubt about them.
_LARGEST_LABEL, _SHORT_RANGE = 1e9, 0.1
# What every X may be.
_OPTIONS = {"accept_sparse": "csr", "accept_large_sparse": True, "dtype": "numeric"}
# The length of a row of which float32 still holds the squared distances.
LARGEST_IN_SQUARE = 1e18


class Names(NamedTuple):
    """The names that messages mention: that of the estimator, and those of the columns, if they have any."""

    estimator: str | None = None
    columns: Labels | None = None

    @classmethod
    def of(cls, estimator: BaseEstimator) -> Names:
        """Those of an estimator that has validated its X."""
        return cls(type(estimator).__name__, getattr(estimator, "feature_names_in_", None))

    def column(self, j: int) -> str:
        """Name or number of a column."""
        return repr(str(self.columns[j])) if self.columns is not None else str(j)


NO_NAMES = Names()


class EncodedRows(Protocol):
    """`EncodedData`, or a Dataset, whose rows are encoded too."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def encoder(self) -> Encoder | None:
        """The encoder of the rows."""

    def __getitem__(self, rows: Any, /) -> Any: ...


EncodedT = TypeVar("EncodedT", bound=EncodedRows)


@contextmanager
def kernel_hint(kernel: object, remedy: str) -> Iterator[None]:
    """If the kernel is known but not additive, add to the error which estimator has it."""
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
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    reset: bool = True,
    numbers: bool = False,
    allow_nan: bool = False,
    indicator: bool = False,
) -> tuple[Matrix, Labels, Array | None]:
    """X (CSR or array), y and the weights; rows of weight zero are left out. Without `reset`, X is more of the same.

    y are class labels, `numbers` (see `check_numbers`) or an `indicator` matrix of labels, dense or CSR. With
    `allow_nan`, NaN and infinity are left to the caller.
    """
    options = {"reset": reset, "ensure_all_finite": not allow_nan}
    validate = validated_with_numbers if numbers else _with_indicator if indicator else validated_with_labels
    rows, labels = validate(estimator, X, y, **options)
    weight, kept = _checked_weight(sample_weight, rows)
    return (rows, labels, weight) if kept is None else (rows[kept], labels[kept], weight)


class TableRows(NamedTuple):
    """A table as an additive model is fitted to it: numbers, y and the weights; terms, and what the columns held."""

    X: Matrix
    y: Labels
    weight: Array | None
    terms: tuple[TermSpec, ...]
    columns: Columns


def check_training_table(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    rules: TableRules,
    *,
    numbers: bool = False,
    indicator: bool = False,
) -> TableRows:
    """As `check_training_data`, for a table that may have text and missing values."""
    table = read_training(X, rules.categorical)
    rows, labels, weight = check_training_data(
        estimator, table.matrix, y, sample_weight, numbers=numbers, indicator=indicator, allow_nan=True
    )
    if table.matrix is not X:
        keep_names(estimator, X)
    names = Names.of(estimator)
    terms, columns = table_terms(rows, table.columns, table.declared, rules, names.columns, names.column)
    of_index = {} if 0 in columns.of_text else index_doubt(rows, names.columns)
    ask_about_columns(of_index | table.doubts, names.column, level_of_caller() + 1)
    return TableRows(rows, labels, weight, terms, columns)


def check_more_of_table(
    estimator: BaseEstimator, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None, encoder: Encoder
) -> tuple[Matrix, Labels, Array | None]:
    """More rows of a table that a model has been fitted to."""
    matrix = new_matrix(estimator, X, encoder.columns)
    if matrix is X:
        rows, labels, weight = check_training_data(estimator, matrix, y, sample_weight, reset=False, allow_nan=True)
    else:  # the names of the columns have been checked, and the matrix has none
        check_n_features(estimator, matrix, reset=False)
        _check_labels_present(y)
        rows, labels = check_X_y(matrix, y, ensure_all_finite=False, estimator=estimator, **_OPTIONS)
        check_label_type(labels)
        weight, kept = _checked_weight(sample_weight, rows)
        rows, labels = (rows, labels) if kept is None else (rows[kept], labels[kept])
        rows = canonical(rows)
    return (
        encodable(rows, encoder, thread_count(getattr(estimator, "n_jobs", None)), Names.of(estimator)),
        labels,
        weight,
    )


def check_encoded(
    estimator: BaseEstimator,
    data: EncodedT,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    numbers: bool = False,
) -> tuple[EncodedT, Labels, Array | None]:
    """As `check_training_data`, for rows that are encoded already. The columns have no names then."""
    if data.encoder is None:
        raise ValueError("X: the rows do not know their encoder. Pass what kernline.io.read(encoder=) returns.")
    if y is None:
        raise ValueError("there are no labels: the Dataset has none. Pass y to fit, or make the Dataset with labels.")
    labels: Labels = check_numbers(estimator, y) if numbers else column_or_1d(y, warn=True)
    check_consistent_length(data, labels)
    if not numbers:
        check_label_type(labels)
    estimator.n_features_in_ = data.encoder.n_features
    vars(estimator).pop("feature_names_in_", None)  # of a former fit
    weight, kept = _checked_weight(sample_weight, data)
    if kept is not None and not isinstance(data, EncodedData):
        raise ValueError("sample_weight: weights of zero are not supported for a Dataset larger than a part.")
    return (data, labels, weight) if kept is None else (data[kept], labels[kept], weight)


def _checked_weight(sample_weight: ArrayLike | None, X: Matrix | EncodedRows) -> tuple[Array | None, Indices | None]:
    """The weights that are not zero, and their rows if some are zero."""
    if sample_weight is None:
        return None, None
    shape_and_type = np.broadcast_to(0.0, (X.shape[0], 1))  # all that scikit-learn looks at
    weight: Array = check_sample_weight(sample_weight, shape_and_type, dtype=np.float64, ensure_non_negative=True)
    kept = np.flatnonzero(weight > 0.0)
    if not kept.size:
        raise ValueError("sample_weight: every weight is zero, so no sample is left to fit on.")
    return (weight, None) if kept.size == weight.size else (weight[kept], kept)


def check_new_data(estimator: BaseEstimator, X: MatrixLike, encoder: Encoder) -> Matrix:
    """X to predict on, with the columns of the fit, as it can be encoded."""
    rows = new_matrix(estimator, X, encoder.columns)
    if rows is X:
        rows = _new_rows(estimator, X)
    else:
        check_n_features(estimator, rows, reset=False)
        rows = canonical(check_array(rows, ensure_all_finite=False, **_OPTIONS))
    return encodable(rows, encoder, thread_count(getattr(estimator, "n_jobs", None)), Names.of(estimator))


def check_new_encoded(data: EncodedT, encoder: Encoder) -> EncodedT:
    """Encoded rows to predict on; they must be of the model's own encoder, or an equal one."""
    if data.encoder is None or not data.encoder.equals(encoder):
        raise ValueError(
            "X was encoded by another encoder than that of this model. Read it with encoder=model.shapes_.encoder."
        )
    return data


def encodable(X: Matrix, encoder: Encoder, n_threads: int, names: Names = NO_NAMES) -> Matrix:
    """X, with values for gaps that the training data did not have. Refuse values that the encoder has no code for."""
    X, low, high = _number_range(X, encoder, n_threads, names)
    if encoder.nonnegative_for and low < 0.0:
        _refuse_negative(ColumnRange.of(X).without(replaced_columns(encoder.terms)), encoder.nonnegative_for, names)
    if is_sparse(X) and not encoder.keeps_zeros:
        why = "columns with negative values, in which zero is not the lowest"
        if encoder.terms:
            why = "columns in which zero is a category, or not the lowest value"
        raise ValueError(
            f"The model was fitted on {why}: a sparse matrix cannot stand for them. Pass a dense array (X.toarray())."
        )
    if not encoder.clips and max(-low, high) > LARGEST_VALUE:
        raise ValueError(f"kernel='linear' takes values up to {LARGEST_VALUE:g}; X holds {max(-low, high):.6g}.")
    return X


def _number_range(X: Matrix, encoder: Encoder, n_threads: int, names: Names) -> tuple[Matrix, float, float]:
    """X without gaps, and the least and the largest value among the numbers. All must be finite, but NaN may be."""
    if not encoder.terms:
        low, high, finite = value_range(X, n_threads)
        if finite:
            return X, low, high
        if encoder.columns.gaps != "error":
            X = without_gaps(X, encoder, names.column)
        return X, *_finite_range(X, n_threads, names)
    X = without_gaps(X, encoder, names.column)
    found = ColumnRange.of(X, n_threads).without(replaced_columns(encoder.terms))
    return X, float(found.minimum.min(initial=0.0)), float(found.maximum.max(initial=0.0))


def check_new_rows(estimator: BaseEstimator, X: MatrixLike, nonnegative_for: str) -> Matrix:
    """X to compare with landmarks, with the columns of the fit; the kernel named refuses negative values."""
    rows = _new_rows(estimator, X)
    check_rows(rows, nonnegative_for, thread_count(estimator.n_jobs), Names.of(estimator))
    return rows


def check_new_points(estimator: BaseEstimator, X: MatrixLike) -> Matrix:
    """X to predict on by float32 distances, with the columns of the fit."""
    rows = _new_rows(estimator, X)
    check_squares(rows, thread_count(estimator.n_jobs), Names.of(estimator))
    return rows


def check_squares(X: Matrix, n_threads: int, names: Names = NO_NAMES) -> float:
    """Refuse values whose squared distances do not fit into float32; returns the largest magnitude."""
    largest = max(map(abs, _finite_range(X, n_threads, names)))
    if largest * np.sqrt(X.shape[1]) > LARGEST_IN_SQUARE:
        raise ValueError(
            f"{names.estimator} takes values up to about {LARGEST_IN_SQUARE / np.sqrt(X.shape[1]):.1g}; "
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


def check_rows(X: Matrix, nonnegative_for: str, n_threads: int = 1, names: Names = NO_NAMES) -> float:
    """Refuse values that cannot be compared with landmarks; returns the largest magnitude."""
    low, high = _finite_range(X, n_threads, names)
    if nonnegative_for and low < 0.0:
        _refuse_negative(ColumnRange.of(X), nonnegative_for, names, "Shift the column, or use kernel='rbf'.")
    if max(-low, high) > LARGEST_VALUE:
        raise ValueError(f"Values up to {LARGEST_VALUE:g} can be compared; X holds {max(-low, high):.6g}. Rescale it.")
    return max(-low, high)


def _new_rows(estimator: BaseEstimator, X: MatrixLike) -> Matrix:
    """X with the columns of the fit; its values are not checked yet."""
    if _is_plain(X, estimator):
        return plain_array(X)
    return validated(estimator, X, reset=False, ensure_all_finite=False)


def _is_plain(X: MatrixLike, estimator: BaseEstimator) -> TypeGuard[Array]:
    """Whether X is an array that `validated` would return as it is. Its own checks take longer than a prediction."""
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def _finite_range(X: Matrix, n_threads: int, names: Names) -> tuple[float, float]:
    """The least and the largest value, in one pass over X where scikit-learn's checks would be three."""
    low, high, finite = value_range(X, n_threads)
    if not finite:
        assert_all_finite(X, estimator_name=names.estimator, input_name="X")
    return low, high


def validated(estimator: BaseEstimator, X: MatrixLike, **options: object) -> Matrix:
    """X checked by scikit-learn's `validate_data`: CSR or an array, in the form the core takes."""
    return canonical(_checked(estimator, X, **options))


def validated_with_labels(
    estimator: BaseEstimator, X: MatrixLike, y: ArrayLike | None, **options: object
) -> tuple[Matrix, Labels]:
    """As `validated`, with class labels y."""
    _check_labels_present(y)
    rows, labels = _checked(estimator, X, y, **options)
    check_label_type(labels)
    return canonical(rows), labels


def check_label_type(y: Labels) -> None:
    """Refuse numbers that are no class labels."""
    if _are_few_whole_numbers(y):
        return  # scikit-learn would find the same, in a twentieth of the time of a small fit
    try:
        check_classification_targets(y)
    except ValueError:
        if y.dtype.kind != "f":
            raise
        raise ValueError("Unknown label type: continuous. y looks like numbers to predict: use AdditiveSVR.") from None


def _are_few_whole_numbers(y: Labels) -> bool:
    """Whether y are whole numbers in a range that is short compared with the number of rows."""
    if y.ndim != 1 or y.size == 0 or y.dtype.kind not in "biuf":
        return False
    low, high = float(y.min()), float(y.max())
    is_short = high - low < _SHORT_RANGE * y.size and abs(low) < _LARGEST_LABEL  # False for NaN
    return is_short and (y.dtype.kind != "f" or bool((y == np.rint(y)).all()))


def _check_labels_present(y: ArrayLike | None) -> None:
    """Refuse missing labels, of which scikit-learn finds only NaN among numbers."""
    dtype = getattr(y, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind == "O":  # lists, and columns of pandas with types of its own
        values = np.asarray(y, dtype=object)
        n_missing = sum(map(is_missing, values)) if values.ndim == 1 else 0
        if n_missing:
            raise ValueError(f"Input y contains NaN or None: {n_missing} labels are missing. Leave these rows out.")


def validated_with_numbers(
    estimator: BaseEstimator, X: MatrixLike, y: ArrayLike | None, **options: object
) -> tuple[Matrix, Array]:
    """As `validated`, with numbers y, for regression."""
    rows, numbers = _checked(estimator, X, y, multi_output=True, **options)
    return canonical(rows), check_numbers(estimator, numbers)


def _with_indicator(
    estimator: BaseEstimator, X: MatrixLike, y: ArrayLike | None, **options: object
) -> tuple[Matrix, Labels]:
    """As `validated`, with labels y as a matrix of zeros and ones."""
    rows, labels = _checked(estimator, X, y, multi_output=True, **options)
    kind = type_of_target(labels, input_name="y")
    if kind != "multilabel-indicator":
        raise ValueError(
            f"y has {labels.shape[1]} columns, and scikit-learn calls it {kind!r}. Several labels per row are a matrix "
            "of zeros and ones, as of sklearn.preprocessing.MultiLabelBinarizer. Classes that exclude one another are "
            "a vector."
        )
    return canonical(rows), labels


def check_numbers(estimator: BaseEstimator, y: ArrayLike) -> Array:
    """Numbers y as float64: one per row, or (n_rows, n_outputs). A single column becomes a vector, with a warning."""
    values = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    try:
        numbers: Array = values.astype(np.float64)
    except (TypeError, ValueError):
        texts = [value for value in values.ravel().tolist() if not isinstance(value, (int, float))]
        raise ValueError(
            f"{type(estimator).__name__} predicts numbers; y holds {texts[0]!r:.50}. Convert y to numbers, or use a "
            "classifier, such as AdditiveSVC, for labels."
        ) from None
    assert_all_finite(numbers, input_name="y")  # objects, too
    if numbers.ndim == 2 and numbers.shape[1] != 1:
        return numbers
    return column_or_1d(numbers, warn=True)


def _checked(estimator: BaseEstimator, X: MatrixLike, *y: ArrayLike | None, **options: object) -> Any:
    rows = _own_rows(estimator, X)
    with naming_text(rows):
        return validate_data(estimator, rows, *y, **_OPTIONS | options)


def _own_rows(estimator: BaseEstimator, X: MatrixLike) -> MatrixLike:
    """X with index arrays that are copied before they are checked, so that no other thread can change them later."""
    if isinstance(X, EncodedData):
        raise TypeError(
            f"{type(estimator).__name__} takes values, not the codes of an encoder. Read the file without encoder=."
        )
    check_is_table(X)
    own: MatrixLike = with_own_indices(X)
    return own


def canonical(X: Matrix) -> Matrix:
    """X in the form the core takes: see `canonical_csr` and `plain_array`."""
    if not is_sparse(X):
        return plain_array(X)
    # SciPy does not support sparse float16: slices of such rows fail.
    return canonical_csr(X.astype(np.float32) if X.dtype == np.float16 else X)


def check_values(found: ColumnRange, kernel: AdditiveKernel, scale: str, names: Names, *, sparse: bool) -> None:
    """Refuse values the kernel is not defined for, naming a column."""
    if kernel.nonnegative and scale == "max":
        _refuse_negative(found, kernel.name, names)
    if sparse and scale != "max" and found.minimum.min(initial=0.0) < 0.0:
        raise ValueError(
            f"Negative values in data: scale={scale!r} keeps the zeros of a sparse matrix, and "
            f"{_lowest_column(found, names)}. Pass a dense array (X.toarray())."
        )
    largest = np.maximum(np.abs(found.minimum), np.abs(found.maximum))
    if kernel.name == "linear":
        check_not_tiny(float(largest.max(initial=0.0)))
    if (kernel.name == "linear" or scale == "minmax") and largest.max(initial=0.0) > LARGEST_VALUE:
        worst = int(largest.argmax())
        raise ValueError(
            f"kernel={kernel.name!r} with scale={scale!r} takes values up to {LARGEST_VALUE:g}; column "
            f"{names.column(worst)} has magnitude {largest[worst]:.6g}. Rescale it, or pass scale='rank'."
        )


def _refuse_negative(
    found: ColumnRange,
    kernel_name: str,
    names: Names,
    remedy: str = "Pass scale='minmax' or scale='rank', or use kernel='linear'.",
) -> None:
    if found.minimum.min(initial=0.0) < 0.0:
        lowest = _lowest_column(found, names)
        raise ValueError(f"Negative values in data: {kernel_name} needs values >= 0, and {lowest}. {remedy}")


def _lowest_column(found: ColumnRange, names: Names) -> str:
    lowest = int(found.minimum.argmin())
    return f"column {names.column(lowest)} has minimum {found.minimum[lowest]:.6g}"


def ask_about_many_classes(classes: Labels, n_rows: int) -> None:
    """Warn when y does not look like class labels."""
    if classes.size > max(_MANY_CLASSES, n_rows // 10):
        warnings.warn(
            f"y has {classes.size:,} distinct values in {n_rows:,} rows, and each becomes a class with a problem of "
            "its own. Is it an identifier? If it is a number to predict, use AdditiveSVR.",
            UserWarning,
            stacklevel=level_of_caller(),
        )


def level_of_caller() -> int:
    """The `stacklevel` with which a warning of our caller names the line outside this library.

    Decorators of scikit-learn lie between a user's call and ours, more or fewer of them by version.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _library_of(frame) in ("kernline", "sklearn"):
        level, frame = level + 1, frame.f_back
    return level


def _library_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
