"""What a fit works on: validated rows, and the targets of the problems that y makes of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Floats, Labels, Matrix
from ..encoding import Columns, EncodedData, TermSpec
from ..joint_losses import JointLoss
from ..pair_functions import PairFunction
from ..solvers import Problem, SolveResult, Targets
from ..solvers.evidence import Recost
from ..training import TrainingRows

if TYPE_CHECKING:
    from .held_out import HeldOutClassifier, HeldOutRegressor

RowsT = TypeVar("RowsT", bound=Matrix | EncodedData)


@dataclass(frozen=True, kw_only=True)
class TrainingData(ABC, Generic[RowsT]):
    """Validated rows with y, and one problem or several on them, which share their costs."""

    is_classification: ClassVar[bool]
    X: RowsT
    y: Labels
    weight: Array | None  # sample_weight
    weights: Array  # C_i / C
    names: list[str]  # of the problems
    targets: Sequence[Targets]  # of the problems
    terms: tuple[TermSpec, ...] = ()  # besides numbers
    columns: Columns | None = None  # what a table held

    @property
    def n_problems(self) -> int:
        """The number of problems."""
        return len(self.targets)

    def problem(
        self, number: int, rows: TrainingRows, cost: Array, members: NDArray[np.int32] | None = None
    ) -> Problem:
        """The problem of this number; with `members`, of these rows alone, which `cost` is of too."""
        return rows.problem(self.targets[number][slice(None) if members is None else members], cost, members)

    def in_units(self, results: list[SolveResult]) -> list[SolveResult]:
        """The solutions in the unit of y, if the targets are not."""
        return results

    def with_mean_weight_one(self) -> Self:
        """The same data with weights divided by their mean, so that the evidence does not depend on their unit."""
        mean = float(self.weights.mean())
        return self if math.isclose(mean, 1.0) else replace(self, weights=self.weights / mean)

    @property
    def first_cost(self) -> float:
        """C before the evidence has been heard: for log loss it is a scale of the curves, else 1 / 2σ²."""
        return 30.0

    @abstractmethod
    def joint_loss(self, cost: Array) -> JointLoss:
        """The smooth loss of all problems together."""

    @property
    def recost(self) -> Recost | None:
        """How the joint loss changes with a new estimate of the noise; None if it has no noise to estimate."""
        return None

    def pairs_in_units(self, pairs: tuple[PairFunction, ...]) -> tuple[PairFunction, ...]:
        """Tables of pairs in the unit of y, if the targets are not."""
        return pairs

    @abstractmethod
    def held_out(self, values: Floats) -> HeldOutClassifier | HeldOutRegressor:
        """The model of f(x) = `values`, (n_rows, n_problems), for the targets, on some rows."""

    def check_fold(self, number: int, train: NDArray[np.int32]) -> None:
        """Refuse rows of a fold that cannot be trained on."""
        if train.size == 0:
            raise ValueError(f"cv: fold {number} trains on no sample.")


AnyTrainingData: TypeAlias = TrainingData[Matrix] | TrainingData[EncodedData]
