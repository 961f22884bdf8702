"""The approximate Hessian of a joint problem of a smooth loss: of a sample of rows, class by class, in blocks.

What couples classes and blocks is left out, which makes it a preconditioner (lbfgs.py). Blocks are as large as can be
factored in a moment: one block has all curves of a table. Curves and pairs are not divided. The levels of a category
may be: no row has two of them, so that nothing couples them. If there are hundreds, a sample has few rows of most, and
they have a diagonal of their own instead, which is that of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ..array_types import Array, Indices

if TYPE_CHECKING:
    from .lbfgs import LBFGS

# In the sample: of 10,000,000 rows, which take longer to pass over, more.
_MOST_ROWS, _MOST_OF_MANY, _ROWS_FOR_ONE = 4000, 20_000, 50
# For one approximate Hessian: in proportion to a pass over the rows, from about half a second to two.
_FLOPS_A_CELL, _LEAST_FLOPS, _MOST_FLOPS = 2500.0, 1.5e10, 6e10
_LARGEST_BLOCK, _LEAST_BLOCK = 1500, 100
_SMALL_BLOCK = 400
_MOST_UNKNOWNS = 50_000  # in blocks; with more, no Hessian is formed
_ROUNDING = 1e-6  # of sums in float32


@dataclass(frozen=True)
class SampledHessian:
    """I + √v A √v per class, where A is the loss's Hessian of a sample of rows, in blocks.

    `grams` are the A of each block and class, without √v: the weights may change while they stay.
    """

    blocks: list[slice]
    grams: list[Array]  # (n_problems, size, size)
    coupling: Array  # (size of the first block, n_problems): A between it and the intercept
    intercept: Array  # (n_problems,): of the intercept
    apart: Indices  # unknowns that are in no block, and A of each, (size, n_problems)
    squares: Array
    factors: list[list[Array]] = field(default_factory=list)  # Cholesky, in the lower half
    inverses: list[Array | None] = field(default_factory=list)  # of small blocks: one product for all classes
    borders: Array = field(default_factory=lambda: np.zeros(0))  # H⁻¹ of the first block times its coupling
    pivots: Array = field(default_factory=lambda: np.zeros(0))  # of the intercept, given the first block
    diagonal: Array = field(default_factory=lambda: np.zeros(0))  # I + √v A √v of those apart

    @classmethod
    def of(cls, lbfgs: LBFGS, F: Array) -> SampledHessian | None:
        """The Hessian at the values F; None if there are too many unknowns."""
        basis, loss = lbfgs.basis, lbfgs.loss
        is_apart = basis.is_of_many_levels
        n_unknowns = int(np.count_nonzero(~is_apart))
        if n_unknowns > _MOST_UNKNOWNS:
            return None
        n = basis.data.n_rows
        n_rows = min(n, _rows_of_sample(n) if loss.n_problems <= 8 else _MOST_ROWS // 2)
        rows = np.sort(np.random.default_rng(lbfgs.seed).choice(n, n_rows, replace=False))
        curvature = loss.curvature(F)
        weight = curvature[rows] * (n / n_rows)
        flops = np.clip(_FLOPS_A_CELL * basis.cells_a_pass * loss.n_problems, _LEAST_FLOPS, _MOST_FLOPS)
        size = int(np.clip(flops / (2.0 * loss.n_problems * n_rows * max(n_unknowns, 1)), 1, _LARGEST_BLOCK))
        if n_unknowns > _LARGEST_BLOCK:  # blocks of a matrix whose rank is at most n_rows need not be much larger
            size = min(size, max(_LEAST_BLOCK, 4 * n_rows))
        apart, squares = np.flatnonzero(is_apart), np.zeros((0, loss.n_problems))
        if apart.size:
            squares = basis.level_sums(curvature) * np.square(basis.level_heights)[:, None]
            squares = squares[apart - basis.n_curve_unknowns]
        blocks = blocks_of(basis.pieces, size, is_apart)
        grams, coupling = [], np.zeros((0, loss.n_problems))
        for block in blocks:
            X = basis.features(rows, block)
            grams.append(_weighted_grams(X, weight))
            if block.start == 0 and lbfgs.problem.has_intercept:
                coupling = lbfgs.bias * (X.T @ weight)
        intercept = lbfgs.penalty + lbfgs.problem.has_intercept * lbfgs.bias**2 * weight.sum(axis=0)
        return cls(blocks, grams, coupling, np.maximum(intercept, 1e-12), apart, squares)

    def factored(self, root: Array) -> SampledHessian:
        """With the Cholesky factors for √v of every unknown."""
        factors, inverses = [], []
        for block, gram in zip(self.blocks, self.grams, strict=True):
            scale = np.outer(root[block], root[block])
            shared = gram.strides[0] == 0
            found = [_factored(A * scale) for A in gram[: 1 if shared else None]]
            factors.append(found * len(gram) if shared else found)
            small = len(gram) > 1 and scale.shape[0] <= _SMALL_BLOCK
            inverses.append(np.stack([_inverse(factor) for factor in factors[-1]]) if small else None)
        diagonal = 1.0 + np.square(root[self.apart])[:, None] * self.squares
        made = replace(self, factors=factors, inverses=inverses, diagonal=diagonal)
        if not self.coupling.size:
            return replace(made, borders=np.zeros((self.first.stop, 1)), pivots=self.intercept)
        coupling = self.coupling * root[self.first][:, None]
        borders = np.column_stack([_solved(factor, c) for factor, c in zip(factors[0], coupling.T, strict=True)])
        pivots = np.maximum(self.intercept - (coupling * borders).sum(axis=0), 1e-3 * self.intercept)
        return replace(made, borders=borders, pivots=pivots)

    @property
    def first(self) -> slice:
        """The first block."""
        return self.blocks[0] if self.blocks else slice(0, 0)

    def solve(self, q: Array) -> Array:
        """H⁻¹ q, without what couples blocks. The intercept is coupled with the first block."""
        out = np.empty_like(q)
        for block, factors, inverse in zip(self.blocks, self.factors, self.inverses, strict=True):
            if inverse is not None:
                out[block] = np.matmul(inverse, q[block].T[:, :, None])[:, :, 0].T
                continue
            for p, factor in enumerate(factors):
                out[block, p] = _solved(factor, q[block, p])
        if self.apart.size:
            out[self.apart] = q[self.apart] / self.diagonal
        out[-1] = (q[-1] - (self.borders * q[self.first]).sum(axis=0)) / self.pivots
        out[self.first] -= self.borders * out[-1]
        return out

    def traces(self, sizes: Indices) -> Array:
        """tr((H⁻¹)_gg) of every group, summed over classes."""
        diagonal = np.zeros(int(sizes.sum()))
        for block, factors in zip(self.blocks, self.factors, strict=True):
            for factor in factors:
                diagonal[block] += np.diag(_inverse(factor))
        diagonal[self.apart] = (1.0 / self.diagonal).sum(axis=1)
        return np.add.reduceat(diagonal, np.cumsum(sizes) - sizes)


def _rows_of_sample(n: int) -> int:
    return int(np.clip(n // _ROWS_FOR_ONE, _MOST_ROWS, _MOST_OF_MANY))


def blocks_of(pieces: Indices, largest: int, is_apart: NDArray[np.bool_]) -> list[slice]:
    """Consecutive whole pieces of about so many unknowns together; at least one piece each, and none apart."""
    starts = np.cumsum(pieces) - pieces
    together = ~is_apart[starts]
    blocks: list[slice] = []
    for start, size in zip(starts[together].tolist(), pieces[together].tolist(), strict=True):
        if blocks and blocks[-1].stop == start and start + size - blocks[-1].start <= largest:
            blocks[-1] = slice(blocks[-1].start, start + size)
        else:
            blocks.append(slice(start, start + size))
    return blocks


def _weighted_grams(X: NDArray[np.float32], weight: Array) -> Array:
    """Xᵀ diag(w) X for every column w of `weight`; one for all where they are equal, as at f = 0."""
    first = weight[:, :1]
    shared = bool(np.allclose(weight, first, rtol=1e-6, atol=0.0))
    grams = []
    for column in weight.T[: 1 if shared else None]:
        scaled = X * np.sqrt(column)[:, None].astype(np.float32)
        grams.append((scaled.T @ scaled).astype(np.float64))
    return np.broadcast_to(np.stack(grams), (weight.shape[1], X.shape[1], X.shape[1]))


def _inverse(factor: Array) -> Array:
    """The inverse of L Lᵀ, given L in the lower half."""
    lower, _ = lapack.dpotri(factor, lower=True)
    lower = np.tril(lower)
    return lower + np.tril(lower, -1).T


def _factored(A: Array) -> Array:
    """The Cholesky factor of I + A. The sums of A are rounded to float32, which large costs can make more than I."""
    diagonal = np.diag_indices_from(A)
    A[diagonal] += 1.0
    factor, failed = lapack.dpotrf(A, lower=True, clean=False)
    if failed:
        A[diagonal] += _ROUNDING * A.trace()
        factor, failed = lapack.dpotrf(A, lower=True, clean=False)
        if failed:
            raise np.linalg.LinAlgError("the approximate Hessian is not positive definite")
    return factor


# SciPy's own functions take longer to check their arguments than blocks of this size to solve.
def _solved(factor: Array, b: Array) -> Array:
    """The solution of L Lᵀ x = b."""
    x: Array = lapack.dpotrs(factor, b, lower=True)[0]
    return x
