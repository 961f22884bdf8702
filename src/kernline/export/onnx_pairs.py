"""Tables of pairs of features in an ONNX graph: bilinear interpolation with standard operators, in float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..array_types import Array
from ..pair_functions import PairFunction, StackedPairs
from .onnx_nodes import Graph, search


def sum_of_pairs(graph: Graph, x: str, pairs: Sequence[PairFunction]) -> str:
    """What all tables add to the scores, (n, n_problems)."""
    stacked = StackedPairs.of(pairs)
    low, share = _places(graph, graph("Gather", x, np.array(stacked.columns, dtype=np.int64), axis=1), stacked)
    sides = [side.astype(np.int64) for side in stacked.sides.T]
    (a, b), (right, above) = ([graph("Gather", part, side, axis=1) for side in sides] for part in (low, share))
    widths = stacked.widths.astype(np.int64)
    cell = graph("Add", graph("Add", graph("Mul", a, widths), b), stacked.first.astype(np.int64))
    values = graph.constant(stacked.values)
    total = ""
    for step, first in ((np.zeros_like(widths), _rest(graph, right)), (widths, right)):
        for next_step, second in ((0, _rest(graph, above)), (1, above)):
            corner = graph("Gather", values, graph("Add", cell, step + next_step))
            weight = graph("Unsqueeze", graph("Mul", first, second), np.array([2]))
            part = graph("Mul", corner, weight)
            total = graph("Add", total, part) if total else part
    return graph("ReduceSum", total, np.array([1]), keepdims=0)


def _rest(graph: Graph, share: str) -> str:
    return graph("Sub", np.float64(1.0), share)


def _places(graph: Graph, values: str, stacked: StackedPairs) -> tuple[str, str]:
    """The place below each value, which is not the last, and how far it is from there to the next, 0 to 1."""
    axes = [axis for _, axis in stacked.axes]
    n = max(axis.points.size for axis in axes)
    points, places = (
        np.stack([_padded(part, n, fill) for part, fill in parts])
        for parts in ([(axis.points, np.inf) for axis in axes], [(axis.places, axis.places[-1]) for axis in axes])
    )
    with np.errstate(invalid="ignore"):
        slopes = np.diff(places, append=places[:, -1:]) / np.diff(points, append=np.inf)
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    last = np.array([float(axis.size) for axis in axes])
    base = np.arange(len(axes), dtype=np.int64) * n
    at = graph("Add", search(graph, values, points.ravel(), n, base), base)
    point, place, slope = (graph("Gather", part.ravel(), at) for part in (points, places, slopes))
    moved = graph("Add", place, graph("Mul", graph("Sub", values, point), slope))
    between = graph("Where", graph("Less", values, point), place, moved)
    exact = graph("Where", graph("Equal", values, point), place, last)
    found = graph("Where", np.array([axis.is_number for axis in axes]), between, exact)
    found = graph("Where", graph("IsNaN", values), last, found)
    low = graph("Min", graph("Floor", found), last - 1.0)
    return graph.cast(low, np.int64), graph("Sub", found, low)


def _padded(values: Array, n: int, fill: float) -> Array:
    return np.append(values, np.full(n - values.size, fill))
