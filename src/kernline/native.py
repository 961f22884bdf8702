"""Tables as the core takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from .encoding import EncodedData
from .tables import DenseTable, NodesTable, PairTable, PowersTable, Table, TablePair

Array = NDArray[np.float64]


def native_table(table: Table) -> Any:
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


def decision(data: EncodedData, table: Table, weights: NDArray[np.float32], intercepts: Array, n_threads: int) -> Array:
    """f_p(x_i) = intercept_p + Σ_j φ(u_ij) · W_pj, (n_rows, n_problems), of `padded` weights."""
    out = np.empty((data.n_rows, weights.shape[0]))
    _core.decision(data.native, native_table(table), weights, intercepts.astype(np.float32), out, n_threads)
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
    weights = padded(scales.astype(np.float32)[None, :])
    _core.decision(rows, table, weights, np.zeros(1, dtype=np.float32), out, n_threads)
    return out[:, 0]


def padded(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """W of shape (n_problems, n_features, width), flat, with one float more a problem that a pair table may touch."""
    flat = weights.reshape(weights.shape[0], -1)
    return np.concatenate([flat, np.zeros((flat.shape[0], 1), dtype=np.float32)], axis=1)
