"""Kernels of any kind between rows and landmarks: K(x, b) = curve(base(x, b)).

The base, a product or a distance of two rows, is expensive. The curve contains the parameters. So a search over γ
computes the base once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from .. import kernels
from ..array_types import Array, Matrix, is_sparse
from ..sources import row_blocks
from .points import Points, Precision, Values, plain

# Two names of scikit-learn for the same kernel.
_ALIASES = {"polynomial": "poly"}
# Zero at K(x, x), so it cannot be used with landmarks.
_REFUSED = {"additive_chi2"}
# γ ‖x‖² at which a float32 rounding error changes K by about 10⁻⁴.
_COARSEST = 1e3


# A function of two matrices, sparse if X is sparse, that returns K between their rows.
KernelFunction: TypeAlias = Callable[[Matrix, Matrix], Matrix]
KernelLike: TypeAlias = str | kernels.AdditiveKernel | KernelFunction


@dataclass(frozen=True)
class PairKernel:
    """A named kernel, an additive kernel, or a user-defined function; `gamma` as for NystromSVC."""

    kind: str  # a key of FORMS
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 1.0
    function: KernelFunction | None = None
    nonnegative_for: str = ""  # the kernel's name, if it refuses negative values

    def __call__(self, X: Matrix, points: Points, dtype: Precision = np.float32) -> Values:
        """K(x_i, b_j), (rows of X) × (landmarks)."""
        return self.curve(self.base(X, points, self.precision(points, dtype)), points).astype(dtype, copy=False)

    def base(self, X: Matrix, points: Points, dtype: Precision = np.float32) -> Values:
        """The part that does not depend on gamma, degree and coef0."""
        return FORMS[self.kind][0](self, X, points, dtype)

    def precision(self, points: Points, dtype: Precision = np.float32) -> Precision:
        """The precision of the base: float64 where float32 errors would show in K.

        ‖x‖² + ‖b‖² − 2 x·b has the rounding error of its largest term, which a narrow kernel far from the centre
        magnifies.
        """
        if self.kind == "rbf" and self.gamma * points.unit**2 * points.largest_norm > _COARSEST:
            return np.float64
        return dtype

    def curve(self, base: Values, points: Points) -> Values:
        """Compute K from its base, which is overwritten."""
        with np.errstate(over="ignore", invalid="ignore"):
            gram = FORMS[self.kind][1](self, base, points)
            if np.isfinite(gram.sum()):
                return gram
        raise ValueError(
            "kernel: K(x, b) is infinite or NaN for some rows. Scale the data, or lower gamma or degree. A degree "
            "that is not an integer needs non-negative products x·b."
        )

    def diagonal(self, X: Matrix) -> Array:
        """K(x_i, x_i)."""
        if FORMS[self.kind][1] in (_rbf, _exponential):
            return np.ones(X.shape[0])
        blocks = [X[begin : begin + 64] for begin in range(0, X.shape[0], 64)]
        return np.concatenate([np.diagonal(self(block, Points.of(block), np.float64)) for block in blocks])

    def with_gamma(self, gamma: float) -> PairKernel:
        """The same kernel with another γ."""
        return replace(self, gamma=gamma)

    def scale(self, X: Matrix, sample: Matrix) -> float:
        """γ for gamma="scale", from all rows X or from a `sample` of them.

        1 / (n_features · Var X) as for scikit-learn's SVC; 1 / mean for a base that is another distance; for a kernel
        without a width, the γ that makes the mean of K(x, x) one.
        """
        if self.kind in ("rbf", "poly", "sigmoid"):
            return svc_gamma(X)
        if self.kind == "factor":
            return _positive(1.0, float(self.with_gamma(1.0).diagonal(sample).mean()))
        points = Points.of(sample)
        return _positive(1.0, float(self.base(sample, points, np.float64).mean()) * points.size)


def svc_gamma(X: Matrix) -> float:
    """1 / (n_features · Var X), as gamma="scale" in scikit-learn's SVC."""
    return _positive(1.0, X.shape[1] * _variance(X))


def _positive(numerator: float, denominator: float) -> float:
    """The quotient, or 1 if the denominator is not positive."""
    if not denominator > 0.0:
        return 1.0
    with np.errstate(all="ignore"):
        quotient = float(np.float64(numerator) / np.float64(denominator))
    if not 0.0 < quotient < np.inf:
        raise ValueError(
            f"gamma='scale' would be {quotient:g}, as the values of X are too large or too small. Rescale X, for "
            "example by sklearn.preprocessing.StandardScaler."
        )
    return quotient


def _variance(X: Matrix) -> float:
    n_values = X.shape[0] * X.shape[1]
    if sp.issparse(X):
        mean = X.sum(dtype=np.float64) / n_values
        return float(np.square(X.data, dtype=np.float64).sum()) / n_values - float(mean * mean)
    # In blocks, as NumPy's own takes 16 bytes per value; and row by row, for every layout of X.
    blocks = list(row_blocks(X))
    mean = sum(np.ascontiguousarray(X[rows], dtype=np.float64).sum() for rows in blocks) / n_values
    return float(sum(np.square(np.ascontiguousarray(X[rows]) - mean).sum() for rows in blocks) / n_values)


def _distance(kernel: PairKernel, X: Matrix, points: Points, dtype: Precision) -> Values:
    return points.squared_distances(X, dtype)


def _rbf(kernel: PairKernel, base: Values, points: Points) -> Values:
    return _decay(base, kernel.gamma * points.unit**2)


def _decay(base: Values, rate: float) -> Values:
    base *= base.dtype.type(-min(rate, 1e30))
    return np.exp(base, out=base)


def _exponential(kernel: PairKernel, base: Values, points: Points) -> Values:
    return _decay(base, kernel.gamma * points.size)


def _manhattan(kernel: PairKernel, X: Matrix, points: Points, dtype: Precision) -> Values:
    """Σ |x − b| / size, within the range of float32."""
    from sklearn.metrics.pairwise import manhattan_distances

    return _in_units(manhattan_distances(plain(X), plain(points.X)), points, dtype)


def _chi2_distance(kernel: PairKernel, X: Matrix, points: Points, dtype: Precision) -> Values:
    """Σ (x − b)² / (x + b) = Σ x + Σ b − 2 Σ 2xb/(x + b), with the last sum computed by the core; divided by size."""
    sums = [np.asarray(part.sum(axis=1, dtype=np.float64)).ravel() for part in (X, points.X)]
    distance = sums[0][:, None] + sums[1] - 2.0 * kernels.Chi2()(X, points.X)
    return _in_units(np.maximum(distance, 0.0, out=distance), points, dtype)


def _in_units(distance: Array, points: Points, dtype: Precision) -> Values:
    with np.errstate(over="ignore"):  # infinitely far
        return (distance / points.size).astype(dtype, copy=False)


def _dot(kernel: PairKernel, X: Matrix, points: Points, dtype: Precision) -> Values:
    return points.products(X, dtype)


def _affine(kernel: PairKernel, base: Values, points: Points) -> Values:
    base *= base.dtype.type(np.clip(kernel.gamma * points.size**2, 1e-30, 1e30))
    base += base.dtype.type(kernel.coef0)
    return base


def _power(kernel: PairKernel, base: Values, points: Points) -> Values:
    return np.power(_affine(kernel, base, points), base.dtype.type(kernel.degree), out=base)


def _tanh(kernel: PairKernel, base: Values, points: Points) -> Values:
    return np.tanh(_affine(kernel, base, points), out=base)


def _function(kernel: PairKernel, X: Matrix, points: Points, dtype: Precision) -> Values:
    assert kernel.function is not None
    gram = kernel.function(plain(X), plain(points.X))
    gram = gram.toarray() if is_sparse(gram) else np.asarray(gram)
    if gram.shape != (X.shape[0], len(points)):
        raise ValueError(
            f"kernel: the function must return a matrix of {X.shape[0]} rows and {len(points)} columns, one entry per "
            f"pair of rows; it returned shape {gram.shape}."
        )
    return gram.astype(dtype)  # a copy: it is overwritten


def _multiple(kernel: PairKernel, base: Values, points: Points) -> Values:
    base *= base.dtype.type(kernel.gamma)
    return base


FORMS: dict[str, tuple[Callable[..., Values], Callable[..., Values]]] = {
    "rbf": (_distance, _rbf),
    "laplacian": (_manhattan, _exponential),
    "exp-chi2": (_chi2_distance, _exponential),
    "poly": (_dot, _power),
    "sigmoid": (_dot, _tanh),
    "factor": (_function, _multiple),
}

# The keys of sklearn.metrics.pairwise.PAIRWISE_KERNEL_FUNCTIONS, which takes half a second to import.
SCIKIT_LEARN_NAMES = {
    *("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid"),
}
# Names that NystromSVC and NystromMap take.
NAMES = sorted((set(FORMS) - {"factor"} | set(kernels.BY_NAME) | SCIKIT_LEARN_NAMES) - _REFUSED)


def get(kernel: KernelLike, degree: float = 3.0, coef0: float = 1.0) -> PairKernel:
    """The kernel of a name, a `kernels` object or a function of two matrices. γ is set later.

    Names of this library take precedence: "chi2" is its additive kernel, scikit-learn's "chi2" is "exp-chi2" here.
    """
    kernel = _ALIASES.get(kernel, kernel) if isinstance(kernel, str) else kernel
    if isinstance(kernel, str) and kernel in FORMS:
        return PairKernel(kernel, degree=degree, coef0=coef0, nonnegative_for=kernel if kernel == "exp-chi2" else "")
    if isinstance(kernel, str) and kernel not in kernels.BY_NAME:
        return PairKernel("factor", function=ScikitLearn(kernel))
    if isinstance(kernel, str):
        kernel = kernels.get(kernel)
    nonnegative_for = kernel.name if isinstance(kernel, kernels.AdditiveKernel) and kernel.nonnegative else ""
    return PairKernel("factor", function=kernel, nonnegative_for=nonnegative_for)


@dataclass(frozen=True)
class ScikitLearn:
    """One of scikit-learn's pairwise kernels; a class, so that it can be pickled."""

    name: str

    def __call__(self, X: Matrix, Y: Matrix) -> Values:
        """Return the Gram matrix."""
        from sklearn.metrics.pairwise import pairwise_kernels

        return pairwise_kernels(X, Y, metric=self.name)
