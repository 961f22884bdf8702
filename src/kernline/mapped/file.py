""".kdata: encoded rows in a safetensors file, in chunks of about 16 MB, with what is needed to train on them.

    encoder~…        arrays of the encoder
    cells.k          codes of the rows of chunk k; columns.k and row_start.k for sparse rows
    y.k, weight.k    their labels (numbers of classes, or float64) and weights, if there are any

It has the checksums of model files (model_files/tensor_file.py): a SHA-256 of the header, which is checked when a file
is opened, and a CRC-32 of every megabyte, which is checked whenever that is read. So a file of a terabyte opens at
once, and no code is used that is not as it was written. Parts are read into memory, not mapped: a mapped file that
shrinks ends the process. No pickle, no code.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Indices, Labels, Numbers
from ..encoding import SCALES, EncodedData, Encoder
from ..io.atomic import errors_of
from ..kernels import AdditiveKernel
from ..model_files.checks import check_encoder, check_kernel
from ..model_files.files import version_needed
from ..model_files.tensor_file import DamagedFileError, TensorFile, TensorWriter, as_object, damage, header_room
from ..model_files.tree import TreeReader, TreeWriter

if TYPE_CHECKING:
    from ..model_files.tensor_file import JSON

FORMAT = (1, 0)
_SUFFIX = ".kdata"
CHUNK_BYTES = 1 << 24
_KEY = "kernline-data"
_NONSENSE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True)
class Description:
    """All that a file holds besides its rows."""

    encoder: Encoder
    kernel: AdditiveKernel
    scale: str
    n_rows: int
    chunk_rows: int
    names: Labels | None
    classes: Labels | None  # None: y are numbers, or there are none
    has_labels: bool
    has_weights: bool
    limits: Array
    booleans: NDArray[np.bool_]
    zero_based: bool | None = None
    target: str | int | None = None

    @property
    def n_chunks(self) -> int:
        """Chunks of rows."""
        return -(-self.n_rows // self.chunk_rows)


# Fields that are written as values of a tree.
_FIELDS = [name for name in Description.__dataclass_fields__ if name not in ("n_rows", "chunk_rows")]


class ChunkWriter:
    """Writes rows that come in blocks of any size, in chunks of the same number of rows."""

    def __init__(self, file: BinaryIO, described: Description, n_cells: int) -> None:
        from .. import __version__

        tree = TreeWriter()
        fields = {name: tree.value(getattr(described, name), name) for name in _FIELDS}
        counts = {"n_rows": described.n_rows, "chunk_rows": described.chunk_rows}
        content = {"format": f"{FORMAT[0]}.{FORMAT[1]}", "kernline": __version__, **counts, **fields}
        self.metadata = {_KEY: json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)}
        self.described = described
        n_bytes = 8 * n_cells + 24 * described.n_rows + sum(array.nbytes for array in tree.arrays.values())
        room = header_room(self.metadata, 5 * described.n_chunks + len(tree.arrays), n_bytes)
        self.writer = TensorWriter(file, room)
        for name, array in tree.arrays.items():
            self.writer.add(name, array)
        self.waiting: list[tuple[EncodedData, Numbers | None, Array | None]] = []
        self.n_waiting = 0
        self.n_chunks = 0

    def add(self, data: EncodedData, y: Numbers | None, weight: Array | None) -> None:
        """Write the chunks that are complete."""
        self.waiting.append((data, y, weight))
        self.n_waiting += data.n_rows
        step = self.described.chunk_rows
        if self.n_waiting < step:
            return
        data, y, weight = self._joined()
        for begin in range(0, data.n_rows - step + 1, step):
            self._write(*_some(data, y, weight, slice(begin, begin + step)))
        left = slice(data.n_rows // step * step, data.n_rows)
        self.waiting, self.n_waiting = [_some(data, y, weight, left)], left.stop - left.start

    def finish(self) -> None:
        """Write the last chunk, and the header."""
        if self.n_waiting:
            self._write(*self._joined())
        if self.n_chunks != self.described.n_chunks:
            raise ValueError("there are more or fewer rows than in the first pass.")
        self.writer.finish(self.metadata)

    def _joined(self) -> tuple[EncodedData, Numbers | None, Array | None]:
        data = EncodedData.joined([one[0] for one in self.waiting])
        y = None if self.waiting[0][1] is None else np.concatenate([one[1] for one in self.waiting])
        if not self.described.has_weights:
            return data, y, None
        weights = [np.ones(rows.n_rows) if weight is None else weight for rows, _, weight in self.waiting]
        return data, y, np.concatenate(weights)

    def _write(self, data: EncodedData, y: Numbers | None, weight: Array | None) -> None:
        k = self.n_chunks
        parts = {"cells": data.cells[: data.n_cells] if not data.is_dense else data.cells, "columns": data.columns}
        parts |= {"row_start": data.row_start, "y": y, "weight": weight}
        for name, array in parts.items():
            if array is not None:
                self.writer.add(f"{name}.{k}", array)
        self.n_chunks += 1


class ChunkFile:
    """An open .kdata file, whose chunks are read one by one."""

    def __init__(self, path: str | os.PathLike[str] | int, n_threads: int = 1) -> None:
        self.path = "the file of codes" if isinstance(path, int) else os.fspath(path)
        with _naming(self.path):
            self.file = TensorFile(path, n_threads)
            try:
                self.described, self.code_bits = self._description()
            except BaseException:
                self.file.close()
                raise

    def close(self) -> None:
        """Close the file."""
        with _naming(self.path):
            self.file.close()

    def _description(self) -> tuple[Description, int]:
        if _KEY not in self.file.metadata:
            kind = "a model, which kernline.load reads" if "kernline" in self.file.metadata else "something else"
            raise DamagedFileError(f"the file holds {kind}, not encoded rows.")
        content = as_object(json.loads(self.file.metadata[_KEY]), "the description of the data")
        _check_version(content)
        reader = TreeReader(self.file, lenient=True)
        fields: dict[str, Any] = {name: reader.value(content[name]) for name in _FIELDS}
        n_rows, chunk_rows = content["n_rows"], content["chunk_rows"]
        if type(n_rows) is not int or type(chunk_rows) is not int or not (n_rows > 0 and chunk_rows > 0):
            raise DamagedFileError("the numbers of rows are not positive integers.")
        described = Description(n_rows=n_rows, chunk_rows=chunk_rows, **fields)
        _check(described)
        self._check_chunks(described)
        encoder = described.encoder
        code_bits = 8
        if encoder.grid is not None and encoder.packed:
            code_bits = encoder.word_type[0]
        return described, code_bits

    def _check_chunks(self, described: Description) -> None:
        """Raise DamagedFileError unless the chunks have all rows, and labels and weights as described."""
        entries, step = self.file.entries, described.chunk_rows
        if sum(name.startswith("cells.") for name in entries) != described.n_chunks:
            raise DamagedFileError(f"there are not the chunks of {described.n_rows:,} rows.")
        kinds = [("y", "f" if described.classes is None else "u")] if described.has_labels else []
        kinds += [("weight", "f")] if described.has_weights else []
        for k in range(described.n_chunks):
            n_rows = min(step, described.n_rows - k * step)
            is_sparse = f"row_start.{k}" in entries
            found = self.file.shape(f"row_start.{k}" if is_sparse else f"cells.{k}")
            if found[:1] != (n_rows + is_sparse,):
                raise DamagedFileError(f"chunk {k} does not have {n_rows:,} rows.")
            for name, kind in kinds:
                if self.file.shape(f"{name}.{k}") != (n_rows,) or entries[f"{name}.{k}"].dtype.kind != kind:
                    raise DamagedFileError("the labels or weights of a chunk do not fit its rows.")

    def chunks(self, first: int, last: int) -> EncodedData:
        """The codes of these chunks and those between them."""
        encoder = self.described.encoder
        if last == first or f"row_start.{first}" in self.file.entries:
            return EncodedData.joined([self.chunk(k) for k in range(first, last + 1)])
        # Dense rows are read to where they belong.
        n_rows, place = sum(map(self._rows_of, range(first, last + 1))), 0
        cells = np.empty((n_rows, encoder.n_columns), dtype=encoder.cell_type)
        data = EncodedData(cells.shape, cells, encoder=encoder)
        with _naming(self.path):
            for k in range(first, last + 1):
                here = slice(place, place + self._rows_of(k))
                self.file.read(f"cells.{k}", cells[here], finite=encoder.grid is None)
                place = here.stop
            _check_codes(data)
        return data

    def chunk(self, k: int) -> EncodedData:
        """The codes of a chunk."""
        encoder, n_rows = self.described.encoder, self._rows_of(k)
        with _naming(self.path):
            cells = self.file.read(f"cells.{k}", finite=encoder.grid is None)
            row_start, columns = (
                self.file.read(f"{name}.{k}") if f"{name}.{k}" in self.file.entries else None
                for name in ("row_start", "columns")
            )
            data = EncodedData(
                (n_rows, encoder.n_columns), cells, row_start, columns, code_bits=self.code_bits, encoder=encoder
            )
            _check_codes(data)
        return data

    def n_cells(self, k: int) -> int:
        """How many cells a chunk has."""
        return math.prod(self.file.shape(f"cells.{k}"))

    def labels(self, k: int) -> Numbers:
        """The labels of a chunk, as stored."""
        with _naming(self.path):
            y = self.file.read(f"y.{k}", finite=self.described.classes is None)
            if self.described.classes is not None and y.max(initial=0) >= self.described.classes.size:
                raise DamagedFileError("a label is none of the classes.")
        return y

    def weight(self, k: int) -> Array:
        """The weights of a chunk."""
        with _naming(self.path):
            weight = self.file.read(f"weight.{k}", finite=True)
            if weight.dtype != np.float64 or not (weight > 0.0).all():
                raise DamagedFileError("the weights of a chunk are not positive.")
        return weight

    def _rows_of(self, k: int) -> int:
        step = self.described.chunk_rows
        return min(step, self.described.n_rows - k * step)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Report a damaged file as a ValueError with its name, which errors of the system get too."""
    try:
        with errors_of(path):
            yield
    except _UnknownVersionError as error:
        raise ValueError(f"{path}: {error}") from None
    except _NONSENSE as error:
        raise ValueError(
            f"{path}: not a {_SUFFIX} file of kernline, or a damaged one ({damage(error)}). Convert the data again."
        ) from error


class _UnknownVersionError(Exception):
    pass


def _check_version(content: dict[str, JSON]) -> None:
    version = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", str(content["format"]))
    if version is None:
        raise DamagedFileError(f"format {content['format']!r:.50} is not known.")
    if int(version[1]) != FORMAT[0]:
        raise _UnknownVersionError(
            f"encoded rows of format {version[0]}, written by kernline {content['kernline']!s:.20}; this one reads "
            f"{FORMAT[0]}.x. Update kernline{version_needed(content['kernline'])}, or convert the data again."
        )


def _check(described: Description) -> None:
    """Raise DamagedFileError unless the fields fit together."""
    encoder = described.encoder
    if not isinstance(encoder, Encoder):
        raise DamagedFileError("there is no encoder.")
    check_kernel(described.kernel)
    n_features = encoder.n_features
    check_encoder(encoder, n_features, encoder.n_columns)
    flags = (described.has_labels, described.has_weights)
    if described.scale not in SCALES or not all(type(flag) is bool for flag in flags):
        raise DamagedFileError("the scale, or what there is of labels and weights, is not known.")
    if described.names is not None and len(described.names) != n_features:
        raise DamagedFileError("there must be one name for each column.")
    classes = described.classes
    if classes is not None and not (classes.ndim == 1 and classes.size and bool((classes[1:] > classes[:-1]).all())):
        raise DamagedFileError("the classes must increase.")
    if described.limits.shape not in ((0, 2), (n_features, 2)) or described.booleans.shape not in ((0,), (n_features,)):
        raise DamagedFileError("the ranges of the columns have another shape.")


def _check_codes(data: EncodedData) -> None:
    """Refuse cells that the tables do not have: the core trusts them."""
    encoder = data.encoder
    assert encoder is not None
    grid = encoder.grid
    kind: type[np.generic] = encoder.cell_type if grid is None or data.row_start is None else encoder.word_type[1]
    shape = (data.n_rows, data.n_columns) if data.row_start is None else (data.cells.size,)
    fits = data.cells.dtype == kind and data.cells.shape == shape
    fits = fits and (data.columns is not None) == (grid is None and data.row_start is not None)
    if data.row_start is not None:
        start: Indices = data.row_start
        fits = fits and start.dtype == np.int64 and start.shape == (data.n_rows + 1,)
        fits = fits and start[0] == 0 and start[-1] == data.cells.size and bool((np.diff(start) >= 0).all())
    if not fits:
        raise DamagedFileError("the cells of a chunk do not fit its rows.")
    if data.columns is not None:
        columns = data.columns
        is_kind = columns.shape == data.cells.shape and columns.dtype.kind == "i"
        if not is_kind or columns.min(initial=0) < 0 or columns.max(initial=0) >= data.n_columns:
            raise DamagedFileError("the columns of a chunk are not those of the encoder.")
    elif grid is not None and data.row_start is not None:
        largest = int(data.cells.max(initial=0)) >> data.code_bits
        codes = data.cells & data.cells.dtype.type((1 << data.code_bits) - 1)
        if largest >= data.n_columns or int(codes.max(initial=0)) >= grid.values.size:
            raise DamagedFileError("a cell is none of the encoder.")
    elif grid is not None and int(data.cells.max(initial=0)) >= grid.values.size:
        raise DamagedFileError("a code is none of the encoder.")


def _some(
    data: EncodedData, y: Numbers | None, weight: Array | None, rows: slice
) -> tuple[EncodedData, Numbers | None, Array | None]:
    return data[rows], None if y is None else y[rows], None if weight is None else weight[rows]


def chunk_rows_of(encoder: Encoder, n_rows: int, n_cells: int, chunk_bytes: int) -> int:
    """Rows of a chunk of about this size, for rows with so many cells in all."""
    if not encoder.packed:
        row_bytes = float(encoder.n_columns * np.dtype(encoder.cell_type).itemsize)
    else:
        cell_bytes = 8 if encoder.grid is None else np.dtype(encoder.word_type[1]).itemsize
        row_bytes = n_cells / max(1, n_rows) * cell_bytes
    return max(1, int(chunk_bytes / max(1.0, row_bytes)))
