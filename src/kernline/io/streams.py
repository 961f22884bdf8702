"""Open a file, standard input (`-`) or a stream for reading, and decompress it.

The first bytes of a file show how it is compressed, so pipes work too. Errors of a compressed stream that is cut off or
damaged name the file.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import queue
import re
import stat
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from ..memory import TooLargeError, available_bytes
from .atomic import errors_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

PathLike = str | os.PathLike[str] | BinaryIO


class Readable(Protocol):
    """A stream of bytes."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer with the next bytes and return their number: 0 at the end."""


class _Decompressor(Protocol):
    """What bz2.BZ2Decompressor and lzma.LZMADecompressor have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def _open_zstd(raw: io.BufferedIOBase) -> Readable:
    """By Python's own module (from 3.14 on), else by pyarrow."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return zstd.ZstdFile(raw)
    except ImportError:
        from .table import pyarrow

        pa = pyarrow("a .zst file")
        return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")


class _Members:
    """The content of the members of a bzip2 or xz file, up to its end, with nothing between or after them.

    BZ2File and LZMAFile stop without an error at bytes that do not begin a member: a flipped bit at the beginning of a
    member would cut off the data there.
    """

    _BLOCK = 1 << 16

    def __init__(
        self, raw: io.BufferedIOBase, new_member: Callable[[], _Decompressor], *, is_padded: bool = False
    ) -> None:
        self.raw, self.new_member, self.is_padded = raw, new_member, is_padded
        self.member = new_member()

    def readinto(self, buffer: memoryview, /) -> int:
        """Read at least one byte, unless the file ends."""
        content = b""
        while not content:
            if self.member.eof:
                compressed = self._next()
                if not compressed:
                    return 0
                self.member = self.new_member()
            elif self.member.needs_input:
                compressed = self.raw.read1(self._BLOCK)
                if not compressed:
                    raise EOFError("it ends before its end is marked")
            else:
                compressed = b""
            content = self.member.decompress(compressed, len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def _next(self) -> bytes:
        """The beginning of the next member, or b"" at the end. Members of xz may be followed by words of zeros."""
        rest: bytes = self.member.unused_data or self.raw.read1(self._BLOCK)
        if not self.is_padded:
            return rest
        n_zeros = 0
        while rest:
            begun = rest.lstrip(b"\0")
            n_zeros += len(rest) - len(begun)
            if begun:
                rest = begun
                break
            rest = self.raw.read1(self._BLOCK)
        if n_zeros % 4:
            raise EOFError(f"{n_zeros} zero bytes follow a member, which is not a multiple of four")
        return rest


@dataclass(frozen=True)
class _Compression:
    name: str
    magic: bytes
    open: Callable[[io.BufferedIOBase], Readable]


_COMPRESSIONS = {
    ".gz": _Compression("gzip", b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    ".bz2": _Compression("bzip2", b"BZh", lambda raw: _Members(raw, bz2.BZ2Decompressor)),
    ".xz": _Compression(
        "xz",
        b"\xfd7zXZ\x00",
        lambda raw: _Members(raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), is_padded=True),
    ),
    ".zst": _Compression("zstd", b"\x28\xb5\x2f\xfd", _open_zstd),
}
COMPRESSION_SUFFIXES = tuple(_COMPRESSIONS)


@dataclass(frozen=True)
class Source:
    """An open stream, decompressed.

    `name` is its name in messages, `size` the number of bytes, or 0 if it is not known. `path` is None for pipes and
    compressed files.
    """

    name: str
    stream: io.BufferedIOBase
    size: int = 0
    compressed: bool = False
    path: Path | None = None

    def start(self) -> bytes:
        """Some of the first bytes, which are read again later."""
        return self.stream.peek(1 << 16) if isinstance(self.stream, io.BufferedReader) else b""

    def seekable(self, beginning: bytes, what: str) -> io.BufferedIOBase:
        """The file on disk, or, for a pipe or a compressed file, its whole content in memory.

        The first bytes must match the pattern `beginning`, or nothing more is read: a few bytes may decompress to
        gigabytes. At most half of the available memory is filled.
        """
        start = self.stream.read(8)
        if not re.match(beginning, start, re.DOTALL):
            found = f"it begins with {start!r}" if start else "it is empty"
            raise ValueError(f"{self.name} is not {what}: {found}.")
        if self.path is not None:
            self.stream.seek(0)
            return self.stream
        limit = available_bytes() / 2
        content = io.BytesIO()
        content.write(start)
        while block := self.stream.read(1 << 20):
            if content.tell() + len(block) > limit:
                raise TooLargeError(
                    f"holds more than {limit / 2**30:.3g} GB, half of the available memory. "
                    + ("Decompress it to a file first." if self.compressed else "Save it to a file first.")
                )
            content.write(block)
        content.seek(0)
        return content


def first_bytes(path: str) -> bytes:
    """Some of the first bytes of a file, or of standard input, which can be read again; none of other pipes."""
    if path == "-":
        standard = getattr(sys.stdin, "buffer", None)
        start = standard.peek(1 << 16) if isinstance(standard, io.BufferedReader) else b""
        try:
            return _source("standard input", _Undetachable(io.BytesIO(start)), None).start()
        except ValueError:  # compressed, and damaged or of few bytes
            return b""
    if not os.path.isfile(path):
        return b""
    with open_source(path) as source:
        return source.start()


def format_suffix(name: str) -> str:
    """The suffix that shows the format, in lower case: ".csv" for "A.CSV.gz"."""
    path = Path(name)
    if path.suffix.lower() in _COMPRESSIONS:
        path = path.with_suffix("")
    return path.suffix.lower()


@contextmanager
def open_source(path: PathLike) -> Iterator[Source]:
    """Open for reading. A stream of the caller stays open afterwards."""
    if isinstance(path, str | os.PathLike) and os.fspath(path) != "-":
        with _NamedFile(path) as file:
            # A pipe or device cannot be opened a second time: what was read from it is lost.
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            yield _source(os.fspath(path), file, Path(path) if is_file else None)
    else:
        standard = getattr(sys.stdin, "buffer", None)  # None where it was closed before the program started
        stream = standard if isinstance(path, str | os.PathLike) else path
        if stream is None:
            raise OSError("standard input is closed. Name a file, or redirect data to it.")
        name = "standard input" if stream is standard else str(getattr(stream, "name", "stream"))
        yield _source(name, _Undetachable(stream), None)


def _source(name: str, raw: io.RawIOBase | io.FileIO, path: Path | None) -> Source:
    buffered = io.BufferedReader(raw, 1 << 16)
    start = buffered.peek(16)
    found = next((kind for kind in _COMPRESSIONS.values() if start.startswith(kind.magic)), None)
    if found is not None and found.name == "bzip2" and start[4:10] != b"1AY&SY" and start[4:10] != b"\x17rE8P\x90":
        found = None  # text that begins with "BZh"
    named = _COMPRESSIONS.get(Path(name).suffix.lower())
    if named is not None and found is not named:
        raise ValueError(
            f"{name} is not compressed by {named.name}, although its name says so. Rename it, or fetch it again."
        )
    if found is None:
        size = os.fstat(raw.fileno()).st_size if isinstance(raw, io.FileIO) else 0
        return Source(name, buffered, size, path=path)
    return Source(name, io.BufferedReader(_Decompressed(name, found, buffered), 1 << 16), compressed=True)


class _Undetachable(io.RawIOBase):
    """A stream of the caller, which is not closed together with its reader."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        room = memoryview(buffer)
        if hasattr(self.stream, "readinto"):
            return self.stream.readinto(room) or 0
        content = self.stream.read(len(room))
        room[: len(content)] = content
        return len(content)


class _NamedFile(io.FileIO):
    """A file whose errors name it, as those of `open` do. What is done with its content is not its error."""

    def readinto(self, buffer: Buffer, /) -> int | None:
        with errors_of(self.name):
            return super().readinto(buffer)

    def seek(self, place: int, whence: int = io.SEEK_SET, /) -> int:
        with errors_of(self.name):
            return super().seek(place, whence)

    def tell(self) -> int:
        with errors_of(self.name):
            return super().tell()

    def seekable(self) -> bool:
        """Only pipes are not; FileIO takes any error for that."""
        try:
            self.tell()
        except OSError as error:
            if error.errno != errno.ESPIPE:
                raise
            return False
        return True

    def close(self) -> None:
        with errors_of(self.name):
            super().close()


class _Decompressed(io.RawIOBase):
    """Decompressed bytes, with errors that name the file."""

    def __init__(self, name: str, kind: _Compression, raw: io.BufferedIOBase) -> None:
        self.name = name
        self.kind = kind
        self.stream = kind.open(raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        try:
            return self.stream.readinto(memoryview(buffer)) or 0
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # of the disk, not of its content
                raise
            reason = str(error).rstrip(".")
            raise ValueError(f"{self.name}: the {self.kind.name} stream is cut off or damaged ({reason}).") from error


class ReadAhead:
    """A stream read in a separate thread, a few blocks ahead."""

    _BLOCK, _N_BLOCKS = 1 << 20, 8

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self.stream = stream
        self.blocks: queue.Queue[bytes | BaseException] = queue.Queue(self._N_BLOCKS)
        self.rest = memoryview(b"")
        self.ended = False
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            while not self.stopped.is_set() and (block := self.stream.read(self._BLOCK)):
                self.blocks.put(block)
            self.blocks.put(b"")
        except BaseException as error:  # raised again by `readinto`
            self.blocks.put(error)

    def readinto(self, buffer: memoryview, /) -> int:
        """Read at least one byte, unless the stream ends."""
        if not self.rest and not self.ended:
            block = self.blocks.get()
            self.ended = isinstance(block, BaseException) or not block
            if isinstance(block, BaseException):
                raise block
            self.rest = memoryview(block)
        n = min(len(buffer), len(self.rest))
        buffer[:n] = self.rest[:n]
        self.rest = self.rest[n:]
        return n

    def close(self) -> None:
        """End the thread, which may be waiting for space in the queue."""
        self.stopped.set()
        while self.thread.is_alive():
            try:
                self.blocks.get(timeout=0.01)
            except queue.Empty:
                continue
        self.thread.join()


def fill(stream: Readable, room: memoryview) -> int:
    """Read until the room is full or the stream ends."""
    filled = 0
    while filled < len(room) and (n := stream.readinto(room[filled:])):
        filled += n
    return filled
