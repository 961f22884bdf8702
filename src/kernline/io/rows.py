"""Rows that arrive in blocks, collected into one array of values or of codes.

This takes up to a quarter more memory than the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..array_types import Matrix, Numbers, is_sparse
from ..encoding import EncodedData, Encoder, LevelTable
from ..memory import check_memory
from ..sources import row_blocks
from ..validation import encodable

OnBlock = Callable[[Matrix | LevelTable], None]

# Below this, the available memory is not checked.
_SMALL = 1 << 26


class Grown:
    """An array that blocks are appended to."""

    def __init__(self, first: Numbers) -> None:
        self.array = np.array(first, order="C")
        self.n = len(first)

    def append(self, block: Numbers) -> None:
        """Copy a block to the end. Large arrays grow in place: NumPy asks the system to move pages, not bytes."""
        end = self.n + len(block)
        if end > len(self.array):
            self._resize(max(end, len(self.array) * 5 // 4))
        self.array[self.n : end] = block
        self.n = end

    def result(self) -> Numbers:
        """Everything that was appended, without spare room."""
        self._resize(self.n)
        return self.array

    def _resize(self, n: int) -> None:
        more = n * self.array[:1].nbytes - self.array.nbytes
        if more > _SMALL:
            check_memory(f"Room for {n:,} rows, after {self.n:,} rows read,", more)
        self.array.resize((n, *self.array.shape[1:]), refcheck=False)


class ValueRows:
    """Blocks of values, collected into one dense array."""

    def __init__(self, n_features: int, dtype: np.dtype[np.generic]) -> None:
        self.rows = Grown(np.empty((0, n_features), dtype=dtype))

    def append(self, X: Matrix) -> None:
        """Add a block of rows, dense or CSR."""
        self.rows.append(X.toarray() if is_sparse(X) else X)

    def result(self) -> Numbers:
        """All rows."""
        return self.rows.result()


class PassedRows:
    """Blocks of values that are passed on, and not kept."""

    def __init__(self, on_block: OnBlock, n_features: int) -> None:
        self.on_block = on_block
        self.n_features = n_features

    def append(self, X: Matrix | LevelTable) -> None:
        """Pass on a block of rows."""
        self.n_features = max(self.n_features, X.shape[1])
        self.on_block(X)

    def result(self) -> Numbers:
        """No rows."""
        return np.empty((0, self.n_features))


class EncodedRows:
    """Blocks of values, encoded as they arrive."""

    def __init__(self, encoder: Encoder, n_threads: int) -> None:
        self.encoder = encoder
        self.n_threads = n_threads
        self.first: EncodedData | None = None
        self.arrays: dict[str, Grown] = {}
        self.n_rows = 0

    def append(self, X: Matrix) -> None:
        """Encode a block of rows, dense or CSR, and add it."""
        if is_sparse(X) and not self.encoder.keeps_zeros:
            # The encoder was fitted on dense data, in which zeros have a code: convert a few rows at a time.
            rows_at_once = max(1, 1_000_000 // max(1, X.shape[1]))
            for begin in range(0, X.shape[0], rows_at_once):
                self._add(X[begin : begin + rows_at_once].toarray())
            return
        if is_sparse(X):
            for rows in row_blocks(X, 16_000_000):
                self._add(X[rows])
            return
        self._add(X)

    def _add(self, X: Matrix) -> None:
        X = encodable(X, self.encoder, self.n_threads)
        # For prediction too: values beyond float32's reach are cut off, as prediction does.
        self.append_codes(self.encoder.transform(X, write=self.encoder.payload is not None, n_threads=self.n_threads))

    def append_codes(self, data: EncodedData) -> None:
        """Add rows that the encoder has encoded."""
        if self.first is None:
            self.first = data
        elif not self.arrays:
            self.arrays = {name: Grown(array) for name, array in _parts(self.first).items()}
        if self.arrays:
            for name, array in _parts(data).items():
                offset = self.arrays[name].array[self.arrays[name].n - 1] if name == "row_start" else 0
                self.arrays[name].append(array[1:] + offset if name == "row_start" else array)
        self.n_rows += data.n_rows

    def result(self) -> EncodedData:
        """All rows."""
        if self.first is None:
            n_features = self.encoder.n_features
            empty = sp.csr_array((0, n_features)) if self.encoder.keeps_zeros else np.empty((0, n_features))
            return self.encoder.transform(empty)
        arrays = _parts(self.first) | {name: grown.result() for name, grown in self.arrays.items()}
        return replace(
            self.first,
            shape=(self.n_rows, self.first.n_columns),
            cells=arrays["cells"],
            row_start=arrays.get("row_start"),
            columns=arrays.get("columns"),
            payload=arrays.get("payload"),
        )


def _parts(data: EncodedData) -> dict[str, Numbers]:
    parts = {"cells": data.cells, "row_start": data.row_start, "columns": data.columns, "payload": data.payload}
    return {name: array for name, array in parts.items() if array is not None}
