"""The linear system of a Newton step, H d = −gradient with H = I + Σ_{i in Z} σ_i φ(x_i) (φ(x_i) · M ·), M = s G.

It has as many unknowns as there are slots, or rows in Z by Woodbury's identity,

    d = Φᵀ (Σ⁻¹ + K_ZZ)⁻¹ Φ M g − g,    K_ZZ = Φ M Φᵀ,

Conjugate gradients solve it to a tenth of the gradient in a few products with the rows, unless C is large. Then it is
badly conditioned, and they would take hundreds; with the few dozen that a step can afford, five to ten times as many
Newton steps follow. On narrow data, and from the first system that they do not solve, it is solved by a Cholesky
factor, if either number of unknowns is small enough.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from .. import _core
from ..array_types import Array
from ..native import slots_of
from .newton_space import Curve, Rows, Space

# Most slots and most rows of a system that is factored.
MOST_SLOTS, MOST_ROWS = 1500, 2500
# Most cells per row of narrow data.
_MOST_CELLS = 64
_CG_ITERATIONS, _CG_REDUCTION = 30, 0.1
# Fractions of the mean of the diagonal that are added to it, for rounding errors: K is in single precision, S double.
_SINGLE, _DOUBLE = 1e-6, 1e-14
# Eigenvalues of M that are left out, as a fraction of the largest of a column.
_SMALL = 1e-9
# Rows of K that are computed at a time, from weights side by side; with more weights than these, by a sparse product.
_ROWS_AT_A_TIME, _MOST_WEIGHTS = 16, 2_000_000


def n_unknowns(n_slots: int, n_rows: int) -> int | None:
    """Unknowns of the system that is factored, for so many rows in Z; None if conjugate gradients are left."""
    if n_slots > MOST_SLOTS:
        return n_rows if n_rows <= MOST_ROWS else None
    return n_rows if n_rows <= n_slots // 2 else n_slots


def is_narrow(space: Space) -> bool:
    """Whether a system by slots takes no longer than dozens of products with the rows: it has products of two cells."""
    data, n_rows = space.problem.data, space.problem.n_rows
    return space.size <= min(MOST_SLOTS, n_rows) and data.n_cells <= _MOST_CELLS * data.n_rows


class System:
    """The systems of a problem's Newton steps. What they share, such as parts of K, is kept from one to the next."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.slots: _Slots | None = None
        self.is_hard = is_narrow(space)
        self.gram = _Gram(space)

    def solve(self, gradient: Curve, rows: Rows, sigma: Array) -> Curve:
        """The direction d, for the rows Z and their σ. If not exact, still one in which the objective falls."""
        found = self._factored(gradient, rows, sigma) if self.is_hard else None
        return self._by_conjugate_gradients(gradient, rows, sigma) if found is None else found

    def _factored(self, gradient: Curve, rows: Rows, sigma: Array) -> Curve | None:
        unknowns = n_unknowns(self.space.size - 1, rows.size)
        if unknowns is None:
            return None
        if unknowns == rows.size:
            return self._by_rows(gradient, rows, sigma)
        self.slots = self.slots or _Slots(self.space)
        return self.slots.solve(gradient, rows, sigma)

    def _by_rows(self, gradient: Curve, rows: Rows, sigma: Array) -> Curve | None:
        K = self.gram.of(rows)
        K += self.space.square
        y = _solution(K, 1.0 / sigma, self.space.values(gradient, rows), _SINGLE)
        return None if y is None else self.space.sum(y, rows).plus(-1.0, gradient)

    def _by_conjugate_gradients(self, gradient: Curve, rows: Rows, sigma: Array) -> Curve:
        """Approximately, in the inner product of the kernel."""
        weights = sigma.astype(np.float32)
        zero = np.zeros_like(gradient.c)
        found = Curve(zero, zero)
        residual = found.plus(-1.0, gradient)
        towards = residual
        squared = residual.dot(residual)
        goal = _CG_REDUCTION**2 * squared
        for _ in range(_CG_ITERATIONS):
            image = towards.plus(1.0, self.space.image(towards, weights, rows))
            curvature = towards.dot(image)
            if not curvature > 0.0:
                break  # only rounding errors are left
            step = squared / curvature
            found = found.plus(step, towards)
            residual = residual.plus(-step, image)
            previous, squared = squared, residual.dot(residual)
            if squared <= goal:
                break
            towards = residual.plus(squared / previous, towards)
        self.is_hard = self.is_hard or squared > goal
        return found


class _Gram:
    """K(x, y) of the rows asked for so far, without the intercept."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.known = np.zeros(0, dtype=np.int32)
        self.place = np.full(space.problem.data.n_rows, -1, dtype=np.int32)
        self.K = np.zeros((0, 0), dtype=np.float32)

    def of(self, rows: Rows) -> Array:
        """K of these rows."""
        new = rows[self.place[rows] < 0]
        if self.known.size + new.size > MOST_ROWS + MOST_ROWS // 4:
            self.place[self.known] = -1
            self.known, new = self.known[:0], rows
        if new.size:
            self._add(new)
        places = self.place[rows]
        return self.K[np.ix_(places, places)].astype(np.float64)

    def _add(self, new: Rows) -> None:
        begin, n = self.known.size, self.known.size + new.size
        self.place[new] = np.arange(begin, n)
        self.known = np.concatenate([self.known, new])
        if n > len(self.K):
            grown = np.empty((n + n // 4, n + n // 4), dtype=np.float32)
            grown[:begin, :begin] = self.K[:begin, :begin]
            self.K = grown
        self.K[:n, begin:n] = self._products(new)
        self.K[begin:n, :begin] = self.K[:begin, begin:n].T

    def _products(self, new: Rows) -> Array | NDArray[np.float32]:
        """K of all known rows and the new ones, (n_known, n_new)."""
        problem = self.space.problem
        data, pair = problem.data[self.known], problem.pair
        if data.n_columns * pair.width * _ROWS_AT_A_TIME > _MOST_WEIGHTS:
            read, write = _features(self.space, self.known), _features(self.space, new, written=True)
            return np.asarray((read @ write.T).toarray())
        out = np.empty((self.known.size, new.size), dtype=np.float32)
        for begin in range(0, new.size, _ROWS_AT_A_TIME):
            some = slice(begin, begin + _ROWS_AT_A_TIME)
            weights = _features(self.space, new[some], written=True).toarray().astype(np.float32)
            slots = slots_of(weights.reshape(len(weights), data.n_columns, pair.width))
            found = np.empty((data.n_rows, len(weights)))
            _core.decision(data.native, self.space.table, slots, np.zeros(len(weights)), found, self.space.n_threads)
            out[:, some] = found
        return out


class _Slots:
    """S = Σ_{i in Z} σ_i φ(x_i) φ(x_i)ᵀ on and below the diagonal, kept for σ relative to the largest.

    From step to step, few rows enter or leave Z. With M = B Bᵀ at the slots that the problem's rows use, and u = Bᵀ d,
    the system is (I + Bᵀ S B) u = −Bᵀ g, and d = −g − S B u. A column has few unknowns if it has few values, or if the
    kernel is so smooth that most eigenvalues of M are rounding errors.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self.sigma = np.zeros(space.problem.data.n_rows)
        self.S = np.zeros((space.size, space.size))
        self.used = used_slots(space)
        self.root = self._root()

    def solve(self, gradient: Curve, rows: Rows, sigma: Array) -> Curve | None:
        """The direction d."""
        largest, B, c = sigma.max(), self.root, -gradient.c
        self._update(rows, sigma / largest)
        half = largest * self.S[np.ix_(self.used, self.used)]  # S is this and its transpose
        half[np.diag_indices_from(half)] *= 0.5
        A = B.T @ np.ascontiguousarray((B.T @ half).T)
        u = _solution(A + A.T, np.ones(len(A)), B.T @ c[self.used], _DOUBLE)
        if u is None:
            return None
        v = B @ u
        c[self.used] -= half @ v + half.T @ v
        return self.space.curve(c)

    def _update(self, rows: Rows, sigma: Array) -> None:
        now = np.zeros_like(self.sigma)
        now[rows] = sigma
        changed = np.flatnonzero(now != self.sigma).astype(np.int32)
        if changed.size >= rows.size:
            self.S[:] = 0.0
            self.sigma[:] = 0.0
            changed = rows
        self.space.add_products(now[changed] - self.sigma[changed], changed, self.S)
        self.sigma = now

    def _root(self) -> sp.csr_array:
        """B: a block for each column."""
        problem = self.space.problem
        width = problem.pair.width
        gram = np.eye(width) if problem.pair.gram is None else problem.pair.gram
        columns, slots = np.divmod(self.used[:-1], width)
        blocks = []
        for column in np.unique(columns):
            here = slots[columns == column]
            values, vectors = np.linalg.eigh(gram[np.ix_(here, here)] * problem.scales[column])
            kept = values > _SMALL * values[-1]
            blocks.append(vectors[:, kept] * np.sqrt(values[kept]))
        blocks.append(np.full((1, 1), np.sqrt(self.space.square)))
        return sp.csr_array(sp.block_diag(blocks))


def used_slots(space: Space) -> NDArray[np.int64]:
    """The slots that some row uses, and where the kernel is not zero; the intercept is the last."""
    problem = space.problem
    used = np.ones(space.size, dtype=bool)
    if problem.pair.gram is not None:  # φ ≥ 0, so that nothing cancels
        rows = np.arange(problem.data.n_rows, dtype=np.int32) if problem.members is None else problem.members
        used = space.sum(np.ones(rows.size), rows).c != 0.0
        used[:-1] &= np.tile(problem.pair.gram.diagonal() > 0.0, problem.data.n_columns)
        used[-1] = True
    return np.flatnonzero(used)


def _features(space: Space, rows: Rows, written: bool = False) -> sp.csr_array:
    """The φ of some rows, or what they write to W, s G φ, (n_rows, n_columns · width)."""
    problem = space.problem
    data, table = problem.data[rows], problem.pair.write if written else problem.pair.read
    row_start, columns, cells = data.entries()
    vectors = table.vectors(cells)
    if written:
        vectors = vectors * problem.scales[columns][:, None]
    width = problem.pair.width
    spread = (columns.astype(np.int64)[:, None] * width + np.arange(width)).ravel()
    found = sp.csr_array((vectors.ravel(), spread, row_start * width), shape=(rows.size, space.size - 1))
    found.eliminate_zeros()
    return found


def _solution(A: Array, diagonal: Array, right: Array, rounding: float) -> Array | None:
    """(A + diagonal)⁻¹ right for a positive semidefinite A, which is overwritten; None if it is not, by rounding."""
    places = np.diag_indices_from(A)
    A[places] += diagonal + rounding * A.trace() / max(1, len(A))
    if not np.isfinite(A).all():
        return None
    try:
        factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        return np.asarray(cho_solve(factor, right, check_finite=False))
    except np.linalg.LinAlgError:
        return None
