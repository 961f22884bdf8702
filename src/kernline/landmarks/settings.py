"""Which landmarks and which kernel: settings, and the map that they give on training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from sklearn.utils import check_array

from .. import validation
from ..array_types import Indices, Matrix, MatrixLike, is_sparse
from ..memory import COLUMN_BYTES, check_memory, check_width
from ..sources import with_own_indices
from ..validation import NO_NAMES, Names
from . import selection
from .nystrom_map import LandmarkMap
from .pairwise import PairKernel
from .points import Points
from .scaling import Scaling

# Rows from which means of K(x, x) and the like are estimated.
_SAMPLE = 500
# Bytes per pair of landmarks that the factorisation of their kernel takes, as measured.
_PAIR_BYTES = 48.0


@dataclass(frozen=True)
class LandmarkSettings:
    """The kernel, its γ, and the landmarks. Parameters are those of NystromSVC; `kernel` has no γ yet.

    `scaling` is what was done to X; landmarks that were given are scaled likewise.
    """

    kernel: PairKernel
    gamma: float | str = "scale"
    basis: str | MatrixLike = "kmeans"
    n_basis: int | None = None
    n_threads: int = 1
    n_candidates: int = selection.DEFAULT_CANDIDATES
    scaling: Scaling | None = None

    def fit_map(
        self, X: Matrix, number: Indices | None, random: np.random.RandomState, names: Names = NO_NAMES
    ) -> LandmarkMap:
        """The map, fitted to validated rows of class numbers `number`, which only basis="l1" needs."""
        kernel = self.kernel_on(X, names)
        return LandmarkMap.fit(kernel, self.landmarks(kernel, X, number, random))

    def kernel_on(self, X: Matrix, names: Names = NO_NAMES) -> PairKernel:
        """The kernel, with γ as a number; X is checked first."""
        self.check_landmarks(X)
        largest = validation.check_rows(X, self.kernel.nonnegative_for, self.n_threads, names)
        validation.check_not_tiny(largest)
        is_scale = isinstance(self.gamma, str)
        return self.kernel.with_gamma(self.kernel.scale(X, sample_of(X)) if is_scale else float(self.gamma))

    def landmarks(self, kernel: PairKernel, X: Matrix, number: Indices | None, random: np.random.RandomState) -> Points:
        """The landmarks given, or those chosen."""
        if isinstance(self.basis, str):
            return selection.select(self.basis, kernel, X, number, self.n_basis, random, self.n_candidates)
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "input_name": "basis"}
        given = check_array(with_own_indices(self.basis), **options)
        if given.shape[1] != X.shape[1]:
            raise ValueError(f"basis: the landmarks have {given.shape[1]} columns, and X has {X.shape[1]}.")
        given = validation.canonical(given)
        validation.check_rows(given, kernel.nonnegative_for)
        given = given if self.scaling is None else self.scaling.transform(given, np.float32)
        return Points.of(given, centred=not is_sparse(X))

    def n_landmarks(self, n_rows: int) -> int:
        """Highest possible number of landmarks."""
        if isinstance(self.basis, str):
            return selection.most_landmarks(self.basis, self.n_basis, n_rows, self.n_candidates)
        # Not by np.shape, which would copy a list of lists, and take a sparse matrix for a scalar.
        shape: tuple[int, ...] | None = getattr(self.basis, "shape", None)
        return shape[0] if shape is not None else len(cast(Sequence[object], self.basis))

    def check_landmarks(self, X: Matrix) -> None:
        """Refuse landmarks too wide for memory, and kernels between too many of them."""
        n_basis = self.n_landmarks(X.shape[0])
        # Centres of k-means are dense, and it holds six times their float32 values; other landmarks are rows of X.
        is_dense = is_sparse(X) and isinstance(self.basis, str) and self.basis == "kmeans" and n_basis < X.shape[0]
        check_width(X, COLUMN_BYTES + (6 * 4 * n_basis if is_dense else 0))
        needed = _PAIR_BYTES * n_basis**2.0
        if isinstance(self.basis, str):
            needed = max(needed, selection.selection_bytes(self.basis, self.n_basis, X.shape[0], self.n_candidates))
        check_memory(f"The kernel between {n_basis:,} landmarks", needed, "Lower n_basis.")

    def check_features(self, n_rows: int, n_problems: int, n_stored: int) -> None:
        """Refuse features of all rows, held `n_stored` times, or else β of all rows and problems, beyond memory."""
        n_basis = self.n_landmarks(n_rows)
        check_memory(
            f"{n_rows:,} rows × {n_basis:,} landmarks of float32 numbers",
            4.0 * n_stored * n_rows * n_basis,
            "Lower n_basis, or pass store_features=False to fit." if n_stored == 1 else "Lower n_basis.",
        )
        if not n_stored:
            needed = 8.0 * n_problems * n_rows
            remedy = "Pass store_features=True, or fewer classes."
            check_memory(f"{n_problems:,} classes × {n_rows:,} rows", needed, remedy)


def sample_of(X: Matrix) -> Matrix:
    """Some rows, evenly spread: the same for every seed."""
    return X[np.unique(np.linspace(0, X.shape[0] - 1, min(_SAMPLE, X.shape[0])).astype(np.int64))]
