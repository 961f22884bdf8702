"""Straight lines for ranks: what a rank forgets, and a linear model knows.

The kernel's norm of a curve on ranks is that of its slope per rank. A curve that is straight in x is steep in the
tails, where ranks lie far apart, so that its norm is large although it is the simplest of all. It is in the span of
the hats, whose knots are ranks of known values. So each curve has one more unknown, the straight line, with a weight of
its own that the evidence finds (evidence.py); curve and line are one function of the fitted model. Lines are the null
space of a smoothing spline (Wahba, Spline Models for Observational Data, 1990); here they have a penalty too.

Beyond Tukey's outer fences, three interquartile ranges from the quartiles, a line is flat: else a few far values would
decide its slope.
"""

from __future__ import annotations

import numpy as np

from ..array_types import Array
from ..encoding import Encoder
from ..tables import TablePair

_FENCES = 3.0


def lines_of_ranks(encoder: Encoder, pair: TablePair) -> Array | None:
    """The line of every solver column at the knots, (n_columns, width), zero at the first; None without ranks.

    Its deviation over the knots is that of the ranks, so that a line of weight 1 counts as much as a curve.
    """
    if encoder.numbers != "rank" or pair.grid is None:
        return None
    values = pair.grid.values
    knots = values[:: (values.size - 1) // (pair.width - 1)]
    lines = np.zeros((encoder.n_columns, knots.size))
    for j in np.flatnonzero(encoder.is_number).tolist():
        points = slice(*encoder.edge_start[j : j + 2])
        edges, levels = encoder.edges[points], encoder.levels[points]
        edges = edges / (np.abs(edges).max() or 1.0)  # differences of huge values would overflow
        low, high = np.interp([0.25, 0.75], levels, edges)
        reach = _FENCES * (high - low)
        x = np.clip(np.interp(knots, levels, edges), low - reach, high + reach)
        deviation = x.std()
        if deviation > 0.0:
            lines[j] = (x - x[0]) * (knots.std() / deviation)
    return lines
