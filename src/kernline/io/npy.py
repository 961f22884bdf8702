"""One array in NumPy's .npy format, read from a stream.

Nothing is mapped, as a file that shrinks under a mapping ends the process. Nothing is trusted: the size that the header
gives is compared with the bytes that are left and with the memory that is available, before any is allocated.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..memory import check_available

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 1 << 16
# Bytes read at a time: Ctrl-C is heard in between.
_STEP = 1 << 24
# Values in a block of rows.
_BLOCK_VALUES = 16_000_000


@dataclass(frozen=True)
class Header:
    """What is said of an array before its values."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """The size of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: Any) -> Header:
    """Read up to where the values begin."""
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
        raise ValueError("it holds Python objects, which are not read.")
    if any(n < 0 for n in shape):
        raise ValueError(f"an array of shape {shape}.")
    return Header(shape, is_fortran, dtype)


def read_values(stream: Any, header: Header, n_left: int | None) -> NDArray[Any]:
    """Read all values; `n_left` is the number of bytes in the stream, if known."""
    check_size(header, n_left)
    check_available(header.n_bytes, f"An array of shape {header.shape} and type {header.dtype}")
    flat = np.empty(math.prod(header.shape), dtype=header.dtype)
    _fill(stream, flat)
    return flat.reshape(header.shape, order="F" if header.is_fortran else "C")


def row_blocks(stream: Any, header: Header, n_left: int | None) -> Iterator[NDArray[Any]]:
    """Read a matrix some rows at a time; one that is stored by columns, at once."""
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
    """Refuse an array that cannot be complete."""
    if n_left is not None and header.n_bytes > n_left:
        raise ValueError(
            f"an array of shape {header.shape} and type {header.dtype} has {header.n_bytes:,} bytes, and {n_left:,} "
            "bytes follow."
        )


def _fill(stream: Any, flat: NDArray[Any]) -> None:
    if not flat.nbytes:
        return
    room, done = flat.view(np.uint8).data, 0
    while done < len(room):
        n = stream.readinto(room[done : done + _STEP])
        if not n:
            raise ValueError(f"the values of an array end after {done:,} of {len(room):,} bytes.")
        done += n
