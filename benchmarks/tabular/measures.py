"""What is measured of a fitted model: accuracy, log loss and calibration, or R² and RMSE; seconds."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss, r2_score, root_mean_squared_error

from kernline.datasets import Dataset

BINS = 15


def processor_seconds() -> float:
    """The clock of this benchmark: time on all processors. With one thread, neighbours hardly disturb it."""
    return time.process_time()


@dataclass(frozen=True)
class Result:
    """One contestant on one table. `score` is accuracy or R²; `failure` says why the rest is NaN."""

    score: float = np.nan
    rmse: float = np.nan
    log_loss: float = np.nan
    calibration: float = np.nan
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan
    failure: str = ""
    date: str = ""

    @classmethod
    def mean(cls, results: list[Result]) -> Result:
        """The mean over splits. If one of them failed, that one."""
        for result in results:
            if result.failure:
                return result
        numbers = [field.name for field in fields(cls) if field.name not in ("failure", "date")]
        means = {name: float(np.mean([getattr(result, name) for result in results])) for name in numbers}
        return cls(**means, date=max(result.date for result in results))


def evaluate(model: Any, data: Dataset, fit_seconds: float, *, regression: bool) -> Result:
    """Predict the test part, and compare."""
    start = processor_seconds()
    predicted = model.predict(data.X_test)
    predict_seconds = processor_seconds() - start
    times = {"fit_seconds": fit_seconds, "predict_seconds": predict_seconds, "date": time.strftime("%Y-%m-%d")}
    if regression:
        error = float(root_mean_squared_error(data.y_test, predicted))
        return Result(float(r2_score(data.y_test, predicted)), rmse=error, **times)
    accuracy = float(accuracy_score(data.y_test, predicted))
    if not hasattr(model, "predict_proba"):
        return Result(accuracy, **times)
    probabilities = np.asarray(model.predict_proba(data.X_test), dtype=np.float64)
    loss = float(log_loss(data.y_test, probabilities, labels=model.classes_))
    return Result(
        accuracy, log_loss=loss, calibration=calibration_error(data.y_test, probabilities, model.classes_), **times
    )


def calibration_error(y: np.ndarray, probabilities: np.ndarray, classes: np.ndarray) -> float:
    """The expected calibration error of the predicted class.

    Rows are put into bins of equal width by the probability of the class predicted. The error is the mean over rows of
    their bin's |accuracy − mean probability|.
    """
    top = probabilities.argmax(axis=1)
    confidence = probabilities[np.arange(top.size), top]
    excess = (np.asarray(classes)[top] == y) - confidence
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, excess, BINS)).sum() / top.size)
