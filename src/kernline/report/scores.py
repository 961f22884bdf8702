"""Scores of a report, with intervals."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ..array_types import Array, Indices
from .intervals import Bootstrap, Interval, wilson
from .outcome import Classified, Measured

# Scores, rows times classes, up to which the bootstrap sorts them all again.
_MOST_RANKED = 500_000
_SMALLEST_CHANCE = 1e-15


class Score(NamedTuple):
    """A score, and how its interval was computed; None without one."""

    name: str
    interval: Interval
    method: Literal["Wilson", "bootstrap"] | None
    is_share: bool  # shown as a percentage


class ClassScore(NamedTuple):
    """How well one class is found."""

    name: str
    n_rows: int
    precision: Interval | None
    recall: Interval | None
    area: float | None  # under the ROC curve of this class against the rest


def class_scores(outcome: Classified) -> list[ClassScore]:
    """Precision and recall of each class, with Wilson's intervals."""
    n = len(outcome.names)
    rows, said = (np.bincount(labels, minlength=n) for labels in (outcome.true, outcome.found))
    right = np.bincount(outcome.true[outcome.true == outcome.found], minlength=n)
    areas = [*_areas(outcome), *[None] * (n - outcome.n_classes)]
    return [
        ClassScore(
            name, int(rows[k]), wilson(int(right[k]), int(said[k])), wilson(int(right[k]), int(rows[k])), areas[k]
        )
        for k, name in enumerate(outcome.names)
    ]


def classification_scores(outcome: Classified) -> list[Score]:
    """Accuracy and further scores."""
    bootstrap = Bootstrap(outcome.n_rows)
    accuracy = wilson(int(outcome.right.sum()), outcome.n_rows)
    assert accuracy is not None
    found = [Score("Accuracy", accuracy, "Wilson", True), *_averages(outcome, bootstrap)]
    area = _area_score(outcome, bootstrap)
    found += [] if area is None else [area]
    known = outcome.true < outcome.n_classes
    if outcome.probabilities is not None and known.all():
        chance = outcome.probabilities[np.arange(outcome.n_rows), outcome.true]
        loss = -np.log(np.maximum(chance, _SMALLEST_CHANCE))
        square = np.square(outcome.probabilities).sum(axis=1) - 2.0 * chance + 1.0
        if outcome.n_classes == 2:
            square = square / 2.0  # as it is defined for two classes
        found.append(Score("Log loss", bootstrap.mean(loss), "bootstrap", False))
        found.append(Score("Brier score", bootstrap.mean(square), "bootstrap", False))
    return found


def regression_scores(outcome: Measured) -> list[Score]:
    """R² and the errors of each output."""
    bootstrap = Bootstrap(outcome.n_rows)
    found = []
    for k in range(outcome.true.shape[1]):
        suffix = "" if outcome.true.shape[1] == 1 else f" of output {k}"
        true = outcome.true[:, k] - outcome.true[:, k].mean()
        error = outcome.found[:, k] - outcome.true[:, k]
        columns = np.column_stack([np.square(error), np.abs(error), true, np.square(true), np.ones(error.size)])
        for name, values in zip(("R²", "RMSE", "Mean absolute error"), _errors(bootstrap, columns), strict=True):
            found.append(Score(name + suffix, values, "bootstrap", False))
    return found


def _errors(bootstrap: Bootstrap, columns: Array) -> list[Interval]:
    def scores(sums: Array) -> list[Array]:
        squares, sizes, total, total_squares, n = sums.T
        with np.errstate(divide="ignore", invalid="ignore"):
            explained = 1.0 - squares / (total_squares - np.square(total) / n)
        return [explained, np.sqrt(squares / n), sizes / n]

    of_all, samples = scores(columns.sum(axis=0)[None]), scores(bootstrap.sums(columns))
    values = [float(np.nan_to_num(value[0], neginf=0.0)) for value in of_all]
    return [bootstrap.interval(value, sample) for value, sample in zip(values, samples, strict=True)]


def _averages(outcome: Classified, bootstrap: Bootstrap) -> list[Score]:
    """Balanced accuracy and F1, averages over classes, of classes that the rows have."""
    n = len(outcome.names)

    def scores(counts: Array) -> list[Array]:
        rows, found = _counted(outcome.true, counts, n), _counted(outcome.found, counts, n)
        right = _counted(outcome.true, counts * outcome.right, n)
        present, used = rows > 0.0, rows + found > 0.0
        recall = np.divide(right, rows, out=np.zeros_like(rows), where=present)
        f1 = np.divide(2.0 * right, rows + found, out=np.zeros_like(rows), where=used)
        return [recall.sum(axis=1) / present.sum(axis=1), f1.sum(axis=1) / used.sum(axis=1)]

    of_all = scores(np.ones((1, outcome.n_rows)))
    blocks = [scores(counts) for counts in bootstrap.counts()]
    samples = [np.concatenate(values) for values in zip(*blocks, strict=True)]
    intervals = [bootstrap.interval(float(value[0]), sample) for value, sample in zip(of_all, samples, strict=True)]
    names = ("Balanced accuracy", "F1, mean of classes")
    return [Score(name, interval, "bootstrap", True) for name, interval in zip(names, intervals, strict=True)]


def _counted(labels: Indices, counts: Array, n_labels: int) -> Array:
    """The rows of each label in each sample, (n_samples, n_labels), without a matrix of rows and labels."""
    return np.stack([np.bincount(labels, sample, minlength=n_labels) for sample in counts])


def _areas(outcome: Classified) -> list[float | None]:
    """The area under the ROC curve of each class against the rest; None if the rows are all of it, or none."""
    scores = outcome.class_scores
    ones = np.ones((1, outcome.n_rows))
    areas = [float(_Ranking(scores[:, k], outcome.true == k).areas(ones)[0]) for k in range(outcome.n_classes)]
    return [area if np.isfinite(area) else None for area in areas]


def _area_score(outcome: Classified, bootstrap: Bootstrap) -> Score | None:
    """The area under the ROC curve; of several classes, the mean of each against the rest."""
    areas = _areas(outcome)
    known = [k for k, area in enumerate(areas) if area is not None]
    if not known or len(known) < len(areas):
        return None
    chosen = [1] if outcome.n_classes == 2 else known
    name = "ROC AUC" if outcome.n_classes == 2 else "ROC AUC, mean of classes"
    value = float(np.mean([area for k in chosen if (area := areas[k]) is not None]))
    if outcome.n_rows * len(chosen) > _MOST_RANKED:
        return Score(name, Interval(value, value, value), None, True)
    scores = outcome.class_scores
    rankings = [_Ranking(scores[:, k], outcome.true == k) for k in chosen]
    samples = [np.mean([ranking.areas(counts) for ranking in rankings], axis=0) for counts in bootstrap.counts()]
    return Score(name, bootstrap.interval(value, np.concatenate(samples)), "bootstrap", True)


class _Ranking:
    """Rows in the order of their scores of a class."""

    def __init__(self, scores: Array, is_class: Indices) -> None:
        self.order = np.argsort(scores, kind="stable")
        self.first = np.flatnonzero(np.append(True, np.diff(scores[self.order]) > 0.0))  # of equal scores
        self.inside = is_class[self.order]

    def areas(self, counts: Array) -> Array:
        """The area under the ROC curve of each sample: the share of pairs of rows in the right order, ties half."""
        weight = counts[:, self.order]
        positive = np.add.reduceat(weight * self.inside, self.first, axis=1)
        negative = np.add.reduceat(weight * ~self.inside, self.first, axis=1)
        below = np.cumsum(negative, axis=1) - 0.5 * negative
        with np.errstate(divide="ignore", invalid="ignore"):
            areas: Array = (positive * below).sum(axis=1) / (positive.sum(axis=1) * negative.sum(axis=1))
        return areas
