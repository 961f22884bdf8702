"""The problems of a cross-validation along the path of increasing C, the β of one C giving the start of the next:

    β ← t β,   t = min(C_new / C_old, t*),   t* = S / (2 (S − dual(β)))

with S = Σ |β_i|, or Σ_i β_{i, y_i} of all classes together. C_new / C_old keeps rows at the bound there; t* is where
dual(t β) is highest (for the squared hinge, at C_old), near 1 for classes that are separated, whose β no longer grow
with C.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Floats, Indices
from ..native import decision, native_table, slots_of
from ..solvers import DualCD, JointCD, JointResult, SolveResult
from ..training import TrainingRows
from .labelled import AnyLabelled
from .progress import ProblemProgress

Rows: TypeAlias = NDArray[np.int32]
Solution: TypeAlias = SolveResult | JointResult


@dataclass(frozen=True)
class Fold:
    """Rows of the data to train on, and those held out."""

    train: Rows
    test: Rows


@dataclass(frozen=True)
class Path:
    """The problems of one kernel: a fold's rows, a class against the rest, one of the C."""

    rows: TrainingRows
    folds: list[Fold]
    labelled: AnyLabelled
    Cs: Array

    @property
    def n_problems(self) -> int:
        """Problems of a fold at one C."""
        return self.labelled.n_problems

    def solve(
        self,
        fold: int,
        number: int,
        c: int,
        solver: DualCD,
        start: Start | None,
        watch: ProblemProgress,
        interrupted: threading.Event,
    ) -> Solution:
        """Solve one class of one fold at one C."""
        train = self.folds[fold].train
        problem = self.labelled.problem(number, self.rows, self._cost(fold, c), train)
        if start is None:
            return solver.solve(problem, watch, interrupted)
        beta = start.at(self.Cs[c], (problem.n_rows,))
        return solver.solve(problem, watch, interrupted, start=beta, intercept=float(start.intercepts[0]))

    def _cost(self, fold: int, c: int) -> Array:
        return self.Cs[c] * self.labelled.weights[self.folds[fold].train]

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
class JointPath(Path):
    """The problems of one kernel: a fold's rows, all classes together, one of the C."""

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
    ) -> Solution:
        """Solve one fold at one C."""
        train, n_classes = self.folds[fold].train, self.labelled.classes.size
        problem = self.rows.joint_problem(self.labelled.labels[train], n_classes, self._cost(fold, c), train)
        joint = JointCD(solver.tol, solver.max_iter, solver.seed)
        if start is None:
            return joint.solve(problem, watch, interrupted)
        beta = start.at(self.Cs[c], (train.size, n_classes)).astype(np.float32)
        return joint.solve(problem, watch, interrupted, beta, start.intercepts)

    def scores_of(self, number: int) -> slice:
        """The columns of the scores that a problem gives: all of them."""
        return slice(None)

    def values(self, fold: int, result: Solution) -> Array:
        """f(x_i) of the fold's held-out rows, a column for each class."""
        held_out = self.rows.data[self.folds[fold].test]
        return decision(held_out, self.rows.pair.read, slots_of(result.curves), result.intercepts, 1)


@dataclass(frozen=True)
class Start:
    """A solution as the start of the next C: its β that are not zero."""

    C: float
    support: Indices
    beta: Floats
    highest: float  # t*
    intercepts: Array

    @classmethod
    def of(cls, result: Solution, C: float) -> Start:
        """From the solution at C."""
        beta = result.beta.ravel()
        support = np.flatnonzero(beta)
        total = float(np.abs(beta).sum(dtype=np.float64))
        if isinstance(result, JointResult):
            total *= 0.5  # those of the other classes are as much again
        curvature = 2.0 * (total - result.dual)
        highest = total / curvature if curvature > 0.0 else np.inf
        return cls(C, support, beta[support].astype(np.float32), highest, result.intercepts)

    def at(self, C: float, shape: tuple[int, ...]) -> Array:
        """β of this shape for a larger C."""
        beta = np.zeros(shape)
        beta.ravel()[self.support] = min(C / self.C, self.highest) * self.beta
        return beta
