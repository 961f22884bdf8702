"""A solution as the start of another fit on the same rows.

    β ← s β,   s = min(C_new / C_old, s*),   s* = L / (2 (L − dual(β))),   L = Σ t_i β_i − ε abs(β_i)

L is Σ_i β_{i, y_i} for all classes together. C_new / C_old keeps rows at the bound there; s* is where dual(s β) is
highest (for squared losses, at C_old), near 1 for classes that are separated, whose β no longer grow with C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..array_types import Array, Floats, Indices
from ..solvers import JointProblem, JointResult, Problem, SolveResult
from ..solvers.problem import KnownWeights


@dataclass(frozen=True)
class Start:
    """The β that are not zero, the C they are for, and the intercepts."""

    C: float
    shape: tuple[int, ...]  # of all β
    support: Indices  # places in the flat array of all β
    beta: Floats
    linear: float  # L
    dual: float
    intercepts: Array
    weights: Floats | None = None  # W, if it takes no more memory than β and if L is all of the loss in the dual

    @classmethod
    def of(cls, problem: Problem, result: SolveResult, C: float) -> Start:
        """The solution of a problem of this C."""
        linear = float(problem.targets @ result.beta - problem.loss.epsilon_or_zero * np.abs(result.beta).sum())
        kept = result.is_of_beta and not problem.loss.smooth and result.weights.size <= 3 * result.beta.size
        return cls._of_linear(linear, result, C, result.weights if kept else None)

    @classmethod
    def of_joint(cls, problem: JointProblem, result: JointResult, C: float) -> Start:
        """The solution of a problem of all classes, of this C."""
        own = result.beta[np.arange(problem.n_rows), problem.labels]
        return cls._of_linear(float(own.sum(dtype=np.float64)), result, C)

    @classmethod
    def _of_linear(
        cls, linear: float, result: SolveResult | JointResult, C: float, weights: Floats | None = None
    ) -> Start:
        beta = result.beta.ravel()
        support = np.flatnonzero(beta)
        kept = beta[support].astype(np.float32)
        return cls(C, result.beta.shape, support, kept, linear, result.dual, result.intercepts, weights)

    def at(self, C: float) -> tuple[Array, Array]:
        """β and the intercepts for another C."""
        beta = np.zeros(self.shape)
        beta.ravel()[self.support] = self._factor(C) * self.beta
        return beta, self.intercepts

    def known(self, C: float) -> KnownWeights | None:
        """What those β give, if it has been kept."""
        if self.weights is None:
            return None
        s = self._factor(C)
        return KnownWeights((s * self.weights).astype(np.float32), s * self.linear - s * s * (self.linear - self.dual))

    def _factor(self, C: float) -> float:
        curvature = 2.0 * (self.linear - self.dual)
        return min(C / self.C, self.linear / curvature if curvature > 0.0 else np.inf)
