"""PLAME: one argument of the kernel is interpolated between knots, the other is exact."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels import AdditiveKernel
from .knots import CROWDED, Knots, Spacing, quantile_knots
from .table import DenseTable, TablePair

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Plame:
    """k_PL(x_i, x) = m_x(I) x_i + c_x(I) on the interval I = [l, u] that contains x_i.

    The chord through the interval's ends: for chi2 the slope is 2x²/((x+u)(x+l)) and the intercept 2xlu/((x+u)(x+l)),
    which is interpolation by hats, k_PL(x_i, x) = Σ_q hat_q(x_i) k(c_q, x). Reading uses every knot, writing two.
    `spacing=1` gives the paper's uniform intervals, "quantile" those of equal counts.

    Chan, Li, U, Cheng, "PLAME: Piecewise-linear approximate measure for additive kernel SVM", IEEE TKDE 2023.
    """

    intervals: int = 15
    spacing: Spacing = CROWDED

    def fitted_to(self, values: Array) -> Plame:
        """Return the method with intervals at the quantiles of `values`, the non-zero u of the training data."""
        return replace(self, spacing=quantile_knots(values, self.intervals + 1)) if self.spacing == "quantile" else self

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables for `kernel`."""
        knots = Knots.spaced(self.intervals + 1, self.spacing)
        grid, hats = knots.grid(), knots.hats()
        read = kernel.scalar(grid.values[:, None], knots.positions[None, :])
        return TablePair(
            read=DenseTable.of(read),
            write=hats,
            symmetric=False,
            grid=grid,
            curvature=np.einsum("ck,ck->c", read, hats.as_rows()),
        )
