"""Merging two support vectors into one: the functions h(m, κ) and √(WD(m, κ)/2)/m, tabulated once.

The pair α φ(x) + β φ(x′), 0 < α ≤ β, becomes one term α_z φ(z) with z = h x + (1 − h) x′. With κ = k(x, x′) of the
Gaussian kernel and m = α / (α + β),

    k(x, z) = κ^((1−h)²),  k(x′, z) = κ^(h²),  s(h) = m κ^((1−h)²) + (1−m) κ^(h²),
    α_z = α k(x, z) + β k(x′, z) = (α + β) s(h),
    ‖Δ‖² = α² + β² + 2αβκ − α_z² = (α + β)² WD,   WD = m² + (1−m)² + 2m(1−m)κ − s(h)²,

so that the best h is the one that maximises s (Glasmachers and Qaadan, "Speeding up budgeted stochastic gradient
descent SVM training with precomputed golden section search"). Tables cover m ≤ 1/2 only: the other half mirrors it,
h(1−m, κ) = 1 − h(m, κ), and h ≤ 1/2 where m ≤ 1/2, since s(h) − s(1−h) = (1−2m)(κ^(h²) − κ^((1−h)²)). The line
m = 1/2, κ < e⁻², where s has two modes of equal height and h jumps, is therefore the edge of the table, which holds the
limit from inside, and no cell interpolates across it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array

_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def merged_length(m: Array, kappa: Array, h: Array) -> Array:
    """s(h), the length of the merged term if those of the pair add up to one."""
    return m * kappa ** ((1.0 - h) ** 2) + (1.0 - m) * kappa ** (h**2)


def best_h(m: Array, kappa: Array, precision: float = 1e-10) -> Array:
    """h by golden section search to `precision`, for m ≤ 1/2."""
    with np.errstate(divide="ignore"):
        logarithm = np.maximum(np.log(kappa), -700.0)

    def value(h: Array) -> Array:
        return m * np.exp(logarithm * (1.0 - h) ** 2) + (1.0 - m) * np.exp(logarithm * h**2)

    low, width = np.zeros(np.broadcast_shapes(np.shape(m), np.shape(kappa))), 0.5
    inner, outer = value(low + (1.0 - _GOLDEN) * width), value(low + _GOLDEN * width)
    while width > precision:
        upper = outer > inner
        low = np.where(upper, low + (1.0 - _GOLDEN) * width, low)
        width *= _GOLDEN
        fresh = value(low + np.where(upper, _GOLDEN, 1.0 - _GOLDEN) * width)
        inner, outer = np.where(upper, outer, fresh), np.where(upper, fresh, inner)
    # Orthogonal points cannot be merged, only dropped. Equal points may be merged anywhere; m is the limit.
    return np.where(kappa == 0.0, 0.0, np.where(kappa == 1.0, m, low + 0.5 * width))


def degradation(m: Array, kappa: Array, h: Array) -> Array:
    """WD, the loss of merging at h if the coefficients add up to one."""
    return m**2 + (1.0 - m) ** 2 + 2.0 * m * (1.0 - m) * kappa - merged_length(m, kappa, h) ** 2


def loss(m: Array, kappa: Array, h: Array) -> Array:
    """√(WD/2)/m, the loss of merging at h if the smaller coefficient is one; at m = 0 its limit.

    For m → 0 the best h is κm, and WD/m² → 1 − κ²(1 − 2 log κ); for κ → 1 the loss is (1 − m)(1 − κ). So it is nearly
    linear where WD itself vanishes, and interpolation can distinguish merges that lose little.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = 1.0 - np.where(kappa > 0.0, kappa**2 * (1.0 - 2.0 * np.log(kappa)), 0.0)
        squared = np.where(m > 0.0, degradation(m, kappa, h) / m**2, limit)
    return np.where(kappa == 1.0, 0.0, np.sqrt(0.5 * np.maximum(squared, 0.0)))


@lru_cache(maxsize=4)
def tables(size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """h and the loss over m = 0 … 1/2 (rows) and κ = 0 … 1 (columns), `size` points per axis."""
    m, kappa = np.meshgrid(np.linspace(0.0, 0.5, size), np.linspace(0.0, 1.0, size), indexing="ij")
    h = best_h(m, kappa)
    return h.astype(np.float32), loss(m, kappa, h).astype(np.float32)


@lru_cache(maxsize=4)
def published_tables(size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """h and WD itself over m = 0 … 1 (rows) and κ = 0 … 1 (columns), as published."""
    m, kappa = np.meshgrid(np.linspace(0.0, 1.0, size), np.linspace(0.0, 1.0, size), indexing="ij")
    smaller = np.minimum(m, 1.0 - m)
    h = best_h(smaller, kappa)
    losses = np.maximum(degradation(smaller, kappa, h), 0.0)
    return np.where(m > 0.5, 1.0 - h, h).astype(np.float32), losses.astype(np.float32)


@lru_cache(maxsize=4)
def native_tables(size: int, *, published: bool = False) -> _core.MergeGrid:
    """Return the tables as the core takes them."""
    return _core.MergeGrid(*(published_tables(size) if published else tables(size)), published)
