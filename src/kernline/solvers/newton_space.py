"""Functions in the basis of a table, and products with the rows of a problem, for Newton's method."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array
from ..native import in_calls, native_table
from .problem import Problem

Rows = NDArray[np.int32]

# The kernel's constant in place of a free intercept, as a multiple of the mean of K(x, x). The larger it is, the closer
# Σβ comes to zero in each proximal step. Coordinate descent needs a small one, Newton's method does not.
_SQUARE = 100.0


@dataclass(frozen=True)
class Curve:
    """A function: coefficients c, and W = s G c, its values at the slots. The intercept is the last."""

    c: Array
    W: Array

    def dot(self, other: Curve) -> float:
        """Return the inner product of the kernel's space."""
        return float(self.c @ other.W)

    def plus(self, step: float, other: Curve) -> Curve:
        """Return self + step · other."""
        return Curve(self.c + step * other.c, self.W + step * other.W)


class Space:
    """Products with a problem's rows, and the norm of its kernel."""

    def __init__(self, problem: Problem, n_threads: int, interrupted: threading.Event) -> None:
        self.problem = problem
        self.n_threads = n_threads
        self.interrupted = interrupted
        self.table = native_table(problem.pair.read)
        self.size = problem.data.n_columns * problem.pair.width + 1
        mean = float(np.mean(problem.curvature)) or 1.0
        self.square = _SQUARE * mean if problem.free_intercept else problem.intercept_square

    def curve(self, c: Array) -> Curve:
        """The function of these coefficients."""
        slots = c[:-1].reshape(self.problem.data.n_columns, -1)
        gram = self.problem.pair.gram
        W = np.empty_like(c)
        W[:-1] = ((slots if gram is None else slots @ gram) * self.problem.scales[:, None]).ravel()
        W[-1] = c[-1] * self.square
        return Curve(c, W)

    def values(self, curve: Curve, rows: Rows) -> Array:
        """f(x_i) of these rows of the data."""
        out = np.empty(rows.size)
        weights = curve.W.astype(np.float32)
        for part in self._parts(rows):
            _core.read_members(self.problem.data.native, self.table, weights, rows[part], out[part], self.n_threads)
        return out + curve.W[-1]

    def sum(self, t: Array, rows: Rows) -> Curve:
        """Σ_i t_i φ(x_i)."""
        return self.curve(self._coefficients(t, rows))

    def image(self, curve: Curve, s: NDArray[np.float32], rows: Rows) -> Curve:
        """Σ_i s_i v(x_i) φ(x_i) for a curve v, in one pass over the rows."""
        c = np.zeros(self.size)
        weights = curve.W.astype(np.float32)
        for part in self._parts(rows):
            _core.add_image(self.problem.data.native, self.table, weights, s[part], rows[part], c, self.n_threads)
        return self.curve(c)

    def add_products(self, t: Array, rows: Rows, S: Array) -> None:
        """S += Σ_i t_i φ(x_i) φ(x_i)ᵀ, on and below the diagonal; the intercept is the last row."""
        data = self.problem.data
        for part in in_calls(data, rows.size, self.interrupted, power=2):
            _core.add_products(data.native, self.table, t[part], rows[part], S, self.n_threads)
        S[-1] += self._coefficients(t, rows)

    def _coefficients(self, t: Array, rows: Rows) -> Array:
        c = np.zeros(self.size)
        for part in self._parts(rows):
            _core.add_members(self.problem.data.native, self.table, t[part], rows[part], c, self.n_threads)
        c[-1] = t.sum()
        return c

    def _parts(self, rows: Rows) -> Iterator[slice]:
        return in_calls(self.problem.data, rows.size, self.interrupted)
