"""Contributions: what each function adds to the score of each row. With the intercept they sum to the score."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..array_types import Array, Floats, Indices, Matrix, Numbers, is_sparse
from ..encoding.terms import column_values
from ..native import native_table
from ..sources import row_blocks, sources
from .training_facts import functions_of_columns

if TYPE_CHECKING:
    from .functions import ShapeFunctions


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each function adds to the scores of some rows.

    `values` is (n_rows, n_functions, n_problems), or, for a sparse X, one sparse array (n_rows, n_functions) per
    problem. `names` are those of the functions. The sum over functions and the `intercepts` is the score.
    """

    values: Floats | list[sp.csr_array]
    intercepts: Array
    names: Sequence[str]

    @property
    def n_rows(self) -> int:
        """Rows."""
        return (self.values[0] if isinstance(self.values, list) else self.values).shape[0]

    def decision(self) -> Array:
        """The scores, (n_rows, n_problems)."""
        if isinstance(self.values, list):
            # A product adds in float64, as the sum of a sparse array does not.
            ones = np.ones(len(self.names))
            return np.column_stack([part @ ones for part in self.values]) + self.intercepts
        return self.values.sum(axis=1, dtype=np.float64) + self.intercepts

    def row(self, i: int, problem: int = 0) -> Array:
        """What each function adds to one score of row i, (n_functions,)."""
        if isinstance(self.values, list):
            part = self.values[problem]
            here = slice(part.indptr[i], part.indptr[i + 1])
            found = np.zeros(part.shape[1])
            found[part.indices[here]] = part.data[here]
            return found
        return self.values[i, :, problem].astype(np.float64)

    def top(self, i: int, k: int = 10, problem: int = 0) -> list[int]:
        """The functions that move one score of row i most, in the order of their contributions' magnitude."""
        size = np.abs(self.row(i, problem))
        return [int(j) for j in np.argsort(-size, kind="stable")[:k] if size[j] > 0.0]


def explain(shapes: ShapeFunctions, X: Matrix, n_threads: int) -> Contributions:
    """What each function adds to the scores of checked rows."""
    names = shapes.function_names
    if is_sparse(X) and shapes.offsets is None:
        return Contributions(_sparse(shapes, X, n_threads), shapes.intercepts, names)
    values = np.zeros((X.shape[0], len(names), shapes.n_problems), dtype=np.float32)
    _fill(shapes, X, values, n_threads)
    n_curves = len(shapes.encoder.functions)
    for k, pair in enumerate(shapes.pairs, n_curves):
        values[:, k] = pair.evaluate(column_values(X, pair.columns))
    if shapes.offsets is not None:
        values -= shapes.offsets.astype(np.float32)
    return Contributions(values, shapes.intercepts, names)


def _fill(shapes: ShapeFunctions, X: Matrix, values: Floats, n_threads: int) -> None:
    """Add the curves, row by row as they are encoded if the core encodes all of them."""
    encoder, table = shapes.encoder, native_table(shapes.table)
    weights, intercepts = shapes.native_weights
    functions = functions_of_columns(encoder).astype(np.int32)
    if encoder.is_native:
        for rows, source in sources(X):
            _core.explain(encoder.native, source, table, weights, intercepts, functions, values[rows], n_threads)
        return
    for rows in row_blocks(X):
        data = encoder.transform(X[rows], write=False, n_threads=n_threads)
        _core.contributions(data.native, table, weights, intercepts, functions, values[rows], n_threads)


def _sparse(shapes: ShapeFunctions, X: Matrix, n_threads: int) -> list[sp.csr_array]:
    """The contributions of the stored cells, which share their columns among the problems."""
    encoder = shapes.encoder
    data = encoder.transform(X, write=False, n_threads=n_threads).as_sparse()
    row_start, columns, cells = data.entries()
    values = np.zeros((shapes.n_problems, len(cells)), dtype=np.float32)
    _core.cell_contributions(data.native, native_table(shapes.table), *shapes.native_weights, values, n_threads)
    functions = functions_of_columns(encoder)[columns] if encoder.terms else columns
    shape = (X.shape[0], len(encoder.functions))
    indices, row_start = _narrow(functions, row_start)
    first = sp.csr_array((values[0], indices, row_start), shape=shape)
    found = [_with_values(first, one) for one in values]
    if not shapes.pairs:
        return found
    of_pairs = np.stack([pair.evaluate(column_values(X, pair.columns)) for pair in shapes.pairs], axis=1)
    joined = zip(found, np.moveaxis(of_pairs.astype(np.float32), 2, 0), strict=True)
    return [sp.hstack([part, sp.csr_array(table)], format="csr") for part, table in joined]


def _narrow(indices: Numbers, row_start: Indices) -> tuple[Numbers, Numbers]:
    """Column numbers and offsets of 32 bits, as SciPy prefers, if they fit."""
    index_type = np.int32 if row_start[-1] <= np.iinfo(np.int32).max else np.int64
    return indices.astype(index_type, copy=False), row_start.astype(index_type, copy=False)


def _with_values(matrix: sp.csr_array, values: Floats) -> sp.csr_array:
    """The same cells with other values; the constructor would check the shared column numbers again."""
    other = copy(matrix)
    other.data = values
    return other
