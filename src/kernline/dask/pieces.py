"""X, y and the weights of a fit as pieces, one per partition: futures of what `AdditiveSVC.fit` takes."""

from __future__ import annotations

import glob
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from distributed import Future

from .. import io
from ..array_types import is_sparse
from ..encoding import LevelTable
from .session import Session

_TAKEN = (
    "Pass a dask array, a dask data frame, or names of files, such as 'part-*.parquet'; X in memory is for AdditiveSVC."
)


class Piece(NamedTuple):
    """One partition: futures of its rows, labels and weights."""

    X: Future
    y: Future
    weight: Future | None


class Pieces(NamedTuple):
    """All partitions; of files, also whether svmlight indices begin at 0, and which column became y."""

    parts: list[Piece]
    zero_based: bool | None = None
    target: str | None = None


def pieces_of(session: Session, X: Any, y: Any, weight: Any) -> Pieces:
    """The partitions, which are computed now and stay with the workers."""
    if isinstance(X, str) or (isinstance(X, list | tuple) and X and all(isinstance(one, str) for one in X)):
        return _of_files(session, X, y, weight)
    parts = blocks_of(X)
    others = [_blocks_like(X, one, name) for one, name in ((y, "y"), (weight, "sample_weight"))]
    if others[0] is None:
        raise ValueError("y is missing: pass a dask array or series with the partitions of X.")
    columns = [parts, others[0], *([others[1]] if others[1] is not None else [])]
    futures = [session.client.compute(column) for column in columns]
    for column in futures:
        session.futures.update((future.key, future) for future in column)
        session.alive.update((future.key, future) for future in column)
    return Pieces([Piece(*row, *([None] * (3 - len(row)))) for row in zip(*futures, strict=True)])


def is_collection(X: Any) -> bool:
    """Whether X is a dask array or data frame."""
    return dask.is_dask_collection(X) and (isinstance(X, da.Array) or hasattr(X, "to_delayed"))


def blocks_of(X: Any) -> list[Any]:
    """The partitions of a collection, as delayed values."""
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D dask array instead: X must have rows and columns.")
        return list(X.rechunk({1: -1}).to_delayed(optimize_graph=True).ravel())
    if not is_collection(X) or not hasattr(X, "npartitions"):
        raise TypeError(f"X is a {type(X).__module__}.{type(X).__name__}. {_TAKEN}")
    return list(X.to_delayed())


def _blocks_like(X: Any, y: Any, name: str) -> list[Any] | None:
    """The partitions of y or the weights, which must be those of X."""
    if y is None:
        return None
    rows = X.chunks[0] if isinstance(X, da.Array) else None
    is_known = rows is not None and not any(math.isnan(n) for n in rows)
    if not dask.is_dask_collection(y):
        if not is_known:
            raise TypeError(
                f"{name} is a {type(y).__name__} in memory, and the lengths of the partitions of X are not known. "
                f"Pass {name} as a dask collection with the partitions of X."
            )
        y = da.from_array(np.asarray(y), chunks=-1)
    if isinstance(y, da.Array) and is_known and not any(math.isnan(n) for n in y.chunks[0]):
        if y.shape[0] != X.shape[0]:
            raise ValueError(f"{name} has {y.shape[0]:,} rows, and X has {X.shape[0]:,}.")
        y = y.rechunk({0: rows})
    if isinstance(y, da.Array) and y.ndim > 1:
        y = y.rechunk({1: -1})
    found = list(np.ravel(y.to_delayed()))
    n_parts = X.numblocks[0] if isinstance(X, da.Array) else X.npartitions
    if len(found) != n_parts:
        raise ValueError(
            f"{name} has {len(found)} partitions, and X has {n_parts}. Both must be divided in the same way: take them "
            "from one collection, or repartition one of them."
        )
    return found


def _of_files(session: Session, X: str | Sequence[str], target: Any, weight: Any) -> Pieces:
    """A piece per file, read by the worker that has it. y is the name of the target column, None for svmlight."""
    patterns = [X] if isinstance(X, str) else list(X)
    paths = [path for pattern in patterns for path in sorted(glob.glob(pattern)) or [pattern]]
    if weight is not None or not (target is None or isinstance(target, str)):
        raise ValueError(
            "With names of files as X, y is the name of the column of labels (None for svmlight), and there is no "
            "sample_weight. Read the files with dask.dataframe for more."
        )
    read = [session.submit(_read, path, target) for path in paths]
    bases = [session.result(session.submit(_base, one, keep=False)) for one in read]
    if True in bases:  # a file without an index 0 does not show where its indices begin
        session.drop(one for one, base in zip(read, bases, strict=True) if base is False)
        read = [
            session.submit(_read, path, target, True) if base is False else one
            for path, one, base in zip(paths, read, bases, strict=True)
        ]
    n_features = max(session.result(session.submit(_width, one, keep=False)) for one in read)
    parts = [Piece(session.submit(_rows, one, n_features), session.submit(_labels, one), None) for one in read]
    known = [base for base in bases if base is not None]
    return Pieces(parts, any(known) if known else None, target)


def _read(path: str, target: str | None, zero_based: bool | Literal["auto"] = "auto") -> io.Data:
    return io.read(path, target=target, zero_based=zero_based)


def _base(data: io.Data) -> bool | None:
    return data.zero_based


def _width(data: io.Data) -> int:
    return int(data.X.shape[1])


def _rows(data: io.Data, n_features: int) -> Any:
    """The rows; those of svmlight have as many columns as the widest file."""
    X: Any = data.X
    if is_sparse(X) and X.shape[1] < n_features:
        rows: Any = X
        X = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_features))
    if data.feature_names is not None and isinstance(X, np.ndarray):
        return LevelTable(X, {}, data.feature_names)
    return X


def _labels(data: io.Data) -> Any:
    return data.y
