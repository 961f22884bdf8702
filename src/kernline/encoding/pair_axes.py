"""The axes of tables of pairs of columns, and the places of rows on them.

An axis of a number has some of the knots of the column's curve, so that what a table says of one column alone can be
moved into its curve exactly (pair_functions.py): each of its values if they are few, else eight. An axis of a category
has its most frequent levels. The last place of every axis is for all else: gaps, other levels, and levels that the
training data does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Indices
from .encoded_data import EncodedData
from .encoder import Encoder
from .terms import TableTerm

_MOST_POINTS = 8
_MOST_LEVELS = 15
# Codes from one point of a number's axis to the next, and the code of no place, as the core has them.
STEPS, NO_PLACE = 32, 255
_BLOCK_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class PairAxis:
    """Places of the values of one column: between points, linear; or at levels, exact.

    `points` are values of the column, which increase, and `places` where on the axis they are, 0 to size − 1. A number
    below the first or above the last point counts as that point. `size` is the place of all else.
    """

    is_number: bool
    points: Array
    places: Array
    size: int

    def places_of(self, values: Array) -> Array:
        """The place of each value."""
        if self.is_number:
            found = np.interp(values, self.points, self.places)
            return np.where(np.isnan(values), float(self.size), found)
        at = np.minimum(np.searchsorted(self.points, values), self.points.size - 1)
        return np.where(self.points[at] == values, self.places[at], float(self.size))

    def check(self) -> None:
        """Raise ValueError unless the fields are such as `pair_columns` leaves: files can hold anything."""
        if type(self.is_number) is not bool or type(self.size) is not int:
            raise ValueError("an axis must say whether it is one of a number, and how many places it has.")
        for name, array in (("points", self.points), ("places", self.places)):
            if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != 1:
                raise ValueError(f"the {name} of an axis must be an array of float64 of one dimension.")
        if self.points.size != self.places.size or not self.points.size or not 1 <= self.size <= 4096:
            raise ValueError("an axis must have as many places as points.")
        if not np.isfinite(self.points).all() or not (self.points[1:] > self.points[:-1]).all():
            raise ValueError("the points of an axis must be finite and increase.")
        if not ((self.places >= 0.0) & (self.places <= self.size - 1)).all():
            raise ValueError("the places of an axis lie beyond it.")


@dataclass(frozen=True)
class PairColumn:
    """A column that pairs may use: its axis, and the slots of its curve at the axis's points (numbers only)."""

    column: int
    axis: PairAxis
    slots: NDArray[np.int64]  # of a number
    solver_columns: Indices  # of the levels on the axis, of a category
    codes_of_cells: NDArray[np.uint8]  # of a number: the place's code for every code of the encoder


def pair_columns(encoder: Encoder, width: int, data: EncodedData) -> list[PairColumn]:
    """The columns of an encoder that can be paired: numbers that vary, whose curves have `width` slots; categories."""
    numbers = np.flatnonzero(encoder.is_number & (encoder.factors > 0.0))
    assert encoder.grid is not None
    used = _used_codes(data, numbers, encoder.grid.values.size)
    found = [_number(encoder, int(j), width, codes) for j, codes in zip(numbers, used, strict=True)]
    counts = None
    for term, start in zip(encoder.terms, encoder.term_start, strict=True):
        if term.kind == "category" and isinstance(term, TableTerm):
            counts = _cell_counts(data) if counts is None else counts
            found.append(_category(term, start, counts[start : start + term.n_columns]))
    return sorted(found, key=lambda one: one.column)


def place_codes(columns: list[PairColumn], data: EncodedData) -> NDArray[np.uint8]:
    """The places of all rows, (n_rows, n_columns): numbers in steps of 1 / STEPS."""
    out = np.full((data.n_rows, len(columns)), NO_PLACE, dtype=np.uint8)
    for rows in _row_blocks(data):
        _place_codes(columns, data[rows], out[rows])
    return out


def _row_blocks(data: EncodedData) -> Iterator[slice]:
    """Rows that are looked at together: a column of sparse ones needs a copy of them."""
    return (slice(begin, begin + _BLOCK_ROWS) for begin in range(0, data.n_rows, _BLOCK_ROWS))


def _place_codes(columns: list[PairColumn], data: EncodedData, out: NDArray[np.uint8]) -> None:
    csc = None if data.is_dense else data.to_csr().tocsc()
    for k, one in enumerate(columns):
        if one.axis.is_number:
            if csc is None:
                out[:, k] = one.codes_of_cells[data.cells[:, one.column]]
            else:
                out[:, k] = one.codes_of_cells[0]
                here = slice(csc.indptr[one.column], csc.indptr[one.column + 1])
                out[csc.indices[here], k] = one.codes_of_cells[csc.data[here]]
            continue
        for place, column in enumerate(one.solver_columns):
            if csc is None:
                out[data.cells[:, column] != 0, k] = place
            else:
                out[csc.indices[csc.indptr[column] : csc.indptr[column + 1]], k] = place


def _used_codes(data: EncodedData, numbers: Indices, n_codes: int) -> list[Indices]:
    """The codes that occur in each of these columns."""
    present = np.zeros((numbers.size, n_codes), dtype=bool)
    for rows in _row_blocks(data):
        for of_column, column in zip(present, data[rows].dense_cells(numbers).T, strict=True):
            of_column[column] = True
    return [np.flatnonzero(of_column) for of_column in present]


def _number(encoder: Encoder, j: int, width: int, used: Indices) -> PairColumn:
    assert encoder.grid is not None
    number = encoder.number(j)
    assert number is not None
    values = encoder.grid.values
    step = (values.size - 1) // (width - 1)
    knots = values[::step]
    if number.points is not None and number.points[0].size <= _MOST_POINTS:
        slots = np.searchsorted(knots, number.points[1] - 1e-9)
    elif number.points is None and 2 <= used.size <= _MOST_POINTS and not (used % step).any():
        slots = used // step
    else:
        slots = np.round(np.linspace(0, knots.size - 1, min(_MOST_POINTS, knots.size))).astype(np.int64)
    place_of_u = np.interp(values, knots[slots], np.arange(slots.size))
    if number.points is not None:
        edges, levels = number.points
        points, places = edges, np.interp(levels, knots[slots], np.arange(slots.size))
    else:
        points, places = number.values_at(knots[slots]), np.arange(slots.size, dtype=np.float64)
    axis = PairAxis(True, np.asarray(points, dtype=np.float64), places, slots.size)
    codes = np.round(place_of_u * STEPS).astype(np.uint8)
    return PairColumn(j, axis, slots, np.zeros(0, dtype=np.int64), codes)


def _category(term: TableTerm, start: int, counts: Indices) -> PairColumn:
    kept = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])
    axis = PairAxis(False, term.axes[0].points[kept], np.arange(kept.size, dtype=np.float64), kept.size)
    empty = np.zeros(0, dtype=np.int64)
    return PairColumn(term.columns[0], axis, empty, start + kept, np.zeros(0, dtype=np.uint8))


def _cell_counts(data: EncodedData) -> Indices:
    if data.is_dense:
        return np.count_nonzero(data.cells, axis=0)
    counts = [np.bincount(data[rows].entries()[1], minlength=data.n_columns) for rows in _row_blocks(data)]
    return np.sum(counts, axis=0, dtype=np.int64)
