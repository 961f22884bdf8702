"""Kernels of any kind between rows and landmarks: K(x, b) = curve(base(x, b)).

The base is what costs, a product or a distance of two rows; the curve has the parameters in it. So a search over γ
computes the base once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import kernels
from .points import Points, Precision, Values, plain

Array = NDArray[np.float64]

# scikit-learn has two names for one.
_ALIASES = {"polynomial": "poly"}
# One that is zero at K(x, x), and so no kernel for landmarks.
_REFUSED = {"additive_chi2"}
# γ ‖x‖² at which a rounding of float32 changes K by about 10⁻⁴.
_COARSEST = 1e3


@dataclass(frozen=True)
class PairKernel:
    """One of the names below, an additive kernel, or a function of the user's own; `gamma` as for NystromSVC."""

    kind: str  # a key of FORMS
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 1.0
    function: Callable[[Any, Any], Any] | None = None
    nonnegative_for: str = ""  # the kernel's name, if it refuses negative values

    def __call__(self, X: Any, points: Points, dtype: Precision = np.float32) -> Values:
        """K(x_i, b_j), (rows of X) × (landmarks)."""
        return self.curve(self.base(X, points, self.precision(points, dtype)), points).astype(dtype, copy=False)

    def base(self, X: Any, points: Points, dtype: Precision = np.float32) -> Values:
        """What does not depend on gamma, degree and coef0."""
        return FORMS[self.kind][0](self, X, points, dtype)

    def precision(self, points: Points, dtype: Precision = np.float32) -> Precision:
        """What the base is computed in: float64, where the differences in float32 would show in K.

        ‖x‖² + ‖b‖² − 2 x·b is off by a rounding of its largest term, which a narrow kernel far from the centre
        magnifies.
        """
        if self.kind == "rbf" and self.gamma * points.unit**2 * points.largest_norm > _COARSEST:
            return np.float64
        return dtype

    def curve(self, base: Values, points: Points) -> Values:
        """K from its base, which is overwritten."""
        with np.errstate(over="ignore", invalid="ignore"):
            gram = FORMS[self.kind][1](self, base, points)
            if np.isfinite(gram.sum()):
                return gram
        raise ValueError(
            "kernel: K(x, b) is infinite or no number for some rows. Scale the data, or lower gamma or degree; a "
            "degree that is not a whole number takes products x·b that are not negative."
        )

    def diagonal(self, X: Any) -> Array:
        """K(x_i, x_i)."""
        if FORMS[self.kind][1] in (_rbf, _exponential):
            return np.ones(X.shape[0])
        blocks = [X[begin : begin + 64] for begin in range(0, X.shape[0], 64)]
        return np.concatenate([np.diagonal(self(block, Points.of(block), np.float64)) for block in blocks])

    def with_gamma(self, gamma: float) -> PairKernel:
        """The same kernel of another γ."""
        return replace(self, gamma=gamma)

    def scale(self, X: Any, sample: Any) -> float:
        """γ for gamma="scale", from all rows X or from a `sample` of them.

        1 / (n_features · Var X) as for scikit-learn's SVC; where the base is another distance, 1 over its mean; where
        there is no width, so that the mean of K(x, x) is one.
        """
        if self.kind in ("rbf", "poly", "sigmoid"):
            return svc_gamma(X)
        if self.kind == "factor":
            return _positive(1.0, float(self.with_gamma(1.0).diagonal(sample).mean()))
        return _positive(1.0, float(self.base(sample, Points.of(sample), np.float64).mean()))


def svc_gamma(X: Any) -> float:
    """1 / (n_features · Var X), what gamma="scale" is for scikit-learn's SVC."""
    return _positive(1.0, X.shape[1] * _variance(X))


def _positive(numerator: float, denominator: float) -> float:
    """The quotient, or 1 where there is none."""
    with np.errstate(all="ignore"):
        quotient = np.float64(numerator) / np.float64(denominator)
    return float(quotient) if np.isfinite(quotient) and quotient > 0.0 else 1.0


def _variance(X: Any) -> float:
    if not sp.issparse(X):
        return float(X.var(dtype=np.float64))
    mean = X.sum(dtype=np.float64) / (X.shape[0] * X.shape[1])
    squares = float(np.square(X.data, dtype=np.float64).sum()) / (X.shape[0] * X.shape[1])
    return squares - mean * mean


def _distance(kernel: PairKernel, X: Any, points: Points, dtype: Precision) -> Values:
    return points.squared_distances(X, dtype)


def _rbf(kernel: PairKernel, base: Values, points: Points) -> Values:
    return _decay(base, kernel.gamma * points.unit**2)


def _decay(base: Values, rate: float) -> Values:
    base *= base.dtype.type(-min(rate, 1e30))
    return np.exp(base, out=base)


def _exponential(kernel: PairKernel, base: Values, points: Points) -> Values:
    return _decay(base, kernel.gamma)


def _manhattan(kernel: PairKernel, X: Any, points: Points, dtype: Precision) -> Values:
    from sklearn.metrics.pairwise import manhattan_distances

    return manhattan_distances(plain(X), plain(points.X)).astype(dtype, copy=False)


def _chi2_distance(kernel: PairKernel, X: Any, points: Points, dtype: Precision) -> Values:
    """Σ (x − b)² / (x + b) = Σ x + Σ b − 2 Σ 2xb/(x + b), the last sum by the core."""
    sums = [np.asarray(part.sum(axis=1), dtype=np.float64).ravel() for part in (X, points.X)]
    distance = sums[0][:, None] + sums[1] - 2.0 * kernels.Chi2()(X, points.X)
    return np.maximum(distance, 0.0, out=distance).astype(dtype, copy=False)


def _dot(kernel: PairKernel, X: Any, points: Points, dtype: Precision) -> Values:
    return points.products(X, dtype)


def _affine(kernel: PairKernel, base: Values, points: Points) -> Values:
    base *= base.dtype.type(np.clip(kernel.gamma * points.size**2, 1e-30, 1e30))
    base += base.dtype.type(kernel.coef0)
    return base


def _power(kernel: PairKernel, base: Values, points: Points) -> Values:
    return np.power(_affine(kernel, base, points), base.dtype.type(kernel.degree), out=base)


def _tanh(kernel: PairKernel, base: Values, points: Points) -> Values:
    return np.tanh(_affine(kernel, base, points), out=base)


def _function(kernel: PairKernel, X: Any, points: Points, dtype: Precision) -> Values:
    assert kernel.function is not None
    gram = kernel.function(plain(X), plain(points.X))
    gram = gram.toarray() if sp.issparse(gram) else np.asarray(gram)
    if gram.shape != (X.shape[0], len(points)):
        raise ValueError(
            f"kernel: the function must return a matrix of {X.shape[0]} rows and {len(points)} columns, one entry a "
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


def get(kernel: Any, degree: float = 3.0, coef0: float = 1.0) -> PairKernel:
    """The kernel of a name, a `kernels` object or a function of two matrices; γ is still to be set.

    Names of this library come first: "chi2" is its additive kernel, scikit-learn's "chi2" is "exp-chi2" here.
    """
    kernel = _ALIASES.get(kernel, kernel) if isinstance(kernel, str) else kernel
    if isinstance(kernel, str) and kernel in FORMS:
        return PairKernel(kernel, degree=degree, coef0=coef0, nonnegative_for=kernel if kernel == "exp-chi2" else "")
    if isinstance(kernel, str) and kernel not in kernels.BY_NAME:
        return PairKernel("factor", function=ScikitLearn(kernel))
    if isinstance(kernel, str):
        kernel = kernels.get(kernel)
    return PairKernel(
        "factor", function=kernel, nonnegative_for=kernel.name if getattr(kernel, "nonnegative", False) else ""
    )


@dataclass(frozen=True)
class ScikitLearn:
    """One of scikit-learn's pairwise kernels; a class, so that it can be pickled."""

    name: str

    def __call__(self, X: Any, Y: Any) -> Any:
        """Return the Gram matrix."""
        from sklearn.metrics.pairwise import pairwise_kernels

        return pairwise_kernels(X, Y, metric=self.name)
