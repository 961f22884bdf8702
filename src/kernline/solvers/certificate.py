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
    from . import JointProblem, Problem

# How far sums that should be zero may be from it, relative to the sum of the absolute values: β are float32.
_ROUNDING = 1e-5


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
    if problem.free_intercept and abs(beta.sum()) > _ROUNDING * np.abs(beta).sum():
        dual = -np.inf
    K = np.where(problem.curvature > 0.0, problem.curvature, 1.0)
    change = loss.step(t, c, beta, decision, K) - beta
    return Certificate(primal, dual, primal - dual, float(np.abs(K * change).max()), decision)


@dataclass(frozen=True)
class JointCertificate:
    """primal ≥ optimum ≥ dual, of a joint problem. `decision` are the scores, (n_rows, n_classes)."""

    primal: float
    dual: float
    gap: float
    decision: Array


def certify_joint(problem: JointProblem, beta: Array, intercepts: Array) -> JointCertificate:
    """Check `beta`, (n_rows, n_classes), on a joint problem, and the `intercepts` if they are free.

    The dual objective is −∞ unless β satisfies the constraints, but for rounding errors.
    """
    rows, labels, c = np.arange(problem.n_rows), problem.labels, problem.cost
    read, write = explicit_features(problem)
    beta = beta.astype(np.float64)
    curves = read @ (write.T @ beta) + problem.intercept_square * beta.sum(axis=0)
    squared_norm = float((beta * curves).sum())
    decision = curves + (intercepts if problem.free_intercept else 0.0)
    margins = 1.0 + decision - decision[rows, labels][:, None]
    margins[rows, labels] = 0.0
    primal = 0.5 * squared_norm + float(c @ margins.max(axis=1))
    dual = float(beta[rows, labels].sum()) - 0.5 * squared_norm
    bound = np.zeros_like(beta)
    bound[rows, labels] = c
    rounding = _ROUNDING * np.abs(beta).sum()
    balanced = not problem.free_intercept or (np.abs(beta.sum(axis=0)) <= rounding).all()
    feasible = (beta <= bound * (1.0 + _ROUNDING)).all() and (np.abs(beta.sum(axis=1)) <= _ROUNDING * c).all()
    if not (balanced and feasible):
        dual = -np.inf
    return JointCertificate(primal, dual, primal - dual, decision)


def explicit_features(problem: Problem | JointProblem) -> tuple[sp.csr_array, sp.csr_array]:
    """The rows as explicit φ and s_j ψ features, (n_rows, n_features · width), so that K = read @ writeᵀ."""
    read, write = problem.pair.read, problem.pair.write
    return _expand(problem, read, np.ones_like(problem.scales)), _expand(problem, write, problem.scales)


def _expand(problem: Problem | JointProblem, table: Table, scales: Array) -> sp.csr_array:
    row_start, columns, cells = problem.data.entries()
    vectors = table.vectors(cells) * scales[columns][:, None]
    width = vectors.shape[1]
    spread = (columns.astype(np.int64)[:, None] * width + np.arange(width)).ravel()
    shape = (problem.data.n_rows, problem.data.n_columns * width)
    expanded = sp.csr_array((vectors.ravel(), spread, row_start * width), shape=shape)
    return expanded if problem.members is None else expanded[problem.members]
