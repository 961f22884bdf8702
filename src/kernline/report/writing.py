"""`report`: from a fitted model and labelled rows to a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..array_types import Array, Matrix, MatrixLike
from ..estimators.additive import AdditiveSVC
from ..estimators.additive_svr import AdditiveSVR
from ..estimators.pipeline_steps import column_names, found_estimator, last_step, steps_before
from ..export.common import names_of_problems
from ..io.atomic import replacing
from ..shapes import ShapeFunctions
from ..shapes.checked_rows import checked_rows
from . import diagnostics, facts, sections
from .embedding import json_text, packed
from .functions import described_functions
from .listing import DRAWN_POINTS, Listing, listing
from .markup import shortened
from .outcome import Classified, Classifier, Outcome, Predictor, classified, is_classifier, measured
from .page import Bokeh, Page, bokeh_scripts, features_section, own_script, what_if_section
from .rows import chosen_rows, described_rows, reasons, used_columns, used_functions, worst_rows
from .scores import class_scores, classification_scores, regression_scores

MOST_BYTES = 5_000_000
# For the markup that is added last: rows with errors, problems of the training, facts.
_RESERVE = 100_000
# By how much more than the excess functions shrink if they were too large.
_SLACK = 20_000


class Additive(NamedTuple):
    """What a report uses of an additive model: its functions, and the rows as numbers."""

    shapes: ShapeFunctions
    matrix: Matrix
    problems: list[str]
    units: list[float]


def report(
    model: object,
    X: MatrixLike,
    y: ArrayLike | Sequence[object],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    source: str | None = None,
) -> None:
    """Write a page about a fitted model and how it does on rows X with labels or numbers y.

    The page is one HTML file of at most 5 MB that needs no network: scores with intervals, confusion matrix, ROC,
    precision-recall and calibration curves, convergence, the list of features with their curves, "What if", where
    values of a row can be changed, and the rows with the largest errors. It needs the package bokeh.

    Parameters
    ----------
    model : AdditiveSVC, AdditiveSVR, NystromSVC, BudgetedSVC, their CV versions, or a pipeline that ends with one
        Models of landmarks have no curves; their reports have scores and training only. Of a search, such as
        GridSearchCV, the best estimator is reported.
    X : rows, as `predict` takes them, preferably not those of the training
    y : labels, or numbers of a regression
    path : where to write the page
    title : heading of the page. Default: the class of the model.
    source : where the rows are from, such as a file name, to be shown with the facts of the data

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_digits
    >>> import kernline
    >>> X, y = load_digits(return_X_y=True)
    >>> model = kernline.AdditiveSVC().fit(X[:1000], y[:1000])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "report.html")
    ...     kernline.report(model, X[1000:], y[1000:], path)
    ...     os.path.getsize(path) < 5_000_000
    True
    """
    page = page_of(model, X, y, title=title, source=source)
    with replacing(Path(path)) as file:
        file.write(page)


def page_of(
    model: object,
    X: MatrixLike,
    y: ArrayLike | Sequence[object],
    *,
    title: str | None = None,
    source: str | None = None,
) -> bytes:
    """The page that `report` writes, as UTF-8."""
    bokeh = bokeh_scripts()
    predictor = _checked(model)
    outcome = _outcome(predictor, X, y)
    page = _page(predictor, X, outcome, bokeh, shortened(title or f"{facts.described(predictor)}: report"), source)
    return page.html(bokeh)


def _checked(model: object) -> Predictor:
    if not hasattr(model, "predict") or not hasattr(model, "get_params"):
        raise TypeError(f"report: model must be a fitted estimator that predicts; got {type(model).__name__}.")
    predictor = cast(Predictor, found_estimator(model))
    final = facts.steps_of(predictor)[-1]
    check_is_fitted(final)
    if getattr(final, "multilabel_", False):
        raise ValueError(
            "report takes models of one label per row; this one predicts several. Report on one label at a time: fit a "
            "model to a column of y."
        )
    return predictor


def _outcome(model: Predictor, X: MatrixLike, y: ArrayLike | Sequence[object]) -> Outcome:
    labels = np.asarray(y)
    if labels.ndim == 0:
        raise ValueError(f"report: y must have a label or number for each row of X; got {y!r:.80}.")
    n_rows, n_labels = int(np.shape(X)[0] if not hasattr(X, "shape") else X.shape[0]), len(labels)
    if n_rows != n_labels or not n_rows:
        raise ValueError(
            f"report: X and y must have the same number of rows, at least one; got {n_rows} and {n_labels}."
        )
    if is_classifier(model):
        return classified(cast(Classifier, model), X, y)
    return measured(model, X, y)


def _page(model: Predictor, X: MatrixLike, outcome: Outcome, bokeh: Bokeh, title: str, source: str | None) -> Page:
    additive = _additive(model, X)
    problems = additive.problems if additive else _problems(outcome)
    data: dict[str, object] = {
        "task": _task(outcome),
        "problems": problems,
        "classes": outcome.names[: outcome.n_classes] if isinstance(outcome, Classified) else [],
    }
    parts = _score_sections(model, outcome, data)
    final = facts.steps_of(model)[-1]
    data["convergence"] = diagnostics.convergence(getattr(final, "history_", []))
    places: dict[int, int] = {}
    if additive is not None:
        spent = len(json_text(data)) + sum(map(len, parts.values())) + sum(map(len, bokeh.scripts)) + len(own_script())
        places = _add_functions(additive, outcome, MOST_BYTES - _RESERVE - spent, data, parts)
    wrong = {
        row: reasons(additive.shapes, additive.matrix, outcome, row, additive.units) if additive else []
        for row in worst_rows(outcome)
    }
    parts["wrong"] = sections.wrong_section(outcome, wrong, places)
    parts["training"] = _training(final, problems, cast("list[dict[str, object]]", data["convergence"]))
    shapes = additive.shapes if additive else None
    groups = [
        ("Model", facts.model_facts(model, shapes)),
        ("Parameters", facts.parameters(model)),
        ("Data", facts.data_facts(X, outcome, source)),
        ("Versions", facts.versions(bokeh.version)),
    ]
    parts["facts"] = sections.fact_section(groups)
    return Page(title, parts, data)


def _task(outcome: Outcome) -> str:
    if not isinstance(outcome, Classified):
        return "regression"
    return "binary" if outcome.scores.shape[1] == 1 else "multiclass"


def _problems(outcome: Outcome) -> list[str]:
    if not isinstance(outcome, Classified):
        return ["prediction"]
    return outcome.names[1:2] if outcome.scores.shape[1] == 1 else outcome.names[: outcome.n_classes]


def _additive(model: Predictor, X: MatrixLike) -> Additive | None:
    """The functions of the last step, and the rows that it receives; None if it has no functions.

    Functions are centred, so that a feature with its average effect adds nothing. Those of sparse rows are not: there a
    zero adds nothing, and only words that occur count.
    """
    final, before = last_step(model), steps_before(model)
    if not isinstance(final, AdditiveSVC | AdditiveSVR):
        return None
    matrix = checked_rows(final.shapes_, X if before is None else before.transform(X), 1)
    shapes = final.shapes_.uncentred().with_names(column_names(final, before))
    if shapes.is_centred_for(matrix):
        shapes = shapes.centred()
    units = np.broadcast_to(getattr(final, "target_unit_", 1.0), shapes.n_problems)
    return Additive(shapes, matrix, [shortened(name) for name in names_of_problems(final)], units.tolist())


def _score_sections(model: Predictor, outcome: Outcome, data: dict[str, object]) -> dict[str, str]:
    final = facts.steps_of(model)[-1]
    gap, tol = facts.relative_gap(final), final.get_params().get("tol")
    limit = float(tol) if isinstance(tol, int | float) else None
    if not isinstance(outcome, Classified):
        scores = regression_scores(outcome)
        about = f"{facts.described(model)}, on {outcome.n_rows:,} rows."
        data["regression"] = diagnostics.regression_charts(outcome)
        return {
            "summary": sections.summary(about, outcome, scores, gap, limit),
            "scores": sections.score_section(scores, []),
            "curves": sections.regression_section(outcome),
        }
    scores = classification_scores(outcome)
    right = int(outcome.right.sum())
    about = f"{facts.described(model)} predicts the right label for {right:,} of {outcome.n_rows:,} rows."
    curves = diagnostics.class_curves(outcome)
    data["curves"] = curves
    parts: dict[str, str] = {
        "summary": sections.summary(about, outcome, scores, gap, limit),
        "scores": sections.score_section(scores, class_scores(outcome)),
        "confusion": sections.confusion_section(outcome),
    }
    if len(outcome.names) > sections.MOST_IN_TABLE:
        data["labels"], data["confusion"] = outcome.names, packed(diagnostics.confusion(outcome))
    if curves:
        names = [str(curve["name"]) for curve in curves]
        parts["curves"] = sections.curve_section(outcome, names, outcome.probabilities is not None)
    return parts


def _add_functions(
    additive: Additive, outcome: Outcome, room: int, data: dict[str, object], parts: dict[str, str]
) -> dict[int, int]:
    """Add the functions and the rows of "What if"; return the place of each of these rows.

    Functions take as much of the `room` as the rest of their data leaves, which is known only when it is there.
    """
    shapes = additive.shapes
    budget = room
    while True:
        found, chosen, rows = _described(additive, outcome, budget)
        excess = len(json_text(found)) - room
        if excess <= 0 or budget <= 0:
            break
        budget -= excess + _SLACK
    data |= found
    is_class = isinstance(outcome, Classified)
    speaks = sections.meaning_of_signs(outcome)
    notes = _notes(shapes, chosen, "score" if is_class else "prediction") | {"speaks": speaks}
    parts["features"] = features_section(additive.problems, is_class, notes)
    parts["what-if"] = what_if_section(additive.problems, is_class, speaks)
    return {row: place for place, row in enumerate(rows)}


def _described(additive: Additive, outcome: Outcome, budget: int) -> tuple[dict[str, object], Listing, list[int]]:
    """Data of functions, which take `budget` bytes at most, and of rows; what is listed, and which rows these are."""
    shapes, matrix = additive.shapes, additive.matrix
    named = shapes.feature_names_in_ is not None or shapes.n_functions > shapes.n_features
    names = [shortened(name) for name in shapes.function_names] if named else None
    rows = chosen_rows(outcome, used_columns(shapes, matrix, 0).size).rows
    used = [used_functions(shapes, used_columns(shapes, matrix, row)) for row in rows]
    chosen, n_rows = listing(shapes, names, used, budget)
    found: dict[str, object] = {
        "intercepts": shapes.intercepts.tolist(),
        "units": additive.units,
        "functions": described_functions(shapes, chosen, names),
        "rows": described_rows(shapes, matrix, rows[:n_rows], chosen, outcome, _scores(outcome)),
    }
    return found, chosen, rows[:n_rows]


def _scores(outcome: Outcome) -> Array:
    return outcome.scores if isinstance(outcome, Classified) else outcome.found


def _notes(shapes: ShapeFunctions, chosen: Listing, outcome: str) -> dict[str, str]:
    """What the section of features says of centring, importance, and what is left out."""
    measures = {
        "training": "The importance of a function f is the mean distance of f from its mean over the training rows.",
        "range": "The importance of a function is its range, as the model file is older than the facts of training.",
    }
    if shapes.n_problems > 1:
        averaged = "classes" if outcome == "score" else "outputs"
        measures = {key: f"{text} It is averaged over {averaged}." for key, text in measures.items()}
    size = ""
    if not chosen.exact.all() or len(chosen.functions) < shapes.n_functions:
        n_listed, n_exact = len(chosen.functions), int(chosen.exact.sum())
        size = (
            f'<p id="size-note">The model is larger than a page of 5 MB may be. The list has {n_listed:,} of '
            f"{shapes.n_functions:,} functions, the most important ones. {n_exact:,} are exact: those of the rows "
            "under “What if”, then the most important. The others are drawn from "
            f"{DRAWN_POINTS} points, rounded to 256 steps, for at most {chosen.n_drawn} of their strongest curves, and "
            "cannot be changed under “What if”; shapes_.curve gives them in full.</p>"
        )
    pairs = " and pair of features" if shapes.n_functions > shapes.n_features else ""
    centring = "A value of zero adds nothing." if shapes.encoder.keeps_zeros else ""
    if shapes.offsets is not None:
        centring = (
            "Functions are centred: their mean over the training rows is zero, and the intercept is the mean "
            f"{outcome} of these rows."
        )
    return {
        "and_pairs": pairs,
        "outcome": outcome,
        "centring": centring,
        "importance_note": measures[chosen.importance.measure],
        "size_note": size,
    }


def _training(model: Predictor, problems: list[str], histories: list[dict[str, object]]) -> str:
    rows, head = facts.training_rows(model, problems)
    gap = facts.relative_gap(model)
    note = (
        "The method has no duality gap; the chart shows the mean loss of each pass."
        if gap is None
        else "The duality gap bounds how far the objective is from its optimum: it certifies the solution."
    )
    has_seconds = bool(histories) and all(history["seconds"] is not None for history in histories)
    return sections.training_section(rows, head, note, has_seconds)
