"""`read`: X and y from a file of any registered format."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from ..encoding import Encoder
from ..memory import TooLargeError
from ..threads import thread_count
from .formats import DEFAULT, FORMATS, BadLines, Data, ReadSettings, format_of, shows_format
from .rows import OnBlock
from .streams import PathLike, open_source


def read(
    path: PathLike,
    *,
    format: str = "auto",
    target: str | int | None = None,
    columns: Sequence[str] | None = None,
    categorical: Sequence[str] | None = None,
    header: bool | Literal["auto"] = "auto",
    delimiter: str | None = None,
    decimal: str = ".",
    target_required: bool = True,
    labels_required: bool = True,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    multilabel: bool = False,
    on_error: Literal["raise", "skip"] = "raise",
    dtype: DTypeLike = np.float64,
    encoder: Encoder | None = None,
    n_jobs: int | None = None,
    on_block: OnBlock | None = None,
) -> Data:
    """Read X and y from a file, plain or compressed (.gz, .bz2, .xz, .zst).

    Parameters
    ----------
    path : path, open binary stream, or "-" for standard input
    format : "auto", "svmlight" (LIBSVM's), "csv", "tsv", "parquet", "arrow" (Feather), "npy" or "npz"
        "auto" uses the suffix of the file name. Files with other names are read as svmlight, like those of the LIBSVM
        collection. `register_format` adds formats.
    target : in a table, the column that becomes y, by name or number; in .npz, the name of its array ("y")
    columns : names of the columns to read from a table; None: all
    categorical : names of the columns to read as text even if all their values are numbers
        Other columns are text by their type, and in CSV and TSV files if the first 4 MB have values other than numbers
        and True and False. Missing are null and empty values, and in these files also ?, None and what pandas.read_csv
        takes for missing, such as NA, NaN, N/A and null.
    header : whether the first line of a CSV or TSV file has column names; without names, they are "0", "1", …
        "auto": it has names if none of its fields is a number, or if `target` or `columns` name one of its text fields.
    delimiter : the character between the fields of a CSV or TSV file; None: a tab for TSV; for CSV a comma, or, if the
        first line has none, the more frequent of semicolon, tab and vertical bar
        With format="auto", a file whose name does not show the format is read as CSV.
    decimal : the decimal point of the numbers in a CSV or TSV file, "." or ","
    target_required : if False, a table without the column `target` is read without labels, instead of raising
    labels_required : if False, rows of a table may have no label: it is NaN, or None among texts. y is None if no row
        has one.
    n_features : number of columns of X in svmlight, if the highest index of the file may be lower
    zero_based : whether svmlight indices begin at 0; "auto": they do if there is an index 0
    multilabel : whether svmlight rows have any number of labels, separated by commas
    on_error : "raise" reports the file, the line and the error; "skip" skips such lines and counts them
    dtype : float64 or float32
    encoder : a fitted Encoder (``model.shapes_.encoder``). X is then its codes, and the values are never in memory all
        at once. The first 8 MB of an svmlight file then decide whether indices begin at 0.
    n_jobs : number of threads that parse svmlight and encode; None: one, -1: all. With several, one more decompresses.
    on_block : called with each block of rows, a matrix or a `LevelTable` with the texts found so far, instead of
        keeping them: X of the result has no rows. Blocks of svmlight may have more columns than earlier ones.

    Returns
    -------
    Data
        A named tuple: X, y, feature_names, qid, n_skipped, zero_based, target. X is a `LevelTable` if columns hold
        text; AdditiveSVC takes it.

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
    settings = ReadSettings(
        target=target,
        columns=columns,
        categorical=categorical,
        n_features=n_features,
        zero_based=zero_based,
        multilabel=multilabel,
        header=header,
        delimiter=delimiter,
        decimal=decimal,
        target_required=target_required,
        labels_required=labels_required,
        dtype=np.dtype(dtype),
        encoder=encoder,
        n_threads=thread_count(n_jobs),
        bad_lines=BadLines(skips=on_error == "skip"),
        on_block=on_block,
    )
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be 'raise' or 'skip', not {on_error!r}.")
    _check(settings)
    with open_source(path) as source:
        kind = FORMATS[format_of(source.name, format, delimiter)]
        kind.check_options(settings)
        try:
            data = kind.read(source, settings)
        except TooLargeError as error:
            raise TooLargeError(f"{source.name}: {error}") from None
        except MemoryError as error:
            raise MemoryError(f"{source.name} does not fit in memory: {error}") from error
        except ValueError as error:
            if kind.name == DEFAULT and format == "auto" and not shows_format(source.name):
                error.add_note(
                    f"The file name does not show the format, so {DEFAULT} was tried. Pass format= if it is another."
                )
            raise
    bad = settings.bad_lines
    if bad.n_skipped:
        lines = "a line" if bad.n_skipped == 1 else f"{bad.n_skipped} lines"
        warnings.warn(f"Skipped {lines} of {source.name}. The first: {bad.first}.", stacklevel=2)
    return data._replace(n_skipped=bad.n_skipped)


def _check(settings: ReadSettings) -> None:
    """Refuse values that no format takes."""
    dtype, delimiter, n_features = settings.dtype, settings.delimiter, settings.n_features
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {dtype}.")
    if settings.header not in (True, False, "auto"):
        raise ValueError(f"header must be True, False or 'auto', not {settings.header!r}.")
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise ValueError(
            f"delimiter must be one ASCII character other than a quote or an end of line, not {delimiter!r}."
        )
    if settings.decimal not in (".", ","):
        raise ValueError(f"decimal must be '.' or ',', not {settings.decimal!r}.")
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be at least 1, or None for the number found, not {n_features}.")
    if settings.encoder is not None and settings.on_block is not None:
        raise ValueError("pass encoder= or on_block=, not both: blocks are of values.")
    if settings.encoder is not None and n_features not in (None, settings.encoder.n_features):
        raise ValueError(f"n_features={n_features}, and the encoder was fitted on {settings.encoder.n_features}.")
