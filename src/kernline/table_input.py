"""What an additive model makes of a table: a matrix, and the terms of its categories and missing values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import assert_all_finite

from .array_types import Indices, Labels, Matrix, MatrixLike, is_sparse
from .encoding import Columns, Encoder, LevelTable, TermSpec
from .encoding.columns import chosen_columns
from .encoding.frames import is_frame
from .encoding.terms import check_columns, column_values, nan_columns, replaced_columns
from .sklearn_compat import check_feature_names, check_n_features
from .sources import row_blocks

Naming = Callable[[int], str]
# Of an index in a CSV file, and as pandas reads it.
_INDEX_NAMES = ("", "Unnamed: 0")


class TableRules(NamedTuple):
    """Which columns are categories, what becomes of missing values (parameters of AdditiveSVC), and further terms."""

    categorical: object = "auto"
    missing: Literal["own", "error"] = "own"
    terms: tuple[TermSpec, ...] = ()


def keep_names(estimator: BaseEstimator, X: Any) -> None:
    """Learn the names of the columns of a table that was validated as a matrix."""
    if not isinstance(X, LevelTable):
        check_feature_names(estimator, X, reset=True)
    elif X.names is not None:
        estimator.feature_names_in_ = np.array(X.names, dtype=object)


def new_matrix(estimator: BaseEstimator, X: MatrixLike, columns: Columns) -> MatrixLike:
    """New rows as a matrix, and X itself if it is one. Names of columns are checked if it is not."""
    if isinstance(X, LevelTable):
        names = getattr(estimator, "feature_names_in_", None)
        given = X if names is None or X.names is None else X.select([str(name) for name in names])
        if _has_other_count(estimator, given):
            check_n_features(estimator, given, reset=False)
        return cast("MatrixLike", columns.matrix(given))
    has_columns, has_other_count = is_frame(X), _has_other_count(estimator, X)
    if has_columns or has_other_count:  # before they are read: another one would be said to have changed its type
        check_feature_names(estimator, X, reset=False)
    if has_other_count:
        check_n_features(estimator, X, reset=False)
    matrix: MatrixLike = columns.matrix(X)
    if matrix is not X and not has_columns:
        check_feature_names(estimator, X, reset=False)
    return matrix


def _has_other_count(estimator: BaseEstimator, X: Any) -> bool:
    """Whether a table has more or fewer columns than the fit had."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return len(shape) == 2 and shape[1] != getattr(estimator, "n_features_in_", shape[1])


def table_terms(
    X: Matrix, columns: Columns, declared: Sequence[int], rules: TableRules, names: Labels | None, name: Naming
) -> tuple[tuple[TermSpec, ...], Columns]:
    """The terms besides numbers of validated training rows, and their columns, which say what later gaps count as."""
    check_columns(rules.terms, X.shape[1])
    categories = chosen_columns(rules.categorical, declared, names, X.shape[1])
    refuse_other_text(columns, {*categories, *replaced_columns(rules.terms).tolist()}, name)
    with_nan = found_nan(X, name, nan_columns(rules.terms) if rules.missing == "error" else None)
    empty = {j for j in categories if j in with_nan and np.isnan(column_values(X, [j])).all()}
    empty |= {j for j, levels in zip(columns.of_text, columns.levels, strict=True) if not levels.size}
    return terms_of_columns(categories, with_nan, empty, columns, rules)


def terms_of_columns(
    categories: Sequence[int], with_nan: Indices, empty: Collection[int], columns: Columns, rules: TableRules
) -> tuple[tuple[TermSpec, ...], Columns]:
    """The terms of a table with these categories, columns with NaN, and columns of nothing else."""
    replaced = replaced_columns(rules.terms).tolist()
    specs = list(rules.terms)
    specs += [TermSpec("category", (j,)) for j in categories if j not in replaced and j not in empty]
    own = set(nan_columns(rules.terms).tolist())
    specs += [TermSpec("missing", (j,)) for j in with_nan.tolist() if j not in own]
    return tuple(specs), columns if rules.missing == "error" else replace(columns, gaps="zero")


def ask_about_columns(doubts: Mapping[int, str], name: Naming, stacklevel: int) -> None:
    """Warn about columns of text that may be a mistake."""
    for j, doubt in doubts.items():
        warnings.warn(f"Column {name(j)} {doubt}", UserWarning, stacklevel=stacklevel)


def index_doubt(X: Matrix, names: Sequence[str] | Labels | None) -> dict[int, str]:
    """Why the first column may be a mistake: `DataFrame.to_csv` writes the index too, without index=False."""
    if names is None or not len(names) or is_sparse(X) or str(names[0]) not in _INDEX_NAMES:
        return {}
    numbers = column_values(X, [0])
    if np.any(numbers != np.round(numbers)) or np.unique(numbers).size < len(numbers):
        return {}
    return {0: "has no name and a different whole number in every row. Is it the index of a data frame? Leave it out."}


def found_nan(X: Matrix, name: Naming, allowed: Indices | None = None) -> Indices:
    """The columns with NaN, which must be among those allowed, if these are given. Infinity is refused."""
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if values.dtype.kind != "f" or np.isfinite(values.sum()):
            return np.zeros(0, dtype=np.int64)
        assert_all_finite(X, allow_nan=True, input_name="X")
    if is_sparse(X):
        found = np.unique(X.indices[np.isnan(X.data)]).astype(np.int64)
    else:
        found = np.flatnonzero(np.any([np.isnan(X[rows]).any(axis=0) for rows in row_blocks(X)], axis=0))
    if allowed is not None:
        refuse_nan(np.setdiff1d(found, allowed), name)
    return found


def refuse_nan(columns: Indices, name: Naming) -> None:
    """Raise an error if there are columns with NaN."""
    if columns.size:
        raise ValueError(
            f"Input X contains NaN in column {name(int(columns[0]))}, which has no weight for missing values. Pass "
            "missing='own', or fill it in, for example by sklearn.impute.SimpleImputer."
        )


def without_gaps(X: Matrix, encoder: Encoder, name: Naming) -> Matrix:
    """X with values for numbers that are NaN and have no weight for it, as a copy if there are any."""
    gaps = encoder.columns.gaps
    found = found_nan(X, name, encoder.nan_columns if gaps == "error" else None)
    filled = np.setdiff1d(found[encoder.is_number[found]], encoder.nan_columns)
    if not filled.size:
        return X
    value = np.zeros(X.shape[1])
    value[filled] = [encoder.value_of_gap(j) for j in filled.tolist()]
    X = X.copy()  # type: ignore[union-attr]
    if is_sparse(X):
        places = np.flatnonzero(np.isnan(X.data) & np.isin(X.indices, filled))
        X.data[places] = value[X.indices[places]]
        return X
    for j in filled.tolist():
        X[np.isnan(X[:, j]), j] = value[j]
    return X


def refuse_other_text(columns: Columns, categories: set[int], name: Naming) -> None:
    """Refuse columns of text that are not to be categories."""
    for j, levels in zip(columns.of_text, columns.levels, strict=True):
        if j not in categories and levels.size:
            raise ValueError(
                f"Column {name(j)} holds text, such as {levels[0]!r:.50}, and categorical= does not include it. Pass "
                "categorical='auto', add the column to the list, or leave it out."
            )
