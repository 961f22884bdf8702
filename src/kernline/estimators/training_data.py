"""What a fit works on: validated rows, and the targets of the problems that y makes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Floats, Labels, Matrix
from ..encoding import EncodedData
from ..solvers import Problem, SolveResult, Targets
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

    @abstractmethod
    def held_out(self, values: Floats) -> HeldOutClassifier | HeldOutRegressor:
        """The model of f(x) = `values`, (n_rows, n_problems), for the targets, on some rows."""

    def check_fold(self, number: int, train: NDArray[np.int32]) -> None:
        """Refuse rows of a fold that cannot be trained on."""
        if train.size == 0:
            raise ValueError(f"cv: fold {number} trains on no sample.")


AnyTrainingData: TypeAlias = TrainingData[Matrix] | TrainingData[EncodedData]
