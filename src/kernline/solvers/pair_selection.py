"""Which pairs of columns are worth a table: those whose cells would change most in one step from the additive fit.

At the additive fit, r_i = −∇ℓ_i and h_i = ℓ″_i of every row are summed in the cells of a coarse two-dimensional
histogram. One Newton step of a cell's own constant lowers the loss by ½ R² / (H + ρ), and by ½ H / (H + ρ) on average
if the two columns have nothing to say together; their difference, over cells and classes, is the score of a pair (as
in GA²M: Lou et al., KDD 2013, who count residuals). All pairs of 200 columns are scored on a sample of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Indices
from ..joint_losses import JointLoss

_MOST_ROWS = 20_000
_MOST_COLUMNS = 200
_PRIOR = 0.5


def best_pairs(
    codes: NDArray[np.uint8], steps: NDArray[np.uint8], loss: JointLoss, F: Array, count: int, seed: int, n_threads: int
) -> NDArray[np.int32]:
    """The `count` best pairs of the columns of `codes` (pair_axes.place_codes), best first: (n_pairs, 2)."""
    rows = np.arange(len(codes))
    if rows.size > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(rows.size, _MOST_ROWS, replace=False))
    unit = loss.cost.mean()
    r_and_h = np.concatenate([loss.gradient(F)[rows], loss.curvature(F)[rows]], axis=1) / unit
    columns = _strongest(codes, _MOST_COLUMNS)
    bins = [_bins(codes[rows, j], int(steps[j])) for j in columns]
    sizes = np.array([column.max(initial=0) + 1 for column in bins], dtype=np.int32)
    first, second = np.triu_indices(columns.size, 1)
    pairs = np.column_stack([first, second]).astype(np.int32)
    scores = np.empty(len(pairs))
    _core.pair_scores(
        np.ascontiguousarray(np.stack(bins)) if bins else np.zeros((0, rows.size), dtype=np.uint8),
        sizes,
        pairs,
        r_and_h.astype(np.float32),
        _PRIOR,
        scores,
        n_threads,
    )
    best = np.argsort(-scores, kind="stable")[:count]
    return columns[pairs[best]].astype(np.int32)


def _strongest(codes: NDArray[np.uint8], count: int) -> Indices:
    """All columns, or so many of those with the most varied places."""
    if codes.shape[1] <= count:
        return np.arange(codes.shape[1])
    varied = [np.unique(column[:_MOST_ROWS]).size for column in codes.T]
    return np.sort(np.argsort(-np.array(varied), kind="stable")[:count])


def _bins(codes: NDArray[np.uint8], steps: int) -> NDArray[np.uint8]:
    """The nearest place of each row; rows without a place share a further one."""
    place = (codes.astype(np.int64) + steps // 2) // steps
    known = codes != 255
    last = int(place[known].max(initial=-1)) + 1
    return np.where(known, place, last).astype(np.uint8)
