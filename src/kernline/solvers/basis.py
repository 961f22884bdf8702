"""The features of a joint problem: f(x) = b + Σ_g φ_g(x)·θ_g, in a basis in which the kernel's norm is ‖θ‖².

A group g is what one weight v_g of the penalty belongs to: the curve of a number, the levels of a category, or the
table of a pair of columns. With the kernel's matrix on the slots G = L Lᵀ, a number has W_j = √(s_j v_g) L θ_g; a
level, whose only cell is u = 1, has one unknown, W_j = √(s_j v_g) Gφ(1) / √(φ(1)ᵀGφ(1)) θ. No matrix of the rows'
features is formed but for a sample of rows: all else are products in the core.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Floats, Indices
from ..encoding import EncodedData
from ..native import empty_slots, in_calls, native_table, weights_in
from ..tables import TablePair
from .pair_basis import PairBasis

# Directions of a curve whose share of the kernel is below this are left out: they are rounding errors.
_NEGLIGIBLE = 1e-7


@dataclass(frozen=True)
class Basis:
    """The groups of encoded rows, and of the tables of pairs that join them.

    `level_groups` are the solver columns of each category or other term, one array per group.
    """

    data: EncodedData
    pair: TablePair
    scales: Array
    level_groups: list[Indices]
    pairs: PairBasis | None
    n_threads: int
    interrupted: threading.Event
    root: Array = field(init=False)  # L
    level: Array = field(init=False)  # Gφ(1) / √(φ(1)ᵀGφ(1))
    curves: Indices = field(init=False)  # columns that are numbers
    levels: Indices = field(init=False)  # columns that are levels, group by group

    def __post_init__(self) -> None:
        width = self.pair.width
        gram = np.eye(width) if self.pair.gram is None else np.asarray(self.pair.gram, dtype=np.float64)
        values, vectors = np.linalg.eigh(gram)
        kept = values > _NEGLIGIBLE * values[-1]
        at_one = self._vectors(np.array([self._code_of_one()]))[0]
        levels = np.concatenate([np.zeros(0, dtype=np.int64), *self.level_groups])
        is_number = self.scales > 0.0
        is_number[levels] = False
        for name, value in (
            ("root", vectors[:, kept] * np.sqrt(values[kept])),
            ("level", gram @ at_one / np.sqrt(at_one @ gram @ at_one)),
            ("curves", np.flatnonzero(is_number)),
            ("levels", levels),
        ):
            object.__setattr__(self, name, value)

    @property
    def sizes(self) -> Indices:
        """Unknowns of each group: curves, then terms, then pairs."""
        pairs = self.pairs.sizes if self.pairs is not None else np.zeros(0, dtype=np.int64)
        curves = np.full(self.curves.size, self.root.shape[1])
        return np.concatenate([curves, [group.size for group in self.level_groups], pairs]).astype(np.int64)

    @property
    def pieces(self) -> Indices:
        """Unknowns of each curve, level and pair: what `features` does not divide."""
        pairs = self.pairs.sizes if self.pairs is not None else np.zeros(0, dtype=np.int64)
        curves, levels = np.full(self.curves.size, self.root.shape[1]), np.ones(self.levels.size)
        return np.concatenate([curves, levels, pairs]).astype(np.int64)

    @property
    def n_curve_unknowns(self) -> int:
        """Unknowns of curves."""
        return self.curves.size * self.root.shape[1]

    @property
    def n_row_unknowns(self) -> int:
        """Unknowns of curves and levels."""
        return self.n_curve_unknowns + self.levels.size

    @property
    def cells_a_pass(self) -> int:
        """Cells read in a pass over the rows; a pair has four in each row."""
        return self.data.n_cells + (0 if self.pairs is None else 4 * len(self.pairs.axes) * self.data.n_rows)

    def weights(self, theta: Array) -> NDArray[np.float32]:
        """W in the core's layout, of θ that is scaled by √v already."""
        n_problems = theta.shape[1]
        shape = (n_problems, self.data.n_columns, self.pair.width)
        slots = empty_slots(shape)
        W = weights_in(slots, shape)
        curves = theta[: self.n_curve_unknowns].reshape(self.curves.size, self.root.shape[1], n_problems)
        root = np.sqrt(self.scales)
        W[:, self.curves] = np.einsum("wr,jrp,j->pjw", self.root, curves, root[self.curves])
        levels = theta[self.n_curve_unknowns : self.n_row_unknowns]
        W[:, self.levels] = np.einsum("w,jp,j->pjw", self.level, levels, root[self.levels])
        return slots

    def values(self, theta: Array) -> Array:
        """Σ_g φ_g(x_i)·θ_g of every row and problem."""
        slots, zero = self.weights(theta), np.zeros(theta.shape[1])
        out = np.empty((self.data.n_rows, theta.shape[1]))
        table = native_table(self.pair.read)
        for part in self._parts():
            _core.decision(self.data.native, table, slots, zero, out[part], self.n_threads, part.start)
        if self.pairs is not None:
            self.pairs.add_values(theta[self.n_row_unknowns :], out, self.n_threads)
        return out

    def sums(self, r: Array) -> Array:
        """Σ_i φ_g(x_i) r_i of every group and problem, shaped as θ."""
        n_problems = r.shape[1]
        shape = (n_problems, self.data.n_columns, self.pair.width)
        slots: Array = np.zeros_like(empty_slots(shape), dtype=np.float64)
        table = native_table(self.pair.read)
        r32 = np.zeros((r.shape[0], slots.shape[1]), dtype=np.float32)
        r32[:, :n_problems] = r
        for part in self._parts():
            _core.add_classes(self.data.native, table, r32[part], part.start, slots, self.n_threads)
        S = slots[:-1].reshape(self.data.n_columns, self.pair.width, -1)[:, :, :n_problems]
        root = np.sqrt(self.scales)
        curves = np.einsum("wr,jwp,j->jrp", self.root, S[self.curves], root[self.curves])
        levels = np.einsum("w,jwp,j->jp", self.level, S[self.levels], root[self.levels])
        parts = [curves.reshape(-1, n_problems), levels]
        if self.pairs is not None:
            parts.append(self.pairs.sums(r32, n_problems, self.n_threads))
        return np.concatenate(parts)

    def features(self, rows: Indices, unknowns: slice) -> Floats:
        """φ(x_i) of some rows, for consecutive unknowns that are whole pieces: float32, (n_rows, n_unknowns)."""
        out = np.empty((rows.size, unknowns.stop - unknowns.start), dtype=np.float32)
        r, n_curve, n_row = self.root.shape[1], self.n_curve_unknowns, self.n_row_unknowns
        end = min(unknowns.stop, n_curve)
        cells = self._cells(rows)
        read = self._read_of_codes()
        for at in range(unknowns.start, end, r):
            j = self.curves[at // r]
            column = np.asarray(cells[:, [j]].toarray()).ravel() if self._is_sparse else cells[:, j]
            read_column = column[:, None] * self.root if read is None else read[column]
            out[:, at - unknowns.start : at - unknowns.start + r] = read_column * np.sqrt(self.scales[j])
        first, last = max(unknowns.start, n_curve), min(unknowns.stop, n_row)
        if first < last:
            columns = self.levels[first - n_curve : last - n_curve]
            present = cells[:, columns] != 0
            present = present.toarray() if self._is_sparse else present
            height = float(self._vectors(np.array([self._code_of_one()]))[0] @ self.level)
            out[:, first - unknowns.start : last - unknowns.start] = present * (height * np.sqrt(self.scales[columns]))
        if unknowns.stop > n_row and self.pairs is not None:
            begin = max(unknowns.start, n_row)
            part = slice(begin - n_row, unknowns.stop - n_row)
            out[:, begin - unknowns.start :] = self.pairs.features(rows, part)
        return out

    @property
    def _is_sparse(self) -> bool:
        return not self.data.is_dense

    def _cells(self, rows: Indices) -> Any:
        some = self.data[rows]
        return some.to_csr().tocsc() if self._is_sparse else some.cells

    def _read_of_codes(self) -> Array | None:
        """φ(code)ᵀL of every code; None where cells are values."""
        if self.pair.grid is None:
            return None
        return self._vectors(np.arange(self.pair.grid.values.size)) @ self.root

    def _vectors(self, cells: NDArray[np.int64]) -> Array:
        return self.pair.read.vectors(cells)

    def _code_of_one(self) -> int:
        """The code of u = 1, or the value 1."""
        return 1 if self.pair.grid is None else self.pair.grid.values.size - 1

    def _parts(self) -> Iterator[slice]:
        for part in in_calls(self.data, self.data.n_rows, self.interrupted):
            yield slice(part.start, min(part.stop, self.data.n_rows))
