"""What a solver is given and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..encoding import EncodedData
from ..tables import TablePair

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BinaryProblem:
    """min ½‖f‖² + Σ_i C_i loss(y_i f(x_i)) over f(x) = b + Σ_j f_j(x_j), with the norm of Σ_j s_j k(u, v) + b².

    `signs` are the labels ±1, `cost` the C_i > 0, `scales` the s_j, `intercept_square` the kernel's constant b² (0: no
    intercept). `curvature` is K(x_i, x_i), intercept included. Of `data` only the rows `members` take part, if given;
    signs, cost and curvature are theirs, in their order.
    """

    data: EncodedData
    pair: TablePair
    scales: Array
    signs: Array
    cost: Array
    curvature: Array
    intercept_square: float = 1.0
    loss: str = "hinge"
    members: NDArray[np.int32] | None = None

    @property
    def n_rows(self) -> int:
        """Rows that take part."""
        return self.signs.size

    @property
    def bound(self) -> Array:
        """Upper end of every α_i."""
        return self.cost if self.loss == "hinge" else np.full(self.n_rows, np.inf)


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

    `weights` is W, (n_features, width). primal − dual = gap. `history` has an entry for every epoch of coordinate
    descent and every step of Newton's method, `newton_steps` of them.
    """

    alpha: Array
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
