"""What the classifiers share: binary problems side by side, how they ended, and labels from scores."""

from __future__ import annotations

import threading
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ..array_types import Array
from ..sklearn_compat import CallbackSupportMixin
from ..solvers import DualCD, SolveResult
from ..threads import run_tasks, thread_count
from .progress import FitProgress
from .training import Labelled, TrainingRows

# Scores that `predict` holds at once: 32 MB.
_SCORES_AT_ONCE = 2**22


class OneAgainstRest(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """A classifier of one binary problem for two classes, and one per class for more."""

    classes_: NDArray[Any]
    history_: list[Any]

    def _solve(
        self, rows: TrainingRows, data: Labelled, cost: Array, progress: FitProgress, seed: int, first: int = 0
    ) -> list[SolveResult]:
        """Solve the binary problems in threads; `first` is the number of the first one in `progress`.

        Each problem is made when its turn comes, and results are without β: all of either would take 8 bytes per row
        and class.
        """
        interrupted = threading.Event()
        available, n_problems = thread_count(self.n_jobs), len(data.signs)
        settings = DualCD(self.tol, self.max_iter, solver=self.solver, n_threads=max(1, available // n_problems))

        def solve(index: int) -> SolveResult:
            watch = progress.problem(first + index)
            problem = rows.problem(data.signs[index], cost)
            result = replace(settings, seed=seed + index).solve(problem, watch, interrupted)
            watch.end(result)
            return replace(result, beta=np.empty(0))

        return run_tasks(solve, n_problems, available, interrupted)

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
    def _check_new(self, X: Any) -> Any:
        """X to predict on, checked."""

    @abstractmethod
    def _scores(self, X: Any) -> Array:
        """f_p(x_i), (n_rows, n_problems), of checked rows."""

    def decision_function(self, X: Any) -> Array:
        """Scores: one per row for two classes, positive for classes_[1]; else one per row and class."""
        return one_column_flat(self._scores(self._check_new(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score."""
        X = self._check_new(X)
        step = max(1, _SCORES_AT_ONCE // self.classes_.size)
        blocks = [X] if X.shape[0] <= step else (X[begin : begin + step] for begin in range(0, X.shape[0], step))
        return np.concatenate([labels(self.classes_, one_column_flat(self._scores(block))) for block in blocks])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def one_column_flat(scores: NDArray[Any]) -> NDArray[Any]:
    """Scores as scikit-learn gives them: of two classes, a vector."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def labels(classes: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
    """The class of the highest score."""
    return classes[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
