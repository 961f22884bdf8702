"""Columns of a table, one at a time: as numbers, or as distinct texts and the number of its text for each row.

A table is a data frame of pandas, polars, pyarrow or a like library, an array of objects or of text, or a `LevelTable`.
None of these libraries is imported. Missing are None, NaN, NaT, pandas.NA and the empty text; "NA" and "?" are texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..array_types import Array, Indices, Numbers, is_sparse
from .level_table import LevelTable

# Kinds of NumPy types that are numbers, those that can hold text, and those that are dates and times.
_NUMBER_KINDS, _TEXT_KINDS, _DATE_KINDS = "biuf", "OUST", "mM"
_REAL = (Real, np.bool_, Decimal)
# From here on, float64 does not hold every integer.
INEXACT = 1 << 53
_DATES = (date, time, timedelta, np.datetime64, np.timedelta64)
DATE_ADVICE = "Convert it to numbers, such as days since a first date, the year, or the day of the week"

T = TypeVar("T")


class Coded(NamedTuple):
    """A column of text: for each row the number of its text, -1 where it is missing."""

    codes: Indices
    texts: Sequence[str]


class Column(NamedTuple):
    """A column as numbers (NaN: missing) or as texts; `is_category` if its type says so, whatever it holds."""

    values: Numbers | Coded
    is_category: bool = False


def is_frame(X: object) -> bool:
    """Whether X has columns with names."""
    return not isinstance(X, np.ndarray) and not is_sparse(X) and hasattr(X, "columns") and hasattr(X, "__getitem__")


def as_table(X: object) -> object | None:
    """X if its columns must be read one by one, nested lists with text as an array of objects; None if X is numbers."""
    if isinstance(X, LevelTable):
        return X
    check_is_table(X)
    if is_frame(X):
        dtypes = getattr(X, "dtypes", None)
        return None if dtypes is not None and all(map(_is_number_type, dtypes)) else X
    if isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple | np.ndarray):
        X = _array_of_lists(X)
    return X if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in _TEXT_KINDS else None


def check_is_table(X: Any) -> None:
    """Refuse records, a single row or column of a frame, and dates, which NumPy would read as something else."""
    what = ""
    if is_sparse(X):  # some matrices are dicts
        return
    if isinstance(X, Mapping):
        what = "a dict. Pass pandas.DataFrame(X), or pandas.DataFrame([X]) if it is one row."
    elif isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        what = f"a {type(X).__name__} of dicts. Pass pandas.DataFrame(X)."
    elif isinstance(X, np.ndarray) and X.dtype.names is not None:
        what = "a structured array. Pass pandas.DataFrame(X)."
    elif hasattr(X, "to_frame") and not hasattr(X, "columns"):
        what = f"a {type(X).__name__}. Pass X.to_frame() if it is a column, X.to_frame().T if it is a row of a frame."
    elif hasattr(X, "collect") and not hasattr(X, "shape"):  # of polars: a query, even whose names must be computed
        what = f"a {type(X).__name__}. Pass X.collect()."
    elif isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        what = "a masked array, whose mask would be ignored. Pass X.filled(np.nan), if masked values are missing."
    elif isinstance(X, np.ndarray) and X.dtype.kind in _DATE_KINDS:
        raise TypeError(_unknown("X", list(X.ravel()[:1]), what="Array"))
    if what:
        raise ValueError(f"Expected 2D array or data frame: X is {what}")
    names = list(getattr(X, "columns", ()))
    if hasattr(X, "iloc") and len(set(names)) < len(names):  # pandas; other libraries refuse these themselves
        (repeated, n_times), *_ = Counter(names).most_common(1)
        raise ValueError(f"X has {n_times} columns called {str(repeated)!r}. Give each column a name of its own.")
    for name, dtype in zip(names, getattr(X, "dtypes", ()), strict=False):
        if getattr(dtype, "kind", "?") in _DATE_KINDS:
            raise TypeError(_unknown(repr(str(name)), list(np.asarray(X[name]).ravel()[:1])))


def column_at(table: Any, j: int, name: str, *, parse: bool = True, exact: bool = False) -> Column:
    """Column j of what `as_table` returned; `name` is for messages.

    With `parse`, a column of an array whose texts are all numbers is these numbers: arrays have no type by column. With
    `exact`, integers that float64 does not hold become texts, so that they stay distinct.
    """
    if isinstance(table, LevelTable):
        texts = table.levels.get(j)
        return (
            Column(table.values[:, j]) if texts is None else Column(_coded(*_used(table.codes(j), list(texts))), True)
        )
    if isinstance(table, np.ndarray):
        column = _read(table[:, j], name, exact=exact)
        return _parsed(column, exact=exact) if parse and isinstance(column.values, Coded) else column
    if hasattr(table, "iloc"):
        return _read(table.iloc[:, j], name, exact=exact)
    return _read(table[list(getattr(table, "column_names", table.columns))[j]], name, exact=exact)


def category_order(table: Any, j: int, name: str) -> list[str] | None:
    """All categories of column j of a frame of pandas, in their order, if its type is a category."""
    column = table.iloc[:, j] if hasattr(table, "iloc") else None
    if column is None or not hasattr(column, "cat") or str(column.dtype) != "category":
        return None
    return [_text(value, name) for value in column.cat.categories.tolist()]


def number_of(text: str) -> float | None:
    """The number that a text is, True and False being 1 and 0; None if it is none."""
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(text.strip().lower())


def text_of(number: float) -> str:
    """The text of a number, the same for 1 and 1.0: integers become floats where a value is missing."""
    return str(int(number)) if number == int(number) else repr(float(number))


def _is_number_type(dtype: Any) -> bool:
    """Whether a column of this type of pandas or polars holds numbers or booleans."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in _NUMBER_KINDS
    is_numeric = getattr(dtype, "is_numeric", None)
    return str(dtype) == "Boolean" or bool(is_numeric is not None and is_numeric())


def _array_of_lists(rows: Sequence[object]) -> object:
    """Nested lists as an array; with text among them, each value as it is, since NumPy would make all of them text."""
    try:
        array = np.asarray(rows)
        return array if array.dtype.kind not in "UST" else np.array(rows, dtype=object)
    except (ValueError, TypeError):
        return rows  # scikit-learn words the error


def _read(column: Any, name: str, *, exact: bool = False) -> Column:
    """A column of a frame, or of an array."""
    dtype = getattr(column, "dtype", None)
    if hasattr(column, "cat") and str(dtype) == "category":
        codes, levels = column.cat.codes.to_numpy().astype(np.int64), column.cat.categories.tolist()
        return Column(_values(*_used(codes, levels), name, in_order=True, exact=True), is_category=True)
    declared = str(dtype).startswith(("Categorical", "Enum"))  # of polars
    if not hasattr(dtype, "kind"):
        if str(getattr(column, "type", "")).startswith("dictionary"):  # of pyarrow
            column, declared = column.cast(column.type.value_type), True
        column = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column, dtype=object)
    kind = column.dtype.kind
    exact = exact or declared
    if kind in _NUMBER_KINDS and not (exact and kind in "iu" and column.dtype.itemsize == 8):
        return Column(_numbers(column), declared)
    if kind not in _TEXT_KINDS + _NUMBER_KINDS:
        raise TypeError(_unknown(name, np.asarray(column).ravel()[:1].tolist()))
    return Column(_values(*_factorised(column, name), name, exact=exact), declared)


def _used(codes: Indices, levels: list[T]) -> tuple[Indices, list[T]]:
    """The levels that some row has, and the number of each row's among these."""
    used = np.zeros(len(levels) + 1, dtype=bool)  # the last is for -1
    used[codes] = True
    position = np.append(np.cumsum(used[:-1]) - 1, -1)
    return position[codes], [level for level, is_used in zip(levels, used[:-1], strict=True) if is_used]


def _numbers(column: Any) -> Numbers:
    """A column of numbers as an array; types of pandas that have a mark for missing values become float64."""
    if isinstance(column, np.ndarray) or isinstance(column.dtype, np.dtype):
        return np.asarray(column)
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _factorised(column: Any, name: str) -> tuple[Indices, list[object]]:
    """The number of each row's value, -1 for missing, and the distinct values."""
    try:
        if hasattr(column, "factorize"):  # pandas, several times faster
            codes, values = column.factorize()
            return codes.astype(np.int64), values.tolist()
        numbers: dict[object, int] = {}
        each = [-1 if is_missing(value) else numbers.setdefault(value, len(numbers)) for value in column.tolist()]
        return np.array(each, dtype=np.int64), list(numbers)
    except TypeError:  # values that cannot be compared, such as lists
        odd = next((value for value in column.tolist() if value.__hash__ is None), None)
        raise TypeError(_unknown(name, [odd])) from None


def is_missing(value: object) -> bool:
    """Whether it is None, NaN, NaT or pandas.NA."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _values(
    codes: Indices, values: list[object], name: str, *, in_order: bool = False, exact: bool = False
) -> Array | Coded:
    """Numbers if all values are numbers or empty, and there are any; else texts, sorted unless they are in order.

    With `exact`, integers from 2^53 on make a column one of texts.
    """
    are_numbers = bool(values) and all(isinstance(value, _REAL) or value == "" for value in values)
    if are_numbers and not (
        exact and any(isinstance(value, Integral) and abs(int(value)) >= INEXACT for value in values)
    ):
        numbers = [float(value) if value != "" else np.nan for value in values]  # type: ignore[arg-type]
        return np.array([*numbers, np.nan])[codes]
    return _coded(codes, [_text(value, name) for value in values], in_order=in_order)


def _coded(codes: Indices, texts: list[str], *, in_order: bool = False) -> Coded:
    """The texts, each once. The empty one is missing."""
    distinct = dict.fromkeys(text for text in texts if text)
    position = {text: k for k, text in enumerate(distinct if in_order else sorted(distinct))}
    lookup = np.array([*(position.get(text, -1) for text in texts), -1])
    return Coded(lookup[codes], list(position))


def _text(value: object, name: str) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, _REAL):
        return text_of(float(value))
    if type(value).__name__ == "Interval":  # of pandas.cut
        return str(value)
    raise TypeError(_unknown(name, [value]))


def _unknown(name: str, values: Sequence[object], what: str = "Column") -> str:
    """Why a column cannot be used."""
    value = values[0] if values else None
    if isinstance(value, _DATES) or hasattr(value, "isoformat") or hasattr(value, "to_timestamp"):
        return f"{what} {name} holds dates or times ({value!s:.40}). {DATE_ADVICE}; or to text."
    return f"Column {name} holds a {type(value).__name__}: the argument must be a string or a number in every cell."


def _parsed(column: Column, *, exact: bool) -> Column:
    """The column as numbers, if all its texts are; with `exact`, if none is too large to be."""
    coded = column.values
    assert isinstance(coded, Coded)
    numbers = [number_of(text) for text in coded.texts]
    if not numbers or None in numbers:
        return column
    values = np.array([*numbers, np.nan], dtype=np.float64)
    return column if exact and (np.abs(values) >= INEXACT).any() else Column(values[coded.codes])
