"""The features of a joint problem: f(x) = b + Σ_g φ_g(x)·θ_g, in a basis in which the kernel's norm is ‖θ‖².

A group g is what one weight v_g of the penalty belongs to: the curve of a number, its straight line
(straight_lines.py), the levels of a category, or the table of a pair of columns. With the kernel's matrix on the slots
G = L Lᵀ, a number has W_j = √(s_j v_g) L θ_g; a level, whose only cell is u = 1, has one unknown, W_j = √(s_j v_g)
Gφ(1) / √(φ(1)ᵀGφ(1)) θ. Columns of few values have fewer unknowns (curve_groups.py). No matrix of the rows' features is
formed but for a sample of rows, or for very many levels: all else are products in the core.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Floats, Indices
from ..encoding import EncodedData
from ..native import empty_slots, in_calls, native_table
from ..tables import TablePair
from .curve_groups import CurveGroup, curve_groups, line_groups, root_of
from .level_rows import has_narrow_curves, of_curves, of_levels
from .pair_basis import PairBasis

_MANY_LEVELS = 500


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
    lines: Array | None = None  # straight lines at the knots, (n_columns, width): see straight_lines.py
    groups: tuple[CurveGroup, ...] = ()  # found in the data if there are none
    level: Array = field(init=False)  # Gφ(1) / √(φ(1)ᵀGφ(1))
    curves: Indices = field(init=False)  # columns that are numbers, group by group; then those of lines
    levels: Indices = field(init=False)  # columns that are levels, group by group
    cells: EncodedData = field(init=False)  # what the core reads: the rows, or only their curves (level_rows.py)
    level_cells: sp.csr_array | None = field(init=False)  # features of levels, if these are not among the cells

    def __post_init__(self) -> None:
        width = self.pair.width
        gram = np.eye(width) if self.pair.gram is None else np.asarray(self.pair.gram, dtype=np.float64)
        at_one = self._vectors(np.array([self._code_of_one()]))[0]
        levels = np.concatenate([np.zeros(0, dtype=np.int64), *self.level_groups])
        is_number = self.scales > 0.0
        is_number[levels] = False
        groups = self.groups
        if not groups:
            curves = curve_groups(self.data, self.pair, np.flatnonzero(is_number), root_of(gram))
            groups = (*curves, *line_groups(curves, self.lines))
        for name, value in (
            ("groups", groups),
            ("level", gram @ at_one / np.sqrt(at_one @ gram @ at_one)),
            ("curves", np.concatenate([np.zeros(0, dtype=np.int64), *(group.columns for group in groups)])),
            ("levels", levels),
        ):
            object.__setattr__(self, name, value)
        is_apart = has_narrow_curves(self.data, width, levels)
        cells = of_curves(self.data, self.data.n_columns - levels.size) if is_apart else self.data
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "level_cells", self.level_features(slice(None)) if is_apart else None)

    def of_rows(self, rows: Indices) -> Basis:
        """The same unknowns on some of the rows."""
        return replace(self, data=self.data[rows], pairs=None if self.pairs is None else self.pairs.of_rows(rows))

    @property
    def sizes(self) -> Indices:
        """Unknowns of each group: curves, then terms, then pairs."""
        pairs = self.pairs.sizes if self.pairs is not None else np.zeros(0, dtype=np.int64)
        levels = [group.size for group in self.level_groups]
        return np.concatenate([self._curve_sizes, levels, pairs]).astype(np.int64)

    @property
    def pieces(self) -> Indices:
        """Unknowns of each curve, level and pair: what `features` does not divide."""
        pairs = self.pairs.sizes if self.pairs is not None else np.zeros(0, dtype=np.int64)
        return np.concatenate([self._curve_sizes, np.ones(self.levels.size), pairs]).astype(np.int64)

    @property
    def n_curve_unknowns(self) -> int:
        """Unknowns of curves."""
        return int(self._curve_sizes.sum())

    @property
    def n_row_unknowns(self) -> int:
        """Unknowns of curves and levels."""
        return self.n_curve_unknowns + self.levels.size

    @property
    def cells_a_pass(self) -> int:
        """Cells read in a pass over the rows; a pair has four in each row."""
        return self.data.n_cells + (0 if self.pairs is None else 4 * len(self.pairs.axes) * self.data.n_rows)

    @property
    def _curve_sizes(self) -> Indices:
        """Unknowns of each curve."""
        sizes = [group.n_unknowns for group in self.groups]
        return np.repeat(np.array(sizes, dtype=np.int64), [group.columns.size for group in self.groups])

    def _curve_blocks(self) -> Iterator[tuple[CurveGroup, slice]]:
        """The groups of curves, each with its unknowns."""
        begin = 0
        for group in self.groups:
            end = begin + group.columns.size * group.n_unknowns
            yield group, slice(begin, end)
            begin = end

    def weights(self, theta: Array, n_columns: int | None = None) -> NDArray[np.float32]:
        """W in the core's layout, of θ that is scaled by √v already; with `n_columns`, without levels beyond."""
        n_problems = theta.shape[1]
        n_columns = self.data.n_columns if n_columns is None else n_columns
        slots = empty_slots((n_problems, n_columns, self.pair.width))
        W = slots[:-1].reshape(n_columns, self.pair.width, -1)[:, :, :n_problems]
        root = np.sqrt(self.scales)
        for group, unknowns in self._curve_blocks():
            curves = group.roots @ theta[unknowns].reshape(-1, group.n_unknowns, n_problems)
            W[group.columns] += curves * root[group.columns, None, None]
        if n_columns < self.data.n_columns:
            return slots
        levels = theta[self.n_curve_unknowns : self.n_row_unknowns] * root[self.levels, None]
        W[self.levels] = self.level[:, None] * levels[:, None, :]
        return slots

    def values(self, theta: Array) -> Array:
        """Σ_g φ_g(x_i)·θ_g of every row and problem."""
        slots, zero = self.weights(theta, self.cells.n_columns), np.zeros(theta.shape[1])
        out = np.empty((self.data.n_rows, theta.shape[1]))
        table = native_table(self.pair.read)
        for part in self._parts():
            _core.decision(self.cells.native, table, slots, zero, out[part], self.n_threads, part.start)
        if self.level_cells is not None:
            out += self.level_cells @ theta[self.n_curve_unknowns : self.n_row_unknowns]
        if self.pairs is not None:
            self.pairs.add_values(theta[self.n_row_unknowns :], out, self.n_threads)
        return out

    def sums(self, r: Array) -> Array:
        """Σ_i φ_g(x_i) r_i of every group and problem, shaped as θ."""
        n_problems = r.shape[1]
        shape = (n_problems, self.cells.n_columns, self.pair.width)
        slots: Array = np.zeros_like(empty_slots(shape), dtype=np.float64)
        table = native_table(self.pair.read)
        r32 = np.zeros((r.shape[0], slots.shape[1]), dtype=np.float32)
        r32[:, :n_problems] = r
        for part in self._parts():
            _core.add_classes(self.cells.native, table, r32[part], part.start, slots, self.n_threads)
        S = slots[:-1].reshape(self.cells.n_columns, self.pair.width, -1)[:, :, :n_problems]
        root = np.sqrt(self.scales)
        parts = []
        for group in self.groups:
            curves = group.roots.transpose(0, 2, 1) @ S[group.columns]
            parts.append((curves * root[group.columns, None, None]).reshape(-1, n_problems))
        if self.level_cells is not None:
            parts.append(self.level_cells.T @ r)
        else:
            parts.append(np.einsum("w,jwp,j->jp", self.level, S[self.levels], root[self.levels]))
        if self.pairs is not None:
            parts.append(self.pairs.sums(r32, n_problems, self.n_threads))
        return np.concatenate(parts)

    def level_sums(self, r: Array) -> Array:
        """Σ r_i of the rows of every level, (n_levels, n_problems)."""
        return self.sums(r)[self.n_curve_unknowns : self.n_row_unknowns] / self.level_heights[:, None]

    @property
    def level_heights(self) -> Array:
        """The feature of each level, where a row has it."""
        return self._heights(self.levels)

    @property
    def has_many_levels(self) -> NDArray[np.bool_]:
        """Whether each group is a category of so many levels that a sample of rows says little of most."""
        sizes = self.sizes
        is_category = np.zeros(sizes.size, dtype=bool)
        is_category[self.curves.size : self.curves.size + len(self.level_groups)] = True
        return is_category & (sizes > _MANY_LEVELS)

    @property
    def is_of_many_levels(self) -> NDArray[np.bool_]:
        """Whether each unknown is a level of such a group."""
        return np.repeat(self.has_many_levels, self.sizes)

    def features(self, rows: Indices, unknowns: slice) -> Floats:
        """φ(x_i) of some rows, for consecutive unknowns that are whole pieces: float32, (n_rows, n_unknowns)."""
        out = np.empty((rows.size, unknowns.stop - unknowns.start), dtype=np.float32)
        some, n_row = self.data[rows], self.n_row_unknowns
        for group, here in self._curve_blocks():
            first, last = max(unknowns.start, here.start), min(unknowns.stop, here.stop)
            if first < last:
                chosen = slice((first - here.start) // group.n_unknowns, (last - here.start) // group.n_unknowns)
                features = self._curve_features(some, group, chosen).reshape(rows.size, -1)
                out[:, first - unknowns.start : last - unknowns.start] = features
        first, last = max(unknowns.start, self.n_curve_unknowns), min(unknowns.stop, n_row)
        if first < last:
            columns = self.levels[first - self.n_curve_unknowns : last - self.n_curve_unknowns]
            present = some.dense_cells(columns) != 0
            out[:, first - unknowns.start : last - unknowns.start] = present * self._heights(columns)
        if unknowns.stop > n_row and self.pairs is not None:
            begin = max(unknowns.start, n_row)
            part = slice(begin - n_row, unknowns.stop - n_row)
            out[:, begin - unknowns.start :] = self.pairs.features(rows, part)
        return out

    def level_features(self, rows: slice | Indices) -> sp.csr_array:
        """φ(x_i) of some rows for all levels, as a sparse matrix."""
        return of_levels(self.data[rows], self.levels, self._heights(self.levels))

    def _curve_features(self, some: EncodedData, group: CurveGroup, chosen: slice) -> Floats:
        """φ(u)ᵀ roots_j √s_j of some rows and columns of a group, (n_rows, n_columns, n_unknowns)."""
        columns = group.columns[chosen]
        cells, root = some.dense_cells(columns), np.sqrt(self.scales[columns])
        if self.pair.grid is None:
            return (cells * root)[:, :, None] * group.roots[0].astype(np.float32)
        vectors = self._vectors(np.arange(self.pair.grid.values.size))
        if len(group.roots) == 1:
            return (vectors @ group.roots[0]).astype(np.float32)[cells] * root.astype(np.float32)[:, None]
        tables = (vectors @ (group.roots[chosen] * root[:, None, None])).astype(np.float32)
        return tables[np.arange(columns.size), cells]

    def _heights(self, levels: Indices) -> Array:
        """The feature of each of these levels, where a row has it."""
        height = float(self._vectors(np.array([self._code_of_one()]))[0] @ self.level)
        return height * np.sqrt(self.scales[levels])

    def _vectors(self, cells: NDArray[np.int64]) -> Array:
        return self.pair.read.vectors(cells)

    def _code_of_one(self) -> int:
        """The code of u = 1, or the value 1."""
        return 1 if self.pair.grid is None else self.pair.grid.values.size - 1

    def _parts(self) -> Iterator[slice]:
        for part in in_calls(self.cells, self.data.n_rows, self.interrupted):
            yield slice(part.start, min(part.stop, self.data.n_rows))
