"""`read`: a file of data to X and y, whatever its format."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..encoding import Encoder
from ..memory import TooLargeError
from ..threads import thread_count
from .arrays import NpyFile, read_npz
from .arrow import Table, TableOptions, open_table
from .delimited import DelimitedTable
from .rows import EncodedRows, ValueRows
from .streams import PathLike, Source, format_suffix, open_source
from .svmlight import SvmlightOptions, read_svmlight

FORMATS = ("svmlight", "csv", "tsv", "parquet", "arrow", "npy", "npz")

_BY_SUFFIX = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
}
_ALIASES = {"libsvm": "svmlight", "feather": "arrow"}
TABLES = ("csv", "tsv", "parquet", "arrow")


class Data(NamedTuple):
    """What a file holds.

    X is a CSR matrix (svmlight, sparse .npz), a dense array, or `EncodedData` when an encoder was given; y is None
    where there are no labels, and with ``multilabel=True`` a list of tuples. `n_skipped` counts lines left out;
    `zero_based` tells where the indices of svmlight began, and is None for other formats. `target` is the column of a
    table that y was: its name, or its number if the columns have no names.
    """

    X: Any
    y: Any
    feature_names: list[str] | None = None
    qid: NDArray[np.int64] | None = None
    n_skipped: int = 0
    zero_based: bool | None = None
    target: str | int | None = None


def read(
    path: PathLike,
    *,
    format: str = "auto",
    target: str | int | None = None,
    columns: Sequence[str] | None = None,
    header: bool | Literal["auto"] = "auto",
    delimiter: str | None = None,
    target_required: bool = True,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    multilabel: bool = False,
    on_error: Literal["raise", "skip"] = "raise",
    dtype: DTypeLike = np.float64,
    encoder: Encoder | None = None,
    n_jobs: int | None = None,
) -> Data:
    """Read X and y from a file, plain or compressed (.gz, .bz2, .xz, .zst).

    Parameters
    ----------
    path : path, open binary stream, or "-" for standard input
    format : "auto", "svmlight" (LIBSVM's), "csv", "tsv", "parquet", "arrow" (Feather), "npy" or "npz"
        "auto" goes by the file's name; a name that tells nothing is svmlight, as those of the LIBSVM collection are.
    target : the column that is y, by name or number, in a table; in .npz the name of its array ("y")
    columns : the names of the columns to take from a table, instead of all
    header : whether the first line of a CSV or TSV file has the names of its columns, which otherwise are "0", "1", …
        "auto": it has names if no field of it is a number, or if `target` or `columns` name a field that is none;
        numbers among texts or gaps are a first row.
    delimiter : the character between the fields of a CSV or TSV file; None: a comma or a tab, by the format
        With format="auto" and a name that tells nothing, the file is CSV.
    target_required : False reads a table that has no column `target` without labels, instead of raising
    n_features : the columns of X in svmlight, where the highest index may not show
    zero_based : whether svmlight indices begin at 0; "auto": an index 0 tells, otherwise they begin at 1
    multilabel : whether svmlight rows have any number of labels, with commas between
    on_error : "raise" names the file, the line and what is wrong with it; "skip" leaves such lines out, and counts them
    dtype : float64 or float32
    encoder : a fitted Encoder (``model.shapes_.encoder``); X is then its codes, and no matrix of values is ever held.
        The first 8 MB of an svmlight file then decide whether indices begin at 0.
    n_jobs : threads that parse svmlight and encode; None: one, -1: all. With several, one more decompresses.

    Returns
    -------
    Data
        A named tuple: X, y, feature_names, qid, n_skipped, zero_based, target.

    Examples
    --------
    >>> import io, kernline
    >>> X, y, *_ = kernline.io.read(io.BytesIO(b"spam 1:0.5 3:2\\nham 2:1 # a comment\\n"))
    >>> X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    >>> y
    array(['spam', 'ham'], dtype='<U4')
    """
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {dtype}.")
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be 'raise' or 'skip', not {on_error!r}.")
    if header not in (True, False, "auto"):
        raise ValueError(f"header must be True, False or 'auto', not {header!r}.")
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise ValueError(
            f"delimiter must be one ASCII character other than a quote or an end of line, not {delimiter!r}."
        )
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be at least 1, or None for as many as there are, not {n_features}.")
    if encoder is not None and n_features not in (None, encoder.n_features):
        raise ValueError(f"n_features={n_features}, and the encoder was fitted on {encoder.n_features}.")
    n_threads = thread_count(n_jobs)
    encoded = EncodedRows(encoder, n_threads) if encoder is not None else None
    with open_source(path) as source:
        kind = format_of(source.name, format, delimiter)
        _refuse_strangers(kind, target, columns, n_features, zero_based, multilabel, header, delimiter)
        try:
            if kind in TABLES:
                table = TableOptions(target, columns, on_error == "skip", header, dtype, delimiter, target_required)
                return _table(source, kind, table, encoded)
            if kind in ("npy", "npz"):
                return _arrays(source, kind, target, dtype, encoded)
            n_columns = encoder.n_features if encoder is not None else n_features
            options = SvmlightOptions(n_columns, zero_based, multilabel, on_error == "skip", dtype)
            return _svmlight(source, options, encoded, n_threads)
        except TooLargeError as error:
            raise TooLargeError(f"{source.name}: {error}") from None
        except MemoryError as error:
            raise MemoryError(f"{source.name} does not fit in memory: {error}") from error
        except ValueError as error:
            if kind == "svmlight" and format == "auto" and format_suffix(source.name) not in _BY_SUFFIX:
                error.add_note("The name tells no format, so svmlight was tried. Pass format= if it is another.")
            raise


def format_of(name: str, format: str = "auto", delimiter: str | None = None) -> str:
    """The format of a file: what `format` says, or its name. A `delimiter` means CSV where the name tells nothing."""
    if format == "auto":
        return _BY_SUFFIX.get(format_suffix(name), "svmlight" if delimiter is None else "csv")
    kind = _ALIASES.get(format, format)
    if kind not in FORMATS:
        raise ValueError(f"format must be one of auto, {', '.join(FORMATS)}, not {format!r}.")
    return kind


def _refuse_strangers(
    kind: str,
    target: Any,
    columns: Any,
    n_features: int | None,
    zero_based: Any,
    multilabel: bool,
    header: Any,
    delimiter: str | None,
) -> None:
    """A parameter that the format has no use for is a mistake."""
    given = {
        "target": target is not None and kind in ("svmlight", "npy"),
        "columns": columns is not None and kind not in TABLES,
        "n_features": n_features is not None and kind != "svmlight",
        "zero_based": zero_based != "auto" and kind != "svmlight",
        "multilabel": multilabel and kind != "svmlight",
        "header": header != "auto" and kind not in ("csv", "tsv"),
        "delimiter": delimiter is not None and kind not in ("csv", "tsv"),
    }
    for name, is_stranger in given.items():
        if is_stranger:
            raise ValueError(f"{name}= means nothing in a file of format {kind!r}. Pass format= if it is of another.")


def _svmlight(source: Source, options: SvmlightOptions, encoded: EncodedRows | None, n_threads: int) -> Data:
    found = read_svmlight(source, options, encoded, n_threads)
    _warn_of_skipped(source.name, found.n_skipped, found.first_error)
    X = encoded.result() if encoded is not None else found.X
    return Data(X, found.y, None, found.qid, found.n_skipped, found.zero_based)


def _table(source: Source, kind: str, options: TableOptions, encoded: EncodedRows | None) -> Data:
    table: Table
    feature_names: list[str] | None
    if kind in ("csv", "tsv"):
        delimited = DelimitedTable(source, options.delimiter or ("," if kind == "csv" else "\t"), options)
        table, batches = delimited, delimited.batches()
        feature_names = table.features if delimited.named else None
    else:
        table, batches = open_table(source, kind, options)
        feature_names = table.features
    rows = encoded if encoded is not None else ValueRows(len(table.features), options.dtype)
    if encoded is not None:
        _check_width(source, len(table.features), encoded)
    for block in table.blocks(batches, options.dtype):
        rows.append(block)
    y = table.y()
    _warn_of_skipped(source.name, table.n_skipped, table.first_error)
    target = table.target if feature_names is not None or table.target is None else int(table.target)
    return Data(rows.result(), y, feature_names, None, table.n_skipped, target=target)


def _arrays(source: Source, kind: str, target: Any, dtype: Any, encoded: EncodedRows | None) -> Data:
    if kind == "npz":
        X, y = read_npz(source, target)
        if encoded is None:
            return Data(X.astype(dtype, copy=False), y)
        _check_width(source, X.shape[1], encoded)
        encoded.append(X)
        return Data(encoded.result(), y)
    file = NpyFile(source)
    if encoded is None:
        return Data(file.values().astype(dtype, copy=False), None)
    _check_width(source, file.n_columns, encoded)
    for block in file.blocks():
        encoded.append(block)
    return Data(encoded.result(), None)


def _check_width(source: Source, n_columns: int, encoded: EncodedRows) -> None:
    n_features = encoded.encoder.n_features
    if n_columns != n_features:
        raise ValueError(
            f"{source.name} has {n_columns} columns of features, and the encoder was fitted on {n_features}."
        )


def _warn_of_skipped(name: str, n_skipped: int, first: str) -> None:
    if n_skipped:
        lines = "a line" if n_skipped == 1 else f"{n_skipped} lines"
        warnings.warn(f"Skipped {lines} of {name}. The first: {first}.", stacklevel=4)
