"""A table gives the vector of a cell. A pair of tables, read φ and write ψ, is an additive method.

    read:   f_j(u) = φ(u) · W_j
    write:  W_j   += δ · s_j · ψ(u)

A cell is a code (DenseTable, PairTable), the value itself (ValueTable), or numbers computed from it in advance, its
payload (PowersTable, NodesTable). `vectors(cells)` returns in float64 what the core's loops compute on the fly; the
referees use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Floats, Numbers


@dataclass(frozen=True)
class DenseTable:
    """Row c of `rows`, (n_codes, width), is the vector of code c."""

    rows: NDArray[np.float32]

    @classmethod
    def of(cls, rows: Array) -> DenseTable:
        """Return the table in the type that the core reads."""
        return cls(np.ascontiguousarray(rows, dtype=np.float32))

    @property
    def width(self) -> int:
        """Numbers per feature."""
        return self.rows.shape[1]

    def as_rows(self) -> Array:
        """Return the vectors of all codes as a matrix."""
        return self.rows.astype(np.float64)

    def vectors(self, cells: Numbers) -> Array:
        """Return the vectors of these codes."""
        return self.as_rows()[cells]


@dataclass(frozen=True)
class PairTable:
    """Hat weights. Code c has 1 − t/S at slot ⌊c/S⌋ and t/S at the next, t = c mod S, with S a power of two."""

    steps: int
    width: int

    def as_rows(self) -> Array:
        """Return the vectors of all codes as a matrix, (steps·(width − 1) + 1, width)."""
        return self.vectors(np.arange(self.steps * (self.width - 1) + 1))

    def vectors(self, cells: Numbers) -> Array:
        """Return the vectors of these codes."""
        position, step = np.divmod(cells.astype(np.int64), self.steps)
        rows = np.zeros((position.size, self.width))
        inside = position < self.width - 1
        rows[np.arange(position.size), position] = 1.0 - step / self.steps
        rows[inside, position[inside] + 1] = step[inside] / self.steps
        return rows


@dataclass(frozen=True)
class ValueTable:
    """The linear kernel: the cell is the value itself, and so is its vector, of width 1."""

    width: int = 1

    def vectors(self, cells: Numbers) -> Array:
        """Return the values."""
        return cells.astype(np.float64)[:, None]


@dataclass(frozen=True)
class PowersTable:
    """1, l, l², … of the payload's first number."""

    width: int

    def vectors(self, cells: Numbers) -> Array:
        """Return the powers."""
        return np.vander(cells[:, 0].astype(np.float64), self.width, increasing=True)


@dataclass(frozen=True)
class NodesTable:
    """A·m, with m the payload's other numbers, the kernel at the nodes; `constant`, if given, replaces m's first."""

    matrix: Array
    constant: float | None = None

    @property
    def width(self) -> int:
        """Numbers per feature."""
        return self.matrix.shape[0]

    def vectors(self, cells: Numbers) -> Array:
        """Return A·m."""
        m = cells[:, 1:].astype(np.float64)
        if self.constant is not None:
            m = np.concatenate([np.full((m.shape[0], 1), self.constant), m], axis=1)
        return m @ self.matrix.T


Table = DenseTable | PairTable | ValueTable | PowersTable | NodesTable


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


class Payload(Protocol):
    """Numbers that a method computes from each value before training (pmsvm.py)."""

    def compute(self, u: Floats, *, write: bool) -> Floats:
        """One row per value; with `write`, what the write table needs too."""

    def norms(self, u: Floats) -> Floats:
        """k(u, u)."""


@dataclass(frozen=True)
class TablePair:
    """An additive method: what it reads, what it writes, and the grid of codes both are tabulated on.

    `curvature[c]` is the code's share of Q_ii, the second derivative of the dual in α_i. In a symmetric pair,
    φ(u)·ψ(v) = φ(v)·ψ(u) is positive definite, so the gap is a certificate.
    Where rows hold exact values, `grid` and `curvature` are None; `payload`, if there is one, computes from u what the
    tables need. `intercept` is whether the method has an intercept at all. `gram` is G in ψ(u) = G φ(u) of a
    symmetric pair, None where φ = ψ.
    """

    read: Table
    write: Table
    symmetric: bool
    grid: CodeGrid | None = None
    curvature: Array | None = None
    payload: Payload | None = None
    intercept: bool = True
    gram: Array | None = None

    @property
    def width(self) -> int:
        """Numbers per feature."""
        return self.read.width
