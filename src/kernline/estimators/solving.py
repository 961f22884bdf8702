"""What the estimators share: problems solved in parallel, and what is kept of their solutions."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from ..array_types import Array, MatrixLike
from ..sklearn_compat import CallbackSupportMixin, Tags
from ..solvers import MOST_PARTS, DualCD, EpochReport, JointCD, JointResult, PassReport, SolveResult
from ..solvers.epochs import OnEpoch
from ..threads import run_tasks
from ..training import TrainingRows
from .progress import FitProgress
from .training_data import AnyTrainingData, RowsT
from .warm_start import WarmStart

if TYPE_CHECKING:
    from .labelled import AnyLabelled

Solutions: TypeAlias = Sequence[SolveResult] | Sequence[JointResult]


def solve_all(
    rows: TrainingRows,
    data: AnyTrainingData,
    cost: Array,
    solver: DualCD,
    n_threads: int,
    progress: FitProgress,
    first: int = 0,
    warm: WarmStart | None = None,
) -> list[SolveResult]:
    """Solve the problems in threads; `first` is the number of the first one in `progress`, `warm` where they start.

    Each problem is built when its turn comes, and results are without β: all of either would take 8 bytes per row and
    problem.
    """
    interrupted = threading.Event()
    # Several problems run side by side; one alone, in parts.
    n_parts = MOST_PARTS if data.n_problems == 1 else 1
    solver = replace(solver, n_threads=max(1, n_threads // data.n_problems), n_parts=n_parts)

    def solve(index: int) -> SolveResult:
        watch = progress.problem(first + index)
        result = solve_one(rows, data, cost, solver, index, watch, interrupted, warm)
        watch.end(result)
        return result

    return run_tasks(solve, data.n_problems, n_threads, interrupted)


def solve_one(
    rows: TrainingRows,
    data: AnyTrainingData,
    cost: Array,
    solver: DualCD,
    index: int,
    watch: OnEpoch | None,
    interrupted: threading.Event,
    warm: WarmStart | None = None,
) -> SolveResult:
    """Solve the problem of this number, which has a seed of its own; without β."""
    problem = data.problem(index, rows, cost)
    start, intercept = (None, 0.0) if warm is None else warm.start(index, problem)
    at_seed = replace(solver, seed=solver.seed + index)
    result = at_seed.solve(problem, watch, interrupted, start, intercept)
    if warm is not None:
        warm.keep(index, problem, result)
    return replace(result, beta=np.empty(0))


def solve_jointly(
    rows: TrainingRows,
    data: AnyLabelled,
    cost: Array,
    solver: JointCD,
    progress: FitProgress,
    first: int = 0,
    warm: WarmStart | None = None,
) -> list[JointResult]:
    """Solve the one problem of all classes together; `first` is its number in `progress`, `warm` where it starts."""
    interrupted = threading.Event()

    def solve(index: int) -> JointResult:
        watch = progress.problem(first + index)
        problem = rows.joint_problem(data.labels, data.classes.size, cost)
        start, intercepts = (None, None) if warm is None else warm.joint_start()
        result = solver.solve(problem, watch, interrupted, start, intercepts)
        watch.end(result)
        if warm is not None:
            warm.keep_joint(problem, result)
        return replace(result, beta=np.empty((0, data.classes.size), dtype=np.float32))

    return run_tasks(solve, 1, 1, interrupted)


class Solved(CallbackSupportMixin, BaseEstimator, Generic[RowsT]):
    """An estimator of one or more problems; it predicts on rows `RowsT`."""

    history_: list[list[EpochReport]] | list[list[PassReport]]

    @classmethod
    @cache  # scikit-learn reads the signature again for every fit and clone, a thirtieth of a small fit
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()
        return names

    def _keep_results(self, results: Solutions) -> None:
        """How the problems ended, and their intercepts."""
        self.intercept_ = np.concatenate([result.intercepts for result in results])
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
