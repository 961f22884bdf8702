"""Data inside an HTML page: escaped text, JSON in a script element, and arrays as base64.

Nothing that comes from a model or a data file may end the element it is in, or become markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

# In JSON these characters occur only inside of strings, so that they can be escaped wherever they are.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
# From the smallest: an array is stored in the first of these types that holds all of its values exactly.
_TYPES = ("u1", "<u2", "<f4", "<f8")


class Packed(TypedDict):
    """An array for the page: its type, as NumPy names it, and its values as base64."""

    type: str
    data: str


def escaped(text: object) -> str:
    """Text for an element or a quoted attribute."""
    return html.escape(str(text), quote=True)


def json_text(value: object) -> str:
    """JSON that can stand in a script element. NaN and infinity are not allowed."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def packed(values: ArrayLike, types: tuple[str, ...] = _TYPES) -> Packed:
    """The values of an array, row by row, in the first of these types that holds them exactly, or in the last."""
    array = np.asarray(values)
    for name in types[:-1]:
        with np.errstate(all="ignore"):
            narrow = array.astype(name)
        if np.array_equal(narrow, array, equal_nan=np.dtype(name).kind == "f"):
            return {"type": name.lstrip("<"), "data": _base64(narrow)}
    return {"type": types[-1].lstrip("<"), "data": _base64(array.astype(types[-1]))}


def _base64(array: NDArray[np.generic]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def script_hash(script: str) -> str:
    """The source that a content security policy must allow for an inline script to run."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def policy(scripts: list[str]) -> str:
    """A content security policy: these inline scripts, inline styles and pictures of the page, and no network."""
    sources = " ".join(map(script_hash, scripts))
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:; "
        "font-src data:; base-uri 'none'; form-action 'none'"
    )
