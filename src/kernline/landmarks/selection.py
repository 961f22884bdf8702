"""Which landmarks: the basis B of the Nyström approximation, chosen in time that does not grow faster than n.

- "kmeans": the centres of a few rounds of k-means on a sample (Zhang, Tsang and Kwok, ICML 2008).
- "l1": the candidates that an L1-regularised SVM on K(sample, candidates) gives a weight, for some class (Tsai,
  Yeh, Lee and Wang, "Solving non-linear SVM in linear time?", Algorithm 2). It finds the size as well. Candidates and
  sample have the same size: √n as published, in all or per class, or a number; three per landmark if their number is
  given.
- "leverage": drawn in proportion to their ridge leverage, how badly the others stand for them (Alaoui and Mahoney,
  2015).
- "random": drawn with equal chances.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..array_types import Matrix, is_sparse
from ..class_signs import one_against_rest
from ..randomness import seed_from
from ..sources import value_range
from ..threads import one_blas_thread, one_openmp_thread
from .pairwise import PairKernel
from .points import Points, largest, plain

Rows = NDArray[np.int64]

METHODS = ("kmeans", "l1", "leverage", "random")

# Default number of landmarks, except for "l1", which finds its own.
DEFAULT_SIZE = 500
# The published √n candidates are few where n is: 71 on the paper's USPS, too few for its accuracy. This many give it,
# in a second or two; 500 fell 1.6 points short there.
DEFAULT_CANDIDATES = 1500
# Readings of the paper's "each with size √ℓ".
CANDIDATES = ("sqrt", "sqrt-per-class")
# Candidates per requested landmark: about half of them get a weight.
_CANDIDATES_EACH = 3
# C of the SVM that selects candidates, which the paper does not give: more select more (docs/papers/nystrom.md).
L1_COST = 1.0
# Rows for each landmark that k-means and the leverage scores look at, and rounds: more changed no accuracy we measured.
_ROWS_EACH, _ROUNDS = 5, 5
# Bytes per pair of candidates, and of landmarks: as measured.
_L1_BYTES, _LEVERAGE_BYTES = 12.0, 110.0


def candidate_count(n_candidates: int | str, n_rows: int, n_classes: int) -> int:
    """A number of candidates for each of its names."""
    if isinstance(n_candidates, str):
        return math.isqrt(n_rows) * (n_classes if n_candidates == "sqrt-per-class" else 1)
    return int(n_candidates)


def most_landmarks(method: str, n_basis: int | None, n_rows: int, n_candidates: int = DEFAULT_CANDIDATES) -> int:
    """How many landmarks there may be."""
    if method == "l1" and n_basis is None:
        return min(n_candidates, n_rows)
    return min(n_basis or DEFAULT_SIZE, n_rows)


def selection_bytes(method: str, n_basis: int | None, n_rows: int, n_candidates: int = DEFAULT_CANDIDATES) -> float:
    """Memory, about, for kernels between rows and candidates."""
    if method == "l1":
        return _L1_BYTES * min(_enough(n_candidates, n_basis), n_rows) ** 2.0
    return _LEVERAGE_BYTES * most_landmarks(method, n_basis, n_rows) ** 2.0 if method == "leverage" else 0.0


def _enough(n_candidates: int, n_basis: int | None) -> int:
    return max(n_candidates, _CANDIDATES_EACH * (n_basis or 0))


@one_blas_thread
def select(
    method: str,
    kernel: PairKernel,
    X: Matrix,
    number: NDArray[np.int64] | None,
    n_basis: int | None,
    random: np.random.RandomState,
    n_candidates: int = DEFAULT_CANDIDATES,
) -> Points:
    """Landmarks from the rows X, at most one per row. Only "l1" needs `number`, each row's class, and candidates."""
    if method == "l1":
        assert number is not None
        return _by_l1(kernel, X, number, n_basis, _enough(n_candidates, n_basis), random)
    n_basis = min(n_basis or DEFAULT_SIZE, X.shape[0])
    if n_basis == X.shape[0]:
        return _points(X, X)
    if method == "kmeans":
        return _centres(X[_draw(X, _ROWS_EACH * n_basis, random)], X, n_basis, random)
    if method == "leverage":
        return _by_leverage(kernel, X, n_basis, random)
    return _points(X[_draw(X, n_basis, random)], X)


def _points(rows: Matrix, X: Matrix) -> Points:
    """Landmarks to compare with rows like X: for sparse data they are not centred, even if they are dense."""
    return Points.of(rows, centred=not is_sparse(X))


def _draw(X: Matrix, size: int, random: np.random.RandomState) -> Rows:
    """Rows without repetition, in their order."""
    return np.sort(random.permutation(X.shape[0])[: min(size, X.shape[0])])


def _centres(sample: Matrix, X: Matrix, n_basis: int, random: np.random.RandomState) -> Points:
    """Centres by k-means in float32, of rows moved to their mean and scaled so that no square leaves its range."""
    low = value_range(sample)[0]
    sample = plain(sample)
    middle = np.zeros(1) if is_sparse(sample) else sample.mean(axis=0, dtype=np.float64)
    sample = sample.astype(np.float64) if is_sparse(sample) else sample - middle
    exponent = int(np.frexp(largest(sample))[1])  # a power of two: the digits stay the same
    if is_sparse(sample):
        sample.data = np.ldexp(sample.data, -exponent)
    else:
        sample = np.ldexp(sample, -exponent)
    centres = np.ldexp(_means(sample.astype(np.float32), n_basis, random), exponent) + middle
    if low >= 0.0:
        centres = np.maximum(centres, 0.0)  # their sums may fall short of it by a rounding
    return _points(centres.astype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64), X)


@one_openmp_thread  # its sums would depend on the number of threads
def _means(sample: Matrix, n_basis: int, random: np.random.RandomState) -> NDArray[np.float64]:
    from sklearn.cluster import KMeans  # slow to import

    means = KMeans(n_basis, init="random", n_init=1, max_iter=_ROUNDS, random_state=random)
    with warnings.catch_warnings():
        # Fewer distinct rows than centres: some centres coincide, and the map leaves the copies out.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return means.fit(sample).cluster_centers_.astype(np.float64)


def _by_l1(
    kernel: PairKernel,
    X: Matrix,
    number: NDArray[np.int64],
    n_basis: int | None,
    size: int,
    random: np.random.RandomState,
) -> Points:
    """Algorithm 2. Where fewer than `n_basis` of `size` candidates get a weight, others fill up the number."""
    from sklearn.svm import LinearSVC  # slow to import

    rows = _draw(X, size, random)
    candidates = _points(X[rows], X)
    sample = _of_every_class(number, _draw(X, size, random))
    features = kernel(X[sample], candidates)
    weights = np.zeros(len(candidates))
    model = LinearSVC(penalty="l1", dual=False, C=L1_COST, tol=0.01, random_state=seed_from(random))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # which columns are not zero shows long before
        # One class at a time, so that Ctrl-C works; not in threads, because LIBLINEAR's random numbers are global.
        for _, signs in zip(*one_against_rest(np.unique(number), number), strict=True):
            weights += np.abs(model.fit(features, signs[sample]).coef_[0])
    chosen = np.flatnonzero(weights)
    if n_basis is None:
        return candidates[chosen] if chosen.size else candidates
    if chosen.size > n_basis:
        return _centres(candidates.X[chosen], X, n_basis, random)
    others = random.permutation(np.flatnonzero(weights == 0.0))
    return candidates[np.sort(np.append(chosen, others[: n_basis - chosen.size]))]


def _of_every_class(number: NDArray[np.int64], sample: Rows) -> Rows:
    """The sample, and a row of each class that it misses."""
    _, first = np.unique(number, return_index=True)
    missing = ~np.isin(number[first], number[sample])
    return np.sort(np.append(sample, first[missing]))


def _by_leverage(kernel: PairKernel, X: Matrix, n_basis: int, random: np.random.RandomState) -> Points:
    """ℓ(x) = (K(x, x) − k(x, S) (K(S, S) + λ)⁻¹ k(S, x)) / λ over a sample S, with λ so that Σ ℓ is about n_basis."""
    pool = X[_draw(X, _ROWS_EACH * n_basis, random)]
    sketch = _points(pool[_draw(pool, n_basis, random)], X)
    values, vectors = np.linalg.eigh(kernel(sketch.X, sketch).astype(np.float64))
    squares = np.square(kernel(pool, sketch) @ vectors)
    own, values = kernel.diagonal(pool), np.maximum(values, 0.0)

    def residual(ridge: float) -> NDArray[np.float64]:
        return np.maximum(own - squares @ (1.0 / (values + ridge)), 0.0)

    noise = float(np.finfo(np.float32).eps) * max(float(values.max()), 1e-30)
    leverage = residual(float(residual(noise).sum()) / n_basis + noise) + noise
    chosen = random.choice(pool.shape[0], n_basis, replace=False, p=leverage / leverage.sum())
    return _points(pool[np.sort(chosen)], X)
