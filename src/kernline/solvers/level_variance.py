"""The weight of a category of many levels, from rows that share a level: where evidence begins.

Most of many levels have one row or two, of which Laplace's approximation says little (evidence.py). If the effects of
levels have the variance V, and g and w are the loss's gradient and curvature without them, then E[g_i g_j] = w_i w_j V
for two rows of one level, and 0 for rows of different levels. So

    V = Σ_levels ((Σ g)² − Σ g²) / Σ_levels ((Σ w)² − Σ w²)

A level of a single row adds nothing: an identifier has V = 0, and its levels get no weights that matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Array

if TYPE_CHECKING:
    from .lbfgs import LBFGS, Point


def first_weights(lbfgs: LBFGS, constant: Point, prior_scale: float, least: float) -> Array:
    """The weight v_g of every group: of many levels by the formula, at a fit of intercepts alone; else as it was."""
    basis, loss = lbfgs.basis, lbfgs.loss
    weights = lbfgs.problem.group_weights.copy()
    chosen = np.flatnonzero(basis.has_many_levels)
    if not chosen.size:
        return weights
    g, w = loss.gradient(constant.F), loss.curvature(constant.F)
    squares, curvatures = (np.square(basis.level_sums(one)) - basis.level_sums(one * one) for one in (g, w))
    ends = np.cumsum(basis.sizes) - basis.n_curve_unknowns
    heights = basis.level_heights
    for k in chosen.tolist():
        levels = slice(ends[k] - basis.sizes[k], ends[k])
        pairs = float(curvatures[levels].sum())
        variance = float(squares[levels].sum()) / pairs if pairs > 1e-9 * float((w * w).sum()) else 0.0
        weights[k] = np.clip(variance / (prior_scale * heights[levels][0] ** 2), least, 1.0)
    return weights
