"""Whether the columns of a table are of one unit, as pixels, counts and fractions are.

Values of one unit keep their proportions: a kernel on raw values is meaningful, and rescaling columns would amplify
those that hardly vary. Otherwise the column of the largest numbers would decide alone. Numbers do not tell their unit
with certainty, so columns are taken to be of one unit only if

    no value is negative, a fifth of the values or more are zero, and the columns' maxima are comparable, or
    no value is negative, and all rows have the same sum, or the same length: they are normalised histograms

Tables of measurements have few zeros, or different maxima. Of a sparse matrix, only the sizes are compared: whoever
stores it so has seen the zeros, and negative values are those of signed hashes, or of columns scaled before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..array_types import Array, Numbers
from ..number_text import short
from .column_range import ColumnRange

_LEAST_ZEROS = 0.2
# The largest maximum is compared with the lower quartile: some pixels are hardly ever inked, and most words occur once.
_LARGEST_RATIO = 50.0
# One in so many columns may exceed the ratio: a text can repeat a word any number of times.
_OUTLIERS = 100
# Rows whose sums are compared, at least and at most, and by how much they may differ.
_FEWEST_ROWS, _MOST_ROWS, _ROUNDING = 10, 1000, 1e-3


class Units(NamedTuple):
    """The decision, and why, as part of a sentence; `differ` if some columns are far larger than others."""

    is_one: bool
    reason: str
    differ: bool = False


def units_of(found: ColumnRange, n_rows: int, *, sparse: bool = False, rows: Numbers | None = None) -> Units:
    """Decide whether the columns of this range are of one unit; `rows` are some of them, dense."""
    lowest = float(found.minimum.min(initial=0.0))
    if lowest < 0.0 and not sparse:
        return Units(False, f"there are negative values, down to {short(lowest)}")
    if rows is not None and (what := _shared_by_all(rows)):
        return Units(True, f"no value is negative, and all rows have the same {what}")
    low, high = _typical_sizes(np.maximum(found.maximum, -found.minimum))
    if high > _LARGEST_RATIO * low:
        return Units(False, f"the columns' ranges differ, from about {short(low)} to {short(high)}", differ=True)
    if sparse:
        return Units(True, "the matrix is sparse, and the columns' ranges are comparable")
    zeros = 1.0 - found.density(n_rows)
    if zeros < _LEAST_ZEROS:
        return Units(False, f"only {zeros:.0%} of the values are zero")
    return Units(True, f"no value is negative, {zeros:.0%} are zero, and the columns' ranges are comparable")


def some_rows(X: Numbers) -> Numbers:
    """As many rows as show whether all have the same sum."""
    return X[:: -(-X.shape[0] // _MOST_ROWS) or 1]


def _shared_by_all(rows: Numbers) -> str:
    """What normalised histograms have in common: "sum" or "length"; empty if these differ."""
    if rows.shape[0] < _FEWEST_ROWS:
        return ""
    values = np.asarray(rows, dtype=np.float64)
    for what, sums in (("sum", values.sum(axis=1)), ("length", np.sqrt(np.square(values).sum(axis=1)))):
        if sums.min() > 0.0 and np.ptp(sums) <= _ROUNDING * sums.max():
            return what
    return ""


def _typical_sizes(sizes: Array) -> tuple[float, float]:
    """Lower quartile and largest of the positive sizes of columns, without one in a hundred outliers."""
    positive = np.sort(sizes[sizes > 0.0])
    if not positive.size:
        return 0.0, 0.0
    return float(positive[positive.size // 4]), float(positive[-1 - positive.size // _OUTLIERS])
