"""PairFunction: the fitted function of two columns, f_ab(x_a, x_b), bilinear between the points of two axes.

A table is *purified*: over the training rows, its mean along either axis is zero, so that it holds only what the two
columns say together, and the curves all that one says alone (Lengerich et al., AISTATS 2020). What is taken from the
table is added to the curves, so the model's values do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .array_types import Array, Indices, Matrix
from .encoding.pair_axes import PairAxis
from .encoding.terms import column_values

_ROUNDS = 100
_SMALL = 1e-9
# Bilinear weights in a block of rows, 16 bytes each.
_WEIGHTS = 1 << 18


@dataclass(frozen=True, eq=False)
class PairFunction:
    """`values` are at the places of two `columns`, (size_a + 1, size_b + 1, n_problems), the last for all else."""

    columns: tuple[int, int]
    axes: tuple[PairAxis, PairAxis]
    values: Array

    def evaluate(self, rows: Array) -> Array:
        """f_ab of rows of two values, (n_rows, n_problems)."""
        return sum_of_pairs([replace(self, columns=(0, 1))], rows)

    def check(self) -> None:
        """Raise ValueError unless the fields fit together: files can hold anything."""
        if not isinstance(self.axes, tuple) or len(self.axes) != 2 or len(self.columns) != 2:
            raise ValueError("the table of a pair must have two columns and two axes.")
        for axis in self.axes:
            if not isinstance(axis, PairAxis):
                raise ValueError("the axes of a pair are something else.")
            axis.check()
        shape = tuple(axis.size + 1 for axis in self.axes)
        if not isinstance(self.values, np.ndarray) or self.values.ndim != 3 or self.values.shape[:2] != shape:
            raise ValueError("the table of a pair must have a value for every two places.")
        if not np.isfinite(self.values).all():
            raise ValueError("the table of a pair must hold finite values.")


@dataclass(frozen=True)
class StackedPairs:
    """The tables of several pairs one after another, as sums and exporters read them.

    `axes` are the columns and axes in use, each once, `sides` which two of them a pair has. The values at places (i, j)
    of a pair are the row first + i · width + j of `values`.
    """

    axes: list[tuple[int, PairAxis]]
    sides: Indices  # (n_pairs, 2)
    first: NDArray[np.int32]
    widths: NDArray[np.int32]
    values: Array  # (n_cells, n_problems)

    @classmethod
    def of(cls, pairs: Sequence[PairFunction]) -> StackedPairs:
        """Stack them."""
        axes, sides = _distinct_axes(pairs)
        n_cells = np.array([pair.values.shape[0] * pair.values.shape[1] for pair in pairs])
        return cls(
            axes=axes,
            sides=sides,
            first=(np.cumsum(n_cells) - n_cells).astype(np.int32),
            widths=np.array([pair.values.shape[1] for pair in pairs], dtype=np.int32),
            values=np.concatenate([pair.values.reshape(-1, pair.values.shape[2]) for pair in pairs]),
        )

    @property
    def columns(self) -> list[int]:
        """The column of each axis."""
        return [column for column, _ in self.axes]


def sum_of_pairs(pairs: Sequence[PairFunction], X: Matrix) -> Array:
    """Σ f_ab of every row of X, (n_rows, n_problems).

    A row of a sparse matrix has the four bilinear weights of every table; its product with the values of all tables is
    the sum. Blocks of rows bound the memory, and the place of a value is found once for all tables of its axis.
    """
    stacked = StackedPairs.of(pairs)
    widths, values = stacked.widths, stacked.values
    corners = np.stack([np.zeros_like(widths), np.ones_like(widths), widths, widths + 1], axis=1)
    out = np.empty((X.shape[0], values.shape[1]))
    per_row = 4 * len(pairs)
    step = max(1, _WEIGHTS // per_row)
    for begin in range(0, X.shape[0], step):
        rows = slice(begin, begin + step)
        low, share = _places(stacked.axes, column_values(X[rows], stacked.columns))
        (a, b), (wa, wb) = ([part[:, side] for side in stacked.sides.T] for part in (low, share))
        weights = np.stack([(1.0 - wa) * (1.0 - wb), (1.0 - wa) * wb, wa * (1.0 - wb), wa * wb], axis=2)
        cells = (stacked.first + a * widths + b)[:, :, None] + corners
        row_start = np.arange(len(low) + 1, dtype=np.int32) * np.int32(per_row)
        out[rows] = csr_array((weights.ravel(), cells.ravel(), row_start), shape=(len(low), len(values))) @ values
    return out


def _distinct_axes(pairs: Sequence[PairFunction]) -> tuple[list[tuple[int, PairAxis]], Indices]:
    number: dict[tuple[object, ...], int] = {}
    axes: list[tuple[int, PairAxis]] = []
    sides = np.empty((len(pairs), 2), dtype=np.int64)
    for k, pair in enumerate(pairs):
        for side, (column, axis) in enumerate(zip(pair.columns, pair.axes, strict=True)):
            # Tables of one column share the arrays of their axis, also after they were loaded.
            key = column, id(axis.points), id(axis.places), axis.size, axis.is_number
            if key not in number:
                number[key] = len(axes)
                axes.append((column, axis))
            sides[k, side] = number[key]
    return axes, sides


def _places(axes: list[tuple[int, PairAxis]], values: Array) -> tuple[NDArray[np.int32], Array]:
    """For each value, the place below it, which is not the last, and how far it is from there to the next, 0 to 1."""
    low, share = np.empty(values.shape, dtype=np.int32), np.empty(values.shape)
    for k, (_, axis) in enumerate(axes):
        place = axis.places_of(values[:, k])
        low[:, k] = np.minimum(place.astype(np.int32), axis.size - 1)
        share[:, k] = place - low[:, k]
    return low, share


@dataclass(frozen=True)
class Purified:
    """A table without main effects, the effects of its two columns at their places, and the constant."""

    values: Array  # (size_a + 1, size_b + 1, n_problems)
    effects: tuple[Array, Array]  # (size, n_problems) each; zero at the first place of a number
    constant: Array


def purified(table: Array, weight: Array, is_number: tuple[bool, bool]) -> Purified:
    """Split a table, (size_a, size_b, n_problems), by the share of the training rows at each place."""
    rest = table.copy()
    effects = [np.zeros((table.shape[0], table.shape[2])), np.zeros((table.shape[1], table.shape[2]))]
    totals = [weight.sum(axis=1), weight.sum(axis=0)]
    for _ in range(_ROUNDS):
        largest = 0.0
        for side, (total, sums) in enumerate(zip(totals, ("ij,ijp->ip", "ij,ijp->jp"), strict=True)):
            mean = np.einsum(sums, weight, rest) / np.where(total > 0.0, total, 1.0)[:, None]
            effects[side] += mean
            rest -= mean[:, None] if side == 0 else mean[None]
            largest = max(largest, float(np.abs(mean).max(initial=0.0)))
        if largest <= _SMALL * max(float(np.abs(table).max(initial=0.0)), 1e-300):
            break
    # The curve of a number is zero at its first knot: what it would have there goes to the constant.
    bases = [effect[0] * number for effect, number in zip(effects, is_number, strict=True)]
    a, b = (effect - base for effect, base in zip(effects, bases, strict=True))
    constant = bases[0] + bases[1]
    values = np.empty((table.shape[0] + 1, table.shape[1] + 1, table.shape[2]))
    values[:-1, :-1] = rest
    # All else had the value zero, and now meets the effects of the other column and the constant.
    values[-1, :-1] = -b - constant
    values[:-1, -1] = -a - constant
    values[-1, -1] = -constant
    return Purified(values, (a, b), constant)
