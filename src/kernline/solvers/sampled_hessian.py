"""The approximate Hessian of a joint problem of a smooth loss: of a sample of rows, class by class, in blocks.

What couples classes and blocks is left out, which makes it a preconditioner (lbfgs.py). Blocks are as large as can be
factored in a moment: one block has all curves of a table. Curves and pairs are not divided. The levels of a category
may be, of which there can be thousands: no row has two of them, so that nothing couples them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lapack

from ..array_types import Array, Indices

if TYPE_CHECKING:
    from .lbfgs import LBFGS

_MOST_ROWS = 4000  # in the sample
# For one approximate Hessian: in proportion to a pass over the rows, from about half a second to two.
_FLOPS_A_CELL, _LEAST_FLOPS, _MOST_FLOPS = 2500.0, 1.5e10, 6e10
_LARGEST_BLOCK = 1500
_SMALL_BLOCK = 128
_MOST_UNKNOWNS = 50_000  # with more, no Hessian is formed
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
    factors: list[list[tuple[Array, bool]]] = field(default_factory=list)
    inverses: list[Array | None] = field(default_factory=list)  # of small blocks: one product for all classes
    borders: Array = field(default_factory=lambda: np.zeros(0))  # H⁻¹ of the first block times its coupling
    pivots: Array = field(default_factory=lambda: np.zeros(0))  # of the intercept, given the first block

    @classmethod
    def of(cls, lbfgs: LBFGS, F: Array) -> SampledHessian | None:
        """The Hessian at the values F; None if there are too many unknowns."""
        basis, loss = lbfgs.basis, lbfgs.loss
        n_unknowns = int(basis.sizes.sum())
        if n_unknowns > _MOST_UNKNOWNS:
            return None
        n = basis.data.n_rows
        n_rows = min(n, _MOST_ROWS if loss.n_problems <= 8 else _MOST_ROWS // 2)
        rows = np.sort(np.random.default_rng(lbfgs.seed).choice(n, n_rows, replace=False))
        weight = loss.curvature(F)[rows] * (n / n_rows)
        flops = np.clip(_FLOPS_A_CELL * basis.cells_a_pass * loss.n_problems, _LEAST_FLOPS, _MOST_FLOPS)
        size = int(np.clip(flops / (2.0 * loss.n_problems * n_rows * max(n_unknowns, 1)), 1, _LARGEST_BLOCK))
        blocks = _blocks(basis.pieces, size)
        grams, coupling = [], np.zeros((0, loss.n_problems))
        for block in blocks:
            X = basis.features(rows, block)
            grams.append(_weighted_grams(X, weight))
            if block.start == 0 and lbfgs.problem.has_intercept:
                coupling = lbfgs.bias * (X.T @ weight)
        intercept = lbfgs.penalty + lbfgs.problem.has_intercept * lbfgs.bias**2 * weight.sum(axis=0)
        return cls(blocks, grams, coupling, np.maximum(intercept, 1e-12))

    def factored(self, root: Array) -> SampledHessian:
        """With the Cholesky factors for √v of every unknown."""
        factors, inverses = [], []
        for block, gram in zip(self.blocks, self.grams, strict=True):
            scale = np.outer(root[block], root[block])
            shared = gram.strides[0] == 0
            found = [_factored(A * scale) for A in gram[: 1 if shared else None]]
            factors.append(found * len(gram) if shared else found)
            small = len(gram) > 1 and scale.shape[0] <= _SMALL_BLOCK
            inverses.append(np.stack([_inverse(factor) for factor, _ in factors[-1]]) if small else None)
        made = replace(self, factors=factors, inverses=inverses)
        if not self.coupling.size:
            return replace(made, borders=np.zeros((self.first.stop, 1)), pivots=self.intercept)
        coupling = self.coupling * root[self.first][:, None]
        borders = np.column_stack([cho_solve(factor, c) for factor, c in zip(factors[0], coupling.T, strict=True)])
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
                out[block, p] = cho_solve(factor, q[block, p], check_finite=False)
        out[-1] = (q[-1] - (self.borders * q[self.first]).sum(axis=0)) / self.pivots
        out[self.first] -= self.borders * out[-1]
        return out

    @property
    def log_determinant(self) -> float:
        """Log det H, summed over classes. Without what couples blocks, it is too large rather than too small."""
        return sum(2.0 * float(np.log(np.diag(L)).sum()) for block in self.factors for L, _ in block)

    def traces(self, sizes: Indices) -> Array:
        """tr((H⁻¹)_gg) of every group, summed over classes."""
        diagonal = np.zeros(int(sizes.sum()))
        for block, factors in zip(self.blocks, self.factors, strict=True):
            for factor, _ in factors:
                diagonal[block] += np.diag(_inverse(factor))
        return np.add.reduceat(diagonal, np.cumsum(sizes) - sizes)


def _blocks(pieces: Indices, largest: int) -> list[slice]:
    """Consecutive whole pieces of about so many unknowns together; at least one piece each."""
    blocks, begin, end = [], 0, 0
    for size in pieces.tolist():
        if end > begin and end + size - begin > largest:
            blocks.append(slice(begin, end))
            begin = end
        end += size
    return [*blocks, slice(begin, end)] if end > begin else blocks


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


def _factored(A: Array) -> tuple[Array, bool]:
    """The Cholesky factor of I + A. The sums of A are rounded to float32, which large costs can make more than I."""
    diagonal = np.diag_indices_from(A)
    A[diagonal] += 1.0
    try:
        return cho_factor(A, lower=True)
    except np.linalg.LinAlgError:
        A[diagonal] += _ROUNDING * A.trace()
        return cho_factor(A, lower=True)
