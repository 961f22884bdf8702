"""Labels as NumPy holds them: whole numbers if all are, else numbers if all are, else the text as it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    try:
        values = np.array(texts, dtype=str).astype(np.float64) if len(texts) else np.empty(0)
    except ValueError:
        return text_labels(texts)
    if not np.isfinite(values).all():
        return text_labels(texts)
    return number_labels(values, whole=bool(((values == np.rint(values)) & (np.abs(values) < 2.0**53)).all()))
