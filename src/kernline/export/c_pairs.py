"""Tables of pairs of features as C: the place of a value on each axis, and bilinear interpolation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..array_types import Array
from ..pair_functions import PairFunction, StackedPairs
from .c_literals import table


def pair_tables(pairs: Sequence[PairFunction], name: str) -> Iterator[str]:
    """The points and places of every axis in use, and the values of all tables."""
    stacked = StackedPairs.of(pairs)
    for k, (_, axis) in enumerate(stacked.axes):
        yield from table("double", f"{name}_points{k}", axis.points)
        yield from table("double", f"{name}_places{k}", axis.places)
    yield from table("double", f"{name}_pairs", stacked.values)


def pair_code(pairs: Sequence[PairFunction], gaps: Array | None) -> str:
    """The code that adds all tables; `gaps` are the values that NaN counts as (`gap_values`)."""
    stacked = StackedPairs.of(pairs)
    lines = [f"  double place[{len(stacked.axes)}];"]
    for k, (column, axis) in enumerate(stacked.axes):
        kind = "number" if axis.is_number else "level"
        points = f"NAME_points{k}, NAME_places{k}, {axis.points.size}, {axis.size}"
        value = f"x[{column}]"
        if gaps is not None and not np.isnan(gaps[column]):
            value = f"{value} != {value} ? NAME_gaps[{column}] : {value}"
        lines.append(f"  place[{k}] = NAME_place_of_{kind}({points}, {value});")
    for first, (a, b) in zip(stacked.first.tolist(), stacked.sides.tolist(), strict=True):
        sizes = f"{stacked.axes[a][1].size}, {stacked.axes[b][1].size}"
        lines.append(
            f"  NAME_add_pair(NAME_pairs + (size_t){first} * N_SCORES, {sizes}, place[{a}], place[{b}], sums);"
        )
    return "\n".join([*lines, ""])


PAIR_CODE = """
/* Where a number lies on an axis, straight between n increasing points; NaN is at the end. */
static inline double NAME_place_of_number(const double *point, const double *place, int n, int size, double x) {
  int low = 0, high = n;
  if (x != x) return size;
  if (x < point[0]) return place[0];
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (point[middle] <= x) low = middle; else high = middle;
  }
  if (low == n - 1) return place[low];
  return place[low] + (x - point[low]) * ((place[low + 1] - place[low]) / (point[low + 1] - point[low]));
}

/* The place of a level; others are at the end. */
static inline double NAME_place_of_level(const double *point, const double *place, int n, int size, double x) {
  const int at = NAME_position_levels(point, n, x);
  return at < 0 ? size : place[at];
}

/* Add a table of (size_a + 1) x (size_b + 1) places, straight between places. */
static inline void NAME_add_pair(const double *values, int size_a, int size_b, double a, double b, double *sums) {
  const int i = (int)a < size_a ? (int)a : size_a - 1, j = (int)b < size_b ? (int)b : size_b - 1;
  const size_t row = (size_t)(size_b + 1) * N_SCORES;
  const double *here = values + (size_t)i * row + (size_t)j * N_SCORES, *next = here + row;
  a -= i;
  b -= j;
  for (int p = 0; p < N_SCORES; ++p) {
    const double low = (1.0 - b) * here[p] + b * here[N_SCORES + p];
    const double high = (1.0 - b) * next[p] + b * next[N_SCORES + p];
    sums[p] += (1.0 - a) * low + a * high;
  }
}
"""
