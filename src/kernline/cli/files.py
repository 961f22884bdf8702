"""What a file that is named on the command line is, and whether it may be read or overwritten."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import UsageError


def check_not_input(path: Path, *inputs: str) -> None:
    """Raise an error if the output would overwrite a file that the command reads."""
    for given in inputs:
        if path.is_file() and Path(given).exists() and path.samefile(given):
            raise UsageError(f"OUTPUT would overwrite {given}. Choose another file.")


def check_output(path: Path, *inputs: str) -> None:
    """Raise an error if the output would overwrite a file that the command reads, or a model."""
    check_not_input(path, *inputs)
    if is_model(str(path)):
        raise UsageError(f"OUTPUT would overwrite {path}, a model file. Choose another file.")


def check_exists(source: str) -> None:
    """Raise an error if a file does not exist, before any other check."""
    if source != "-" and not source.startswith("@") and not Path(source).exists():
        raise FileNotFoundError(f"{source}: no such file. Named data sets start with @ (see kernline datasets list).")


def check_values(source: str) -> None:
    """Raise an error if a file holds codes: most commands need values."""
    if is_dataset(source):
        raise UsageError(f"{source} holds codes; this command needs values. Pass the data that it was converted from.")


def is_dataset(path: str) -> bool:
    """Whether a file name is that of encoded rows."""
    return path.lower().endswith(".kdata")


def is_model(path: str) -> bool:
    """Whether this is a model file: it starts with the length of the header and a brace."""
    if is_dataset(path) or not os.path.isfile(path):  # bytes read from a pipe here would be missing from the data
        return False
    try:
        with open(path, "rb") as stream:
            start = stream.read(9)
    except OSError:
        return False
    return len(start) == 9 and start[8:] == b"{" and int.from_bytes(start[:8], "little") < 1 << 32


def model_and_data(first: str, second: str) -> tuple[str, str]:
    """The two files in this order; users of LIBSVM give the data first."""
    if not is_model(first) and is_model(second):
        return second, first
    return first, second
