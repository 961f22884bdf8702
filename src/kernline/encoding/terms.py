"""Terms: the additive parts of a model, f(x) = b + Σ_t f_t(x_t), where x_t is one column of the input, or two.

A term owns some solver columns, each with weights of its own, and gives every row at most one cell: one of its solver
columns, and u in [0, 1], the place on the kernel's tables. Plain numbers are the usual term: one solver column, and u
is the scaled value. There may be millions of them, so the encoder keeps them as arrays (see `NumberTerm`); the other
terms are objects of the classes in `TERMS`.

| kind | reads | solver columns | cell |
|---|---|---|---|
| number | one column | one | u = the scaled value |
| category | one column, instead of its number | one per level | u = 1 at the level; none if unseen |
| missing | one column, beside its number or category | one | u = 1 where the value is NaN |
| pair | two columns, beside their own terms | one per cell of a two-dimensional table | u = 1 |

u = 1 is the last code of every grid, and exact: a level has one weight, and K between two rows is k(1, 1) if they
share the level and 0 otherwise. That is what an indicator column would give.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Matrix, is_sparse

Cells = tuple[NDArray[np.int64], Array]


class Term(ABC):
    """What a term has to offer. Subclasses are frozen dataclasses of plain values, arrays and tuples, for model files.

    `columns` are the input columns it reads, in the order in which `cells` gets their values.
    """

    kind: ClassVar[str]  # its name in specifications and files
    n_inputs: ClassVar[int] = 1  # how many input columns it reads
    replaces_number: ClassVar[bool] = True  # whether its column is no longer a number
    reads_nan: ClassVar[bool] = False  # whether its columns may hold NaN
    learns: ClassVar[bool] = True  # whether `fit` looks at values: those of a sparse matrix take a pass over all of it
    # What the core encodes it as; None: the encoder calls `cells`.
    native: ClassVar[Literal["category", "missing"] | None] = None

    columns: tuple[int, ...]

    @classmethod
    @abstractmethod
    def fit(cls, columns: tuple[int, ...], values: Array) -> Self:
        """Learn the term from training `values`, (n_rows, n_inputs). Options of a specification come as keywords."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Solver columns that the term owns."""

    @abstractmethod
    def cells(self, values: Array) -> Cells:
        """For each row of `values`, (n_rows, n_inputs): which of its own columns, -1 for none, and u in [0, 1]."""

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError unless the fields are such as `fit` leaves: files can hold anything."""


TERMS: dict[str, type[Term]] = {}


_T = TypeVar("_T", bound=Term)


def register(cls: type[_T]) -> type[_T]:
    """Make a term known by its kind, to `Encoder.fit` and to model files. Usable as a decorator."""
    known = TERMS.setdefault(cls.kind, cls)
    if known is not cls:
        raise ValueError(f"A term of kind {cls.kind!r} is already registered: {known.__module__}.{known.__qualname__}.")
    return cls


class TermSpec(NamedTuple):
    """A term to be fitted: its kind, the input columns it reads, and options of its `fit`."""

    kind: str
    columns: tuple[int, ...]
    options: Mapping[str, object] = {}

    @property
    def term(self) -> type[Term]:
        """The class."""
        if self.kind not in TERMS:
            raise ValueError(f"A term of kind {self.kind!r} is not registered. Choose one of {sorted(TERMS)}.")
        return TERMS[self.kind]


def fit_terms(X: Matrix, specs: Sequence[TermSpec]) -> tuple[Term, ...]:
    """Fit the terms to X, CSR or 2-d array."""
    check_columns(specs, X.shape[1])
    fitted = []
    for spec in specs:
        values = column_values(X, spec.columns) if spec.term.learns else np.empty((0, spec.term.n_inputs))
        fitted.append(spec.term.fit(tuple(spec.columns), values, **spec.options))
    return tuple(fitted)


def check_columns(terms: Sequence[TermSpec | Term], n_features: int) -> None:
    """Raise ValueError if terms read columns that do not exist, or contradict each other."""
    seen: set[tuple[str, tuple[int, ...]]] = set()
    replaced: dict[int, str] = {}
    for term in terms:
        cls = term.term if isinstance(term, TermSpec) else type(term)
        columns = tuple(term.columns)
        inside = all(isinstance(j, int | np.integer) and 0 <= j < n_features for j in columns)
        if not inside or len(columns) != cls.n_inputs or len(set(columns)) != len(columns):
            raise ValueError(
                f"A term of kind {term.kind!r} reads {cls.n_inputs} distinct columns of {n_features}, numbered from 0; "
                f"got {columns}."
            )
        if (term.kind, columns) in seen:
            raise ValueError(f"The term of kind {term.kind!r} of columns {columns} is given twice.")
        seen.add((term.kind, columns))
        for j in columns if cls.replaces_number else ():
            if j in replaced:
                raise ValueError(f"Column {j} cannot be both a {replaced[j]} and a {term.kind}.")
            replaced[j] = term.kind


def replaced_columns(terms: Sequence[TermSpec | Term]) -> NDArray[np.int64]:
    """Input columns that are not numbers."""
    classes = [(term.term if isinstance(term, TermSpec) else type(term), term.columns) for term in terms]
    return np.array(sorted(j for cls, columns in classes if cls.replaces_number for j in columns), dtype=np.int64)


def nan_columns(terms: Sequence[TermSpec | Term]) -> NDArray[np.int64]:
    """Input columns in which NaN is allowed."""
    classes = [(term.term if isinstance(term, TermSpec) else type(term), term.columns) for term in terms]
    return np.array(sorted({j for cls, columns in classes if cls.reads_nan for j in columns}), dtype=np.int64)


def column_values(X: Matrix, columns: Sequence[int]) -> Array:
    """Some columns of X as a dense float64 array."""
    part = X[:, list(columns)]
    return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)


@dataclass(frozen=True)
class NumberTerm:
    """A view of one number of an encoder: how x becomes u, affinely or between points (edge, level)."""

    kind: ClassVar[str] = "number"

    column: int
    offset: float
    factor: float
    points: tuple[Array, Array] | None  # edges and levels of scale="rank"

    def values_at(self, u: Array) -> Array:
        """The x that become these u; one, where all become zero."""
        if self.points is not None:
            edges, levels = self.points
            return np.interp(u, levels, edges)
        if self.factor == 0.0:
            return np.array([self.offset])
        return self.offset + u / self.factor


@dataclass(frozen=True, eq=False)
class Axis:
    """One side of a table: which position a value has. NaN has none, but on an axis of kind "missing".

    - "levels": `points` are the values that have a position each; others have none.
    - "bins": position k holds points[k − 1] <= x < points[k], the first and the last without end.
    - "missing": NaN has position 0, and other values none.
    """

    kind: Literal["levels", "bins", "missing"]
    points: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def size(self) -> int:
        """Positions."""
        return {"levels": self.points.size, "bins": self.points.size + 1, "missing": 1}[self.kind]

    def positions(self, values: Array) -> NDArray[np.int64]:
        """The position of each value, -1 for none."""
        if self.kind == "missing":
            return np.where(np.isnan(values), 0, -1)
        if self.kind == "bins":
            return np.where(np.isnan(values), -1, np.searchsorted(self.points, values, side="right"))
        at = np.minimum(np.searchsorted(self.points, values), self.points.size - 1)
        return np.where(self.points[at] == values, at, -1)

    def check(self) -> None:
        """Raise ValueError unless the points are finite and increase."""
        if self.kind not in ("levels", "bins", "missing"):
            raise ValueError(f"an axis of kind {self.kind!r:.50} is not known.")
        points = self.points
        if not isinstance(points, np.ndarray) or points.dtype != np.float64 or points.ndim != 1:
            raise ValueError("the points of an axis must be an array of float64 of one dimension.")
        if not np.isfinite(points).all() or not (points[1:] > points[:-1]).all():
            raise ValueError("the points of an axis must be finite and increase.")
        if (points.size == 0) != (self.kind == "missing"):
            raise ValueError(f"an axis of {points.size} {self.kind} cannot be.")

    @classmethod
    def levels(cls, values: Array, column: int) -> Axis:
        """The distinct values."""
        points = np.unique(values[~np.isnan(values)]) + 0.0
        if not points.size:
            raise ValueError(f"Column {column} has no value that could be a category: all are missing.")
        return cls("levels", points)

    @classmethod
    def bins(cls, values: Array, count: int, column: int) -> Axis:
        """About `count` bins of equally many values."""
        present = values[~np.isnan(values)]
        inner = np.unique(np.quantile(present, np.arange(1, count) / count)) if present.size else present
        inner = inner[inner > present.min()] if inner.size else inner
        if not inner.size:
            raise ValueError(f"Column {column} cannot be cut into {count} bins: it has less than two distinct values.")
        return cls("bins", inner)


@dataclass(frozen=True, eq=False)
class TableTerm(Term):
    """An exact weight for each cell of a table, whose sides are one axis for each input column.

    Every exporter knows tables, so a subclass can be exported without further code.
    """

    columns: tuple[int, ...]
    axes: tuple[Axis, ...]
    axis_kinds: ClassVar[tuple[tuple[str, ...], ...]]  # for each axis, the kinds it may have

    @property
    def n_columns(self) -> int:
        """One for each cell of the table, row by row."""
        return prod(axis.size for axis in self.axes)

    def cells(self, values: Array) -> Cells:
        """The cell of the table; none where a value has no position."""
        place = np.zeros(len(values), dtype=np.int64)
        inside = np.ones(len(values), dtype=bool)
        for axis, column in zip(self.axes, values.T, strict=True):
            at = axis.positions(column)
            inside &= at >= 0
            place = place * axis.size + at
        return np.where(inside, place, -1), np.ones(len(values))

    def check(self) -> None:
        """Check the axes."""
        if not isinstance(self.axes, tuple) or not all(isinstance(axis, Axis) for axis in self.axes):
            raise ValueError(f"the axes of a {self.kind} are something else.")
        if len(self.axes) != len(self.axis_kinds):
            raise ValueError(f"a {self.kind} of {len(self.axes)} axes cannot be.")
        for axis, kinds in zip(self.axes, self.axis_kinds, strict=True):
            axis.check()
            if axis.kind not in kinds:
                raise ValueError(f"a {self.kind} has no axis of {axis.kind}.")


@register
class CategoryTerm(TableTerm):
    """An exact weight for each level of a column, instead of a curve."""

    kind = "category"
    native = "category"
    axis_kinds = (("levels",),)

    @classmethod
    def fit(cls, columns: tuple[int, ...], values: Array) -> Self:
        """Take the distinct values as levels; NaN is none of them."""
        return cls(columns, (Axis.levels(values[:, 0], columns[0]),))


@register
class MissingTerm(TableTerm):
    """A weight for NaN, which gives no other cell. It stands beside the term of its column."""

    kind = "missing"
    native = "missing"
    replaces_number = False
    reads_nan = True
    learns = False
    axis_kinds = (("missing",),)

    @classmethod
    def fit(cls, columns: tuple[int, ...], values: Array) -> Self:
        """There is nothing to learn."""
        return cls(columns, (Axis("missing"),))


@register
class PairTerm(TableTerm):
    """An exact weight for each cell of a two-dimensional table, of levels or of bins of numbers.

    No estimator makes it: functions of pairs (pair_functions.py) have taken its place. Files of format 2 may hold it.
    """

    kind = "pair"
    n_inputs = 2
    replaces_number = False
    axis_kinds = (("levels", "bins"),) * 2

    @classmethod
    def fit(cls, columns: tuple[int, ...], values: Array, bins: tuple[int | None, int | None] = (None, None)) -> Self:
        """Take the distinct values of a column as levels, or that many quantile bins if `bins` has a number."""
        axes = (
            Axis.levels(column, j) if count is None else Axis.bins(column, count, j)
            for j, column, count in zip(columns, values.T, bins, strict=True)
        )
        return cls(columns, tuple(axes))
