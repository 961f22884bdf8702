"""The referee: primal, dual, gap and KKT violation of a solution, in plain NumPy.

Nothing here calls the core. The decision values are computed from α alone, through the tables in float64, so an error
in the solver's weights, in its sums or in its stopping rule shows as a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .tables import Table

if TYPE_CHECKING:
    from .solvers import BinaryProblem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    """primal ≥ optimum ≥ dual, when the tables are symmetric; `violation` is the largest KKT error of a row."""

    primal: float
    dual: float
    gap: float
    violation: float
    decision: Array


def certify(problem: BinaryProblem, alpha: Array) -> Certificate:
    """Check `alpha` on `problem`."""
    coefficients = alpha * problem.signs
    read, write = explicit_features(problem)
    weights = coefficients @ write
    decision = read @ weights + problem.intercept_square * coefficients.sum()
    margin = 1.0 - problem.signs * decision
    squared_norm = float(coefficients @ decision)
    excess = np.maximum(margin, 0.0)
    if problem.loss == "hinge":
        loss, extra = problem.cost * excess, 0.0
        gradient = -margin
    else:
        loss, extra = problem.cost * excess**2, float((alpha**2 / (4.0 * problem.cost)).sum())
        gradient = alpha / (2.0 * problem.cost) - margin
    primal = 0.5 * squared_norm + float(loss.sum())
    dual = float(alpha.sum()) - 0.5 * squared_norm - extra
    projected = np.where(alpha <= 0.0, np.minimum(gradient, 0.0), gradient)
    projected = np.where(alpha >= problem.bound, np.maximum(gradient, 0.0), projected)
    return Certificate(primal, dual, primal - dual, float(np.abs(projected).max()), decision)


def explicit_features(problem: BinaryProblem) -> tuple[sp.csr_array, sp.csr_array]:
    """The rows with φ, and with s_j ψ, written out: (n_rows, n_features · width), so that K = read @ writeᵀ."""
    read, write = problem.pair.read, problem.pair.write
    return _expand(problem, read, np.ones_like(problem.scales)), _expand(problem, write, problem.scales)


def _expand(problem: BinaryProblem, table: Table, scales: Array) -> sp.csr_array:
    row_start, columns, cells = problem.data.entries()
    vectors = table.vectors(cells) * scales[columns][:, None]
    width = vectors.shape[1]
    spread = (columns.astype(np.int64)[:, None] * width + np.arange(width)).ravel()
    shape = (problem.data.n_rows, problem.data.n_columns * width)
    expanded = sp.csr_array((vectors.ravel(), spread, row_start * width), shape=shape)
    return expanded if problem.members is None else expanded[problem.members]
