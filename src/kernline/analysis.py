"""How well a method approximates the curves g_j(x) = Σ_t α_t y_t k(x, x_tj): exact curve, approximation, error.

For one feature with training values x_tj and coefficients α_t y_t, which are random or those of a solution.
`gradient_curve` returns the curves, `error_table` the errors of several methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import tables
from .array_types import Array
from .kernels import AdditiveKernel
from .tables import Approximation, TablePair


@dataclass(frozen=True)
class GradientCurve:
    """g_j and its approximation at the points x, on [0, 1]."""

    x: Array
    exact: Array
    approximate: Array

    @property
    def error(self) -> Array:
        """Absolute error at every point."""
        return np.abs(self.approximate - self.exact)

    @property
    def relative_error(self) -> Array:
        """Error relative to the largest |g_j|; relative to g_j itself it would be meaningless where g_j is zero."""
        return self.error / max(np.abs(self.exact).max(initial=0.0), np.finfo(float).tiny)

    def summary(self) -> dict[str, float]:
        """Largest and mean error, absolute and relative."""
        return {
            "max": float(self.error.max()),
            "mean": float(self.error.mean()),
            "max_relative": float(self.relative_error.max()),
            "mean_relative": float(self.relative_error.mean()),
        }


def random_coefficients(y: ArrayLike, random_state: int = 0) -> Array:
    """α_t y_t with α uniform in [0, 1], as in PmSVM's figure 1."""
    signs = np.asarray(y, dtype=np.float64)
    return np.random.default_rng(random_state).random(signs.size) * signs


def gradient_curve(
    kernel: AdditiveKernel,
    approximation: str | Approximation,
    values: ArrayLike,
    coefficients: ArrayLike,
    x: ArrayLike | None = None,
) -> GradientCurve:
    """Compare g_j with the method's approximation of it.

    `values` are the feature's training values in [0, 1] and `coefficients` its α_t y_t; zeros add nothing. The curves
    are evaluated at `x`, by default 1000 points from 0.001 to 1.
    """
    column, weight = np.asarray(values, dtype=np.float64), np.asarray(coefficients, dtype=np.float64)
    if column.shape != weight.shape or column.ndim != 1:
        raise ValueError(f"one coefficient per value: got {column.shape} values and {weight.shape} coefficients.")
    if column.size and (column.min() < 0.0 or column.max() > 1.0):
        raise ValueError(
            f"values must lie in [0, 1]; got {column.min():.6g} to {column.max():.6g}. Divide by the maximum."
        )
    kept = column > 0.0
    column, weight = column[kept], weight[kept]
    pair = tables.build(kernel, approximation, values=column)
    points = np.linspace(0.001, 1.0, 1000) if x is None else np.asarray(x, dtype=np.float64)
    curve = weight @ pair.write.vectors(_cells(pair, column))
    approximate = pair.read.vectors(_cells(pair, points)) @ curve
    exact = np.zeros_like(points)
    for begin in range(0, column.size, 2000):
        part = slice(begin, begin + 2000)
        exact += kernel.scalar(points[:, None], column[None, part]) @ weight[part]
    return GradientCurve(points, exact, approximate)


def _cells(pair: TablePair, u: Array) -> NDArray:
    """The cell of a value: its code, its payload or the value itself."""
    if pair.grid is not None:
        return np.searchsorted(pair.grid.thresholds, u, side="right")
    if pair.payload is not None:
        return pair.payload.compute(u.astype(np.float32), write=True)
    return u


def error_table(
    kernel: AdditiveKernel,
    methods: Mapping[str, str | Approximation],
    columns: Mapping[str, Array],
    coefficients: ArrayLike,
    x: ArrayLike | None = None,
) -> list[dict[str, float | str]]:
    """One row for each feature and method: the summary of its curve."""
    return [
        {"feature": feature, "method": name, **gradient_curve(kernel, method, values, coefficients, x).summary()}
        for feature, values in columns.items()
        for name, method in methods.items()
    ]
