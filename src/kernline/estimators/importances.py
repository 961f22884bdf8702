"""feature_importances_, and the facts of the training rows that a model keeps (shapes/training_facts.py).

The importance of a feature is the standard deviation of its f_j(x_j), averaged over the problems; that of a pair is
shared by its two features. All add up to 1. A sample of the rows is enough, which the fit has encoded already.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..array_types import Array, Floats, Indices
from ..pair_functions import PairFunction
from ..shapes import CellCounts, ShapeFunctions, TrainingFacts
from ..shapes.pair_statistics import PairStatistics, shares_at
from ..shapes.training_facts import Statistics, distinct_cells, is_linear
from ..training import AdditiveRows

# Rows looked at, evenly spread: the error of a standard deviation is about a sixtieth.
_ROWS = 2000


def training_facts(
    shapes: ShapeFunctions, rows: AdditiveRows, pair_places: tuple[Array, ...], former: TrainingFacts | None = None
) -> tuple[TrainingFacts, Array]:
    """Return the facts of rows that the model's encoder has encoded, and the standard deviation of each function.

    `pair_places` are the places of rows in each table of a pair. The standard deviations are averaged over the
    problems. The facts are also those of the rows of `former` ones, if there are any: of these, only counts are known,
    and pairs have not changed.
    """
    data = rows.data
    sample = data[sampled_rows(data.n_rows)]
    cells = distinct_cells(sample, shapes.encoder)
    found = Statistics.of(shapes, cells, sample.n_rows)
    counts = CellCounts.of(cells, shapes.encoder, sample.n_rows)
    n_rows = data.n_rows
    if former is not None:
        counts = former.cells.scaled(former.n_rows).merged(counts.scaled(n_rows), shapes.encoder)
        n_rows += former.n_rows
        facts = TrainingFacts.of_counts(shapes, n_rows, counts, former.pair_shares)
        facts = facts.with_functions_of(former, slice(len(shapes.encoder.functions), None))
        facts = replace(facts, limits=former.limits, booleans=former.booleans)
        return facts.with_ranges(rows.limits, rows.booleans), np.append(
            found.spread, pair_spreads(shapes.pairs, former.pair_shares)
        )
    located = list(zip(shapes.pairs, pair_places, strict=True))
    of_pairs = [PairStatistics.of_places(*both) for both in located]
    shares = tuple(shares_at(*both) for both in located)
    spread = np.append(found.spread, [one.deviation.mean() for one in of_pairs])
    if is_linear(shapes):
        facts = TrainingFacts.of_counts(shapes, n_rows, counts, shares)
    else:
        facts = found.facts(n_rows, counts, of_pairs, shares)
    return replace(facts, limits=rows.limits, booleans=rows.booleans), spread


def sampled_rows(n_rows: int) -> slice | Indices:
    """All rows, or one at random of each of as many equal stretches: rows in a fixed distance may all be alike."""
    if n_rows <= _ROWS:
        return slice(None)
    ends = np.linspace(0.0, n_rows, _ROWS + 1)
    places = np.random.default_rng(0).random(_ROWS)
    return np.minimum(ends[:-1] + places * np.diff(ends), n_rows - 1).astype(np.int64)


def importances(shapes: ShapeFunctions, spread: Array) -> Array:
    """Return one number per feature, from the standard deviations of all functions."""
    found = spread[: shapes.n_features].copy()
    for pair, extent in zip(shapes.functions[shapes.n_features :], spread[shapes.n_features :], strict=True):
        found[list(pair)] += extent / len(pair)
    return found / (found.sum() or 1.0)


def importances_of_counts(shapes: ShapeFunctions) -> Array:
    """The importances of a model whose curves were changed, from the counts that it keeps."""
    facts = shapes.training
    assert facts is not None
    found = Statistics.of(shapes, facts.cells.cells(shapes.encoder), facts.cells.n_rows)
    return importances(shapes, np.append(found.spread, pair_spreads(shapes.pairs, facts.pair_shares)))


def pair_spreads(pairs: tuple[PairFunction, ...], shares: tuple[Floats, ...]) -> Array:
    """The standard deviation of each pair, averaged over problems, as far as shares of the rows show it."""
    found = (PairStatistics.of_shares(*both).deviation for both in zip(pairs, shares, strict=True))
    return np.array([float(one.mean()) for one in found])
