"""CSV and TSV by pyarrow: features are numbers, the target is any text. A first line with numbers in it is data."""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrow import REMEDY, Table, TableOptions, pyarrow
from .labels import NUMBER, labels_of
from .streams import Source

_BLOCK = 1 << 22
_LONGEST_LINE = 1 << 26


class DelimitedTable(Table):
    """A table in which all is text. `named`: whether the first line has the columns' names."""

    def __init__(self, source: Source, delimiter: str, options: TableOptions) -> None:
        self.delimiter, self.options = delimiter, options
        first_line = source.stream.readline(_LONGEST_LINE).removeprefix(b"\xef\xbb\xbf")
        try:
            names = next(csv.reader([first_line.decode()], delimiter=delimiter, strict=True), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{source.name}:1: expected names or numbers of columns ({error}).") from error
        if not names:
            raise ValueError(f"{source.name}:1: expected the names of columns, found nothing.")
        names = [name.strip() for name in names]
        self.named = _are_names(names, options) if options.header == "auto" else options.header
        self.names = names if self.named else [str(j) for j in range(len(names))]
        self.lines = _Lines(b"" if self.named else first_line, source.stream, n_before=int(self.named))
        self.n_parsed = 0
        self.n_before = 0  # rows before the current block, dropped ones too
        self.dropped: list[int] = []  # of each row that the parser left out, the rows it had kept before
        self.first_bad = 0  # its line
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
        """Columns of some rows at a time."""
        pa, arrow_csv = pyarrow("CSV"), pyarrow("CSV", "pyarrow.csv")
        skips = self.options.skip
        number = pa.string() if skips else pa.float64()
        types = {name: pa.string() if name == self.target else number for name in self.wanted}
        parse = arrow_csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=self._drop if skips else None)
        convert = arrow_csv.ConvertOptions(column_types=types, include_columns=self.wanted)
        for text in self._text_blocks(pa):
            self.n_before = self.n_parsed + len(self.dropped)
            # With several threads, errors do not name the row.
            read = arrow_csv.ReadOptions(use_threads=False, block_size=text.size, column_names=self.names)
            try:
                table = arrow_csv.read_csv(pa.BufferReader(text), read, parse, convert)
            except pa.ArrowInvalid as error:
                explained = ValueError(self._explained(str(error)))
                if f"{self.name}:1:" in str(explained):
                    self._hint(explained)
                raise explained from error
            for batch in table.to_batches():
                yield self._good_rows(batch) if skips else self._finite(batch)
                self.n_parsed += batch.num_rows

    def _text_blocks(self, pa: Any) -> Iterator[Any]:
        """Whole lines, in memory that Arrow allocated.

        Arrow reads its input in threads of its own, which may outlive the call. One that still needs the interpreter
        when the process exits, to read from a Python stream or to release a Python object, aborts it. So the stream is
        read here, and Arrow gets buffers that hold no Python object.
        """
        rest = b""
        while True:
            if len(rest) > _LONGEST_LINE:
                raise ValueError(f"{self.name}: a line is longer than {_LONGEST_LINE:,} bytes, the most allowed.")
            buffer = pa.allocate_buffer(max(_BLOCK, 2 * len(rest)))
            view = memoryview(buffer).cast("B")
            view[: len(rest)] = rest
            n = len(rest)
            while n < len(view) and (n_read := self.lines.readinto(view[n:])):
                n += n_read
            if n < len(view):  # the last line may have no end
                if n:
                    yield buffer.slice(0, n)
                return
            text = bytes(view)
            end = text.rfind(b"\n") + 1 or text.rfind(b"\r", 0, -1) + 1
            rest = text[end:]
            if end:
                yield buffer.slice(0, end)

    def _hint(self, error: ValueError) -> None:
        if not self.named and self.options.header == "auto":
            error.add_note(
                "Line 1 has numbers in it and was taken for data. Pass header=True (--header) if it has names."
            )

    def _line(self, row: int) -> int:
        """The line of a row of the current batch."""
        row += self.n_parsed
        return self.lines.line(row + bisect_right(self.dropped, row))

    def _skip(self, n_rows: int, line: int, error: str) -> None:
        """Count rows that are left out; the first is told."""
        self.n_skipped += n_rows
        if not self.first_bad or line < self.first_bad:
            self.first_bad, self.first_error = line, f"{self.name}:{line}: {error}"

    def _drop(self, row: Any) -> str:
        number = self.n_before + row.number - 1
        self.dropped.append(number - len(self.dropped))
        line = self.lines.line(number)
        self._skip(1, line, f"expected {row.expected_columns} columns, found {row.actual_columns}")
        return "skip"

    def _finite(self, batch: Any) -> list[Any]:
        """Columns, if none of their values is too large to be held."""
        for name, column in zip(self.wanted, batch.columns, strict=True):
            rows: Any = [] if name == self.target else np.flatnonzero(self._overflows(column))
            if len(rows):
                value = column[int(rows[0])].as_py()
                what = "not a finite number" if np.isinf(value) else f"too large for {self.options.dtype}"
                raise ValueError(f"{self.name}:{self._line(int(rows[0]))}: column {name!r} holds {value}, {what}.")
        return batch.columns

    def _overflows(self, numbers: Any) -> NDArray[np.bool_]:
        """Which numbers are infinite in the type that is wanted."""
        with np.errstate(over="ignore"):
            return np.isinf(numbers.to_numpy(zero_copy_only=False).astype(self.options.dtype, copy=False))

    def _good_rows(self, batch: Any) -> list[Any]:
        """Rows with a target, whose features are numbers, which they become, or missing."""
        pa, compute = pyarrow("CSV"), pyarrow("CSV", "pyarrow.compute")
        missing = pa.array(pyarrow("CSV", "pyarrow.csv").ConvertOptions().null_values)
        good = np.ones(batch.num_rows, dtype=bool)
        columns = []
        for name, column in zip(self.wanted, batch.columns, strict=True):
            if name == self.target:
                bad = compute.equal(column, "").to_numpy(zero_copy_only=False)
                columns.append(column)
            else:
                is_number = compute.match_substring_regex(column, NUMBER)
                trimmed = compute.utf8_trim_whitespace(column)
                numbers = compute.if_else(is_number, trimmed, None).cast(pa.float64())
                is_text = compute.invert(compute.or_(is_number, compute.is_in(column, missing)))
                bad = is_text.to_numpy(zero_copy_only=False) | self._overflows(numbers)
                columns.append(numbers)
            rows = np.flatnonzero(good & bad)
            if rows.size:
                text = column[int(rows[0])].as_py()
                self._skip(rows.size, self._line(int(rows[0])), f"column {name!r} holds {text[:40]!r}")
                good[rows] = False
        kept = pa.array(good)
        return [column.filter(kept) for column in columns]

    def _explained(self, message: str) -> str:
        """Arrow's message, with file, line and column in front."""
        row, column = re.search(r"Row #(\d+): ", message), re.search(r"In CSV column #(\d+): ", message)
        place = f"{self.name}:{self.lines.line(self.n_before + int(row.group(1)) - 1)}" if row else self.name
        count = re.search(r"Expected (\d+) columns, got (\d+)", message)
        if count:
            return f"{place}: expected {count.group(1)} columns, found {count.group(2)}"
        value = re.search(r"conversion error to double: invalid value '(.*)'", message, re.DOTALL)
        if value and column:
            name = self.names[int(column.group(1))]
            return f"{place}: column {name!r} holds {value.group(1)[:40]!r}, not a number. {REMEDY}"
        return f"{place}: {message[:200]}"


def _are_names(fields: list[str], options: TableOptions) -> bool:
    """Whether a first line has names: it has no number in it, or a text that was asked for by name."""
    texts = [field for field in fields if not re.match(NUMBER, field)]
    asked_for = {options.target, *(options.columns or ())}
    return len(texts) == len(fields) or not asked_for.isdisjoint(texts)


class _Lines(io.RawIOBase):
    """A stream, with bytes before it that were read already. Tells lines of rows, as Arrow passes over blank ones."""

    def __init__(self, start: bytes, stream: Any, n_before: int) -> None:
        self.start, self.stream = start, stream
        self.n_before = n_before
        self.n_lines = 0
        self.blank: list[int] = []  # of each blank line, the rows before it
        self.unfinished = b""  # the last bytes of a line whose end is still to come, two at most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = min(len(buffer), len(self.start))
        if n:
            buffer[:n] = self.start[:n]
            self.start = self.start[n:]
        else:
            n = self.stream.readinto(buffer)
        self._count(np.frombuffer(buffer, np.uint8, n))
        return n

    def line(self, row: int) -> int:
        """The line, from 1, of a row, from 0, that was read."""
        return row + 1 + self.n_before + bisect_right(self.blank, row)

    def _count(self, text: NDArray[np.uint8]) -> None:
        text = np.concatenate([np.frombuffer(self.unfinished, np.uint8), text]) if self.unfinished else text
        ends = np.flatnonzero(text == ord("\n"))
        lengths = np.diff(ends, prepend=-1) - 1
        blank = np.flatnonzero((lengths == 0) | ((lengths == 1) & (text[ends - 1] == ord("\r"))))
        self.blank += (self.n_lines + blank - len(self.blank) - np.arange(blank.size)).tolist()
        self.n_lines += ends.size
        self.unfinished = text[ends[-1] + 1 if ends.size else 0 :][-2:].tobytes()
