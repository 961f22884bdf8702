"""Arrays and texts as literals of C."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ..array_types import Numbers


def table(kind: str, name: str, values: Numbers) -> Iterator[str]:
    """An array, with hexadecimal numbers, which are exact."""
    flat = values.ravel()
    yield f"static const {kind} {name}[{flat.size}] = {{\n"
    suffix = "f" if kind == "float" else ""
    for begin in range(0, flat.size, 8):
        numbers = (_number(value) for value in flat[begin : begin + 8].tolist())
        yield "  " + " ".join(f"{number}{suffix}," for number in numbers) + "\n"
    yield "};\n"


def _number(value: float) -> str:
    """A number. Infinity, after the last edge, becomes the largest finite number."""
    if value != value:
        return "NAN"
    if value == 0.0:
        return "0.0"
    return value.hex() if np.isfinite(value) else "0x1.fffffffffffffp+1023"


def quoted(text: str) -> str:
    """A string literal of C, with other characters than letters, digits, spaces and some signs as octal bytes."""
    plain = re.compile(rb"[A-Za-z0-9 _.,:;+-]")
    return '"' + "".join(chr(byte) if plain.match(bytes([byte])) else f"\\{byte:03o}" for byte in text.encode()) + '"'
