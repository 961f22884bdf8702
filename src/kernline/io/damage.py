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

# What NumPy, SciPy, zipfile and pyarrow raise on damaged input. RuntimeError: an encrypted archive, or endless nesting.
# MemoryError: a damaged length.
_RAISED = (
    ValueError,
    OSError,
    EOFError,
    LookupError,
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
# They raise these too, but in our own code they are internal errors.
_RAISED_BY_LIBRARIES = (TypeError, AttributeError)


@contextmanager
def parsing(name: str) -> Iterator[None]:
    """Report errors of a library that parses the file `name` as damage.

    Errors of the system, which have a number, data that does not fit in memory, and wrong types in our own code are not
    damage.
    """
    arrow = sys.modules.get("pyarrow")  # several of its errors derive from none of the above
    arrow_errors = (arrow.ArrowException,) if arrow is not None else ()
    try:
        yield
    except TooLargeError:
        raise
    except (*_RAISED, *_RAISED_BY_LIBRARIES, *arrow_errors) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # EINVAL: a negative offset
            raise
        if isinstance(error, _RAISED_BY_LIBRARIES) and _is_raised_here(error):
            raise
        raise ValueError(f"{name}: damaged or truncated: {_reason(error)}") from error


def _is_raised_here(error: BaseException) -> bool:
    """Whether code of this package raised the error, or called compiled code without Python frames that did."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "") if trace is not None else ""
    return str(module).startswith(f"{__name__.partition('.')[0]}.")


def _reason(error: BaseException) -> str:
    text = str(error.args[0]) if error.args else ""
    lines = text.strip().splitlines() or [type(error).__name__]
    return f"{lines[0]:.200}".rstrip(".") + "."
