"""What a command says. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import typer

from .errors import explained, forget_stdout


@dataclass
class Output:
    """Where a command writes: for people (`quiet`: results only) or, with `json`, one object for programs."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Results and errors only.")] = False
    json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False
    _stdout_is_taken: bool = field(default=False, init=False)
    _begun: float = field(default_factory=time.perf_counter, init=False)

    def __post_init__(self) -> None:
        self.quiet = self.quiet or self.json

    @property
    def seconds(self) -> float:
        """Seconds since the command began."""
        return time.perf_counter() - self._begun

    @property
    def live(self) -> bool:
        """Whether somebody watches: a bar can be drawn."""
        return not self.quiet and sys.stderr.isatty()

    def note(self, text: str) -> None:
        """Tell what happens, to those who want to know."""
        if not self.quiet:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def warn(self, text: str) -> None:
        """Tell what the user should know even if quiet."""
        sys.stderr.write(f"kernline: warning: {text}\n")

    def result(self, record: Mapping[str, Any], lines: Sequence[str]) -> None:
        """Print the result of the command."""
        text = json.dumps(_plain(record)) if self.json else "\n".join(lines)
        if text and self._stdout_is_taken:
            sys.stderr.write(text + "\n")
        elif text:
            with self.stdout() as stream:
                stream.write(_encodable(text, stream) + "\n")

    def fail(self, text: str, code: int) -> NoReturn:
        """Say what is wrong, and end."""
        if self.json and not self._stdout_is_taken:
            sys.stdout.write(json.dumps({"error": text, "exit_code": int(code)}) + "\n")
        sys.stderr.write(f"kernline: {text}\n")
        raise typer.Exit(int(code))

    def claim(self, path: Path) -> None:
        """Refuse an output that cannot be written, before hours go into it.

        Where it is standard output itself (/dev/stdout), results go to standard error: the file holds nothing else.
        """
        from ..io.atomic import check_writable, open_descriptor

        check_writable(path)
        self._stdout_is_taken = open_descriptor(path) == 1

    @contextmanager
    def stdout(self) -> Iterator[TextIO]:
        """Standard output, to be written to at once; errors name it."""
        try:
            yield sys.stdout
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:  # a full disk: what is left in the buffer cannot be written either
            forget_stdout()
            error.filename = "standard output"
            raise

    @contextmanager
    def working(self) -> Iterator[None]:
        """Run a command: its errors become messages, its warnings lines."""
        with warnings.catch_warnings(), explained(self.fail):
            warnings.showwarning = lambda message, *_: self.warn(str(message))
            # Columns of a file are matched by name where there are names, before the estimator sees them.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            yield

    def status(self, text: str) -> Any:
        """A spinner while something without steps is done; a line where nobody watches."""
        if not self.live:
            self.note(text)
            return nullcontext()
        from rich.console import Console

        return Console(stderr=True).status(text)


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Columns side by side: the first to the left, the others to the right."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _encodable(text: str, stream: TextIO) -> str:
    """The text, with escapes for what the stream's encoding lacks, such as bytes of a file's name."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _plain(value: Any) -> Any:
    """NumPy's scalars and arrays as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
