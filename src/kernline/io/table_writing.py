"""Tables written by pyarrow, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..array_types import Numbers, is_sparse
from ..encoding import LevelTable
from .formats import Data
from .table import pyarrow

if TYPE_CHECKING:
    from .arrow_types import BatchWriter, Schema

# Values written at a time; zeros are values too.
_VALUES = 1 << 24
# A table has a name, a type and an array for each column: with more columns, these outweigh the values.
_MOST_COLUMNS = 100_000


def write_table(data: Data, open_writer: Callable[[Schema], BatchWriter]) -> None:
    """Write the features, then the labels; columns without names are called f1, f2, …"""
    levels = data.X.levels if isinstance(data.X, LevelTable) else {}
    X, y, n_columns = data.X.values if isinstance(data.X, LevelTable) else data.matrix, data.y, data.X.shape[1]
    if n_columns > _MOST_COLUMNS:
        last = f"; the highest index, from 1, is {X.indices.max() + 1}" if is_sparse(X) and X.nnz else ""
        raise ValueError(
            f"{n_columns:,} columns, where a table has {_MOST_COLUMNS:,} at most{last}. Write svmlight or .npz."
        )
    pa = pyarrow("a table", action="Writing")
    names = data.feature_names or [f"f{j + 1}" for j in range(n_columns)]
    if y is not None and data.target in names:
        raise ValueError(f"a feature is already called {data.target!r}: give the column of labels another name.")
    number = pa.from_numpy_dtype(X.dtype)
    types = [(name, pa.string() if j in levels else number) for j, name in enumerate(names)]
    labels = None if y is None else pa.array(np.asarray(y).tolist())
    schema = pa.schema(types + ([] if labels is None else [(data.target, labels.type)]))
    step = max(1, _VALUES // max(1, n_columns))
    with open_writer(schema) as writer:
        for begin in range(0, X.shape[0], step):
            rows = X[begin : begin + step]
            columns = sp.csr_array(rows).T.toarray(order="C") if is_sparse(rows) else np.ascontiguousarray(rows.T)
            arrays = [_array(pa, column, levels.get(j)) for j, column in enumerate(columns)]
            arrays += [] if labels is None else [labels.slice(begin, rows.shape[0])]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _array(pa: ModuleType, column: Numbers, texts: Sequence[str] | None) -> object:
    """Some rows of a column: numbers as they are, texts by their numbers."""
    if texts is None:
        return pa.array(column)
    return pa.array(
        np.array([*texts, None], dtype=object)[np.nan_to_num(column, nan=-1.0).astype(np.int64)], pa.string()
    )
