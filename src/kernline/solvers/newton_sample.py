"""A sample of a problem's rows, whose solution Newton's method starts from if there are many.

Its first steps are the longest: from zero, the loss is curved for almost all rows. The solution on a sixteenth of the
rows is near enough to that on all of them for these steps to be left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .problem import Problem

# The fraction of the rows of the sample, and the fewest rows: so many, and so many for each slot.
_FRACTION, _LEAST_ROWS, _ROWS_A_SLOT = 1.0 / 16.0, 10_000, 8
# Fewest rows of a label, if it has as many.
_LEAST_OF_A_LABEL = 1000
# There is a sample if there are this many times its rows.
_WORTH_IT = 4


def sample_of(problem: Problem) -> Problem | None:
    """The problem of a sample of the rows, with costs that make up for the others; None if it has too few rows."""
    n_rows, n_slots = problem.n_rows, problem.data.n_columns * problem.pair.width
    wanted = max(_FRACTION * n_rows, _LEAST_ROWS, _ROWS_A_SLOT * n_slots)
    if n_rows < _WORTH_IT * wanted:
        return None
    rng = np.random.default_rng(0)
    factor = np.ones(n_rows)
    chosen = []
    for rows in _groups(problem):
        n = min(rows.size, max(round(wanted * rows.size / n_rows), _LEAST_OF_A_LABEL))
        chosen.append(rng.choice(rows, n, replace=False, shuffle=False))
        factor[rows] = rows.size / n
    rows = np.sort(np.concatenate(chosen))
    members = rows.astype(np.int32) if problem.members is None else problem.members[rows]
    return replace(
        problem,
        members=members,
        targets=problem.targets[rows],
        cost=problem.cost[rows] * factor[rows],
        curvature=problem.curvature[rows],
        mean=None,
    )


def _groups(problem: Problem) -> list[NDArray[np.int64]]:
    """The rows of each label, so that a rare one is not left out; all rows if targets are numbers."""
    if problem.loss.targets == "numbers":
        return [np.arange(problem.n_rows)]
    return [np.flatnonzero(problem.targets == label) for label in np.unique(problem.targets)]
