"""One array in NumPy's .npy format, read from a stream.

Files are not mapped into memory, as a mapped file that shrinks ends the process. The header is not trusted: the size
that it gives is compared with the number of bytes left and with the available memory before anything is allocated.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..array_types import Numbers
from ..memory import check_memory

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 1 << 16
# Bytes read at a time; Ctrl-C is handled in between.
_STEP = 1 << 24
# Values in a block of rows.
_BLOCK_VALUES = 16_000_000


@dataclass(frozen=True)
class Header:
    """The type and shape of an array."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[np.generic]

    @property
    def n_bytes(self) -> int:
        """The size of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: io.BufferedIOBase) -> Header:
    """Read the header, up to the first value."""
    start = stream.read(8)
    if start[:6] != _MAGIC or len(start) < 8:
        raise ValueError(f"not an array in NumPy's .npy format, as it begins with {start[:6]!r}.")
    length_bytes = stream.read(2 if start[6] == 1 else 4)
    length = int.from_bytes(length_bytes, "little")
    if start[6] not in (1, 2, 3) or length > _LONGEST_HEADER:
        raise ValueError(f"an array of version {start[6]} with a header of {length:,} bytes.")
    text = io.BytesIO(length_bytes + stream.read(length))
    parse = np.lib.format.read_array_header_1_0 if start[6] == 1 else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = parse(text)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not supported.")
    if any(n < 0 for n in shape):
        raise ValueError(f"an array of shape {shape}.")
    return Header(shape, is_fortran, dtype)


def read_values(stream: io.BufferedIOBase, header: Header, n_left: int | None) -> Numbers:
    """Read all values; `n_left` is the number of bytes in the stream, if known."""
    check_size(header, n_left)
    check_memory(f"An array of shape {header.shape} and type {header.dtype}", header.n_bytes)
    flat = np.empty(math.prod(header.shape), dtype=header.dtype)
    _fill(stream, flat)
    return flat.reshape(header.shape, order="F" if header.is_fortran else "C")


def row_blocks(stream: io.BufferedIOBase, header: Header, n_left: int | None) -> Iterator[Numbers]:
    """Read a matrix some rows at a time, or at once if it is stored by columns."""
    if header.is_fortran:
        yield read_values(stream, header, n_left)
        return
    check_size(header, n_left)
    n_rows, n_columns = header.shape
    step = max(1, _BLOCK_VALUES // max(1, n_columns))
    for begin in range(0, n_rows, step):
        block = np.empty((min(step, n_rows - begin), n_columns), dtype=header.dtype)
        _fill(stream, block.reshape(-1))
        yield block


def check_size(header: Header, n_left: int | None) -> None:
    """Refuse an array that is larger than the rest of the file."""
    if n_left is not None and header.n_bytes > n_left:
        raise ValueError(
            f"an array of shape {header.shape} and type {header.dtype} has {header.n_bytes:,} bytes, and {n_left:,} "
            "bytes follow."
        )


def _fill(stream: io.BufferedIOBase, flat: Numbers) -> None:
    if not flat.nbytes:
        return
    room, done = flat.view(np.uint8).data, 0
    while done < len(room):
        n = stream.readinto(room[done : done + _STEP])
        if not n:
            raise ValueError(f"the values of an array end after {done:,} of {len(room):,} bytes.")
        done += n
