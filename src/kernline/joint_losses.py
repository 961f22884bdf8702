"""Losses of all values of a row together: the columns of F, (n_rows, n_problems), are those of classes or targets.

| loss | ℓ(y, f) | curvature of f_k |
|---|---|---|
| softmax | log Σ_k exp f_k − f_y | P_k (1 − P_k) |
| separate | Σ_k ℓ_k(t_k, f_k), a smooth loss of losses.py | ℓ″ |

Both are smooth, so that β = −c ∇ℓ is a dual point without further work (solvers/lbfgs.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .array_types import Array, Indices
from .losses import Loss

_BLOCK_ROWS = 16_384


class JointLoss(Protocol):
    """A smooth convex loss of the values F of all rows, each with its cost c_i."""

    @property
    def cost(self) -> Array:
        """c_i."""

    @property
    def n_problems(self) -> int:
        """Columns of F."""

    def of_each(self, F: Array) -> Array:
        """ℓ(y_i, F_i) of every row, without its cost."""

    def value(self, F: Array) -> float:
        """Σ_i c_i ℓ(y_i, F_i)."""

    def gradient(self, F: Array) -> Array:
        """c_i ∇ℓ(y_i, F_i), shaped as F."""

    def curvature(self, F: Array) -> Array:
        """c_i times the diagonal of the Hessian of ℓ, shaped as F."""

    def hessian_product(self, F: Array, change: Array) -> Array:
        """c_i times the Hessian of ℓ at F_i, times the rows of `change`."""

    def total_hessian(self, F: Array) -> Array:
        """Σ_i c_i times the Hessian of ℓ, (n_problems, n_problems)."""

    def with_cost(self, cost: Array) -> JointLoss:
        """The loss with other costs."""

    def of_rows(self, rows: Indices) -> JointLoss:
        """The loss of some of the rows."""


@dataclass(frozen=True)
class Softmax:
    """log Σ_k exp f_k − f_y: multinomial logistic regression, whose P_k = exp f_k / Σ exp f are probabilities."""

    number: Indices  # of each row's class
    n_problems: int
    cost: Array

    def of_each(self, F: Array) -> Array:
        """log Σ_k exp F_ik − F_iy."""
        return _log_sum_exp(F) - F[np.arange(self.number.size), self.number]

    def value(self, F: Array) -> float:
        """Σ_i c_i (log Σ_k exp F_ik − F_iy)."""
        return float(self.cost @ self.of_each(F))

    def gradient(self, F: Array) -> Array:
        """c (P − the indicator of y)."""
        slope = probabilities(F)
        slope[np.arange(self.number.size), self.number] -= 1.0
        slope *= self.cost[:, None]
        return slope

    def curvature(self, F: Array) -> Array:
        """c P (1 − P)."""
        P = probabilities(F)
        return self.cost[:, None] * P * (1.0 - P)

    def hessian_product(self, F: Array, change: Array) -> Array:
        """c (P ∘ d − P (P·d))."""
        P = probabilities(F)
        product = P * change
        product -= P * _total(product)[:, None]
        product *= self.cost[:, None]
        return product

    def total_hessian(self, F: Array) -> Array:
        """Σ_i c_i (diag(P_i) − P_i P_iᵀ)."""
        P = probabilities(F)
        return np.diag(self.cost @ P) - (self.cost[:, None] * P).T @ P

    def with_cost(self, cost: Array) -> Softmax:
        """The loss with other costs."""
        return replace(self, cost=cost)

    def of_rows(self, rows: Indices) -> Softmax:
        """The loss of some of the rows."""
        return replace(self, number=self.number[rows], cost=self.cost[rows])


@dataclass(frozen=True)
class Separate:
    """One smooth loss for each column of F, with targets T: two classes, several labels, or several numbers."""

    loss: Loss
    targets: Array
    cost: Array

    @property
    def n_problems(self) -> int:
        """Columns of F."""
        return self.targets.shape[1]

    def of_each(self, F: Array) -> Array:
        """Σ_k ℓ(T_ik, F_ik)."""
        each: Array = self.loss.value(self.targets, F).sum(axis=1)
        return each

    def value(self, F: Array) -> float:
        """Σ_ik c_i ℓ(T_ik, F_ik)."""
        total = 0.0
        for rows in _row_blocks(len(F)):
            for column in self.loss.value(self.targets[rows], F[rows]).T:
                total += float(self.cost[rows] @ column)
        return total

    def gradient(self, F: Array) -> Array:
        """c ℓ′."""
        return self._of_rows(self.loss.gradient, F)

    def curvature(self, F: Array) -> Array:
        """c ℓ″."""
        return self._of_rows(self.loss.curvature, F)

    def _of_rows(self, function: Callable[[Array, Array], Array], F: Array) -> Array:
        """c times a function of targets and values."""
        out = np.empty(F.shape)
        for rows in _row_blocks(len(F)):
            np.multiply(self.cost[rows, None], function(self.targets[rows], F[rows]), out=out[rows])
        return out

    def hessian_product(self, F: Array, change: Array) -> Array:
        """c ℓ″ d."""
        return self.curvature(F) * change

    def total_hessian(self, F: Array) -> Array:
        """Σ_i c_i ℓ″_i, on the diagonal."""
        return np.diag(self.curvature(F).sum(axis=0))

    def with_cost(self, cost: Array) -> Separate:
        """The loss with other costs."""
        return replace(self, cost=cost)

    def of_rows(self, rows: Indices) -> Separate:
        """The loss of some of the rows."""
        return replace(self, targets=self.targets[rows], cost=self.cost[rows])


@dataclass(frozen=True)
class Shifted:
    """A loss of what is added to the values `before`."""

    loss: JointLoss
    before: Array

    @property
    def cost(self) -> Array:
        """c_i."""
        return self.loss.cost

    @property
    def n_problems(self) -> int:
        """Columns of F."""
        return self.loss.n_problems

    def of_each(self, F: Array) -> Array:
        """The loss of before + F in every row."""
        return self.loss.of_each(self.before + F)

    def value(self, F: Array) -> float:
        """The loss of before + F."""
        return self.loss.value(self.before + F)

    def gradient(self, F: Array) -> Array:
        """Its gradient."""
        return self.loss.gradient(self.before + F)

    def curvature(self, F: Array) -> Array:
        """Its curvature."""
        return self.loss.curvature(self.before + F)

    def hessian_product(self, F: Array, change: Array) -> Array:
        """The product with its Hessian."""
        return self.loss.hessian_product(self.before + F, change)

    def total_hessian(self, F: Array) -> Array:
        """Its Hessian."""
        return self.loss.total_hessian(self.before + F)

    def with_cost(self, cost: Array) -> Shifted:
        """The loss with other costs."""
        return replace(self, loss=self.loss.with_cost(cost))

    def of_rows(self, rows: Indices) -> Shifted:
        """The loss of some of the rows."""
        return Shifted(self.loss.of_rows(rows), self.before[rows])


def probabilities(F: Array) -> Array:
    """P_ik = exp F_ik / Σ_m exp F_im."""
    P = F - _highest(F)[:, None]
    np.exp(P, out=P)
    P /= _total(P)[:, None]
    return P


def _log_sum_exp(F: Array) -> Array:
    highest = _highest(F)
    return highest + np.log(_total(np.exp(F - highest[:, None])))


def _row_blocks(n_rows: int) -> Iterator[slice]:
    """Rows whose values stay in the cache between the steps of a formula."""
    return (slice(begin, begin + _BLOCK_ROWS) for begin in range(0, n_rows, _BLOCK_ROWS))


# NumPy's reductions along a short last axis are several times slower.
def _highest(F: Array) -> Array:
    highest = F[:, 0].copy()
    for column in F.T[1:]:
        np.maximum(highest, column, out=highest)
    return highest


def _total(F: Array) -> Array:
    return F @ np.ones(F.shape[1])
