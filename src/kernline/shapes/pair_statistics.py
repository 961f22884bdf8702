"""Statistics of tables of pairs over training rows, which lie between four places of a table, or at "all else"."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..array_types import Array, Floats, Matrix
from ..encoding.terms import column_values
from ..pair_functions import PairFunction


class PairStatistics(NamedTuple):
    """Mean distance from the mean, range, mean and standard deviation of a pair, each (n_problems,)."""

    distance: Array
    low: Array
    high: Array
    mean: Array
    deviation: Array

    @classmethod
    def of_places(cls, pair: PairFunction, places: Array) -> PairStatistics:
        """Those of rows at these places on the two axes, (n_rows, 2)."""
        cells, weights = _corners(pair, places)
        table = pair.values.reshape(-1, pair.values.shape[2])
        values = np.einsum("nc,ncp->np", weights, table[cells])
        return cls._of(values, np.full(len(values), 1.0 / max(1, len(values))))

    @classmethod
    def of_shares(cls, pair: PairFunction, share: Floats) -> PairStatistics:
        """Those of shares of rows at each two places; only the mean is exact, as rows between places are split."""
        weight = share.astype(np.float64).ravel()
        seen = weight > 0.0
        return cls._of(pair.values.reshape(weight.size, -1)[seen], weight[seen])

    @classmethod
    def _of(cls, values: Array, weight: Array) -> PairStatistics:
        if not len(values):
            values, weight = np.zeros((1, values.shape[1])), np.zeros(1)
        mean = weight @ values
        apart = values - mean
        deviation = np.sqrt(weight @ np.square(apart))
        return cls(weight @ np.abs(apart), values.min(axis=0), values.max(axis=0), mean, deviation)


def shares_at(pair: PairFunction, places: Array) -> Floats:
    """The share of the rows at each two places, "all else" included; a row between places is split among them."""
    cells, weights = _corners(pair, places)
    shape = pair.values.shape[:2]
    share = np.bincount(cells.ravel(), weights.ravel(), shape[0] * shape[1]).reshape(shape)
    return (share / (share.sum() or 1.0)).astype(np.float32)


def places_of_rows(pairs: tuple[PairFunction, ...], X: Matrix) -> tuple[Array, ...]:
    """The places of rows on the two axes of each pair, (n_rows, 2)."""
    found = []
    for pair in pairs:
        values = column_values(X, pair.columns)
        found.append(np.column_stack([axis.places_of(values[:, side]) for side, axis in enumerate(pair.axes)]))
    return tuple(found)


def _corners(pair: PairFunction, places: Array) -> tuple[Array, Array]:
    """The four cells of the flattened table around each row, and their bilinear weights, (n_rows, 4) each."""
    width = pair.values.shape[1]
    low = np.minimum(places.astype(np.int64), np.array(pair.values.shape[:2]) - 2)
    (a, b), (wa, wb) = low.T, (places - low).T
    cells = (a * width + b)[:, None] + np.array([0, 1, width, width + 1])
    weights = np.column_stack([(1.0 - wa) * (1.0 - wb), (1.0 - wa) * wb, wa * (1.0 - wb), wa * wb])
    return cells, weights
