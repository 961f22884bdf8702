"""The input and output of a solver."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array
from ..encoding import EncodedData
from ..losses import Hinge, Loss
from ..tables import TablePair

HINGE = Hinge()


class KernelMean(NamedTuple):
    """⟨μ, φ(x_i)⟩ of every row, and ‖μ‖², for a mean μ of the rows in the kernel's space (intercept.py)."""

    products: NDArray[np.float32]
    square: float

    def of(self, members: NDArray[np.int32] | None) -> KernelMean:
        """For these rows alone."""
        return self if members is None else KernelMean(self.products[members], self.square)


@dataclass(frozen=True)
class Problem:
    """min ½‖f‖² + Σ_i c_i ℓ(t_i, f(x_i)) over f(x) = b + Σ_j f_j(x_j), with the norm of Σ_j s_j k(u, v) + s.

    `targets` are the t_i (labels ±1, or numbers), `cost` the c_i > 0, `scales` the s_j, `intercept_square` the
    kernel's constant s (0: no penalised intercept). With `free_intercept`, s = 0 and b is not penalised (intercept.py);
    a `mean` then makes coordinate descent faster.
    `curvature` is K(x_i, x_i), s included. If `members` is given, only these rows of `data` take part; targets, cost
    and curvature are those of `members`, in the same order.
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
    free_intercept: bool = False
    mean: KernelMean | None = None

    @property
    def n_rows(self) -> int:
        """Rows that take part."""
        return self.targets.size

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lowest and highest value of every β_i."""
        return self.loss.bounds(self.targets, as_in_core(self.cost))


@dataclass(frozen=True)
class JointProblem:
    """min ½ Σ_k ‖f_k‖² + Σ_i c_i max_m (f_m(x_i) + [m ≠ y_i] − f_{y_i}(x_i)), over one f_k for each class.

    `labels` are the y_i, numbers of classes from 0. All else is as in `Problem`.
    """

    data: EncodedData
    pair: TablePair
    scales: Array
    labels: NDArray[np.int32]
    n_classes: int
    cost: Array
    curvature: Array
    intercept_square: float = 1.0
    members: NDArray[np.int32] | None = None
    free_intercept: bool = False
    mean: KernelMean | None = None

    @property
    def n_rows(self) -> int:
        """Rows that take part."""
        return self.labels.size


def as_in_core(cost: Array) -> Array:
    """Costs as the core has them, rounded to float32: a row at its bound there should be at its bound here."""
    return cost.astype(np.float32).astype(np.float64)


def is_free(beta: Array, low: Array, high: Array) -> NDArray[np.bool_]:
    """Rows whose β is neither zero nor at one of its bounds: the support vectors on the margin."""
    return (beta != 0.0) & (beta > low) & (beta < high)


class KnownWeights(NamedTuple):
    """W of the β that a run with a free intercept starts from, with Σβ = 0, and the dual objective."""

    weights: NDArray[np.float32]
    dual: float


class EpochReport(NamedTuple):
    """One epoch or Newton step. `gap` is exact if it was computed, else an estimate."""

    epoch: int
    seconds: float
    dual: float
    gap: float
    n_active: int

    def line(self) -> str:
        """Return the epoch as a log line."""
        return (
            f"epoch {self.epoch}: gap {self.gap:.3g}, dual {self.dual:.6g}, {self.n_active} rows active, "
            f"{self.seconds:.2f} s"
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a solver ended. `gap` is a certificate if the pair of tables is symmetric; primal − dual = gap.

    `history` has an entry for every epoch of coordinate descent and every step of Newton's method, `newton_steps` of
    them.
    """

    n_iter: int
    primal: float
    gap: float
    converged: bool
    history: list[EpochReport]
    newton_steps: int = 0
    newton_first: bool = False  # else after coordinate descent
    stopped: bool = False  # a callback asked for it

    @property
    def dual(self) -> float:
        """The dual objective, a lower bound of every primal objective."""
        return self.primal - self.gap

    @property
    def outcome(self) -> Outcome:
        """This, without the solution."""
        return Outcome(**{field.name: getattr(self, field.name) for field in fields(Outcome)})


@dataclass(frozen=True, kw_only=True)
class SolveResult(Outcome):
    """The solution: `beta` are the coefficients of f = Σ β_i K(x_i, ·), `weights` is W, (n_columns, width).

    W is that of β (`is_of_beta`) unless Newton's method found a better one than β, which is rounded, can give; the gap
    is then that between the two.
    """

    beta: Array
    weights: NDArray[np.float32]
    intercept: float
    is_of_beta: bool = True

    @property
    def curves(self) -> NDArray[np.float32]:
        """W of all scores, (1, n_columns, width)."""
        return self.weights[None]

    @property
    def intercepts(self) -> Array:
        """b of all scores."""
        return np.array([self.intercept])


@dataclass(frozen=True, kw_only=True)
class JointResult(Outcome):
    """The solution of a joint problem.

    `beta` are the coefficients of f_k = Σ_i β_ik K(x_i, ·), (n_rows, n_classes), `curves` is W, (n_classes, n_columns,
    width).
    """

    beta: NDArray[np.float32]
    curves: NDArray[np.float32]
    intercepts: Array
