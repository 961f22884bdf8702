"""Tables by pyarrow, a batch of rows at a time: named columns, one of which may be the target. Parquet and Arrow."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .damage import parsing
from .labels import text_labels
from .streams import Source

_BATCH_ROWS = 1 << 15

REMEDY = "Leave it out by columns=, make it the target=, or turn it into numbers first."

_Batches = Callable[[list[str]], Iterator[Any]]


def pyarrow(what: str, module: str = "pyarrow") -> Any:
    """Return the module, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"Reading {what} needs pyarrow: pip install 'kernline[io]'.") from error


@dataclass(frozen=True)
class TableOptions:
    """Options of `read` for tables."""

    target: str | int | None
    columns: Sequence[str] | None
    skip: bool
    header: bool | Literal["auto"]
    dtype: Any
    delimiter: str | None = None
    target_required: bool = True


class Table:
    """An open table: `batches` gives columns of some rows at a time, first the features, then the target."""

    def __init__(self, name: str, columns: list[str], options: TableOptions) -> None:
        if len(set(columns)) < len(columns):
            (repeated, _), *_ = Counter(columns).most_common(1)
            raise ValueError(f"{name}: two columns are called {repeated!r}.")
        self.name = name
        self.target = _target(name, columns, options)
        self.features = _features(name, columns, self.target, options.columns)
        self.wanted = [*self.features, *([self.target] if self.target is not None else [])]
        if not self.wanted:
            raise ValueError(f"{name}: no column is left to be read. There are: {_listed(columns) or 'none'}.")
        self.labels: list[Any] = []
        self.n_skipped, self.first_error = 0, ""

    def blocks(self, batches: Iterator[Sequence[Any]], dtype: Any) -> Iterator[NDArray[Any]]:
        """Features as dense blocks, in which missing values are NaN; labels are put aside."""
        for columns in batches:
            double = pyarrow("a table").float64()
            if self.target is not None:
                self.labels.append(columns[-1])
            block = np.empty((len(columns[0]) if columns else 0, len(self.features)), dtype=dtype)
            with parsing(self.name):
                for j in range(len(self.features)):
                    block[:, j] = _numbers(columns[j], double)
            yield block

    def y(self) -> NDArray[Any] | None:
        """The target column, in the type of its values, once all blocks were read."""
        if self.target is None:
            return None
        pa = pyarrow("a table")
        with parsing(self.name):
            column = pa.chunked_array(self.labels) if self.labels else pa.chunked_array([[]], type=pa.int64())
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            is_text = str(column.type) in ("string", "large_string", "string_view")
            y = text_labels(column.to_pylist()) if is_text and not column.null_count else column.to_numpy()
        if column.null_count:
            raise ValueError(f"{self.name}: the target column {self.target!r} lacks {column.null_count} of its values.")
        return y

    def check_types(self, schema: Any) -> None:
        """Refuse features that are not numbers, and a target that has parts, before any value is read."""
        for feature in self.features:
            _check_number(self.name, feature, schema.field(feature).type)
        if self.target is not None and pyarrow("a table").types.is_nested(schema.field(self.target).type):
            kind = schema.field(self.target).type
            raise ValueError(
                f"{self.name}: the target column {self.target!r} is of type {kind}; labels must be numbers or text."
            )


def _numbers(column: Any, double: Any) -> NDArray[Any]:
    """A column's values as float64, NaN where there is none."""
    values = column if column.type == double else column.cast(double, safe=False)
    return values.to_numpy(zero_copy_only=False)


def _check_number(name: str, feature: str, kind: Any) -> None:
    types = pyarrow("a table").types
    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if not any(is_kind(kind) for is_kind in numeric):
        raise ValueError(f"{name}: column {feature!r} is of type {kind}, not of numbers. {REMEDY}")


def open_table(source: Source, kind: str, options: TableOptions) -> tuple[Table, Iterator[Sequence[Any]]]:
    """Open a Parquet or Arrow table, and batches of its columns."""
    schema, batches = _open_parquet(source) if kind == "parquet" else _open_arrow(source)
    with parsing(source.name):
        names = [name for name in schema.names if not name.startswith("__index_level_")]  # the row names of pandas
    table = Table(source.name, names, options)
    table.check_types(schema)
    return table, _checked(source, table.wanted, batches(table.wanted))


def _open_parquet(source: Source) -> tuple[Any, _Batches]:
    parquet = pyarrow("Parquet", "pyarrow.parquet")
    whole = _seekable(source, rb"PAR1", "a Parquet file")
    with parsing(source.name):
        file = parquet.ParquetFile(whole, pre_buffer=False)
        schema = file.schema_arrow

    def batches(columns: list[str]) -> Iterator[Any]:
        return file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False)

    return schema, batches


def _open_arrow(source: Source) -> tuple[Any, _Batches]:
    """The file form (also called Feather), or the stream form; before version 0.15 that began with a length."""
    ipc = pyarrow("Arrow", "pyarrow.ipc")
    whole = _seekable(source, rb"ARROW1|\xff{4}|(?!\0{4})..\0\0", "an Arrow file")
    with parsing(source.name):
        is_file = whole.read(6) == b"ARROW1"
        whole.seek(0)
        file = ipc.open_file(whole) if is_file else ipc.open_stream(whole)

    def batches(columns: list[str]) -> Iterator[Any]:
        return (file.get_batch(k) for k in range(file.num_record_batches)) if is_file else iter(file)

    return file.schema, batches


def arrow_buffer(content: bytes | memoryview) -> Any:
    """A copy in memory that Arrow allocated, to give to Arrow's readers.

    Their threads may outlive the call. One that is the last to release a Python object when the process exits aborts
    it.
    """
    buffer = pyarrow("Arrow").allocate_buffer(len(content))
    memoryview(buffer).cast("B")[:] = content
    return buffer


def _seekable(source: Source, beginning: bytes, what: str) -> Any:
    """The file itself, or the content of a pipe or decompressor, in memory that Arrow allocated: see `arrow_buffer`."""
    pa = pyarrow(what)
    whole = source.seekable(beginning, what)
    return pa.OSFile(str(source.path)) if source.path is not None else pa.BufferReader(arrow_buffer(whole.getbuffer()))


def _checked(source: Source, columns: list[str], batches: Iterator[Any]) -> Iterator[Sequence[Any]]:
    """Columns of some rows at a time, once no offset in them leads out of their buffers and all text is UTF-8."""
    while True:
        with parsing(source.name):
            batch = next(batches, None)
            if batch is None:
                return
            batch = batch.select(columns)
            batch.validate(full=True)
            slices = [batch.slice(begin, _BATCH_ROWS).columns for begin in range(0, batch.num_rows, _BATCH_ROWS)]
        yield from slices


def _target(name: str, names: list[str], options: TableOptions) -> str | None:
    target = options.target
    if target is None or (target not in names and isinstance(target, str) and not options.target_required):
        return None
    if isinstance(target, str) and target in names:
        return target
    if not isinstance(target, str) and -len(names) <= target < len(names):
        return names[target]
    raise ValueError(f"{name}: no column {target!r} to be the target. There are: {_listed(names)}.")


def _features(name: str, names: list[str], target: str | None, columns: Sequence[str] | None) -> list[str]:
    if columns is None:
        return [column for column in names if column != target]
    known = set(names)
    unknown = [column for column in columns if column not in known]
    if unknown:
        raise ValueError(f"{name}: no column {unknown[0]!r}. There are: {_listed(names)}.")
    if target in columns:
        raise ValueError(f"columns= holds {target!r}, which is the target.")
    return list(columns)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
