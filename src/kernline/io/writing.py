"""`write`: X and y to a file, in any format that `read` takes. Numbers read back as they are."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..sources import row_blocks, with_own_indices
from .arrow import pyarrow
from .reading import TABLES, format_of

# Values written at a time: of a table, in which zeros are values too, and of svmlight, which become Python's numbers.
_TABLE_VALUES, _SVMLIGHT_VALUES = 1 << 24, 1 << 18
# A table has a name, a type and an array for each column: with more, these outweigh the values.
_MOST_COLUMNS = 100_000
_COMPRESSORS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda out: gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
    ".xz": partial(lzma.LZMAFile, mode="wb"),
}


def write(
    out: BinaryIO,
    X: Any,
    y: NDArray[Any] | None = None,
    *,
    name: str,
    format: str = "auto",
    feature_names: list[str] | None = None,
    target: str = "label",
    qid: NDArray[np.int64] | None = None,
) -> None:
    """Write rows, and their labels if there are any, to an open binary file.

    `name` tells the format ("auto") and the compression (.gz, .bz2, .xz). In a table the labels are the column
    `target`, after the features; columns without names are called f1, f2, …. svmlight alone has a place for `qid`, and
    for several labels a row (a list of tuples, as `read` returns with ``multilabel=True``). Sparse rows stay sparse in
    svmlight and .npz.

    Examples
    --------
    >>> import io, kernline
    >>> out = io.BytesIO()
    >>> kernline.io.write(out, [[0.5, 0.0], [0.0, 2.0]], ["ham", "spam"], name="data.svm")
    >>> out.getvalue()
    b'ham 1:0.5\\nspam 2:2.0\\n'
    """
    if sp.issparse(X):
        X = sp.csr_array(with_own_indices(X))
    else:
        X = np.asarray(X, dtype=None if hasattr(X, "dtype") else np.float64)
    kind = format_of(name, format)
    is_multilabel = isinstance(y, list) and any(isinstance(labels, tuple) for labels in y)
    for what, is_given in (("qid", qid is not None), ("several labels a row", is_multilabel)):
        if is_given and kind != "svmlight":
            raise ValueError(f"{name}: a file of format {kind!r} has no place for {what}. Write svmlight.")
    y = y if y is None or is_multilabel else np.asarray(y)
    with _compressed(out, name) as stream:
        if kind == "svmlight":
            _write_svmlight(stream, X, y, qid, feature_names)
        elif kind in TABLES:
            _write_table(stream, kind, X, y, feature_names, target)
        else:
            _write_arrays(stream, kind, X, y)


@contextmanager
def _compressed(out: BinaryIO, name: str) -> Iterator[Any]:
    suffix = Path(name).suffix.lower()
    if suffix == ".zst":
        raise ValueError(f"{name}: writing .zst is not there; .gz, .bz2 and .xz are.")
    if suffix not in _COMPRESSORS:
        yield out
        return
    with _COMPRESSORS[suffix](out) as stream:
        yield stream


def _write_svmlight(
    stream: Any, X: Any, y: Any, qid: NDArray[np.int64] | None, feature_names: list[str] | None
) -> None:
    heads = ["0"] * X.shape[0] if y is None else [_label_text(label) for label in _plain(y)]
    if qid is not None:
        heads = [f"{head} qid:{query}" for head, query in zip(heads, _plain(qid), strict=True)]
    for rows in row_blocks(X, _SVMLIGHT_VALUES):
        block = sp.csr_array(X[rows])
        block.sort_indices()
        _check_finite(block, rows.start, feature_names)
        columns, values = (block.indices + 1).tolist(), block.data.tolist()
        lines = []
        for head, first, last in zip(heads[rows], block.indptr[:-1].tolist(), block.indptr[1:].tolist(), strict=True):
            pairs = zip(columns[first:last], values[first:last], strict=True)
            lines.append(" ".join([head, *(f"{j}:{value!r}" for j, value in pairs)]) + "\n")
            if lines[-1] == "\n":
                raise ValueError(
                    f"row {rows.start + len(lines)} has neither labels nor values; svmlight would lose it. Drop it."
                )
        stream.write("".join(lines).encode())


def _plain(values: Any) -> list[Any]:
    return values if isinstance(values, list) else np.asarray(values).tolist()


def _label_text(label: Any) -> str:
    """A label, or several with commas between."""
    texts = [str(part) for part in label] if isinstance(label, tuple) else [str(label)]
    if bad := [text for text in texts if not text or set(text) & set(" \t\r\n#:,")]:
        raise ValueError(
            f"the label {bad[0]!r} cannot stand in a LIBSVM file: it is empty, or has a blank, ',' ':' or '#'."
        )
    return ",".join(texts)


def _check_finite(block: sp.csr_array, first_row: int, feature_names: list[str] | None) -> None:
    bad = np.flatnonzero(~np.isfinite(block.data))
    if bad.size:
        row, j = first_row + int(np.searchsorted(block.indptr, bad[0], side="right")), block.indices[bad[0]]
        column = repr(feature_names[j]) if feature_names is not None else j
        raise ValueError(
            f"row {row}, column {column} holds {block.data[bad[0]]}, which cannot stand in a LIBSVM file. Fill in what "
            "is missing first, or write another format."
        )


def _write_table(
    stream: Any, kind: str, X: Any, y: NDArray[Any] | None, feature_names: list[str] | None, target: str
) -> None:
    n_columns = X.shape[1]
    if n_columns > _MOST_COLUMNS:
        last = f"; the highest index, from 1, is {X.indices.max() + 1}" if sp.issparse(X) and X.nnz else ""
        raise ValueError(
            f"{n_columns:,} columns, where a table has {_MOST_COLUMNS:,} at most{last}. Write svmlight or .npz."
        )
    pa = pyarrow(kind)
    names = feature_names or [f"f{j + 1}" for j in range(n_columns)]
    if y is not None and target in names:
        raise ValueError(f"a feature is called {target!r} already: name the column of labels otherwise.")
    types = [(name, pa.from_numpy_dtype(X.dtype)) for name in names]
    texts = None if y is None else pa.array(y.tolist())
    schema = pa.schema(types + ([] if texts is None else [(target, texts.type)]))
    step = max(1, _TABLE_VALUES // max(1, n_columns))
    with _table_writer(stream, kind, schema) as writer:
        for begin in range(0, X.shape[0], step):
            rows = X[begin : begin + step]
            columns = rows.T.toarray(order="C") if sp.issparse(rows) else np.ascontiguousarray(rows.T)
            arrays = [pa.array(column) for column in columns]
            arrays += [] if texts is None else [texts.slice(begin, rows.shape[0])]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _table_writer(stream: Any, kind: str, schema: Any) -> Any:
    if kind == "parquet":
        return pyarrow(kind, "pyarrow.parquet").ParquetWriter(stream, schema)
    if kind == "arrow":
        return pyarrow(kind).ipc.new_file(stream, schema)
    arrow_csv = pyarrow(kind, "pyarrow.csv")
    options = arrow_csv.WriteOptions(delimiter="," if kind == "csv" else "\t", quoting_style="needed")
    return arrow_csv.CSVWriter(stream, schema, write_options=options)


def _write_arrays(stream: Any, kind: str, X: Any, y: NDArray[Any] | None) -> None:
    if kind == "npy":
        if y is not None:
            raise ValueError(".npy holds one array, and would lose the labels. Write .npz.")
        np.save(stream, X.toarray() if sp.issparse(X) else X, allow_pickle=False)
        return
    labels: dict[str, Any] = {} if y is None else {"y": y.astype(str) if y.dtype == object else y}
    if sp.issparse(X):
        # As scipy.sparse.save_npz has it, so that load_npz reads it too; it has no place for labels.
        parts = {"indptr": X.indptr, "indices": X.indices, "data": X.data, "shape": X.shape}
        np.savez_compressed(stream, format=b"csr", _is_array=True, **parts, **labels)
    else:
        np.savez_compressed(stream, X=X, **labels)
