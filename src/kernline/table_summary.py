"""What a fit must know of all rows of a table before it can encode any of them, learnt batch by batch.

    summary = TableSummary(rules)
    for X, weight in batches: summary.update(X, weight)
    summary.merge(other)                                   # of rows that follow these
    encoder = training.encoder_of(summary, settings)       # settings.terms, settings.columns = summary.terms()

It adds to the ranges and ranks of columns (encoding/summaries.py) their names, which columns are categories, and the
levels of these. Levels are sorted at the end, so they do not depend on the batches.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from sklearn.utils import check_array

from .array_types import Array, Labels, Matrix, MatrixLike, Numbers, is_sparse
from .encoding import ColumnRange, Columns, EncodedData, LevelTable, Term, TermSpec
from .encoding.column_scaling import ColumnFacts
from .encoding.columns import TrainingTable, chosen_columns, naming_text, read_training
from .encoding.frames import category_order, check_is_table
from .encoding.ranks import NO_EDGES
from .encoding.summaries import ColumnSummary
from .encoding.terms import Axis, CategoryTerm, nan_columns, replaced_columns
from .gram import canonical_csr
from .sources import plain_array, with_own_indices
from .table_input import TableRules, refuse_nan, refuse_other_text, terms_of_columns


@dataclass
class TableSummary:
    """The columns of all batches so far. `ranks` and `stream` are as in ColumnSummary."""

    rules: TableRules = field(default_factory=TableRules)
    ranks: bool = True
    seed: int = 0
    stream: int = 0
    columns: ColumnSummary | None = None
    names: Labels | None = None  # of the columns
    texts: dict[int, dict[str, int]] = field(default_factory=dict)  # of columns of text, in the order of arrival
    orders: dict[int, list[str]] = field(default_factory=dict)  # of categories whose type has an order
    declared: set[int] = field(default_factory=set)  # categories by their type
    levels: dict[int, Array] = field(default_factory=dict)  # of categories that are numbers

    @property
    def n_rows(self) -> int:
        """Rows so far."""
        return 0 if self.columns is None else self.columns.n_rows

    @property
    def known(self) -> ColumnSummary:
        """The summary of the columns, once there is a batch."""
        if self.columns is None or self.columns.n_rows == 0:
            raise ValueError("there is no row: every batch is empty.")
        return self.columns

    def column(self, j: int) -> str:
        """Name or number of a column, for messages."""
        return repr(str(self.names[j])) if self.names is not None else str(j)

    def update(self, X: MatrixLike, weight: Array | None = None, n_threads: int = 1) -> None:
        """Add a batch: an array, a sparse matrix, or a table with text and missing values."""
        self._check_names(names_of(X))
        table = read_training(X, self.rules.categorical, is_whole=False)
        matrix = as_matrix(table.matrix)
        if self.columns is None:
            self.columns = ColumnSummary(
                matrix.shape[1], is_sparse(matrix), ranks=self.ranks, seed=self.seed, stream=self.stream
            )
        elif matrix.shape[1] != self.columns.n_features:
            raise ValueError(f"a batch has {matrix.shape[1]} columns, and the first one {self.columns.n_features}.")
        if matrix.shape[0] == 0:
            return
        self.declared |= set(table.declared)
        matrix = self._with_texts(matrix, table, X)
        self._check_kinds(matrix, table)
        self._add_levels(matrix)
        self.columns.update(matrix, weight, n_threads)
        for j in self.texts:
            self.columns.counts.pop(j, None)  # their numbers depend on the order of arrival
        self._check_finite(self.columns.column_range)

    def merge(self, other: TableSummary) -> None:
        """Add the rows of another summary, which come after those of this one."""
        if other.columns is None:
            return
        if self.columns is None:
            self.__dict__.update(copy.deepcopy(other).__dict__)
            return
        self._check_names(other.names)
        for j in self.texts.keys() | other.texts.keys():
            for one, its in ((self, other), (other, self)):
                if j not in one.texts and j in its.texts and one._has_numbers(j):
                    raise ValueError(_two_kinds(self.column(j), next(iter(its.texts[j]), "")))
        if self.columns.sparse != other.columns.sparse or self.columns.n_features != other.columns.n_features:
            self.columns.merge(other.columns)  # words the error
        for j in (self.levels.keys() ^ other.levels.keys()) - self.texts.keys() - other.texts.keys():
            if (self if j in other.levels else other)._has_numbers(j):
                raise ValueError(_category_and_number(self.column(j)))
        columns = copy.copy(other.columns)
        if other.texts and columns.ranks:
            columns.sample = copy.deepcopy(columns.sample)
        for j, texts in other.texts.items():
            lookup = self._numbers_of(j, list(texts))
            if columns.ranks and lookup.size:
                columns.sample.replace_column(j, lookup)
        for j, order in other.orders.items():
            self._add_order(j, order)
        self.declared |= other.declared
        for j, levels in other.levels.items():
            self.levels[j] = np.union1d(self.levels.get(j, levels[:0]), levels)
        self.columns.merge(columns)

    def terms(self) -> tuple[tuple[TermSpec, ...], Columns]:
        """The terms besides numbers, and what the columns held, for settings of a fit."""
        known = self.known
        of_text = tuple(sorted(self.texts))
        columns = Columns(of_text, tuple(np.array(self._names(j), dtype=object) for j in of_text))
        categories = self._categories()
        refuse_other_text(columns, {*categories, *replaced_columns(self.rules.terms).tolist()}, self.column)
        with_nan = np.flatnonzero(known.n_nan)
        if self.rules.missing == "error":
            refuse_nan(np.setdiff1d(with_nan, nan_columns(self.rules.terms)), self.column)
        empty = set(np.flatnonzero(known.n_nan == known.n_rows).tolist())
        return terms_of_columns(categories, with_nan, empty, columns, self.rules)

    def facts(self, terms: tuple[TermSpec, ...], columns: Columns, width: int | None, n_threads: int) -> ColumnFacts:
        """What an encoder with these terms is made from; with the points of ranks if there is a `width` of tables."""
        known = copy.copy(self.known)
        column_range = known.column_range.without(replaced_columns(terms))
        edges = NO_EDGES
        if width is not None:
            if self.texts:
                known.sample = copy.deepcopy(known.sample)
            for j, texts in self.texts.items():
                place = {text: k for k, text in enumerate(self._names(j))}
                if place:
                    known.sample.replace_column(j, np.array([float(place[text]) for text in texts]))
            edges = known.edges(column_range, width, n_threads)
        return ColumnFacts(column_range, known.n_rows, known.sparse, edges, self._fitted(terms), columns)

    def _fitted(self, terms: tuple[TermSpec, ...]) -> tuple[Term, ...]:
        fitted: list[Term] = []
        for spec in terms:
            j = spec.columns[0]
            if spec.kind == "category" and not spec.options:
                values = np.arange(float(len(self.texts[j]))) if j in self.texts else self.levels[j]
                fitted.append(CategoryTerm((j,), (Axis.levels(values, j),)))
            elif not spec.term.learns:
                fitted.append(spec.term.fit(tuple(spec.columns), np.empty((0, spec.term.n_inputs)), **spec.options))
            else:
                raise ValueError(
                    f"A term of kind {spec.kind!r} is learnt from all values of its columns at once. Pass X as an "
                    "array, not in batches."
                )
        return tuple(fitted)

    def _check_names(self, names: Labels | None) -> None:
        if self.columns is None:
            self.names = names
        elif (None if names is None else names.tolist()) != (None if self.names is None else self.names.tolist()):
            before, now = ("no names" if one is None else ", ".join(map(str, one[:20])) for one in (self.names, names))
            raise ValueError(f"a batch has the columns {now}, and the first one: {before}. All must have the same.")

    def _categories(self) -> list[int]:
        return chosen_columns(self.rules.categorical, sorted(self.declared), self.names, self.known.n_features)

    def _names(self, j: int) -> list[str]:
        """The names of the levels of a column of text: in order."""
        order = self.orders.get(j)
        return sorted(self.texts[j]) if order is None else [text for text in order if text in self.texts[j]]

    def _has_numbers(self, j: int) -> bool:
        columns = self.columns
        return columns is not None and j not in self.texts and bool(columns.n_nan[j] < columns.n_rows)

    def _with_texts(self, matrix: Matrix, table: TrainingTable, X: Any) -> Matrix:
        """The matrix with the numbers of arrival of texts; they are counted per batch in the table."""
        if not table.columns.of_text:
            return matrix
        matrix = cast(Numbers, matrix).copy()
        for j, levels in zip(table.columns.of_text, table.columns.levels, strict=True):
            if levels.size and self._has_numbers(j):
                raise ValueError(_two_kinds(self.column(j), levels[0]))
            order = category_order(X, j, self.column(j))
            if order is not None:
                self._add_order(j, order)
            lookup, known = self._numbers_of(j, levels.tolist()), ~np.isnan(matrix[:, j])
            matrix[known, j] = lookup[matrix[known, j].astype(np.int64)]
        return matrix

    def _check_kinds(self, matrix: Matrix, table: TrainingTable) -> None:
        """Refuse numbers where other batches have text. A column of nothing but gaps may be of any type."""
        for j in self.texts.keys() - set(table.columns.of_text):
            column = matrix[:, [j]].toarray() if is_sparse(matrix) else matrix[:, j]
            if self.texts[j] and not np.isnan(column).all():
                raise ValueError(_two_kinds(self.column(j), next(iter(self.texts[j]))))

    def _numbers_of(self, j: int, texts: list[str]) -> Array:
        known = self.texts.setdefault(j, {})
        return np.array([float(known.setdefault(text, len(known))) for text in texts])

    def _add_order(self, j: int, order: list[str]) -> None:
        if self.orders.setdefault(j, order) != order:
            raise ValueError(
                f"Column {self.column(j)} has the categories {order[:5]} in one batch and {self.orders[j][:5]} in "
                "another. Give all batches the same ones (in pandas: .cat.set_categories), or pass the texts."
            )

    def _add_levels(self, matrix: Matrix) -> None:
        assert self.columns is not None
        chosen = chosen_columns(self.rules.categorical, sorted(self.declared), self.names, self.columns.n_features)
        for j in chosen:
            if j not in self.texts:
                column = matrix[:, [j]].toarray().ravel() if is_sparse(matrix) else matrix[:, j]
                if j not in self.levels and self._has_numbers(j):
                    raise ValueError(_category_and_number(self.column(j)))
                found = np.unique(column[~np.isnan(column)]).astype(np.float64) + 0.0
                self.levels[j] = np.union1d(self.levels.get(j, found[:0]), found)

    def _check_finite(self, found: ColumnRange) -> None:
        infinite = np.flatnonzero(~np.isfinite(found.minimum) | ~np.isfinite(found.maximum))
        if infinite.size:
            raise ValueError(f"Input X contains infinity, in column {self.column(int(infinite[0]))}.")


def names_of(X: Any) -> Labels | None:
    """The names of the columns of a batch, None if they have none."""
    if isinstance(X, LevelTable):
        return None if X.names is None else np.array(X.names, dtype=object)
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    if columns is None or is_sparse(X) or isinstance(X, np.ndarray):
        return None
    names = list(columns)
    return np.array(names, dtype=object) if all(isinstance(name, str) for name in names) else None


def as_matrix(X: Any) -> Matrix:
    """A batch in the form the core takes, CSR or an array; its values are not checked. It may have no rows."""
    if isinstance(X, EncodedData):
        raise TypeError("batches must hold values, not the codes of an encoder.")
    check_is_table(X)
    with naming_text(X):
        rows: Any = check_array(
            with_own_indices(X),
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=0,
        )
    if isinstance(rows, np.ndarray):
        return plain_array(rows)
    return canonical_csr(rows.astype(np.float32) if rows.dtype == np.float16 else rows)


def _two_kinds(column: str, text: str) -> str:
    return (
        f"Column {column} holds numbers in one batch and text, such as {text!r:.50}, in another. Convert it to one of "
        "them in all batches."
    )


def _category_and_number(column: str) -> str:
    return (
        f"Column {column} is a category in one batch, by its type, and a number in another. Give all batches the same "
        "types, or name the column in categorical=."
    )
