"""Tables of pairs of columns in a joint problem: bilinear between the points of two axes, with the kernel M ⊗ M.

The points of a number are some knots of its curve, taken as equally far apart, with the kernel min(u, v), so that a
table is zero where either value is the lowest: what depends on one column alone is left to its curve. The points of a
category are its levels, each independent of the others. W = L_a Θ L_bᵀ, with the norm ‖Θ‖².
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Floats, Indices
from ..caching import cached_property
from ..native import empty_slots


@dataclass(frozen=True)
class PairBasis:
    """The pairs of a problem. `codes` are the places of the rows on each axis, (n_rows, n_axes), as the core has them.

    An axis has `n_points` points; numbers have `steps` codes from one point to the next, categories 1. `axes` are the
    two axes of each pair, `scale` is the kernel's factor, and `columns` what the axes are axes of.
    """

    codes: NDArray[np.uint8]
    n_points: NDArray[np.int32]
    steps: NDArray[np.uint8]
    is_number: NDArray[np.bool_]
    axes: NDArray[np.int32]
    scale: float
    columns: Indices

    @cached_property
    def roots(self) -> list[Array]:
        """L of each axis, (n_points, n_unknowns)."""
        return [_root(int(n), bool(number)) for n, number in zip(self.n_points, self.is_number, strict=True)]

    def of_rows(self, rows: Indices) -> PairBasis:
        """The same pairs on some of the rows."""
        return replace(self, codes=self.codes[rows])

    @property
    def sizes(self) -> Indices:
        """Unknowns of each pair."""
        n = np.array([root.shape[1] for root in self.roots], dtype=np.int64)
        return n[self.axes].prod(axis=1)

    @cached_property
    def native(self) -> _core.Pairs:
        """The core's view."""
        return _core.Pairs(self.codes, self.steps, self.n_points, self.axes, self.start)

    @cached_property
    def start(self) -> Indices:
        """The first slot of each table, and the end of the last."""
        cells = self.n_points.astype(np.int64)[self.axes].prod(axis=1)
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(cells)])

    @cached_property
    def first_unknown(self) -> Indices:
        """The first unknown of each pair, and the end of the last."""
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.sizes)])

    def tables(self, theta: Array) -> list[Array]:
        """W of each pair, (n_points, n_points, n_problems)."""
        tables = []
        for k, (a, b) in enumerate(self.axes):
            La, Lb = self.roots[a], self.roots[b]
            block = theta[self.first_unknown[k] : self.first_unknown[k + 1]].reshape(La.shape[1], Lb.shape[1], -1)
            first = (La @ block.reshape(La.shape[1], -1)).reshape(La.shape[0], *block.shape[1:])
            tables.append(np.sqrt(self.scale) * (Lb @ first))
        return tables

    def add_values(self, theta: Array, out: Array, n_threads: int) -> None:
        """Add the tables' values at all rows."""
        slots = empty_slots((theta.shape[1], int(self.start[-1]), 1))
        slots[:-1, : theta.shape[1]] = np.concatenate(
            [table.reshape(-1, theta.shape[1]) for table in self.tables(theta)]
        )
        _core.read_pairs(self.native, slots, out, n_threads)

    def sums(self, r: Floats, n_problems: int, n_threads: int) -> Array:
        """Σ_i φ(x_i) r_i, shaped as θ."""
        slots = np.zeros((int(self.start[-1]) + 1, r.shape[1]))
        _core.add_pairs(self.native, r, slots, n_threads)
        parts = []
        for k, (a, b) in enumerate(self.axes):
            La, Lb = self.roots[a], self.roots[b]
            S = slots[self.start[k] : self.start[k + 1], :n_problems].reshape(La.shape[0], Lb.shape[0], n_problems)
            second = Lb.T @ S
            parts.append((La.T @ second.reshape(La.shape[0], -1)).reshape(-1, n_problems))
        return np.sqrt(self.scale) * np.concatenate(parts)

    def features(self, rows: Indices, unknowns: slice) -> Floats:
        """φ(x_i) of some rows, for consecutive unknowns that are whole pairs."""
        first = int(np.searchsorted(self.first_unknown, unknowns.start))
        last = int(np.searchsorted(self.first_unknown, unknowns.stop))
        out = np.empty((rows.size, unknowns.stop - unknowns.start), dtype=np.float32)
        at = 0
        for a, b in self.axes[first:last]:
            product = self._reads(rows, a)[:, :, None] * self._reads(rows, b)[:, None, :]
            width = product.shape[1] * product.shape[2]
            out[:, at : at + width] = np.sqrt(self.scale) * product.reshape(rows.size, width)
            at += width
        return out

    def _reads(self, rows: Indices, axis: int) -> Floats:
        """hat(code)ᵀL of the rows on one axis; zero where a value has no place."""
        steps, root = int(self.steps[axis]), self.roots[axis]
        code = np.arange(256)
        position, share = np.divmod(code, steps)
        inside = (code != _NONE) & (position < root.shape[0])
        low = np.where(inside, position, 0)
        high = np.minimum(low + 1, root.shape[0] - 1)
        share = share[:, None] / steps
        table = ((1.0 - share) * root[low] + share * root[high]) * inside[:, None]
        return table.astype(np.float32)[self.codes[rows, axis]]


_NONE = 255


def _root(n_points: int, is_number: bool) -> Array:
    """L with L Lᵀ = M: of min(u, v) at u = 0, …, 1 the Brownian steps, of levels the identity."""
    if not is_number:
        return np.eye(n_points)
    return np.tri(n_points, n_points - 1, -1) / np.sqrt(n_points - 1.0)
