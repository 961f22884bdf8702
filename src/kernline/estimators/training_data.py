"""What a fit works on: validated rows, and the targets of the problems that y makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Labels, Matrix
from ..encoding import EncodedData
from ..solvers import Problem, Targets
from ..training import TrainingRows

RowsT = TypeVar("RowsT", bound=Matrix | EncodedData)


@dataclass(frozen=True, kw_only=True)
class TrainingData(Generic[RowsT]):
    """Validated rows with y, and one problem or several on them, which share their costs."""

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


AnyTrainingData: TypeAlias = TrainingData[Matrix] | TrainingData[EncodedData]
