"""Bytes to read: a file, standard input (`-`) or an open stream, decompressed on the way.

The first bytes of a file show how it is compressed, so pipes work too. A stream that is cut off
or damaged is an error with the file's name.
"""

from __future__ import annotations

import bz2
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
from typing import Any, BinaryIO

from ..memory import TooLargeError, available_bytes

PathLike = str | os.PathLike[str] | BinaryIO


def _open_zstd(raw: Any) -> Any:
    """By Python itself where it can (from 3.14 on), else by pyarrow."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return zstd.ZstdFile(raw)
    except ImportError:
        from .arrow import pyarrow

        pa = pyarrow("a .zst file")
        return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")


class _Members:
    """What members of bzip2 or xz hold, one after another to the end, with nothing else between or after them.

    BZ2File and LZMAFile take whatever is no member for the end: a flipped bit where a member begins would cut the data
    there, without a word.
    """

    _BLOCK = 1 << 16

    def __init__(self, raw: Any, new_member: Callable[[], Any], *, is_padded: bool = False) -> None:
        self.raw, self.new_member, self.is_padded = raw, new_member, is_padded
        self.member = new_member()

    def readinto(self, buffer: Any) -> int:
        """Some bytes, none only at the end."""
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
        """How the next member begins; nothing if there is none. Between those of xz there may be words of zeros."""
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
            raise EOFError(f"{n_zeros} zeros follow a member, and only multiples of four may")
        return rest


@dataclass(frozen=True)
class _Compression:
    name: str
    magic: bytes
    open: Callable[[Any], Any]


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


@dataclass(frozen=True)
class Source:
    """An open stream with the name that messages call it by, and the bytes to come (0: not known)."""

    name: str
    stream: Any  # buffered
    size: int = 0
    compressed: bool = False
    path: Path | None = None  # where it lies, if it is a file, and not compressed

    def readahead(self) -> Any:
        """Decompress in a thread of its own, while another is busy with what came before."""
        return ReadAhead(self.stream) if self.compressed else self.stream

    def seekable(self, beginning: bytes, what: str) -> Any:
        """A file of all bytes: the one on disk, or one in memory of what a pipe or a decompressor gives.

        Its first bytes must match the pattern `beginning`, or nothing more is read: a few bytes may decompress to
        gigabytes. Whatever they hold, no more than half of the memory available is filled.
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
                    f"holds more than {limit / 2**30:.3g} GB, half of the memory available. "
                    + ("Decompress it to a file first." if self.compressed else "Save it to a file first.")
                )
            content.write(block)
        content.seek(0)
        return content


def format_suffix(name: str) -> str:
    """The suffix that tells the format, in lower case: ".csv" of "A.CSV.gz"."""
    path = Path(name)
    if path.suffix.lower() in _COMPRESSIONS:
        path = path.with_suffix("")
    return path.suffix.lower()


@contextmanager
def open_source(path: PathLike) -> Iterator[Source]:
    """Open for reading; what was open before stays open."""
    if isinstance(path, str | os.PathLike) and os.fspath(path) != "-":
        with open(path, "rb", buffering=0) as file:
            # A pipe or device that is opened again does not return what was read from it.
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            yield _source(os.fspath(path), file, Path(path) if is_file else None)
    else:
        standard = getattr(sys.stdin, "buffer", None)  # None where it was closed before the program started
        stream: Any = standard if isinstance(path, str | os.PathLike) else path
        if stream is None:
            raise OSError("standard input is closed. Name a file, or send data into it.")
        name = "standard input" if stream is standard else str(getattr(stream, "name", "stream"))
        yield _source(name, _Undetachable(stream), None)


def _source(name: str, raw: io.RawIOBase | io.FileIO, path: Path | None) -> Source:
    buffered = io.BufferedReader(raw, 1 << 16)
    start = buffered.peek(16)
    found = next((kind for kind in _COMPRESSIONS.values() if start.startswith(kind.magic)), None)
    if found is not None and found.name == "bzip2" and start[4:10] != b"1AY&SY" and start[4:10] != b"\x17rE8P\x90":
        found = None  # text that begins so
    named = _COMPRESSIONS.get(Path(name).suffix.lower())
    if named is not None and found is not named:
        raise ValueError(f"{name} is not compressed by {named.name}, as its name says. Rename it, or fetch it again.")
    if found is None:
        size = os.fstat(raw.fileno()).st_size if isinstance(raw, io.FileIO) else 0
        return Source(name, buffered, size, path=path)
    return Source(name, io.BufferedReader(_Decompressed(name, found, buffered), 1 << 16), compressed=True)


class _Undetachable(io.RawIOBase):
    """A stream of the caller's, which is not closed with what reads from it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if hasattr(self.stream, "readinto"):
            return self.stream.readinto(buffer) or 0
        content = self.stream.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


class _Decompressed(io.RawIOBase):
    """Decompressed bytes, with errors that name the file."""

    def __init__(self, name: str, kind: _Compression, raw: Any) -> None:
        self.name = name
        self.kind = kind
        self.stream = kind.open(raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return self.stream.readinto(buffer) or 0
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            reason = str(error).rstrip(".")
            raise ValueError(f"{self.name}: the {self.kind.name} stream is cut off or damaged ({reason}).") from error


class ReadAhead:
    """A stream read by a thread of its own, a few blocks ahead."""

    _BLOCK, _N_BLOCKS = 1 << 20, 8

    def __init__(self, stream: Any) -> None:
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
        except BaseException as error:  # raised again where it is waited for
            self.blocks.put(error)

    def readinto(self, buffer: memoryview) -> int:
        """Some bytes, none only at the end."""
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
        """End the thread, which may be waiting for room."""
        self.stopped.set()
        while self.thread.is_alive():
            try:
                self.blocks.get(timeout=0.01)
            except queue.Empty:
                continue
        self.thread.join()
