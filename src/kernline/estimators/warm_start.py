"""warm_start=True: a fit begins where the former one ended, and ends within `tol` of the same optimum.

On as many rows as before, it begins with their β. On another number of rows, it begins with the β that the former
curves ask for, −c_i ℓ′(t_i, f(x_i)), if the loss has a derivative: at the optimum this is an equality, and it saves up
to a sixth of the passes. The hinge has none at the margin; such a start took more passes than none as often as fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import losses, validation
from ..array_types import Array, Matrix
from ..encoding import EncodedData
from ..mapped.dataset import Dataset
from ..solvers import JointProblem, JointResult, Problem, SolveResult
from ..threads import thread_count
from .starts import Start

if TYPE_CHECKING:
    from .additive_base import AdditiveBase
    from .choices import Choice
    from .training_data import AnyTrainingData


class WarmStart:
    """Where the problems of a fit start, and what is kept of their solutions for the next."""

    def __init__(self, model: AdditiveBase, data: AnyTrainingData, choice: Choice) -> None:
        self.C = float(choice.C or 1.0)
        self.n_rows = int(data.weights.size)
        self.kept: dict[int, Start] = {}
        self.former: dict[int, Start] = {}
        self.values: Array | None = None
        classes, former = getattr(data, "classes", ()), getattr(model, "classes_", ())
        if not hasattr(model, "shapes_") or not np.array_equal(former, classes):
            return
        n_before, starts = getattr(model, "_starts", (0, {}))
        if n_before == self.n_rows and len(starts) == len(model._names(data)):
            self.former = starts
        elif losses.get(choice.loss).smooth and not isinstance(data.X, Dataset):
            self.values, self.intercepts = _values(model, data.X), model.intercept_

    def start(self, index: int, problem: Problem) -> tuple[Array | None, float]:
        """β and the intercept that the problem starts from; no β for a cold start."""
        if index in self.former:
            beta, intercepts = self.former[index].at(self.C)
            return beta, float(intercepts[0])
        if self.values is None:
            return None, 0.0
        slope = problem.loss.gradient(problem.targets, self.values[:, index])
        return -problem.cost * slope, float(self.intercepts[index])

    def joint_start(self) -> tuple[Array, Array] | tuple[None, None]:
        """β and the intercepts that the one problem of all classes starts from; none for a cold start."""
        return self.former[0].at(self.C) if self.former else (None, None)

    def keep(self, index: int, problem: Problem, result: SolveResult) -> None:
        """Keep a solution; threads call it for different problems."""
        self.kept[index] = Start.of(problem, result, self.C)

    def keep_joint(self, problem: JointProblem, result: JointResult) -> None:
        """Keep the solution of all classes together."""
        self.kept[0] = Start.of_joint(problem, result, self.C)

    @property
    def starts(self) -> tuple[int, dict[int, Start]]:
        """What the next fit starts from."""
        return self.n_rows, self.kept


def _values(model: AdditiveBase, X: Matrix | EncodedData) -> Array | None:
    """f(x_i) of the former curves, or None if they are not defined for such rows."""
    encoder, n_threads = model.shapes_.encoder, thread_count(model.n_jobs)
    if isinstance(X, EncodedData) or X.shape[1] != encoder.n_features:
        return None
    try:
        X = validation.encodable(X, encoder, n_threads)
    except ValueError:
        return None
    return model.shapes_.decision(X, n_threads)
