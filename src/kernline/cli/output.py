"""What a command says. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn

import typer

from .errors import explained


class Output:
    """The voice of one command: for people (`quiet`: results alone) or, with `json`, one object for machines."""

    def __init__(self, *, quiet: bool, json: bool) -> None:
        self.json = json
        self.quiet = quiet or json

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
        """Print what the command was called for."""
        text = json.dumps(_plain(record)) if self.json else "\n".join(lines)
        if text:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def fail(self, text: str, code: int) -> NoReturn:
        """Say what is wrong, and end."""
        if self.json:
            sys.stdout.write(json.dumps({"error": text, "exit_code": int(code)}) + "\n")
        sys.stderr.write(f"kernline: {text}\n")
        raise typer.Exit(int(code))

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


def check_writable(path: Path) -> None:
    """Refuse an output that cannot be written before hours go into it."""
    if path.is_dir():
        raise OSError(f"{path} is a folder; name a file in it.")
    if path.exists() and not path.is_file():
        return
    if not path.parent.is_dir():
        raise OSError(f"{path}: the folder {path.parent} does not exist.")
    if not os.access(path.parent, os.W_OK):
        raise OSError(f"{path}: no permission to write into {path.parent}.")


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
