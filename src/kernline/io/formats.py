"""The registry of file formats: what `read` and `write` know about each of them.

A format is one `Format` object, registered by the file that implements it, in this package or in another one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import BinaryIO, Literal, NamedTuple, TypeAlias

import numpy as np

from ..array_types import Indices, Labels, Matrix
from ..encoding import EncodedData, Encoder, LevelTable
from ..suggestions import did_you_mean
from .rows import EncodedRows, OnBlock, PassedRows, ValueRows
from .streams import COMPRESSION_SUFFIXES, Source, format_suffix

LabelSets: TypeAlias = list[tuple[str | float, ...]]
"""Several labels per row."""

# Parameters of `read` that apply to some formats only, and what formats may store beside X and y.
OPTIONS = (
    "target",
    "columns",
    "categorical",
    "n_features",
    "zero_based",
    "multilabel",
    "header",
    "delimiter",
    "decimal",
)
EXTRAS = ("qid", "multilabel")

# The format of files whose name does not show it, as in the LIBSVM collection; with a delimiter, the second one.
DEFAULT, DEFAULT_DELIMITED = "svmlight", "csv"
# A feature of svmlight.
_CELL = re.compile(rb"(qid|\d+):[^;|\"]+")


class Data(NamedTuple):
    """The content of a file.

    X is a CSR matrix (svmlight, sparse .npz), a dense array, a `LevelTable` if columns of a table hold text, or
    `EncodedData` when an encoder was given. y is None if
    there are no labels, and a list of tuples with ``multilabel=True``. `n_skipped` counts skipped lines. `zero_based`
    is whether svmlight indices begin at 0, and None for other formats. `target` is the column of a table that became
    y: its name, or its number if the columns have no names.

    Examples
    --------
    >>> import io, kernline
    >>> data = kernline.io.read(io.BytesIO(b"1 1:0.5\\n-1 2:2\\n"))
    >>> data.X.shape, data.y.tolist(), data.n_skipped
    ((2, 2), [1, -1], 0)
    """

    X: Matrix | EncodedData | LevelTable
    y: Labels | LabelSets | None
    feature_names: list[str] | None = None
    qid: Indices | None = None
    n_skipped: int = 0
    zero_based: bool | None = None
    target: str | int | None = None

    @property
    def matrix(self) -> Matrix:
        """X, if it is a matrix of values."""
        if isinstance(self.X, EncodedData):
            raise ValueError("the rows are encoded. Read them without encoder=.")
        if isinstance(self.X, LevelTable):
            name = self.X.columns[min(self.X.levels)]
            raise ValueError(f"column {name!r} holds text, not numbers. Write csv, tsv, parquet or arrow.")
        return self.X


@dataclass
class BadLines:
    """Lines that cannot be read: the first one is an error, or, with `skips`, they are skipped and counted."""

    skips: bool = False
    n_skipped: int = 0
    first: str = ""

    def report(self, message: str, n_lines: int = 1) -> None:
        """Raise the message as a ValueError, or count the lines. It begins with the file name and the line."""
        if not self.skips:
            raise ValueError(message)
        self.n_skipped += n_lines
        self.first = self.first or message


@dataclass(frozen=True)
class ReadSettings:
    """The parameters of `read`, checked."""

    target: str | int | None = None
    columns: Sequence[str] | None = None
    categorical: Sequence[str] | None = None
    n_features: int | None = None
    zero_based: bool | Literal["auto"] = "auto"
    multilabel: bool = False
    header: bool | Literal["auto"] = "auto"
    delimiter: str | None = None
    decimal: str = "."
    target_required: bool = True
    labels_required: bool = True
    dtype: np.dtype[np.generic] = np.dtype(np.float64)  # noqa: RUF009
    encoder: Encoder | None = None
    n_threads: int = 1
    bad_lines: BadLines = field(default_factory=BadLines)
    on_block: OnBlock | None = None

    def rows(self, name: str, n_columns: int) -> ValueRows | EncodedRows | PassedRows:
        """An object to append blocks of rows to; its `result()` is the X to return. `name` is that of the file."""
        if self.on_block is not None:
            return PassedRows(self.on_block, n_columns)
        if self.encoder is None:
            return ValueRows(n_columns, self.dtype)
        if n_columns != self.encoder.n_features:
            raise ValueError(
                f"{name} has {n_columns} columns of features, and the encoder was fitted on {self.encoder.n_features}."
            )
        return EncodedRows(self.encoder, self.n_threads)

    def matrix(self, name: str, X: Matrix) -> Matrix | EncodedData:
        """The X to return, from all rows at once."""
        if self.encoder is None and self.on_block is None:
            return X.astype(self.dtype, copy=False)
        rows = self.rows(name, X.shape[1])
        rows.append(X)
        return rows.result()


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name : str
        Its name in ``format=``.
    read : callable
        ``read(source, settings)`` reads the open `Source` according to the `ReadSettings` and returns `Data`.
    suffixes : tuple of str
        Suffixes of its file names, in lower case, such as ".csv". Files may be compressed: "a.csv.gz" is CSV too.
    aliases : tuple of str
        Other names that ``format=`` accepts.
    options : tuple of str
        Which of the parameters `OPTIONS` of `kernline.io.read` apply. The others are refused. A format that takes
        "columns" is a table: on the command line, its column of labels is given by ``--target``.
    write : callable or None
        ``write(stream, data)`` writes `Data` to a binary stream. None: the format can only be read.
    stores : tuple of str
        Which of "qid" and "multilabel" (several labels per row) `write` can store.

    Examples
    --------
    >>> from kernline.io import FORMATS
    >>> FORMATS["csv"].suffixes
    ('.csv',)
    """

    name: str
    read: Callable[[Source, ReadSettings], Data]
    suffixes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    write: Callable[[BinaryIO, Data], None] | None = None
    stores: tuple[str, ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether it has columns, one of which may be the target."""
        return "columns" in self.options

    def check_options(self, settings: ReadSettings) -> None:
        """Refuse parameters that were given but do not apply to this format."""
        for name in OPTIONS:
            value, default = getattr(settings, name), getattr(ReadSettings, name)
            is_given = value is not None if default is None else value != default
            if is_given and name not in self.options:
                raise ValueError(f"{name}= does not apply to format {self.name!r}. Pass format= if it is another.")


FORMATS: dict[str, Format] = {}
"""The registered formats by name."""


def register_format(format: Format) -> Format:
    """Make a format known to `read`, `write` and the command line.

    Parameters
    ----------
    format : Format
        The format.

    Returns
    -------
    Format
        The same format.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from kernline.io import FORMATS, Data, Format, read, register_format
    >>> def read_columns(source, settings):
    ...     X = np.loadtxt(source.stream, ndmin=2)
    ...     return Data(settings.matrix(source.name, X[:, :-1]), X[:, -1])
    >>> blanks = register_format(Format("blanks", read_columns, suffixes=(".txt",)))
    >>> read(io.BytesIO(b"0.5 0.1 1\\n0.2 0.3 -1\\n"), format="blanks").y
    array([ 1., -1.])
    >>> del FORMATS["blanks"]
    """
    _check(format)
    for other in FORMATS.values():
        shared = {format.name, *format.aliases} & {other.name, *other.aliases} or {*format.suffixes} & {*other.suffixes}
        if shared and other != format:
            raise ValueError(f"{sorted(shared)[0]!r} of format {format.name!r} already belongs to {other.name!r}.")
    FORMATS[format.name] = format
    return format


def format_of(name: str, format: str = "auto", delimiter: str | None = None) -> str:
    """The name of a file's format: `format`, or what the file name shows, or by default svmlight (CSV if a `delimiter`
    is given).
    """
    if format == "auto":
        return _by_suffix(name) or (DEFAULT if delimiter is None else DEFAULT_DELIMITED)
    found = _find(lambda known: format in (known.name, *known.aliases))
    if found is None:
        near = did_you_mean(format, FORMATS).strip()
        raise ValueError(f"format must be one of auto, {', '.join(sorted(FORMATS))}, not {format!r}. {near}".rstrip())
    return found


def shows_format(name: str) -> bool:
    """Whether a file name ends like those of a registered format."""
    return _by_suffix(name) is not None


def looks_delimited(start: bytes) -> bool:
    """Whether the first line of a file is one of CSV, judged by its first bytes, and not one of svmlight."""
    lines = (line.partition(b"#")[0] for line in start.splitlines())
    fields = next((line for line in lines if line.strip()), b"").strip(b"\r\n ")
    if any(_CELL.fullmatch(part) for part in fields.split()[1:]):
        return False
    return any(delimiter in fields for delimiter in (b",", b";", b"\t", b"|"))


def _by_suffix(name: str) -> str | None:
    suffix = format_suffix(name)
    return _find(lambda known: suffix in known.suffixes) if suffix else None


def _find(condition: Callable[[Format], bool]) -> str | None:
    """The name of a format. Other packages are searched only if no registered format fits."""
    found = next(filter(condition, FORMATS.values()), None)
    if found is None:
        _register_installed()
        found = next(filter(condition, FORMATS.values()), None)
    return None if found is None else found.name


@cache
def _register_installed() -> None:
    """Register the formats of installed packages: their entry points of the group "kernline.formats"."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="kernline.formats"):
        try:
            register_format(entry.load())
        except Exception as error:  # a broken package must not keep others from being read
            warnings.warn(f"The file format {entry.value} cannot be loaded: {error}", stacklevel=2)


def _check(format: Format) -> None:
    """Refuse what could not work: `read` would never find the format, or never refuse an option."""
    if not format.name or "auto" in (format.name, *format.aliases):
        raise ValueError(f"a format cannot be called {format.name!r}.")
    for suffix in format.suffixes:
        if suffix != format_suffix(f"name{suffix}") or suffix in COMPRESSION_SUFFIXES:
            raise ValueError(
                f"{suffix!r} cannot be the suffix of format {format.name!r}: suffixes are like '.csv', in lower case, "
                f"and none of {', '.join(COMPRESSION_SUFFIXES)}."
            )
    for kind, given, known in (("options", format.options, OPTIONS), ("stores", format.stores, EXTRAS)):
        if unknown := sorted({*given} - {*known}):
            raise ValueError(f"{kind} of format {format.name!r}: {unknown[0]!r} is none of {', '.join(known)}.")
