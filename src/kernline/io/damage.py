"""Damaged files: errors of the library that parses a file become a ValueError that names the file."""

from __future__ import annotations

import errno
import lzma
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from ..memory import TooLargeError

# What NumPy, SciPy, zipfile and pyarrow raise on damaged input. RuntimeError: an encrypted archive, or nesting without
# end. MemoryError: a length that was damaged.
_RAISED = (
    ValueError,
    OSError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    MemoryError,
    tokenize.TokenError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)


@contextmanager
def parsing(name: str) -> Iterator[None]:
    """Report errors of a library that parses the file `name` as damage.

    Errors of the system, which have a number, and data that does not fit in memory are not damage.
    """
    arrow = sys.modules.get("pyarrow")  # several of its errors derive from none of the above
    raised = (*_RAISED, arrow.ArrowException) if arrow is not None else _RAISED
    try:
        yield
    except TooLargeError:
        raise
    except raised as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # that of an offset below 0
            raise
        raise ValueError(f"{name}: damaged or truncated: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    text = str(error.args[0]) if error.args else ""
    lines = text.strip().splitlines() or [type(error).__name__]
    return f"{lines[0]:.200}".rstrip(".") + "."
