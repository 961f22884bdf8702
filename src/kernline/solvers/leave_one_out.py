"""How much the scores of a fit should be multiplied, by its own leave-one-out scores: no row is fitted twice.

At the optimum, one Newton step without row i gives its score (approximate leave-one-out: Rad and Maleki, JRSS B 2020)

    f_i without i = f_i + g_i a_i / (1 − w_i a_i),    g = c ℓ′,  w = c ℓ″,  a_i = φ_iᵀ H⁻¹ φ_i

where H is the Hessian of the objective. With K = φφᵀ of the rows, w_i a_i = 1 − (B⁻¹)_ii for B = I + √w K √w, which is
smaller than H if there are more unknowns than rows. Classes are taken one by one, as if H did not couple them.

Only a sample of m rows is used, each of which stands for s = n / m. By such an H, a_i is too small, as it has the row s
times, and without the row it is too large, a_i / (1 − s w_i a_i): the geometric mean of both is taken. What categories
of many levels add to a_i is found in all rows instead.

The factor T of all scores that lowers Σ_i ℓ(y_i, T f_i without i) most is above 1 where the fit is too timid, as on
data that curves separate. Its logarithm has a normal prior of mean 0: few rows, all of them right, do not determine it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, lapack, solve_triangular

from ..array_types import Array, Floats, Indices
from ..joint_losses import JointLoss
from .sampled_hessian import blocks_of

if TYPE_CHECKING:
    from .lbfgs import LBFGS

_MOST_ROWS, _MOST_FLOPS = 1000, 1e10  # about a third of a second
_UNKNOWNS = 2000  # of features at a time
_PRIOR_DEVIATION = 0.25  # of log T
_LARGEST = float(np.log(2.0))  # |log T|
# A fit is not too timid if its scores, with no row left out, would be multiplied by less: T is smaller still.
_TIMID = 1.05
_INTERCEPT = 100.0  # the variance of a free intercept
_LEAST = 1e-3  # of 1 − w a


def score_factor(lbfgs: LBFGS, F: Array) -> float:
    """T of a fit with the values F of all rows; 1 if the fit is not too timid, without a closer look."""
    rows = np.flatnonzero(lbfgs.loss.cost > 0.0)
    most = min(_MOST_ROWS, int((_MOST_FLOPS / lbfgs.loss.n_problems) ** (1 / 3)))
    share = max(1.0, rows.size / most)
    if share > 1.0:
        rows = np.sort(np.random.default_rng(lbfgs.seed).choice(rows, most, replace=False))
    loss, values = lbfgs.loss.of_rows(rows), F[rows]
    if _best_factor(loss, values, share) <= _TIMID:
        return 1.0
    shares = _shares_of_levels(lbfgs, F, rows)
    return _best_factor(loss, values + _changes(lbfgs, loss, values, rows, share, shares), share)


def _changes(
    lbfgs: LBFGS, loss: JointLoss, F: Array, rows: Indices, share: float, of_levels: Array | None = None
) -> Array:
    """What leaving out a row adds to its values, g a / (1 − w a), if every row stands for so many.

    `of_levels` is what categories of many levels add to a.
    """
    gradient, curvature = loss.gradient(F), np.maximum(loss.curvature(F), 1e-12 / share)
    rests = _rests(lbfgs, rows)
    own = np.zeros_like(gradient) if of_levels is None else of_levels
    out = np.empty_like(gradient)
    for p, (g, w) in enumerate(zip(gradient.T, curvature.T, strict=True)):
        rest = np.clip(rests(share * w), _LEAST, 1.0)  # 1 − share w a
        a = (1.0 - rest) / (share * w)
        mean = a * rest ** -(0.5 - 0.5 / share)
        out[:, p] = g * (mean + own[:, p]) / np.maximum(1.0 - w * (a + own[:, p]), _LEAST)
    return out


def _shares_of_levels(lbfgs: LBFGS, F: Array, rows: Indices) -> Array | None:
    """φ_iᵀ H⁻¹ φ_i of the categories of many levels alone, (n_rows, n_problems), given the values F of all rows.

    A sample has at most one row of most levels, and would let it stand for many: so H is that of all rows, without what
    couples levels and curves.
    """
    basis = lbfgs.basis
    is_apart = basis.is_of_many_levels[basis.n_curve_unknowns : basis.n_row_unknowns]
    if not is_apart.any():
        return None
    levels = basis.level_features(rows)
    levels.data *= levels.data * is_apart[levels.indices]
    weights = np.square(lbfgs.root[basis.n_curve_unknowns : basis.n_row_unknowns])
    curvature = basis.level_sums(lbfgs.loss.curvature(F)) * np.square(basis.level_heights)[:, None]
    shares: Array = levels @ (weights / (1.0 + weights * curvature))
    return shares


def _rests(lbfgs: LBFGS, rows: Indices) -> Callable[[Array], Array]:
    """1 − w_i a_i of these rows as a function of w, by the smaller of H and B: solving by H takes twice the time."""
    n_unknowns = int(lbfgs.basis.pieces.sum())
    if 2 * n_unknowns <= rows.size:
        features = np.empty((rows.size, n_unknowns + 1))
        features[:, :-1] = _features(lbfgs, rows, slice(0, n_unknowns))
        features[:, -1] = np.sqrt(_constant(lbfgs))
        return partial(_rests_by_unknowns, features)
    return partial(_rests_by_rows, _kernel(lbfgs, rows))


def _rests_by_unknowns(features: Array, w: Array) -> Array:
    """1 − w_i φ_iᵀ H⁻¹ φ_i with H = I + Σ_i w_i φ_i φ_iᵀ."""
    scaled = features * np.sqrt(w)[:, None]
    H = scaled.T @ scaled
    H[np.diag_indices_from(H)] += 1.0
    factor, _ = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    whitened = solve_triangular(factor, scaled.T, lower=True, check_finite=False)
    return 1.0 - (whitened * whitened).sum(axis=0)


def _rests_by_rows(kernel: Array, w: Array) -> Array:
    """(B⁻¹)_ii with B = I + √w K √w."""
    root = np.sqrt(w)
    B = kernel * np.outer(root, root)
    B[np.diag_indices_from(B)] += 1.0
    factor, _ = cho_factor(B, lower=True, overwrite_a=True, check_finite=False)
    inverse, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    return np.diag(inverse)


def _kernel(lbfgs: LBFGS, rows: Indices) -> Array:
    """K(x_i, x_j) of these rows, with the weights of the groups, but for categories of many levels."""
    basis = lbfgs.basis
    is_level = np.zeros(lbfgs.root.size, dtype=bool)
    is_level[basis.n_curve_unknowns : basis.n_row_unknowns] = True
    levels = basis.level_features(rows)
    levels.data *= np.where(basis.is_of_many_levels, 0.0, lbfgs.root[:, 0])[is_level][levels.indices]
    K: Array = (levels @ levels.T).toarray() + _constant(lbfgs)
    for unknowns in blocks_of(basis.pieces, _UNKNOWNS, is_level):
        features = _features(lbfgs, rows, unknowns)
        K += features @ features.T
    return K


def _features(lbfgs: LBFGS, rows: Indices, unknowns: slice) -> Floats:
    """φ(x_i) of these rows, with the weights of the groups."""
    return lbfgs.basis.features(rows, unknowns) * lbfgs.root[unknowns, 0].astype(np.float32)


def _constant(lbfgs: LBFGS) -> float:
    """What the intercept adds to the kernel."""
    if not lbfgs.problem.has_intercept:
        return 0.0
    return lbfgs.problem.intercept_square if lbfgs.penalty else _INTERCEPT


def _best_factor(loss: JointLoss, F: Array, share: float) -> float:
    """T with the smallest loss of T F, at a cost of 1 for each row that these stand for, and prior."""
    unit = float(loss.cost.mean()) / share

    def cost(log_factor: float) -> float:
        return loss.value(np.exp(log_factor) * F) / unit + 0.5 * (log_factor / _PRIOR_DEVIATION) ** 2

    # Two grids, as scipy.optimize takes longer to import than they do.
    found, width = 0.0, _LARGEST
    for _ in range(2):
        grid = np.clip(found + np.linspace(-width, width, 15), -_LARGEST, _LARGEST)
        found, width = float(grid[np.argmin([cost(one) for one in grid])]), width / 7.0
    return float(np.exp(found))
