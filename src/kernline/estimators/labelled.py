"""What every classifier makes of X and y before it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from .. import validation
from ..array_types import Array, Indices, Labels, Matrix, MatrixLike
from ..class_signs import ClassWeight, one_against_rest, row_weights
from ..encoding import EncodedData, TermSpec
from .training_data import RowsT, TrainingData

# The name of the one problem of all classes together.
ALL_CLASSES = "all classes"


@dataclass(frozen=True, kw_only=True)
class Labelled(TrainingData[RowsT]):
    """Rows with class labels y; the problems are binary, one class against the rest."""

    classes: Labels
    number: Indices  # of each row's class

    @property
    def labels(self) -> NDArray[np.int32]:
        """The number of each row's class, as the core takes it."""
        return np.ascontiguousarray(self.number, dtype=np.int32)


AnyLabelled: TypeAlias = Labelled[Matrix] | Labelled[EncodedData]


def labelled(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
    terms: Sequence[TermSpec] = (),
) -> Labelled[Matrix]:
    """Check the arguments of `fit`."""
    rows, labels, weight = validation.check_training_data(estimator, X, y, sample_weight, terms)
    return _with_classes(estimator, rows, labels, weight, class_weight)


def labelled_or_encoded(
    estimator: BaseEstimator,
    X: MatrixLike | EncodedData,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
    terms: Sequence[TermSpec],
) -> AnyLabelled:
    """Check the arguments of `fit` of an estimator that also takes rows encoded before, from ``io.read(encoder=)``."""
    if not isinstance(X, EncodedData):
        return labelled(estimator, X, y, sample_weight, class_weight, terms)
    rows, labels, weight = validation.check_encoded(estimator, X, y, sample_weight)
    return _with_classes(estimator, rows, labels, weight, class_weight)


def _with_classes(
    estimator: BaseEstimator, X: RowsT, y: Labels, weight: Array | None, class_weight: ClassWeight
) -> Labelled[RowsT]:
    classes, number = validation.check_classes(estimator, y)
    validation.ask_about_many_classes(classes, number.size)
    weights = row_weights(class_weight, classes, number, weight)
    names, targets = one_against_rest(classes, number)
    return Labelled(
        X=X, y=y, weight=weight, weights=weights, names=names, targets=targets, classes=classes, number=number
    )
