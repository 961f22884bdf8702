"""svmlight, the format of LIBSVM: ``label [qid:number] index:value index:value … # comment``.

The core parses (native/host/svmlight.hpp); here bytes are brought to it in pieces, and lines that cannot be read are
reported.
"""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..memory import check_available
from .labels import number_labels, text_labels
from .rows import EncodedRows
from .streams import Source

# Text handed to the core at a time: some 20 ms of one thread, after which Ctrl-C is heard.
_PIECE = 1 << 23
# A longer line is an error: a file that is not text at all should not be held in memory first.
_LONGEST_LINE = 1 << 26
# Memory to be left while reading goes on: rows of a piece take several times its size.
_RESERVE = 1 << 28


@dataclass(frozen=True)
class SvmlightOptions:
    """Options of `read` for svmlight."""

    n_features: int | None
    zero_based: bool | Literal["auto"]
    multilabel: bool
    skip: bool
    dtype: Any


@dataclass(frozen=True)
class SvmlightData:
    """What a file holds. X is None when its rows went to an encoder."""

    X: sp.csr_array | None
    y: Any
    qid: NDArray[np.int64] | None
    n_skipped: int
    first_error: str
    zero_based: bool


def read_svmlight(
    source: Source, options: SvmlightOptions, encoded: EncodedRows | None, n_threads: int
) -> SvmlightData:
    """Read to the end; rows go to `encoded` as they come, if it is given."""
    return _Reading(source, options, encoded, n_threads).run()


class _Reading:
    def __init__(self, source: Source, options: SvmlightOptions, encoded: EncodedRows | None, n_threads: int) -> None:
        kind: Any = _core.SvmlightReader32 if options.dtype == np.float32 else _core.SvmlightReader64
        zero_based = None if options.zero_based == "auto" else bool(options.zero_based)
        n_features = -1 if options.n_features is None else options.n_features
        # Rows that are encoded at once are few at a time.
        n_bytes = source.size if encoded is None else 0
        self.reader = kind(zero_based, n_features, options.multilabel, options.skip, n_bytes)
        self.source, self.options, self.encoded, self.n_threads = source, options, encoded, n_threads
        self.n_too_long = 0
        self.first_error = ""

    def run(self) -> SvmlightData:
        stream: Any = self.source.readahead() if self.n_threads > 1 else self.source.stream
        with closing(stream) if stream is not self.source.stream else nullcontext():
            self._feed(stream)
        X = None if self.encoded is not None else self._matrix()
        qid = self.reader.take_qid() if self.reader.has_qid else None
        n_skipped = self.reader.n_bad + self.n_too_long
        return SvmlightData(X, self._labels(), qid, n_skipped, self.first_error, self._zero_based)

    @property
    def _zero_based(self) -> bool:
        return self.options.zero_based is True or self.reader.zero_line > 0

    def _feed(self, stream: Any) -> None:
        padding = self.reader.padding
        buffer = np.empty(_PIECE + padding, dtype=np.uint8)
        kept, n_read, ended, begins = 0, 0, False, True
        while not ended:
            room = buffer.data[:-padding]
            filled = kept + _fill(stream, room[kept:])
            ended = filled < len(room)
            if begins and bytes(room[:3]) == b"\xef\xbb\xbf":
                buffer[:3] = ord(" ")  # the byte order mark of UTF-8, which some editors write
            begins = False
            used = self.reader.feed(buffer, filled, ended, self.n_threads)
            self._check()
            # The system lends more than it has: stop before it is used up, not when it is refused.
            n_read += used
            check_available(min(n_read, _RESERVE), "A next piece of text")
            if self.encoded is not None:
                self.reader.settle_base()
                self.encoded.append(self._matrix())
            kept = filled - used
            if used == 0 and not ended:
                if len(room) < _LONGEST_LINE:
                    buffer = np.concatenate([buffer[:filled], np.empty(filled + padding, dtype=np.uint8)])
                else:
                    kept = self._pass_over(stream, buffer)
            else:
                buffer[:kept] = buffer[used:filled]

    def _pass_over(self, stream: Any, buffer: NDArray[np.uint8]) -> int:
        """Report a line without end; what follows it is left at the start of the buffer, its own end first."""
        self._report(f"{self.source.name}:{self.reader.n_lines + 1}: line of more than {_LONGEST_LINE >> 20} MB")
        self.n_too_long += 1
        room = buffer.data[: -self.reader.padding]
        while filled := _fill(stream, room):
            ends = np.flatnonzero(buffer[:filled] == ord("\n"))
            if ends.size:
                kept = filled - int(ends[0])
                buffer[:kept] = buffer[ends[0] : filled]
                return kept
        return 0

    def _check(self) -> None:
        line, column, message = self.reader.error
        if line and not self.first_error:
            self._report(f"{self.source.name}:{line}: {message} (column {column})")

    def _report(self, error: str) -> None:
        if not self.options.skip:
            raise ValueError(error)
        self.first_error = self.first_error or error

    def _matrix(self) -> sp.csr_array:
        reader, n_features = self.reader, self.options.n_features
        row_start, columns, values = reader.take_entries()
        found = reader.largest_index + int(self._zero_based)
        if n_features is not None and found > n_features:
            raise ValueError(
                f"{self.source.name}: index {reader.largest_index} where n_features={n_features} allows up to "
                f"{n_features - 1}, as indices begin at 0 (line {reader.zero_line})."
            )
        if columns.dtype == np.int32 and values.size < 1 << 31:
            row_start = row_start.astype(np.int32)  # or SciPy would widen the columns
        shape = (row_start.size - 1, max(found, 0) if n_features is None else n_features)
        X = sp.csr_array((values, columns, row_start), shape=shape, copy=False)
        # The parser takes increasing indices only; SciPy would look for itself.
        X.has_sorted_indices = X.has_canonical_format = True
        return X

    def _labels(self) -> Any:
        reader = self.reader
        flat: NDArray[Any]
        if reader.numeric_labels:
            flat = number_labels(reader.take_labels(), whole=reader.whole_labels)
        else:
            flat = text_labels(reader.label_text.decode().split("\n")[:-1])
        if not self.options.multilabel:
            return flat
        ends = np.cumsum(reader.take_label_count())
        return [tuple(sorted(part.tolist())) for part in np.split(flat, ends[:-1])] if ends.size else []


def _fill(stream: Any, room: memoryview) -> int:
    """Read until the room is full or the stream ends."""
    filled = 0
    while filled < len(room) and (n := stream.readinto(room[filled:])):
        filled += n
    return filled
