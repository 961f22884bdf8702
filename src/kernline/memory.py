"""Whether a fit fits into memory. Linux grants more memory than it has, and kills the process that uses it."""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np

from .array_types import CSRMatrix, Matrix, is_sparse

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

# Less than this is not worth asking the system about.
_SMALL = 2**20
_CONTAINER_LIMIT = "/sys/fs/cgroup/memory.max"

# The range, the transform and the counts of a column, while fitting.
COLUMN_BYTES = 64


def machine_bytes() -> float:
    """Memory of this machine, of the container that the process runs in, or what the process may have (ulimit -v)."""
    sizes = [float("inf")]
    with suppress(AttributeError, ValueError, OSError):  # not on every system
        sizes.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    with suppress(ValueError, OSError), open(_CONTAINER_LIMIT) as file:
        sizes.append(float(file.read()))  # or "max"
    if resource is not None:
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        sizes.append(float(limit) if limit != resource.RLIM_INFINITY else float("inf"))
    return min(sizes)


class TooLargeError(ValueError):
    """Data that does not fit in the memory that is available."""


def available_bytes() -> float:
    """Memory that this process can still use: of the machine, of its container, and by its own limits (ulimit)."""
    return max(0.0, min(_machine_left(), _container_left(), _limits_left()))


def check_memory(what: str, needed: float, remedy: str = "") -> None:
    """Raise TooLargeError if `what`, the subject of the message, takes more bytes than are available."""
    if exceeds_memory(needed):
        raise TooLargeError(
            f"{what} would take about {needed / 2**30:.3g} GB, and {available_bytes() / 2**30:.3g} GB of memory are "
            f"available. {remedy}".rstrip()
        )


def exceeds_memory(needed: float) -> bool:
    """Whether this many bytes are more than are available."""
    return needed >= _SMALL and needed > available_bytes()


def _machine_left() -> float:
    with suppress(OSError, ValueError):  # Linux only
        sizes = _text("/proc/meminfo")
        return 1024.0 * (_field(sizes, "MemAvailable:") + _field(sizes, "SwapFree:"))
    return machine_bytes()


def _container_left() -> float:
    """What the container may still use, not counting pages of files, which the system takes back when it needs them."""
    folder = os.path.dirname(_CONTAINER_LIMIT)
    with suppress(OSError, ValueError):  # no container, or "max"
        limit = float(_text(_CONTAINER_LIMIT))
        used = float(_text(f"{folder}/memory.current"))
        parts = _text(f"{folder}/memory.stat")
        return limit - used + _field(parts, "\nactive_file ") + _field(parts, "\ninactive_file ")
    return float("inf")


def _limits_left() -> float:
    left = float("inf")
    with suppress(OSError, ValueError):  # Linux only
        if resource is None:
            return left
        pages = [float(size) for size in _text("/proc/self/statm").split()]
        for limit, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            allowed = resource.getrlimit(limit)[0]
            if allowed != resource.RLIM_INFINITY:
                left = min(left, allowed - used * resource.getpagesize())
    return left


# Readers of files ask after every piece, so this avoids what is slow in Python: paths, and splitting all lines.
def _text(path: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode("ascii")


def _field(text: str, name: str) -> float:
    """The number after this name."""
    return float(text[text.index(name) + len(name) :].split(maxsplit=1)[0])


def check_width(X: Matrix, bytes_a_column: float, n_columns: int | None = None) -> None:
    """Refuse X if a fit takes more memory than is available, and report the row with the last column.

    One number too large in a sparse file is enough for that. `n_columns` are those of the solver, if there are more
    than in X.
    """
    needed = bytes_a_column * (n_columns or X.shape[1])
    if not exceeds_memory(needed):
        return
    where = ""
    terms = f" ({n_columns:,} with one for each level)" if n_columns and n_columns > X.shape[1] else ""
    if is_sparse(X) and X.nnz:
        where = (
            f" The last used one, the {X.indices.max() + 1:,}th, is in row {_row_of_last(X) + 1:,} of {X.shape[0]:,}."
        )
    raise TooLargeError(
        f"X has {X.shape[1]:,} columns{terms}, for which a fit takes about {needed / 2**30:.3g} GB, and "
        f"{available_bytes() / 2**30:.3g} GB of memory are available.{where} If the number of columns is right, reduce "
        "it: sklearn.feature_extraction.FeatureHasher does so for sparse data."
    )


def _row_of_last(X: CSRMatrix) -> int:
    """The first row with the largest column number."""
    return int(np.searchsorted(X.indptr, X.indices.argmax(), side="right")) - 1
