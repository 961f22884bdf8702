"""Kernels of any kind between rows and landmarks: K(x, b) = curve(base(x, b)).

The base is what costs, a product or a distance of two rows; the curve has the parameters in it. So a search over γ
computes the base once. Products and distances are float32, by one matrix product:

    ‖x − b‖² = ‖x‖² + ‖b‖² − 2 x·b

after both were moved to the landmarks' mean and scaled to their size, so that no digits are lost on data that lies far
from the origin, and nothing overflows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, manhattan_distances, pairwise_kernels

from . import kernels

Array = NDArray[np.float64]
Values = NDArray[np.float32]

# scikit-learn has two names for one.
_ALIASES = {"polynomial": "poly"}
# Scaled values are cut off here: the squares of a row still add up in float32, and such a row is far from everything.
_FARTHEST = 1e15
# Landmarks of sparse rows are written out up to so many values, where products with them are several times faster.
_DENSE_VALUES = 100_000_000
# Share of values that are not zero above which sparse rows are.
_SPARSE_BELOW = 0.1


@dataclass(frozen=True)
class Points:
    """Landmarks: the rows `X`, dense or CSR, and what products and distances want to know of them.

    `centred`: move to their mean before distances are taken, for rows that are dense.
    """

    X: Any
    centred: bool = True

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, rows: Any) -> Points:
        return Points(self.X[rows], self.centred)

    def squared_distances(self, X: Any) -> Values:
        """‖x − b‖² / unit²."""
        columns, norms = self._moved
        X = _scaled(X, self.center, self.unit)
        out = _product(X, columns)
        out *= np.float32(-2.0)
        out += _squared_norms(X)[:, None]
        out += norms
        return np.maximum(out, 0.0, out=out)

    def products(self, X: Any) -> Values:
        """x·b / size²."""
        return _product(_scaled(X, None, self.size), self._raw)

    @cached_property
    def center(self) -> Array | None:
        """The mean of the landmarks, to float32: rows of either precision are moved by the same."""
        return self.X.mean(axis=0).astype(np.float32).astype(np.float64) if self.centred else None

    @cached_property
    def unit(self) -> float:
        """Their size seen from the centre: 1 in the values that are multiplied."""
        return _largest(self.X) if self.center is None else _largest(self.X - self.center)

    @cached_property
    def size(self) -> float:
        """Their largest magnitude."""
        return _largest(self.X)

    @cached_property
    def _moved(self) -> tuple[Any, Values]:
        moved = _scaled(self.X, self.center, self.unit)
        return _columns(moved), _squared_norms(moved)

    @cached_property
    def _raw(self) -> Any:
        return _columns(_scaled(self.X, None, self.size))

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X, "centred": self.centred}


def _largest(X: Any) -> float:
    return float(np.abs(X.data if sp.issparse(X) else X).max(initial=0.0)) or 1.0


def _scaled(X: Any, center: Array | None, unit: float) -> Any:
    """(x − center) / unit in float32. Sparse rows with many values are written out: matrix products are faster then."""
    if sp.issparse(X):
        if center is None and X.nnz <= _SPARSE_BELOW * X.shape[0] * X.shape[1]:
            values = np.clip(X.data * (1.0 / unit), -_FARTHEST, _FARTHEST).astype(np.float32)
            return sp.csr_array((values, X.indices, X.indptr), shape=X.shape)
        X = X.toarray()
    kind = np.float32 if X.dtype == np.float32 and 1e-30 < unit < 1e30 else np.float64
    scaled = X * kind(1.0 / unit) if center is None else (X - center.astype(kind)) * kind(1.0 / unit)
    return np.clip(scaled, -_FARTHEST, _FARTHEST, out=scaled).astype(np.float32, copy=False)


def _columns(scaled: Any) -> Any:
    """The transpose, as products like it; sparse only if it would be too large otherwise."""
    if sp.issparse(scaled):
        if scaled.shape[0] * scaled.shape[1] > _DENSE_VALUES:
            return scaled.T.tocsr()
        scaled = scaled.toarray()
    return np.ascontiguousarray(scaled.T)


def _product(X: Any, columns: Any) -> Values:
    product = X @ columns
    return np.asarray(product.toarray() if sp.issparse(product) else product, dtype=np.float32)


def _squared_norms(X: Any) -> Values:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel()
    return np.einsum("ij,ij->i", X, X)


@dataclass(frozen=True)
class PairKernel:
    """One of the names below, an additive kernel, or a function of the user's own; `gamma` as for NystromSVC."""

    kind: str  # a key of _FORMS
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 1.0
    function: Callable[[Any, Any], Any] | None = None
    nonnegative_for: str = ""  # the kernel's name, if it refuses negative values

    def __call__(self, X: Any, points: Points) -> Values:
        """K(x_i, b_j) in float32, (rows of X) × (landmarks)."""
        return self.curve(self.base(X, points), points)

    def base(self, X: Any, points: Points) -> Values:
        """What does not depend on gamma, degree and coef0."""
        return _FORMS[self.kind][0](self, X, points)

    def curve(self, base: Values, points: Points) -> Values:
        """K from its base, which is overwritten."""
        return _FORMS[self.kind][1](self, base, points)

    def diagonal(self, X: Any) -> Array:
        """K(x_i, x_i)."""
        blocks = [X[begin : begin + 64] for begin in range(0, X.shape[0], 64)]
        return np.concatenate([np.diagonal(self(block, Points(block, centred=False))) for block in blocks])

    def with_gamma(self, gamma: float) -> PairKernel:
        """The same kernel of another γ."""
        return replace(self, gamma=gamma)

    def scale(self, X: Any, sample: Any) -> float:
        """γ for gamma="scale", from all rows X or from a `sample` of them.

        1 / (n_features · Var X) as for scikit-learn's SVC; where the base is another distance, 1 over its mean; where
        there is no width, so that the mean of K(x, x) is one.
        """
        if self.kind in ("rbf", "poly", "sigmoid"):
            return _positive(1.0, X.shape[1] * _variance(X))
        if self.kind == "factor":
            return _positive(1.0, float(self.with_gamma(1.0).diagonal(sample).mean()))
        return _positive(1.0, float(self.base(sample, Points(sample, centred=False)).mean()))


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


def _distance(kernel: PairKernel, X: Any, points: Points) -> Values:
    return points.squared_distances(X)


def _rbf(kernel: PairKernel, base: Values, points: Points) -> Values:
    return _decay(base, kernel.gamma * points.unit**2)


def _decay(base: Values, rate: float) -> Values:
    base *= np.float32(-min(rate, 1e30))
    return np.exp(base, out=base)


def _exponential(kernel: PairKernel, base: Values, points: Points) -> Values:
    return _decay(base, kernel.gamma)


def _manhattan(kernel: PairKernel, X: Any, points: Points) -> Values:
    return manhattan_distances(X, points.X).astype(np.float32)


def _chi2_distance(kernel: PairKernel, X: Any, points: Points) -> Values:
    """Σ (x − b)² / (x + b) = Σ x + Σ b − 2 Σ 2xb/(x + b), the last sum by the core."""
    sums = [np.asarray(part.sum(axis=1), dtype=np.float64).ravel() for part in (X, points.X)]
    distance = sums[0][:, None] + sums[1] - 2.0 * kernels.Chi2()(X, points.X)
    return np.maximum(distance, 0.0, out=distance).astype(np.float32)


def _dot(kernel: PairKernel, X: Any, points: Points) -> Values:
    return points.products(X)


def _affine(kernel: PairKernel, base: Values, points: Points) -> Values:
    base *= np.float32(np.clip(kernel.gamma * points.size**2, 1e-30, 1e30))
    base += np.float32(kernel.coef0)
    return base


def _power(kernel: PairKernel, base: Values, points: Points) -> Values:
    return np.power(_affine(kernel, base, points), np.float32(kernel.degree), out=base)


def _tanh(kernel: PairKernel, base: Values, points: Points) -> Values:
    return np.tanh(_affine(kernel, base, points), out=base)


def _function(kernel: PairKernel, X: Any, points: Points) -> Values:
    assert kernel.function is not None
    gram = np.asarray(kernel.function(X, points.X))
    if gram.shape != (X.shape[0], len(points)):
        raise ValueError(
            f"kernel: the function must return a matrix of {X.shape[0]} rows and {len(points)} columns, one entry a "
            f"pair of rows; it returned shape {gram.shape}."
        )
    return gram.astype(np.float32)


def _multiple(kernel: PairKernel, base: Values, points: Points) -> Values:
    base *= np.float32(kernel.gamma)
    return base


_FORMS: dict[str, tuple[Callable[..., Values], Callable[..., Values]]] = {
    "rbf": (_distance, _rbf),
    "laplacian": (_manhattan, _exponential),
    "exp-chi2": (_chi2_distance, _exponential),
    "poly": (_dot, _power),
    "sigmoid": (_dot, _tanh),
    "factor": (_function, _multiple),
}

# Names that NystromSVC and NystromMap take.
NAMES = sorted((set(_FORMS) - {"factor"}) | set(kernels.BY_NAME) | set(PAIRWISE_KERNEL_FUNCTIONS))


def get(kernel: Any, degree: float = 3.0, coef0: float = 1.0) -> PairKernel:
    """The kernel of a name, a `kernels` object or a function of two matrices; γ is still to be set.

    Names of this library come first: "chi2" is its additive kernel, scikit-learn's "chi2" is "exp-chi2" here.
    """
    kernel = _ALIASES.get(kernel, kernel) if isinstance(kernel, str) else kernel
    if isinstance(kernel, str) and kernel in _FORMS:
        return PairKernel(kernel, degree=degree, coef0=coef0, nonnegative_for=kernel if kernel == "exp-chi2" else "")
    if isinstance(kernel, str) and kernel not in kernels.BY_NAME:
        return PairKernel("factor", function=_ScikitLearn(kernel))
    if isinstance(kernel, str):
        kernel = kernels.get(kernel)
    return PairKernel(
        "factor", function=kernel, nonnegative_for=kernel.name if getattr(kernel, "nonnegative", False) else ""
    )


@dataclass(frozen=True)
class _ScikitLearn:
    """One of scikit-learn's pairwise kernels; a class, so that it can be pickled."""

    name: str

    def __call__(self, X: Any, Y: Any) -> Any:
        return pairwise_kernels(X, Y, metric=self.name)
