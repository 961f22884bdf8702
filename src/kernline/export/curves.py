"""The shape functions as JSON or CSV: for every feature, the values at which its curves bend, and the scores there.

Between these values, curves are
- "linear": straight, for hats, which first round values to codes.
- "steps": constant up to the next value, for tables in which every code has its own value.
- "powers": polynomials of a logarithm, for PmSVM, which has neither codes nor knots. A hundred values are listed.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from ..array_types import Array
from ..encoding import Axis
from ..encoding.terms import NumberTerm
from ..estimators.additive import AdditiveSVC
from ..io.atomic import replacing
from ..json_text import json_text
from ..shapes import ShapeFunctions
from ..tables import DenseTable, PairTable, PowersTable
from .common import (
    AdditiveModel,
    ExportedTerm,
    additive_model,
    gap_values,
    is_multilabel,
    level_names,
    name_of,
    names_of_problems,
    rows_of,
    terms_of,
)
from .pairs import described_pair, lines_of_pair


def to_json(model: AdditiveModel, path: str | os.PathLike[str]) -> None:
    """Write the curves of an additive model as JSON: classes, intercepts, and a list of features with their points.

    "scores_of" says what the curves add up to: the scores of classes, or, with "classes": null, predictions. With
    "multilabel": true, a row has every label whose score is positive.

    "between" says how to interpolate between a feature's "values", which are in increasing order. Outside them, a curve
    is constant, or, if the model "extrapolates", continues straight.

    - "steps": a score is valid from its value up to the next one.
    - "linear": curves are straight. If there are "codes", the model first rounds x, which changes a score by less than
      one step of a code: with u = (x − offset) · factor in float32, or interpolated from "edges" to "levels", clipped
      to [0, 1], and c the number of "thresholds" at or below u, it uses the x that belongs to "units"[c].
    - "powers": with the same u and l = ln(u + 0.05), the score is Σ_k powers[k] · l^k, and 0 if u is 0.

    "terms" are tables of scores in addition to these curves, for categories, missing values and pairs of features. Each
    has an axis for every feature that it reads, and "scores" for every class or output, with the cells of the table row
    by row. On an axis of kind "levels", a value has the position of the point that it equals; on one of kind "bins",
    the number of points at or below it; on one of kind "missing", NaN has position 0. Values without a position add
    nothing, and NaN adds nothing to a curve, unless the feature has a "gap": the value that NaN counts as. A feature
    that is a category has no "values". If it is text, "names" has the texts that the points of an axis stand for.

    "pairs" are further tables, one for each pair of features that says something together, and bilinear. On either
    axis, a value has a place: of a number, interpolated from "points" to "places", and constant outside; of a category,
    the place of the point that it equals. NaN counts as the feature's "gap" here, too; without one, NaN and all other
    values are at place "size". "scores"[k][i][j] is the score of class or output k at places i and j.

    Parameters
    ----------
    model : fitted additive classifier or regressor
        The model.
    path : str or path
        Where to write.

    Examples
    --------
    >>> import json, os, tempfile
    >>> from sklearn.datasets import load_digits
    >>> import kernline, kernline.export
    >>> model = kernline.AdditiveSVC().fit(*load_digits(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "curves.json")
    ...     kernline.export.to_json(model, path)
    ...     curves = json.load(open(path))
    >>> curves["features"][20].keys()
    dict_keys(['name', 'values', 'scores', 'offset', 'factor'])
    >>> curves["between"]
    'linear'
    """
    model = additive_model(model, "to_json")
    gaps = gap_values(model.shapes_.encoder)
    described = {
        "classes": model.classes_.tolist() if isinstance(model, AdditiveSVC) else None,
        "multilabel": is_multilabel(model),
        "scores_of": names_of_problems(model),
        "intercepts": model.intercept_.tolist(),
        "extrapolates": not model.shapes_.encoder.clips,
        "between": _between(model.shapes_),
        "codes": _codes(model.shapes_),
        "features": [
            {"name": name, "values": values.tolist(), "scores": scores.T.tolist()}
            | _unit_of(model.shapes_, j)
            | ({} if gaps is None or np.isnan(gaps[j]) else {"gap": float(gaps[j])})
            for j, (name, values, scores) in enumerate(_curves(model))
        ],
        "terms": [_described(model, exported) for exported in terms_of(model.shapes_, "to_json")],
        "pairs": [described_pair(model, pair) for pair in model.shapes_.pairs],
    }
    with replacing(path) as file:
        file.write(json_text(described, indent=1).encode())


def to_csv(model: AdditiveModel, path: str | os.PathLike[str]) -> None:
    """Write the curves of an additive model as CSV: one line per feature and value, one column per class or output.

    The first line after the header has the intercepts, with an empty feature and value. Between values, curves are
    straight; if the second column is called "from", a score is valid from there up to the next value. `to_json` writes
    more details. Categories ("= red"), missing values ("missing") and pairs of features follow; a pair is bilinear
    between its values, and "other" stands for levels and missing values that have no line of their own. A missing value
    of a number without a line "missing" counts as the middle of its training values ("gap" in JSON).

    Parameters
    ----------
    model : fitted additive classifier or regressor
        The model.
    path : str or path
        Where to write.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_digits
    >>> import kernline, kernline.export
    >>> model = kernline.AdditiveSVC().fit(*load_digits(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "curves.csv")
    ...     kernline.export.to_csv(model, path)
    ...     print(open(path).readline().strip())
    feature,value,0,1,2,3,4,5,6,7,8,9
    """
    model = additive_model(model, "to_csv")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    column = "from" if _between(model.shapes_) == "steps" else "value"
    writer.writerow(["feature", column, *names_of_problems(model)])
    writer.writerow(["", "", *model.intercept_.tolist()])
    for name, values, scores in _curves(model):
        writer.writerows([name, value, *row] for value, row in zip(values.tolist(), scores.tolist(), strict=True))
    for term, scores in terms_of(model.shapes_, "to_csv"):
        name = " and ".join(name_of(model, j) for j in term.columns)
        cells = product(*(_texts(model.shapes_, *side) for side in zip(term.columns, term.axes, strict=True)))
        writer.writerows([name, " and ".join(cell), *row] for cell, row in zip(cells, scores.tolist(), strict=True))
    for pair in model.shapes_.pairs:
        writer.writerows(lines_of_pair(model, pair))
    with replacing(path) as file:
        file.write(text.getvalue().encode("utf-8", "replace"))


def _between(shapes: ShapeFunctions) -> str:
    """How to interpolate between the points of curves."""
    if isinstance(shapes.table, PowersTable):
        return "powers"
    return "steps" if isinstance(shapes.table, DenseTable) else "linear"


def _codes(shapes: ShapeFunctions) -> dict[str, list[float]] | None:
    """How u is rounded to codes, unless every code is a point."""
    if shapes.encoder.grid is None or _between(shapes) == "steps":
        return None
    return {"thresholds": shapes.encoder.thresholds.tolist(), "units": shapes.encoder.grid.values.tolist()}


def _unit_of(shapes: ShapeFunctions, j: int) -> dict[str, object]:
    """How x of feature j becomes u, and PmSVM's coefficients; empty if the points are enough."""
    encoder, between = shapes.encoder, _between(shapes)
    if between == "steps" or (between == "linear" and encoder.grid is None):
        return {}
    powers: dict[str, object] = {"powers": shapes.weights[:, j].tolist()} if between == "powers" else {}
    number = encoder.number(j)
    if number is None:
        return {}
    if number.points is not None:
        edges, levels = number.points
        return powers | {"edges": edges.tolist(), "levels": levels.tolist()}
    return powers | {"offset": number.offset, "factor": number.factor}


def _curves(model: AdditiveModel) -> Iterator[tuple[str, Array, Array]]:
    """Name, values and scores (n_values, n_problems) of every feature."""
    shapes: ShapeFunctions = model.shapes_
    for j in range(shapes.n_features):
        number = shapes.encoder.number(j)
        if number is None:
            values, scores = np.zeros(0), np.zeros((0, shapes.n_problems))
        else:
            values, scores = _steps(shapes, number) if _between(shapes) == "steps" else _bends(shapes, number)
        yield name_of(model, j), values, scores


def _described(model: AdditiveModel, exported: ExportedTerm) -> dict[str, object]:
    """A term for JSON."""
    term, scores = exported
    axes = [_described_axis(model.shapes_, j, axis) for j, axis in zip(term.columns, term.axes, strict=True)]
    names = [name_of(model, j) for j in term.columns]
    return {"kind": term.kind, "features": names, "axes": axes, "scores": scores.T.tolist()}


def _described_axis(shapes: ShapeFunctions, j: int, axis: Axis) -> dict[str, object]:
    names = level_names(shapes, j, axis)
    described: dict[str, object] = {"kind": axis.kind, "points": axis.points.tolist()}
    return described if names is None else described | {"names": names}


def _texts(shapes: ShapeFunctions, j: int, axis: Axis) -> list[str]:
    """The positions on an axis, as text for CSV."""
    if axis.kind == "missing":
        return ["missing"]
    points = level_names(shapes, j, axis) or [repr(point) for point in axis.points.tolist()]
    if axis.kind == "levels":
        return [f"= {point}" for point in points]
    inner = [f">= {low} and < {high}" for low, high in pairwise(points)]
    return [f"< {points[0]}", *inner, f">= {points[-1]}"]


def _steps(shapes: ShapeFunctions, number: NumberTerm) -> tuple[Array, Array]:
    """The value at which each code of a number begins, and its scores."""
    thresholds = shapes.encoder.thresholds
    below = np.nextafter(thresholds, np.float32(0.0))
    # u is rounded to float32, so a code begins half a float32 step below its threshold, and slightly above this.
    begins = np.append(0.0, np.float64(0.5 + 1e-12) * thresholds + np.float64(0.5) * below)
    values = number.values_at(begins)
    assert isinstance(shapes.table, DenseTable)
    vectors: Array = rows_of(shapes.table)[: values.size].astype(np.float64)
    return values, vectors @ shapes.weights[:, number.column].T


def _bends(shapes: ShapeFunctions, number: NumberTerm) -> tuple[Array, Array]:
    """Values of a number in order (the knots, or a hundred if there are no codes), and their scores."""
    encoder = shapes.encoder
    if not encoder.clips:
        values = np.array([0.0, 1.0])
    else:
        u = np.linspace(0.0, 1.0, 101)
        if encoder.grid is not None:
            assert isinstance(shapes.table, PairTable)
            u = encoder.grid.values[:: shapes.table.steps]
        values = number.values_at(u)
        if number.points is not None:
            values = np.unique(np.concatenate([number.points[0], values]))
    return values, shapes.number_curve(number.column, values)
