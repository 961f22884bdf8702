"""Shared by the exporters: the check of the model, and the steps from a value to a score as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..array_types import Array
from ..encoding import Axis, Encoder, TableTerm
from ..estimators.additive import AdditiveSVC
from ..estimators.additive_svr import AdditiveSVR
from ..shapes import ShapeFunctions
from ..tables import DenseTable

AdditiveModel: TypeAlias = AdditiveSVC | AdditiveSVR


def additive_model(model: object, call: str, *, multilabel: bool = True) -> AdditiveModel:
    """Return the model if it is a fitted sum of curves, in the unit of y, else raise.

    One of several labels per row is refused unless `multilabel`.
    """
    if not isinstance(model, AdditiveSVC | AdditiveSVR):
        raise ValueError(
            f"{call} takes AdditiveSVC, AdditiveSVR and their CV versions, whose models are curves; got "
            f"{type(model).__name__}. kernline.save writes any model."
        )
    check_is_fitted(model)
    if not multilabel and is_multilabel(model):
        raise ValueError(
            f"{call} takes models of one label per row; this one has several labels. to_onnx, to_json and "
            "kernline.save write it; or fit a model for each label."
        )
    if isinstance(model, AdditiveSVR) and (model.target_unit_ != 1.0).any():
        unit = float(model.target_unit_[model.target_unit_ != 1.0][0])
        raise ValueError(
            f"{call}: the standard deviation of y was {unit:.3g}, which float32 weights cannot represent. Fit to y "
            "divided by a number near that, and multiply the predictions."
        )
    return model


def is_multilabel(model: object) -> bool:
    """Whether a row may have several labels, each with a score of its own."""
    return bool(getattr(model, "multilabel_", False))


def names_of_problems(model: AdditiveModel) -> list[str]:
    """What each sum of curves is: the score of a class (of two, the second), or the prediction of an output."""
    if isinstance(model, AdditiveSVC):
        has_one_score = model.classes_.size == 2 and not is_multilabel(model)
        return [str(name) for name in (model.classes_[1:] if has_one_score else model.classes_).tolist()]
    n_outputs = model.shapes_.n_problems
    return ["prediction"] if n_outputs == 1 else [f"prediction {k}" for k in range(n_outputs)]


def name_of(model: AdditiveModel, j: int) -> str:
    """The name of a feature, or its number."""
    names = getattr(model, "feature_names_in_", None)
    return str(names[j]) if names is not None else str(j)


def probabilities_of(model: object) -> Literal["two classes", "softmax", "each"] | None:
    """How scores become probabilities, as in `predict_proba`; None for losses whose scores do not."""
    if not isinstance(model, AdditiveSVC) or getattr(model, "loss_", model.loss) != "log":
        return None
    if model.classes_.size == 2:
        return "two classes"
    return "softmax" if model.solver_ == "joint" else "each"


@dataclass(frozen=True)
class Ranks:
    """Points of scale="rank", the same number for every feature: missing edges are infinite."""

    edges: Array  # (n_features, n_edges)
    levels: Array
    slopes: Array


def rows_of(table: DenseTable) -> NDArray[np.float32]:
    """φ of every code, (n_codes, width); row 0 is zero, as the core does not store zeros, so that they add nothing."""
    rows = table.rows.copy()
    rows[0] = 0.0
    return rows


def weights_of(shapes: ShapeFunctions) -> NDArray[np.float32]:
    """W of the numbers as a matrix, (n_features · width, n_problems): zero where another term replaces the number."""
    weights = np.where(shapes.encoder.is_number[None, :, None], shapes.weights[:, : shapes.n_features], np.float32(0.0))
    return np.ascontiguousarray(weights.transpose(1, 2, 0).reshape(-1, shapes.n_problems))


class ExportedTerm(NamedTuple):
    """A term that is not a number, with a row of scores for each of its cells, (n_cells, n_problems)."""

    term: TableTerm
    scores: Array


def terms_of(shapes: ShapeFunctions, call: str) -> list[ExportedTerm]:
    """The terms other than numbers, which must be tables."""
    found = []
    for number, term in enumerate(shapes.encoder.terms):
        if not isinstance(term, TableTerm):
            raise ValueError(
                f"{call} exports numbers and terms that are tables (TableTerm); the model has a term of kind "
                f"{term.kind!r}. kernline.save writes every registered term."
            )
        found.append(ExportedTerm(term, shapes.term_scores(number)))
    return found


def level_names(shapes: ShapeFunctions, column: int, axis: Axis) -> list[str] | None:
    """The texts at the positions of an axis, if its column holds text."""
    names = shapes.encoder.columns.names(column)
    return None if names is None or axis.kind != "levels" else [names[int(point)] for point in axis.points]


def gap_values(encoder: Encoder) -> Array | None:
    """For each column, the number that NaN counts as; NaN where it adds nothing. None if it does so in all of them."""
    if encoder.columns.gaps != "middle":
        return None
    values = [encoder.value_of_gap(j) if is_number else np.nan for j, is_number in enumerate(encoder.is_number)]
    out = np.array(values, dtype=np.float64)
    out[encoder.nan_columns] = np.nan
    return out


def ranks_of(encoder: Encoder) -> Ranks | None:
    """The points of scale="rank", or None."""
    if encoder.numbers != "rank":
        return None
    start = encoder.edge_start
    shape = (encoder.n_features, int(np.diff(start).max()))
    edges, levels, slopes = np.full(shape, np.inf), np.zeros(shape), np.zeros(shape)
    for j in range(encoder.n_features):
        here, n = slice(start[j], start[j + 1]), start[j + 1] - start[j]
        edges[j, :n], levels[j, :n] = encoder.edges[here], encoder.levels[here]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            steps = np.diff(encoder.levels[here]) / np.diff(encoder.edges[here])
        levels[j, n:] = encoder.levels[here][-1]
        slopes[j, : n - 1] = np.where(np.isfinite(steps), steps, 0.0)
    return Ranks(edges, levels, slopes)
