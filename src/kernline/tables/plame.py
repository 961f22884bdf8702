"""PLAME: one argument of the kernel is interpolated between knots, the other is exact."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..array_types import Array
from ..kernels import AdditiveKernel
from .explicit import explicit_pair
from .knots import CROWDED, Knots, Spacing, quantile_knots
from .table import DenseTable, TablePair

# Eigenvalues of the kernel at the knots below this fraction of the largest are taken as zero.
_RESOLUTION = 1e-6


@dataclass(frozen=True)
class Plame:
    """k_PL(x_i, x) = m_x(I) x_i + c_x(I) on the interval I = [l, u] that contains x_i.

    The chord through the interval's ends: for chi2 the slope is 2x²/((x+u)(x+l)) and the intercept 2xlu/((x+u)(x+l)),
    which is interpolation by hats, k_PL(x_i, x) = Σ_q hat_q(x_i) k(c_q, x). Reading uses every knot, writing two.
    `spacing=1` gives the paper's uniform intervals, "quantile" those of equal counts.

    As published, k_PL is not symmetric, except for the intersection kernel. So no objective is minimised, and for a
    large C the iteration may not converge. With `symmetric`, the weights hat(x_i) are replaced by those they
    approximate: M⁻¹ k(c, x_i), M_qr = k(c_q, c_r), with which k̂(x_i, x) = k(x_i, c) M⁻¹ k(c, x) is the projection of
    the kernel onto its functions at the knots. It is positive definite, and writes as many numbers as it reads.

    Chan, Li, U, Cheng, "PLAME: Piecewise-linear approximate measure for additive kernel SVM", IEEE TKDE 2023.

    Parameters
    ----------
    intervals : int, default=15
        Intervals of [0, 1].

    spacing : float, "quantile" or array, default=2
        Power of an even spacing (2 crowds the knots near zero, 1 is even), "quantile" for quantiles of the training
        values, or the knots themselves.

    symmetric : bool, default=False
        Project the kernel onto its functions at the knots, instead of the published chords.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVC, tables
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVC("chi2", tables.Plame(intervals=10, spacing=1)).fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.8
    True
    """

    intervals: int = 15
    spacing: Spacing = CROWDED
    symmetric: bool = False

    def fitted_to(self, values: Array) -> Plame:
        """Return the method with intervals at the quantiles of `values`, the non-zero u of the training data."""
        return replace(self, spacing=quantile_knots(values, self.intervals + 1)) if self.spacing == "quantile" else self

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables for `kernel`."""
        knots = Knots.spaced(self.intervals + 1, self.spacing)
        grid, hats = knots.grid(), knots.hats()
        read = kernel.scalar(grid.values[:, None], knots.positions[None, :])
        if self.symmetric:
            return _projection(kernel, knots, read)
        return TablePair(
            read=DenseTable.of(read),
            write=hats,
            symmetric=False,
            grid=grid,
            curvature=np.einsum("ck,ck->c", read, hats.as_rows()),
        )


def _projection(kernel: AdditiveKernel, knots: Knots, read: Array) -> TablePair:
    """The features Λ^(−1/2) Vᵀ k(c, u), with M = V Λ Vᵀ: their products are k(u, c) M⁻¹ k(c, v).

    Weights of k(c, u) itself, with M⁻¹ k(c, u) written, would be large numbers that cancel, and float32 would lose
    them: on skin at C = 1000 the gap stayed at half of the objective.
    """
    M = kernel.scalar(knots.positions[:, None], knots.positions[None, :])
    eigenvalues, vectors = np.linalg.eigh(M)
    resolved = eigenvalues > _RESOLUTION * eigenvalues[-1]
    return explicit_pair(read @ (vectors[:, resolved] / np.sqrt(eigenvalues[resolved])), knots.grid())
