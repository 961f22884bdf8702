"""Where the rows of a `Dataset` come from, batch by batch and twice: arrays, data frames, files, or batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .. import io
from ..array_types import Array, Labels, is_sparse
from ..encoding.frames import is_missing

# Rows of an array or a data frame that are looked at together.
_BATCH_VALUES = 4_000_000

# Called with the X of a batch, its labels and its weights, as far as it has them.
OnBatch = Callable[[Any, ArrayLike | None, ArrayLike | None], None]


class Tail(NamedTuple):
    """What a source knows only at its end: labels that did not come with the batches, and what a file holds."""

    y: Labels | None = None
    names: list[str] | None = None
    zero_based: bool | None = None
    target: str | int | None = None
    n_features: int | None = None


class Source(Protocol):
    """Batches that can be read more than once."""

    @property
    def is_file(self) -> bool:
        """Whether labels come at the end, and later sparse batches may have more columns."""

    def each(self, on_batch: OnBatch) -> Tail:
        """Read all batches."""


@dataclass(frozen=True)
class ArraySource:
    """An array, a sparse matrix or a data frame."""

    X: Any
    y: ArrayLike | None
    weight: ArrayLike | None
    is_file: bool = False

    def each(self, on_batch: OnBatch) -> Tail:
        """Pass on some rows at a time."""
        n_rows = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
        for name, given in (("y", self.y), ("sample_weight", self.weight)):
            if given is not None and len(np.asarray(given)) != n_rows:
                raise ValueError(f"X has {n_rows} rows, and {name} has {len(np.asarray(given))} values.")
        y, weight = (None if one is None else np.asarray(one) for one in (self.y, self.weight))
        for rows in self._blocks(n_rows):
            on_batch(_rows_of(self.X, rows), None if y is None else y[rows], None if weight is None else weight[rows])
        return Tail()

    def _blocks(self, n_rows: int) -> Iterator[slice]:
        shape = getattr(self.X, "shape", None)
        if shape is None or len(shape) != 2:
            yield slice(0, n_rows)
            return
        step = max(1, _BATCH_VALUES // max(1, shape[1] if not is_sparse(self.X) else self.X.nnz // max(1, n_rows)))
        for begin in range(0, max(n_rows, 1), step):
            yield slice(begin, min(begin + step, n_rows))


@dataclass(frozen=True)
class BatchSource:
    """An iterable of batches: X, (X, y) or (X, y, weight)."""

    batches: Iterable[Any]
    is_file: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.batches, Iterator):
            raise TypeError(
                "batches: an iterator, such as a generator, can be read only once, and a Dataset reads it twice. Pass "
                "a list, or an object whose __iter__ starts again."
            )

    def each(self, on_batch: OnBatch) -> Tail:
        """Pass on all batches."""
        for batch in self.batches:
            parts = batch if isinstance(batch, tuple) else (batch,)
            if not 1 <= len(parts) <= 3:
                raise ValueError(f"a batch is X, (X, y) or (X, y, weight); got a tuple of {len(parts)}.")
            on_batch(*parts, *[None] * (3 - len(parts)))
        return Tail()


@dataclass(frozen=True)
class FileSource:
    """A file of any format that `kernline.io.read` knows; `options` are those of `read`."""

    path: str | os.PathLike[str]
    options: dict[str, Any] = field(default_factory=dict)
    is_file: bool = True

    def __post_init__(self) -> None:
        if os.fspath(self.path) == "-" or (os.path.exists(self.path) and not os.path.isfile(self.path)):
            raise ValueError(f"{os.fspath(self.path)}: a Dataset reads its file twice. Pass a file, not a pipe.")

    def each(self, on_batch: OnBatch) -> Tail:
        """Read the file."""
        data = io.read(self.path, on_block=lambda X: on_batch(X, None, None), **self.options)
        if isinstance(data.y, list):
            raise ValueError("several labels per row (multilabel=True) cannot be kept in a Dataset.")
        return Tail(data.y, data.feature_names, data.zero_based, data.target, data.X.shape[1])


def source_of(
    data: Any, y: ArrayLike | None, weight: ArrayLike | None, options: dict[str, Any], *, in_batches: bool
) -> Source:
    """The source of what a user passed."""
    if isinstance(data, str | os.PathLike):
        if y is not None or weight is not None:
            raise ValueError("y and sample_weight do not apply to a file: it has its own labels (target=).")
        return FileSource(data, options)
    if options:
        raise TypeError(f"{next(iter(options))}= applies to files only.")
    if in_batches:
        if y is not None or weight is not None:
            raise ValueError("y and sample_weight come with the batches, as (X, y) or (X, y, weight).")
        return BatchSource(data)
    return ArraySource(data, y, weight)


def checked_labels(y: ArrayLike | None, n_rows: int) -> Labels | None:
    """The labels of a batch, one per row and none missing."""
    if y is None:
        return None
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y of a Dataset has one value per row; got an array of shape {labels.shape}.")
    if len(labels) != n_rows:
        raise ValueError(f"a batch has {n_rows} rows, and its y {len(labels)} values.")
    gaps = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if labels.dtype == object:
        gaps = np.array([is_missing(value) for value in labels.tolist()], dtype=bool)
        labels = labels if not len(labels) or any(isinstance(v, str) for v in labels) else np.array(labels.tolist())
    if gaps.any():
        raise ValueError(f"y contains NaN or None: {np.count_nonzero(gaps)} labels are missing. Leave these rows out.")
    if labels.dtype.kind not in "biufUO":
        raise ValueError(f"y must hold numbers or text, not {labels.dtype}.")
    return labels


def checked_weight(weight: ArrayLike | None, n_rows: int) -> Array | None:
    """The weights of a batch, one per row, finite and not negative."""
    if weight is None:
        return None
    weights = np.asarray(weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"a batch has {n_rows} rows, and its weights have shape {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError("sample_weight must be finite, and not negative.")
    return weights


def _rows_of(X: Any, rows: slice) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "columns") and hasattr(X, "slice"):  # polars and pyarrow
        return X.slice(rows.start, rows.stop - rows.start)
    if is_sparse(X):
        return X.tocsr()[rows]
    return X[rows]
