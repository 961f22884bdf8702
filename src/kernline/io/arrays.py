"""Files of NumPy and SciPy: .npy, .npz with X and possibly y, and sparse .npz."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

import numpy as np
import scipy.sparse as sp

from ..array_types import CSRMatrix, Indices, Labels, Matrix, Numbers, is_sparse
from ..memory import check_memory
from .damage import parsing
from .formats import Data, Format, ReadSettings, register_format
from .npy import read_header, read_values, row_blocks
from .streams import Source

# The arrays of a sparse matrix besides its data, by its format, as scipy.sparse.save_npz names them.
_SPARSE_PARTS = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}


class NpyFile:
    """A matrix of numbers in a .npy file whose header has been read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        with parsing(source.name):
            self.header = read_header(source.stream)
        _check_matrix(source.name, self.header.shape, self.header.dtype)

    @property
    def n_columns(self) -> int:
        """Number of columns of the matrix."""
        return self.header.shape[1]

    def values(self) -> Numbers:
        """The whole matrix."""
        with parsing(self.source.name):
            return read_values(self.source.stream, self.header, self._n_left())

    def blocks(self) -> Iterator[Numbers]:
        """Some rows at a time."""
        blocks = row_blocks(self.source.stream, self.header, self._n_left())
        while True:
            with parsing(self.source.name):
                block = next(blocks, None)
            if block is None:
                return
            yield block

    def _n_left(self) -> int | None:
        return self.source.size - self.source.stream.tell() if self.source.path is not None else None


class Archive:
    """The arrays of an open .npz file."""

    def __init__(self, name: str, file: zipfile.ZipFile) -> None:
        self.name, self.file = name, file
        self.members = {info.filename.removesuffix(".npy"): info for info in file.infolist()}

    def read(self, name: str) -> Numbers:
        """Read an array by its name."""
        with parsing(f"{self.name}: array {name!r}"):
            info = self.members[name]
            with cast(io.BufferedIOBase, self.file.open(info)) as stream:
                header = read_header(stream)
                array = read_values(stream, header, info.file_size - stream.tell())
                if stream.read(1):  # zipfile checks the checksum when it reads the end
                    raise ValueError("more bytes follow its values.")
        return array


@contextmanager
def open_npz(source: Source) -> Iterator[Archive]:
    """Open a .npz file. A compressed one, or one from a pipe, is read into memory."""
    whole = source.seekable(rb"PK(\x03\x04|\x05\x06)", "a .npz file of NumPy")
    with parsing(source.name):
        file = zipfile.ZipFile(whole)
    with file:
        yield Archive(source.name, file)


def read_npy(source: Source, settings: ReadSettings) -> Data:
    """Read X; there are no labels."""
    file = NpyFile(source)
    if settings.encoder is None:
        return Data(settings.matrix(source.name, file.values()), None)
    rows = settings.rows(source.name, file.n_columns)
    for block in file.blocks():
        rows.append(block)
    return Data(rows.result(), None)


def read_npz(source: Source, settings: ReadSettings) -> Data:
    """Read X and y."""
    X, y = _read_arrays(source, settings.target)
    return Data(settings.matrix(source.name, X), y)


def _read_arrays(source: Source, target: str | int | None) -> tuple[Matrix, Labels | None]:
    """X and y: the arrays of these names (or the only one, and `target`). X may be a file of scipy.sparse.save_npz."""
    with open_npz(source) as archive:
        names = list(archive.members)
        from_scipy = {"format", "shape", "data"} <= set(names)
        found = "X" if "X" in names else names[0] if len(names) == 1 else None
        if (found is None and not from_scipy) or (target is not None and target not in names):
            wanted = "X" if target is None or target in names else target
            raise ValueError(f"{source.name} has no array {wanted!r}. There are: {', '.join(names) or 'none'}.")
        label = str(target) if target else ("y" if "y" in names else None)
        X: Matrix = _read_sparse(archive) if from_scipy else archive.read(str(found))
        y = None if label is None else archive.read(label)
    if not from_scipy:
        _check_matrix(source.name, X.shape, X.dtype)
    if y is not None and (y.ndim != 1 or len(y) != X.shape[0]):
        raise ValueError(f"{source.name}: {label!r} has shape {y.shape}, where X has {X.shape[0]} rows.")
    return X, y


def _read_sparse(archive: Archive) -> CSRMatrix:
    """Read a matrix written by scipy.sparse.save_npz, and check it before anything is computed from its indices."""
    form, shape, data = (archive.read(name) for name in ("format", "shape", "data"))
    with parsing(archive.name):
        kind = form.item().decode() if form.dtype.kind == "S" else str(form.item())
        if shape.shape != (2,) or shape.dtype.kind not in "iu":
            raise ValueError(f"the shape of a sparse matrix has shape {shape.shape} and type {shape.dtype}.")
        n_rows, n_columns = shape.tolist()
        if kind not in _SPARSE_PARTS:
            raise ValueError(f"a sparse matrix of format {kind!r:.20}; supported are {', '.join(_SPARSE_PARTS)}.")
        if data.dtype.kind not in "biuf":
            raise ValueError(f"a sparse matrix of type {data.dtype}.")
    parts = [archive.read(name) for name in _SPARSE_PARTS[kind]]
    with parsing(archive.name):
        if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in parts):
            raise ValueError("the indices of a sparse matrix are not integers.")
        if "indptr" in _SPARSE_PARTS[kind] and not _are_bounds(parts[1].astype(np.int64), len(parts[0])):
            raise ValueError("the rows of a sparse matrix do not begin where the rows before them end.")
        check_memory(f"A sparse matrix of {n_rows:,} rows", 16.0 * n_rows)
        content = (data, tuple(parts)) if kind == "coo" else (data, *parts)
        X = getattr(sp, f"{kind}_array")(content, shape=(n_rows, n_columns))
        if kind in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
        X = sp.csr_array(X)
        X.sum_duplicates()
    return X


def _are_bounds(indptr: Indices, n: int) -> bool:
    """Whether these increase from 0 to at most n. SciPy does not check this if the last one is 0."""
    return bool(indptr.size and indptr[0] == 0 and (np.diff(indptr) >= 0).all() and indptr[-1] <= n)


def _check_matrix(name: str, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> None:
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise ValueError(f"{name}: expected a matrix of numbers, found shape {shape} of {dtype}.")


def write_npy(stream: BinaryIO, data: Data) -> None:
    """Write X as a dense array."""
    if data.y is not None:
        raise ValueError(".npy holds one array, and would lose the labels. Write .npz.")
    X = data.matrix
    np.save(stream, X.toarray() if is_sparse(X) else X, allow_pickle=False)


def write_npz(stream: BinaryIO, data: Data) -> None:
    """Write the arrays X and y, or a file that scipy.sparse.load_npz reads too, which ignores y."""
    X = data.matrix
    arrays: dict[str, Any] = {"X": X}
    if is_sparse(X):
        arrays = {"format": b"csr", "_is_array": True}
        arrays |= {"indptr": X.indptr, "indices": X.indices, "data": X.data, "shape": X.shape}
    if data.y is not None:
        y = np.asarray(data.y)
        arrays["y"] = y.astype(str) if y.dtype == object else y
    np.savez_compressed(stream, **arrays)


register_format(Format("npy", read_npy, suffixes=(".npy",), write=write_npy))
register_format(Format("npz", read_npz, suffixes=(".npz",), options=("target",), write=write_npz))
