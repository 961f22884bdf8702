"""Two passes over a source: summaries of all columns, and then codes.

Both passes hold one batch at a time. The second one must see the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels, training
from ..array_types import Array, Labels, Numbers, is_sparse
from ..encoding import EncodedData, Encoder, Scale
from ..label_summaries import ClassSummary
from ..table_summary import TableSummary, as_matrix
from ..validation import Names, encodable
from .sources import Source, Tail, checked_labels, checked_weight

# With more distinct numbers than this, y is kept as numbers.
_MOST_LABELS = 1 << 16

_SAME = "Batches must be the same each time they are read."
_CHANGED = f"came with the batches in only one of the two passes. {_SAME}"

# Called with encoded rows, their labels as stored, and their weights.
OnCodes = Callable[[EncodedData, Numbers | None, Array | None], None]


@dataclass
class Found:
    """What the first pass learnt."""

    table: TableSummary
    labels: ClassSummary | None = field(default_factory=ClassSummary)  # None: y are numbers
    has_labels: bool | None = None
    tail: Tail = field(default_factory=Tail)

    @property
    def classes(self) -> Labels | None:
        """The distinct labels in order, if they are stored by number."""
        return None if self.labels is None or not self.has_labels else self.labels.classes

    def stored(self, y: Labels) -> Numbers:
        """Labels as they are stored: by number, or as float64."""
        classes = self.classes
        if classes is None:
            return np.asarray(y, dtype=np.float64)
        kind = np.uint8 if classes.size <= 1 << 8 else np.uint16 if classes.size <= 1 << 16 else np.uint32
        place = np.minimum(np.searchsorted(classes, y), classes.size - 1)
        if (classes[place] != y).any():
            raise ValueError("y has changed between the first and the second pass over the batches.")
        return place.astype(kind)

    def add_labels(self, y: Labels | None, n_rows: int, weight: Array | None) -> None:
        """Count the labels of a batch."""
        if n_rows == 0:
            return
        if self.has_labels is not None and self.has_labels != (y is not None):
            raise ValueError("some batches have labels, and others have not.")
        self.has_labels = y is not None
        if y is None or self.labels is None:
            return
        self.labels.update(y, weight)
        if self.labels.classes.size > _MOST_LABELS and self.labels.classes.dtype.kind in "biuf":
            self.labels = None


def summarise(source: Source, table: TableSummary, n_threads: int) -> Found:
    """The first pass."""
    found = Found(table)

    def add(X: Any, y: ArrayLike | None, weight: ArrayLike | None) -> None:
        X, labels, weights = _checked(X, y, weight)
        if not source.is_file:
            # With those of weight zero, so that a fit can refuse a class that has no other rows.
            found.add_labels(labels, X.shape[0], weights)
        X, _, weights = _kept(X, labels, weights)
        if source.is_file and is_sparse(X) and table.columns is not None:
            table.columns.widen(X.shape[1])
            X = _as_wide(X, table.columns.n_features)
        table.update(X, weights, n_threads)

    found.tail = source.each(add)
    if found.tail.names is not None:
        table.names = np.array(found.tail.names, dtype=object)
    if found.tail.y is not None:
        found.add_labels(checked_labels(found.tail.y, table.n_rows), table.n_rows, None)
    if not table.n_rows:
        raise ValueError("there is no row: every batch is empty.")
    return found


def encode(source: Source, found: Found, encoder: Encoder, on_codes: OnCodes, n_threads: int) -> None:
    """The second pass."""
    names, n_rows, weighted = Names(None, found.table.names), 0, False
    whole = None if found.tail.y is None else found.stored(found.tail.y)

    def add(X: Any, y: ArrayLike | None, weight: ArrayLike | None) -> None:
        nonlocal n_rows, weighted
        X, labels, weights = _kept(*_checked(X, y, weight))
        if X.shape[0] == 0:
            return
        weighted |= weights is not None
        if not source.is_file and (labels is not None) != found.has_labels:
            raise ValueError(f"labels {_CHANGED}")
        if source.is_file and is_sparse(X):
            X = _as_wide(X, encoder.n_features)
        matrix = encodable(as_matrix(encoder.columns.matrix(X)), encoder, n_threads, names)
        rows = slice(n_rows, n_rows + matrix.shape[0])
        n_rows = rows.stop
        stored = found.stored(labels) if labels is not None else None if whole is None else whole[rows]
        on_codes(encoder.transform(matrix, n_threads=n_threads), stored, weights)

    source.each(add)
    if n_rows != found.table.n_rows:
        raise ValueError(
            f"the first pass over the batches found {found.table.n_rows:,} rows, and the second {n_rows:,}. {_SAME}"
        )
    if weighted != found.table.known.is_weighted:
        raise ValueError(f"weights {_CHANGED}")


def settings_of(
    found: Found, kernel: Any, approximation: Any, scale: Any, p: float, seed: int, n_threads: int
) -> training.AdditiveSettings:
    """The settings of an encoder for these rows, with every "auto" chosen as a fit to values would."""
    from ..estimators.choices import Asked, choose_by, facts_of  # which takes a Dataset, too

    known = found.table.known
    terms, columns = found.table.terms()
    shape = known.n_rows, known.n_features
    facts = facts_of(known.column_range, shape, terms, known.some_rows, sparse=known.sparse)
    asked = Asked(kernel, scale, "hinge", 1.0, is_joint=False, has_pairs=False, losses=("hinge", "hinge"))
    choice = choose_by(asked, facts)
    chosen: Scale = choice.scale
    return training.AdditiveSettings(
        kernel=kernels.get(choice.kernel, p),
        approximation=approximation,
        scale=chosen,
        terms=terms,
        columns=columns,
        seed=seed,
        n_threads=n_threads,
    )


def _checked(X: Any, y: ArrayLike | None, weight: ArrayLike | None) -> tuple[Any, Labels | None, Array | None]:
    """A batch with one label and one weight per row, if there are any."""
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    return X, checked_labels(y, X.shape[0]), checked_weight(weight, X.shape[0])


def _kept(X: Any, labels: Labels | None, weights: Array | None) -> tuple[Any, Labels | None, Array | None]:
    """A batch without the rows of weight zero."""
    if weights is None or (weights > 0.0).all():
        return X, labels, weights
    kept = np.flatnonzero(weights > 0.0)
    rows = X.iloc[kept] if hasattr(X, "iloc") else X[kept]
    return rows, None if labels is None else labels[kept], weights[kept]


def _as_wide(X: Any, n_features: int) -> Any:
    """Rows of a sparse file with as many columns as all of it."""
    if X.shape[1] < n_features:
        X.resize((X.shape[0], n_features))
    return X
