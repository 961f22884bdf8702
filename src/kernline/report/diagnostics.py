"""Points of the diagnostic charts: ROC, precision and recall, calibration, errors of a regression, convergence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..array_types import Array, Indices
from .outcome import Classified, Measured

# Points of a curve, few enough for a hundred classes.
_POINTS = 60
_BINS = 10
_MOST_DOTS = 1000
_HISTOGRAM_BINS = 30
_DIGITS = 5

Points = list[list[float]]


def rounded(values: Array) -> list[float]:
    """Numbers for a chart, with as many digits as can be seen."""
    return [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]


def _points(*columns: Array) -> Points:
    return [rounded(np.asarray(column, dtype=np.float64)) for column in columns]


def class_curves(outcome: Classified) -> list[dict[str, object]]:
    """For each class against the rest: name, number of rows, ROC, precision and recall, and calibration.

    Of two classes, the second. Classes without rows, or with all of them, have no curves.
    """
    found: list[dict[str, object]] = []
    scores = outcome.class_scores
    for k in range(1, 2) if outcome.n_classes == 2 else range(outcome.n_classes):
        inside = outcome.true == k
        if not inside.any() or inside.all():
            continue
        right, wrong = _counted(scores[:, k], inside)
        curve: dict[str, object] = {
            "name": outcome.names[k],
            "rows": int(inside.sum()),
            "roc": _points(wrong / wrong[-1], right / right[-1]),
            "precision": _points(right[1:] / right[-1], right[1:] / (right + wrong)[1:]),
        }
        if outcome.probabilities is not None:
            curve["calibration"] = _calibration(outcome.probabilities[:, k], inside)
        found.append(curve)
    return found


def _counted(scores: Array, inside: Indices) -> tuple[Array, Array]:
    """How many rows of the class, and of the rest, have a score of at least each of some thresholds, from none on."""
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.append(np.diff(scores[order]) < 0.0, True))
    right, wrong = np.cumsum(inside[order])[last], np.cumsum(~inside[order])[last]
    # Evenly spaced along the curve, so that steep parts keep their points.
    length = right / right[-1] + wrong / wrong[-1]
    kept = np.unique(np.searchsorted(length, np.linspace(length[0], length[-1], _POINTS)).clip(max=last.size - 1))
    return np.append(0.0, right[kept]), np.append(0.0, wrong[kept])


def _calibration(chance: Array, inside: Indices) -> Points:
    """Mean probability, share of the class and number of rows, of bins of equal width."""
    place = np.minimum((chance * _BINS).astype(np.int64), _BINS - 1)
    rows = np.bincount(place, minlength=_BINS)
    used = rows > 0
    mean, share = (
        np.bincount(place, values, minlength=_BINS)[used] / rows[used] for values in (chance, inside.astype(np.float64))
    )
    return _points(mean, share, rows[used].astype(np.float64))


def confusion(outcome: Classified) -> Indices:
    """Rows by true class and predicted class."""
    n = len(outcome.names)
    return np.bincount(outcome.true * n + outcome.found, minlength=n * n).reshape(n, n)


def regression_charts(outcome: Measured) -> list[dict[str, object]]:
    """For each output: true and predicted numbers of some rows, and how errors are distributed."""
    rows = np.unique(np.linspace(0, outcome.n_rows - 1, _MOST_DOTS).astype(np.int64))
    charts: list[dict[str, object]] = []
    for true, found in zip(outcome.true.T, outcome.found.T, strict=True):
        errors = found - true
        counts, edges = np.histogram(errors, bins=_HISTOGRAM_BINS, range=_range(errors))
        charts.append({"dots": _points(true[rows], found[rows]), "errors": _points(edges, counts.astype(np.float64))})
    return charts


def _range(errors: Array) -> tuple[float, float]:
    """The range of a histogram: that of the errors, but not so narrow that edges of bins are the same float."""
    low, high = float(errors.min()), float(errors.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    least = 4.0 * _HISTOGRAM_BINS * float(np.spacing(max(abs(low), abs(high))))
    return (low, high) if high - low >= least else (low - least, high + least)


def convergence(histories: Sequence[Sequence[object]]) -> list[dict[str, object]]:
    """Of each problem, the epochs with their gaps, or passes with their losses, and seconds where they are known."""
    found: list[dict[str, object]] = []
    for problem, history in enumerate(histories):
        if not history:
            continue
        measure = "gap" if hasattr(history[0], "gap") else "loss"
        epoch, seconds, value = (
            np.array([getattr(entry, name) for entry in history], dtype=np.float64)
            for name in ("epoch", "seconds", measure)
        )
        usable = np.flatnonzero(np.isfinite(value) & (value > 0.0))
        usable = usable[np.unique(np.linspace(0, usable.size - 1, _POINTS).astype(np.int64))] if usable.size else usable
        timed = np.isfinite(seconds).all()
        found.append(
            {
                "problem": problem,
                "measure": measure,
                "epoch": rounded(epoch[usable]),
                "value": rounded(value[usable]),
                "seconds": rounded(seconds[usable]) if timed else None,
            }
        )
    return found
