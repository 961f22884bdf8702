"""Labels as NumPy holds them: whole numbers if all are, else numbers if all are, else the text as it stands.

Whole numbers of 2^53 and more stay text: float64 holds only some of them, and would make one label of two.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A number as files have it, for Python's re and for Arrow's: both take more than this for a number (1_0, digits of any
# script), and with it two labels for one.
NUMBER = r"^[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*$"
_WHOLE = r"[ \t]*[+-]?[0-9]+[ \t]*"
# Longer texts are kept as Python's own: NumPy would give every label the room of the longest.
_LONGEST_FIXED = 64


def number_labels(values: NDArray[np.float64], *, whole: bool) -> NDArray[Any]:
    """Labels that are all numbers."""
    return values.astype(np.int64) if whole else values


def text_labels(texts: list[str]) -> NDArray[Any]:
    """Labels of which some are no numbers."""
    longest = max(map(len, texts), default=0)
    return np.array(texts, dtype=str if longest <= _LONGEST_FIXED else object)


def labels_of(texts: list[str]) -> NDArray[Any]:
    """Labels of any kind, from their text."""
    if not all(map(_is_exact, set(texts))):
        return text_labels(texts)
    values = np.array(texts, dtype=str).astype(np.float64) if texts else np.empty(0)
    return number_labels(values, whole=bool(((values == np.rint(values)) & (np.abs(values) < 2.0**53)).all()))


def _is_exact(text: str) -> bool:
    """Whether this is a finite number, and no other label becomes the same one."""
    if not re.match(NUMBER, text):
        return False
    return abs(float(text)) < (2.0**53 if re.fullmatch(_WHOLE, text) else np.inf)
