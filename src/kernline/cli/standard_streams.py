"""Standard input, output and error of a process: closed ones, full disks, and readers that went away."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO


class _NamedOutput(io.FileIO):
    """Standard output; an error says so, where Python's own names no file."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:  # with this name, EPIPE is still a BrokenPipeError
            raise OSError(error.errno, error.strerror, "standard output") from None


class _LossyOutput(io.FileIO):
    """Standard error; messages that cannot be written are dropped, as the work matters more than they do."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def prepare() -> None:
    """Make all three safe to use; exits if standard output is closed."""
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
    """Drop all further output, and what is still buffered: Python would fail on it at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _reserve_closed() -> None:
    """Open /dev/null in place of a closed descriptor, or the next file to be opened would get its number.

    Whatever is written to that number, such as a library's message, would end up in the file.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one


def _is_descriptor(stream: TextIO, number: int) -> bool:
    try:
        return stream.fileno() == number
    except (OSError, ValueError):
        return False


def _reopened(stream: TextIO, raw: io.FileIO) -> TextIO:
    """A stream like `stream`, through `raw`."""
    stream.flush()
    line_buffering = getattr(stream, "line_buffering", False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, line_buffering=line_buffering
    )
