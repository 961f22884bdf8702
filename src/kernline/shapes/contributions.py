"""Contributions: what each function adds to the score of each row. With the intercept they sum to the score.

They are computed and kept for the cells that are not zero, which are few in most wide data; `values` has them as plain
arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Floats, Indices, Matrix, is_sparse
from ..caching import cached_property
from ..encoding import EncodedData
from ..encoding.terms import column_values
from ..native import native_table
from .names import check_number
from .training_facts import functions_of_columns

if TYPE_CHECKING:
    from .functions import ShapeFunctions


_NAMES_SHOWN = 5  # in a summary


@dataclass(frozen=True, eq=False, repr=False)
class Contributions:
    """What each function adds to the scores of some rows; with the `intercepts`, they sum to the scores.

    `names` are those of the functions. The other fields are how it is stored: `cells`, (n_cells, n_problems), are the
    contributions of cells of curves, those of row i from `row_start[i]` on, each of one of the `functions`; `of_pairs`
    those of pairs, (n_rows, n_pairs, n_problems). `offsets` are subtracted from centred functions.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kernline import AdditiveSVC
    >>> wine = load_wine(as_frame=True)
    >>> model = AdditiveSVC().fit(wine.data, wine.target)
    >>> why = model.shapes_.explain(wine.data[:2])
    >>> why.values.shape
    (2, 13, 3)
    """

    intercepts: Array
    names: Sequence[str]
    cells: Floats
    row_start: Indices
    functions: NDArray[np.int32]
    of_pairs: Floats
    offsets: Array | None
    is_sparse: bool

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:_NAMES_SHOWN]) + (", …" if len(self.names) > _NAMES_SHOWN else "")
        scores = "1 score" if self.n_problems == 1 else f"{self.n_problems} scores"
        centred = "" if self.offsets is None else ", centred"
        return f"Contributions({self.n_rows} rows × {len(self.names)} functions, {scores} each{centred}: {shown})"

    @property
    def n_rows(self) -> int:
        """Rows."""
        return self.row_start.size - 1

    @property
    def n_problems(self) -> int:
        """Scores of a row."""
        return self.intercepts.size

    @cached_property
    def values(self) -> Floats | list[sp.csr_array]:
        """All contributions, (n_rows, n_functions, n_problems).

        For a sparse X and functions that are not centred: one sparse array (n_rows, n_functions) for each problem.
        """
        if self.is_sparse and self.offsets is None:
            return self._sparse()
        n_curves = len(self.names) - self.of_pairs.shape[1]
        out = np.zeros((self.n_rows, len(self.names), self.n_problems), dtype=np.float32)
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.row_start))
        out[rows, self.functions] = self.cells
        out[:, n_curves:] = self.of_pairs
        if self.offsets is not None:
            out -= self.offsets.astype(np.float32)
        return out

    def _sparse(self) -> list[sp.csr_array]:
        """One array per problem; these share their column numbers."""
        index_type = np.int32 if self.row_start[-1] <= np.iinfo(np.int32).max else np.int64
        n_pairs = self.of_pairs.shape[1]
        parts = (self.functions.astype(index_type, copy=False), self.row_start.astype(index_type))
        shape = (self.n_rows, len(self.names) - n_pairs)
        first = sp.csr_array((np.ascontiguousarray(self.cells[:, 0]), *parts), shape=shape)
        found = [first]
        for p in range(1, self.n_problems):
            found.append(copy(first))  # the constructor would check the shared column numbers again
            found[p].data = np.ascontiguousarray(self.cells[:, p])
        if not n_pairs:
            return found
        tables = np.moveaxis(self.of_pairs, 2, 0)
        return [sp.hstack([part, sp.csr_array(table)], format="csr") for part, table in zip(found, tables, strict=True)]

    def decision(self) -> Array:
        """The scores, (n_rows, n_problems)."""
        sums = np.zeros((self.n_rows, self.n_problems))
        filled = np.flatnonzero(np.diff(self.row_start))
        if filled.size:
            sums[filled] = np.add.reduceat(self.cells, self.row_start[filled], axis=0, dtype=np.float64)
        sums += self.of_pairs.sum(axis=1, dtype=np.float64)
        if self.offsets is not None:
            sums -= self.offsets.sum(axis=0)
        return sums + self.intercepts

    def row(self, i: int, problem: int = 0) -> Array:
        """What each function adds to one score of row i, (n_functions,); negative numbers count from the last row."""
        if not -self.n_rows <= i < self.n_rows:
            raise IndexError(f"row: no row {i}. There are {self.n_rows}, 0 to {self.n_rows - 1}.")
        i %= self.n_rows
        here = slice(self.row_start[i], self.row_start[i + 1])
        found = np.zeros(len(self.names))
        found[self.functions[here]] = self.cells[here, problem]
        found[found.size - self.of_pairs.shape[1] :] = self.of_pairs[i, :, problem]
        return found if self.offsets is None else found - self.offsets[:, problem]

    def top(self, i: int, k: int = 10, problem: int = 0) -> list[int]:
        """The functions that move one score of row i most, in the order of their contributions' magnitude.

        Negative row numbers count from the last row.
        """
        check_number(k, "top")
        size = np.abs(self.row(i, problem))
        return [int(j) for j in np.argsort(-size, kind="stable")[:k] if size[j] > 0.0]


def explain(shapes: ShapeFunctions, X: Matrix, n_threads: int) -> Contributions:
    """What each function adds to the scores of checked rows."""
    encoder = shapes.encoder
    data = encoder.transform(X, write=False, n_threads=n_threads)
    data = data.as_sparse() if encoder.terms else data
    row_start, columns = _cells_of(data)
    cells = np.zeros((columns.size, shapes.n_problems), dtype=np.float32)
    _core.contributions(data.native, native_table(shapes.table), *shapes.native_weights, cells, n_threads)
    of_pairs = np.empty((X.shape[0], len(shapes.pairs), shapes.n_problems), dtype=np.float32)
    for k, pair in enumerate(shapes.pairs):
        of_pairs[:, k] = pair.evaluate(column_values(X, pair.columns))
    return Contributions(
        intercepts=shapes.intercepts,
        names=shapes.function_names,
        cells=cells,
        row_start=row_start,
        functions=functions_of_columns(encoder).astype(np.int32)[columns] if encoder.terms else columns,
        of_pairs=of_pairs,
        offsets=shapes.offsets,
        is_sparse=is_sparse(X),
    )


def _cells_of(data: EncodedData) -> tuple[Indices, NDArray[np.int32]]:
    """Where the stored cells of each row begin, and their columns."""
    if data.row_start is None:
        row_start = np.arange(data.n_rows + 1) * data.n_columns
        return row_start, np.tile(np.arange(data.n_columns, dtype=np.int32), data.n_rows)
    if data.columns is not None:
        return data.row_start, data.columns.astype(np.int32, copy=False)
    return data.row_start, (data.cells >> data.cells.dtype.type(data.code_bits)).astype(np.int32)
