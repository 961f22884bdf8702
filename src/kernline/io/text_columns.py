"""Columns of text in tables: what a column of a text file holds, and texts as the numbers of their levels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array
from ..encoding.frames import text_of
from .labels import number_pattern

if TYPE_CHECKING:
    from .arrow_types import Column, DictionaryColumn

Kind = Literal["number", "loose number", "boolean", "text"]

# What pandas.read_csv takes for missing, and the question mark of the UCI repository.
MISSING = (
    *("", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
    *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
_MISSING = frozenset(MISSING)
_BOOLEANS = {"true": 1.0, "false": 0.0}
# A column with more distinct numbers than this, and fewer distinct texts, is one of numbers with errors in it.
_MANY_NUMBERS = 50


def kind_of(column: Column, *, skips: bool, decimal: str = ".") -> Kind:
    """What a column of text holds. With `skips`, the rarer of numbers and texts are errors; otherwise, numbers among
    texts are levels as they are, unless there are many.
    """
    texts = _distinct(column)[1]
    trimmed = {text.strip() for text in texts}
    words = trimmed - _MISSING
    pattern = number_pattern(decimal)
    n_numbers = sum(re.match(pattern, word) is not None for word in words)
    n_texts = len(words) - n_numbers
    if not n_texts:
        is_plain = trimmed == set(texts) or not _MISSING & (trimmed - set(texts))
        return "number" if is_plain else "loose number"
    if not n_numbers and {word.lower() for word in words} <= set(_BOOLEANS):
        return "boolean"
    is_damaged = any("\0" in word for word in words)
    if is_damaged or (n_numbers >= n_texts and (skips or n_numbers > _MANY_NUMBERS)):
        return "loose number"
    return "text"


def booleans(column: Column) -> tuple[Array, NDArray[np.bool_]]:
    """1 for true and 0 for false, NaN for missing values; and which rows hold something else."""
    codes, texts = _distinct(column)
    words = [text.strip() for text in texts]
    numbers = np.array([*(_BOOLEANS.get(word.lower(), np.nan) for word in words), np.nan])
    bad = np.array([*(word not in _MISSING and word.lower() not in _BOOLEANS for word in words), False])
    return numbers[codes], bad[codes]


class Levels:
    """The texts of a column, in the order in which they were found, and the number of each.

    With `known` levels, the texts are these, and every other one has the number after the last. `missing` texts, and
    nulls, are NaN. `clean` makes a text from a value: white space around it is not part of it.
    """

    def __init__(
        self,
        known: Sequence[str] | None = None,
        missing: Iterable[str] = ("",),
        clean: Callable[[str], str] = str.strip,
    ) -> None:
        self.number = {text: k for k, text in enumerate(known or ())}
        self.grows, self.missing, self.clean = known is None, frozenset(missing), clean

    def numbers(self, column: Column) -> Array:
        """The number of each text."""
        codes, texts = _distinct(column)
        return np.array([*map(self._number, texts), np.nan])[codes]

    def _number(self, text: str) -> float:
        text = self.clean(text)
        if text in self.missing:
            return np.nan
        return float(self.number.setdefault(text, len(self.number)) if self.grows else self._known(text))

    def _known(self, text: str) -> int:
        return self.number.get(text, len(self.number))


def _distinct(column: Column) -> tuple[NDArray[np.int64], list[str]]:
    """The number of each row's text, -1 for null, and the texts."""
    encoded = cast("DictionaryColumn", column) if hasattr(column, "dictionary") else column.dictionary_encode()
    indices = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return indices.astype(np.int64), list(map(_text, encoded.dictionary.to_pylist()))


def _text(value: str | float | None) -> str:
    """A value as text; numbers are those of a column that is to be read as text."""
    if isinstance(value, str | bool):
        return str(value)
    return "" if value is None or value != value else text_of(float(value))
