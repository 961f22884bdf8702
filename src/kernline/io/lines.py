"""Delimited text in blocks of whole lines, and the lines in which a quoted field is not closed.

RFC 4180 allows line breaks in quoted fields. In a table of numbers, an open quote is nearly always a stray one, and all
rows up to the next quote would become part of one field. So a field that is not closed on its line is an error here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import io

_BLOCK = 1 << 22
_LONGEST_LINE = 1 << 26


@dataclass(frozen=True)
class LineBlock:
    """Whole lines, the first of which is line `first` of the file."""

    text: bytes
    first: int

    def line(self, row: int) -> int:
        """The line of a row, counted from 0. Blank lines are not rows."""
        begin = next(islice(re.finditer(rb"[^\r\n]+", self.text), row, None)).start()
        return self.line_at(begin)

    def line_at(self, place: int) -> int:
        """The line of the byte at a position."""
        return self.first + self.text.count(b"\n", 0, place)


def line_blocks(name: str, stream: io.BufferedIOBase, start: bytes, first: int) -> Iterator[LineBlock]:
    """Blocks of `start`, followed by the stream. `first` is the number of the first line."""
    rest, ended = start, False
    while not ended:
        more = stream.read(_BLOCK)
        ended = not more
        text = rest + more
        end = len(text) if ended else text.rfind(b"\n") + 1
        rest = text[end:]
        if end:
            block = LineBlock(text[:end], first)
            first = block.line_at(end)
            yield block
        if len(rest) > _LONGEST_LINE:
            raise ValueError(f"{name}:{first}: line of more than {_LONGEST_LINE >> 20} MB")


def open_quotes(text: bytes, delimiter: bytes) -> list[slice]:
    """The lines in which a quoted field is not closed, without their line ends."""
    if b'"' not in text:
        return []
    closed = _closed_line(delimiter)
    return [line for line in _doubtful_lines(text, delimiter) if not closed.fullmatch(text, line.start, line.stop)]


def _closed_line(delimiter: bytes) -> re.Pattern[bytes]:
    """A line as the parser reads it: a quote at the beginning of a field opens it; elsewhere it is a character."""
    other = rb"[^%s]" % re.escape(delimiter)
    field = rb'(?:"(?:[^"]|"")*+"%s*+|(?!")%s*+)' % (other, other)
    return re.compile(rb"%s(?:%s%s)*+" % (field, re.escape(delimiter), field), re.DOTALL)


def _doubtful_lines(text: bytes, delimiter: bytes) -> list[slice]:
    """Lines whose quotes do more than open a field, close it or escape a quote; all other lines are closed."""
    content = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(content == ord('"'))
    ends = np.flatnonzero((content == ord("\n")) | (content == ord("\r")))
    lines, begins, counts = np.unique(np.searchsorted(ends, quotes), return_index=True, return_counts=True)
    is_opening = (np.arange(quotes.size) - np.repeat(begins, counts)) % 2 == 0
    before = np.where(quotes > 0, content[quotes - 1], ord("\n"))
    misplaced = is_opening & ~np.isin(before, np.frombuffer(delimiter + b'"\r\n', np.uint8))
    doubtful = (counts % 2 == 1) | np.logical_or.reduceat(misplaced, begins)
    edges = np.concatenate([[-1], ends, [len(text)]])
    return [slice(int(edges[line]) + 1, int(edges[line + 1])) for line in lines[doubtful]]
