"""Columns brought to one scale before rows are compared with landmarks, where their units differ.

A distance adds up squares of all columns, so the column with the largest numbers decides alone. Each is standardised,

    (x − mean) / deviation,    cut off at three deviations,

so that neither an outlier nor the 1 of a rare indicator is far from everything. In a sparse matrix nothing is
subtracted, and zero is never cut off, so that zeros stay zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ..array_types import Array, CSRMatrix, Matrix, is_sparse
from ..encoding import ColumnRange, units_of
from ..encoding.units import some_rows
from ..sources import row_blocks
from .pairwise import PairKernel
from .points import Precision, Values, precision_of

SCALES = ("auto", "standard")

_FARTHEST = 3.0
# Deviation of a constant column, relative to its value.
_ROUNDING = 1e-12
# Kernels whose formula refers to no unit. Others are defined on the values as they are, such as histograms.
_UNITLESS = ("rbf", "laplacian", "poly", "sigmoid")


def _none() -> Array:
    return np.empty(0)


@dataclass(frozen=True)
class Scaling:
    """What was done to the columns, `name`, None for nothing, and why, as part of a sentence.

    Scaled values are (clip(x, low, high) − center) · factor.
    """

    name: str | None
    reason: str
    center: Array = field(default_factory=_none, repr=False)
    factor: Array = field(default_factory=_none, repr=False)
    low: Array = field(default_factory=_none, repr=False)
    high: Array = field(default_factory=_none, repr=False)

    def __str__(self) -> str:
        return f"columns {'left as they are' if self.name is None else 'standardised'}: {self.reason}"

    def transform(self, X: Matrix, dtype: Precision | None = None) -> Matrix:
        """X scaled, in this precision or its own; without a scaling, X itself."""
        if self.name is None:
            return X
        dtype = dtype or precision_of(X)
        if is_sparse(X) and not self.center.any():
            return sp.csr_array((self._stored(X, dtype), X.indices, X.indptr), shape=X.shape)
        out = np.empty(X.shape, dtype)
        for rows in row_blocks(X):
            block = X[rows].toarray() if is_sparse(X) else X[rows]
            clipped = np.clip(block.astype(np.float64, order="C"), self.low, self.high)
            out[rows] = (clipped - self.center) * self.factor
        return out

    def inverse(self, X: Matrix) -> Matrix:
        """Scaled points in the units of the input; without a scaling, X itself. Constant columns have their mean."""
        if self.name is None:
            return X
        unit = np.divide(1.0, self.factor, out=np.zeros_like(self.factor), where=self.factor > 0.0)
        if is_sparse(X):
            return sp.csr_array((X.data * unit[X.indices], X.indices, X.indptr), shape=X.shape)
        return X * unit + self.center

    def _stored(self, X: CSRMatrix, dtype: Precision) -> Values:
        """The values of a CSR matrix, scaled."""
        columns = X.indices
        clipped = np.clip(X.data.astype(np.float64), self.low[columns], self.high[columns])
        return (clipped * self.factor[columns]).astype(dtype)


def unscaled(reason: str) -> Scaling:
    """Columns as they are."""
    return Scaling(None, reason)


def scaled_like(model: object, X: Matrix) -> Matrix:
    """X scaled as the training rows of a model; models of files before format 1.2 have scaled nothing."""
    scaling: Scaling | None = getattr(model, "scale_", None)
    return X if scaling is None else scaling.transform(X)


def unscaled_like(model: object, X: Matrix) -> Matrix:
    """Points of a model, which are scaled as its training rows, in the units of these rows."""
    scaling: Scaling | None = getattr(model, "scale_", None)
    return X if scaling is None else scaling.inverse(X)


def scaling_for(
    scale: str | None, gamma: float | str, kernel: PairKernel, X: Matrix, weight: Array | None, n_threads: int
) -> Scaling:
    """Return what the parameters `scale` and `gamma` mean for X, validated and within the range that can be compared.

    scale="auto" scales nothing if γ is a number: that refers to distances of the values as they are.
    """
    if scale is None:
        return unscaled("scale=None was passed")
    if scale == "standard":
        if kernel.nonnegative_for:
            raise ValueError(
                f"scale='standard' makes values negative, and kernel={kernel.nonnegative_for!r} needs values >= 0. "
                "Pass scale=None, or use kernel='rbf'."
            )
        return standard("scale='standard' was passed", X, weight)
    if not isinstance(gamma, str):
        return unscaled("gamma is a number, which refers to distances of the values as they are")
    if kernel.kind not in _UNITLESS:
        return unscaled("the kernel is defined on the values as they are")
    some = None if is_sparse(X) else some_rows(X)
    units = units_of(ColumnRange.of(X, n_threads), X.shape[0], sparse=is_sparse(X), rows=some)
    return unscaled(units.reason) if units.is_one else standard(units.reason, X, weight)


def standard(reason: str, X: Matrix, weight: Array | None) -> Scaling:
    """Standardise by the weighted mean and deviation of each column."""
    weight = np.ones(X.shape[0]) if weight is None else weight
    mean = _mean(X, weight, np.zeros(X.shape[1]), 1)
    deviation = np.sqrt(np.maximum(_mean(X, weight, mean, 2), 0.0))
    # What is left of a constant column is rounding error. It means nothing, and becomes zero.
    varies = deviation > _ROUNDING * np.abs(mean)
    factor = np.divide(1.0, deviation, out=np.zeros_like(mean), where=varies)
    low, high, center = mean - _FARTHEST * deviation, mean + _FARTHEST * deviation, mean
    if is_sparse(X):
        low, high, center = np.minimum(low, 0.0), np.maximum(high, 0.0), np.zeros_like(mean)
    return Scaling("standard", reason, center, factor, low, high)


def _mean(X: Matrix, weight: Array, center: Array, power: int) -> Array:
    """Weighted mean of (x − center)^power of each column."""
    share = weight / weight.sum()
    if is_sparse(X):
        columns, shares = X.indices, np.repeat(share, np.diff(X.indptr))
        stored = np.bincount(columns, (X.data.astype(np.float64) - center[columns]) ** power * shares, X.shape[1])
        has_zeros = np.bincount(columns, minlength=X.shape[1]) < X.shape[0]
        zeros = np.where(has_zeros, 1.0 - np.bincount(columns, shares, X.shape[1]), 0.0)
        return stored + zeros * (-center) ** power
    total = np.zeros(X.shape[1])
    for rows in row_blocks(X):
        total += share[rows] @ (np.ascontiguousarray(X[rows], dtype=np.float64) - center) ** power
    return total
