"""The problems of a cross-validation along the path of increasing C, the β of one C giving the start of the next."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array
from ..losses import Logistic
from ..native import decision, native_table, slots_of
from ..solvers import DualCD, JointCD, JointResult, SolveResult
from ..training import AdditiveRows, TrainingRows
from .joint_fit import JointSettings, solve_results
from .joint_fit import fit as fit_jointly
from .labelled import AnyLabelled
from .probabilities import FromScores
from .progress import ProblemProgress
from .starts import Start
from .training_data import AnyTrainingData

# From this C K(x, x) on, a first solution has a looser tolerance, by this factor.
_LARGE, _LOOSER = 8.0, 10.0 / 3.0

Rows: TypeAlias = NDArray[np.int32]
Solution: TypeAlias = SolveResult | JointResult


@dataclass(frozen=True)
class Fold:
    """Rows of the data to train on, and those held out."""

    train: Rows
    test: Rows


@dataclass(frozen=True)
class Path:
    """The problems of one kernel: a fold's rows, one of the problems of the data, one of the C."""

    rows: TrainingRows
    folds: list[Fold]
    data: AnyTrainingData
    Cs: Array

    @property
    def n_problems(self) -> int:
        """Problems of a fold at one C."""
        return self.data.n_problems

    @property
    def probabilities(self) -> FromScores | None:
        """How scores become probabilities, if the loss is such that they do."""
        return "each" if self.data.is_classification and isinstance(self.rows.loss, Logistic) else None

    def looser(self, c: int) -> float:
        """How many times looser the tolerance of a first solution is."""
        cost = self.Cs[c] * self.data.weights.mean()
        return _LOOSER if cost * self.rows.norms.mean() >= _LARGE else 1.0

    def solve(
        self,
        fold: int,
        number: int,
        c: int,
        solver: DualCD,
        start: Start | None,
        watch: ProblemProgress,
        interrupted: threading.Event,
    ) -> tuple[Solution, Start | None]:
        """Solve one problem of one fold at one C; returns the start of the next C too."""
        train = self.folds[fold].train
        problem = self.data.problem(number, self.rows, self._cost(fold, c), train)
        C = self.Cs[c]
        beta, intercepts = (None, np.zeros(1)) if start is None else start.at(C)
        # A penalised intercept grows like β, and comes with it.
        known = None if start is None or not problem.free_intercept else start.known(C)
        result = solver.solve(problem, watch, interrupted, beta, float(intercepts[0]), known)
        return result, Start.of(problem, result, C)

    def _cost(self, fold: int, c: int) -> Array:
        return self.Cs[c] * self.data.weights[self.folds[fold].train]

    def scores_of(self, number: int) -> slice:
        """The columns of the scores that a problem gives."""
        return slice(number, number + 1)

    def values(self, fold: int, result: Solution) -> Array:
        """f(x_i) of the fold's held-out rows, a column for each score."""
        held_out = self.folds[fold].test
        out = np.empty(held_out.size)
        table = native_table(self.rows.pair.read)
        weights = np.append(result.curves, np.float32(0.0))  # the float more that a pair table may touch
        _core.read_members(self.rows.data.native, table, weights, held_out, out, 1)
        return out[:, None] + result.intercepts


@dataclass(frozen=True)
class SmoothPath(Path):
    """The problems of one kernel with the log loss: a fold's rows, all classes together, one of the C.

    The last number of `Cs`, if it is NaN, stands for a weight of each column by evidence instead of C.
    """

    data: AnyLabelled
    rows: AdditiveRows
    settings: JointSettings

    @property
    def n_problems(self) -> int:
        """Problems of a fold at one C."""
        return 1

    @property
    def probabilities(self) -> FromScores | None:
        """How scores become probabilities."""
        return "softmax"

    def looser(self, c: int) -> float:
        """How many times looser the tolerance of a first solution is: not at all."""
        return 1.0

    def solve(
        self,
        fold: int,
        number: int,
        c: int,
        solver: DualCD,
        start: Start | None,
        watch: ProblemProgress,
        interrupted: threading.Event,
    ) -> tuple[Solution, Start | None]:
        """Solve one fold at one C, from zero."""
        train = self.folds[fold].train
        by_evidence = bool(np.isnan(self.Cs[c]))
        data = self.data.of_rows(train)
        data = data.with_mean_weight_one() if by_evidence else data
        C = data.first_cost if by_evidence else float(self.Cs[c])
        settings = replace(
            self.settings,
            tol=solver.tol,
            seed=solver.seed,
            n_threads=solver.n_threads,
            by_evidence=by_evidence,
            prior_scale=C,
        )
        rows = replace(self.rows, data=self.rows.data[train])
        model = fit_jointly(rows, data.joint_loss(C * data.weights), settings, watch)
        first = solve_results(model)[0]
        return JointResult(
            n_iter=first.n_iter,
            primal=first.primal,
            gap=first.gap,
            converged=first.converged,
            history=first.history,
            stopped=first.stopped,
            beta=np.zeros((0, 0), dtype=np.float32),
            curves=model.weights,
            intercepts=model.intercepts,
        ), None

    def scores_of(self, number: int) -> slice:
        """The columns of the scores that a problem gives: all of them."""
        return slice(None)

    def values(self, fold: int, result: Solution) -> Array:
        """f(x_i) of the fold's held-out rows, a column for each score."""
        held_out = self.rows.data[self.folds[fold].test]
        return decision(held_out, self.rows.pair.read, slots_of(result.curves), result.intercepts, 1)


@dataclass(frozen=True)
class JointPath(Path):
    """The problems of one kernel: a fold's rows, all classes together, one of the C."""

    data: AnyLabelled

    def looser(self, c: int) -> float:
        """How many times looser the tolerance of a first solution is: not at all."""
        return 1.0

    @property
    def n_problems(self) -> int:
        """Problems of a fold at one C."""
        return 1

    def solve(
        self,
        fold: int,
        number: int,
        c: int,
        solver: DualCD,
        start: Start | None,
        watch: ProblemProgress,
        interrupted: threading.Event,
    ) -> tuple[Solution, Start]:
        """Solve one fold at one C; returns the start of the next C too."""
        train, n_classes = self.folds[fold].train, self.data.classes.size
        problem = self.rows.joint_problem(self.data.labels[train], n_classes, self._cost(fold, c), train)
        C, joint = self.Cs[c], JointCD(solver.tol, solver.max_iter, solver.seed)
        beta, intercepts = (None, None) if start is None else start.at(C)
        result = joint.solve(problem, watch, interrupted, beta, intercepts)
        return result, Start.of_joint(problem, result, C)

    def scores_of(self, number: int) -> slice:
        """The columns of the scores that a problem gives: all of them."""
        return slice(None)

    def values(self, fold: int, result: Solution) -> Array:
        """f(x_i) of the fold's held-out rows, a column for each class."""
        held_out = self.rows.data[self.folds[fold].test]
        return decision(held_out, self.rows.pair.read, slots_of(result.curves), result.intercepts, 1)
