"""Memory that landmarks take: estimated from the parameters of a model, and refused before a fit if there is less."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from ..memory import COLUMN_BYTES, check_memory, check_width
from . import selection as basis

# Bytes per pair of landmarks that the factorisation of their kernel takes: as measured.
_PAIR_BYTES = 48.0


def check_landmarks(model: Any, X: Any) -> None:
    """Refuse landmarks too wide for memory, and kernels between too many of them."""
    n_basis = n_landmarks(model, X.shape[0])
    # Centres of k-means are dense, and it holds six times their float32 values; other landmarks are rows of X.
    centred = sp.issparse(X) and isinstance(model.basis, str) and model.basis == "kmeans" and n_basis < X.shape[0]
    check_width(model, X, COLUMN_BYTES + (6 * 4 * n_basis if centred else 0))
    needed = _PAIR_BYTES * n_basis**2.0
    if isinstance(model.basis, str):
        needed = max(needed, basis.selection_bytes(model.basis, model.n_basis, X.shape[0]))
    check_memory(f"The kernel between {n_basis:,} landmarks", needed, "Lower n_basis.")


def check_features(model: Any, n_rows: int, n_problems: int, n_stored: int) -> None:
    """Refuse features of all rows, held `n_stored` times, or else α of all rows and problems, beyond memory."""
    n_basis = n_landmarks(model, n_rows)
    check_memory(
        f"{n_rows:,} rows × {n_basis:,} landmarks of float32 numbers",
        4.0 * n_stored * n_rows * n_basis,
        "Lower n_basis, or pass store_features=False to fit." if n_stored == 1 else "Lower n_basis.",
    )
    if not n_stored:
        needed = 8.0 * n_problems * n_rows
        check_memory(f"{n_problems:,} classes × {n_rows:,} rows", needed, "Pass store_features=True, or fewer classes.")


def n_landmarks(model: Any, n_rows: int) -> int:
    """How many landmarks there may be."""
    if isinstance(model.basis, str):
        return basis.most_landmarks(model.basis, model.n_basis, n_rows)
    return int(model.basis.shape[0]) if hasattr(model.basis, "shape") else len(model.basis)
