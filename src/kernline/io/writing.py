"""`write`: X and y to a file, in any format that `read` reads. Numbers are written without loss."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..array_types import Indices, Matrix, MatrixLike
from ..encoding import LevelTable
from ..sources import with_own_indices
from .formats import FORMATS, Data, LabelSets, format_of

_COMPRESSORS: dict[str, Callable[[BinaryIO], gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]] = {
    ".gz": lambda out: gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
    ".xz": partial(lzma.LZMAFile, mode="wb"),
}


def write(
    out: BinaryIO,
    X: MatrixLike | LevelTable,
    y: ArrayLike | LabelSets | None = None,
    *,
    name: str,
    format: str = "auto",
    feature_names: list[str] | None = None,
    target: str = "label",
    qid: Indices | None = None,
) -> None:
    """Write rows, and their labels if there are any, to an open binary file.

    The suffixes of `name` show the format ("auto") and the compression (.gz, .bz2, .xz). In a table, the labels are the
    column `target`, after the features, and columns without names are called f1, f2, …. Only svmlight stores `qid`, and
    several labels per row (a list of tuples, as `read` returns with ``multilabel=True``). Sparse rows stay sparse in
    svmlight and .npz.

    Parameters
    ----------
    out : binary file
        Where to write.
    X : array, sparse matrix, data frame or LevelTable
        The rows.
    y : array, list of tuples or None, default=None
        Labels, or several per row.
    name : str
        A file name, for its suffixes and for messages.
    format : str, default="auto"
        Name of a format; "auto" takes it from `name`.
    feature_names : list of str or None, default=None
        Names of the columns.
    target : str, default="label"
        Name of the column of labels in a table.
    qid : array or None, default=None
        Query numbers, for svmlight.

    Examples
    --------
    >>> import io, kernline
    >>> out = io.BytesIO()
    >>> kernline.io.write(out, [[0.5, 0.0], [0.0, 2.0]], ["ham", "spam"], name="data.svm")
    >>> out.getvalue()
    b'ham 1:0.5\\nspam 2:2.0\\n'
    """
    rows = _rows(X)
    kind = FORMATS[format_of(name, format)]
    if kind.write is None:
        known = [other.name for other in FORMATS.values() if other.write is not None]
        raise ValueError(f"{name}: format {kind.name!r} cannot be written. Choose one of {', '.join(sorted(known))}.")
    is_multilabel = isinstance(y, list) and any(isinstance(labels, tuple) for labels in y)
    for extra, what, is_given in (
        ("qid", "qid", qid is not None),
        ("multilabel", "several labels per row", is_multilabel),
    ):
        if is_given and extra not in kind.stores:
            raise ValueError(f"{name}: format {kind.name!r} cannot store {what}. Write svmlight.")
    labels = None if y is None else cast(LabelSets, y) if is_multilabel else np.asarray(y)
    with _compressed(out, name) as stream:
        kind.write(stream, Data(rows, labels, feature_names, qid, target=target))


def _rows(X: MatrixLike | LevelTable) -> Matrix | LevelTable:
    if isinstance(X, LevelTable):
        return X
    if sp.issparse(X):
        return cast("Matrix", sp.csr_array(with_own_indices(X)))
    return np.asarray(X, dtype=None if hasattr(X, "dtype") else np.float64)


@contextmanager
def _compressed(out: BinaryIO, name: str) -> Iterator[BinaryIO]:
    suffix = Path(name).suffix.lower()
    if suffix == ".zst":
        raise ValueError(f"{name}: writing .zst is not supported. Use .gz, .bz2 or .xz.")
    if suffix not in _COMPRESSORS:
        yield out
        return
    with _COMPRESSORS[suffix](out) as stream:
        yield cast(BinaryIO, stream)
