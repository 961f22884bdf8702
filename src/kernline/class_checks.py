"""The classes of a fit: at least two, listed once, and the same as before."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from .array_types import Indices, Labels

_INFINITE = (math.inf, -math.inf)


def check_classes(estimator: BaseEstimator, y: Labels) -> tuple[Labels, Indices]:
    """The classes in order, and each sample's class number."""
    classes, number = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least two classes; y holds one class only: "
            f"{classes.tolist()[0]!r}."
        )
    return classes, number


def check_classes_kept(y: ArrayLike, kept: Labels) -> None:
    """Refuse weights of zero for all samples of a class: the model would not know the class."""
    given = np.asarray(y).ravel()
    lost = np.setdiff1d(given, kept) if given.size > kept.size else given[:0]
    if lost.size and np.unique(kept).size > 1:
        raise ValueError(
            f"sample_weight: every sample of class {lost.tolist()[0]!r} has weight zero. Leave these samples out of X "
            "and y, or give one of them a positive weight."
        )


def check_class_list(estimator: BaseEstimator, classes: ArrayLike) -> Labels:
    """The `classes` of partial_fit, in order. Values that y cannot have are refused."""
    values = check_array(classes, ensure_2d=False, dtype=None, ensure_all_finite=False, input_name="classes")
    missing = [
        value for value in values.ravel().tolist() if value is None or value != value or value in (math.inf, -math.inf)
    ]
    if values.ndim != 1 or missing:
        got = f"{missing[0]!r} among them" if missing else f"an array of shape {values.shape}"
        raise ValueError(f"classes: pass a list of the labels that y may have, numbers or text; got {got}.")
    return check_classes(estimator, values)[0]


def check_known_classes(classes: Labels, y: Labels) -> Indices:
    """Return each sample's class number among known classes."""
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"y holds labels that are not among the classes of the first call to partial_fit: {unknown[:5].tolist()}. "
            f"Those are: {classes.tolist()}."
        )
    return np.searchsorted(classes, y)
