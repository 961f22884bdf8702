"""PLAME: one argument of the kernel interpolated between knots, the other exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import AdditiveKernel
from .hats import CROWDED, Knots
from .table import DenseTable, TablePair


@dataclass(frozen=True)
class Plame:
    """k_PL(x_i, x) = m_x(I) x_i + c_x(I) on the interval I = [l, u] that holds x_i.

    The chord through the interval's ends: for chi2 the slope is 2x²/((x+u)(x+l)) and the intercept 2xlu/((x+u)(x+l)),
    which is interpolation by hats, k_PL(x_i, x) = Σ_q hat_q(x_i) k(c_q, x). Reading takes a number from every knot,
    writing touches two.

    Chan, Li, U, Cheng, "PLAME: Piecewise-linear approximate measure for additive kernel SVM", IEEE TKDE 2023.
    """

    intervals: int = 15
    power: float = CROWDED

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables for `kernel`."""
        knots = Knots(self.intervals + 1, self.power)
        grid, hats = knots.grid(), knots.hats()
        read = kernel.scalar(grid.values[:, None], knots.positions[None, :])
        return TablePair(
            read=DenseTable(np.ascontiguousarray(read, dtype=np.float32)),
            write=hats,
            symmetric=False,
            grid=grid,
            curvature=np.einsum("ck,ck->c", read, hats.as_rows()),
        )
