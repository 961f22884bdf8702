"""Probabilities of classes: from scores, and methods that exist for loss="log" only."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
from scipy.special import log_expit

from ..array_types import Array, Floats
from ..joint_losses import probabilities

# How scores of several classes become probabilities: of all classes together, or of each one against the rest.
FromScores: TypeAlias = Literal["softmax", "each"]

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def class_probabilities(scores: Array | Floats, how: FromScores) -> Array:
    """The probability of each class, (n_rows, n_classes), from scores, (n_rows, n_problems)."""
    values = scores.astype(np.float64, copy=False)
    if values.shape[1] == 1:
        return probabilities(np.concatenate([np.zeros_like(values), values], axis=1))
    if how == "softmax":
        return probabilities(values)
    # Relative to the largest, for where all of them are tiny.
    logs = log_expit(values)
    each: Array = np.exp(logs - logs.max(axis=1, keepdims=True))
    return each / each.sum(axis=1, keepdims=True)


class probabilities_of_log_loss(Generic[MethodT]):  # noqa: N801, a decorator
    """Decorate a method of a classifier. With another loss, hasattr is False, as scikit-learn's meta-estimators expect.

    With loss="auto" the method exists until it is known that another loss is chosen: from the other parameters, or by
    a fit.
    """

    def __init__(self, method: MethodT) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self.method
        loss = getattr(model, "loss_", model._known_loss)
        if loss not in ("auto", "log"):
            name = type(model).__name__
            raise AttributeError(
                f"{name} has no {self.method.__name__} with loss={loss!r}, whose scores are not probabilities. Pass "
                f"loss='log', or calibrate the scores: CalibratedClassifierCV({name}(loss={loss!r})).fit(X, y), from "
                "sklearn.calibration."
            )
        return MethodType(self.method, model)
