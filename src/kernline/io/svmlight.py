"""svmlight, the format of LIBSVM: ``label [qid:number] index:value index:value … # comment``.

The core parses (native/host/svmlight.hpp). This file passes it the bytes in pieces, reports lines that cannot be read,
and writes.
"""

from __future__ import annotations

from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..array_types import Labels
from ..memory import check_memory
from ..sources import row_blocks
from .formats import Data, Format, LabelSets, ReadSettings, register_format
from .labels import number_labels, text_labels
from .rows import EncodedRows, PassedRows
from .streams import ReadAhead, Source, fill

if TYPE_CHECKING:
    from ..array_types import CSRMatrix
    from .streams import Readable

# Text handed to the core at a time: about 20 ms of one thread, after which Ctrl-C is handled.
_PIECE = 1 << 23
# A longer line is an error: a file that is not text at all should not be read into memory first.
_LONGEST_LINE = 1 << 26
# Memory to leave free during reading: the rows of a piece take several times its size.
_RESERVE = 1 << 28
# Values written at a time, which become Python's numbers.
_WRITTEN_VALUES = 1 << 18


def read_svmlight(source: Source, settings: ReadSettings) -> Data:
    """Read to the end; if there is an encoder, rows are encoded as they arrive."""
    return _Reading(source, settings).run()


class _Reading:
    def __init__(self, source: Source, settings: ReadSettings) -> None:
        kind = _core.SvmlightReader32 if settings.dtype == np.float32 else _core.SvmlightReader64
        zero_based = None if settings.zero_based == "auto" else bool(settings.zero_based)
        encoder = settings.encoder
        self.encoded: EncodedRows | PassedRows | None = None
        if encoder is not None:
            self.encoded = EncodedRows(encoder, settings.n_threads)
        elif settings.on_block is not None:
            self.encoded = PassedRows(settings.on_block, 0)
        self.n_features = encoder.n_features if encoder is not None else settings.n_features
        # Rows that are encoded as they arrive are few at a time.
        n_bytes = source.size if self.encoded is None else 0
        n_features = -1 if self.n_features is None else self.n_features
        self.reader = kind(zero_based, n_features, settings.multilabel, settings.bad_lines.skips, n_bytes)
        self.source, self.settings, self.bad_lines = source, settings, settings.bad_lines

    def run(self) -> Data:
        ahead = ReadAhead(self.source.stream) if self.settings.n_threads > 1 and self.source.compressed else None
        with closing(ahead) if ahead is not None else nullcontext():
            self._feed(ahead or self.source.stream)
        self.bad_lines.n_skipped += self.reader.n_bad
        X = self.encoded.result() if self.encoded is not None else self._matrix()
        qid = self.reader.take_qid() if self.reader.has_qid else None
        return Data(X, self._labels(), qid=qid, zero_based=self._zero_based)

    @property
    def _zero_based(self) -> bool:
        return self.settings.zero_based is True or self.reader.zero_line > 0

    def _feed(self, stream: Readable) -> None:
        padding = self.reader.padding
        buffer = np.empty(_PIECE + padding, dtype=np.uint8)
        kept, n_read, ended, begins = 0, 0, False, True
        while not ended:
            room = buffer.data[:-padding]
            filled = kept + fill(stream, room[kept:])
            ended = filled < len(room)
            if begins and bytes(room[:3]) == b"\xef\xbb\xbf":
                buffer[:3] = ord(" ")  # the byte order mark of UTF-8, which some editors write
            begins = False
            used = self.reader.feed(buffer, filled, ended, self.settings.n_threads)
            self._check()
            # The system grants more memory than it has: stop before it is used up, not when it is refused.
            n_read += used
            check_memory("A next piece of text", min(n_read, _RESERVE))
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

    def _pass_over(self, stream: Readable, buffer: NDArray[np.uint8]) -> int:
        """Report a line that is too long, and read to its end, which then is the start of the buffer."""
        line = self.reader.n_lines + 1
        self.bad_lines.report(f"{self.source.name}:{line}: line of more than {_LONGEST_LINE >> 20} MB")
        room = buffer.data[: -self.reader.padding]
        while filled := fill(stream, room):
            ends = np.flatnonzero(buffer[:filled] == ord("\n"))
            if ends.size:
                kept = filled - int(ends[0])
                buffer[:kept] = buffer[ends[0] : filled]
                return kept
        return 0

    def _check(self) -> None:
        line, column, message = self.reader.error
        if line and not self.bad_lines.first:  # the core counts the lines
            self.bad_lines.report(f"{self.source.name}:{line}: {message} (column {column})", n_lines=0)

    def _matrix(self) -> CSRMatrix:
        reader, n_features = self.reader, self.n_features
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
        # The parser accepts only increasing indices; SciPy would check again.
        X.has_sorted_indices = X.has_canonical_format = True
        return X

    def _labels(self) -> Labels | LabelSets:
        reader = self.reader
        flat: Labels
        if reader.numeric_labels:
            flat = number_labels(reader.take_labels(), whole=reader.whole_labels)
        else:
            flat = text_labels(reader.label_text.decode().split("\n")[:-1])
        if not self.settings.multilabel:
            return flat
        ends = np.cumsum(reader.take_label_count())
        return [tuple(sorted(part.tolist())) for part in np.split(flat, ends[:-1])] if ends.size else []


def write_svmlight(stream: BinaryIO, data: Data) -> None:
    """Write rows and their labels, or 0 if there are none."""
    X, y = data.matrix, data.y
    heads = ["0"] * X.shape[0] if y is None else [_label_text(label) for label in _as_list(y)]
    if data.qid is not None:
        heads = [f"{head} qid:{query}" for head, query in zip(heads, _as_list(data.qid), strict=True)]
    for rows in row_blocks(X, _WRITTEN_VALUES):
        block = sp.csr_array(X[rows])
        block.sort_indices()
        _check_finite(block, rows.start, data.feature_names)
        columns, values = (block.indices + 1).tolist(), block.data.tolist()
        lines = []
        for head, first, last in zip(heads[rows], block.indptr[:-1].tolist(), block.indptr[1:].tolist(), strict=True):
            pairs = zip(columns[first:last], values[first:last], strict=True)
            lines.append(" ".join([head, *(f"{j}:{value!r}" for j, value in pairs)]) + "\n")
            if lines[-1] == "\n":
                raise ValueError(
                    f"row {rows.start + len(lines)} has neither labels nor values; svmlight would lose it. Drop it."
                )
        stream.write("".join(lines).encode())


def _as_list(values: Labels | LabelSets) -> list[object]:
    return list(values) if isinstance(values, list) else np.asarray(values).tolist()


def _label_text(label: object) -> str:
    """A label, or several separated by commas."""
    texts = [str(part) for part in label] if isinstance(label, tuple) else [str(label)]
    if bad := [text for text in texts if not text or set(text) & set(" \t\r\n#:,")]:
        raise ValueError(
            f"the label {bad[0]!r} cannot be stored in a LIBSVM file: it is empty, or has a blank, ',' ':' or '#'."
        )
    return ",".join(texts)


def _check_finite(block: CSRMatrix, first_row: int, feature_names: list[str] | None) -> None:
    bad = np.flatnonzero(~np.isfinite(block.data))
    if bad.size:
        row, j = first_row + int(np.searchsorted(block.indptr, bad[0], side="right")), block.indices[bad[0]]
        column = repr(feature_names[j]) if feature_names is not None else j
        raise ValueError(
            f"row {row}, column {column} holds {block.data[bad[0]]}, which cannot be stored in a LIBSVM file. Fill in "
            "missing values first, or write another format."
        )


register_format(
    Format(
        "svmlight",
        read_svmlight,
        suffixes=(".svm", ".svmlight", ".libsvm"),
        aliases=("libsvm",),
        options=("n_features", "zero_based", "multilabel"),
        write=write_svmlight,
        stores=("qid", "multilabel"),
    )
)
