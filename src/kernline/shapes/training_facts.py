"""What a model keeps of its training rows: how far each function moves the score, and where the rows lie.

A sample of the rows is enough, and `fit` has encoded it already. Equal cells of a column are evaluated once, and of
their counts at most 32 per column are kept. From these, the facts of a curve that was edited, or moved by a later
batch, are computed again without any rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..array_types import Array, Floats, Indices
from ..encoding import EncodedData, Encoder
from ..tables import ValueTable
from .pair_statistics import PairStatistics

if TYPE_CHECKING:
    from .functions import ShapeFunctions

BINS = 32
_MOST_ROWS = 1 << 62
# The largest mark of a value where there are no codes.
_LAST_MARK = 65535
# Room for every code in a word of a column and a code.
_CODE_BITS = np.uint64(16)
# Values of cells computed at once, and most that are kept for the second pass.
_BLOCK_VALUES, _KEPT_VALUES = 100_000, 500_000
# Bins of all columns that are counted in one array, empty ones included; more are sorted.
_MOST_BINS = 4_000_000


class Cells(NamedTuple):
    """Cells that are not zero, each as a row of its own, in the order of their columns; and how often they occur."""

    rows: EncodedData
    columns: Indices
    counts: Array


@dataclass(frozen=True, eq=False)
class CellCounts:
    """How often the cells of each solver column occur in a sample of the training rows, in at most 32 bins of u.

    Entries `start[j]` to `start[j + 1]` are those of column j. A bin has the mean of its cells as its `marks` entry: a
    code, or, where values are kept instead of codes, the place in the column's range in 65535ths. Zeros are not stored.
    """

    n_rows: int  # of the sample
    start: Indices
    marks: NDArray[np.uint16]
    counts: NDArray[np.uint32]
    ranges: Array = field(default_factory=lambda: np.zeros((0, 2)))  # of u in each column; empty where there are codes

    @classmethod
    def of(cls, cells: Cells, encoder: Encoder, n_rows: int) -> CellCounts:
        """Count the cells of so many rows."""
        n_columns = encoder.n_columns
        ranges = np.zeros((0, 2))
        if encoder.grid is None:
            ranges = _ranges(cells, n_rows, n_columns)
            marks = _marks(cells.rows.cells.astype(np.float64), ranges[cells.columns])
            return _binned(cells.columns, marks, cells.counts, encoder, n_rows, ranges)
        marks = (cells.rows.cells & np.uint64(_LAST_MARK)).astype(np.float64)
        return _binned(cells.columns, marks, cells.counts, encoder, n_rows, ranges)

    @property
    def columns(self) -> Indices:
        """The column of each entry."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    def values(self, encoder: Encoder) -> Array:
        """The u of each entry."""
        if encoder.grid is not None:
            return encoder.grid.values[self.marks]
        low, high = self.ranges[self.columns].T
        return low + (high - low) * (self.marks / _LAST_MARK)

    def cells(self, encoder: Encoder) -> Cells:
        """The entries as cells."""
        columns, counts = self.columns, self.counts.astype(np.float64)
        if encoder.grid is None:
            values = self.values(encoder).astype(np.float32)
            return Cells(_single_cells(values, columns, encoder.n_columns), columns, counts)
        return Cells(_single_codes(columns, self.marks.astype(np.uint64), encoder.n_columns), columns, counts)

    def check(self, encoder: Encoder) -> None:
        """Raise ValueError unless the fields fit together, and the encoder."""
        if type(self.n_rows) is not int or not 1 <= self.n_rows <= _MOST_ROWS:
            raise ValueError("counts of cells must have a number of rows.")
        _check_array(self.start, "start", np.int64, (encoder.n_columns + 1,))
        n = int(self.start[-1])
        if self.start[0] != 0 or (np.diff(self.start) < 0).any():
            raise ValueError("start must divide the counts among the columns.")
        _check_array(self.marks, "marks", np.uint16, (n,))
        _check_array(self.counts, "counts", np.uint32, (n,))
        _check_array(self.ranges, "ranges", np.float64, (encoder.n_columns if encoder.grid is None else 0, 2))
        if encoder.grid is not None and n and int(self.marks.max()) >= encoder.grid.values.size:
            raise ValueError("marks must be codes of the grid.")
        if (self.ranges[:, 0] > self.ranges[:, 1]).any():
            raise ValueError("the lower end of a column's range must not be above the upper one.")

    def total(self, column: int) -> int:
        """Rows of the sample with a cell in this column."""
        return int(self.counts[self.start[column] : self.start[column + 1]].sum())

    def scaled(self, n_rows: int) -> CellCounts:
        """The counts that so many rows have, of which these are a sample."""
        if n_rows == self.n_rows:
            return self
        # Rounded up: a column without zeros must not seem to have some.
        counts = np.ceil(self.counts * (n_rows / self.n_rows))
        return replace(self, n_rows=n_rows, counts=np.minimum(counts, np.iinfo(np.uint32).max).astype(np.uint32))

    def merged(self, other: CellCounts, encoder: Encoder) -> CellCounts:
        """The counts of both."""
        columns, counts = (
            np.concatenate([getattr(self, name), getattr(other, name)]) for name in ("columns", "counts")
        )
        ranges = self.ranges
        if encoder.grid is None:
            low, high = (
                choose(self.ranges[:, k], other.ranges[:, k]) for k, choose in enumerate((np.minimum, np.maximum))
            )
            ranges = np.column_stack([low, high])
            marks = _marks(np.concatenate([self.values(encoder), other.values(encoder)]), ranges[columns])
        else:
            marks = np.concatenate([self.marks, other.marks]).astype(np.float64)
        return _binned(columns, marks, counts.astype(np.float64), encoder, self.n_rows + other.n_rows, ranges)


@dataclass(frozen=True, eq=False)
class TrainingFacts:
    """What is kept of the training rows. All arrays of numbers are (n_functions, n_problems).

    `importance` is the mean of |f − mean f| over the sample of the rows, `low` and `high` the range of f, `mean` its
    mean. `cells` counts where the rows lie, and `pair_shares` the share of the rows at each two places of a pair,
    "all else" included. `limits` are the least and the largest value of each feature, (n_features, 2), if the rows
    were dense and values are clipped, so that curves need not begin at zero; otherwise (0, 2). `booleans` says
    which features have only the values 0 and 1, (n_features,); it is empty if the rows were sparse.
    """

    n_rows: int
    importance: Floats
    low: Floats
    high: Floats
    mean: Floats
    cells: CellCounts
    pair_shares: tuple[Floats, ...] = ()
    limits: Array = field(default_factory=lambda: np.zeros((0, 2)))
    booleans: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @classmethod
    def of_counts(
        cls, shapes: ShapeFunctions, n_rows: int, counts: CellCounts, pair_shares: tuple[Floats, ...]
    ) -> TrainingFacts:
        """The facts as far as counts of cells show them."""
        statistics = Statistics.of(shapes, counts.cells(shapes.encoder), counts.n_rows)
        of_pairs = [PairStatistics.of_shares(*both) for both in zip(shapes.pairs, pair_shares, strict=True)]
        return statistics.facts(n_rows, counts, of_pairs, pair_shares)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        cells = (self.cells.start, self.cells.marks, self.cells.counts, self.cells.ranges)
        curves = (self.importance, self.low, self.high, self.mean, *self.pair_shares)
        ranges = self.limits.nbytes + self.booleans.nbytes
        return ranges + sum(array.nbytes for array in cells) + sum(array.nbytes for array in curves)

    def check(self, shapes: ShapeFunctions) -> None:
        """Raise ValueError unless the facts are those that a file of these functions has: files can hold anything."""
        if type(self.n_rows) is not int or not 1 <= self.n_rows <= _MOST_ROWS:
            raise ValueError("training facts must have a number of rows.")
        expected = (0, 0) if is_linear(shapes) else (shapes.n_functions, shapes.n_problems)
        for name in ("importance", "low", "high", "mean"):
            _check_array(getattr(self, name), name, np.float32, expected)
        self.cells.check(shapes.encoder)
        has_limits = bool(shapes.encoder.clips) and np.size(self.limits) > 0
        _check_array(self.limits, "limits", np.float64, (shapes.n_features if has_limits else 0, 2))
        if (self.limits[:, 0] > self.limits[:, 1]).any():
            raise ValueError("the least value of a feature must not be above the largest one.")
        n_booleans = shapes.n_features if np.size(self.booleans) > 0 else 0
        _check_array(self.booleans, "booleans", np.bool_, (n_booleans,))
        if not isinstance(self.pair_shares, tuple) or len(self.pair_shares) != len(shapes.pairs):
            raise ValueError("training facts must have shares for each pair.")
        for share, pair in zip(self.pair_shares, shapes.pairs, strict=True):
            _check_array(share, "pair_shares", np.float32, pair.values.shape[:2])
            if (share < 0.0).any():
                raise ValueError("the shares of rows must not be negative.")

    def stored(self, shapes: ShapeFunctions) -> TrainingFacts:
        """What a file needs. Those of straight lines, four times the size of the model, follow from the counts."""
        if not is_linear(shapes):
            return self
        none = np.zeros((0, 0), dtype=np.float32)
        return replace(self, importance=none, low=none, high=none, mean=none)

    def completed(self, shapes: ShapeFunctions) -> TrainingFacts:
        """The facts that `stored` left out added."""
        if not is_linear(shapes) or self.importance.size:
            return self
        found = TrainingFacts.of_counts(shapes, self.n_rows, self.cells, self.pair_shares)
        return replace(found, limits=self.limits, booleans=self.booleans)

    def with_functions_of(self, other: TrainingFacts, chosen: int | slice) -> TrainingFacts:
        """The facts, with those of some functions from other ones."""
        arrays = {}
        for name in ("importance", "low", "high", "mean"):
            arrays[name] = getattr(self, name).copy()
            arrays[name][chosen] = getattr(other, name)[chosen]
        return replace(self, **arrays)

    def with_ranges(self, limits: Array, booleans: NDArray[np.bool_]) -> TrainingFacts:
        """The facts with the limits of further rows; none if they are not known of some."""
        if not self.limits.size or not limits.size:
            joined = np.zeros((0, 2))
        else:
            joined = np.column_stack(
                [np.minimum(self.limits[:, 0], limits[:, 0]), np.maximum(self.limits[:, 1], limits[:, 1])]
            )
        both = self.booleans & booleans if self.booleans.size == booleans.size else np.zeros(0, dtype=np.bool_)
        return replace(self, limits=joined, booleans=both)

    def changed(self, shapes: ShapeFunctions, function: int) -> TrainingFacts:
        """The facts after a change of one function, as far as the counts show them."""
        found = TrainingFacts.of_counts(shapes, self.n_rows, self.cells, self.pair_shares)
        return self.with_functions_of(found, function)


@dataclass(frozen=True)
class Statistics:
    """Mean, standard deviation, mean distance from the mean, and range of each curve, (n_problems, n_functions)."""

    mean: Array
    deviation: Array
    distance: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, shapes: ShapeFunctions, cells: Cells, n_rows: int) -> Statistics:
        """Those of the curves over these cells, of so many rows; a row without a cell of a function has zero."""
        if is_linear(shapes):
            return cls._of_slopes(shapes.weights[:, :, 0], cells, n_rows)
        function = functions_of_columns(shapes.encoder)[cells.columns]
        n_functions = shapes.encoder.n_functions
        shape = (shapes.n_problems, n_functions)
        sums, squares, distance, low, high = (np.zeros(shape) for _ in range(5))
        stored = np.bincount(function, cells.counts, n_functions)
        is_full = stored >= n_rows
        low[:, is_full], high[:, is_full] = np.inf, -np.inf
        blocks = _Blocks(shapes, cells)
        # A row has at most one cell of a function's columns, so that its value is that of the cell, or zero.
        for here, values in blocks:
            for k, of_problem in enumerate(values):
                sums[k] += np.bincount(function[here], cells.counts[here] * of_problem, n_functions)
                squares[k] += np.bincount(function[here], cells.counts[here] * np.square(of_problem), n_functions)
                np.minimum.at(low[k], function[here], of_problem)
                np.maximum.at(high[k], function[here], of_problem)
        mean = sums / n_rows
        for here, values in blocks:
            for k, of_problem in enumerate(values):
                apart = np.abs(of_problem - mean[k, function[here]])
                distance[k] += np.bincount(function[here], cells.counts[here] * apart, n_functions)
        distance += np.maximum(n_rows - stored, 0.0) * np.abs(mean)
        deviation = np.sqrt(np.maximum(squares / n_rows - np.square(mean), 0.0))
        return cls(mean, deviation, distance / n_rows, low, high)

    @classmethod
    def _of_slopes(cls, slopes: Floats, cells: Cells, n_rows: int) -> Statistics:
        """Those of straight lines through zero: each column is looked at once for all problems."""
        n_columns, u = slopes.shape[1], cells.rows.cells.astype(np.float64)
        mean = np.bincount(cells.columns, cells.counts * u, n_columns) / n_rows
        apart = u - mean[cells.columns]
        without = np.maximum(n_rows - np.bincount(cells.columns, cells.counts, n_columns), 0.0)
        distance = np.bincount(cells.columns, cells.counts * np.abs(apart), n_columns) + without * np.abs(mean)
        squares = np.bincount(cells.columns, cells.counts * np.square(apart), n_columns) + without * np.square(mean)
        found = (mean, np.sqrt(squares / n_rows), distance / n_rows, *_ranges(cells, n_rows, n_columns).T)
        mean, deviation, distance, low, high = (one.astype(np.float32) for one in found)
        size, ends = np.abs(slopes), (slopes * low, slopes * high)
        return cls(slopes * mean, size * deviation, size * distance, np.minimum(*ends), np.maximum(*ends))

    @property
    def spread(self) -> Array:
        """The standard deviation of each curve, averaged over the problems."""
        return self.deviation.mean(axis=0, dtype=np.float64)

    def facts(
        self, n_rows: int, counts: CellCounts, of_pairs: list[PairStatistics], pair_shares: tuple[Floats, ...]
    ) -> TrainingFacts:
        """The facts of a model of these curves and pairs."""
        curves = (self.distance, self.low, self.high, self.mean)
        distance, low, high, mean = (
            np.concatenate([curve.T, *(pair[k][None] for pair in of_pairs)]).astype(np.float32)
            for k, curve in enumerate(curves)
        )
        return TrainingFacts(n_rows, distance, low, high, mean, counts, pair_shares)


class _Blocks:
    """The values of cells, (n_problems, n_cells), block by block, twice: computed again if there are too many."""

    def __init__(self, shapes: ShapeFunctions, cells: Cells) -> None:
        self.shapes, self.cells = shapes, cells
        self._kept: list[tuple[slice, Array]] | None = None
        if cells.columns.size * shapes.n_problems <= _KEPT_VALUES:
            self._kept = list(self._computed())

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        return self._computed() if self._kept is None else iter(self._kept)

    def _computed(self) -> Iterator[tuple[slice, Array]]:
        step = max(1, _BLOCK_VALUES // self.shapes.n_problems)
        for begin in range(0, self.cells.columns.size, step):
            here = slice(begin, begin + step)
            values = self.shapes.sum_of_curves(self.cells.rows[here]) - self.shapes.intercepts
            yield here, values.T


def distinct_cells(sample: EncodedData, encoder: Encoder) -> Cells:
    """The cells of the rows, equal ones once."""
    _, columns, cells = replace(sample, payload=None).entries()
    if encoder.grid is None:  # values are rarely equal
        # A copy, which other threads do not change, and without what they may have written.
        rows = _single_cells(np.nan_to_num(cells, posinf=0.0, neginf=0.0), columns, sample.n_columns)
        return Cells(rows, columns.astype(np.int64), np.ones(columns.size))
    word = np.dtype(
        np.uint32 if sample.n_columns <= _LAST_MARK else np.uint64
    )  # the shorter one sorts in half the time
    found, counts = np.unique(columns.astype(word) << int(_CODE_BITS) | cells.astype(word), return_counts=True)
    words = found.astype(np.uint64)
    columns = (words >> _CODE_BITS).astype(np.int64)
    return Cells(_single_words(words, sample.n_columns), columns, counts.astype(np.float64))


def is_linear(shapes: ShapeFunctions) -> bool:
    """Whether all functions are straight lines, so that facts of the columns are enough."""
    return isinstance(shapes.table, ValueTable) and not shapes.encoder.terms


def functions_of_columns(encoder: Encoder) -> Indices:
    """The number of the function that each solver column belongs to."""
    if not encoder.terms:
        return np.arange(encoder.n_features)
    numbers = {columns: k for k, columns in enumerate(encoder.functions)}
    widths = [term.n_columns for term in encoder.terms]
    of_terms = np.repeat([numbers[term.columns] for term in encoder.terms], widths).astype(np.int64)
    return np.append(np.arange(encoder.n_features), of_terms)


def _single_words(words: NDArray[np.uint64], n_columns: int) -> EncodedData:
    return EncodedData((words.size, n_columns), words, np.arange(words.size + 1), code_bits=int(_CODE_BITS))


def _single_codes(columns: Indices, codes: NDArray[np.uint64], n_columns: int) -> EncodedData:
    return _single_words(columns.astype(np.uint64) << _CODE_BITS | codes, n_columns)


def _single_cells(values: Floats, columns: Indices, n_columns: int) -> EncodedData:
    narrow = columns.astype(np.int32 if n_columns < 1 << 31 else np.int64, copy=False)
    return EncodedData((columns.size, n_columns), values, np.arange(columns.size + 1), narrow)


def _check_array(array: object, name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        raise ValueError(f"{name} of the training facts must be an array of {np.dtype(dtype)} and shape {shape}.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} of the training facts must be finite.")


def _ranges(cells: Cells, n_rows: int, n_columns: int) -> Array:
    """The least and the largest value of each column, with zero where a row has no cell."""
    low, high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    values = cells.rows.cells.astype(np.float64)
    np.minimum.at(low, cells.columns, values)
    np.maximum.at(high, cells.columns, values)
    has_zero = np.bincount(cells.columns, cells.counts, n_columns) < n_rows
    low[has_zero], high[has_zero] = np.minimum(low[has_zero], 0.0), np.maximum(high[has_zero], 0.0)
    return np.column_stack([low, high])


def _marks(values: Array, ranges: Array) -> Array:
    """The places of values in ranges, (n_values, 2)."""
    low, span = ranges[:, 0], ranges[:, 1] - ranges[:, 0]
    return np.rint((values - low) / np.where(span > 0.0, span, 1.0) * _LAST_MARK)


def _grouped(keys: Indices, a: Array, b: Array, n_keys: int) -> tuple[Indices, Array, Array]:
    """The distinct keys in order, and two sums for each."""
    steps = np.diff(keys, prepend=-1)
    if (steps >= 0).all():
        first = np.flatnonzero(steps)
        return (keys[first], np.add.reduceat(a, first), np.add.reduceat(b, first)) if first.size else (keys, a, b)
    if n_keys > _MOST_BINS:
        found, place = np.unique(keys, return_inverse=True)
        return found, np.bincount(place, a).astype(np.float64), np.bincount(place, b).astype(np.float64)
    found = np.flatnonzero(np.bincount(keys, minlength=n_keys))
    return found, np.bincount(keys, a)[found].astype(np.float64), np.bincount(keys, b)[found].astype(np.float64)


def _binned(columns: Indices, marks: Array, counts: Array, encoder: Encoder, n_rows: int, ranges: Array) -> CellCounts:
    """Cells in at most 32 bins per column."""
    u = marks / _LAST_MARK if encoder.grid is None else encoder.grid.values[marks.astype(np.int64)]
    keys = columns * BINS + np.clip((u * BINS).astype(np.int64), 0, BINS - 1)
    found, sums, totals = _grouped(keys, counts, counts * marks, BINS * encoder.n_columns)
    per_column = np.bincount(found // BINS, minlength=encoder.n_columns)
    return CellCounts(
        n_rows=n_rows,
        start=np.append(0, np.cumsum(per_column)),
        marks=np.rint(totals / sums).astype(np.uint16),
        counts=np.minimum(sums, np.iinfo(np.uint32).max).astype(np.uint32),
        ranges=ranges,
    )
