"""Shape functions as data frames: curves side by side with densities, and the differences of two models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..array_types import Array, Indices, Labels
from ..pandas_import import pandas_for
from .curves import MISSING, Curve
from .names import FunctionKey, number_of

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

    from .functions import ShapeFunctions


class HasShapes(Protocol):
    """A fitted additive model."""

    shapes_: ShapeFunctions


def frame_of(shapes: ShapeFunctions, functions: Iterable[FunctionKey] | None, *, centred: bool) -> pd.DataFrame:
    """The curves as a table: feature, class, value, value2 (of pairs), effect and density, one line per point.

    The value of gaps is NaN for a number. For a category it is "missing", or None if a level has this name.
    """
    pd = pandas_for("frame")
    numbers = range(shapes.n_functions) if functions is None else [number_of(shapes, k, "frame") for k in functions]
    curves = [shapes.curve(k, centred=centred) for k in numbers]
    columns: dict[str, list[object]] = {
        name: [] for name in ("feature", "class", "value", "value2", "effect", "density")
    }
    for curve in curves:
        for line in _lines(shapes, curve):
            for name, value in zip(columns, line, strict=True):
                columns[name].append(value)
    if all(curve.kind != "pair" for curve in curves):
        del columns["value2"]
    return pd.DataFrame(columns)


def _lines(shapes: ShapeFunctions, curve: Curve) -> Iterator[tuple[object, ...]]:
    """The points of a curve, for one problem after another; gaps of a number last."""
    density = density_at(curve)
    for p, label in enumerate(shapes.problem_names):
        if curve.y is not None:
            for i, value in enumerate(curve.x.tolist()):
                for j, value2 in enumerate(curve.y.tolist()):
                    yield curve.name, label, value, value2, float(curve.effect[i, j, p]), np.nan
            continue
        for i, value in enumerate(curve.x.tolist()):
            shown = None if i == curve.gap and value != MISSING else value
            yield curve.name, label, shown, None, float(curve.effect[i, p]), float(density[i])
        if curve.missing_effect is not None:
            share = np.nan if curve.density is None else curve.density.missing / max(1, curve.density.n_rows)
            yield curve.name, label, np.nan, None, float(curve.missing_effect[p]), share


def density_at(curve: Curve) -> Array:
    """The share of the training rows at each point of a curve: NaN where it is not known.

    All rows of a bin are counted at the point nearest to its middle, so other points may have none.
    """
    density = curve.density
    if density is None or curve.y is not None:
        return np.full(curve.x.size, np.nan)
    if density.edges is None:
        return density.counts / max(1, density.n_rows)
    x = np.asarray(curve.x, dtype=np.float64)
    middle = 0.5 * (density.edges[1:] + density.edges[:-1])
    # Halfway between points, the rows of one begin and those of the next end.
    nearest: Indices = np.searchsorted(0.5 * (x[1:] + x[:-1]), middle)
    return np.bincount(nearest, density.counts, x.size) / max(1, density.n_rows)


def compare(a: ShapeFunctions | HasShapes, b: ShapeFunctions | HasShapes) -> pd.DataFrame:
    """How the functions of two models of the same columns differ, one line per function and class.

    `largest` is the largest difference of the curves, `mean` the mean one, weighted by the training rows of `a` if it
    has kept them. Both are of centred curves, if both models know the means, so that constants do not count. Functions
    that only one model has are compared with zero. Either model may be a fitted estimator or its `shapes_`.

    Parameters
    ----------
    a, b : ShapeFunctions or fitted estimator
        The two models.

    Returns
    -------
    pandas.DataFrame
        One line per function and class.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kernline import AdditiveSVC
    >>> wine = load_wine(as_frame=True)
    >>> model = AdditiveSVC().fit(wine.data, wine.target)
    >>> from kernline.shapes import compare
    >>> softer = AdditiveSVC(C=0.1, loss="log").fit(wine.data, wine.target)
    >>> compare(model, softer).shape[0]
    39
    """
    pd = pandas_for("compare")
    a, b = _shapes_of(a), _shapes_of(b)
    if a.n_features != b.n_features or a.n_problems != b.n_problems:
        raise ValueError(
            f"compare: the models must have the same columns and classes; got {a.n_features} features with "
            f"{a.n_problems} curves each, and {b.n_features} with {b.n_problems}."
        )
    centred = a.training is not None and b.training is not None
    columns: dict[str, list[object]] = {name: [] for name in ("feature", "class", "largest", "mean")}
    for name, largest, mean in _differences(a, b, centred=centred):
        for p, label in enumerate(a.problem_names):
            for column, value in zip(columns.values(), (name, label, largest[p], mean[p]), strict=True):
                column.append(value)
    return pd.DataFrame(columns).sort_values("largest", ascending=False, kind="stable", ignore_index=True)


def _shapes_of(model: ShapeFunctions | HasShapes) -> ShapeFunctions:
    """The functions of a model, or these themselves."""
    found = getattr(model, "shapes_", model)
    if not hasattr(found, "functions"):
        raise TypeError(
            f"compare: expected a fitted additive model, or its shapes_; got {type(model).__name__}. Fit it first, or "
            "pass the last step of a pipeline."
        )
    return found  # type: ignore[return-value]


def _differences(a: ShapeFunctions, b: ShapeFunctions, *, centred: bool) -> Iterator[tuple[str, Array, Array]]:
    """Name, largest and mean difference of each function."""
    of_a, of_b = ({columns: k for k, columns in enumerate(model.functions)} for model in (a, b))
    for columns in dict.fromkeys([*of_a, *of_b]):
        first, second = (known.get(columns) for known in (of_a, of_b))
        curves = [None if k is None else model.curve(k, centred=centred) for model, k in ((a, first), (b, second))]
        base = curves[0] or curves[1]
        assert base is not None
        apart = np.zeros((1, a.n_problems))
        weight = np.ones(1)
        if base.kind == "pair" or None in curves:
            values = [0.0 if curve is None else _on(curve, base) for curve in curves]
            apart = np.abs(values[0] - values[1]).reshape(-1, a.n_problems)
            weight = np.ones(len(apart))
        elif curves[0] is not None and curves[1] is not None:
            apart, weight = _apart(curves[0], curves[1])
        total = weight.sum() or 1.0
        yield base.name, apart.max(axis=0), weight @ apart / total


def _apart(a: Curve, b: Curve) -> tuple[Array, Array]:
    """The differences at the points of both, and the weights of these points."""
    if a.kind != b.kind:
        raise ValueError(f"compare: {a.name!r} is a {a.kind} of one model, and a {b.kind} of the other.")
    if a.kind == "category":
        levels = list(dict.fromkeys([*_levels(a), *_levels(b)]))
        values = [_at_levels(curve, curve.effect, levels) for curve in (a, b)]
        share = _at_levels(a, density_at(a)[:, None], levels)[:, 0]
    else:
        x = np.union1d(np.asarray(a.x, dtype=np.float64), np.asarray(b.x, dtype=np.float64))
        low, high = (choose(a.x[end], b.x[end]) for choose, end in ((max, 0), (min, -1)))
        shared = (x >= low) & (x <= high)
        x = x[shared] if shared.any() else x
        values = [_at(curve, x) for curve in (a, b)]
        share = np.interp(x, np.asarray(a.x, dtype=np.float64), density_at(a))
    weight = np.ones_like(share) if np.isnan(share).any() or not share.any() else share
    return np.abs(values[0] - values[1]), weight


def _at(curve: Curve, x: Array) -> Array:
    points = np.asarray(curve.x, dtype=np.float64)
    return np.column_stack([np.interp(x, points, column) for column in curve.effect.T])


def _levels(curve: Curve) -> list[str | None]:
    """The levels of a category, with None for gaps, whatever the levels are called."""
    return [None if i == curve.gap else level for i, level in enumerate(curve.x.tolist())]


def _at_levels(curve: Curve, values: Array, levels: list[str | None]) -> Array:
    """The values of levels; those that a model does not know add nothing."""
    place = {level: k for k, level in enumerate(_levels(curve))}
    zero = np.zeros(values.shape[1])
    return np.array([values[place[level]] if level in place else zero for level in levels])


def _on(curve: Curve, base: Curve) -> Array:
    """A pair's values on the grid of another."""
    if curve is base or (_equal(curve.x, base.x) and _equal(curve.y, base.y)):
        return curve.effect
    raise ValueError(f"compare: the pair {curve.name!r} has other points in the two models.")


def _equal(a: Labels | None, b: Labels | None) -> bool:
    return a is not None and b is not None and np.array_equal(a, b)
