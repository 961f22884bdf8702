"""Curve: one function of a model as plain arrays, to be drawn or tabulated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..array_types import Array, Labels
from ..encoding import Axis, TableTerm
from ..encoding.pair_axes import PairAxis
from ..encoding.terms import NumberTerm
from ..tables import PairTable
from .training_facts import BINS

if TYPE_CHECKING:
    from .functions import ShapeFunctions

# Points of a curve that has neither codes nor knots.
_POINTS = 101
# Codes up to which a curve without knots has two points for each; beyond, the steps are too small to be seen.
_FEW_CODES = 64
MISSING, OTHER = "missing", "other"


@dataclass(frozen=True, eq=False)
class Density:
    """Where the training rows lie, counted in a sample of `n_rows` of them.

    `counts` are those of the bins between `edges`, or of levels if there are no edges. `missing` counts gaps of a
    number; those of a category are a level.
    """

    counts: Array
    edges: Array | None
    missing: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class Curve:
    """A function of a model, with its values for every problem.

    - "number": `x` are values that increase, `effect` is (n_points, n_problems). Between points, the curve is straight.
    - "category": `x` are the names of levels, with "missing" if gaps have a weight: its place is `gap`, and its name is
      "(missing)" if there is a level "missing".
    - "pair": `x` and `y` are values or names, `effect` is (n_x, n_y, n_problems). The last place of a category is
      "other" for levels without a place of their own, "missing", or "other or missing"; in brackets if that is the name
      of a level.

    `missing_effect` is that of a gap in a number, (n_problems,), None if gaps have no weight of their own. `is_boolean`
    is whether a number has only the values 0 and 1 in the training rows: `x` are these two, and so are the counts.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kernline import AdditiveSVC
    >>> wine = load_wine(as_frame=True)
    >>> model = AdditiveSVC().fit(wine.data, wine.target)
    >>> curve = model.shapes_.curve("alcohol")
    >>> curve.kind, curve.effect.shape[1]
    ('number', 3)
    """

    kind: Literal["number", "category", "pair"]
    name: str
    x: Array | Labels
    effect: Array
    y: Array | Labels | None = None
    density: Density | None = None
    missing_effect: Array | None = None
    is_boolean: bool = False
    gap: int | None = None

    def drawn(self) -> Curve:
        """The curve as it is drawn: that of a boolean is a category with the levels 0, 1 and perhaps missing."""
        if not self.is_boolean:
            return self
        names, effect, density = [f"{value:g}" for value in self.x.tolist()], self.effect, self.density
        if self.missing_effect is not None:
            names.append(MISSING)
            effect = np.concatenate([effect, self.missing_effect[None]])
            if density is not None:
                density = replace(density, counts=np.append(density.counts, density.missing), missing=0)
        gap = None if self.missing_effect is None else len(names) - 1
        return Curve("category", self.name, np.array(names, dtype=object), effect, None, density, gap=gap)


def curve_of(shapes: ShapeFunctions, k: int, n_points: int | None) -> Curve:
    """Function k of a model, not centred."""
    n_curves = len(shapes.encoder.functions)
    if k >= n_curves:
        return _pair(shapes, k, n_points)
    if k >= shapes.n_features:
        return _table_of_two(shapes, k)
    number = shapes.encoder.number(k)
    return _category(shapes, k) if number is None else _number(shapes, number, n_points)


def _number(shapes: ShapeFunctions, number: NumberTerm, n_points: int | None) -> Curve:
    j = number.column
    x, effect = _within(*_points(shapes, number), _limits(shapes, j))
    is_boolean = _is_boolean(shapes, j) and bool(np.allclose(x[[0, -1]], [0.0, 1.0]))  # not a constant
    if is_boolean:
        x = np.array([0.0, 1.0])
        effect = shapes.number_curve(j, x)
    elif n_points is not None and x.size > 1:
        x = np.linspace(x[0], x[-1], n_points)
        effect = shapes.number_curve(j, x)
    missing = _term_of(shapes, j, "missing")
    missing_effect = None if missing is None else shapes.term_scores(missing)[0]
    density = _density(shapes, number, missing)
    if is_boolean and density is not None:
        ones = density.counts[-1]
        density = replace(density, counts=np.array([density.counts.sum() - ones, ones]), edges=None)
    return Curve("number", shapes.name_of(j), x, effect, None, density, missing_effect, is_boolean)


def _points(shapes: ShapeFunctions, number: NumberTerm) -> tuple[Array, Array]:
    """Values between which the curve is straight, and its effects there."""
    encoder = shapes.encoder
    if number.points is None and number.factor == 0.0:
        return np.array([number.offset]), np.zeros((1, shapes.n_problems))
    if encoder.grid is None:
        low, high = range_of_u(shapes, number.column)
        x = number.values_at(np.array([low, high]) if not encoder.clips else np.linspace(low, high, _POINTS))
        return x, shapes.number_curve(number.column, x)
    at_codes = code_effects(shapes, number.column)
    units = encoder.grid.values
    if units.size <= _FEW_CODES and not isinstance(shapes.table, PairTable):
        return _steps(number, encoder.thresholds.astype(np.float64), at_codes)
    u = units[:: shapes.table.steps] if isinstance(shapes.table, PairTable) else units
    if number.points is not None:
        u = np.union1d(u, number.points[1])
    x, first = np.unique(number.values_at(u), return_index=True)
    effect = np.column_stack([np.interp(u[first], units, column) for column in at_codes.T])
    return x, effect


def _limits(shapes: ShapeFunctions, j: int) -> tuple[float, float]:
    """The least and the largest training value of a feature, as far as they are known."""
    if shapes.training is None or not shapes.training.limits.size:
        return -np.inf, np.inf
    low, high = shapes.training.limits[j].tolist()
    return low, high


def _is_boolean(shapes: ShapeFunctions, j: int) -> bool:
    return shapes.training is not None and bool(shapes.training.booleans[j : j + 1].any())


def _within(x: Array, effect: Array, limits: tuple[float, float]) -> tuple[Array, Array]:
    """The part of a curve between limits. Its first point may be zero, even if no row is near, as code 0 is zero."""
    low, high = np.clip(limits, x[0], x[-1]).tolist()
    if (low, high) == (x[0], x[-1]):
        return x, effect
    kept = np.unique(np.concatenate([[low], x[(x > low) & (x < high)], [high]]))
    return kept, np.column_stack([np.interp(kept, x, column) for column in effect.T])


def _steps(number: NumberTerm, thresholds: Array, at_codes: Array) -> tuple[Array, Array]:
    """A curve that is constant for each code, as two points for each step."""
    begins = number.values_at(thresholds)
    low, high = number.values_at(np.array([0.0, 1.0]))
    x = np.concatenate([[low], np.column_stack([np.nextafter(begins, -np.inf), begins]).ravel(), [high]])
    codes = np.concatenate([[0], np.repeat(np.arange(thresholds.size), 2) + np.tile([0, 1], thresholds.size)])
    kept = (x >= low) & (x <= high) & (np.diff(x, prepend=-np.inf) > 0.0)
    return x[kept], at_codes[np.append(codes, thresholds.size)][kept]


def code_effects(shapes: ShapeFunctions, column: int) -> Array:
    """The effects of all codes in a solver column, (n_codes, n_problems). Code 0 adds nothing in any method."""
    assert shapes.encoder.grid is not None
    vectors = shapes.table.vectors(np.arange(shapes.encoder.grid.values.size))
    effects: Array = vectors @ shapes.weights[:, column].T.astype(np.float64)
    effects[0] = 0.0
    return effects


def range_of_u(shapes: ShapeFunctions, j: int) -> tuple[float, float]:
    """Where the training values of a number lie on its own scale: 0 to 1, unless values are kept."""
    if shapes.encoder.clips or shapes.encoder.grid is not None or shapes.training is None:
        return 0.0, 1.0
    low, high = shapes.training.cells.ranges[j].tolist()
    return (low, high) if low < high else (low, low + 1.0)


def _density(shapes: ShapeFunctions, number: NumberTerm, missing: int | None) -> Density | None:
    if shapes.training is None:
        return None
    encoder, cells, j = shapes.encoder, shapes.training.cells, number.column
    low, high = range_of_u(shapes, j)
    edges = np.clip(number.values_at(np.linspace(low, high, BINS + 1)), *_limits(shapes, j))
    if edges.size == 1:
        edges = np.append(edges, edges)
    here = slice(cells.start[j], cells.start[j + 1])
    u = cells.values(encoder)[here] if encoder.grid is None else encoder.grid.values[cells.marks[here]]
    n_missing = 0 if missing is None else cells.total(encoder.term_start[missing])
    places = _bins(u, low, high, edges.size - 1)
    counts = np.bincount(places, cells.counts[here], edges.size - 1).astype(np.float64)
    counts[_bins(np.zeros(1), low, high, counts.size)[0]] += cells.n_rows - n_missing - counts.sum()
    return Density(counts, edges, n_missing, cells.n_rows)


def _bins(u: Array, low: float, high: float, n: int) -> Labels:
    return np.clip(((u - low) / (high - low) * n).astype(np.int64), 0, n - 1)


def _term_of(shapes: ShapeFunctions, j: int, kind: str) -> int | None:
    """The number of the term of this kind that reads column j alone."""
    return next((i for i, term in enumerate(shapes.encoder.terms) if (term.kind, term.columns) == (kind, (j,))), None)


def _category(shapes: ShapeFunctions, j: int) -> Curve:
    encoder = shapes.encoder
    numbers = [i for i, term in enumerate(encoder.terms) if term.columns == (j,)]
    terms = [encoder.terms[i] for i in numbers]
    if not all(isinstance(term, TableTerm) for term in terms):
        raise ValueError(
            f"curve: feature {shapes.name_of(j)!r} has a term of kind {terms[0].kind!r}, which does not list its "
            "values. Pass values to evaluate."
        )
    keys = [key for term in terms for key in level_keys(shapes, j, term.axes[0])]  # type: ignore[attr-defined]
    gap = keys.index(None) if None in keys else None
    levels = [key for key in keys if key is not None]
    labels = [_unlike(MISSING, levels) if key is None else key for key in keys]
    effect = np.concatenate([shapes.term_scores(i) for i in numbers])
    density = None
    if shapes.training is not None:
        cells, starts = shapes.training.cells, encoder.term_start
        columns = [starts[i] + column for i in numbers for column in range(encoder.terms[i].n_columns)]
        counts = np.array([cells.total(column) for column in columns], dtype=np.float64)
        density = Density(counts, None, 0, cells.n_rows)
    return Curve("category", shapes.name_of(j), np.array(labels, dtype=object), effect, None, density, gap=gap)


def level_keys(shapes: ShapeFunctions, j: int, axis: Axis) -> list[str | None]:
    """The positions on an axis of a category: names of levels, and None for gaps."""
    return [None] if axis.kind == "missing" else [*axis_labels(shapes, j, axis)]


def _unlike(label: str, levels: list[str]) -> str:
    """A label that is not the name of a level: in brackets if need be."""
    while label in levels:
        label = f"({label})"
    return label


def axis_labels(shapes: ShapeFunctions, j: int, axis: Axis) -> list[str]:
    """The positions on the axis of a table, as text."""
    if axis.kind == "missing":
        return [MISSING]
    if axis.kind == "levels":
        return level_labels(shapes, j, axis.points)
    ends = [f"{point:g}" for point in axis.points.tolist()]
    return [f"< {ends[0]}", *(f"{low} to {high}" for low, high in pairwise(ends)), f"≥ {ends[-1]}"]


def level_labels(shapes: ShapeFunctions, j: int, points: Array) -> list[str]:
    """The levels of a category, as text."""
    names = shapes.encoder.columns.names(j)
    return [f"{point:g}" if names is None else str(names[int(point)]) for point in points.tolist()]


def _table_of_two(shapes: ShapeFunctions, k: int) -> Curve:
    """A pair of a file of format 2: an exact value for each cell of a table."""
    columns = shapes.encoder.functions[k]
    number = next(i for i, term in enumerate(shapes.encoder.terms) if term.columns == columns)
    term = shapes.encoder.terms[number]
    assert isinstance(term, TableTerm)
    labels = [np.array(axis_labels(shapes, j, axis), dtype=object) for j, axis in zip(columns, term.axes, strict=True)]
    effect = shapes.term_scores(number).reshape(labels[0].size, labels[1].size, -1)
    return Curve("pair", shapes.name_of(k), labels[0], effect, labels[1])


def _pair(shapes: ShapeFunctions, k: int, n_points: int | None) -> Curve:
    pair = shapes.pairs[k - len(shapes.encoder.functions)]
    sides = [_side(shapes, j, axis, n_points) for j, axis in zip(pair.columns, pair.axes, strict=True)]
    (x, first), (y, second) = sides
    # Bilinear in places: first along one axis, then along the other.
    effect = np.einsum("ia,abp,jb->ijp", first, pair.values, second)
    density = None
    if shapes.training is not None:
        number = k - len(shapes.encoder.functions)
        # A missing number has no point on its axis.
        known = tuple(slice(axis.size) if axis.is_number else slice(None) for axis in pair.axes)
        share = shapes.training.pair_shares[number][known].astype(np.float64)
        density = Density(share, None, 0, shapes.training.cells.n_rows)
    return Curve("pair", shapes.name_of(k), x, effect, y, density)


def _side(shapes: ShapeFunctions, j: int, axis: PairAxis, n_points: int | None) -> tuple[Array | Labels, Array]:
    """The values or names along an axis of a pair, and their bilinear weights at its places."""
    if axis.is_number:
        low, high = np.clip(_limits(shapes, j), axis.points[0], axis.points[-1]).tolist()
        inside = axis.points[(axis.points > low) & (axis.points < high)]
        x: Array | Labels = np.unique(np.concatenate([[low], inside, [high]]))
        if n_points is not None:
            x = np.linspace(low, high, n_points)
        places = axis.places_of(np.asarray(x, dtype=np.float64))
    else:
        levels = level_labels(shapes, j, axis.points)
        x = np.array([*levels, _unlike(_last_place(shapes, j, axis), levels)], dtype=object)
        places = np.append(axis.places, float(axis.size))
    nodes = np.arange(axis.size + 1)
    return x, np.maximum(0.0, 1.0 - np.abs(places[:, None] - nodes))


def _last_place(shapes: ShapeFunctions, j: int, axis: PairAxis) -> str:
    """What the last place of a category stands for in the training rows."""
    if _term_of(shapes, j, "missing") is None:
        return OTHER
    levels = _term_of(shapes, j, "category")
    has_others = levels is None or shapes.encoder.terms[levels].n_columns > axis.points.size
    return f"{OTHER} or {MISSING}" if has_others else MISSING


def shifted(curve: Curve, offset: Array) -> Curve:
    """The curve less a constant for each problem."""
    missing = None if curve.missing_effect is None else curve.missing_effect - offset
    return replace(curve, effect=curve.effect - offset, missing_effect=missing)
