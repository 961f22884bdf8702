"""The shape functions as JSON or CSV: for every feature the values at which its curves bend, and what they are there.

Curves of hats are straight between knots, but for the rounding to codes; of tables, every code has a value of its own.
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

from ..io.atomic import replacing
from ..shapes import ShapeFunctions
from ..tables import PairTable
from .common import additive_model

Array = NDArray[np.float64]


def to_json(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the curves of an additive model as JSON: classes, intercepts, and a list of features with their points.

    >>> import json, os, tempfile
    >>> from sklearn.datasets import load_digits
    >>> import kernline, kernline.export
    >>> model = kernline.AdditiveSVC().fit(*load_digits(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "curves.json")
    ...     kernline.export.to_json(model, path)
    ...     curves = json.load(open(path))
    >>> curves["features"][20].keys()
    dict_keys(['name', 'values', 'scores'])
    """
    model = additive_model(model, "to_json")
    described = {
        "classes": model.classes_.tolist(),
        "scores_of": _names_of_problems(model),
        "intercepts": model.intercept_.tolist(),
        "extrapolates": not model.shapes_.encoder.clips,
        "features": [
            {"name": name, "values": values.tolist(), "scores": scores.T.tolist()}
            for name, values, scores in _curves(model)
        ],
    }
    with replacing(path) as file:
        file.write(json.dumps(described, ensure_ascii=False, indent=1).encode())


def to_csv(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the curves of an additive model as CSV: a line a feature and value, a column a class.

    The first line after the names has the intercepts, with an empty feature and value.

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
    writer.writerow(["feature", "value", *_names_of_problems(model)])
    writer.writerow(["", "", *model.intercept_.tolist()])
    for name, values, scores in _curves(model):
        writer.writerows([name, value, *row] for value, row in zip(values.tolist(), scores.tolist(), strict=True))
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def _names_of_problems(model: Any) -> list[str]:
    """The class that a positive score speaks for."""
    return [str(name) for name in (model.classes_ if model.classes_.size > 2 else model.classes_[1:]).tolist()]


def _curves(model: Any) -> Iterator[tuple[str, Array, Array]]:
    """Name, values and scores (n_values, n_problems) of every feature."""
    shapes: ShapeFunctions = model.shapes_
    names = getattr(model, "feature_names_in_", None)
    for j in range(shapes.n_features):
        values = _points(shapes, j)
        yield str(names[j]) if names is not None else str(j), values, shapes.evaluate(j, values)


def _points(shapes: ShapeFunctions, j: int) -> Array:
    """Values of feature j, in order: the knots, or one for each code, or a hundred where there are no codes."""
    encoder = shapes.encoder
    if not encoder.clips:
        return np.array([0.0, 1.0])
    u = np.linspace(0.0, 1.0, 101)
    if encoder.grid is not None:
        u = encoder.grid.values[:: shapes.table.steps if isinstance(shapes.table, PairTable) else 1]
    if encoder.edge_start.size:
        here = slice(*encoder.edge_start[j : j + 2])
        edges, levels = encoder.edges[here], encoder.levels[here]
        return np.unique(np.concatenate([edges, np.interp(u, levels, edges)]))
    if encoder.factors[j] == 0.0:
        return encoder.offsets[j : j + 1]
    return encoder.offsets[j] + u / encoder.factors[j]
