"""Labels as arrays: integers if all labels are integers, else floats if all are numbers, else text.

Integers of 2^53 and more stay text: float64 represents only some of them, and two labels could become one.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Labels

# A number in a file, as a pattern for Python's re and for Arrow's. Their own parsers accept more (1_0, digits of other
# scripts), so that two labels could become one.
NUMBER = r"^[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*$"
_WHOLE = r"[ \t]*[+-]?[0-9]+[ \t]*"
# Longer texts stay Python objects: NumPy would give every label the size of the longest.
_LONGEST_FIXED = 64


def number_labels(values: Array, *, whole: bool) -> Labels:
    """Labels that are all numbers."""
    return values.astype(np.int64) if whole else values


def text_labels(texts: list[str]) -> Labels:
    """Labels of which some are not numbers."""
    longest = max(map(len, texts), default=0)
    return np.array(texts, dtype=str if longest <= _LONGEST_FIXED else object)


def number_pattern(decimal: str) -> str:
    """The pattern of a number with this decimal point."""
    return NUMBER.replace(r"\.", re.escape(decimal))


def labels_of(texts: list[str], decimal: str = ".") -> Labels:
    """Labels of any kind, from their text."""
    pattern = number_pattern(decimal)
    if decimal != "." and all(re.match(pattern, text) for text in set(texts)):
        texts = [text.replace(decimal, ".") for text in texts]
    if not all(map(_is_exact, set(texts))):
        return text_labels(texts)
    values = np.array(texts, dtype=str).astype(np.float64) if texts else np.empty(0)
    return number_labels(values, whole=bool(((values == np.rint(values)) & (np.abs(values) < 2.0**53)).all()))


def with_gaps(labels: Labels, present: NDArray[np.bool_]) -> Labels | None:
    """Labels of all rows, from those of the rows that have one: NaN, or None among texts, where there is none."""
    if not len(labels):
        return None
    is_number = labels.dtype.kind in "iuf"
    spread: Labels = np.full(len(present), np.nan if is_number else None, dtype=np.float64 if is_number else object)
    spread[present] = labels
    return spread


def _is_exact(text: str) -> bool:
    """Whether this is a finite number that float64 distinguishes from all other labels."""
    if not re.match(NUMBER, text):
        return False
    return abs(float(text)) < (2.0**53 if re.fullmatch(_WHOLE, text) else np.inf)
