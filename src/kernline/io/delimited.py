"""CSV and TSV, by pyarrow: features are numbers, or text where the first rows hold text; the target is any text."""

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
from .labels import labels_of, number_pattern, with_gaps
from .lines import LineBlock, line_blocks, open_quotes
from .streams import Source
from .table import REMEDY, Table, arrow_buffer, pyarrow, read_table
from .table_writing import write_table
from .text_columns import MISSING, Kind, booleans, kind_of

if TYPE_CHECKING:
    from .arrow_types import BatchWriter, Column, InvalidRow, Schema

_LONGEST_HEADER = 1 << 26
# pyarrow needs about 10 KB for each column that it converts at a time, however few the rows.
_COLUMNS_AT_ONCE = 10_000
# Memory per column: its name, its values in a block, and what the parser needs.
_COLUMN_BYTES = 4_000.0
# What separates fields where there is no comma.
_DELIMITERS = (";", "\t", "|")
_REPLACED = "\ufffd"
_RECODE = "Convert the file first, for example from Windows-1252 by iconv -f CP1252 -t UTF-8."


class DelimitedTable(Table):
    """A table of text. `named`: whether the first line has the names of the columns."""

    def __init__(self, source: Source, default_delimiter: str, settings: ReadSettings) -> None:
        self.source, self.settings, self.bad_lines = source, settings, settings.bad_lines
        first_line = source.stream.readline(_LONGEST_HEADER).removeprefix(b"\xef\xbb\xbf")
        self.delimiter = settings.delimiter or _sniffed(first_line, default_delimiter, settings.decimal)
        names = self._fields(first_line)
        self.named = _are_names(names, settings) if settings.header == "auto" else settings.header
        self.names = names if self.named else [str(j) for j in range(len(names))]
        self.start = b"" if self.named else first_line
        # For each row of a block that the parser dropped, the number of rows that it kept before.
        self.dropped: list[int] = []
        # Some bad rows of a block, with the first one of each column: number and error.
        self.bad_rows: list[tuple[int, str]] = []
        self.kinds: dict[str, Kind] = {}  # of the features, once the first rows have been read
        try:
            super().__init__(source.name, self.names, settings)
        except ValueError as error:
            self._hint(error)
            others = [one for one in _DELIMITERS if one != self.delimiter and one.encode() in first_line]
            if others:
                error.add_note(f"Line 1 contains {others[0]!r}. Pass delimiter= if it separates fields.")
            raise

    def y(self) -> Labels | None:
        """The target: numbers if all labels are numbers, else text."""
        if self.target is None:
            return None
        texts = [text for column in self.labels for text in column.to_pylist()]
        n_missing = texts.count("")
        self.check_labelled(n_missing)
        if n_missing:
            labels = labels_of([text for text in texts if text], self.settings.decimal)
            return with_gaps(labels, np.array(texts, dtype=object) != "")
        return labels_of(texts, self.settings.decimal)

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
                self._hint(explained, self.name + ":1:")
                raise explained from error
            except ValueError as error:
                self._hint(error, self.name + ":1:")
                raise
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
        except UnicodeDecodeError:
            raise ValueError(f"{place}: bytes that are not UTF-8. {_RECODE}") from None
        except csv.Error as error:
            raise ValueError(f"{place}: expected names or numbers of columns ({error}).") from error
        if not fields:
            raise ValueError(f"{place}: expected the names of columns, found nothing.")
        return [field.strip() for field in fields]

    def _hint(self, error: ValueError, place: str = "") -> None:
        if place in str(error) and not self.named and self.settings.header == "auto":
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
        columns = None if self.kinds else self._first_columns(text)
        if columns is None:
            columns = self._columns(text, as_text=self.bad_lines.skips)
        return self._good_rows(columns) if self.bad_lines.skips else self._finite(self._loose(columns, block), block)

    def _first_columns(self, text: bytes) -> list[Column] | None:
        """Find what the features hold. They are read as text if they are not all numbers: None, read them again."""
        encoder = self.encoder
        if encoder is not None:
            self.forced |= {self.features[j] for j in encoder.columns.of_text if j < len(self.features)}
        self.kinds = {name: "text" if name in self.forced else "number" for name in self.features}
        as_text = self.bad_lines.skips
        try:
            columns = self._columns(text, as_text=as_text)
        except pyarrow("CSV").ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            columns, as_text = self._columns(text, as_text=True), True
        for name, column in zip(self.features, columns, strict=False):  # the target comes after them
            if as_text and name not in self.forced:
                self.kinds[name] = self._kind(column)
            if self.kinds[name] == "text":
                self.add_text(name, MISSING)
        return columns if as_text is self.bad_lines.skips else None

    def _kind(self, column: Column) -> Kind:
        kind = kind_of(column, skips=self.bad_lines.skips, decimal=self.settings.decimal)
        if kind == "text" and not self.named and self.settings.header == "auto" and len(column) > 1:
            rest = kind_of(column.slice(1), skips=self.bad_lines.skips, decimal=self.settings.decimal)
            return rest if rest == "text" else "loose number"  # the first line has a name
        return kind

    def _columns(self, text: bytes, *, as_text: bool) -> list[Column]:
        """The wanted columns of a block: the target and text as text, the others as numbers or as text."""
        columns: list[Column] = []
        for begin in range(0, len(self.wanted), _COLUMNS_AT_ONCE):
            columns += self._converted(text, self.wanted[begin : begin + _COLUMNS_AT_ONCE], as_text)
        return columns

    def _converted(self, text: bytes, wanted: list[str], as_text: bool) -> list[Column]:
        pa, arrow_csv = pyarrow("CSV"), pyarrow("CSV", "pyarrow.csv")
        skips = self.bad_lines.skips
        types = {
            name: pa.float64() if not as_text and self.kinds.get(name) == "number" else pa.string() for name in wanted
        }
        self.dropped, self.bad_rows = [], []
        # In one thread, or errors would not name the row.
        table = arrow_csv.read_csv(
            pa.BufferReader(arrow_buffer(text)),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=self.names),
            arrow_csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=self._drop if skips else None),
            arrow_csv.ConvertOptions(
                column_types=types, include_columns=wanted, null_values=MISSING, decimal_point=self.settings.decimal
            ),
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
            if name == self.target or name in self.text:
                continue
            rows = np.flatnonzero(self._overflows(column))
            if len(rows):
                value = float(column[int(rows[0])].as_py())
                what = "not a finite number" if np.isinf(value) else f"too large for {self.settings.dtype}"
                raise ValueError(f"{self.name}:{block.line(int(rows[0]))}: column {name!r} holds {value}, {what}.")
        return columns

    def _loose(self, columns: list[Column], block: LineBlock) -> list[Column]:
        """The columns, with booleans and numbers that were read as text as numbers."""
        for k, name in enumerate(self.features):
            kind = self.kinds[name]
            if kind not in ("boolean", "loose number"):
                continue
            numbers, bad = self._as_numbers(columns[k], kind)
            if bad.any():
                row = int(bad.argmax())
                value = str(columns[k][row].as_py())[:40]
                what = "a number" if kind == "loose number" else "True or False"
                raise ValueError(
                    f"{self.name}:{block.line(row)}: column {name!r} holds {value!r}, not {what}. {REMEDY}"
                )
            columns[k] = numbers
        return columns

    def _as_numbers(self, column: Column, kind: Kind) -> tuple[Column, NDArray[np.bool_]]:
        """A column of text as numbers, null where they are missing; and which rows hold something else."""
        pa, compute = pyarrow("CSV"), pyarrow("CSV", "pyarrow.compute")
        if kind == "boolean":
            numbers, bad = booleans(column)
            return pa.array(numbers), bad
        decimal = self.settings.decimal
        is_number = compute.match_substring_regex(column, number_pattern(decimal))
        trimmed = compute.utf8_trim_whitespace(column)
        digits = compute.replace_substring(compute.if_else(is_number, trimmed, None), decimal, ".")
        found = digits.cast(pa.float64())
        is_text = compute.invert(compute.or_(is_number, compute.is_in(trimmed, pa.array(MISSING))))
        return found, is_text.to_numpy(zero_copy_only=False)

    def _overflows(self, numbers: Column) -> NDArray[np.bool_]:
        """Which numbers are infinite in the number type of X."""
        with np.errstate(over="ignore"):
            return np.isinf(numbers.to_numpy(zero_copy_only=False).astype(self.settings.dtype, copy=False))

    def _good_rows(self, texts: list[Column]) -> list[Column]:
        """The rows that have a required label and features of the kinds of their columns, with numbers as numbers."""
        pa, compute = pyarrow("CSV"), pyarrow("CSV", "pyarrow.compute")
        good = np.ones(len(texts[0]), dtype=bool)
        columns: list[Column] = []
        for name, column in zip(self.wanted, texts, strict=True):
            if name == self.target or name in self.text:
                is_bad = compute.match_substring(column, _REPLACED)
                if name == self.target and self.settings.labels_required:
                    is_bad = compute.or_(is_bad, compute.equal(column, ""))
                bad = is_bad.to_numpy(zero_copy_only=False)
                columns.append(column)
            else:
                numbers, bad = self._as_numbers(column, self.kinds[name])
                bad = bad | self._overflows(numbers)
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
            return f"{place}: column {self.names[int(column.group(1))]!r} holds bytes that are not UTF-8. {_RECODE}"
        return f"{place}: {message[:200]}"


def _sniffed(line: bytes, default: str, decimal: str) -> str:
    """The default, or the most frequent of the usual ones if the first line has it not at all or in numbers only."""
    unquoted = re.sub(rb'"[^"]*"', b"", line)
    found = max(_DELIMITERS, key=lambda delimiter: unquoted.count(delimiter.encode()))
    is_absent = decimal == "," or b"," not in unquoted
    return found if default == "," and is_absent and found.encode() in unquoted else default


def _are_names(fields: list[str], settings: ReadSettings) -> bool:
    """Whether a first line has names: none of its fields is a number, or the user named one of its text fields."""
    texts = [field for field in fields if not re.match(number_pattern(settings.decimal), field)]
    asked_for = {settings.target, *(settings.columns or ())}
    return len(texts) == len(fields) or not asked_for.isdisjoint(texts)


def _read(default_delimiter: str, source: Source, settings: ReadSettings) -> Data:
    table = DelimitedTable(source, default_delimiter, settings)
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
            options=("target", "columns", "categorical", "header", "delimiter", "decimal"),
            write=partial(_write, _delimiter),
        )
    )
