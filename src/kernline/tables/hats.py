"""Hats: both arguments of the kernel interpolated between knots. The default approximation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels import AdditiveKernel
from .table import CodeGrid, DenseTable, PairTable, TablePair

Array = NDArray[np.float64]

# Spacing of the knots: crowded near zero, as histogram values are, or even. Measured in docs/approximation.md.
CROWDED, EVEN = 2.0, 1.0


@dataclass(frozen=True)
class Knots:
    """`count` knots c_q = (q / (count − 1))^power from 0 to 1, and as many codes between two as the code's bytes allow.

    power > 1 crowds knots near zero, where histograms have most of their values; power = 1 spaces them evenly, for
    values that were ranked.
    """

    count: int
    power: float

    def __post_init__(self) -> None:
        """Check the count and the power."""
        if not 2 <= self.count <= 4096:
            raise ValueError(f"knots must be between 2 and 4096; got {self.count}.")
        if not 0.0 < self.power < np.inf:
            raise ValueError(f"power must be positive and finite; got {self.power}.")

    @property
    def positions(self) -> Array:
        """The knots c_q."""
        return np.linspace(0.0, 1.0, self.count) ** self.power

    @property
    def steps(self) -> int:
        """Codes an interval, S: the largest power of two for which all codes fit one byte, or two."""
        codes = 256 if self.count <= 129 else 65536
        return 1 << ((codes - 1) // (self.count - 1)).bit_length() - 1

    def hats(self) -> PairTable:
        """Return the hat weights of every code."""
        return PairTable(self.steps, self.count)

    def grid(self) -> CodeGrid:
        """Return the codes: evenly spaced between two knots, each knot one of them."""
        codes = np.arange(self.steps * (self.count - 1) + 1) / self.steps
        return CodeGrid.nearest(np.interp(codes, np.arange(self.count), self.positions))


@dataclass(frozen=True)
class Hats:
    """k̂(u, v) = hat(u)ᵀ M hat(v), with M_qr = k(c_q, c_r) at the knots.

    M is a Gram matrix, so k̂ is positive definite: the gap is a certificate. A value reads two adjacent numbers and
    writes `knots` of them; 16 floats are one cache line. With 16 knots the root mean square error of the kernel is half
    a per cent or so on values spread evenly, and two on values crowded near zero (docs/approximation.md).
    """

    knots: int = 16
    power: float = CROWDED

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables for `kernel`."""
        knots = Knots(self.knots, self.power)
        hats = knots.hats()
        M = kernel.scalar(knots.positions[:, None], knots.positions[None, :])
        read = hats.as_rows()
        write = read @ M
        return TablePair(
            read=hats,
            write=DenseTable(np.ascontiguousarray(write, dtype=np.float32)),
            symmetric=True,
            grid=knots.grid(),
            curvature=np.einsum("ck,ck->c", read, write),
        )
