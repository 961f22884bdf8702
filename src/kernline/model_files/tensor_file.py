"""Arrays in a safetensors file, with digests, read in threads a piece at a time.

    8 bytes          length of the header
    header           JSON: name → dtype, shape, offsets of its bytes; "__metadata__": text by name
    the arrays       one after another, no gaps

Metadata has a SHA-256 of the header itself (taken with zeros in its place), and the header a CRC-32 of every piece of
an array: whole rows of its first axis, about a megabyte. So pieces are read, checked and put into place side by side,
while they are in the cache. Both find damage; neither keeps anybody from making up a file, and a SHA-256 of everything
took longer than the rest of a load. Nothing is mapped: a file that shrinks under a mapping ends the process. Any reader
of safetensors can open these files.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

# Names the format has for the types of numbers.
DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
}
_NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}

_LARGEST_HEADER = 100_000_000  # the format's own bound
_PIECE = 1 << 20
_NO_DIGEST = "0" * 64


class DamagedFileError(ValueError):
    """What a file holds is not what its header says, or not what a model needs."""


def storable(dtype: np.dtype[Any]) -> bool:
    """Whether the format has a name for numbers of this type."""
    return dtype.newbyteorder("<") in _NAMES


def write_tensors(file: BinaryIO, arrays: dict[str, NDArray[Any]], metadata: dict[str, str]) -> None:
    """Write the arrays, with `metadata` and checksums in the header."""
    # Wide numbers first: then each begins at a multiple of its size.
    names = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    checks = {name: [zlib.crc32(piece.data) for piece in _contiguous(arrays[name])] for name in names}
    described = {"sha256": _NO_DIGEST, "crc32": json.dumps(checks, ensure_ascii=False)} | metadata
    header: dict[str, Any] = {"__metadata__": described}
    position = 0
    for name in names:
        array = arrays[name]
        offsets = [position, position + array.nbytes]
        header[name] = {
            "dtype": _NAMES[array.dtype.newbyteorder("<")],
            "shape": list(array.shape),
            "data_offsets": offsets,
        }
        position = offsets[1]
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _LARGEST_HEADER:
        raise ValueError(f"names, labels and settings take {len(text):,} bytes; {_LARGEST_HEADER:,} are allowed.")
    text = text.replace(_NO_DIGEST.encode(), _sha256(text).encode(), 1)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        for piece in _contiguous(arrays[name]):
            file.write(piece.data)


@dataclass(frozen=True)
class _Entry:
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int  # in the file


class TensorFile:
    """An open file. The header is read and checked at once, an array when it is asked for."""

    def __init__(self, path: str | os.PathLike[str], n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self.file = open(path, "rb", buffering=0)  # noqa: SIM115
        self.size = os.fstat(self.file.fileno()).st_size
        try:
            self.metadata, self.entries = self._read_header()
            self.checks = _object(json.loads(self.metadata["crc32"]), "the list of checksums")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array, before it is read."""
        return self._entry(name).shape

    def read(self, name: str, into: NDArray[Any] | None = None, *, finite: bool = False) -> NDArray[Any]:
        """The array, or `into` filled with it; `finite` refuses NaN and infinity."""
        entry = self._entry(name)
        out = np.empty(entry.shape, dtype=entry.dtype) if into is None else into
        if out.shape != entry.shape or out.dtype != entry.dtype:
            raise DamagedFileError(
                f"{name!r} is {entry.dtype} of shape {entry.shape}; {out.dtype} {out.shape} is expected."
            )
        slices = _pieces(entry.shape, entry.dtype.itemsize)
        row_bytes = math.prod(entry.shape[1:]) * entry.dtype.itemsize
        checks = self.checks.get(name)
        if not isinstance(checks, list) or len(checks) != len(slices):
            raise DamagedFileError(f"{name!r} has not the checksums that its pieces need.")

        def read(k: int) -> None:
            rows = slices[k]
            target = out[rows] if out.ndim else out.reshape(1)
            piece = target if target.flags.c_contiguous else np.empty(target.shape, target.dtype)
            self._fill(piece, entry.offset + rows.start * row_bytes)
            if zlib.crc32(piece.data) != checks[k]:
                raise DamagedFileError(
                    f"{name!r} does not have the checksum that the header says: the file was damaged."
                )
            if finite and not np.isfinite(piece).all():
                raise DamagedFileError(f"{name!r} holds values that are not finite.")
            if piece is not target:
                target[...] = piece

        if self.n_threads > 1 and len(slices) > 4:
            with ThreadPoolExecutor(self.n_threads) as pool:
                list(pool.map(read, range(len(slices))))
        else:  # a few pieces are read sooner than threads are made
            for k in range(len(slices)):
                read(k)
        return out

    def _entry(self, name: Any) -> _Entry:
        if not isinstance(name, str) or name not in self.entries:
            raise DamagedFileError(f"there is no array {name!r:.50}.")
        return self.entries[name]

    def _fill(self, piece: NDArray[Any], offset: int) -> None:
        room, done = piece.reshape(-1).view(np.uint8).data, 0
        while done < len(room):
            n = os.preadv(self.file.fileno(), [room[done:]], offset + done)
            if n == 0:
                raise DamagedFileError("the file ends before its arrays do.")
            done += n

    def _read_header(self) -> tuple[dict[str, Any], dict[str, _Entry]]:
        size = self.size
        length = int.from_bytes(self.file.read(8), "little")
        if size < 8 or not 2 <= length <= min(size - 8, _LARGEST_HEADER):
            raise DamagedFileError(f"{size} bytes, with a header of {length} bytes by its beginning: not a model file.")
        text = self.file.read(length)
        header = _object(json.loads(text), "the header")
        metadata = _object(header.pop("__metadata__", {}), "the metadata")
        claimed = metadata.get("sha256")
        if not isinstance(claimed, str) or len(claimed) != 64:
            raise DamagedFileError("no digest in the header: a safetensors file, but not a model of kernline.")
        if _sha256(text.replace(claimed.encode(), _NO_DIGEST.encode(), 1)) != claimed:
            raise DamagedFileError("the header does not have the SHA-256 it says: the file was damaged.")
        return metadata, _entries(header, 8 + length, size)


def _entries(header: dict[str, Any], begin: int, size: int) -> dict[str, _Entry]:
    """The arrays, which must fill the rest of the file without gaps or overlaps."""
    entries = {}
    position = begin
    for name, described in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, offsets = DTYPES.get(described["dtype"]), described["shape"], described["data_offsets"]
        if dtype is None or not all(type(n) is int and n >= 0 for n in [*shape, *offsets]) or len(shape) > 8:
            raise DamagedFileError(f"{name!r:.50}: neither type nor shape nor place of it can be right.")
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if offsets != [position - begin, position - begin + n_bytes] or position + n_bytes > size:
            raise DamagedFileError(f"{name!r:.50} does not lie where arrays of these shapes must lie.")
        entries[name] = _Entry(np.dtype(dtype), tuple(shape), position)
        position += n_bytes
    if position != size:
        raise DamagedFileError(f"the arrays end at byte {position}, and the file at {size}.")
    return entries


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DamagedFileError(f"{what} is no JSON object.")
    return value


def _pieces(shape: tuple[int, ...], itemsize: int) -> list[slice]:
    """Rows of the first axis, about a megabyte at a time."""
    n_rows = shape[0] if shape else 1
    if not math.prod(shape):
        return []
    step = max(1, _PIECE // (math.prod(shape[1:]) * itemsize))
    return [slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step)]


def _contiguous(array: NDArray[Any]) -> list[NDArray[Any]] | Any:
    """The pieces of an array in the order and the byte order of the file, made one at a time."""
    rows = array if array.ndim else array.reshape(1)
    little = array.dtype.newbyteorder("<")
    return (np.ascontiguousarray(rows[piece], dtype=little) for piece in _pieces(array.shape, array.dtype.itemsize))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
