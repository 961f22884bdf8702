"""A solution as the start of another fit on the same rows.

    β ← s β,   s = min(C_new / C_old, s*),   s* = L / (2 (L − dual(β))),   L = Σ t_i β_i − ε abs(β_i)

C_new / C_old keeps rows at the bound there; s* is where dual(s β) is highest (for squared losses, at C_old), near 1 for
classes that are separated, whose β no longer grow with C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..array_types import Array, Floats, Indices
from ..solvers import Problem, SolveResult


@dataclass(frozen=True)
class Start:
    """The β that are not zero, the C they are for, and the intercept."""

    C: float
    support: Indices
    beta: Floats
    highest: float  # s*
    intercept: float

    @classmethod
    def of(cls, problem: Problem, result: SolveResult, C: float) -> Start:
        """The solution of a problem of this C."""
        support = np.flatnonzero(result.beta)
        linear = float(problem.targets @ result.beta - problem.loss.epsilon_or_zero * np.abs(result.beta).sum())
        curvature = 2.0 * (linear - result.dual)
        highest = linear / curvature if curvature > 0.0 else np.inf
        return cls(C, support, result.beta[support].astype(np.float32), highest, result.intercept)

    def at(self, C: float, n_rows: int) -> tuple[Array, float]:
        """β and the intercept for another C."""
        beta = np.zeros(n_rows)
        beta[self.support] = min(C / self.C, self.highest) * self.beta
        return beta, self.intercept
