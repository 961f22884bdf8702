"""Values → codes and scales: what the solver sees of the data.

An encoder is a list of terms (terms.py): a number for each column of the input, unless another term replaces it, and
further terms, each with solver columns of its own. column_scaling.py holds what is learnt of numbers, transformation.py
encodes rows.

    u = T_j(x)           each number brought to [0, 1]
    code = grid(u)       one byte (two for fine grids), on a grid that all features share
    s_j                  the column's scale: k(x_j, y_j) = s_j · k(u, v) for a homogeneous kernel; 1 for other terms

Values outside the training range are **clipped** to it: u > 1 counts as 1. A curve is then constant beyond the data,
which is exact for the intersection kernel (min(u, v) = v for every training value v), and for the others keeps one
outlier from deciding a prediction. The linear kernel has no codes and extrapolates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Floats, Indices, Matrix, is_sparse
from ..array_types import Numbers as Values
from ..caching import cached_property
from ..kernels import AdditiveKernel
from ..tables import CodeGrid, TablePair
from ..tables.table import Payload
from .column_range import ColumnRange
from .column_scaling import (
    ColumnFacts,
    Numbers,
    Scale,
    affine_map,
    column_scales,
    is_linear_on_raw_values,
    is_mostly_zero,
    rank_width,
)
from .columns import Columns
from .encoded_data import EncodedData
from .ranks import NO_EDGES, rank_edges
from .terms import Cells, NumberTerm, Term, TermSpec, fit_terms, nan_columns, replaced_columns
from .transformation import encoded_rows

# u at or below it has code 0, as in the core.
_ZERO = np.float32(2.0**-31)
# Kinds of input columns, as the core numbers them. It leaves those of other terms to transformation.py.
_NUMBER, _CATEGORY, _OTHER = range(3)
# What decides the code of a value.
_LEARNT = (
    "grid",
    "offsets",
    "factors",
    "edge_start",
    "edges",
    "levels",
    "clips",
    "payload",
    "numbers",
    "terms",
    "columns",
)
# Not pickled.
_CACHED = ("native", "is_number", "functions")


@dataclass(frozen=True)
class Encoder:
    """The fitted terms, and the grid of codes. Plain arrays and objects of them: it pickles and saves as they do.

    Solver column j < n_features belongs to the number in input column j, and is unused where another term replaces that
    number. The columns of `terms` follow, those of one term after those of another.
    """

    grid: CodeGrid | None  # None: values are kept as float32
    offsets: Array  # of each input column, as are factors and edges
    factors: Array
    scales: Array  # s_j of each solver column
    edge_start: Indices  # empty unless scale="rank"
    edges: Array
    levels: Array
    packed: bool
    clips: bool = True  # to [0, 1]; False for the linear kernel on raw values
    nonnegative_for: str = ""  # the kernel that refuses negative values, if it does
    payload: Payload | None = None
    numbers: Numbers | None = None  # how a number becomes u
    terms: tuple[Term, ...] = ()  # all but the numbers
    columns: Columns = field(default_factory=Columns)  # the names of levels, and what NaN counts as

    def __post_init__(self) -> None:
        """Model files of format 1.0 do not say how numbers become u."""
        if self.numbers is None:
            object.__setattr__(self, "numbers", "rank" if self.edge_start.size else "affine")

    @classmethod
    def fit(
        cls,
        X: Matrix,
        pair: TablePair,
        *,
        scale: Scale = "max",
        column_range: ColumnRange | None = None,
        kernel: AdditiveKernel,
        terms: Sequence[TermSpec] = (),
        columns: Columns | None = None,
        sample_weight: Array | None = None,
        seed: int = 0,
        n_threads: int = 1,
    ) -> Encoder:
        """Learn T_j and s_j from X (CSR or 2-d array, validated), and the `terms` besides numbers."""
        fitted = fit_terms(X, terms)
        column_range = (column_range or ColumnRange.of(X, n_threads)).without(replaced_columns(fitted))
        edges = NO_EDGES
        if scale == "rank":
            edges = rank_edges(X, column_range, rank_width(pair), sample_weight, seed, n_threads)
        facts = ColumnFacts(column_range, X.shape[0], is_sparse(X), edges, fitted, columns or Columns())
        return cls.of_facts(facts, pair, scale, kernel)

    @classmethod
    def of_facts(cls, facts: ColumnFacts, pair: TablePair, scale: Scale, kernel: AdditiveKernel) -> Encoder:
        """Make the encoder of training rows of which these facts are known."""
        columns, fitted, column_range = facts.columns, facts.terms, facts.column_range
        if columns.gaps == "zero" and scale != "max":
            columns = replace(columns, gaps="middle")  # zero is no value of its own there
        is_linear = is_linear_on_raw_values(scale, pair)
        offsets, factors, scales = affine_map(column_range, scale, is_linear, kernel.homogeneous)
        factors[replaced_columns(fitted)] = 0.0
        n_of_terms = sum(term.n_columns for term in fitted)
        packed = pair.payload is not None or is_mostly_zero(column_range, facts.n_rows, pair.grid, fitted, n_of_terms)
        encoder = cls(
            grid=pair.grid,
            offsets=offsets,
            factors=factors,
            scales=np.append(np.where(factors > 0.0, scales, 0.0), np.ones(n_of_terms)),
            edge_start=facts.edges[0],
            edges=facts.edges[1],
            levels=facts.edges[2],
            packed=packed,
            clips=not is_linear,
            nonnegative_for=kernel.name if kernel.nonnegative and scale == "max" else "",
            payload=pair.payload,
            numbers="rank" if scale == "rank" else "affine",
            terms=fitted,
            columns=columns,
        )
        if fitted and facts.is_sparse and not encoder.keeps_zeros:
            raise ValueError(
                "A category of a sparse matrix has 0 among its levels, and zeros are not stored. Pass a dense array "
                "(X.toarray()), or number the levels from 1."
            )
        return encoder

    def suits(self, pair: TablePair, scale: Scale, kernel: AdditiveKernel) -> bool:
        """Whether rows that it has encoded can be used with these tables: same grid, same scaling of the values."""
        is_linear = is_linear_on_raw_values(scale, pair)
        span = np.divide(1.0, self.factors, out=np.zeros_like(self.factors), where=self.factors > 0.0)
        scales = column_scales(span, scale, is_linear, kernel.homogeneous) * (self.factors > 0.0)
        return (
            _equal(self.grid, pair.grid)
            and _equal(self.payload, pair.payload)
            and self.clips is not is_linear
            and self.numbers == ("rank" if scale == "rank" else "affine")
            and (scale == "minmax" or not self.offsets.any())
            and np.allclose(self.scales[: self.n_features], scales)
        )

    def equals(self, other: Encoder) -> bool:
        """Whether it encodes every row as the other does."""
        return self is other or all(_equal(getattr(self, name), getattr(other, name)) for name in _LEARNT)

    @property
    def n_features(self) -> int:
        """Columns of the input."""
        return self.offsets.size

    @property
    def n_columns(self) -> int:
        """Solver columns: those of the numbers, one for each input column, and those of the terms."""
        return self.n_features + sum(term.n_columns for term in self.terms)

    @property
    def term_start(self) -> list[int]:
        """The first solver column of each of the terms."""
        return list(accumulate((term.n_columns for term in self.terms), initial=self.n_features))[:-1]

    @cached_property
    def is_number(self) -> NDArray[np.bool_]:
        """Whether an input column is a number."""
        is_number = np.ones(self.n_features, dtype=bool)
        is_number[replaced_columns(self.terms)] = False
        return is_number

    @property
    def nan_columns(self) -> Indices:
        """Input columns in which NaN has a weight."""
        return nan_columns(self.terms)

    @cached_property
    def functions(self) -> Sequence[tuple[int, ...]]:
        """The columns S of each f_S in f(x) = b + Σ_S f_S(x_S): every single one, then the pairs that terms read.

        f_S is the sum of the terms that read the columns S.
        """
        return [*((j,) for j in range(self.n_features)), *self.pairs_of_terms]

    @property
    def pairs_of_terms(self) -> list[tuple[int, ...]]:
        """The functions that read two columns."""
        return list(dict.fromkeys(term.columns for term in self.terms if len(term.columns) > 1))

    @property
    def n_functions(self) -> int:
        """How many functions there are."""
        return self.n_features + len(self.pairs_of_terms)

    def number(self, j: int) -> NumberTerm | None:
        """The number in input column j, if it is one."""
        if not self.is_number[j]:
            return None
        points = None
        if self.numbers == "rank":
            here = slice(*self.edge_start[j : j + 2])
            points = self.edges[here], self.levels[here]
        return NumberTerm(j, float(self.offsets[j]), float(self.factors[j]), points)

    def value_of_gap(self, j: int) -> float:
        """What NaN counts as in the number of column j, if it has no weight of its own."""
        number = self.number(j)
        return float(number.values_at(np.array([0.5]))[0]) if number and self.columns.gaps == "middle" else 0.0

    def filled(self, columns: Sequence[int], rows: Array) -> Array:
        """Values of these columns, (n_rows, n_columns), where NaN is replaced in numbers without a weight for it."""
        weighted = self.nan_columns
        fills = [self.value_of_gap(j) if self.is_number[j] and j not in weighted else np.nan for j in columns]
        return np.where(np.isnan(rows), fills, rows)

    def column(self, j: int) -> Encoder:
        """Return the encoder of the number in column j alone."""
        here = slice(j, j + 1)
        is_rank = self.numbers == "rank"
        edges = slice(*self.edge_start[j : j + 2]) if is_rank else slice(0)
        return replace(
            self,
            offsets=self.offsets[here],
            factors=self.factors[here],
            scales=self.scales[here],
            edge_start=np.array([0, edges.stop - edges.start]) if is_rank else self.edge_start,
            edges=self.edges[edges],
            levels=self.levels[edges],
            terms=(),
            columns=Columns(),
        )

    @cached_property
    def native(self) -> _core.CodeMap:
        """The core's view of the map from values to codes."""
        grid = self.grid or CodeGrid(np.zeros(1), np.zeros(0))
        arrays = (self.offsets, self.factors, self.edge_start, self.edges, self.levels)
        native = _core.CodeMap(grid.thresholds.astype(np.float32), *arrays, self.clips, self.keeps_zeros)
        if self.terms:
            native.set_terms(*self._native_terms())
        return native

    def _native_terms(self) -> tuple[NDArray[np.uint8], Indices, Indices, Array, Indices, int]:
        """For each input column: its kind, and where the solver columns of its levels and of NaN are."""
        kinds = np.where(self.is_number, _NUMBER, _OTHER).astype(np.uint8)
        first, missing = np.zeros(self.n_features, dtype=np.int64), np.full(self.n_features, -1, dtype=np.int64)
        levels: list[Array] = [np.zeros(0)] * self.n_features
        for term, start in zip(self.terms, self.term_start, strict=True):
            j = term.columns[0]
            if term.native == "category":
                kinds[j], first[j], levels[j] = _CATEGORY, start, term.axes[0].points  # type: ignore[attr-defined]
            elif term.native == "missing":
                missing[j] = start
        level_start = np.cumsum([0, *(part.size for part in levels)])
        return kinds, first, level_start, np.concatenate(levels), missing, self.n_columns

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in self.__dict__.items() if key not in _CACHED}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update({"numbers": None, "terms": (), "columns": Columns()} | state)
        self.__post_init__()

    def transform(
        self, X: Matrix, *, write: bool = True, column_range: ColumnRange | None = None, n_threads: int = 1
    ) -> EncodedData:
        """Encode X (CSR or 2-d array with the columns of the fit); without `write`, for reading only.

        A `column_range` of this X saves counting its non-zeros again.
        """
        return replace(encoded_rows(self, X, write, column_range, n_threads), encoder=self)

    def cells(self, term: Term, values: Array) -> Cells:
        """Call `term.cells` and check what it returns: the core trusts columns."""
        column, u = term.cells(values)
        column, u = np.asarray(column, dtype=np.int64), np.asarray(u, dtype=np.float64)
        fits = column.shape == u.shape == (len(values),)
        if not fits or column.max(initial=-1) >= term.n_columns or not ((u >= 0.0) & (u <= 1.0)).all():
            raise ValueError(
                f"The term of kind {term.kind!r} of columns {term.columns} must give one column below {term.n_columns} "
                f"and one u in [0, 1] for each row; got columns of shape {column.shape} up to {column.max(initial=-1)} "
                f"and u of shape {u.shape}."
            )
        return column, u

    def quantised(self, u: Array) -> Values:
        """The codes of these u in [0, 1], or u itself where values are kept."""
        if self.grid is None:
            return u.astype(np.float32)
        return np.searchsorted(self.thresholds, u.astype(np.float32), side="right")

    @property
    def thresholds(self) -> Floats:
        """The thresholds of the grid as the core compares them with u: code(u) is how many are at or below it."""
        assert self.grid is not None
        return np.maximum(self.grid.thresholds.astype(np.float32), np.nextafter(_ZERO, np.float32(1.0)))

    @property
    def is_native(self) -> bool:
        """Whether the core alone makes the codes of a row."""
        return self.grid is not None and all(term.native for term in self.terms)

    @property
    def keeps_zeros(self) -> bool:
        """Whether a zero needs no cell in any column, so that a sparse matrix can be encoded."""
        if any(term.native and term.cells(np.zeros((1, 1)))[0][0] >= 0 for term in self.terms):
            return False
        if self.numbers == "rank":
            return bool((self.edges[self.edge_start[:-1]] >= 0.0).all())
        return bool((self.offsets >= 0.0).all())

    @property
    def cell_type(self) -> type[np.float32 | np.uint8 | np.uint16]:
        """The type of a value, or of a code that is not packed with its column."""
        if self.grid is None:
            return np.float32
        return np.uint8 if self.grid.code_bits == 8 else np.uint16

    @property
    def word_type(self) -> tuple[int, type[np.uint32] | type[np.uint64]]:
        """Bits of a code in a word of packed rows, and the type of the word."""
        assert self.grid is not None
        bits = self.grid.code_bits
        return (bits, np.uint32) if self.n_columns <= 1 << (32 - bits) else (16, np.uint64)


def _equal(a: object, b: object) -> bool:
    """Equality of fitted parts: arrays, plain values, and tuples and dataclasses of these."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if is_dataclass(a) and type(a) is type(b):
        return all(_equal(getattr(a, part.name), getattr(b, part.name)) for part in fields(a))
    return bool(a == b)
