"""feature_importances_, and the facts of the training rows that a model keeps (shapes/training_facts.py).

The importance of a feature is the standard deviation of its f_j(x_j), averaged over the problems; that of a pair is
shared by its two features. All add up to 1. A sample of the rows is enough, which the fit has encoded already.
"""

from __future__ import annotations

import numpy as np

from ..array_types import Array, Floats, Indices, Matrix
from ..encoding import EncodedData
from ..encoding.terms import column_values
from ..pair_functions import PairFunction
from ..shapes import CellCounts, ShapeFunctions, TrainingFacts
from ..shapes.training_facts import Statistics, distinct_cells, is_linear

# Rows looked at, evenly spread: the error of a standard deviation is about a sixtieth.
_ROWS = 2000


def training_facts(
    shapes: ShapeFunctions, data: EncodedData, pair_shares: tuple[Floats, ...], former: TrainingFacts | None = None
) -> tuple[TrainingFacts, Array]:
    """Return the facts of rows that the model's encoder has encoded, and the standard deviation of each curve.

    The second is (n_functions,), averaged over the problems, without pairs. The facts are also those of the rows of
    `former` ones, if there are any: of these, only counts are known.
    """
    sample = data if data.n_rows <= _ROWS else data[_spread_rows(data.n_rows)]
    cells = distinct_cells(sample, shapes.encoder)
    found = Statistics.of(shapes, cells, sample.n_rows)
    spread = found.spread
    counts = CellCounts.of(cells, shapes.encoder, sample.n_rows)
    if former is None and not is_linear(shapes):
        return found.facts(shapes, data.n_rows, counts, pair_shares), spread
    n_rows = data.n_rows
    if former is not None:
        counts = former.cells.scaled(former.n_rows).merged(counts.scaled(n_rows), shapes.encoder)
        n_rows += former.n_rows
    return TrainingFacts.of_counts(shapes, n_rows, counts, pair_shares), spread


def _spread_rows(n_rows: int) -> Indices:
    """One row at random of each of as many equal stretches: rows in a fixed distance may all be alike."""
    ends = np.linspace(0.0, n_rows, _ROWS + 1)
    places = np.random.default_rng(0).random(_ROWS)
    return np.minimum(ends[:-1] + places * np.diff(ends), n_rows - 1).astype(np.int64)


def importances(shapes: ShapeFunctions, spread: Array, of_pairs: Array) -> Array:
    """Return one number per feature, from standard deviations of its curves and of ``shapes.pairs``."""
    found = spread[: shapes.n_features].copy()
    extents = np.append(spread[shapes.n_features :], of_pairs)
    for pair, extent in zip(shapes.functions[shapes.n_features :], extents, strict=True):
        found[list(pair)] += extent / len(pair)
    return found / (found.sum() or 1.0)


def importances_of_counts(shapes: ShapeFunctions) -> Array:
    """The importances of a model whose curves were changed, from the counts that it keeps."""
    facts = shapes.training
    assert facts is not None
    found = Statistics.of(shapes, facts.cells.cells(shapes.encoder), facts.cells.n_rows)
    return importances(shapes, found.spread, pair_spreads(shapes.pairs, facts.pair_shares))


def pair_spreads(pairs: tuple[PairFunction, ...], shares: tuple[Floats, ...]) -> Array:
    """The standard deviation of each pair, averaged over problems; its mean is zero."""
    squares = (
        np.einsum("ij,ijp->p", share, np.square(pair.values[:-1, :-1]))
        for pair, share in zip(pairs, shares, strict=True)
    )
    return np.array([float(np.sqrt(one).mean()) for one in squares])


def places_of_rows(pairs: tuple[PairFunction, ...], X: Matrix) -> tuple[Floats, ...]:
    """The share of the rows at each two places of each pair, to the nearest."""
    found = []
    for pair in pairs:
        values = column_values(X, pair.columns)
        places = [
            np.rint(axis.places_of(column)).astype(np.int64) for axis, column in zip(pair.axes, values.T, strict=True)
        ]
        sizes = [axis.size for axis in pair.axes]
        known = (places[0] < sizes[0]) & (places[1] < sizes[1])
        cell = places[0][known] * sizes[1] + places[1][known]
        share = np.bincount(cell, minlength=sizes[0] * sizes[1]).reshape(sizes)
        found.append((share / max(1, share.sum())).astype(np.float32))
    return tuple(found)
