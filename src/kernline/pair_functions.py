"""PairFunction: the fitted function of two columns, f_ab(x_a, x_b), bilinear between the points of two axes.

A table is *purified*: over the training rows, its mean along either axis is zero, so that it holds only what the two
columns say together, and the curves all that one says alone (Lengerich et al., AISTATS 2020). What is taken from the
table is added to the curves, so the model's values do not change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .array_types import Array
from .encoding.pair_axes import PairAxis

_ROUNDS = 100
_SMALL = 1e-9


@dataclass(frozen=True, eq=False)
class PairFunction:
    """`values` are at the places of two `columns`, (size_a + 1, size_b + 1, n_problems), the last for all else."""

    columns: tuple[int, int]
    axes: tuple[PairAxis, PairAxis]
    values: Array

    def evaluate(self, rows: Array) -> Array:
        """f_ab of rows of two values, (n_rows, n_problems)."""
        out = np.zeros((len(rows), self.values.shape[2]))
        sides = []
        for axis, column in zip(self.axes, rows.T, strict=True):
            place = axis.places_of(column)
            low = place.astype(np.int64)
            sides.append((low, np.minimum(low + 1, axis.size), place - low))
        (a_low, a_high, a), (b_low, b_high, b) = sides
        for i, wi in ((a_low, 1.0 - a), (a_high, a)):
            for j, wj in ((b_low, 1.0 - b), (b_high, b)):
                out += (wi * wj)[:, None] * self.values[i, j]
        return out

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
