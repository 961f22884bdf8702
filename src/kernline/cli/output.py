"""Output of a command. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import re
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, NoReturn, TextIO

import typer

from .errors import as_options, explained, forget_stdout


@dataclass
class Output:
    """Output of one command: text (with `quiet`, results only) or, with `json`, one JSON object."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only results and errors.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print the result as a JSON object.")] = False
    _stdout_is_taken: bool = field(default=False, init=False)
    _begun: float = field(default_factory=time.perf_counter, init=False)

    def __post_init__(self) -> None:
        self.quiet = self.quiet or self.json

    @property
    def seconds(self) -> float:
        """Seconds since the command started."""
        return time.perf_counter() - self._begun

    @property
    def live(self) -> bool:
        """Whether progress bars can be shown: standard error is a terminal."""
        return not self.quiet and sys.stderr.isatty()

    def note(self, text: str) -> None:
        """Print a message, unless quiet."""
        if not self.quiet:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def warn(self, text: str) -> None:
        """Print a warning, even if quiet."""
        sys.stderr.write(f"kernline: warning: {text}\n")

    def result(self, record: Mapping[str, object], lines: Sequence[str]) -> None:
        """Print the result of the command."""
        text = json.dumps(_plain(record)) if self.json else "\n".join(lines)
        if text and self._stdout_is_taken:
            sys.stderr.write(text + "\n")
        elif text:
            with self.stdout() as stream:
                stream.write(encodable(text, stream) + "\n")

    def fail(self, text: str, code: int) -> NoReturn:
        """Print an error message and exit."""
        if self.json and not self._stdout_is_taken:
            sys.stdout.write(json.dumps({"error": text, "exit_code": int(code)}) + "\n")
        lines = (printable(line) for line in text.split("\n"))
        sys.stderr.write(encodable("kernline: " + "\n".join(lines), sys.stderr) + "\n")
        raise typer.Exit(int(code))

    def claim(self, path: Path) -> None:
        """Raise an error if the output cannot be written, before any work is done.

        If it is standard output itself (/dev/stdout), results go to standard error, so that they do not mix.
        """
        from ..io.atomic import check_writable, open_descriptor

        check_writable(path)
        self._stdout_is_taken = open_descriptor(path) == 1

    def take_stdout(self) -> None:
        """Keep standard output for data: results go to standard error."""
        self._stdout_is_taken = True

    @contextmanager
    def stdout(self) -> Iterator[TextIO]:
        """Standard output, flushed at the end; errors name it."""
        try:
            yield sys.stdout
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:  # such as a full disk: the rest of the buffer cannot be written either
            forget_stdout()
            error.filename = "standard output"
            raise

    @contextmanager
    def working(self) -> Iterator[None]:
        """Run a command, printing its errors and warnings as one line each."""
        with warnings.catch_warnings(), explained(self.fail):
            warnings.showwarning = lambda message, *_: self.warn(as_options(str(message)))
            # Named columns of a file are matched before the estimator sees them.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            yield

    def status(self, text: str) -> AbstractContextManager[object]:
        """A context with a spinner on a terminal; elsewhere, print a line."""
        if not self.live:
            self.note(text)
            return nullcontext()
        from rich.console import Console

        return Console(stderr=True).status(text)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Lines of a table: numbers aligned right, text left."""
    cells = [[printable(str(cell)) for cell in row] for row in [header, *rows]]
    for k in range(len(header)):
        width = max(len(row[k]) for row in cells)
        is_text = k == 0 or not any(re.match(r"[+-]?\d", row[k]) for row in cells)
        for row in cells:
            row[k] = row[k].ljust(width) if is_text else row[k].rjust(width)
    return ["  ".join(row).rstrip() for row in cells]


def printable(text: str) -> str:
    """The text without control characters, which a terminal would obey: names in files can hold anything."""
    return "".join(char if char.isprintable() else "?" for char in text)


def encodable(text: str, stream: TextIO) -> str:
    """The text, with escapes for characters that the stream cannot encode, such as bytes of a file name."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _plain(value: object) -> object:
    """A value that JSON can represent; NumPy arrays become lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
