"""Arrays in a safetensors file, with digests, read in pieces by several threads.

    8 bytes          length of the header
    header           JSON: name → dtype, shape, offsets of its bytes; "__metadata__": text by name
    the arrays       one after another, no gaps

The metadata contain a SHA-256 of the header (computed with zeros in its place) and a CRC-32 of every piece of an array:
whole rows of its first axis, about a megabyte. So several pieces can be read, checked and stored at once, while they
are in the cache. Digests detect damage, not forgery; a SHA-256 of the whole file took longer than the rest of a load.
Files are not mapped into memory, as a mapped file that shrinks ends the process. All readers of safetensors can open
them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from typing import BinaryIO, TypeAlias

import numpy as np

from ..array_types import Numbers

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

# Number types by their names in the format.
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

_LARGEST_HEADER = 100_000_000  # the limit of the format
_PIECE = 1 << 20
_NO_DIGEST = "0" * 64


class DamagedFileError(ValueError):
    """The content of a file does not fit its header, or is not that of a model."""


def damage(error: Exception) -> str:
    """What an error says about a damaged file, for a message."""
    text = str(error) if isinstance(error, DamagedFileError) else f"{type(error).__name__}: {error}"
    return text[:300]


def storable(dtype: np.dtype[np.generic]) -> bool:
    """Whether the format has a name for this number type."""
    return dtype.newbyteorder("<") in _NAMES


def write_tensors(file: BinaryIO, arrays: Mapping[str, Numbers], metadata: dict[str, str]) -> None:
    """Write the arrays, with `metadata` and checksums in the header."""
    # Wide numbers first, so that each array begins at a multiple of its item size.
    names = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    checks = {name: [zlib.crc32(piece.data) for piece in _contiguous(arrays[name])] for name in names}
    header, position = {}, 0
    for name in names:
        header[name] = _described(arrays[name], position)
        position += arrays[name].nbytes
    text = _header_text(header, checks, metadata)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        for piece in _contiguous(arrays[name]):
            file.write(piece.data)


class TensorWriter:
    """Writes arrays one after another, of which not all are known beforehand, to a file that can be rewound.

    The header comes first in the file and is written last: `room` are the bytes that are kept for it.
    """

    def __init__(self, file: BinaryIO, room: int) -> None:
        self.file = file
        self.room = -(-room // 8) * 8
        self.header: dict[str, object] = {}
        self.checks: dict[str, list[int]] = {}
        self.position = 0
        file.write(b" " * (8 + self.room))

    def add(self, name: str, array: Numbers) -> None:
        """Write an array."""
        self.checks[name] = []
        for piece in _contiguous(array):
            self.checks[name].append(zlib.crc32(piece.data))
            self.file.write(piece.data)
        self.header[name] = _described(array, self.position)
        self.position += array.nbytes

    def finish(self, metadata: dict[str, str]) -> None:
        """Write the header."""
        text = _header_text(self.header, self.checks, metadata, self.room)
        self.file.seek(0)
        self.file.write(len(text).to_bytes(8, "little") + text)


def header_room(metadata: dict[str, str], n_arrays: int, n_bytes: int) -> int:
    """Bytes that are enough for the header of so many arrays with names of at most 20 characters."""
    n_pieces = n_bytes // (_PIECE // 2) + n_arrays
    return 1024 + 2 * sum(map(len, metadata.values())) + 200 * n_arrays + 12 * n_pieces


@dataclass(frozen=True)
class _Entry:
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    offset: int  # in the file


class TensorFile:
    """An open file, by its path or its number. The header is read and checked immediately, arrays by `read`."""

    def __init__(self, path: str | os.PathLike[str] | int, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self.file = open(path, "rb", buffering=0)  # noqa: SIM115
        self.file.seek(0)  # a number is that of a file that was written before
        self.size = os.fstat(self.file.fileno()).st_size
        try:
            self.metadata, self.entries = self._read_header()
            self.checks = as_object(json.loads(self.metadata["crc32"]), "the list of checksums")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array, before it is read."""
        return self._entry(name).shape

    def read(self, name: str, into: Numbers | None = None, *, finite: bool = False) -> Numbers:
        """Read an array, to `into` if given; with `finite`, refuse NaN and infinity."""
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
            raise DamagedFileError(f"{name!r} does not have one checksum per piece.")

        def read(k: int) -> None:
            rows = slices[k]
            target = out[rows] if out.ndim else out.reshape(1)
            piece = target if target.flags.c_contiguous else np.empty(target.shape, target.dtype)
            self._fill(piece, entry.offset + rows.start * row_bytes)
            if zlib.crc32(piece.data) != checks[k]:
                raise DamagedFileError(f"{name!r} does not have the checksum in the header: the file is damaged.")
            if finite and not np.isfinite(piece).all():
                raise DamagedFileError(f"{name!r} has values that are not finite.")
            if piece is not target:
                target[...] = piece

        if self.n_threads > 1 and len(slices) > 4:
            with ThreadPoolExecutor(self.n_threads) as pool:
                list(pool.map(read, range(len(slices))))
        else:  # reading a few pieces takes less time than starting threads
            for k in range(len(slices)):
                read(k)
        return out

    def _entry(self, name: JSON) -> _Entry:
        if not isinstance(name, str) or name not in self.entries:
            raise DamagedFileError(f"there is no array {name!r:.50}.")
        return self.entries[name]

    def _fill(self, piece: Numbers, offset: int) -> None:
        room, done = piece.reshape(-1).view(np.uint8).data, 0
        while done < len(room):
            n = os.preadv(self.file.fileno(), [room[done:]], offset + done)
            if n == 0:
                raise DamagedFileError("the file ends before its arrays do.")
            done += n

    def _read_header(self) -> tuple[dict[str, str], dict[str, _Entry]]:
        size = self.size
        length = int.from_bytes(self.file.read(8), "little")
        if size < 8 or not 2 <= length <= min(size - 8, _LARGEST_HEADER):
            raise DamagedFileError(f"its {size:,} bytes do not begin with the length of a header.")
        text = self.file.read(length)
        header = as_object(json.loads(text), "the header")
        metadata = as_object(header.pop("__metadata__", {}), "the metadata")
        texts = {name: value for name, value in metadata.items() if isinstance(value, str)}
        claimed = texts.get("sha256", "")
        if len(claimed) != 64:
            raise DamagedFileError("no digest in the header: a safetensors file, but not a model of kernline.")
        if _sha256(text.replace(claimed.encode(), _NO_DIGEST.encode(), 1)) != claimed:
            raise DamagedFileError("the header does not have the SHA-256 that it contains: the file is damaged.")
        return texts, _entries(header, 8 + length, size)


def _described(array: Numbers, position: int) -> dict[str, object]:
    return {
        "dtype": _NAMES[array.dtype.newbyteorder("<")],
        "shape": list(array.shape),
        "data_offsets": [position, position + array.nbytes],
    }


def _header_text(
    entries: Mapping[str, object], checks: Mapping[str, list[int]], metadata: dict[str, str], room: int | None = None
) -> bytes:
    """The header, filled up with blanks to `room` bytes if given, and with its digest."""
    described = {"sha256": _NO_DIGEST, "crc32": json.dumps(checks, ensure_ascii=False)} | metadata
    header = {"__metadata__": described, **entries}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8 if room is None else room - len(text))
    if len(text) > (room or _LARGEST_HEADER) or len(text) > _LARGEST_HEADER:
        raise ValueError(f"names, labels and settings have {len(text):,} bytes; {_LARGEST_HEADER:,} are allowed.")
    return text.replace(_NO_DIGEST.encode(), _sha256(text).encode(), 1)


def _entries(header: dict[str, JSON], begin: int, size: int) -> dict[str, _Entry]:
    """The arrays, which must fill the rest of the file without gaps or overlaps."""
    found: list[tuple[list[int], str, np.dtype[np.generic], tuple[int, ...]]] = []
    for name, value in header.items():
        described = as_object(value, f"{name!r:.50}")
        dtype = DTYPES.get(str(described["dtype"]))
        shape, offsets = _sizes(described["shape"]), _sizes(described["data_offsets"])
        if dtype is None or shape is None or offsets is None or len(shape) > 8:
            raise DamagedFileError(f"{name!r:.50} has an invalid type, shape or position.")
        found.append((offsets, name, np.dtype(dtype), tuple(shape)))
    entries, position = {}, begin
    for offsets, name, number_type, sizes in sorted(found, key=itemgetter(0, 1)):
        n_bytes = math.prod(sizes) * number_type.itemsize
        if offsets != [position - begin, position - begin + n_bytes] or position + n_bytes > size:
            raise DamagedFileError(f"{name!r:.50} is not at the position that the shapes of the arrays require.")
        entries[name] = _Entry(number_type, sizes, position)
        position += n_bytes
    if position != size:
        raise DamagedFileError(f"the arrays end at byte {position}, and the file at {size}.")
    return entries


def _sizes(value: JSON) -> list[int] | None:
    """A list of sizes or offsets, or None if it is something else."""
    if not isinstance(value, list):
        return None
    sizes = [n for n in value if type(n) is int and n >= 0]
    return sizes if len(sizes) == len(value) else None


def as_object(value: JSON, what: str) -> dict[str, JSON]:
    """The value, if it is a JSON object."""
    if not isinstance(value, dict):
        raise DamagedFileError(f"{what} is not a JSON object.")
    return value


def _pieces(shape: tuple[int, ...], itemsize: int) -> list[slice]:
    """Rows of the first axis, about a megabyte at a time."""
    n_rows = shape[0] if shape else 1
    if not math.prod(shape):
        return []
    step = max(1, _PIECE // (math.prod(shape[1:]) * itemsize))
    return [slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step)]


def _contiguous(array: Numbers) -> Iterator[Numbers]:
    """The pieces of an array, one after another, in the memory layout and byte order of the file."""
    rows = array if array.ndim else array.reshape(1)
    little = array.dtype.newbyteorder("<")
    return (np.ascontiguousarray(rows[piece], dtype=little) for piece in _pieces(array.shape, array.dtype.itemsize))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
