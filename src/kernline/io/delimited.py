"""CSV and TSV by pyarrow: features are numbers, the target is any text. A first line of numbers is data, not names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrow import REMEDY, Table, TableOptions, pyarrow
from .labels import labels_of
from .streams import Source

_BLOCK = 1 << 22
_LONGEST_HEADER = 1 << 26
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


class DelimitedTable(Table):
    """A table in which all is text. `named`: whether the first line has the columns' names."""

    def __init__(self, source: Source, delimiter: str, options: TableOptions) -> None:
        self.stream, self.delimiter, self.skips = source.stream, delimiter, options.skip
        self.first_line = source.stream.readline(_LONGEST_HEADER).removeprefix(b"\xef\xbb\xbf")
        try:
            names = next(csv.reader([self.first_line.decode()], delimiter=delimiter, strict=True), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{source.name}:1: expected names or numbers of columns ({error}).") from error
        if not names:
            raise ValueError(f"{source.name}:1: expected the names of columns, found nothing.")
        self.named = not all(re.match(_NUMBER, name) for name in names)
        self.names = [name.strip() for name in names] if self.named else [str(j) for j in range(len(names))]
        super().__init__(source.name, self.names, options)

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
        number = pa.string() if self.skips else pa.float64()
        types = {name: pa.string() if name == self.target else number for name in self.wanted}
        stream = io.BufferedReader(_After(b"" if self.named else self.first_line, self.stream), _BLOCK)
        try:
            # In one thread, or errors would not tell the line.
            yield from map(
                self._good_rows if self.skips else lambda batch: batch.columns,
                arrow_csv.open_csv(
                    pa.PythonFile(stream, mode="r"),
                    arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=self.names),
                    arrow_csv.ParseOptions(
                        delimiter=self.delimiter, invalid_row_handler=self._skip_row if self.skips else None
                    ),
                    arrow_csv.ConvertOptions(column_types=types, include_columns=self.wanted),
                ),
            )
        except pa.ArrowInvalid as error:
            if str(error) != "Empty CSV file":  # nothing but a header
                raise ValueError(self._explained(str(error))) from error

    def _skip_row(self, row: Any) -> str:
        place = self.name if row.number is None else f"{self.name}:{row.number + self.named}"
        self.skip(1, f"{place}: expected {row.expected_columns} columns, found {row.actual_columns}")
        return "skip"

    def _good_rows(self, batch: Any) -> list[Any]:
        """Rows with a target, whose features are numbers, which they become, or missing."""
        pa, compute = pyarrow("CSV"), pyarrow("CSV", "pyarrow.compute")
        missing = pa.array(pyarrow("CSV", "pyarrow.csv").ConvertOptions().null_values)
        good = np.ones(batch.num_rows, dtype=bool)
        for name, column in zip(self.wanted, batch.columns, strict=True):
            if name == self.target:
                bad = compute.equal(column, "")
            else:
                is_number = compute.match_substring_regex(column, _NUMBER)
                bad = compute.invert(compute.or_(is_number, compute.is_in(column, missing)))
            rows = np.flatnonzero(good & bad.to_numpy(zero_copy_only=False))
            if rows.size:
                text = column[int(rows[0])].as_py()
                self.skip(rows.size, f"{self.name}: column {name!r} holds {text[:40]!r}")
                good[rows] = False
        kept = batch.filter(pa.array(good))
        return [
            column
            if name == self.target
            else compute.if_else(compute.is_in(column, missing), None, compute.utf8_trim_whitespace(column)).cast(
                pa.float64()
            )
            for name, column in zip(self.wanted, kept.columns, strict=True)
        ]

    def _explained(self, message: str) -> str:
        """Arrow's message, with file, line and column in front."""
        row, column = re.search(r"Row #(\d+): ", message), re.search(r"In CSV column #(\d+): ", message)
        place = f"{self.name}:{int(row.group(1)) + self.named}" if row else self.name
        count = re.search(r"Expected (\d+) columns, got (\d+)", message)
        if count:
            return f"{place}: expected {count.group(1)} columns, found {count.group(2)}"
        value = re.search(r"conversion error to double: invalid value '(.*)'", message, re.DOTALL)
        if value and column:
            name = self.names[int(column.group(1))]
            return f"{place}: column {name!r} holds {value.group(1)[:40]!r}, not a number. {REMEDY}"
        return f"{place}: {message[:200]}"


class _After(io.RawIOBase):
    """A stream, with bytes before it that were read already."""

    def __init__(self, start: bytes, stream: Any) -> None:
        self.start = start
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.start:
            return self.stream.readinto(buffer)
        n = min(len(buffer), len(self.start))
        buffer[:n] = self.start[:n]
        self.start = self.start[n:]
        return n
