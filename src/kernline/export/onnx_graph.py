"""Models as ONNX graphs, for runtimes in other languages.

Codes are computed in float64, as in the core: a wrong code would change a score by more than all other rounding errors.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..array_types import Array, is_sparse
from ..encoding import Axis, Encoder, TableTerm
from ..estimators.additive import AdditiveSVC
from ..estimators.additive_svr import AdditiveSVR
from ..estimators.budgeted import BudgetedSVC
from ..estimators.nystrom import NystromSVC
from ..io.atomic import replacing
from ..landmarks.scaling import Scaling
from ..shapes import ShapeFunctions
from ..tables import DenseTable, PairTable, PowersTable
from ..tables.pmsvm import LOG_SHIFT
from .common import additive_model, gap_values, ranks_of, rows_of, terms_of, weights_of
from .onnx_nodes import Graph, search
from .onnx_pairs import sum_of_pairs

if TYPE_CHECKING:
    from .onnx_nodes import Model

_KINDS = ("rbf", "poly", "sigmoid")


def to_onnx(
    model: Model, path: str | os.PathLike[str], *, input_type: Literal["float32", "float64"] = "float64"
) -> None:
    """Write a model as an ONNX graph with the input "X".

    The outputs of a classifier are "label" and "scores", the result of `decision_function`, and with loss="log"
    "probabilities", that of `predict_proba`; with several labels per row, "label" is a matrix of zeros and ones, as of
    `predict`. The output of a regressor is "prediction". Supported are AdditiveSVC and
    AdditiveSVR with every kernel and approximation, NystromSVC with kernel "rbf", "poly" or "sigmoid", and BudgetedSVC.
    Rows are dense. A model of columns of text has a second input "text", a tensor of strings with these columns alone,
    and "X" has the others, both in the order of the training data; the empty string is a missing value. The names of
    the columns are in the metadata of the file. Values outside the training range are clipped, as in `predict`.
    Requires the package onnx: ``pip install 'kernline[onnx]'``.

    Parameters
    ----------
    model : fitted classifier or regressor
    path : where to write
    input_type : {"float64", "float32"}, default="float64"
        Number type of the input. Scores of float32 rows are those that the model gives the rows rounded to float32.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_digits
    >>> import kernline, kernline.export
    >>> model = kernline.AdditiveSVC().fit(*load_digits(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "digits.onnx")
    ...     kernline.export.to_onnx(model, path)
    ...     os.path.getsize(path) > 0
    True
    """
    check_is_fitted(model)
    if input_type not in ("float32", "float64"):
        raise ValueError(f"to_onnx: input_type must be 'float32' or 'float64'; got {input_type!r}.")
    graph = Graph()
    x = graph("Cast", "X", to=graph.type_of(np.float64))
    if isinstance(model, AdditiveSVC | AdditiveSVR):
        shapes = additive_model(model, "to_onnx").shapes_
        scores = _additive(graph, _with_text(graph, x, shapes.encoder), shapes)
    elif isinstance(model, NystromSVC):
        scores = _landmarks(graph, _scaled(graph, x, model), model)
    elif isinstance(model, BudgetedSVC):
        scores = _budgeted(graph, _scaled(graph, x, model), model)
    else:
        raise ValueError(
            f"to_onnx takes AdditiveSVC, AdditiveSVR, their CV versions, NystromSVC and BudgetedSVC; got "
            f"{type(model).__name__}. For a pipeline, export the last step, and apply the other steps before the graph."
        )
    scores = graph("Add", scores, model.intercept_)
    outputs = graph.prediction(model, scores) if isinstance(model, AdditiveSVR) else graph.label(model, scores)
    content = graph.finish(model, outputs, np.dtype(input_type))
    with replacing(path) as file:
        file.write(content)


def _units(graph: Graph, x: str, shapes: ShapeFunctions) -> str:
    """u = T_j(x) as float32."""
    encoder = shapes.encoder
    ranks = ranks_of(encoder)
    if ranks is None:
        return graph.cast(graph("Mul", graph("Sub", x, encoder.offsets), encoder.factors), np.float32)
    n = ranks.edges.shape[1]
    base = np.arange(encoder.n_features, dtype=np.int64) * n
    place = graph("Add", search(graph, x, ranks.edges.ravel(), n, base), base)
    edge, level, slope = (graph("Gather", part.ravel(), place) for part in (ranks.edges, ranks.levels, ranks.slopes))
    u = graph("Add", level, graph("Mul", graph("Sub", x, edge), slope))
    return graph.cast(graph("Where", graph("GreaterOrEqual", x, edge), u, np.float64(0.0)), np.float32)


def _additive(graph: Graph, x: str, shapes: ShapeFunctions) -> str:
    """Σ_j φ(u_j) · W_j as one matrix product."""
    encoder, width = shapes.encoder, shapes.weights.shape[2]
    gaps = gap_values(encoder)
    filled = x if gaps is None else graph("Where", graph("IsNaN", x), gaps, x)
    u = _units(graph, filled, shapes)
    low, high = (0.0, 1.0) if encoder.clips else (-1e18, 1e18)
    u = graph("Clip", u, np.float32(low), np.float32(high))
    if encoder.nan_columns.size or encoder.columns.gaps != "error":
        u = graph("Where", graph("IsNaN", filled), np.float32(0.0), u)
    if encoder.grid is not None:
        bounds = np.append(np.float32(-np.inf), encoder.thresholds)
        code = search(graph, u, bounds, bounds.size, np.zeros(1, dtype=np.int64))
        if isinstance(shapes.table, DenseTable):
            vectors = graph("Gather", rows_of(shapes.table), code)
        else:
            assert isinstance(shapes.table, PairTable)
            vectors = _hats(graph, code, shapes.table)
    elif isinstance(shapes.table, PowersTable):
        vectors = _powers(graph, u, width)
    else:
        vectors = u
    features = graph("Reshape", vectors, np.array([-1, shapes.n_features * width]))
    scores = graph.cast(graph("MatMul", features, weights_of(shapes)), np.float64)
    for term, table in terms_of(shapes, "to_onnx"):
        scores = graph("Add", scores, _term(graph, x, term, table))
    return graph("Add", scores, sum_of_pairs(graph, filled, shapes.pairs)) if shapes.pairs else scores


def _with_text(graph: Graph, x: str, encoder: Encoder) -> str:
    """All columns as numbers: those of "X", and the numbers of the levels in "text", each at its place."""
    of_text = list(encoder.columns.of_text)
    if not of_text:
        return x
    graph.n_text = len(of_text)
    parts = [x]
    for k, levels in enumerate(encoder.columns.levels):
        texts = graph("Gather", "text", np.array([k]), axis=1)
        number = graph.cast(graph.numbered(texts, ["", *levels.tolist()], [-1, *range(levels.size)]), np.float64)
        parts.append(graph("Where", graph("Less", number, np.float64(0.0)), np.float64(np.nan), number))
    others = [j for j in range(encoder.n_features) if j not in of_text]
    place = np.argsort([*others, *of_text])
    return graph("Gather", graph("Concat", *parts, axis=1), place.astype(np.int64), axis=1)


def _term(graph: Graph, x: str, term: TableTerm, scores: Array) -> str:
    """The row of `scores` for the values of the term's columns; zeros if they are in no cell."""
    place, found = "", ""
    for axis, j in zip(term.axes, term.columns, strict=True):
        at, hit = _position(graph, graph("Gather", x, np.int64(j), axis=1), axis)
        place = graph("Add", graph("Mul", place, np.int64(axis.size)), at) if place else at
        found = graph("And", found, hit) if found else hit
    row = graph("Where", found, graph("Add", place, np.int64(1)), np.int64(0))
    return graph("Gather", np.concatenate([np.zeros((1, scores.shape[1])), scores]), row)


def _position(graph: Graph, value: str, axis: Axis) -> tuple[str, str]:
    """The position of a value on an axis, and whether it has one."""
    is_nan = graph("IsNaN", value)
    if axis.kind == "missing":
        return graph("Mul", graph.cast(is_nan, np.int64), np.int64(0)), is_nan
    points = axis.points if axis.kind == "levels" else np.append(-np.inf, axis.points)
    at = search(graph, value, points, points.size, np.zeros(1, dtype=np.int64))
    if axis.kind == "levels":
        return at, graph("Equal", graph("Gather", points, at), value)
    return at, graph("Not", is_nan)


def _hats(graph: Graph, code: str, table: PairTable) -> str:
    """max(0, 1 − |code/S − k|) for every knot k, exact as S is a power of two; zeros for code 0."""
    code = graph("Unsqueeze", graph.cast(code, np.float32), np.array([2]))
    distance = graph(
        "Abs", graph("Sub", graph("Mul", code, np.float32(1.0 / table.steps)), np.arange(table.width, dtype=np.float32))
    )
    return graph("Mul", graph("Relu", graph("Sub", np.float32(1.0), distance)), graph("Sign", code))


def _powers(graph: Graph, u: str, width: int) -> str:
    """PmSVM's 1, l, l², …, with l = ln(u + 0.05); zeros if u is zero."""
    logarithm = graph("Log", graph("Add", graph.cast(u, np.float64), np.float64(LOG_SHIFT)))
    column = graph("Unsqueeze", graph.cast(logarithm, np.float32), np.array([2]))
    powers = graph("Pow", column, np.arange(width, dtype=np.float32))
    return graph("Mul", powers, graph("Unsqueeze", graph("Sign", u), np.array([2])))


def _scaled(graph: Graph, x: str, model: NystromSVC | BudgetedSVC) -> str:
    """The columns as the model scales them."""
    scaling: Scaling | None = getattr(model, "scale_", None)
    if scaling is None or scaling.name is None:
        return x
    clipped = graph("Min", graph("Max", x, scaling.low), scaling.high)
    return graph("Mul", graph("Sub", clipped, scaling.center), scaling.factor)


def _landmarks(graph: Graph, x: str, model: NystromSVC) -> str:
    kernel, points = model._kernel, model._points
    if kernel.kind not in _KINDS:
        raise ValueError(
            f"to_onnx: NystromSVC is exported with kernel 'rbf', 'poly' and 'sigmoid'; got {model.kernel!r:.80}. "
            "kernline.save writes models with any kernel."
        )
    landmarks = np.asarray(points.X.toarray() if is_sparse(points.X) else points.X, dtype=np.float64)
    if kernel.kind == "rbf":
        center = points.center if points.center is not None else np.zeros(landmarks.shape[1])
        return graph("MatMul", _rbf(graph, x, landmarks, center, kernel.gamma), model.dual_coef_.T)
    scaled = graph("MatMul", x, np.ascontiguousarray(kernel.gamma * landmarks.T))
    affine = graph("Add", scaled, np.float64(kernel.coef0))
    gram = graph("Tanh", affine) if kernel.kind == "sigmoid" else graph("Pow", affine, np.float64(kernel.degree))
    return graph("MatMul", gram, model.dual_coef_.T)


def _budgeted(graph: Graph, x: str, model: BudgetedSVC) -> str:
    x = graph.cast(graph.cast(x, np.float32), np.float64)  # the core computes with float32 rows
    vectors = model.support_vectors_.astype(np.float64)
    center = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1])
    problem = np.repeat(np.arange(model.n_support_.size), model.n_support_)
    coefficients = np.zeros((len(vectors), model.n_support_.size))
    coefficients[np.arange(len(vectors)), problem] = model.dual_coef_
    return graph("MatMul", _rbf(graph, x, vectors, center, model.gamma_), coefficients)


def _rbf(graph: Graph, x: str, landmarks: Array, center: Array, gamma: float) -> str:
    """exp(−γ ‖x − b‖²), both relative to the center, so that no digits are lost far from the origin."""
    moved = graph("Sub", x, center)
    landmarks = landmarks - center
    norms = graph("ReduceSum", graph("Mul", moved, moved), np.array([1]), keepdims=1)
    products = graph("MatMul", moved, np.ascontiguousarray(-2.0 * landmarks.T))
    distances = graph("Add", graph("Add", products, norms), np.square(landmarks).sum(axis=1))
    return graph("Exp", graph("Mul", graph("Max", distances, np.float64(0.0)), np.float64(-gamma)))
