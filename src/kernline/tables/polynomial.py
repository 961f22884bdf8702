"""Polynomial gradients: PmSVM-LUT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..array_types import Array
from ..kernels import AdditiveKernel
from .pmsvm import LOG_SHIFT
from .table import CodeGrid, DenseTable, TablePair

# The papers' substitute for zero.
_ZERO = 0.001


def chebyshev_nodes(degree: int) -> Array:
    """Return the roots of the Chebyshev polynomial T_{degree+1}, mapped to [0, 1], in increasing order."""
    i = np.arange(degree + 1, 0, -1)
    return 0.5 + 0.5 * np.cos((2 * i - 1) / (2 * (degree + 1)) * np.pi)


@dataclass(frozen=True)
class PolynomialGradient:
    """g_j(u) = Σ_i α_i y_i k(u, x_ij), approximated by a polynomial of degree m in ln(u + 0.05) through m + 1 nodes.

    The papers keep the coefficients a_j = X⁻¹ g_j(c), with X the Vandermonde matrix of ln(c + 0.05). Here W_j is
    g_j(c), the values at the nodes, and φ the Lagrange polynomials of the nodes: the same polynomial, but float32
    suffices for any degree, while powers of the logarithm lose digits. `X⁻¹ W_j` gives the papers' a_j.

    `nodes` is "chebyshev" (the roots of T_{m+1} on [0, 1]) or the nodes themselves: PmSVM's are (0.01, 0.06, 0.75).
    Values are looked up in `bins` bins, h(u) = ⌊bins·u⌋, 0 to bins inclusive.

    Wu, "Power mean SVM for large scale visual classification", CVPR 2012.
    Yang and Wu, "Practical large scale classification with additive kernels", ACML 2012.

    Parameters
    ----------
    degree : int, default=2
        Degree of the polynomial.
    nodes : "chebyshev" or sequence of float, default="chebyshev"
        Where the polynomial agrees with the kernel.

    bins : int, default=1000
        Number of distinct values.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVC, tables
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVC("chi2", tables.PolynomialGradient(degree=4)).fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.8
    True
    """

    degree: int = 2
    nodes: str | Sequence[float] = "chebyshev"
    bins: int = 1000

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 <= self.degree <= 32:
            raise ValueError(f"degree must be between 0 and 32; got {self.degree}.")
        if not 1 <= self.bins <= 65000:
            raise ValueError(f"bins must be between 1 and 65000; got {self.bins}.")
        nodes = self.node_positions
        within = nodes.shape == (self.degree + 1,) and nodes.min() >= 0.0 and nodes.max() <= 1.0
        if not within or np.unique(nodes).size != nodes.size:
            raise ValueError(
                f"nodes must be 'chebyshev' or degree + 1 = {self.degree + 1} distinct numbers in [0, 1]; "
                f"got {self.nodes!r}."
            )

    @property
    def node_positions(self) -> Array:
        """The nodes c."""
        if isinstance(self.nodes, str):
            return chebyshev_nodes(self.degree) if self.nodes == "chebyshev" else np.empty(0)
        return np.asarray(self.nodes, dtype=np.float64)

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables for `kernel`: code 0 for zero, then one code per bin."""
        bins = np.arange(self.bins + 1) / self.bins
        values = np.concatenate([[0.0, min(_ZERO, 0.5 / self.bins) if self.bins > 1000 else _ZERO], bins[1:]])
        nodes = self.node_positions
        read = _lagrange(np.log(nodes + LOG_SHIFT), np.log(np.concatenate([[0.0], bins]) + LOG_SHIFT))
        write = kernel.scalar(values[:, None], nodes[None, :])
        read[0] = write[0] = 0.0  # zeros cost nothing
        return TablePair(
            read=DenseTable.of(read),
            write=DenseTable.of(write),
            symmetric=False,
            grid=CodeGrid(values, np.concatenate([[1e-9], bins[1:]])),
            curvature=kernel.scalar(values, values),
        )


def _lagrange(nodes: Array, points: Array) -> Array:
    """Return ℓ_k(point), the polynomials that are 1 at node k and 0 at the others: (points, nodes)."""
    factors = (points[:, None, None] - nodes[None, None, :]) / _off_diagonal(nodes[:, None] - nodes[None, :])
    factors[:, np.arange(nodes.size), np.arange(nodes.size)] = 1.0
    return factors.prod(axis=2)


def _off_diagonal(differences: Array) -> Array:
    return differences + np.eye(differences.shape[0])
