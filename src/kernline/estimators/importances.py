"""feature_importances_, and the facts of the training rows that a model keeps (shapes/training_facts.py).

The importance of a feature is the standard deviation of its f_j(x_j), averaged over the problems; that of a pair is
shared by its two features. All add up to 1. A sample of the rows is enough, which the fit has encoded already. Most
models are never looked at: where the sample is small, it is kept, and the facts are computed when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np

from ..array_types import Array, Floats, Indices
from ..encoding import EncodedData
from ..pair_functions import PairFunction
from ..shapes import CellCounts, ShapeFunctions, TrainingFacts
from ..shapes.pair_statistics import PairStatistics, shares_at
from ..shapes.training_facts import Statistics, distinct_cells, is_linear
from ..training import AdditiveRows

# Rows looked at, evenly spread: the error of a standard deviation is about a sixtieth.
_ROWS = 2000
# Bytes of a sample that a model may keep until its facts are asked for: 1,000 words per text. On texts of 160 words, to
# compute the facts took four times as long as the rest of a linear fit.
_KEPT_BYTES = 16_000_000


class LaterFacts(TrainingFacts):
    """Facts that are computed, all at once, when one of them is first asked for; with the `spread` of each function.

    Copies and files have the facts, not the sample.
    """

    spread: Array

    @classmethod
    def of(cls, compute: Callable[[], tuple[TrainingFacts, Array]]) -> LaterFacts:
        """Facts and standard deviations as `compute` returns them."""
        later = cls.__new__(cls)
        later.__dict__["_compute"] = compute
        return later

    def __getattr__(self, name: str) -> Any:
        """A fact that is not there yet. Two threads may both compute the facts, which are the same."""
        compute = self.__dict__.get("_compute")
        if compute is None and name in self.__dict__:  # another thread has been faster
            return self.__dict__[name]
        if compute is None or name not in (*(each.name for each in fields(TrainingFacts)), "spread"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        facts, spread = compute()
        self.__dict__.update(vars(facts), spread=spread)
        self.__dict__.pop("_compute", None)
        return self.__dict__[name]

    def __reduce__(self) -> tuple[type[TrainingFacts], tuple[Any, ...]]:
        return TrainingFacts, tuple(getattr(self, each.name) for each in fields(TrainingFacts))

    def stored(self, shapes: ShapeFunctions) -> TrainingFacts:
        """What a file needs."""
        kind, values = self.__reduce__()
        return kind(*values).stored(shapes)


def later_facts(shapes: ShapeFunctions, rows: AdditiveRows) -> LaterFacts | None:
    """The facts of a model without pairs, computed when asked for; None if the sample is too large to be kept."""
    data = rows.data
    sample = data[sampled_rows(data.n_rows)]
    if sample.nbytes > _KEPT_BYTES:
        return None
    if shapes.encoder.grid is None and sample.n_rows == data.n_rows:
        sample = replace(sample, cells=sample.cells.copy())  # values may be the caller's own; columns are not
    n_rows, limits, booleans = rows.n_all, rows.limits, rows.booleans

    def compute() -> tuple[TrainingFacts, Array]:
        facts, spread = _facts_of_sample(shapes, sample, n_rows, ())
        return replace(facts, limits=limits, booleans=booleans), spread

    return LaterFacts.of(compute)


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
    if former is None:
        facts, spread = _facts_of_sample(shapes, sample, rows.n_all, pair_places)
        return replace(facts, limits=rows.limits, booleans=rows.booleans), spread
    cells = distinct_cells(sample, shapes.encoder)
    found = Statistics.of(shapes, cells, sample.n_rows)
    counts = CellCounts.of(cells, shapes.encoder, sample.n_rows).scaled(rows.n_all)
    counts = former.cells.scaled(former.n_rows).merged(counts, shapes.encoder)
    facts = TrainingFacts.of_counts(shapes, former.n_rows + rows.n_all, counts, former.pair_shares)
    facts = facts.with_functions_of(former, slice(shapes.encoder.n_functions, None))
    facts = replace(facts, limits=former.limits, booleans=former.booleans)
    spread = np.append(found.spread, pair_spreads(shapes.pairs, former.pair_shares))
    return facts.with_ranges(rows.limits, rows.booleans), spread


def _facts_of_sample(
    shapes: ShapeFunctions, sample: EncodedData, n_rows: int, pair_places: tuple[Array, ...]
) -> tuple[TrainingFacts, Array]:
    """The facts of so many rows of which these are a sample, but for their limits, and the standard deviations."""
    cells = distinct_cells(sample, shapes.encoder)
    found = Statistics.of(shapes, cells, sample.n_rows)
    counts = CellCounts.of(cells, shapes.encoder, sample.n_rows)
    located = list(zip(shapes.pairs, pair_places, strict=True))
    of_pairs = [PairStatistics.of_places(*both) for both in located]
    shares = tuple(shares_at(*both) for both in located)
    spread = np.append(found.spread, [one.deviation.mean() for one in of_pairs])
    if is_linear(shapes):
        return TrainingFacts.of_counts(shapes, n_rows, counts, shares), spread
    return found.facts(n_rows, counts, of_pairs, shares), spread


def sampled_rows(n_rows: int) -> slice | Indices:
    """All rows, or one at random of each of as many equal stretches: rows in a fixed distance may all be alike."""
    if n_rows <= _ROWS:
        return slice(None)
    ends = np.linspace(0.0, n_rows, _ROWS + 1)
    return np.minimum(ends[:-1] + _places() * np.diff(ends), n_rows - 1).astype(np.int64)


@cache
def _places() -> Array:
    """Where in its stretch a row is taken from. A new generator would take a fiftieth of a small fit."""
    places = np.random.default_rng(0).random(_ROWS)
    places.flags.writeable = False
    return places


def importances(shapes: ShapeFunctions, spread: Array) -> Array:
    """Return one number per feature, from the standard deviations of all functions."""
    found = spread[: shapes.n_features].copy()
    for pair, extent in zip(shapes.functions_of_pairs, spread[shapes.n_features :], strict=True):
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
