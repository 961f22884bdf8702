"""Additive kernels: K(x, y) = Σ_j k(x_j, y_j), each given by its scalar formula.

A kernel object is used in two ways. ``kernel.scalar(u, v)`` is the formula on numbers, from which every approximation
builds its tables. ``kernel(X, Y)`` is the exact Gram matrix, usable as ``sklearn.svm.SVC(kernel=kernels.Chi2())``.

All kernels except the linear one are defined on non-negative numbers, are zero if either argument is, k(0, v) = 0, and
are homogeneous: k(su, sv) = s·k(u, v) (the linear one: s²). So zeros cost nothing, and one table on [0, 1] serves
features of any range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .array_types import Array, MatrixLike
from .gram import gram_matrix


@dataclass(frozen=True)
class AdditiveKernel:
    """Base of all kernels. A subclass defines `scalar`; `n_jobs` threads compute its Gram matrices (None: one).

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads that compute a Gram matrix. None is one, -1 all.

    Examples
    --------
    >>> from kernline import kernels
    >>> isinstance(kernels.Chi2(), kernels.AdditiveKernel), kernels.Chi2().name
    (True, 'chi2')
    """

    n_jobs: int | None = field(default=None, kw_only=True)

    name: ClassVar[str]
    nonnegative: ClassVar[bool] = True  # defined for values >= 0 only
    in_core: ClassVar[bool] = False  # whether `gram_matrix` knows a faster way than the formula

    @property
    def homogeneous(self) -> bool:
        """Whether k(su, sv) = s·k(u, v): then a feature's scale is one multiplier."""
        return True

    @property
    def native_name(self) -> str | None:
        """Name of a faster way to compute the Gram matrix (gram.py), or None for the formula."""
        return self.name if self.in_core else None

    def scalar(self, u: ArrayLike, v: ArrayLike) -> Array:
        """k(u, v), elementwise with broadcasting."""
        raise NotImplementedError(f"{type(self).__name__} must define scalar(u, v)")

    def companion(self, u: Array) -> Array:
        """What the core's loop needs from each value alone, computed once per value instead of once per pair."""
        return u

    def __call__(self, X: MatrixLike, Y: MatrixLike | None = None) -> Array:
        """Return the exact Gram matrix, (rows of X) × (rows of Y); dense or sparse input."""
        return gram_matrix(self, X, Y)


@dataclass(frozen=True)
class Linear(AdditiveKernel):
    """k(u, v) = uv, for values of either sign.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads that compute a Gram matrix. None is one, -1 all.

    Examples
    --------
    >>> from kernline import kernels
    >>> float(kernels.Linear().scalar(0.5, -4.0))
    -2.0
    """

    name: ClassVar[str] = "linear"
    in_core: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = False

    @property
    def homogeneous(self) -> bool:
        """False: its degree is two."""
        return False

    def scalar(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return uv."""
        return np.multiply(u, v, dtype=np.float64)


@dataclass(frozen=True)
class Chi2(AdditiveKernel):
    """k(u, v) = 2uv / (u + v): the chi-squared kernel, the harmonic mean.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads that compute a Gram matrix. None is one, -1 all.

    Examples
    --------
    >>> from kernline import kernels
    >>> float(kernels.Chi2().scalar(1.0, 3.0))
    1.5
    >>> kernels.Chi2()([[1.0, 2.0]], [[3.0, 2.0]])  # the Gram matrix of exact values
    array([[3.5]])
    """

    name: ClassVar[str] = "chi2"
    in_core: ClassVar[bool] = True

    def scalar(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return 2uv / (u + v), and 0 where both are 0."""
        u, v = _pair(u, v)
        total = u + v
        return 2.0 * u * np.divide(v, total, out=np.zeros_like(total), where=total > 0.0)


@dataclass(frozen=True)
class Intersection(AdditiveKernel):
    """k(u, v) = min(u, v): the histogram intersection kernel. Its curves are piecewise linear.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads that compute a Gram matrix. None is one, -1 all.

    Examples
    --------
    >>> from kernline import kernels
    >>> float(kernels.Intersection().scalar(1.0, 3.0))
    1.0
    """

    name: ClassVar[str] = "intersection"
    in_core: ClassVar[bool] = True

    def scalar(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return min(u, v)."""
        return np.minimum(*_pair(u, v))


@dataclass(frozen=True)
class Hellinger(AdditiveKernel):
    """k(u, v) = √(uv): the Hellinger (Bhattacharyya) kernel, the linear kernel of square roots.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads that compute a Gram matrix. None is one, -1 all.

    Examples
    --------
    >>> from kernline import kernels
    >>> float(kernels.Hellinger().scalar(1.0, 4.0))
    2.0
    """

    name: ClassVar[str] = "hellinger"
    in_core: ClassVar[bool] = True

    def scalar(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return √(uv), without overflow."""
        u, v = _pair(u, v)
        return np.sqrt(u) * np.sqrt(v)


@dataclass(frozen=True)
class JensenShannon(AdditiveKernel):
    """k(u, v) = (u/2) log₂((u + v)/u) + (v/2) log₂((u + v)/v).

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads that compute a Gram matrix. None is one, -1 all.

    Examples
    --------
    >>> from kernline import kernels
    >>> float(kernels.JensenShannon().scalar(1.0, 1.0))
    1.0
    """

    name: ClassVar[str] = "js"
    in_core: ClassVar[bool] = True

    def scalar(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the formula, and its limit 0 where either argument is 0."""
        u, v = _pair(u, v)
        smaller, larger = np.minimum(u, v), np.maximum(u, v)
        both = smaller > 0.0
        # with r = min/max ≤ 1 it is max/2 · ((1 + r) log₂(1 + r) − r log₂ r), which loses no digits
        r = np.divide(smaller, larger, out=np.zeros_like(larger), where=both)
        log_r = np.log(np.where(both, smaller, 1.0)) - np.log(np.where(both, larger, 1.0))
        return larger * ((1.0 + r) * np.log1p(r) - r * log_r) / np.log(4.0)

    def companion(self, u: Array) -> Array:
        """Return log₂ u, and 0 for 0."""
        return np.log2(np.where(u > 0.0, u, 1.0))


@dataclass(frozen=True)
class PowerMean(AdditiveKernel):
    """k(u, v) = ((uᵖ + vᵖ)/2)^(1/p), positive definite for −∞ ≤ p ≤ 0 (Wu, CVPR 2012).

    The limits are exact: p = 0 is the Hellinger kernel, −1 chi2, −∞ the intersection.

    Parameters
    ----------
    p : float, default=-8.0
        Exponent, at most 0.

    n_jobs : int or None, default=None
        Threads that compute a Gram matrix. None is one, -1 all.

    Examples
    --------
    >>> from kernline import kernels
    >>> float(kernels.PowerMean(-1.0).scalar(1.0, 3.0)) == float(kernels.Chi2().scalar(1.0, 3.0))
    True
    """

    p: float = -8.0

    name: ClassVar[str] = "power_mean"

    def __post_init__(self) -> None:
        """Check that p gives a kernel."""
        if not self.p <= 0.0:
            raise ValueError(
                f"PowerMean is positive definite for p <= 0 only; got p={self.p}. "
                "Try p=-1 (chi2), p=-8, or p=float('-inf') (intersection)."
            )

    @property
    def native_name(self) -> str | None:
        """The core's loop. Special cases have their own; near p = 0 the formula needs more care."""
        if -1e-3 < self.p < 0.0:
            return None
        return {0.0: "hellinger", -1.0: "chi2", -math.inf: "intersection"}.get(self.p, "power_mean")

    def scalar(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return min·((1 + r⁻ᵖ)/2)^(1/p) with r = min/max: the same mean, in which no power overflows."""
        if self.p == 0.0:
            return Hellinger().scalar(u, v)
        if self.p == -1.0:
            return Chi2().scalar(u, v)
        u, v = _pair(u, v)
        smaller, larger = np.minimum(u, v), np.maximum(u, v)
        if self.p == -math.inf:
            return smaller
        ratio = np.divide(smaller, larger, out=np.zeros_like(larger), where=larger > 0.0)
        if self.p > -1e-3:
            # √(uv) cosh(z)^(1/p) with z = p/2 · ln(u/v): the mean again, and ln cosh z = z²/2 − z⁴/12 for the small z
            z = 0.5 * self.p * np.log(np.where(ratio > 0.0, ratio, 1.0))
            return np.sqrt(u) * np.sqrt(v) * np.exp((z**2 / 2.0 - z**4 / 12.0) / self.p)
        return np.where(smaller > 0.0, smaller * (0.5 + 0.5 * ratio**-self.p) ** (1.0 / self.p), 0.0)

    def companion(self, u: Array) -> Array:
        """Return log₂ u, and 0 for 0 (where the kernel is zero anyway)."""
        return np.log2(np.where(u > 0.0, u, 1.0))


@dataclass(frozen=True)
class Custom(AdditiveKernel):
    """Your own kernel, from a NumPy function of two non-negative arrays.

    The function must broadcast, be symmetric, be zero if either argument is 0, and be positive definite. This is
    checked on a grid in [0, 1]. If it is homogeneous, k(2u, 2v) = 2·k(u, v), the kernel is that of the raw values; if
    not, ``AdditiveSVC`` applies it to the values scaled to [0, 1].

    Parameters
    ----------
    function : callable
        k(u, v) of two arrays that broadcast.

    n_jobs : int or None, default=None
        Threads that compute a Gram matrix. None is one, -1 all.

    Examples
    --------
    >>> import numpy as np
    >>> from kernline import kernels
    >>> harmonic = kernels.Custom(lambda u, v: 2 * u * v / np.maximum(u + v, 1e-300))
    >>> harmonic.homogeneous
    True
    """

    function: Callable[[Array, Array], Array]

    name: ClassVar[str] = "custom"

    def __post_init__(self) -> None:
        """Check the function on a grid."""
        u = np.linspace(0.0, 1.0, 33)
        gram = self.scalar(u[:, None], u[None, :])
        if gram.shape != (33, 33) or not np.isfinite(gram).all():
            raise ValueError(
                "Custom: the function must broadcast, and be finite for values in [0, 1]; on a 33 × 33 grid it gave "
                f"shape {gram.shape}{'' if np.isfinite(gram).all() else ' with values that are not finite'}."
            )
        size = np.abs(gram).max() or 1.0
        if np.abs(gram[0]).max() > 1e-9 * size or np.abs(gram - gram.T).max() > 1e-9 * size:
            raise ValueError(
                "Custom: the function must be symmetric, and zero if either argument is, k(0, v) = 0, so that zeros "
                "cost nothing. Subtract k(0, 0), k(u, 0) and k(0, v) suitably, or use sklearn.svm.SVC for this kernel."
            )
        if np.linalg.eigvalsh(gram).min() < -1e-6 * size:
            raise ValueError("Custom: the function is not positive definite on [0, 1], so it is not a kernel.")

    @property
    def homogeneous(self) -> bool:
        """Whether doubling both arguments doubles the value, on a grid."""
        u = np.linspace(0.0, 0.5, 17)
        small, large = self.scalar(u[:, None], u[None, :]), self.scalar(2 * u[:, None], 2 * u[None, :])
        return bool(np.allclose(large, 2.0 * small, rtol=1e-6, atol=1e-12))

    def scalar(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return function(u, v)."""
        return np.asarray(self.function(*_pair(u, v)), dtype=np.float64)


def _pair(u: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    return np.asarray(u, dtype=np.float64), np.asarray(v, dtype=np.float64)


BY_NAME: dict[str, type[AdditiveKernel]] = {
    kernel.name: kernel for kernel in (Linear, Chi2, Intersection, Hellinger, JensenShannon, PowerMean)
}


def get(kernel: str | AdditiveKernel, p: float = -8.0) -> AdditiveKernel:
    """The kernel object of a name; only "power_mean" uses `p`. Objects pass through."""
    if isinstance(kernel, AdditiveKernel):
        return kernel
    if kernel == "power_mean":
        return PowerMean(p)
    if kernel in BY_NAME:
        return BY_NAME[kernel]()
    raise ValueError(
        f"kernel={kernel!r} is not known. Choose one of {sorted(BY_NAME)}, or pass an object of kernline.kernels "
        "(kernels.Custom(function) takes your own)."
    )
