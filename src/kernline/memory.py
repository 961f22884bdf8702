"""Whether a fit fits into memory. Linux grants more memory than it has, and kills the process that uses it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

# Less than this is not worth asking the system about.
_SMALL = 2**28
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


def exceeds_memory(needed: float) -> bool:
    """Whether so many bytes are more than there is."""
    return needed >= _SMALL and needed > machine_bytes()


def check_memory(what: str, needed: float, remedy: str) -> None:
    """Refuse what takes more bytes than there are; `what` is the subject of the message."""
    if exceeds_memory(needed):
        raise ValueError(
            f"{what} would take about {needed / 2**30:.3g} GB, and {machine_bytes() / 2**30:.3g} GB are available. "
            f"{remedy}"
        )


def check_width(estimator: Any, X: Any, bytes_a_column: float) -> None:
    """Refuse X if a fit takes more memory than there is, and tell which row has the last column.

    One number too large in a sparse file is enough for that.
    """
    needed = bytes_a_column * X.shape[1]
    if not exceeds_memory(needed):
        return
    where = ""
    if sp.issparse(X) and X.nnz:
        where = (
            f" The last one in use, the {X.indices.max() + 1:,}th, is in row {_row_of_last(X) + 1:,} of {X.shape[0]:,}."
        )
    raise ValueError(
        f"X has {X.shape[1]:,} columns, for which {type(estimator).__name__} takes about {needed / 2**30:.3g} GB, and "
        f"the machine has {machine_bytes() / 2**30:.3g}.{where} If that is no mistake, lower the number of columns: "
        "sklearn.feature_extraction.FeatureHasher does it for sparse data."
    )


def _row_of_last(X: Any) -> int:
    """The first row with the largest column number."""
    return int(np.searchsorted(X.indptr, X.indices.argmax(), side="right")) - 1
