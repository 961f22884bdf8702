"""The Nyström map: z(x) = K(x, B) T with T Tᵀ = K(B, B)⁻¹, so that z(x)·z(y) approximates K(x, y).

T comes from the Cholesky factorisation with pivoting of the kernel scaled to K(b, b) = 1: with D the diagonal of
K(B, B), P D^-½ K(B, B) D^-½ Pᵀ = L Lᵀ and T = D^-½ L⁻ᵀ. It stops when no landmark left adds anything: copies of others,
and in a kernel that is not positive definite those that make it so, are left out of the basis. T is triangular: the map
costs half the product with a root from eigenvectors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from ..array_types import Array, Matrix
from ..caching import cached_property
from ..threads import one_blas_thread, run_tasks
from .pairwise import PairKernel
from .points import Points, Precision, Values, precision_of

# A landmark adds nothing when the others leave less than this part of K(b, b): float32 cannot distinguish it from zero.
_NOTHING_NEW = 2e-6
# Values of X or of K(X, B) in a block of rows: its products stay in the cache, and Ctrl-C works between blocks.
_BLOCK_VALUES = 1_000_000
# T is applied a part of its columns at a time, which leaves out most of its zeros.
_PARTS = 8


@dataclass(frozen=True)
class LandmarkMap:
    """A kernel, the landmarks it was found to need, and T, upper triangular."""

    kernel: PairKernel
    points: Points
    root: Array
    kept: NDArray[np.int64]  # their numbers among the landmarks given
    n_dropped: int

    @classmethod
    @one_blas_thread
    def fit(cls, kernel: PairKernel, points: Points) -> LandmarkMap:
        """Factorise K(B, B)."""
        gram = kernel(points.X, points, np.float64)
        diagonal = gram.diagonal()
        usable = np.flatnonzero(diagonal > np.finfo(np.float64).tiny)
        if not usable.size:
            raise ValueError(
                f"K(b, b) is at most {diagonal.max():.3g} for every landmark b, so that nothing can be learnt. "
                "Check the kernel, its parameters, and that X is not all zeros."
            )
        scale = 1.0 / np.sqrt(diagonal[usable])
        scaled = scale[:, None] * gram[np.ix_(usable, usable)] * scale
        factor, pivots, rank, _ = lapack.dpstrf(scaled, tol=_NOTHING_NEW, lower=1)
        order = pivots[:rank] - 1
        lower = np.tril(factor[:rank, :rank])
        root = scale[order][:, None] * solve_triangular(lower, np.eye(rank), lower=True).T
        kept = usable[order]
        return cls(kernel, points[kept], root, kept, len(points) - rank)

    @property
    def width(self) -> int:
        """Features of a mapped row."""
        return len(self.points)

    def features(self, X: Matrix, n_threads: int, dtype: Precision = np.float32) -> Values:
        """z(x_i) of all rows."""
        out = np.empty((X.shape[0], self.width), dtype=dtype)
        _over_blocks(self.kernel, self.points, X, dtype, self._times_root, out, n_threads)
        return out

    def features_of_base(self, base: Values, n_threads: int) -> Values:
        """z(x_i) from the kernel's base between all rows and all landmarks given."""
        out = np.empty((base.shape[0], self.width), dtype=np.float32)

        def work(rows: slice) -> None:
            out[rows] = self._times_root(self.kernel.curve(base[rows][:, self.kept], self.points))

        run_blocks(work, base.shape[0], self.width, n_threads)
        return out

    def coefficients(self, weights: NDArray[np.float32]) -> Array:
        """a = T w of weights w, (n_problems, width): f(x) = Σ_b a_b K(x, b)."""
        return weights.astype(np.float64) @ self.root.T

    def _times_root(self, gram: Values) -> Values:
        root = self._root32 if gram.dtype == np.float32 else self.root
        step = -(-self.width // _PARTS)
        for begin in reversed(range(0, self.width, step)):  # from the last: the earlier columns are still needed
            end = min(begin + step, self.width)
            gram[:, begin:end] = gram[:, :end] @ root[:end, begin:end]
        return gram

    @cached_property
    def _root32(self) -> NDArray[np.float32]:
        return self.root.astype(np.float32)

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in self.__dict__.items() if key != "_root32"}


def values(kernel: PairKernel, points: Points, coefficients: Array, X: Matrix, n_threads: int) -> Array:
    """Σ_b K(x_i, b) a_pb, (n_rows, n_problems), in the precision of X."""
    out = np.empty((X.shape[0], coefficients.shape[0]))
    columns = coefficients.T.astype(precision_of(X))
    _over_blocks(kernel, points, X, precision_of(X), lambda gram: gram @ columns, out, n_threads)
    return out


def _over_blocks(
    kernel: PairKernel,
    points: Points,
    X: Matrix,
    dtype: Precision,
    of_gram: Callable[[Values], Values],
    out: Values,
    n_threads: int,
) -> None:
    def work(rows: slice) -> None:
        out[rows] = of_gram(kernel(X[rows], points, dtype))

    run_blocks(work, X.shape[0], max(X.shape[1], len(points)), n_threads)


def blocks(n_rows: int, row_values: int, block_values: int = _BLOCK_VALUES) -> list[slice]:
    """Blocks of rows; they do not depend on the number of threads, and so neither do the sums within them."""
    step = max(16, block_values // max(1, row_values))
    return [slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step)]


def run_blocks(work: Callable[[slice], None], n_rows: int, row_values: int, n_threads: int) -> None:
    """Call `work` for blocks of rows, in parallel."""
    parts = blocks(n_rows, row_values)
    run_tasks(lambda k: work(parts[k]), len(parts), n_threads, threading.Event())
