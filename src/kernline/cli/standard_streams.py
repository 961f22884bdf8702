"""Standard input, output and error: closed streams, full disks and closed pipes."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _NamedOutput(io.FileIO):
    """Standard output whose errors name it as the file; Python's own do not."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:  # with EPIPE, this is still a BrokenPipeError
            raise OSError(error.errno, error.strerror, "standard output") from None


class _LossyOutput(io.FileIO):
    """Standard error. Messages that cannot be written are dropped, so that the work can go on."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def prepare() -> None:
    """Make the three streams safe to use. Exits if standard output is closed."""
    _reserve_closed()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (it stays open)
    elif _is_descriptor(sys.stderr, 2):
        sys.stderr = _reopened(sys.stderr, _LossyOutput(2, "w", closefd=False))
    if sys.stdout is None:
        sys.stderr.write("kernline: standard output is closed. Redirect it to a file, or to /dev/null.\n")
        sys.exit(1)
    if _is_descriptor(sys.stdout, 1):
        sys.stdout = _reopened(sys.stdout, _NamedOutput(1, "w", closefd=False))


def forget_stdout() -> None:
    """Discard all further output and the buffer, which Python would otherwise fail to flush at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _reserve_closed() -> None:
    """Open /dev/null in place of closed descriptors.

    Otherwise the next file to be opened would get the number, and messages of a library could end up in the file.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one


def _is_descriptor(stream: TextIO, number: int) -> bool:
    try:
        return stream.fileno() == number
    except (OSError, ValueError):
        return False


def _reopened(stream: TextIO, raw: io.FileIO) -> TextIO:
    """A stream like `stream` that writes to `raw`."""
    stream.flush()
    line_buffering = getattr(stream, "line_buffering", False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, line_buffering=line_buffering
    )
