"""What a solver is given and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..encoding import EncodedData
from ..losses import Hinge, Loss
from ..tables import TablePair

Array = NDArray[np.float64]

HINGE = Hinge()


@dataclass(frozen=True)
class Problem:
    """min ½‖f‖² + Σ_i c_i ℓ(t_i, f(x_i)) over f(x) = b + Σ_j f_j(x_j), with the norm of Σ_j s_j k(u, v) + b².

    `targets` are the t_i (labels ±1, or numbers), `cost` the c_i > 0, `scales` the s_j, `intercept_square` the
    kernel's constant b² (0: no intercept). `curvature` is K(x_i, x_i), intercept included. Of `data` only the rows
    `members` take part, if given; targets, cost and curvature are theirs, in their order.
    """

    data: EncodedData
    pair: TablePair
    scales: Array
    targets: Array
    cost: Array
    curvature: Array
    intercept_square: float = 1.0
    loss: Loss = HINGE
    members: NDArray[np.int32] | None = None

    @property
    def n_rows(self) -> int:
        """Rows that take part."""
        return self.targets.size

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lowest and highest value of every β_i."""
        return self.loss.bounds(self.targets, self.cost)


def is_free(beta: Array, low: Array, high: Array) -> NDArray[np.bool_]:
    """Rows whose β is neither zero nor at one of its bounds: the support vectors on the margin."""
    return (beta != 0.0) & (beta > low) & (beta < high)


class EpochReport(NamedTuple):
    """One epoch or Newton step: `gap` is the exact one where it was computed, else the estimate that it gave."""

    epoch: int
    seconds: float
    dual: float
    gap: float
    n_active: int

    def line(self) -> str:
        """Return the epoch as a line of a log."""
        return (
            f"epoch {self.epoch}: gap {self.gap:.3g}, dual {self.dual:.6g}, {self.n_active} rows active, "
            f"{self.seconds:.2f} s"
        )


@dataclass(frozen=True)
class SolveResult:
    """The solution and how far it got. `gap` is a certificate when the pair of tables is symmetric.

    `beta` are the coefficients of f = Σ β_i K(x_i, ·), `weights` is W, (n_columns, width). primal − dual = gap.
    `history` has an entry for every epoch of coordinate descent and every step of Newton's method, `newton_steps` of
    them.
    """

    beta: Array
    weights: NDArray[np.float32]
    intercept: float
    n_iter: int
    primal: float
    gap: float
    converged: bool
    history: list[EpochReport]
    newton_steps: int = 0
    newton_first: bool = False  # or after coordinate descent

    @property
    def dual(self) -> float:
        """The dual objective, a lower bound on every primal one."""
        return self.primal - self.gap
