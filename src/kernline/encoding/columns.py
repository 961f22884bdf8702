"""Columns: what a fit learnt of the columns of its table, and new rows as the matrix that the encoder reads.

A column of text becomes the numbers of its levels, 0, 1, …, in the order of their names, or of the categories of its
type. A text that the training data does not hold has no cell, so it adds nothing; neither does a missing value where
the training data had none, if the column is a category.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..array_types import Array, Labels, Numbers, is_sparse
from ..caching import cached_property
from ..suggestions import did_you_mean
from .frames import DATE_ADVICE, INEXACT, Coded, Column, as_table, column_at, number_of, text_of
from .level_table import LevelTable, text_refused

# What NaN counts as in a number that was never missing in training.
Gaps = Literal["error", "zero", "middle"]
# From so many texts on, a column with another one in every row is an identifier, and it is asked whether texts should
# be numbers.
_IDENTIFIER, _MANY_TEXTS = 20, 50
# Texts of a column that are looked at to tell numbers and dates.
_TEXTS_LOOKED_AT = 2000
# Of `kernline.io.read`, of pandas.read_csv, and an option of the command line.
_COMMAS = "To use them as numbers, read the file with decimal=','."
# 2020-09-18, 18.9.2020, 9/18/20, with or without a time.
_DATE = re.compile(r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d\d|\d{4}))([ T]\d.*)?")


@dataclass(frozen=True, eq=False)
class Columns:
    """The input columns of text, with the names of their levels; and what a number counts as where it is missing.

    Level k of column `of_text[i]` is called `levels[i][k]`. All other columns are numbers, and so are their levels if
    they are categories. `gaps` is for numbers without a weight for NaN: an error, zero, or the middle of the training
    values.
    """

    of_text: tuple[int, ...] = ()
    levels: tuple[Labels, ...] = ()
    gaps: Gaps = "error"

    def names(self, j: int) -> list[str] | None:
        """The names of the levels of column j, None if these are numbers."""
        return self.levels[self.of_text.index(j)].tolist() if j in self.of_text else None

    def matrix(self, X: Any) -> Any:
        """New rows X, with the columns of the fit, as numbers; X itself if it is numbers already."""
        table: Any = as_table(X)
        if table is None and self.of_text:
            table = X
        if table is None:
            return X
        readers = {j: (levels, self._positions[j]) for j, levels in zip(self.of_text, self.levels, strict=True)}
        if not hasattr(table, "columns"):
            table = np.asarray(table.toarray() if hasattr(table, "toarray") else table)
        if len(table.shape) != 2:
            raise ValueError(
                f"Expected 2D array, got {len(table.shape)}D array instead. Pass a table with the columns of the fit; "
                "one row is X.reshape(1, -1), or a data frame of one row."
            )
        name, found = naming(table), []
        for j in range(table.shape[1]):
            values = column_at(table, j, name(j), parse=j not in readers, exact=j in readers).values
            found.append(_level_numbers(values, *readers[j], name(j)) if j in readers else _numbers(values, name(j)))
        return stacked(found, table.shape[0])

    def column(self, j: int, values: ArrayLike, name: str) -> ArrayLike:
        """Values of column j alone, as numbers."""
        if j not in self.of_text:
            return values
        names = self.levels[self.of_text.index(j)]
        column = np.asarray(values, dtype=object).reshape(-1, 1)
        return _level_numbers(column_at(column, 0, name, parse=False).values, names, self._positions[j], name)

    @cached_property
    def _positions(self) -> dict[int, dict[str, float]]:
        """The number of each level, by its name: made once, as there may be many levels and small batches of rows."""
        return {
            j: {text: float(k) for k, text in enumerate(levels.tolist())}
            for j, levels in zip(self.of_text, self.levels, strict=True)
        }

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in self.__dict__.items() if key != "_positions"}

    def check(self, n_features: int) -> None:
        """Raise ValueError unless the fields are such as a fit leaves: files can hold anything."""
        if not isinstance(self.of_text, tuple) or not isinstance(self.levels, tuple):
            raise ValueError("the columns of text must be a tuple, and their levels too.")
        if not all(type(j) is int and 0 <= j < n_features for j in self.of_text):
            raise ValueError("a column of text is none of the input.")
        if len(set(self.of_text)) < len(self.of_text) or len(self.levels) != len(self.of_text):
            raise ValueError("there must be one list of levels for each column of text.")
        for names in self.levels:
            if not isinstance(names, np.ndarray) or names.dtype != object or names.ndim != 1:
                raise ValueError("the names of levels must be an array of texts.")
            if not all(type(text) is str for text in names) or len(set(names)) < len(names):
                raise ValueError("the names of levels must be texts, each once.")
        if self.gaps not in ("error", "zero", "middle"):
            raise ValueError(f"gaps of kind {self.gaps!r:.50} are not known.")


class TrainingTable(NamedTuple):
    """A table as `fit` uses it: a matrix, and what its columns hold.

    `declared` are the columns whose types or texts make them categories, `doubts` why columns of text may be a mistake.
    """

    matrix: Any
    columns: Columns
    declared: list[int]
    doubts: dict[int, str]


def read_training(X: Any, categorical: object = "auto", *, is_whole: bool = True) -> TrainingTable:
    """The table to fit to; X itself if it is numbers. `categorical` is as for `chosen_columns`.

    Of a whole table, not a batch, identifiers keep no levels: every text counts as one that training has not seen.
    """
    table: Any = as_table(X)
    exact = _named_categories(X, categorical)
    if table is None and _has_large_integers(X, exact):
        table = X
    if table is None:
        return TrainingTable(X, Columns(), [], {})
    name = naming(table)
    found: list[Numbers] = []
    texts: dict[int, Labels] = {}
    declared: list[int] = []
    doubts: dict[int, str] = {}
    for j in range(table.shape[1]):
        column = column_at(table, j, name(j), exact=j in exact)
        coded = column.values
        if isinstance(coded, Coded):
            doubt = doubt_about(coded)
            doubts |= {} if doubt is None else {j: doubt}
            if is_whole and is_identifier(len(coded.texts), np.count_nonzero(coded.codes >= 0)):
                coded = Coded(np.minimum(coded.codes, 0), [])
                column = Column(coded)
            texts[j] = np.array(coded.texts, dtype=object)
        if column.is_category or j in texts:
            declared.append(j)
        found.append(_as_numbers(column))
    columns = Columns(tuple(texts), tuple(texts.values()))
    return TrainingTable(stacked(found, table.shape[0]), columns, declared, doubts)


def naming(table: Any) -> Callable[[int], str]:
    """How messages name the columns of a table: by name, or by number if they have none."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    return str if names is None else lambda j: repr(str(names[j]))


@contextmanager
def naming_text(X: object) -> Iterator[None]:
    """Name the column that holds text if X cannot be converted to numbers; NumPy reports only the text."""
    try:
        yield
    except ValueError as error:
        table: Any = as_table(X) if str(error).startswith("could not convert string to float") else None
        if table is None:
            raise
        name = naming(table)
        for j in range(table.shape[1]):
            values = column_at(table, j, name(j)).values
            if isinstance(values, Coded) and any(number_of(text) is None for text in values.texts):
                raise ValueError(text_refused(name(j))) from error
        raise


def stacked(columns: Sequence[Numbers], n_rows: int) -> Numbers:
    """Columns side by side: float32 if that holds every value, else float64."""
    narrow = all(np.can_cast(column.dtype, np.float32) for column in columns)
    matrix = np.empty((n_rows, len(columns)), dtype=np.float32 if narrow else np.float64, order="F")
    for j, column in enumerate(columns):
        matrix[:, j] = column
    return matrix


def chosen_columns(categorical: object, declared: Sequence[int], names: Labels | None, n_features: int) -> list[int]:
    """The columns that `categorical` makes categories: "auto", None, a mask, or a list of numbers or names."""
    if isinstance(categorical, str):
        return list(declared)
    wanted = np.asarray([] if categorical is None else categorical)
    if wanted.ndim != 1:
        raise ValueError(f"categorical: expected a list of columns or a mask; got an array of shape {wanted.shape}.")
    if wanted.size == 0:
        return []
    if wanted.dtype.kind == "b":
        if wanted.size != n_features:
            raise ValueError(f"categorical: a mask of {wanted.size} values, and X has {n_features} columns.")
        return np.flatnonzero(wanted).tolist()
    if wanted.dtype.kind in "iu":
        outside = wanted[(wanted < 0) | (wanted >= n_features)]
        if outside.size:
            raise ValueError(f"categorical: there is no column {outside[0]}. There are {n_features}, numbered from 0.")
        return np.unique(wanted).tolist()
    return _places(wanted.tolist(), names)


def _named_categories(X: Any, categorical: object) -> list[int]:
    """The columns of an array or a data frame that a list or a mask makes categories."""
    if isinstance(categorical, str) or isinstance(X, LevelTable) or len(getattr(X, "shape", ())) != 2:
        return []
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return chosen_columns(categorical, [], None if names is None else np.array(list(names), dtype=object), X.shape[1])


def _has_large_integers(X: Any, columns: Sequence[int]) -> bool:
    """Whether one of these columns of numbers holds integers that float64 may round."""
    if is_sparse(X):
        return False
    values = [column_at(X, j, str(j)).values for j in columns]
    wide = [one for one in values if isinstance(one, np.ndarray) and one.dtype.itemsize == 8]
    return any(((one >= INEXACT) | (one <= -INEXACT)).any() for one in wide)


def _places(wanted: list[object], names: Labels | None) -> list[int]:
    """The numbers of columns given by name."""
    if names is None:
        raise ValueError(
            f"categorical: {wanted[0]!r} is a name, and the columns of X have none. Pass a data frame, or numbers of "
            "columns."
        )
    known = {str(name): j for j, name in enumerate(names)}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        listed = ", ".join(list(known)[:20]) + (", …" if len(known) > 20 else "")
        raise ValueError(
            f"categorical: there is no column {unknown[0]!r}. {did_you_mean(unknown[0], known)}There are: {listed}."
        )
    return sorted({known[str(name)] for name in wanted})


def _as_numbers(column: Column) -> Numbers:
    """Numbers as they are; texts as the number of each."""
    if not isinstance(column.values, Coded):
        return column.values
    codes, texts = column.values
    if len(texts) >= 1 << 24:  # float32 does not hold all of them
        return np.where(codes < 0, np.nan, codes)
    return np.where(codes < 0, np.float32(np.nan), codes.astype(np.float32))


def _level_numbers(values: Numbers | Coded, names: Labels, position: dict[str, float], place: str) -> Array:
    """The level of each row of a column that was text in training: len(names), which has no cell, if unseen."""
    if not isinstance(values, Coded):
        values = _written(values, names, place)
    lookup = np.array([*(position.get(text, float(len(names))) for text in values.texts), np.nan])
    return lookup[values.codes]


def _written(values: Numbers, names: Labels, place: str) -> Coded:
    """Numbers as text, for a column that held text in training. Some of that must have been numbers too."""
    present = ~np.isnan(values)
    distinct, inverse = np.unique(values[present], return_inverse=True)
    if distinct.size:
        check_kind(names, f"{distinct[0]:g}", place)
    codes = np.full(values.shape, -1, dtype=np.int64)
    codes[present] = inverse
    return Coded(codes, [text_of(number) for number in distinct.tolist()])


def check_kind(names: Labels, number: str, place: str) -> None:
    """Raise an error if a column that now holds only numbers held no number in training."""
    if names.size and not any(number_of(text) is not None for text in names):
        raise ValueError(
            f"Column {place} held text in training, such as {names[0]!r:.50}, and now holds numbers, such as {number}. "
            "Pass the column that the model was fitted on, or fit it again."
        )


def _numbers(values: Numbers | Coded, place: str) -> Numbers:
    """A column that held numbers in training. Numbers that are written as text are converted."""
    if not isinstance(values, Coded):
        return values
    numbers = [number_of(text) for text in values.texts]
    if None in numbers:
        text = values.texts[numbers.index(None)]
        advice = _COMMAS if _has_decimal_comma(text) else "Pass numbers, or fit the model again."
        raise ValueError(f"Column {place} held numbers in training, and now holds text, such as {text!r:.50}. {advice}")
    return np.array([*numbers, np.nan], dtype=np.float64)[values.codes]


def _has_decimal_comma(text: str) -> bool:
    return number_of(text) is None and number_of(text.replace(",", ".", 1)) is not None


def is_identifier(n_texts: int, n_present: int | np.integer) -> bool:
    """Whether a column has so many texts, and no two rows the same: no level of it can be learnt from."""
    return _IDENTIFIER <= n_texts == n_present


def doubt_about(column: Coded) -> str | None:
    """Why a column of many texts may be a mistake: numbers that were read as text, or an identifier."""
    misread = _misread(column.texts) if len(column.texts) >= _MANY_TEXTS else None
    if misread is None and is_identifier(len(column.texts), np.count_nonzero(column.codes >= 0)):
        return (
            "has a different text in every row, so nothing can be learnt from it, and the model does not use it. Is "
            "it an identifier? Leave it out."
        )
    return misread


def _misread(texts: Sequence[str]) -> str | None:
    """What texts that are numbers or dates should be."""
    n_texts = len(texts)
    some = texts[:: -(-n_texts // _TEXTS_LOOKED_AT)]
    others = [text for text in some if number_of(text) is None]
    advice = "As text they are categories; for a curve, convert the column to numbers."
    if sum(map(_has_decimal_comma, others)) > 0.9 * len(some):
        return (
            f"holds numbers with decimal commas, such as {others[0]!r:.50}, in {n_texts:,} different texts. {_COMMAS}"
        )
    if sum(_DATE.fullmatch(text) is not None for text in others) > 0.9 * len(some):
        return f"holds dates as text, such as {others[0]!r:.50}, in {n_texts:,} different texts. {DATE_ADVICE}."
    if len(others) < 0.2 * len(some):  # a few others among numbers may be none of these
        some = texts
        others = [text for text in some if number_of(text) is None]
    if 0 < len(others) < 0.1 * len(some):
        return f"is text because of {others[0]!r:.50}; other values are numbers, {n_texts:,} in all. {advice}"
    if not others and any("." in text for text in texts):
        return f"holds numbers as text, such as {texts[0]!r:.50}, in {n_texts:,} different texts. {advice}"
    return None
