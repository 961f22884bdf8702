"""A table gives the vector of a code; a pair of them, read φ and write ψ, is an additive method.

read:   f_j(u) = φ(u) · W_j
write:  W_j   += δ · s_j · ψ(u)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DenseTable:
    """Row c of `rows`, (n_codes, width), is the vector of code c."""

    rows: NDArray[np.float32]

    @property
    def width(self) -> int:
        """Numbers a feature."""
        return self.rows.shape[1]

    def as_rows(self) -> Array:
        """Return the vectors of all codes as a matrix."""
        return self.rows.astype(np.float64)


@dataclass(frozen=True)
class PairTable:
    """Hat weights. Code c has 1 − t/S at slot ⌊c/S⌋ and t/S at the next, t = c mod S, with S a power of two."""

    steps: int
    width: int

    def as_rows(self) -> Array:
        """Return the vectors of all codes as a matrix, (steps·(width − 1) + 1, width)."""
        position, step = np.divmod(np.arange(self.steps * (self.width - 1) + 1), self.steps)
        rows = np.zeros((position.size, self.width))
        inside = position < self.width - 1
        rows[np.arange(position.size), position] = 1.0 - step / self.steps
        rows[inside, position[inside] + 1] = step[inside] / self.steps
        return rows


@dataclass(frozen=True)
class ValueTable:
    """The linear kernel: the cell is the value itself, and so is its vector, of width 1."""

    width: int = 1


Table = DenseTable | PairTable | ValueTable


@dataclass(frozen=True)
class CodeGrid:
    """How u in [0, 1] becomes a code: the number of thresholds at or below u. Code c stands for `values[c]`."""

    values: Array
    thresholds: Array

    @property
    def code_bits(self) -> int:
        """8 or 16."""
        return 8 if self.values.size <= 256 else 16

    @classmethod
    def nearest(cls, values: Array) -> CodeGrid:
        """Code each u by the nearest of `values`, which increase from 0 to 1."""
        return cls(values, 0.5 * (values[1:] + values[:-1]))


@dataclass(frozen=True)
class TablePair:
    """An additive method: what it reads, what it writes, and the grid of codes both are tabulated on.

    `curvature[c]` is the code's share of Q_ii, the second derivative of the dual in α_i. In a symmetric pair,
    φ(u)·ψ(v) = φ(v)·ψ(u) is positive definite: the dual is a real quadratic program and the gap a certificate.
    `grid` and `curvature` are None where rows hold exact values (the linear kernel).
    """

    read: Table
    write: Table
    symmetric: bool
    grid: CodeGrid | None = None
    curvature: Array | None = None

    @property
    def width(self) -> int:
        """Numbers a feature."""
        return self.read.width
