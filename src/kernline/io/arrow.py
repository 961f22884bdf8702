"""Tables by pyarrow, a batch of rows at a time: named columns, one of which may be the target. Parquet and Arrow."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .labels import text_labels
from .streams import Source

_BATCH_ROWS = 1 << 15
_COPY_BYTES = 1 << 22


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
    """What `read` was told about the table."""

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
            repeated = next(column for column in columns if columns.count(column) > 1)
            raise ValueError(f"{name}: two columns are called {repeated!r}.")
        self.name = name
        self.target = _target(name, columns, options)
        self.features = _features(name, columns, self.target, options.columns)
        self.wanted = [*self.features, *([self.target] if self.target is not None else [])]
        self.labels: list[Any] = []
        self.n_skipped, self.first_error = 0, ""

    def blocks(self, batches: Iterator[Sequence[Any]], dtype: Any) -> Iterator[NDArray[Any]]:
        """Features as dense blocks, in which missing values are NaN; labels are put aside."""
        for columns in batches:
            if self.target is not None:
                self.labels.append(columns[-1])
            block = np.empty((len(columns[0]) if columns else 0, len(self.features)), dtype=dtype)
            for j, feature in enumerate(self.features):
                block[:, j] = self._numbers(feature, columns[j])
            yield block

    def y(self) -> NDArray[Any] | None:
        """The target column, in the type of its values, once all blocks were read."""
        if self.target is None:
            return None
        pa = pyarrow("a table")
        column = pa.chunked_array(self.labels) if self.labels else pa.chunked_array([[]], type=pa.int64())
        if column.null_count:
            raise ValueError(f"{self.name}: the target column {self.target!r} lacks {column.null_count} of its values.")
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        return text_labels(column.to_pylist()) if is_text else column.to_numpy()

    def _numbers(self, feature: str, column: Any) -> NDArray[Any]:
        """A column's values as float64, NaN where there is none."""
        pa = pyarrow("a table")
        numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
        if not any(is_kind(column.type) for is_kind in numeric):
            raise ValueError(f"{self.name}: column {feature!r} is of type {column.type}, not of numbers. {REMEDY}")
        return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def open_table(source: Source, kind: str, options: TableOptions) -> tuple[Table, Iterator[Sequence[Any]]]:
    """Open a Parquet or Arrow table, and batches of its columns."""
    names, batches = _open_parquet(source) if kind == "parquet" else _open_arrow(source)
    names = [name for name in names if not name.startswith("__index_level_")]  # the row names that pandas adds
    table = Table(source.name, names, options)
    return table, (batch.columns for batch in batches(table.wanted))


def _open_parquet(source: Source) -> tuple[list[str], _Batches]:
    pa, parquet = pyarrow("Parquet"), pyarrow("Parquet", "pyarrow.parquet")
    file = _opened(source, parquet.ParquetFile, _seekable(pa, source))

    def batches(columns: list[str]) -> Iterator[Any]:
        for batch in _checked(source, file.iter_batches(_BATCH_ROWS, columns=columns)):
            yield batch.select(columns)

    return file.schema_arrow.names, batches


def _open_arrow(source: Source) -> tuple[list[str], _Batches]:
    """The file form (also called Feather), or the stream form."""
    pa = pyarrow("Arrow")
    whole = _seekable(pa, source)
    try:
        file = pa.ipc.open_file(whole)
        stored = (file.get_batch(k) for k in range(file.num_record_batches))
    except pa.ArrowInvalid:
        whole.seek(0)
        file = _opened(source, pa.ipc.open_stream, whole)
        stored = iter(file)

    def batches(columns: list[str]) -> Iterator[Any]:
        for batch in _checked(source, stored):
            for begin in range(0, batch.num_rows, _BATCH_ROWS):
                yield batch.select(columns).slice(begin, _BATCH_ROWS)

    return file.schema.names, batches


def _seekable(pa: Any, source: Source) -> Any:
    """The file itself, or the content of a pipe or decompressor, in memory that Arrow allocated.

    Arrow's threads may outlive the call, and must not be the last to release a Python object: see `DelimitedTable`.
    """
    if source.path is not None:
        return pa.OSFile(str(source.path))
    content = pa.BufferOutputStream()
    while block := source.stream.read(_COPY_BYTES):
        content.write(block)
    return pa.BufferReader(content.getvalue())


def _opened(source: Source, opener: Any, argument: Any) -> Any:
    try:
        return opener(argument)
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise ValueError(f"{source.name}: {error}") from error


def _checked(source: Source, batches: Iterator[Any]) -> Iterator[Any]:
    """The same, with errors that name the file."""
    try:
        yield from batches
    except (OSError, ValueError) as error:
        raise ValueError(f"{source.name}: {error}") from error


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
    unknown = [column for column in columns if column not in names]
    if unknown:
        raise ValueError(f"{name}: no column {unknown[0]!r}. There are: {_listed(names)}.")
    if target in columns:
        raise ValueError(f"columns= holds {target!r}, which is the target.")
    return list(columns)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
