"""Tables as the core takes them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from . import _core
from .array_types import Array
from .encoding import EncodedData
from .tables import DenseTable, NodesTable, PairTable, PowersTable, Table, TablePair


def native_table(table: Table) -> _core.Table:
    """φ or ψ for the core."""
    if isinstance(table, DenseTable):
        return _core.Table.dense(table.rows)
    if isinstance(table, PairTable):
        fraction = np.arange(table.steps) / table.steps
        return _core.Table.pair(np.column_stack([1.0 - fraction, fraction]).astype(np.float32), table.width)
    if isinstance(table, PowersTable):
        return _core.Table.powers(table.width)
    if isinstance(table, NodesTable):
        data = np.append(table.constant or 0.0, table.matrix.ravel()).astype(np.float32)
        return _core.Table.nodes(data, table.width, table.constant is not None)
    return _core.Table.value()


# Most cells per call of the core, about 50 ms, so that Ctrl-C works; and most rows, because it sums in float32.
_CELLS_A_CALL, _ROWS_A_CALL = 20_000_000, 131_072


def in_calls(data: EncodedData, n_rows: int, interrupted: threading.Event, power: int = 1) -> Iterator[slice]:
    """So many rows of the data in slices, one for each call of the core; KeyboardInterrupt between them.

    What a row takes grows like its number of cells, to this power.
    """
    cells_a_row = max(1, data.n_cells // max(1, data.n_rows))
    step = min(max(1, _CELLS_A_CALL // cells_a_row**power), _ROWS_A_CALL)
    for begin in range(0, n_rows, step):
        if interrupted.is_set():
            raise KeyboardInterrupt
        yield slice(begin, begin + step)


def decision(data: EncodedData, table: Table, slots: NDArray[np.float32], intercepts: Array, n_threads: int) -> Array:
    """f_p(x_i) = intercept_p + Σ_j φ(u_ij) · W_pj, (n_rows, n_problems), of weights from `slots_of`."""
    out = np.empty((data.n_rows, intercepts.size))
    _core.decision(data.native, native_table(table), slots, intercepts, out, n_threads)
    return out


def row_norms(data: EncodedData, pair: TablePair, scales: Array, n_threads: int) -> Array:
    """Σ_j s_j k̂(u_ij, u_ij) for every row: K(x_i, x_i) without the intercept."""
    rows = data.native
    if pair.payload is not None:
        rows, table = replace(data, cells=pair.payload.norms(data.cells), payload=None).native, _core.Table.value()
    elif pair.curvature is None:
        table = _core.Table.square()
    else:
        table = _core.Table.dense(np.ascontiguousarray(pair.curvature[:, None], dtype=np.float32))
    out = np.empty((data.n_rows, 1))
    slots = slots_of(scales.astype(np.float32)[None, :, None])
    _core.decision(rows, table, slots, np.zeros(1), out, n_threads)
    return out[:, 0]


def slots_of(weights: Sequence[NDArray[np.float32]] | NDArray[np.float32]) -> NDArray[np.float32]:
    """W of every problem, (n_columns, width), in the core's layout: the problems of a slot are adjacent.

    They are padded to 1, 4 or a multiple of 8 to fit a register. An empty slot follows the last one, because a pair
    table may read it.
    """
    shape = (len(weights), *weights[0].shape)
    slots = empty_slots(shape)
    # One problem after the other: NumPy takes twice as long for all at once.
    for into, values in zip(weights_in(slots, shape), weights, strict=True):
        into[:] = values
    return slots


def empty_slots(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Memory for weights of this shape, in that layout."""
    n_problems, n_columns, width = shape
    stride = n_problems if n_problems == 1 else 4 if n_problems <= 4 else -(-n_problems // 8) * 8
    return np.zeros((n_columns * width + 1, stride), dtype=np.float32)


def weights_in(slots: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """View slots in that layout as W, (n_problems, n_columns, width)."""
    n_problems, n_columns, width = shape
    return slots[:-1].reshape(n_columns, width, -1).transpose(2, 0, 1)[:n_problems]
