"""Values → codes and scales: what the solver sees of the data.

    u = T_j(x)           each feature brought to [0, 1]
    code = grid(u)       one byte (two for fine grids), on a grid that all features share
    s_j                  the feature's scale: k(x_j, y_j) = s_j · k(u, v) for a homogeneous kernel

`scale` chooses T_j:

- "max": u = x / max_j. The kernel stays that of the raw values, with s_j = max_j.
- "minmax": u = (x − min_j) / (max_j − min_j). This changes the values, so s_j = 1.
- "rank": u = the share of training values at or below x, linear between as many quantiles as the grid has knots; a
  feature with fewer distinct values than knots gets a knot for each, so that nothing is interpolated. s_j = 1.

Values outside the training range are **clipped** to it: u > 1 counts as 1. A curve is then constant beyond the data,
which is exact for the intersection kernel (min(u, v) = v for every training value v), and for the others keeps one
outlier from deciding a prediction. The linear kernel has no codes and extrapolates.

Codes are stored densely, one a feature, or where most are zero as one 32-bit word a non-zero, column·256 + code.
No float copy of the data is made: it is read in place. Codes do not depend on the number of threads that make them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core
from .caching import cached_property
from .kernels import AdditiveKernel
from .ranks import NO_EDGES, rank_edges
from .sources import sources
from .tables import CodeGrid, TablePair

Array = NDArray[np.float64]
Scale = Literal["max", "minmax", "rank"]

SCALES = ("max", "minmax", "rank")

# Below this share of non-zeros, words of four bytes are faster to sweep than a byte for every feature, and hold no more
# than 1.2 bytes a value. Float32 values with columns beside them pay later: dense rows are plain dot products.
_PACKED_BELOW, _SPARSE_BELOW = 0.3, 0.2
# Values without a grid are cut off here, as float32 could not square them.
_FARTHEST = np.float32(1e18)


@dataclass(frozen=True)
class EncodedData:
    """Rows as the solver reads them: `cells` are codes, packed words or float32 values.

    - dense: `cells` is (n_rows, n_features), uint8, uint16 or float32
    - sparse codes: `cells` holds words column << code_bits | code, and `row_start` the n_rows + 1 offsets
    - sparse values: `cells` float32, with `columns` beside it, and perhaps a `payload`, a row of float32 a cell
    """

    shape: tuple[int, int]
    cells: NDArray[Any]
    row_start: NDArray[np.int64] | None = None
    columns: NDArray[Any] | None = None
    code_bits: int = 8
    payload: NDArray[np.float32] | None = None

    @property
    def n_rows(self) -> int:
        """Rows."""
        return self.shape[0]

    @property
    def n_features(self) -> int:
        """Columns."""
        return self.shape[1]

    @property
    def is_dense(self) -> bool:
        """Whether every feature of a row is stored."""
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
    def native(self) -> Any:
        """The core's view of the rows."""
        if self.row_start is None:
            if self.cells.dtype == np.float32:
                return _core.Rows.dense_values(self.cells)
            return _core.Rows.dense_codes(self.cells)
        if self.payload is not None and self.columns is not None:
            return _core.Rows.payload(self.row_start, self.columns, self.payload, self.n_features)
        if self.columns is not None:
            return _core.Rows.sparse_values(self.row_start, self.columns, self.cells, self.n_features)
        return _core.Rows.packed(self.row_start, self.cells, self.n_features, self.code_bits)

    def entries(self) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
        """Return offsets of the rows, and columns and cells (codes, values or payloads) of their non-zeros."""
        if self.row_start is None:
            csr = sp.csr_array(self.cells)
            return csr.indptr.astype(np.int64), csr.indices, csr.data
        if self.columns is not None:
            return self.row_start, self.columns, self.cells if self.payload is None else self.payload
        shift, mask = self.cells.dtype.type(self.code_bits), self.cells.dtype.type((1 << self.code_bits) - 1)
        return self.row_start, (self.cells >> shift).astype(np.int64), (self.cells & mask).astype(np.int64)

    def to_csr(self) -> sp.csr_array:
        """Return codes (or values) as a SciPy matrix: for tests, not for speed."""
        row_start, columns, cells = replace(self, payload=None).entries()
        return sp.csr_array((cells, columns, row_start), shape=self.shape)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "native"}


@dataclass(frozen=True)
class ColumnRange:
    """Minimum, maximum (implicit zeros included) and count of non-zeros of each column, and their count in each row."""

    minimum: Array
    maximum: Array
    n_nonzero: NDArray[np.int64]
    row_nonzero: NDArray[np.int64]

    @classmethod
    def of(cls, X: Any, n_threads: int = 1) -> ColumnRange:
        """Look at every value once."""
        n_rows, n_features = X.shape
        minimum, maximum = np.full(n_features, np.inf), np.full(n_features, -np.inf)
        n_nonzero, row_nonzero = np.zeros(n_features, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
        for rows, source in sources(X):
            _core.column_range(source, minimum, maximum, n_nonzero, row_nonzero[rows], n_threads)
        if sp.issparse(X):
            has_zero = n_nonzero < n_rows
            minimum[has_zero] = np.minimum(minimum[has_zero], 0.0)
            maximum[has_zero] = np.maximum(maximum[has_zero], 0.0)
        # Without the sign of a zero, which would depend on where it was met.
        return cls(minimum + 0.0, maximum + 0.0, n_nonzero, row_nonzero)

    def density(self, n_rows: int) -> float:
        """Share of cells that are not zero."""
        return float(self.n_nonzero.sum()) / max(1, n_rows * self.n_nonzero.size)


@dataclass(frozen=True)
class Encoder:
    """The fitted transform of each feature, and the grid of codes. Plain arrays: it pickles and saves as they do."""

    grid: CodeGrid | None  # None: values are kept as float32
    offsets: Array
    factors: Array
    scales: Array  # s_j
    edge_start: NDArray[np.int64]  # empty unless scale="rank"
    edges: Array
    levels: Array
    packed: bool
    clips: bool = True  # to [0, 1]; False for the linear kernel on raw values
    nonnegative_for: str = ""  # the kernel that refuses negative values, if it does
    payload: Any = None

    @classmethod
    def fit(
        cls,
        X: Any,
        pair: TablePair,
        *,
        scale: Scale = "max",
        column_range: ColumnRange | None = None,
        kernel: AdditiveKernel,
        sample_weight: Array | None = None,
        seed: int = 0,
        n_threads: int = 1,
    ) -> Encoder:
        """Learn T_j and s_j from X (CSR or 2-d array, validated)."""
        column_range = column_range or ColumnRange.of(X, n_threads)
        is_linear = scale == "max" and pair.grid is None and pair.payload is None
        offsets = column_range.minimum.copy() if scale == "minmax" else np.zeros(X.shape[1])
        span = np.full(X.shape[1], _unit(column_range)) if is_linear else column_range.maximum - offsets
        with np.errstate(divide="ignore", over="ignore"):
            factors = np.where(span > 0.0, 1.0 / span, 0.0)
        factors[~np.isfinite(factors)] = 0.0  # a column of zeros, or too small to divide by
        scales = np.ones(X.shape[1])
        if is_linear:
            scales = span**2
        elif scale == "max" and kernel.homogeneous:
            scales = span
        packed_below = _PACKED_BELOW if pair.grid is not None else _SPARSE_BELOW
        edges = NO_EDGES
        if scale == "rank":
            width = pair.width if pair.grid is not None and pair.width > 2 else 256
            edges = rank_edges(X, column_range, width, sample_weight, seed, n_threads)
        return cls(
            grid=pair.grid,
            offsets=offsets,
            factors=factors,
            scales=np.where(factors > 0.0, scales, 0.0),
            edge_start=edges[0],
            edges=edges[1],
            levels=edges[2],
            packed=pair.payload is not None or column_range.density(X.shape[0]) < packed_below,
            clips=not is_linear,
            nonnegative_for=kernel.name if kernel.nonnegative and scale == "max" else "",
            payload=pair.payload,
        )

    @property
    def n_features(self) -> int:
        """Columns the encoder was fitted on."""
        return self.offsets.size

    def column(self, j: int) -> Encoder:
        """Return the encoder of feature j alone."""
        here = slice(j, j + 1)
        edges = slice(*self.edge_start[j : j + 2]) if self.edge_start.size else slice(0)
        return replace(
            self,
            offsets=self.offsets[here],
            factors=self.factors[here],
            scales=self.scales[here],
            edge_start=np.array([0, edges.stop - edges.start]) if self.edge_start.size else self.edge_start,
            edges=self.edges[edges],
            levels=self.levels[edges],
        )

    @cached_property
    def native(self) -> Any:
        """The core's view of the map from values to codes."""
        grid = self.grid or CodeGrid(np.zeros(1), np.zeros(0))
        arrays = (self.offsets, self.factors, self.edge_start, self.edges, self.levels)
        return _core.CodeMap(grid.thresholds.astype(np.float32), *arrays, self.clips, self.keeps_zeros)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "native"}

    def transform(
        self, X: Any, *, write: bool = True, column_range: ColumnRange | None = None, n_threads: int = 1
    ) -> EncodedData:
        """Encode X (CSR or 2-d array with the columns of the fit); without `write`, for reading only.

        A `column_range` of this X saves counting its non-zeros again.
        """
        if self.payload is not None:
            data = self._sparse(X, column_range, n_threads)
            return replace(data, payload=self.payload.compute(data.cells, write=write))
        if self.grid is None and self._keeps_values():
            if sp.issparse(X):
                values = _within_reach(X.data, write)
                return EncodedData(X.shape, values, X.indptr.astype(np.int64, copy=False), X.indices)
            if not self.packed:
                return EncodedData(X.shape, _within_reach(X, write))
        return self._sparse(X, column_range, n_threads) if self.packed else self._dense(X, n_threads)

    def _keeps_values(self) -> bool:
        return not self.clips and bool((self.factors == 1.0).all())

    def _dense(self, X: Any, n_threads: int) -> EncodedData:
        cell_type = np.float32 if self.grid is None else np.uint8 if self.grid.code_bits == 8 else np.uint16
        cells = np.zeros(X.shape, dtype=cell_type)
        for rows, source in sources(X):
            _core.encode(self.native, source, cells[rows], n_threads)
        return EncodedData(X.shape, cells)

    def _sparse(self, X: Any, column_range: ColumnRange | None, n_threads: int) -> EncodedData:
        """Non-zeros only, packed with their columns where they are codes. Room is made for the non-zeros of X."""
        row_start = np.zeros(X.shape[0] + 1, dtype=np.int64)
        row_start[1:] = self._most_cells(X, column_range, n_threads)
        capacity = int(row_start.sum())
        columns: NDArray[Any] | None = None
        cells: NDArray[Any]
        into: tuple[NDArray[Any], ...]
        if self.grid is None:
            cells = np.empty(capacity, dtype=np.float32)
            columns = np.empty(capacity, dtype=np.int32 if self.n_features < 1 << 31 else np.int64)
            into, bits = (cells, columns), []
        else:
            code_bits, word = self._word_type(self.grid.code_bits)
            cells = np.empty(capacity, dtype=word)
            into, bits = (cells,), [code_bits]
        position = 0
        for rows, source in sources(X):
            row_end = row_start[rows.start + 1 : rows.stop + 1]
            position = _core.encode(self.native, source, *into, row_end, position, *bits, n_threads)
        columns = columns[:position] if columns is not None else None
        return EncodedData(X.shape, cells[:position], row_start, columns, code_bits=bits[0] if bits else 0)

    def _most_cells(self, X: Any, column_range: ColumnRange | None, n_threads: int) -> NDArray[np.int64] | int:
        """How many cells each row may have."""
        if sp.issparse(X):
            return np.diff(X.indptr).astype(np.int64, copy=False)
        if not self.keeps_zeros:
            return self.n_features  # memory that is not written to is not taken
        if column_range is not None:
            return column_range.row_nonzero
        counts = np.empty(X.shape[0], dtype=np.int64)
        for rows, source in sources(X):
            _core.row_nonzero(source, counts[rows], n_threads)
        return counts

    @property
    def keeps_zeros(self) -> bool:
        """Whether zero stays zero in every column, so that a sparse matrix can be encoded."""
        if self.edge_start.size:
            return bool((self.edges[self.edge_start[:-1]] >= 0.0).all())
        return bool((self.offsets >= 0.0).all())

    def _word_type(self, bits: int) -> tuple[int, type[np.uint32] | type[np.uint64]]:
        return (bits, np.uint32) if self.n_features <= 1 << (32 - bits) else (16, np.uint64)


def _within_reach(values: NDArray[Any], write: bool) -> NDArray[np.float32]:
    """Values as they are, but cut off where the core does so (encode.hpp). Those of a fit are far from there."""
    with np.errstate(over="ignore"):
        near = np.ascontiguousarray(values, dtype=np.float32)
    if not write and near.size and max(-near.min(), near.max()) > _FARTHEST:
        return np.clip(near, -_FARTHEST, _FARTHEST)
    return near


def _unit(column_range: ColumnRange) -> float:
    """1, or the largest magnitude where float32 could not hold the squares of such values."""
    largest = max(-column_range.minimum.min(initial=0.0), column_range.maximum.max(initial=0.0))
    return 1.0 if 1e-9 < largest < 1e9 or largest == 0.0 else float(largest)


def sample_of_values(X: Any, column_range: ColumnRange, scale: Scale, seed: int) -> Array:
    """About 100,000 non-zero u from random rows: for methods that place their knots by the values."""
    if scale == "rank":
        return np.linspace(0.0, 1.0, 1001)[1:]  # ranks are even by construction
    n_rows = min(X.shape[0], max(1, 100_000 * X.shape[0] // max(1, int(column_range.n_nonzero.sum()))))
    rows = np.sort(np.random.default_rng(seed).choice(X.shape[0], n_rows, replace=False))
    sample = sp.coo_array(X[rows])
    offsets = column_range.minimum if scale == "minmax" else np.zeros(X.shape[1])
    span = column_range.maximum - offsets
    columns = sample.coords[1]
    wide = span[columns] > 0.0
    unit = (sample.data[wide] - offsets[columns[wide]]) / span[columns[wide]]
    return unit[unit > 0.0]
