"""The unknowns of curves. A column of few values needs no more of them than it has values.

With the kernel's matrix on the slots G = L Lᵀ, the curve of a number is W_j = √(s_j v_g) L θ. If its codes u_1, …, u_d
are fewer than the columns of L, the solution lies in the span of the Lᵀφ(u_k) by the representer theorem, and θ = Q η
with an orthonormal basis Q of this span: the same curve and the same norm, with d unknowns. An indicator has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Indices
from ..encoding import EncodedData
from ..tables import TablePair

# Directions of a curve whose share of the kernel is below this are left out: they are rounding errors.
_NEGLIGIBLE = 1e-7
# Rows in which most columns show that they have many values; and most that are looked at together.
_FEW_ROWS, _MOST_ROWS = 2000, 1_000_000
# Most columns times codes that are marked as present.
_MOST_MARKS = 50_000_000


@dataclass(frozen=True)
class CurveGroup:
    """Columns whose curves have equally many unknowns: W_j = √(s_j v_g) roots_j θ_g.

    `roots` is (n_columns, width, n_unknowns), or has one entry that all columns share.
    """

    columns: Indices
    roots: Array

    @property
    def n_unknowns(self) -> int:
        """Unknowns of one curve."""
        return self.roots.shape[2]


def root_of(gram: Array) -> Array:
    """L, (width, n_unknowns), with L Lᵀ = G."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > _NEGLIGIBLE * values[-1]
    root: Array = vectors[:, kept] * np.sqrt(values[kept])
    return root


def curve_groups(data: EncodedData, pair: TablePair, columns: Indices, root: Array) -> list[CurveGroup]:
    """These columns of the data, those with the same number of unknowns together."""
    if not columns.size:
        return []
    if pair.grid is None or root.shape[1] == 1 or columns.size * pair.grid.values.size > _MOST_MARKS:
        return [CurveGroup(columns, root[None])]
    present = _present_codes(data, columns, pair.grid.values.size, root.shape[1])
    few = (present.sum(axis=1) < root.shape[1]) & present.any(axis=1)
    sets, which = np.unique(np.packbits(present[few], axis=1), axis=0, return_inverse=True)
    read = pair.read.vectors(np.arange(pair.grid.values.size)) @ root
    reduced = [_reduced(read[np.unpackbits(one, count=read.shape[0]) > 0], root) for one in sets]
    sizes = np.full(columns.size, root.shape[1])
    sizes[few] = np.array([one.shape[1] for one in reduced], dtype=np.int64)[which.ravel()]
    groups = []
    for size in np.unique(sizes).tolist():
        here = few & (sizes == size)
        if here.any():
            stacked = np.stack([reduced[k] for k in which.ravel()[sizes[few] == size]])
            groups.append(CurveGroup(columns[here], stacked))
    if not few.all():
        groups.append(CurveGroup(columns[~few], root[None]))
    return groups


def line_groups(curves: list[CurveGroup], lines: Array | None) -> list[CurveGroup]:
    """The straight lines of curves with more than one unknown, as groups of one unknown (straight_lines.py)."""
    if lines is None:
        return []
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *(one.columns for one in curves if one.n_unknowns > 1)])
    columns = columns[lines[columns].any(axis=1)]
    return [CurveGroup(columns, lines[columns][:, :, None])] if columns.size else []


def _reduced(features: Array, root: Array) -> Array:
    """L Q of a column with these rows of features, Lᵀφ(u) of each of its codes."""
    _, values, basis = np.linalg.svd(features, full_matrices=False)
    kept = values > _NEGLIGIBLE * values[0]
    return root @ basis[kept].T


def _present_codes(data: EncodedData, columns: Indices, n_codes: int, enough: int) -> NDArray[np.bool_]:
    """Which codes but zero each column has, (n_columns, n_codes); perhaps not all if there are `enough`."""
    place = np.full(data.n_columns, -1)
    place[columns] = np.arange(columns.size)
    present = np.zeros((columns.size, n_codes), dtype=bool)
    for rows in _row_blocks(data.n_rows):
        has_few = present[:, 1:].sum(axis=1) < enough
        if not has_few.any():
            break
        if data.is_dense:
            for k in np.flatnonzero(has_few):
                present[k, data.cells[rows, columns[k]]] = True
        else:
            _, of_cells, codes = data[rows].entries()
            at = place[of_cells]
            present[at[at >= 0], codes[at >= 0]] = True
    present[:, 0] = False
    return present


def _row_blocks(n_rows: int) -> Iterator[slice]:
    begin, step = 0, _FEW_ROWS
    while begin < n_rows:
        yield slice(begin, begin + step)
        begin, step = begin + step, min(10 * step, _MOST_ROWS)
