"""Parquet and Arrow files (also called Feather), by pyarrow."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from .damage import parsing
from .formats import Data, Format, ReadSettings, register_format
from .streams import Source
from .table import Table, arrow_buffer, pyarrow, read_table
from .table_writing import write_table

if TYPE_CHECKING:
    import pyarrow as pa

    from .arrow_types import BatchWriter, Column, RecordBatch, Schema

    Batches = Callable[[list[str]], Iterator[RecordBatch]]

_BATCH_ROWS = 1 << 15


def read_parquet(source: Source, settings: ReadSettings) -> Data:
    """Read a Parquet file."""
    parquet = pyarrow("Parquet", "pyarrow.parquet")
    whole = _seekable(source, rb"PAR1", "a Parquet file")
    with parsing(source.name):
        file = parquet.ParquetFile(whole, pre_buffer=False)
        schema = file.schema_arrow

    def batches(columns: list[str]) -> Iterator[RecordBatch]:
        return file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False)

    return _read(source, settings, schema, batches)


def read_arrow(source: Source, settings: ReadSettings) -> Data:
    """Read the file form, or the stream form, which began with a length before version 0.15."""
    ipc = pyarrow("Arrow", "pyarrow.ipc")
    whole = _seekable(source, rb"ARROW1|\xff{4}|(?!\0{4})..\0\0", "an Arrow file")
    with parsing(source.name):
        is_file = whole.read(6) == b"ARROW1"
        whole.seek(0)
        file = ipc.open_file(whole) if is_file else ipc.open_stream(whole)

    def batches(columns: list[str]) -> Iterator[RecordBatch]:
        return (file.get_batch(k) for k in range(file.num_record_batches)) if is_file else iter(file)

    return _read(source, settings, file.schema, batches)


def _read(source: Source, settings: ReadSettings, schema: Schema, batches: Batches) -> Data:
    with parsing(source.name):
        names = [name for name in schema.names if not name.startswith("__index_level_")]  # the row names of pandas
    table = Table(source.name, names, settings)
    table.check_types(schema)
    return read_table(table, _checked(source, table.wanted, batches(table.wanted)), settings)


def _seekable(source: Source, beginning: bytes, what: str) -> pa.NativeFile:
    """The file itself, or the content of a pipe or decompressor, in memory that Arrow allocated: see `arrow_buffer`."""
    arrow = pyarrow(what)
    whole = source.seekable(beginning, what)
    if isinstance(whole, io.BytesIO):
        return arrow.BufferReader(arrow_buffer(whole.getbuffer()))
    return arrow.OSFile(str(source.path))


def _checked(source: Source, columns: list[str], batches: Iterator[RecordBatch]) -> Iterator[Sequence[Column]]:
    """Columns of some rows at a time, once all offsets are within their buffers and all text is UTF-8."""
    while True:
        with parsing(source.name):
            batch = next(batches, None)
            if batch is None:
                return
            batch = batch.select(columns)
            batch.validate(full=True)
            slices = [batch.slice(begin, _BATCH_ROWS).columns for begin in range(0, batch.num_rows, _BATCH_ROWS)]
        yield from slices


def write_parquet(stream: BinaryIO, data: Data) -> None:
    """Write a Parquet file."""

    def open_writer(schema: Schema) -> BatchWriter:
        return pyarrow("Parquet", "pyarrow.parquet").ParquetWriter(stream, schema)

    write_table(data, open_writer)


def write_arrow(stream: BinaryIO, data: Data) -> None:
    """Write the file form."""
    write_table(data, lambda schema: pyarrow("Arrow").ipc.new_file(stream, schema))


register_format(
    Format(
        "parquet",
        read_parquet,
        suffixes=(".parquet", ".pq"),
        options=("target", "columns", "categorical"),
        write=write_parquet,
    )
)
register_format(
    Format(
        "arrow",
        read_arrow,
        suffixes=(".arrow", ".feather", ".ipc"),
        aliases=("feather",),
        options=("target", "columns", "categorical"),
        write=write_arrow,
    )
)
