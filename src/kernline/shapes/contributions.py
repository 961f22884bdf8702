"""Contributions: what each function adds to the score of each row. With the intercept they sum to the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..array_types import Array, Floats, Indices, Matrix, is_sparse
from ..encoding.terms import column_values
from ..pair_functions import PairFunction
from ..sources import row_blocks
from .training_facts import functions_of_columns

if TYPE_CHECKING:
    from .functions import ShapeFunctions


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each function adds to the scores of some rows.

    `values` is (n_rows, n_functions, n_problems), or, for a sparse X, one sparse array (n_rows, n_functions) per
    problem. `names` are those of the functions. The sum over functions and the `intercepts` is the score.
    """

    values: Array | Floats | list[sp.csr_array]
    intercepts: Array
    names: Sequence[str]

    @property
    def n_rows(self) -> int:
        """Rows."""
        return (self.values[0] if isinstance(self.values, list) else self.values).shape[0]

    def decision(self) -> Array:
        """The scores, (n_rows, n_problems)."""
        if isinstance(self.values, list):
            sums = [np.asarray(part.sum(axis=1, dtype=np.float64)).ravel() for part in self.values]
            return np.column_stack(sums) + self.intercepts
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
    parts = [_of_block(shapes, X[rows], n_threads) for rows in row_blocks(X)]
    names = shapes.function_names
    if shapes.offsets is None and is_sparse(X):
        values = [sp.vstack([part[p] for part in parts], format="csr") for p in range(shapes.n_problems)]
        return Contributions(values, shapes.intercepts, names)
    dense = np.concatenate([np.stack([one.toarray() for one in part], axis=2) for part in parts])
    if shapes.offsets is not None:
        dense -= shapes.offsets
    return Contributions(dense, shapes.intercepts, names)


def _of_block(shapes: ShapeFunctions, X: Matrix, n_threads: int) -> list[sp.csr_array]:
    encoder = shapes.encoder
    data = encoder.transform(X, write=False, n_threads=n_threads)
    row_start, columns, cells = data.entries()
    vectors = shapes.table.vectors(cells)
    function: Indices = functions_of_columns(encoder)[columns]
    shape = (X.shape[0], len(encoder.functions))
    found = []
    for p in range(shapes.n_problems):
        values = np.einsum("nk,nk->n", vectors, shapes.weights[p, columns].astype(np.float64))
        found.append(sp.csr_array((values, function, row_start), shape=shape))
    if not shapes.pairs:
        return found
    of_pairs = np.stack([_of_pair(pair, X) for pair in shapes.pairs], axis=1)
    return [sp.hstack([part, sp.csr_array(of_pairs[:, :, p])], format="csr") for p, part in enumerate(found)]


def _of_pair(pair: PairFunction, X: Matrix) -> Array:
    return pair.evaluate(column_values(X, pair.columns))
