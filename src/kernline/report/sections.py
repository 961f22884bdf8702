"""Sections of the page that need no script: summary, scores, confusion, errors, training and facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..array_types import Array
from .diagnostics import confusion
from .intervals import N_SAMPLES, Interval
from .markup import Markup, cell, chart, choice, ends, named, number, paragraph, section, table
from .outcome import Classified, Measured, Outcome
from .scores import ClassScore, Score

# Classes up to which the confusion matrix is a table.
MOST_IN_TABLE = 20
_MOST_CONFUSED = 10
_MOST_PROBLEMS = 20
_MOST_CARDS = 6  # of outputs


def summary(about: str, outcome: Outcome, scores: Sequence[Score], gap: float | None, tol: float | None) -> Markup:
    """What the report says, in a few numbers."""
    main = scores[:1] if isinstance(outcome, Classified) else scores[:: len(scores) // outcome.n_outputs]
    cards = [
        (score.name, number(score.interval.value, score.is_share), ends(score.interval, score.is_share))
        for score in main[:_MOST_CARDS]
    ]
    cards += [("Rows", f"{outcome.n_rows:,}", "")]
    if isinstance(outcome, Classified):
        wrong = int((outcome.true != outcome.found).sum())
        cards += [("Classes", f"{outcome.n_classes:,}", ""), ("Wrong labels", f"{wrong:,}", "")]
    if gap is not None:
        limit = "" if tol is None else f"tolerance {number(tol)}"
        cards.append(("Relative duality gap", number(gap), limit))
    shown = "".join(
        f'<div class="card"><dt>{cell(name)}</dt><dd><strong>{cell(value)}</strong><span>{cell(note)}</span></dd></div>'
        for name, value, note in cards
    )
    return section("summary", "Summary", paragraph(about), f'<dl class="cards">{shown}</dl>')


def score_section(scores: Sequence[Score], classes: Sequence[ClassScore]) -> Markup:
    """Scores with their intervals, and those of each class."""
    rows = [
        [
            score.name,
            number(score.interval.value, score.is_share),
            ends(score.interval, score.is_share) if score.method else "–",
            score.method or "not computed",
        ]
        for score in scores
    ]
    note = paragraph(
        "Intervals are of 95 %. Those of shares of rows are Wilson’s, the others are percentiles of a bootstrap of "
        f"{N_SAMPLES} samples of the rows."
    )
    parts: list[str] = [table("Scores", ["Score", "Value", "95 % interval", "Method"], rows, shows_caption=False), note]
    if classes:
        per_class = table(
            "Scores of each class",
            ["Class", "Rows", "Precision", "95 % interval", "Recall", "95 % interval", "ROC AUC"],
            [_class_row(score) for score in classes],
            shows_caption=False,
        )
        is_open = " open" if len(classes) <= MOST_IN_TABLE else ""
        parts.append(f"<details{is_open}><summary>Scores of each class</summary>{per_class}</details>")
    return section("scores", "Scores", *parts)


def _class_row(score: ClassScore) -> list[object]:
    def value(interval: Interval | None) -> str:
        return number(interval.value if interval else None, True)

    precision, recall = score.precision, score.recall
    shown = [value(precision), ends(precision, True), value(recall), ends(recall, True)]
    return [named(score.name), f"{score.n_rows:,}", *shown, number(score.area, True)]


def confusion_section(outcome: Classified) -> Markup:
    """Rows by true and predicted class: a table, or a chart of many classes; and what is confused most often."""
    counts = confusion(outcome)
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSED]
    pairs = [divmod(int(at), len(counts)) for at in order if wrong.flat[at]]
    most = table(
        "Most frequent confusions",
        ["True class", "Predicted class", "Rows"],
        [[named(outcome.names[i]), named(outcome.names[j]), f"{counts[i, j]:,}"] for i, j in pairs],
    )
    if len(counts) > MOST_IN_TABLE:
        label = "Confusion matrix of all classes. The table below has the most frequent confusions."
        return section("confusion", "Confusion matrix", chart("confusion-chart", label), most)
    # The root of the share, so that rare errors can be seen.
    share = np.sqrt(counts / np.maximum(1, counts.sum(axis=1, keepdims=True)))
    head = ["True class", *(Markup(f"{named(name)}") for name in outcome.names)]
    rows = []
    for i, name in enumerate(outcome.names):
        cells = [
            Markup(f'<span class="{"right" if i == j else "wrong"}" style="--share:{share[i, j]:.3f}">{count:,}</span>')
            for j, count in enumerate(counts[i].tolist())
        ]
        rows.append([named(name), *cells])
    how = "Rows by true class (down) and predicted class (across)"
    matrix = table(how, head, rows, shows_caption=False)
    beside = most if len(counts) > 3 and pairs else ""
    both = f'<div class="side-by-side"><div class="confusion">{matrix}</div>{beside}</div>'
    return section("confusion", "Confusion matrix", paragraph(how, "."), both)


def curve_section(outcome: Classified, names: Sequence[str], has_calibration: bool) -> Markup:
    """Places for ROC, precision and recall, and calibration."""
    parts: list[str] = []
    if len(names) > 1:
        parts.append(choice("curve-class", "Class, against all others:"))
    else:
        parts.append(paragraph("Curves of class ", named(names[0]), "."))
    charts = [("roc-chart", "ROC curve"), ("precision-chart", "Precision and recall")]
    charts += [("calibration-chart", "Calibration")] if has_calibration else []
    parts.append(_figures(charts))
    if not has_calibration:
        parts.append(paragraph("The model has no probabilities, so there is no calibration curve."))
    return section("curves", "Thresholds" if not has_calibration else "Thresholds and calibration", *parts)


def regression_section(outcome: Measured) -> Markup:
    """Places for predictions against the truth, and errors."""
    parts = []
    for k in range(outcome.true.shape[1]):
        suffix = "" if outcome.true.shape[1] == 1 else f" of output {k}"
        charts = [(f"dots-chart-{k}", f"Predictions{suffix}"), (f"errors-chart-{k}", f"Errors{suffix}")]
        parts.append(_figures(charts))
    return section("curves", "Predictions and errors", *parts)


def _figures(charts: Sequence[tuple[str, str]]) -> Markup:
    shown = "".join(
        f"<figure><figcaption>{cell(title)}</figcaption>{chart(name, title)}</figure>" for name, title in charts
    )
    return Markup(f'<div class="figures">{shown}</div>')


def meaning_of_signs(outcome: Outcome) -> str:
    """What positive and negative effects speak for."""
    if not isinstance(outcome, Classified):
        return "Positive effects (blue) raise the prediction, negative ones (orange) lower it."
    if outcome.scores.shape[1] > 1:
        return "Positive effects (blue) speak for a class, negative ones (orange) against it."
    against, towards = map(named, outcome.names[:2])
    return f"Positive effects (blue) speak for {towards}, negative ones (orange) for {against}."


def wrong_section(
    outcome: Outcome, wrong: Mapping[int, Sequence[tuple[str, float]]], places: Mapping[int, int]
) -> Markup:
    """The rows with the largest errors and what pushed them there; `places` are their numbers under "What if"."""
    rows: list[list[object]] = []
    for row, reasons in wrong.items():
        link: object = "–"
        if row in places:
            link = Markup(
                f'<button type="button" data-row="{places[row]}">What if'
                f'<span class="hidden"> row {row + 1}</span></button>'
            )
        output = ""
        if not isinstance(outcome, Classified) and outcome.n_outputs > 1:
            output = f"output {outcome.worst_output(row)}: "
        rows.append([f"Row {row + 1}", *_error(outcome, row), *([link, _pushed(reasons, output)] if places else [])])
    if isinstance(outcome, Classified):
        head, rule = (
            ["Row", "True class", "Predicted", "Margin"],
            (
                "Wrong labels, farthest from right first. The margin is by how much the score of the true class "
                "exceeds the best other score. Features that pushed a row speak for the predicted class, and more than "
                "for the true one. Rows are counted from 1."
            ),
        )
    else:
        head, rule = (
            ["Row", "True value", "Prediction", "Error"],
            (
                "The largest errors first, compared in standard deviations of the true values. An error is the "
                "prediction minus the true value, in the unit of y. Features that pushed a row add to its prediction "
                "in the direction of the error. Rows are counted from 1."
            ),
        )
    if not rows:
        return section("wrong", "Most wrong rows", paragraph("No row has a wrong label."))
    shown = table(
        "Most wrong rows", [*head, *(["Try", "Pushed there most by"] if places else [])], rows, shows_caption=False
    )
    return section("wrong", "Most wrong rows", paragraph(rule), shown)


def _pushed(reasons: Sequence[tuple[str, float]], output: str) -> Markup:
    return Markup(output + (", ".join(f"{named(name)} {number(push)}" for name, push in reasons) or "–"))


def _error(outcome: Outcome, row: int) -> list[object]:
    if isinstance(outcome, Classified):
        true, found = (named(outcome.names[labels[row]]) for labels in (outcome.true, outcome.found))
        margin = float(outcome.margins[row])
        return [true, found, "–" if np.isnan(margin) else number(margin)]
    error = outcome.found[row] - outcome.true[row]
    return [_numbers(values) for values in (outcome.true[row], outcome.found[row], error)]


def _numbers(values: Array) -> str:
    return ", ".join(map(number, values.tolist()))


def training_section(problems: Sequence[Sequence[object]], head: Sequence[str], note: str, has_seconds: bool) -> Markup:
    """Convergence, and the certificate of each problem."""
    parts: list[str] = [paragraph(note)]
    if has_seconds:
        parts.append(choice("convergence-by", "Against:", [("epoch", "epochs"), ("seconds", "seconds")]))
    parts.append(chart("convergence-chart", "Convergence of the training, of each problem"))
    shown = table("Problems of the training", head, [[named(first), *others] for first, *others in problems])
    if len(problems) > _MOST_PROBLEMS:
        shown = Markup(f"<details><summary>{len(problems)} problems</summary>{shown}</details>")
    return section("training", "Training and certificate", *parts, shown)


def fact_section(groups: Sequence[tuple[str, Sequence[tuple[str, object]]]]) -> Markup:
    """Tables of names and values."""
    shown = [table(title, ["Name", "Value"], [list(row) for row in rows]) for title, rows in groups if rows]
    return section("facts", "Model and data", f'<div class="facts">{"".join(shown)}</div>')
