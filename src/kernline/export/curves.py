"""The shape functions as JSON or CSV: for every feature the values at which its curves bend, and what they are there.

Between these, curves are
- "linear": straight. Of hats, but for the rounding to codes that comes first.
- "steps": the score of the last value at or below x, where every code of a table has a value of its own.
- "powers": of PmSVM, which has neither codes nor knots, listed at a hundred values.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import Encoder
from ..io.atomic import replacing
from ..shapes import ShapeFunctions
from ..tables import DenseTable, PairTable, PowersTable
from .common import additive_model, rows_of, thresholds_of

Array = NDArray[np.float64]


def to_json(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the curves of an additive model as JSON: classes, intercepts, and a list of features with their points.

    "between" tells how to read between a feature's "values", in order; beyond their ends a curve stays as it is, or, if
    the model "extrapolates", goes on straight.

    - "steps": a score holds from its value to the next.
    - "linear": curves are straight. Where there are "codes", the model rounds x first, which moves a score by less than
      a step of a code does: with u = (x − offset) · factor in float32, or interpolated from "edges" to "levels", within
      [0, 1], and c the number of "thresholds" at or below u, it takes the x of "units"[c] instead.
    - "powers": with the same u and l = ln(u + 0.05), the score is Σ_k powers[k] · l^k, and 0 where u is 0.

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
    described = {
        "classes": model.classes_.tolist(),
        "scores_of": _names_of_problems(model),
        "intercepts": model.intercept_.tolist(),
        "extrapolates": not model.shapes_.encoder.clips,
        "between": _between(model.shapes_),
        "codes": _codes(model.shapes_),
        "features": [
            {"name": name, "values": values.tolist(), "scores": scores.T.tolist()} | _unit_of(model.shapes_, j)
            for j, (name, values, scores) in enumerate(_curves(model))
        ],
    }
    with replacing(path) as file:
        file.write(json.dumps(described, ensure_ascii=False, indent=1).encode())


def to_csv(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the curves of an additive model as CSV: a line a feature and value, a column a class.

    The first line after the names has the intercepts, with an empty feature and value. Between values, curves are
    straight; where the column is called "from" instead, a score holds from there to the next value. `to_json` tells
    more.

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
    writer.writerow(["feature", column, *_names_of_problems(model)])
    writer.writerow(["", "", *model.intercept_.tolist()])
    for name, values, scores in _curves(model):
        writer.writerows([name, value, *row] for value, row in zip(values.tolist(), scores.tolist(), strict=True))
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def _names_of_problems(model: Any) -> list[str]:
    """The class that a positive score speaks for."""
    return [str(name) for name in (model.classes_ if model.classes_.size > 2 else model.classes_[1:]).tolist()]


def _between(shapes: ShapeFunctions) -> str:
    """How curves go on between their points."""
    if isinstance(shapes.table, PowersTable):
        return "powers"
    return "steps" if isinstance(shapes.table, DenseTable) else "linear"


def _codes(shapes: ShapeFunctions) -> dict[str, list[float]] | None:
    """How u is rounded before the curve is read, where the points do not tell."""
    if shapes.encoder.grid is None or _between(shapes) == "steps":
        return None
    return {"thresholds": thresholds_of(shapes.encoder).tolist(), "units": shapes.encoder.grid.values.tolist()}


def _unit_of(shapes: ShapeFunctions, j: int) -> dict[str, Any]:
    """How x of feature j becomes u, and PmSVM's coefficients; nothing where x itself is enough."""
    encoder, between = shapes.encoder, _between(shapes)
    if between == "steps" or (between == "linear" and encoder.grid is None):
        return {}
    powers = {"powers": shapes.weights[:, j].tolist()} if between == "powers" else {}
    if encoder.edge_start.size:
        here = slice(*encoder.edge_start[j : j + 2])
        return powers | {"edges": encoder.edges[here].tolist(), "levels": encoder.levels[here].tolist()}
    return powers | {"offset": float(encoder.offsets[j]), "factor": float(encoder.factors[j])}


def _curves(model: Any) -> Iterator[tuple[str, Array, Array]]:
    """Name, values and scores (n_values, n_problems) of every feature."""
    shapes: ShapeFunctions = model.shapes_
    names = getattr(model, "feature_names_in_", None)
    for j in range(shapes.n_features):
        values, scores = _steps(shapes, j) if _between(shapes) == "steps" else _bends(shapes, j)
        yield str(names[j]) if names is not None else str(j), values, scores


def _steps(shapes: ShapeFunctions, j: int) -> tuple[Array, Array]:
    """Where each code of feature j begins, and its scores."""
    thresholds = thresholds_of(shapes.encoder)
    below = np.nextafter(thresholds, np.float32(0.0))
    # u is rounded to float32, so that a code begins half a digit of that below its threshold, and a trifle above this.
    begins = np.append(0.0, np.float64(0.5 + 1e-12) * thresholds + np.float64(0.5) * below)
    values = _values(shapes.encoder, j, begins)
    assert isinstance(shapes.table, DenseTable)
    vectors: Array = rows_of(shapes.table)[: values.size].astype(np.float64)
    return values, vectors @ shapes.weights[:, j].T


def _bends(shapes: ShapeFunctions, j: int) -> tuple[Array, Array]:
    """Values of feature j, in order: the knots, or a hundred where there are no codes; and their scores."""
    encoder = shapes.encoder
    if not encoder.clips:
        values = np.array([0.0, 1.0])
    else:
        u = np.linspace(0.0, 1.0, 101)
        if encoder.grid is not None:
            assert isinstance(shapes.table, PairTable)
            u = encoder.grid.values[:: shapes.table.steps]
        values = _values(encoder, j, u)
        if encoder.edge_start.size:
            values = np.unique(np.concatenate([encoder.edges[slice(*encoder.edge_start[j : j + 2])], values]))
    return values, shapes.evaluate(j, values)


def _values(encoder: Encoder, j: int, u: Array) -> Array:
    """The x of feature j that become these u; one, where all become zero."""
    if encoder.edge_start.size:
        here = slice(*encoder.edge_start[j : j + 2])
        return np.interp(u, encoder.levels[here], encoder.edges[here])
    if encoder.factors[j] == 0.0:
        return encoder.offsets[j : j + 1]
    return encoder.offsets[j] + u / encoder.factors[j]
