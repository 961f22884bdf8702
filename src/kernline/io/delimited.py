"""CSV and TSV, by pyarrow: features are numbers, the target is any text."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..array_types import Labels
from ..memory import check_memory
from .formats import Data, Format, ReadSettings, register_format
from .labels import NUMBER, labels_of
from .lines import LineBlock, line_blocks, open_quotes
from .streams import Source
from .table import REMEDY, Table, arrow_buffer, pyarrow, read_table
from .table_writing import write_table

if TYPE_CHECKING:
    from .arrow_types import BatchWriter, Column, InvalidRow, Schema

_LONGEST_HEADER = 1 << 26
# pyarrow needs about 10 KB for each column that it converts at a time, however few the rows.
_COLUMNS_AT_ONCE = 10_000
# Memory per column: its name, its values in a block, and what the parser needs.
_COLUMN_BYTES = 4_000.0
_REPLACED = "\ufffd"


class DelimitedTable(Table):
    """A table of text. `named`: whether the first line has the names of the columns."""

    def __init__(self, source: Source, delimiter: str, settings: ReadSettings) -> None:
        self.source, self.delimiter, self.settings = source, delimiter, settings
        self.bad_lines = settings.bad_lines
        first_line = source.stream.readline(_LONGEST_HEADER).removeprefix(b"\xef\xbb\xbf")
        names = self._fields(first_line)
        self.named = _are_names(names, settings) if settings.header == "auto" else settings.header
        self.names = names if self.named else [str(j) for j in range(len(names))]
        self.start = b"" if self.named else first_line
        # For each row of a block that the parser dropped, the number of rows that it kept before.
        self.dropped: list[int] = []
        # Some bad rows of a block, with the first one of each column: number and error.
        self.bad_rows: list[tuple[int, str]] = []
        try:
            super().__init__(source.name, self.names, settings)
        except ValueError as error:
            self._hint(error)
            raise

    def y(self) -> Labels | None:
        """The target: numbers if all labels are numbers, else text."""
        if self.target is None:
            return None
        texts = [text for column in self.labels for text in column.to_pylist()]
        if n_missing := texts.count(""):
            raise ValueError(f"{self.name}: the target column {self.target!r} lacks {n_missing} of its values.")
        return labels_of(texts)

    def batches(self) -> Iterator[Sequence[Column]]:
        """Columns of some rows at a time.

        Each block of whole lines is parsed by itself, so that pyarrow does not read ahead in a thread, and the line of
        a row can be found in its block.
        """
        pa = pyarrow("CSV")
        for lines in line_blocks(self.name, self.source.stream, self.start, first=1 + int(self.named)):
            block = self._closed(lines)
            if not block.text.strip(b"\r\n"):
                continue
            try:
                columns = self._parsed(block)
            except pa.ArrowInvalid as error:
                explained = ValueError(self._explained(str(error), block))
                if f"{self.name}:1:" in str(explained):
                    self._hint(explained)
                raise explained from error
            if self.bad_rows and not self.bad_lines.first:
                row, message = min(self.bad_rows, key=itemgetter(0))  # the first column of several, as min is stable
                self.bad_lines.report(f"{self.name}:{block.line(row)}: {message}", n_lines=0)  # already counted
            yield columns

    def _fields(self, line: bytes) -> list[str]:
        """The fields of the first line, as text."""
        place = f"{self.source.name}:1"
        if len(line) == _LONGEST_HEADER:
            raise ValueError(f"{place}: line of more than {_LONGEST_HEADER >> 20} MB")
        if line.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in line:
            raise ValueError(f"{place}: expected names or numbers of columns in UTF-8, found UTF-16 or binary data.")
        if b"\r" in line.rstrip(b"\r\n"):
            raise ValueError(f"{place}: a line ends in \\r alone. Convert line ends to \\n first.")
        n_columns = line.count(self.delimiter.encode()) + 1
        check_memory(f"Reading {n_columns:,} columns of text", _COLUMN_BYTES * n_columns, "Use an svmlight file.")
        try:
            fields = next(csv.reader([line.decode()], delimiter=self.delimiter, strict=True), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{place}: expected names or numbers of columns ({error}).") from error
        if not fields:
            raise ValueError(f"{place}: expected the names of columns, found nothing.")
        return [field.strip() for field in fields]

    def _hint(self, error: ValueError) -> None:
        if not self.named and self.settings.header == "auto":
            error.add_note("Line 1 contains numbers and was read as data. Pass header=True (--header) if it has names.")

    def _closed(self, block: LineBlock) -> LineBlock:
        """The block, without lines in which a quote is left open."""
        bad = open_quotes(block.text, self.delimiter.encode())
        if not bad:
            return block
        message = f"{self.name}:{block.line_at(bad[0].start)}: a quoted field is not closed on its line"
        if not self.bad_lines.skips:
            message += ". Remove the quote; line breaks in fields are not supported."
        self.bad_lines.report(message, len(bad))
        text = bytearray(block.text)
        for line in reversed(bad):
            del text[line]
        return replace(block, text=bytes(text))

    def _parsed(self, block: LineBlock) -> list[Column]:
        """The wanted columns of a block."""
        # If bad rows are skipped, bytes that are not UTF-8 become _REPLACED, which makes the row a bad one.
        text = block.text.decode(errors="replace").encode() if self.bad_lines.skips else block.text
        columns: list[Column] = []
        for begin in range(0, len(self.wanted), _COLUMNS_AT_ONCE):
            columns += self._converted(text, self.wanted[begin : begin + _COLUMNS_AT_ONCE])
        return self._good_rows(columns) if self.bad_lines.skips else self._finite(columns, block)

    def _converted(self, text: bytes, wanted: list[str]) -> list[Column]:
        """Some columns of a block: the target as text, the features as numbers, or as text if bad rows are skipped."""
        pa, arrow_csv = pyarrow("CSV"), pyarrow("CSV", "pyarrow.csv")
        skips = self.bad_lines.skips
        number = pa.string() if skips else pa.float64()
        types = {name: pa.string() if name == self.target else number for name in wanted}
        self.dropped, self.bad_rows = [], []
        # In one thread, or errors would not name the row.
        table = arrow_csv.read_csv(
            pa.BufferReader(arrow_buffer(text)),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=self.names),
            arrow_csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=self._drop if skips else None),
            arrow_csv.ConvertOptions(column_types=types, include_columns=wanted),
        )
        return [column.combine_chunks() for column in table.columns]

    def _drop(self, row: InvalidRow) -> str:
        """Drop a row that has too few or too many fields."""
        if not self.dropped:
            message = f"expected {row.expected_columns} columns, found {row.actual_columns}"
            self.bad_rows.append((row.number - 1, message))
        self.dropped.append(row.number - 1 - len(self.dropped))
        return "skip"

    def _finite(self, columns: list[Column], block: LineBlock) -> list[Column]:
        """The columns, if none of their values is too large for the number type."""
        for name, column in zip(self.wanted, columns, strict=True):
            if name == self.target:
                continue
            rows = np.flatnonzero(self._overflows(column))
            if len(rows):
                value = float(column[int(rows[0])].as_py())
                what = "not a finite number" if np.isinf(value) else f"too large for {self.settings.dtype}"
                raise ValueError(f"{self.name}:{block.line(int(rows[0]))}: column {name!r} holds {value}, {what}.")
        return columns

    def _overflows(self, numbers: Column) -> NDArray[np.bool_]:
        """Which numbers are infinite in the number type of X."""
        with np.errstate(over="ignore"):
            return np.isinf(numbers.to_numpy(zero_copy_only=False).astype(self.settings.dtype, copy=False))

    def _good_rows(self, texts: list[Column]) -> list[Column]:
        """The rows that have a target and whose features are numbers or missing, with these as numbers."""
        pa, compute = pyarrow("CSV"), pyarrow("CSV", "pyarrow.compute")
        missing = pa.array(pyarrow("CSV", "pyarrow.csv").ConvertOptions().null_values)
        good = np.ones(len(texts[0]), dtype=bool)
        columns: list[Column] = []
        for name, column in zip(self.wanted, texts, strict=True):
            if name == self.target:
                is_bad = compute.or_(compute.equal(column, ""), compute.match_substring(column, _REPLACED))
                bad = is_bad.to_numpy(zero_copy_only=False)
                columns.append(column)
            else:
                is_number = compute.match_substring_regex(column, NUMBER)
                trimmed = compute.utf8_trim_whitespace(column)
                numbers = compute.if_else(is_number, trimmed, None).cast(pa.float64())
                is_text = compute.invert(compute.or_(is_number, compute.is_in(column, missing)))
                bad = is_text.to_numpy(zero_copy_only=False) | self._overflows(numbers)
                columns.append(numbers)
            if bad.any():
                row = int(bad.argmax())
                message = f"column {name!r} holds {str(column[row].as_py())[:40]!r}"
                self.bad_rows.append((row + bisect_right(self.dropped, row), message))
            good &= ~bad
        self.bad_lines.n_skipped += len(self.dropped) + int(np.count_nonzero(~good))
        kept = pa.array(good)
        return [column.filter(kept) for column in columns]

    def _explained(self, message: str, block: LineBlock) -> str:
        """Arrow's message, with file, line and column in front."""
        row, column = re.search(r"Row #(\d+): ", message), re.search(r"In CSV column #(\d+): ", message)
        place = f"{self.name}:{block.line(int(row.group(1)) - 1)}" if row else self.name
        count = re.search(r"Expected (\d+) columns, got (\d+)", message)
        if count:
            return f"{place}: expected {count.group(1)} columns, found {count.group(2)}"
        value = re.search(r"conversion error to double: invalid value '(.*)'", message, re.DOTALL)
        if value and column:
            name = self.names[int(column.group(1))]
            return f"{place}: column {name!r} holds {value.group(1)[:40]!r}, not a number. {REMEDY}"
        if column and "invalid UTF8" in message:
            return f"{place}: column {self.names[int(column.group(1))]!r} holds bytes that are not UTF-8."
        return f"{place}: {message[:200]}"


def _are_names(fields: list[str], settings: ReadSettings) -> bool:
    """Whether a first line has names: none of its fields is a number, or the user named one of its text fields."""
    texts = [field for field in fields if not re.match(NUMBER, field)]
    asked_for = {settings.target, *(settings.columns or ())}
    return len(texts) == len(fields) or not asked_for.isdisjoint(texts)


def _read(default_delimiter: str, source: Source, settings: ReadSettings) -> Data:
    table = DelimitedTable(source, settings.delimiter or default_delimiter, settings)
    return read_table(table, table.batches(), settings)


def _write(delimiter: str, stream: BinaryIO, data: Data) -> None:
    def open_writer(schema: Schema) -> BatchWriter:
        arrow_csv = pyarrow("CSV", "pyarrow.csv")
        options = arrow_csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
        return arrow_csv.CSVWriter(stream, schema, write_options=options)

    write_table(data, open_writer)


for _name, _delimiter, _suffixes in (("csv", ",", (".csv",)), ("tsv", "\t", (".tsv", ".tab"))):
    register_format(
        Format(
            _name,
            partial(_read, _delimiter),
            _suffixes,
            options=("target", "columns", "header", "delimiter"),
            write=partial(_write, _delimiter),
        )
    )
