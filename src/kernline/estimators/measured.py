"""What every regressor makes of X and y before it fits.

Problems are solved for t = (y − mean) / spread, with the standard deviation as the spread, so that C means the same
whatever the unit of y. Solutions are kept in the unit of y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from .. import validation
from ..array_types import Array, Floats, Matrix, MatrixLike
from ..class_signs import LARGEST
from ..encoding import EncodedData
from ..joint_losses import JointLoss, Separate
from ..losses import Loss, SquaredError
from ..mapped.dataset import Dataset
from ..pair_functions import PairFunction
from ..solvers import Problem, SolveResult
from ..solvers.evidence import Recost
from ..table_input import TableRules
from ..training import TrainingRows
from .held_out import HeldOutRegressor
from .training_data import RowsT, TrainingData, encoded_for

# The least variance of errors that is believed, of a variance of 1 in y.
_LEAST_NOISE = 1e-6
# epsilon="scale", in standard deviations of y.
_EPSILON = 0.1
# The spreads of y that float32 weights hold with room for their own magnitude. The curves of others stay in units of
# the spread.
_SMALLEST_SPREAD, _LARGEST_SPREAD = 1e-25, 1e25


@dataclass(frozen=True)
class Output:
    """One column of y: its spread, the standard deviation (or its size, if it is constant), and its mean.

    The mean is in units of the spread, as both may be near the ends of float64.
    """

    spread: float
    mean: float

    @classmethod
    def of(cls, y: Array, weight: Array | None, *, centred: bool) -> tuple[Output, Array]:
        """Those of a column, and its targets t. A column that is not to be centred has the mean 0."""
        # A power of two, by which a division is exact.
        size = math.ldexp(1.0, min(math.frexp(float(np.abs(y).max()))[1], 1023))
        scaled = y / size
        mean = float(np.average(scaled, weights=weight)) if np.ptp(scaled) > 0.0 else float(scaled[0])
        spread = float(np.sqrt(np.average(np.square(scaled - mean), weights=weight))) or 1.0
        if not centred:
            mean = 0.0
        return cls(max(spread * size, math.ulp(0.0)), mean / spread), (scaled - mean) / spread

    @property
    def unit(self) -> float:
        """The unit of the curves: that of y, unless its spread is not for float32."""
        return 1.0 if _SMALLEST_SPREAD <= self.spread <= _LARGEST_SPREAD else self.spread

    def in_unit(self, result: SolveResult) -> SolveResult:
        """A solution for t as one for y, in this unit."""
        factor = self.spread / self.unit
        return replace(
            result,
            weights=np.float32(factor) * result.weights,
            intercept=factor * (result.intercept + self.mean),
        )


@dataclass(frozen=True)
class Goal:
    """What a regression minimises. y is `centred` unless its mean is to be penalised, or no part of the model."""

    loss: Loss
    epsilon: float | str  # in the unit of y
    centred: bool

    def relative_epsilon(self, output: Output) -> float:
        """Epsilon in units of the spread; 0 if the loss has none."""
        if not hasattr(self.loss, "epsilon"):
            return 0.0
        return _EPSILON if isinstance(self.epsilon, str) else min(float(self.epsilon) / output.spread, LARGEST)

    def loss_of(self, output: Output, targets: Array) -> Loss:
        """The loss of t."""
        if not targets.any():
            return SquaredError()  # f = 0 is the best for every loss, and the only best for this one
        if not hasattr(self.loss, "epsilon"):
            return self.loss
        return replace(self.loss, epsilon=self.relative_epsilon(output))  # type: ignore[call-arg]


@dataclass(frozen=True, kw_only=True)
class Measured(TrainingData[RowsT]):
    """Rows with numbers y, (n_rows,) or (n_rows, n_outputs); each output is a problem."""

    is_classification: ClassVar[bool] = False
    y: Array
    outputs: Sequence[Output]
    losses: Sequence[Loss]  # of the problems
    epsilons: Array  # of the outputs, in the unit of y

    def problem(
        self, number: int, rows: TrainingRows, cost: Array, members: NDArray[np.int32] | None = None
    ) -> Problem:
        """The problem of an output, for t."""
        return super().problem(number, replace(rows, loss=self.losses[number]), cost, members)

    def losses_of(self, loss: Loss) -> Sequence[Loss]:
        """The loss of each output."""
        return self.losses

    def in_units(self, results: list[SolveResult]) -> list[SolveResult]:
        """Solutions in the units of the curves."""
        return [output.in_unit(result) for output, result in zip(self.outputs, results, strict=True)]

    @property
    def first_cost(self) -> float:
        """1 / 2σ² for curves that leave a fifth of the variance."""
        return 2.5

    def joint_loss(self, cost: Array) -> JointLoss:
        """The squared errors of all outputs, for t."""
        return Separate(SquaredError(), self._t, cost)

    @property
    def _t(self) -> Array:
        """The targets of all outputs, (n_rows, n_outputs)."""
        return np.column_stack([targets[:] for targets in self.targets])

    @property
    def recost(self) -> Recost:
        """A new estimate of σ² from the errors."""
        return self._recosted

    def _recosted(self, loss: JointLoss, F: Array, determined: float) -> float:
        """1 / 2σ², where σ² is the mean square of the errors. The loss may be that of some of the rows."""
        assert isinstance(loss, Separate)
        weights = loss.cost / loss.cost.mean()
        squares = np.square(loss.targets - F).mean(axis=1)
        left = max(weights.size - determined, 0.05 * weights.size)
        return 0.5 / float(np.clip(weights @ squares / left, _LEAST_NOISE, 1.0))

    def pairs_in_units(self, pairs: tuple[PairFunction, ...]) -> tuple[PairFunction, ...]:
        """Tables in the units of the curves."""
        factors = np.array([output.spread / output.unit for output in self.outputs])
        return tuple(replace(pair, values=pair.values * factors) for pair in pairs)

    def held_out(self, values: Floats) -> HeldOutRegressor:
        """The regressor of these t, in the unit of y."""
        spreads, means = (np.array([getattr(output, name) for output in self.outputs]) for name in ("spread", "mean"))
        return HeldOutRegressor(spreads * (values + means))

    @property
    def units(self) -> Array:
        """The units of the curves, one per output."""
        return np.array([output.unit for output in self.outputs])


AnyMeasured: TypeAlias = Measured[Matrix] | Measured[EncodedData] | Measured[Dataset]


def measured_table(
    estimator: BaseEstimator,
    X: MatrixLike | EncodedData | Dataset,
    y: Any,
    sample_weight: ArrayLike | None,
    rules: TableRules,
    goal: Goal,
) -> AnyMeasured:
    """Check the arguments of `fit` of a regressor; X may be a table with text and missing values.

    It may also be rows encoded before, from ``io.read(encoder=)``.
    """
    if isinstance(X, Dataset):
        rows: Any = X if X.is_in_parts else X.rows
        y = X.y if y is None else y
        sample_weight = X.sample_weight if sample_weight is None else sample_weight
        encoded = _with_outputs(*validation.check_encoded(estimator, rows, y, sample_weight, numbers=True), goal)
        return replace(encoded, encoded_for=encoded_for(estimator, X))
    if isinstance(X, EncodedData):
        return _with_outputs(*validation.check_encoded(estimator, X, y, sample_weight, numbers=True), goal)
    table = validation.check_training_table(estimator, X, y, sample_weight, rules, numbers=True)
    data = _with_outputs(table.X, table.y, table.weight, goal)
    return replace(data, terms=table.terms, columns=table.columns)


def _with_outputs(X: RowsT, y: Array, weight: Array | None, goal: Goal) -> Measured[RowsT]:
    columns = y.reshape(len(y), -1).T
    found = [Output.of(column, weight, centred=goal.centred) for column in columns]
    outputs, targets = zip(*found, strict=True)
    return Measured(
        X=X,
        y=y,
        weight=weight,
        weights=np.ones(len(y)) if weight is None else weight,
        names=["y"] if y.ndim == 1 else [f"output {k}" for k in range(len(columns))],
        targets=targets,
        outputs=outputs,
        losses=[goal.loss_of(output, t) for output, t in found],
        epsilons=np.array([goal.relative_epsilon(output) * output.spread for output in outputs]),
    )
