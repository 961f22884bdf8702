"""Explicit feature maps, k(u, v) ≈ Φ(u)·Φ(v): read and write are the same table. The papers compare with these."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..array_types import Array
from ..kernels import AdditiveKernel
from .knots import CROWDED
from .table import CodeGrid, DenseTable, TablePair

ANY_KERNEL = "'hats', 'plame', 'pmsvm', 'pmsvm-lut' or 'low-dim'"


def explicit_pair(features: Array, grid: CodeGrid) -> TablePair:
    """The pair (Φ, Φ), with one row of `features` per code."""
    table = DenseTable.of(features)
    return TablePair(read=table, write=table, symmetric=True, grid=grid, curvature=(table.as_rows() ** 2).sum(axis=1))


def _bins(count: int) -> CodeGrid:
    if not 2 <= count <= 65535:
        raise ValueError(f"bins must be between 2 and 65535; got {count}.")
    return CodeGrid.nearest(np.linspace(0.0, 1.0, count + 1))


# The period Λ of the signature by order n, fitted by the authors for their window (Vedaldi and Zisserman, section 5).
_PERIODS = {
    "chi2": lambda n: 8.80 * math.sqrt(n + 4.44) - 12.6,
    "js": lambda n: 9.63 * math.sqrt(n + 1.00) - 2.93,
    "intersection": lambda n: 2.00 * math.log(n + 0.99) + 3.52,
}


@dataclass(frozen=True)
class HomogeneousMap:
    """The homogeneous kernel map: the kernel's signature as a Fourier series with 2n + 1 terms.

    A homogeneous kernel is √(uv) 𝒦(ln v − ln u). Repeated with period Λ, 𝒦 is a Fourier series, whose coefficients κ_j
    give Φ(u) = √u (√κ_0, √(2κ_j) cos(jL ln u), √(2κ_j) sin(jL ln u)), j = 1..n, L = 2π/Λ. The period is the authors'
    for chi2, js and intersection, or `period`. The Hellinger kernel is exact with one term. Values are looked up in
    `bins` bins.

    Vedaldi and Zisserman, "Efficient additive kernels via explicit feature maps", IEEE TPAMI 2012.

    Parameters
    ----------
    order : int, default=1
        Frequencies; a value becomes 2 · order + 1 numbers.

    bins : int, default=1000
        Number of distinct values.

    period : float or None, default=None
        Period of the series; None is the authors' choice.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVC, tables
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVC("chi2", tables.HomogeneousMap(order=3)).fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.8
    True
    """

    order: int = 1
    bins: int = 1000
    period: float | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 <= self.order <= 100:
            raise ValueError(f"order must be between 0 and 100; got {self.order}.")
        if self.period is not None and not 0.0 < self.period < math.inf:
            raise ValueError(f"period must be positive; got {self.period}.")

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables for `kernel`."""
        if not kernel.homogeneous:
            raise ValueError(
                f"approximation='feature-map' needs a homogeneous kernel, and {kernel.name} is not one. For any "
                f"kernel, use {ANY_KERNEL}."
            )
        grid = _bins(self.bins)
        return explicit_pair(self.features(kernel, grid.values), grid)

    def features(self, kernel: AdditiveKernel, u: Array) -> Array:
        """Return Φ(u), one row per value."""
        if kernel.scalar(0.25, 1.0) == 0.5 and kernel.scalar(1e-4, 1.0) == 1e-2:
            return np.sqrt(u)[:, None]  # Hellinger: the signature is constant
        period = self._period(kernel)
        coefficients = self._coefficients(kernel, period)
        phase = np.arange(1, self.order + 1) * (2.0 * np.pi / period) * np.log(np.where(u > 0.0, u, 1.0))[:, None]
        waves = np.stack([np.cos(phase), np.sin(phase)], axis=2) * np.sqrt(2.0 * coefficients[1:, None])
        constant = np.full((u.size, 1), np.sqrt(coefficients[0]))
        return np.sqrt(u)[:, None] * np.concatenate([constant, waves.reshape(u.size, -1)], axis=1)

    def _period(self, kernel: AdditiveKernel) -> float:
        if self.period is not None:
            return self.period
        name = kernel.native_name if kernel.native_name != "power_mean" else None
        p = getattr(kernel, "p", None)
        if name is None and p is not None and p <= -4.0:
            name = "intersection"  # the papers use p = -8 for it
        if name not in _PERIODS:
            raise ValueError(
                f"approximation='feature-map' knows the period for {', '.join(_PERIODS)} and hellinger; for "
                f"{kernel.name} pass tables.HomogeneousMap(period=...), or use {ANY_KERNEL}."
            )
        return _PERIODS[name](max(self.order, 1))

    def _coefficients(self, kernel: AdditiveKernel, period: float) -> Array:
        """κ_j = (1/Λ) ∫ 𝒦(λ) cos(jLλ) dλ over one period; negative values, from truncating 𝒦, become zero."""
        nodes, weights = np.polynomial.legendre.leggauss(400)
        lam = 0.25 * period * (nodes + 1.0)  # half a period; 𝒦 is even, and may have its corner at 0
        signature = kernel.scalar(np.exp(0.5 * lam), np.exp(-0.5 * lam))
        waves = np.cos(np.arange(self.order + 1)[:, None] * (2.0 * np.pi / period) * lam)
        return np.maximum(waves @ (0.5 * weights * signature), 0.0)


@dataclass(frozen=True)
class ChebyshevMap:
    """The Chebyshev series of the chi2 kernel, with `components` terms.

    chi2 is √(uv) ∫ e^{iω(ln u − ln v)} sech(πω) dω. With t = tanh(πω) the measure is the Chebyshev weight,
    sech(πω) dω = dt / (π √(1 − t²)), so √u e^{iω ln u} is expanded in Chebyshev polynomials T_k(t): Φ_k(u) is the real
    part of the coefficient for even k, the imaginary part for odd k. No period is imposed on the kernel.

    Li, Lebanon, Sminchisescu, "Chebyshev approximations to the histogram χ² kernel", CVPR 2012.

    Parameters
    ----------
    components : int, default=7
        Dimensions of the map.

    bins : int, default=1000
        Number of distinct values.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVC, tables
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVC("chi2", tables.ChebyshevMap(5)).fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.8
    True
    """

    components: int = 7
    bins: int = 1000

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 1 <= self.components <= 200:
            raise ValueError(f"components must be between 1 and 200; got {self.components}.")

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables; the kernel must be chi2."""
        if kernel.native_name != "chi2":
            raise ValueError(
                f"approximation='chebyshev' is a series of the chi2 kernel, not of {kernel.name}. 'feature-map' also "
                f"takes intersection, js and hellinger; for any kernel, use {ANY_KERNEL}."
            )
        grid = _bins(self.bins)
        return explicit_pair(self.features(grid.values), grid)

    def features(self, u: Array) -> Array:
        """Φ(u) by the trapezoidal rule in ω, which converges geometrically for this integrand."""
        omega, step = np.linspace(-14.0, 14.0, 1121, retstep=True)
        weight = step / np.cosh(np.pi * omega)
        theta = np.pi / 2.0 - np.arctan(np.sinh(np.pi * omega))  # cos θ = tanh(πω)
        k = np.arange(self.components)
        basis = np.where(k[:, None] > 0, np.sqrt(2.0), 1.0) * np.cos(k[:, None] * theta) * weight
        phase = np.log(np.where(u > 0.0, u, 1.0))[:, None] * omega
        even, odd = np.cos(phase) @ basis[0::2].T, np.sin(phase) @ basis[1::2].T
        features = np.empty((u.size, self.components))
        features[:, 0::2], features[:, 1::2] = even, odd
        return np.sqrt(u)[:, None] * features


@dataclass(frozen=True)
class LowDimensionalMap:
    """The best map with `components` dimensions: eigenfunctions of the kernel on [0, 1].

    It is fitted on the codes: the leading eigenvectors of the Gram matrix of `bins` values, weighted by the density
    that the spacing of the values implies, give the map whose products have the least mean square error. Takes any
    kernel.

    Chum, "Low dimensional explicit feature maps", ICCV 2015.

    Parameters
    ----------
    components : int, default=7
        Dimensions of the map.

    bins : int, default=255
        Number of distinct values.

    spacing : float, default=2
        Power of an even spacing (2 crowds the knots near zero, 1 is even), of the codes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVC, tables
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVC("chi2", tables.LowDimensionalMap(5)).fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.8
    True
    """

    components: int = 7
    bins: int = 255
    spacing: float = CROWDED

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 1 <= self.components < min(self.bins, 65535):
            raise ValueError(f"components must be between 1 and bins - 1 = {self.bins - 1}; got {self.components}.")

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables for `kernel`."""
        grid = CodeGrid.nearest(np.linspace(0.0, 1.0, self.bins + 1) ** self.spacing)
        gram = kernel.scalar(grid.values[:, None], grid.values[None, :])
        values, vectors = np.linalg.eigh(gram)
        leading = slice(None, -self.components - 1, -1)
        return explicit_pair(vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0.0)), grid)


@dataclass(frozen=True)
class QuantisedIntersection:
    """libHIK: values are rounded down to integers 0..levels, on which min(u, v) is a product of thermometer codes.

    Φ(u) has ⌊levels·u⌋ ones, scaled so that min(1, 1) = 1. Takes the intersection kernel only.

    Wu, "A fast dual method for HIK SVM learning", ECCV 2010.

    Parameters
    ----------
    levels : int, default=3
        Steps of [0, 1] into which values are rounded.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVC, tables
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVC("intersection", tables.QuantisedIntersection(50)).fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.8
    True
    """

    levels: int = 3

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 1 <= self.levels <= 255:
            raise ValueError(f"levels must be between 1 and 255; got {self.levels}.")

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables; the kernel must be the intersection (or the power mean that stands in for it)."""
        if kernel.native_name != "intersection":
            raise ValueError(
                f"approximation='hik' is the quantised intersection kernel, not {kernel.name}. For any kernel, use "
                f"{ANY_KERNEL}."
            )
        level = np.arange(self.levels + 1)
        thermometer = (level[:, None] > level[None, :-1]) / np.sqrt(self.levels)
        return explicit_pair(thermometer, CodeGrid(level / self.levels, level[1:] / self.levels))
