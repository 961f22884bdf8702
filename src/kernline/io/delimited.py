"""CSV and TSV by pyarrow: features are numbers, the target is any text. A first line with numbers in it is data."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..memory import check_available
from .arrow import REMEDY, Table, TableOptions, arrow_buffer, pyarrow
from .labels import NUMBER, labels_of
from .lines import LineBlock, line_blocks, open_quotes
from .streams import Source

_LONGEST_HEADER = 1 << 26
# pyarrow takes about 10 KB for each column it converts at a time, however few the rows.
_COLUMNS_AT_ONCE = 10_000
# Its name, its values in a block and what the parser takes for it.
_COLUMN_BYTES = 4_000.0
_REPLACED = "\ufffd"


class DelimitedTable(Table):
    """A table in which all is text. `named`: whether the first line has the columns' names."""

    def __init__(self, source: Source, delimiter: str, options: TableOptions) -> None:
        self.source, self.delimiter, self.options = source, delimiter, options
        first_line = source.stream.readline(_LONGEST_HEADER).removeprefix(b"\xef\xbb\xbf")
        names = self._fields(first_line)
        self.named = _are_names(names, options) if options.header == "auto" else options.header
        self.names = names if self.named else [str(j) for j in range(len(names))]
        self.start = b"" if self.named else first_line
        self.dropped: list[int] = []  # of each row of a block that the parser left out, the rows it had kept before
        self.bad_rows: list[tuple[int, str]] = []  # some of a block, by number, with the first
        try:
            super().__init__(source.name, self.names, options)
        except ValueError as error:
            self._hint(error)
            raise

    def y(self) -> NDArray[Any] | None:
        """The target: numbers if all are, else text."""
        if self.target is None:
            return None
        texts = [text for column in self.labels for text in column.to_pylist()]
        if n_missing := texts.count(""):
            raise ValueError(f"{self.name}: the target column {self.target!r} lacks {n_missing} of its values.")
        return labels_of(texts)

    def batches(self) -> Iterator[Sequence[Any]]:
        """Columns of some rows at a time.

        Each block of whole lines is parsed on its own: nothing of pyarrow's reads ahead, in a thread or else, and the
        line of a row is found in its block.
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
            if self.bad_rows and not self.first_error:
                row, message = min(self.bad_rows, key=itemgetter(0))  # the first column of several, as min is stable
                self.first_error = f"{self.name}:{block.line(row)}: {message}"
            yield columns

    def _fields(self, line: bytes) -> list[str]:
        """The fields of the first line, as text."""
        place = f"{self.source.name}:1"
        if len(line) == _LONGEST_HEADER:
            raise ValueError(f"{place}: line of more than {_LONGEST_HEADER >> 20} MB")
        if line.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in line:
            raise ValueError(f"{place}: expected names or numbers of columns in UTF-8, found UTF-16 or no text at all.")
        if b"\r" in line.rstrip(b"\r\n"):
            raise ValueError(f"{place}: a line ends in \\r alone. Convert line ends to \\n first.")
        n_columns = line.count(self.delimiter.encode()) + 1
        check_available(_COLUMN_BYTES * n_columns, f"Reading {n_columns:,} columns of text", "Use an svmlight file.")
        try:
            fields = next(csv.reader([line.decode()], delimiter=self.delimiter, strict=True), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{place}: expected names or numbers of columns ({error}).") from error
        if not fields:
            raise ValueError(f"{place}: expected the names of columns, found nothing.")
        return [field.strip() for field in fields]

    def _hint(self, error: ValueError) -> None:
        if not self.named and self.options.header == "auto":
            error.add_note(
                "Line 1 has numbers in it and was taken for data. Pass header=True (--header) if it has names."
            )

    def _closed(self, block: LineBlock) -> LineBlock:
        """The block, without lines in which a quote is left open."""
        bad = open_quotes(block.text, self.delimiter.encode())
        if not bad:
            return block
        message = f"{self.name}:{block.line_at(bad[0].start)}: a quoted field is not closed on its line"
        if not self.options.skip:
            raise ValueError(f"{message}. Remove the quote; line breaks in fields are not supported.")
        self.n_skipped += len(bad)
        self.first_error = self.first_error or message
        text = bytearray(block.text)
        for line in reversed(bad):
            del text[line]
        return replace(block, text=bytes(text))

    def _parsed(self, block: LineBlock) -> list[Any]:
        """The columns of a block that are wanted."""
        # Where rows are skipped, bytes that are no UTF-8 become _REPLACED, which makes a row a bad one.
        text = block.text.decode(errors="replace").encode() if self.options.skip else block.text
        columns: list[Any] = []
        for begin in range(0, len(self.wanted), _COLUMNS_AT_ONCE):
            columns += self._converted(text, self.wanted[begin : begin + _COLUMNS_AT_ONCE])
        return self._good_rows(columns) if self.options.skip else self._finite(columns, block)

    def _converted(self, text: bytes, wanted: list[str]) -> list[Any]:
        """Some columns of a block: text, and numbers if rows with others are not to be skipped."""
        pa, arrow_csv = pyarrow("CSV"), pyarrow("CSV", "pyarrow.csv")
        skips = self.options.skip
        number = pa.string() if skips else pa.float64()
        types = {name: pa.string() if name == self.target else number for name in wanted}
        self.dropped, self.bad_rows = [], []
        # In one thread, or errors would not tell the row.
        table = arrow_csv.read_csv(
            pa.BufferReader(arrow_buffer(text)),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=self.names),
            arrow_csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=self._drop if skips else None),
            arrow_csv.ConvertOptions(column_types=types, include_columns=wanted),
        )
        return [column.combine_chunks() for column in table.columns]

    def _drop(self, row: Any) -> str:
        """Leave out a row that has too few or too many fields."""
        if not self.dropped:
            message = f"expected {row.expected_columns} columns, found {row.actual_columns}"
            self.bad_rows.append((row.number - 1, message))
        self.dropped.append(row.number - 1 - len(self.dropped))
        return "skip"

    def _finite(self, columns: list[Any], block: LineBlock) -> list[Any]:
        """Columns, if none of their values is too large to be held."""
        for name, column in zip(self.wanted, columns, strict=True):
            rows: Any = [] if name == self.target else np.flatnonzero(self._overflows(column))
            if len(rows):
                value = column[int(rows[0])].as_py()
                what = "not a finite number" if np.isinf(value) else f"too large for {self.options.dtype}"
                raise ValueError(f"{self.name}:{block.line(int(rows[0]))}: column {name!r} holds {value}, {what}.")
        return columns

    def _overflows(self, numbers: Any) -> NDArray[np.bool_]:
        """Which numbers are infinite in the type that is wanted."""
        with np.errstate(over="ignore"):
            return np.isinf(numbers.to_numpy(zero_copy_only=False).astype(self.options.dtype, copy=False))

    def _good_rows(self, texts: list[Any]) -> list[Any]:
        """Rows with a target, whose features are numbers, which they become, or missing."""
        pa, compute = pyarrow("CSV"), pyarrow("CSV", "pyarrow.compute")
        missing = pa.array(pyarrow("CSV", "pyarrow.csv").ConvertOptions().null_values)
        good = np.ones(len(texts[0]), dtype=bool)
        columns = []
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
                message = f"column {name!r} holds {column[row].as_py()[:40]!r}"
                self.bad_rows.append((row + bisect_right(self.dropped, row), message))
            good &= ~bad
        self.n_skipped += len(self.dropped) + int(np.count_nonzero(~good))
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
            return f"{place}: column {self.names[int(column.group(1))]!r} holds bytes that are no UTF-8."
        return f"{place}: {message[:200]}"


def _are_names(fields: list[str], options: TableOptions) -> bool:
    """Whether a first line has names: it has no number in it, or a text that was asked for by name."""
    texts = [field for field in fields if not re.match(NUMBER, field)]
    asked_for = {options.target, *(options.columns or ())}
    return len(texts) == len(fields) or not asked_for.isdisjoint(texts)
