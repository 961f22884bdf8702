"""The referee: primal, dual, gap and KKT violation of a solution, in plain NumPy.

This module does not call the core. It computes the decision values from β alone, through the tables in float64, and the
objectives from the definition of the loss and its conjugate. So an error in the solver's weights, sums or stopping rule
shows as a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..array_types import Array
from ..tables import Table

if TYPE_CHECKING:
    from . import Problem


@dataclass(frozen=True)
class Certificate:
    """primal ≥ optimum ≥ dual if the tables are symmetric. `violation` is the largest KKT error of a row.

    The KKT error is the change of β_i in the exact coordinate step times K(x_i, x_i). Inside the bounds this is the
    gradient.
    """

    primal: float
    dual: float
    gap: float
    violation: float
    decision: Array


def certify(problem: Problem, beta: Array, intercept: float = 0.0) -> Certificate:
    """Check `beta` on `problem`, and the `intercept` if it is free.

    The dual objective of a problem with a free intercept is −∞ unless Σ β_i = 0, but for rounding errors.
    """
    loss, t, c = problem.loss, problem.targets, problem.cost
    read, write = explicit_features(problem)
    curve = read @ (beta @ write) + problem.intercept_square * beta.sum()
    squared_norm = float(beta @ curve)
    decision = curve + (intercept if problem.free_intercept else 0.0)
    primal = 0.5 * squared_norm + float((c * loss.value(t, decision)).sum())
    dual = float(loss.dual(t, c, beta).sum()) - 0.5 * squared_norm
    if problem.free_intercept and abs(beta.sum()) > 1e-5 * np.abs(beta).sum():
        dual = -np.inf
    K = np.where(problem.curvature > 0.0, problem.curvature, 1.0)
    change = loss.step(t, c, beta, decision, K) - beta
    return Certificate(primal, dual, primal - dual, float(np.abs(K * change).max()), decision)


def explicit_features(problem: Problem) -> tuple[sp.csr_array, sp.csr_array]:
    """The rows as explicit φ and s_j ψ features, (n_rows, n_features · width), so that K = read @ writeᵀ."""
    read, write = problem.pair.read, problem.pair.write
    return _expand(problem, read, np.ones_like(problem.scales)), _expand(problem, write, problem.scales)


def _expand(problem: Problem, table: Table, scales: Array) -> sp.csr_array:
    row_start, columns, cells = problem.data.entries()
    vectors = table.vectors(cells) * scales[columns][:, None]
    width = vectors.shape[1]
    spread = (columns.astype(np.int64)[:, None] * width + np.arange(width)).ravel()
    shape = (problem.data.n_rows, problem.data.n_columns * width)
    expanded = sp.csr_array((vectors.ravel(), spread, row_start * width), shape=shape)
    return expanded if problem.members is None else expanded[problem.members]
