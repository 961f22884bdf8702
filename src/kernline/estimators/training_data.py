"""What a fit works on: validated rows, and the targets of the problems that y makes of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .. import kernels
from ..array_types import Array, Floats, Labels, Matrix
from ..encoding import Columns, EncodedData, Scale, TermSpec
from ..encoding.column_range import ColumnRange
from ..encoding.columns import chosen_columns
from ..joint_losses import JointLoss
from ..losses import Loss
from ..mapped.dataset import Dataset
from ..pair_functions import PairFunction
from ..solvers import Problem, SolveResult, Targets
from ..solvers.evidence import Recost
from ..training import TrainingRows

if TYPE_CHECKING:
    from .held_out import HeldOutClassifier, HeldOutRegressor

RowsT = TypeVar("RowsT", bound=Matrix | EncodedData | Dataset)


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
    encoded_for: tuple[str | kernels.AdditiveKernel, Scale] | None = None  # what a Dataset was encoded for

    @property
    def n_problems(self) -> int:
        """The number of problems."""
        return len(self.targets)

    def column_range(self, n_threads: int) -> ColumnRange:
        """The range of each column of values, found once: the choice of a scale and the encoder both need it."""
        assert not isinstance(self.X, EncodedData | Dataset)
        found = vars(self).get("_column_range")
        if found is None:
            found = vars(self).setdefault("_column_range", ColumnRange.of(self.X, n_threads))
        return cast(ColumnRange, found)

    def problem(
        self, number: int, rows: TrainingRows, cost: Array, members: NDArray[np.int32] | None = None
    ) -> Problem:
        """The problem of this number; with `members`, of these rows alone, which `cost` is of too."""
        return rows.problem(self.targets[number][slice(None) if members is None else members], cost, members)

    def in_units(self, results: list[SolveResult]) -> list[SolveResult]:
        """The solutions in the unit of y, if the targets are not."""
        return results

    def without_rows(self) -> Self:
        """What is known of y, without its rows: for a model of solutions that were found elsewhere."""
        none: dict[str, Any] = {"X": self.X[:0], "y": self.y[:0], "weights": self.weights[:0]}
        return replace(self, **none, weight=None, targets=())

    def with_mean_weight_one(self) -> Self:
        """The same data with weights divided by their mean, so that the evidence does not depend on their unit."""
        mean = float(self.weights.mean())
        return self if math.isclose(mean, 1.0) else replace(self, weights=self.weights / mean)

    @property
    def first_cost(self) -> float:
        """C before the evidence has been heard: for log loss it is a scale of the curves, else 1 / 2σ²."""
        return 30.0

    def losses_of(self, loss: Loss) -> Sequence[Loss]:
        """The loss of each problem."""
        return [loss] * self.n_problems

    @abstractmethod
    def joint_loss(self, cost: Array) -> JointLoss:
        """The smooth loss of all problems together."""

    @property
    def recost(self) -> Recost | None:
        """How the mean cost follows from a new estimate of the noise; None if there is no noise to estimate."""
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


def encoded_for(estimator: BaseEstimator, dataset: Dataset) -> tuple[str | kernels.AdditiveKernel, Scale]:
    """What the rows were encoded for; the estimator takes the names of their columns."""
    _check_columns(estimator, dataset)
    if dataset.feature_names is not None:
        estimator.feature_names_in_ = dataset.feature_names
    kernel = dataset.kernel
    is_named = kernel.name in kernels.BY_NAME and kernels.get(kernel.name, estimator.p) == kernel
    return kernel.name if is_named else kernel, cast(Scale, dataset.scale)


def _check_columns(estimator: BaseEstimator, dataset: Dataset) -> None:
    """Refuse parameters that ask for other terms than the rows were encoded with."""
    terms = dataset.encoder.terms
    if estimator.missing == "error" and any(term.kind == "missing" for term in terms):
        raise ValueError("missing='error': the Dataset was encoded with missing values. Pass it to Dataset.")
    if isinstance(estimator.categorical, str):  # "auto": as the Dataset has them
        return
    known = sorted(term.columns[0] for term in terms if term.kind == "category")
    wanted = chosen_columns(estimator.categorical, (), dataset.feature_names, dataset.shape[1])
    if sorted(wanted) != known:
        raise ValueError(
            f"categorical: the model asks for columns {sorted(wanted)}, and the Dataset was encoded with categories in "
            f"columns {known}. Pass it to Dataset."
        )


AnyTrainingData: TypeAlias = TrainingData[Matrix] | TrainingData[EncodedData] | TrainingData[Dataset]
