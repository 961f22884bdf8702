"""What a model says of the rows of a report, beside the truth."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..array_types import Array, Indices, Labels, MatrixLike
from ..caching import cached_property
from ..encoding.frames import is_missing
from .markup import shortened

# Labels that are not classes of the model, at most; others count as one.
_MOST_OTHERS = 100

# Numbers of a regression, at most: sums of their squares are finite.
_LARGEST = 1e150


class Predictor(Protocol):
    """A fitted estimator, or a pipeline that ends with one."""

    def predict(self, X: MatrixLike) -> Labels:
        """Labels, or numbers."""

    def get_params(self, deep: bool = ...) -> dict[str, object]:
        """The parameters by name."""


class Classifier(Predictor, Protocol):
    """A model that predicts labels."""

    classes_: Labels

    def decision_function(self, X: MatrixLike) -> Array:
        """One score per class, or one in all for two classes."""


@dataclass(frozen=True)
class Classified:
    """Labels by number: `names` has the classes of the model, then labels that only the data has.

    Of these, there are at most 100; the last name stands for all others.

    `scores` has a column for each problem, `probabilities` one for each class, if the model has any.
    """

    names: list[str]
    n_classes: int
    true: Indices
    found: Indices
    scores: Array
    probabilities: Array | None

    @property
    def n_rows(self) -> int:
        """Rows of the report."""
        return self.true.size

    @property
    def right(self) -> Array:
        """1 where the label was found, else 0."""
        return (self.true == self.found).astype(np.float64)

    @property
    def class_scores(self) -> Array:
        """A score of each class, (n_rows, n_classes); of two classes, those of the first are negative."""
        return np.hstack([-self.scores, self.scores]) if self.scores.shape[1] == 1 else self.scores

    @property
    def margins(self) -> Array:
        """By how much the score of the true class exceeds that of the best other one; NaN for unknown labels."""
        scores = self.class_scores.copy()
        known = np.flatnonzero(self.true < self.n_classes)
        of_true = scores[known, self.true[known]]
        scores[known, self.true[known]] = -np.inf
        margins = np.full(self.n_rows, np.nan)
        margins[known] = of_true - scores[known].max(axis=1)
        return margins / 2.0 if self.scores.shape[1] == 1 else margins


@dataclass(frozen=True)
class Measured:
    """True and predicted numbers, (n_rows, n_outputs)."""

    true: Array
    found: Array

    @property
    def n_rows(self) -> int:
        """Rows of the report."""
        return len(self.true)

    @property
    def n_outputs(self) -> int:
        """Numbers of a row."""
        return int(self.true.shape[1])

    @cached_property
    def errors(self) -> Array:
        """Predictions minus true numbers, in standard deviations of the true numbers of each output."""
        spread = self.true.std(axis=0)
        return (self.found - self.true) / np.where(spread > 0.0, spread, 1.0)

    def worst_output(self, row: int) -> int:
        """The output of a row with the largest of these errors."""
        return int(np.abs(self.errors[row]).argmax())


Outcome = Classified | Measured


def is_classifier(model: Predictor) -> bool:
    """Whether the model predicts labels."""
    return hasattr(model, "decision_function")


def classified(model: Classifier, X: MatrixLike, y: ArrayLike | Sequence[object]) -> Classified:
    """Scores and labels of all rows."""
    true = np.asarray(y)
    if true.ndim != 1:
        raise ValueError(f"report: y must have one label per row; got an array of shape {true.shape}.")
    _check_labels(true)
    classes = _decoded(np.asarray(model.classes_)).tolist()
    true, others = _numbered(classes, _decoded(true))
    _check_others(others)
    _warn_of_unknown(true, classes, others)
    true, shown = _listed(true, len(classes), others)
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    found = (scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
    return Classified(
        names=[shortened(label) for label in [*classes, *shown]],
        n_classes=len(classes),
        true=true,
        found=found,
        scores=scores.reshape(len(found), -1),
        probabilities=np.asarray(model.predict_proba(X)) if hasattr(model, "predict_proba") else None,
    )


def _decoded(labels: Labels) -> Labels:
    """Bytes as text."""
    return labels.astype(str) if labels.dtype.kind == "S" else labels


def _numbered(classes: Sequence[object], y: Labels) -> tuple[Indices, list[object]]:
    """The number of the label of each row, and the labels that are not classes, which have the numbers after these.

    Equal values are equal labels, whatever their types: 1, 1.0 and True are one. Text equals a number that is written
    in the same way, because files have labels as text.
    """
    known: dict[object, int] = {label: k for k, label in enumerate(classes)}
    as_text = {str(label): k for k, label in enumerate(classes)}
    all_text = all(isinstance(label, str) for label in classes)
    distinct, inverse = _distinct(y)
    others: list[object] = []
    numbers = []
    for label in distinct:
        number = known.get(label)
        if number is None and (all_text or isinstance(label, str)):
            number = as_text.get(str(label))
        if number is None:
            number = len(classes) + len(others)
            others.append(label)
        numbers.append(number)
    return np.array(numbers, dtype=np.int64)[inverse], others


def _distinct(y: Labels) -> tuple[list[object], Indices]:
    """Distinct labels, and the place of each row's among them. Objects may not be comparable, nor hashable."""
    if y.dtype.kind != "O":
        distinct, inverse = np.unique(y, return_inverse=True)
        return distinct.tolist(), inverse
    places: dict[object, int] = {}
    labels = (label if isinstance(label, Hashable) else str(label) for label in y.tolist())
    inverse = np.array([places.setdefault(label, len(places)) for label in labels], dtype=np.int64)
    return list(places), inverse


def _check_labels(y: Labels) -> None:
    """Refuse missing labels."""
    n_missing = sum(map(is_missing, y.tolist())) if y.dtype.kind in "OfcmM" else 0
    if n_missing:
        raise ValueError(
            f"report: y lacks the labels of {n_missing:,} of its {y.size:,} rows (NaN or None). Leave out these rows."
        )


def _check_others(others: Sequence[object]) -> None:
    """Refuse fractions that the model does not know: these are numbers of a regression, one per row."""
    found = [label for label in others if isinstance(label, float | np.floating) and not label.is_integer()]
    if found:
        given = ", ".join(str(label) for label in found[:3])
        raise ValueError(
            f"report: y has continuous numbers, such as {given}, but the model is a classifier. Give the labels of the "
            "rows, or a regression model."
        )


def _listed(true: Indices, n_classes: int, others: Sequence[object]) -> tuple[Indices, list[object]]:
    """Labels by number with at most so many that are not classes; the rest are counted together as one."""
    n_more = len(others) - _MOST_OTHERS
    if n_more <= 0:
        return true, list(others)
    return np.minimum(true, n_classes + _MOST_OTHERS), [*others[:_MOST_OTHERS], f"and {n_more:,} more"]


def _warn_of_unknown(true: Indices, classes: Sequence[object], others: Sequence[object]) -> None:
    """Warn of labels that are not classes of the model: they are often written in another way."""
    n_unknown = int((true >= len(classes)).sum())
    if n_unknown:
        given, known = (", ".join(str(label)[:40] for label in labels[:3]) for labels in (others, classes))
        warnings.warn(
            f"report: {n_unknown:,} of {true.size:,} rows have labels that the model was not trained on, such as "
            f"{given}; they count as errors. Classes of the model are, for example, {known}.",
            stacklevel=2,
        )


def measured(model: Predictor, X: MatrixLike, y: ArrayLike | Sequence[object]) -> Measured:
    """Predictions of all rows."""
    found = np.asarray(model.predict(X), dtype=np.float64)
    try:
        true = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("report: y must have numbers, as the model is a regression; got labels.") from None
    if true.reshape(len(true), -1).shape != found.reshape(len(found), -1).shape:
        raise ValueError(
            f"report: y must have a number for each prediction, in shape {found.shape}; got shape {true.shape}."
        )
    n_unusable = int((~np.isfinite(true.reshape(len(true), -1))).any(axis=1).sum())
    if n_unusable:
        raise ValueError(
            f"report: y must have finite numbers; {n_unusable:,} of its {len(true):,} rows have NaN or infinity. Leave "
            "out these rows."
        )
    for name, values in (("y", true), ("predictions", found)):
        largest = float(np.abs(values).max(initial=0.0))
        if not largest <= _LARGEST:
            raise ValueError(
                f"report: the scores of a regression need squares of {name}, so that these must be at most "
                f"{_LARGEST:g} in size; got {largest:g}. Fit and report the model with y in a larger unit."
            )
    return Measured(true.reshape(len(true), -1), found.reshape(len(found), -1))
