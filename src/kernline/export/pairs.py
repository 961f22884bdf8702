"""Tables of pairs of features for JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from ..encoding.pair_axes import PairAxis
from ..pair_functions import PairFunction
from .common import AdditiveModel, name_of


def described_pair(model: AdditiveModel, pair: PairFunction) -> dict[str, object]:
    """A table for JSON."""
    axes = [_described_axis(model, j, axis) for j, axis in zip(pair.columns, pair.axes, strict=True)]
    names = [name_of(model, j) for j in pair.columns]
    return {"features": names, "axes": axes, "scores": pair.values.transpose(2, 0, 1).tolist()}


def lines_of_pair(model: AdditiveModel, pair: PairFunction) -> Iterator[list[object]]:
    """A line of CSV for every two places: the names of the features, where the places are, and the scores."""
    name = " and ".join(name_of(model, j) for j in pair.columns)
    cells = product(*(_texts(model, j, axis) for j, axis in zip(pair.columns, pair.axes, strict=True)))
    scores = pair.values.reshape(-1, pair.values.shape[2]).tolist()
    for cell, row in zip(cells, scores, strict=True):
        yield [name, " and ".join(cell), *row]


def _described_axis(model: AdditiveModel, j: int, axis: PairAxis) -> dict[str, object]:
    described: dict[str, object] = {
        "is_number": axis.is_number,
        "points": axis.points.tolist(),
        "places": axis.places.tolist(),
        "size": axis.size,
    }
    names = _level_names(model, j, axis)
    return described if names is None else described | {"names": names}


def _texts(model: AdditiveModel, j: int, axis: PairAxis) -> list[str]:
    """What is at each place: a value, a level, or all else."""
    if axis.is_number:
        values = np.interp(np.arange(axis.size), axis.places, axis.points)
        return [*map(repr, values.tolist()), "other"]
    levels = _level_names(model, j, axis) or [repr(point) for point in axis.points.tolist()]
    return [*(f"= {level}" for level in levels), "other"]


def _level_names(model: AdditiveModel, j: int, axis: PairAxis) -> list[str] | None:
    """The texts at the points of a category, if its column holds text."""
    names = model.shapes_.encoder.columns.names(j)
    return None if names is None else [names[int(point)] for point in axis.points]
