"""PmSVM: the polynomial gradient on exact values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels import AdditiveKernel
from .table import NodesTable, PowersTable, TablePair

LOG_SHIFT = 0.05  # the papers' ln(x + 0.05)
AD_HOC_NODES = (0.01, 0.06, 0.75)


@dataclass(frozen=True)
class NodePayload:
    """What PmSVM computes from each non-zero before training: ln(u + 0.05) and the kernel at the nodes."""

    kernel: AdditiveKernel
    nodes: tuple[float, ...]

    def compute(self, u: NDArray[np.float32], *, write: bool) -> NDArray[np.float32]:
        """Return one row per value; reading needs only the logarithm."""
        u = u.astype(np.float64)
        columns = [np.log(u + LOG_SHIFT)]
        if write:
            columns += [self.kernel.scalar(u, node) for node in self.nodes]
        return np.ascontiguousarray(np.column_stack(columns), dtype=np.float32)

    def norms(self, u: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return k(u, u), which is u for the power mean: Q_ii = ‖x_i‖₁."""
        return self.kernel.scalar(u, u).astype(np.float32)


@dataclass(frozen=True)
class PmSVM:
    """Algorithm 3 of the paper: g_j(u) = Σ_k a_jk (ln(u + 0.05))^k, a_j += Δα_i y_i X⁻¹ k(c, x_ij), on exact values.

    X is the Vandermonde matrix of ln(c + 0.05) at the nodes c. With `shortcut`, as in the paper's experiments, c_0
    replaces M_p(c_0, u), which saves a float and costs accuracy (docs/papers/pmsvm.md, figure 1). A non-zero then takes
    20 bytes: value, column, logarithm and the kernel at two nodes. Zeros are not stored and add nothing (the paper's
    0 → 0.001 matters only if zeros are stored). The published method has no intercept; `intercept=True` adds one.

    Wu, "Power mean SVM for large scale visual classification", CVPR 2012.

    Parameters
    ----------
    nodes : tuple of float, default=(0.01, 0.06, 0.75)
        Where the polynomial agrees with the kernel.
    shortcut : bool, default=False
        Whether c_0 replaces M_p(c_0, u).
    intercept : bool, default=False
        Whether there is an intercept, which the published method has not.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVC, tables
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVC("chi2", tables.PmSVM()).fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.8
    True
    """

    nodes: tuple[float, ...] = AD_HOC_NODES
    shortcut: bool = False
    intercept: bool = False

    def __post_init__(self) -> None:
        """Check the nodes."""
        if len(set(self.nodes)) != len(self.nodes) or not self.nodes or min(self.nodes) < 0.0 or max(self.nodes) > 1.0:
            raise ValueError(f"nodes must be distinct numbers in [0, 1]; got {self.nodes}.")

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables for `kernel`."""
        vandermonde = np.vander(np.log(np.asarray(self.nodes) + LOG_SHIFT), increasing=True)
        computed = self.nodes[1:] if self.shortcut else self.nodes
        return TablePair(
            read=PowersTable(len(self.nodes)),
            write=NodesTable(np.linalg.inv(vandermonde), self.nodes[0] if self.shortcut else None),
            symmetric=False,
            payload=NodePayload(kernel, tuple(computed)),
            intercept=self.intercept,
        )
