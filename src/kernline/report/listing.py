"""Which functions of a model a report holds: a page has at most 5 MB, and a model may be larger.

All data of functions is in the order of the list, most important first. A function has one of three forms:

- *exact*: its weights, as the model has them, from which the page computes the model's own decision values;
- *drawn*: a few points of its strongest curves, rounded to 256 steps, for the chart only;
- not in the list, if there are too many functions.

Small models are exact as a whole. Of others, the functions that the rows of "What if" use come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Floats, Indices
from ..encoding import TableTerm
from ..shapes import ShapeFunctions
from ..tables import DenseTable, PairTable

# Functions in the list, at most, and characters of their names.
_MOST_LISTED, _MOST_CHARACTERS = 50_000, 600_000
# Points of a curve that is only drawn, and how many curves of a function are.
DRAWN_POINTS = 16
_MOST_DRAWN = 3
# Bytes of a base64 text per byte of data.
_BASE64 = 4.0 / 3.0

Measure = Literal["training", "range"]


@dataclass(frozen=True)
class Importance:
    """A number for each function and problem, (n_functions, n_problems).

    `measure` says what it is: the mean distance of f from its mean over the training rows, or, for models that do not
    have it, the range of f.
    """

    values: Floats
    measure: Measure

    @property
    def overall(self) -> Array:
        """The mean over all problems."""
        mean: Array = self.values.mean(axis=1, dtype=np.float64)
        return mean


@dataclass(frozen=True)
class Listing:
    """`functions` are the numbers of the listed ones, most important first; `exact` says which of them are exact."""

    functions: Indices
    exact: NDArray[np.bool_]
    importance: Importance
    n_drawn: int  # curves of a function that is drawn

    @property
    def positions(self) -> dict[int, int]:
        """The place of each function in the list."""
        return {int(k): place for place, k in enumerate(self.functions)}


def importance_of(shapes: ShapeFunctions) -> Importance:
    """The importance that the model keeps from training, or the range of its curves."""
    if shapes.training is not None:
        return Importance(shapes.training.importance, "training")
    points = curve_points(shapes, np.arange(shapes.n_features))
    low, high = (np.zeros((shapes.n_functions, shapes.n_problems)) for _ in range(2))
    is_number = shapes.encoder.is_number
    low[: shapes.n_features][is_number], high[: shapes.n_features][is_number] = (
        ends.T[is_number] for ends in (points.min(axis=2), points.max(axis=2))
    )
    positions = {columns: k for k, columns in enumerate(shapes.functions)}
    tables = [(positions[term.columns], shapes.term_scores(i)) for i, term in enumerate(shapes.encoder.terms)]
    first = shapes.n_functions - len(shapes.pairs)
    tables += [(first + i, pair.values.reshape(-1, shapes.n_problems)) for i, pair in enumerate(shapes.pairs)]
    for k, values in tables:
        low[k], high[k] = np.minimum(low[k], values.min(axis=0)), np.maximum(high[k], values.max(axis=0))
    return Importance((high - low).astype(np.float32), "range")


def curve_points(shapes: ShapeFunctions, columns: Indices, problems: Indices | None = None) -> Array:
    """The curves of numbers at evenly spaced codes, (n_problems, n_columns, DRAWN_POINTS); the first is at u = 0.

    With `problems`, (n_columns, n), only these of each column: (n, n_columns, DRAWN_POINTS).
    """
    weights = shapes.weights[:, columns] if problems is None else shapes.weights[problems.T, columns]
    vectors = _drawn_vectors(shapes)
    return np.asarray(weights @ vectors.T.astype(weights.dtype), dtype=np.float64)


def drawn_units(shapes: ShapeFunctions) -> Array:
    """The u of the points of a curve that is drawn."""
    if shapes.encoder.grid is None:
        return np.linspace(0.0, 1.0, DRAWN_POINTS)
    return shapes.encoder.grid.values[_drawn_codes(shapes)]


def _drawn_codes(shapes: ShapeFunctions) -> Indices:
    assert shapes.encoder.grid is not None
    last = shapes.encoder.grid.values.size - 1
    return np.round(np.linspace(0, last, DRAWN_POINTS)).astype(np.int64)


def _drawn_vectors(shapes: ShapeFunctions) -> Array:
    """φ at these points; zero at u = 0, which adds nothing."""
    if isinstance(shapes.table, DenseTable | PairTable):
        vectors = shapes.table.vectors(_drawn_codes(shapes))
    else:
        cells = drawn_units(shapes).astype(np.float32)
        payload = shapes.encoder.payload
        vectors = shapes.table.vectors(cells if payload is None else payload.compute(cells, write=False))
    vectors[0] = 0.0
    return vectors


def listing(shapes: ShapeFunctions, names: list[str] | None, used: list[Indices], budget: int) -> tuple[Listing, int]:
    """Choose what fits into a `budget` of bytes; `used` are the functions that each row of "What if" uses.

    Also returned is how many of these rows are kept: those whose functions are all exact, and at least one.
    """
    importance = importance_of(shapes)
    order = np.argsort(-importance.overall, kind="stable")
    costs = _costs(shapes)
    if len(order) <= _MOST_LISTED and costs.sum() <= budget:
        return Listing(order, np.ones(len(order), dtype=bool), importance, 0), len(used)
    listed = _listed(shapes, order, names)
    n_drawn = min(_MOST_DRAWN, shapes.n_problems)
    per_curve = (DRAWN_POINTS + 10) * _BASE64
    while n_drawn > 1 and per_curve * n_drawn * len(listed) > budget / 2:
        n_drawn -= 1
    rest = budget - per_curve * n_drawn * len(listed)
    exact, n_rows = _exact(costs, listed, [np.intersect1d(functions, listed) for functions in used], rest)
    return Listing(listed, exact[listed], importance, n_drawn), n_rows


def _costs(shapes: ShapeFunctions) -> Array:
    """Bytes of each function in the page, if it is exact."""
    n_problems, _, width = shapes.weights.shape
    costs = np.where(shapes.encoder.is_number, 4.0 * n_problems * width, 0.0)
    costs = np.append(costs, np.zeros(shapes.n_functions - shapes.n_features))
    costs += 0.0 if shapes.offsets is None else 8.0 * n_problems
    positions = {columns: k for k, columns in enumerate(shapes.functions)}
    for term in shapes.encoder.terms:
        points = sum(axis.points.size for axis in term.axes) if isinstance(term, TableTerm) else 0
        costs[positions[term.columns]] += 8.0 * term.n_columns * n_problems + 32.0 * points
    for k, pair in enumerate(shapes.pairs, shapes.n_functions - len(shapes.pairs)):
        costs[k] += 8.0 * pair.values.size + 16.0 * sum(axis.points.size for axis in pair.axes)
    return costs * _BASE64


def _listed(shapes: ShapeFunctions, order: Indices, names: list[str] | None) -> Indices:
    """The most important functions, as many as there is room for names, and the columns that pairs among them read."""
    n = min(len(order), _MOST_LISTED)
    if names is not None:
        lengths = np.array([len(names[k]) + 3 for k in order[:n]])
        n = int(np.searchsorted(np.cumsum(lengths), _MOST_CHARACTERS, side="right"))
    chosen = order[: max(1, n)]
    of_pairs = [j for k in chosen if k >= shapes.n_features for j in shapes.functions[k]]
    missing = np.setdiff1d(np.array(of_pairs, dtype=np.int64), chosen)
    return np.append(chosen, missing)


def _exact(costs: Array, listed: Indices, used: list[Indices], budget: float) -> tuple[NDArray[np.bool_], int]:
    """Which functions are exact, and how many rows they serve: rows may take half, the most important the rest."""
    exact = np.zeros(costs.size, dtype=bool)
    spent, n_rows = 0.0, 0
    for functions in used:
        new = functions[~exact[functions]]
        more = float(costs[new].sum())
        if spent + more > budget / 2.0:
            break
        exact[new] = True
        spent, n_rows = spent + more, n_rows + 1
    for k in listed:
        if not exact[k] and spent + costs[k] <= budget:
            exact[k] = True
            spent += costs[k]
    return exact, max(1, n_rows)
