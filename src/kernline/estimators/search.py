"""The search for hyperparameters: C along a path, for each value of another parameter, by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..array_types import Array, Labels
from ..class_signs import costs
from ..solvers import DualCD
from ..training import TrainingRows
from .cross_validation import Scorer, Scoring, folds_of, follow, is_below
from .labelled import ALL_CLASSES
from .paths import Path
from .progress import FitProgress
from .training_data import AnyTrainingData

ValueT = TypeVar("ValueT")
RowsT = TypeVar("RowsT", bound=TrainingRows)


@dataclass(frozen=True)
class SearchResult(Generic[ValueT]):
    """The scores of held-out rows, (n_values, n_Cs, n_folds), for each value of a parameter and each C.

    NaN where C was not tried. Of equal mean scores, the smaller C is taken, then the first value. A last C of NaN is
    that of the evidence, which is taken unless its scores are below the best by more than chance.
    """

    values: Sequence[ValueT]
    Cs: Array
    scores: Array

    @property
    def means(self) -> Array:
        """Mean scores over the folds, (n_values, n_Cs)."""
        return self.scores.mean(axis=2)

    @property
    def best(self) -> tuple[int, int]:
        """The numbers of the best value and C."""
        means = np.round(self.means, 12)  # so that equal scores stay equal for every order of summation
        n_Cs = self.Cs.size - int(np.isnan(self.Cs[-1]))
        found = [(np.nanmax(row), -int(np.nanargmax(row))) for row in means[:, :n_Cs]]
        value = max(range(len(found)), key=lambda k: found[k])
        best = value, -found[value][1]
        if n_Cs < self.Cs.size:
            value = int(means[:, -1].argmax())
            if not is_below(self.scores[value, -1], self.scores[best]):
                return value, n_Cs
        return best

    @property
    def best_value(self) -> ValueT:
        """The best value of the parameter."""
        return self.values[self.best[0]]

    @property
    def best_C(self) -> float:
        """The best C."""
        return float(self.Cs[self.best[1]])

    @property
    def best_score(self) -> float:
        """The highest mean score."""
        return float(np.round(self.means, 12)[self.best])


class Search:
    """The settings of a search, and the names of the problems that it solves, for progress.

    The folds split y as given, and `data` may have rows of weight zero left out. `path` makes the problems of a kernel;
    `together` says that it has one for all classes. A last C of NaN is that of the evidence (SmoothPath).
    """

    def __init__(
        self,
        data: AnyTrainingData,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        Cs: Array,
        cv: object,
        scoring: Scorer,
        *,
        path: Callable[..., Path] = Path,
        together: bool = False,
    ) -> None:
        given: Labels = np.asarray(y)
        self.data, self.Cs = data, Cs
        self.path = path
        self.names = [ALL_CLASSES] if together else data.names
        self.folds = folds_of(cv, given if data.y.ndim > 1 else given.ravel(), sample_weight, data)
        self.scoring = Scoring(scoring, data)
        _ = costs(Cs[0], data.weights), costs(np.nanmax(Cs), data.weights)  # refuses what does not fit into float32

    def tasks(self, values: Iterable[str]) -> list[str]:
        """The names of all problems, in the order in which they are numbered."""
        return [
            f"{value}, fold {fold}, {name}, {'by evidence' if np.isnan(C) else f'C={C:.3g}'}"
            for value in values
            for fold in range(len(self.folds))
            for name in self.names
            for C in self.Cs
        ]

    def run(
        self,
        values: Sequence[ValueT],
        rows_of: Callable[[ValueT], RowsT],
        solver: DualCD,
        n_threads: int,
        progress: FitProgress,
    ) -> tuple[SearchResult[ValueT], RowsT]:
        """Score every C on every fold for each value, on the rows that the value gives; returns the best rows too."""
        scores = np.full((len(values), self.Cs.size, len(self.folds)), np.nan)
        kept = -1
        n_tasks = len(self.folds) * len(self.names) * self.Cs.size
        for k, value in enumerate(values):
            rows = rows_of(value)
            path = self.path(rows, self.folds, self.data, self.Cs)
            scores[k] = follow(path, self.scoring, solver, n_threads, progress, k * n_tasks)
            if SearchResult(values[: k + 1], self.Cs, scores[: k + 1]).best[0] == k:
                best_rows, kept = rows, k
        found = SearchResult(values, self.Cs, scores)
        return found, best_rows if kept == found.best[0] else rows_of(found.best_value)
