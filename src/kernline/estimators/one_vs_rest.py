"""What the classifiers share: binary problems solved in parallel, their results, and labels from scores."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Generic, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ..array_types import Array, Floats, Labels, MatrixLike
from ..sklearn_compat import CallbackSupportMixin, Tags
from ..solvers import MOST_PARTS, DualCD, EpochReport, PassReport, SolveResult
from ..threads import run_tasks
from ..training import TrainingRows
from .labelled import AnyLabelled, RowsT
from .progress import FitProgress

_FloatsT = TypeVar("_FloatsT", Array, Floats)

# Scores in memory while `predict` runs: 32 MB.
_SCORES_AT_ONCE = 2**22


def solve_all(
    rows: TrainingRows,
    data: AnyLabelled,
    cost: Array,
    solver: DualCD,
    n_threads: int,
    progress: FitProgress,
    first: int = 0,
) -> list[SolveResult]:
    """Solve the binary problems in threads; `first` is the number of the first one in `progress`.

    Each problem is built when its turn comes, and results are without β: all of either would take 8 bytes per row and
    class.
    """
    interrupted = threading.Event()
    # Several problems run side by side; one alone, in parts.
    n_parts = MOST_PARTS if len(data.signs) == 1 else 1
    solver = replace(solver, n_threads=max(1, n_threads // len(data.signs)), n_parts=n_parts)

    def solve(index: int) -> SolveResult:
        watch = progress.problem(first + index)
        problem = rows.problem(data.signs[index][:], cost)
        result = replace(solver, seed=solver.seed + index).solve(problem, watch, interrupted)
        watch.end(result)
        return replace(result, beta=np.empty(0))

    return run_tasks(solve, len(data.signs), n_threads, interrupted)


class OneAgainstRest(CallbackSupportMixin, ClassifierMixin, BaseEstimator, Generic[RowsT]):
    """A classifier of one binary problem for two classes, and one per class for more; it predicts on rows `RowsT`."""

    classes_: Labels
    history_: list[list[EpochReport]] | list[list[PassReport]]

    def _keep_results(self, results: list[SolveResult]) -> None:
        """How the problems ended, and their intercepts."""
        self.intercept_ = np.array([result.intercept for result in results])
        self.n_iter_ = np.array([result.n_iter for result in results])
        self.objective_ = np.array([result.primal for result in results])
        self.dual_gap_ = np.array([result.gap for result in results])
        self.history_ = [result.history for result in results]
        steps = sum(result.newton_steps for result in results)
        begins_with_newton = all(result.newton_first for result in results)
        self.solver_ = "newton" if begins_with_newton else "dual-cd+newton" if steps else "dual-cd"

    @abstractmethod
    def _check_new(self, X: MatrixLike | RowsT) -> RowsT:
        """X to predict on, checked."""

    @abstractmethod
    def _scores(self, X: RowsT) -> Array:
        """f_p(x_i), (n_rows, n_problems), of checked rows."""

    def decision_function(self, X: MatrixLike | RowsT) -> Array:
        """Scores: one per row for two classes, positive for classes_[1]; else one per row and class."""
        return one_column_flat(self._scores(self._check_new(X)))

    def predict(self, X: MatrixLike | RowsT) -> Labels:
        """The class of the highest score."""
        rows = self._check_new(X)
        step = max(1, _SCORES_AT_ONCE // self.classes_.size)
        blocks: Iterable[RowsT] = [rows]
        if rows.shape[0] > step:
            blocks = (cast(RowsT, rows[k : k + step]) for k in range(0, rows.shape[0], step))
        return np.concatenate([labels(self.classes_, one_column_flat(self._scores(block))) for block in blocks])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def one_column_flat(scores: _FloatsT) -> _FloatsT:
    """Scores as scikit-learn gives them: of two classes, a vector."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def labels(classes: Labels, scores: Array | Floats) -> Labels:
    """The class of the highest score."""
    return classes[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
