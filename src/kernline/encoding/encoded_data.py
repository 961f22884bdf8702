"""EncodedData: rows as the solver reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..array_types import Indices, Numbers
from ..caching import cached_property

if TYPE_CHECKING:
    from .encoder import Encoder


@dataclass(frozen=True)
class EncodedData:
    """Rows as the solver reads them: `cells` are codes, packed words or float32 values.

    A column is a solver column: a term of the encoder may have several.

    - dense: `cells` is (n_rows, n_columns), uint8, uint16 or float32
    - sparse codes: `cells` holds words column << code_bits | code, and `row_start` the n_rows + 1 offsets
    - sparse values: `cells` float32, with `columns` beside it, and perhaps a `payload`, a row of float32 per cell

    `encoder` is the one that the rows are from, None for plain features.
    """

    shape: tuple[int, int]
    cells: Numbers
    row_start: Indices | None = None
    columns: Numbers | None = None
    code_bits: int = 8
    payload: NDArray[np.float32] | None = None
    encoder: Encoder | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        """Rows."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Solver columns."""
        return self.shape[1]

    @property
    def is_dense(self) -> bool:
        """Whether every column of a row is stored."""
        return self.row_start is None

    @property
    def n_cells(self) -> int:
        """Stored cells: the non-zeros of a sparse layout."""
        return int(self.row_start[-1]) if self.row_start is not None else self.cells.size

    @property
    def nbytes(self) -> int:
        """Bytes held, offsets included."""
        arrays = (self.cells, self.row_start, self.columns, self.payload)
        return sum(array.nbytes for array in arrays if array is not None)

    @cached_property
    def native(self) -> _core.Rows:
        """The core's view of the rows."""
        if self.row_start is None:
            if self.cells.dtype == np.float32:
                return _core.Rows.dense_values(self.cells)
            return _core.Rows.dense_codes(self.cells)
        if self.payload is not None and self.columns is not None:
            return _core.Rows.payload(self.row_start, self.columns, self.payload, self.n_columns)
        if self.columns is not None:
            return _core.Rows.sparse_values(self.row_start, self.columns, self.cells, self.n_columns)
        return _core.Rows.packed(self.row_start, self.cells, self.n_columns, self.code_bits)

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> EncodedData:
        """Some of the rows, as a copy or a view."""
        if self.row_start is None:
            cells = self.cells[rows]
            return replace(self, shape=(len(cells), self.n_columns), cells=cells)
        if isinstance(rows, slice) and rows.step in (None, 1):
            return self._stretch(*rows.indices(self.n_rows)[:2])
        begin, count = self.row_start[:-1][rows], np.diff(self.row_start)[rows]
        row_start = np.append(0, np.cumsum(count))
        kept = np.arange(row_start[-1]) + np.repeat(begin - row_start[:-1], count)
        return replace(
            self,
            shape=(count.size, self.n_columns),
            cells=self.cells[kept],
            row_start=row_start,
            columns=None if self.columns is None else self.columns[kept],
            payload=None if self.payload is None else self.payload[kept],
        )

    def _stretch(self, begin: int, end: int) -> EncodedData:
        """Consecutive rows of a sparse layout, as views."""
        assert self.row_start is not None
        end = max(begin, end)
        row_start = self.row_start[begin : end + 1]
        cells = slice(row_start[0], row_start[-1])
        return replace(
            self,
            shape=(end - begin, self.n_columns),
            cells=self.cells[cells],
            row_start=row_start - row_start[0],
            columns=None if self.columns is None else self.columns[cells],
            payload=None if self.payload is None else self.payload[cells],
        )

    @classmethod
    def joined(cls, parts: Sequence[EncodedData]) -> EncodedData:
        """The rows of several parts of one encoder, one after another."""
        if len(parts) == 1:
            return parts[0]
        first, shape = parts[0], (sum(part.n_rows for part in parts), parts[0].n_columns)
        arrays: dict[str, Any] = {}
        for name in ("cells", "columns", "payload"):
            if getattr(first, name) is not None:
                arrays[name] = np.concatenate([getattr(part, name) for part in parts])
        if first.row_start is not None:
            counts = [np.diff(cast(Indices, part.row_start)) for part in parts]
            arrays["row_start"] = np.append(0, np.cumsum(np.concatenate(counts)))
        return replace(first, shape=shape, **arrays)

    def entries(self) -> tuple[Indices, Numbers, Numbers]:
        """Return offsets of the rows, and columns and cells (codes, values or payloads) of their non-zeros."""
        if self.row_start is None:
            csr = sp.csr_array(self.cells)
            return csr.indptr.astype(np.int64), csr.indices, csr.data
        if self.columns is not None:
            return self.row_start, self.columns, self.cells if self.payload is None else self.payload
        shift, mask = self.cells.dtype.type(self.code_bits), self.cells.dtype.type((1 << self.code_bits) - 1)
        return self.row_start, (self.cells >> shift).astype(np.int64), (self.cells & mask).astype(np.int64)

    def dense_cells(self, columns: Indices) -> Numbers:
        """The codes or values of these columns, (n_rows, len(columns)), zeros included."""
        if self.row_start is None:
            return self.cells[:, columns]
        row_start, of_cells, cells = self.entries()
        place = np.full(self.n_columns, -1)
        place[columns] = np.arange(columns.size)
        at = place[of_cells]
        row = np.repeat(np.arange(self.n_rows), np.diff(row_start))
        here = at >= 0
        out = np.zeros((self.n_rows, columns.size), dtype=np.float32 if cells.dtype.kind == "f" else np.uint16)
        out[row[here], at[here]] = cells[here]
        return out

    def as_sparse(self) -> EncodedData:
        """Return the rows with only their non-zeros stored."""
        if self.row_start is not None:
            return self
        row_start, columns, cells = self.entries()
        if cells.dtype == np.float32:
            return replace(self, cells=cells, row_start=row_start, columns=columns)
        words = columns.astype(np.uint64) << np.uint64(16) | cells.astype(np.uint64)
        return replace(self, cells=words, row_start=row_start, code_bits=16)

    def with_cells(self, added: list[tuple[Indices, Numbers]]) -> EncodedData:
        """Return the rows with more cells: pairs of a column for each row (-1 for none) and a cell for each row."""
        if self.row_start is None:
            cells = self.cells.copy()
            for column, cell in added:
                rows = np.flatnonzero(column >= 0)
                cells[rows, column[rows]] = cell[rows]
            return replace(self, cells=cells)
        present = [(column >= 0) & (cell != 0) for column, cell in added]
        more = np.sum(present, axis=0)
        row_start = self.row_start + np.append(0, np.cumsum(more))
        kept = np.arange(self.n_cells) + np.repeat(row_start[:-1] - self.row_start[:-1], np.diff(self.row_start))
        cells = np.empty(row_start[-1], dtype=self.cells.dtype)
        columns = None if self.columns is None else np.empty(row_start[-1], dtype=self.columns.dtype)
        end = row_start[1:] - more  # of each row, so far
        cells[kept] = self.cells[: self.n_cells]
        if columns is not None and self.columns is not None:
            columns[kept] = self.columns[: self.n_cells]
        for (column, cell), here in zip(added, present, strict=True):
            if columns is None:
                cells[end[here]] = column[here].astype(cells.dtype) << cells.dtype.type(self.code_bits) | cell[here]
            else:
                cells[end[here]], columns[end[here]] = cell[here], column[here]
            end += here
        return replace(self, cells=cells, row_start=row_start, columns=columns)

    def to_csr(self) -> sp.csr_array:
        """Return codes (or values) as a SciPy matrix: for tests, not for speed."""
        row_start, columns, cells = replace(self, payload=None).entries()
        return sp.csr_array((cells, columns, row_start), shape=self.shape)

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in self.__dict__.items() if key != "native"}


def joined_rows(parts: Sequence[EncodedData]) -> EncodedData:
    """Rows of the same encoder, those of one part after those of another."""
    first = parts[0]

    def stacked(name: str) -> Any:
        arrays = [getattr(one, name) for one in parts]
        return None if arrays[0] is None else np.concatenate(arrays)

    row_start = None
    if first.row_start is not None:
        counts = np.concatenate([np.diff(cast(Indices, one.row_start)) for one in parts])
        row_start = np.append(0, np.cumsum(counts))
    return replace(
        first,
        shape=(sum(one.n_rows for one in parts), first.n_columns),
        cells=stacked("cells"),
        row_start=row_start,
        columns=stacked("columns"),
        payload=stacked("payload"),
    )
