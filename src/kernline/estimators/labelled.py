"""What every classifier makes of X and y before it fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from .. import class_checks, validation
from ..array_types import Array, Floats, Indices, Labels, Matrix, MatrixLike
from ..class_signs import ClassWeight, one_against_rest, row_weights
from ..encoding import EncodedData
from ..joint_losses import JointLoss, Separate, Softmax
from ..losses import Logistic
from ..mapped.dataset import Dataset
from ..table_input import TableRules
from .held_out import HeldOutClassifier
from .training_data import RowsT, TrainingData, encoded_for

LOGISTIC = Logistic()
# The name of the one problem of all classes together.
ALL_CLASSES = "all classes"
_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Labelled(TrainingData[RowsT]):
    """Rows with class labels y; the problems are binary, one class against the rest."""

    is_classification: ClassVar[bool] = True
    classes: Labels
    number: Indices  # of each row's class

    @property
    def labels(self) -> NDArray[np.int32]:
        """The number of each row's class, as the core takes it."""
        return np.ascontiguousarray(self.number, dtype=np.int32)

    def joint_loss(self, cost: Array) -> JointLoss:
        """Softmax; of two classes, the logistic loss."""
        if self.classes.size == 2:
            return Separate(LOGISTIC, self.targets[0][:][:, None], cost)
        return Softmax(self.number, self.classes.size, cost)

    def of_rows(self, rows: NDArray[np.int32]) -> Self:
        """Labels and weights of these rows alone; X stays whole."""
        number = self.number[rows]
        targets = one_against_rest(self.classes, number)[1]
        return replace(self, number=number, weights=self.weights[rows], targets=targets)

    def without_rows(self) -> Self:
        """The classes, without rows."""
        return replace(super().without_rows(), number=self.number[:0])

    def held_out(self, values: Floats) -> HeldOutClassifier:
        """The classifier of these scores."""
        return HeldOutClassifier(self.classes, values)

    def check_fold(self, number: int, train: NDArray[np.int32]) -> None:
        """Refuse a fold that trains without one of the classes."""
        missing = np.setdiff1d(np.arange(self.classes.size), self.number[train])
        if missing.size:
            raise ValueError(
                f"cv: fold {number} trains without a sample of class {self.classes[missing[0]]}, of which there are "
                f"{np.count_nonzero(self.number == missing[0])}. Every fold needs all classes: lower cv, leave the "
                "class out, or pass splits of your own."
            )


AnyLabelled: TypeAlias = Labelled[Matrix] | Labelled[EncodedData] | Labelled[Dataset]


def labelled(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
) -> Labelled[Matrix]:
    """Check the arguments of `fit`."""
    rows, labels, weight = validation.check_training_data(estimator, X, y, sample_weight)
    class_checks.check_classes_kept(y, labels)
    return _with_classes(estimator, rows, labels, weight, class_weight)


def labelled_table(
    estimator: BaseEstimator,
    X: MatrixLike | EncodedData | Dataset,
    y: Any,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
    rules: TableRules,
) -> AnyLabelled:
    """Check the arguments of `fit` of an estimator that takes tables with text and missing values.

    It also takes rows encoded before, from ``io.read(encoder=)``.
    """
    if isinstance(X, Dataset):
        return _labelled_dataset(estimator, X, y, sample_weight, class_weight)
    if isinstance(X, EncodedData):
        rows, labels, weight = validation.check_encoded(estimator, X, y, sample_weight)
        class_checks.check_classes_kept(y, labels)
        return _with_classes(estimator, rows, labels, weight, class_weight)
    table = validation.check_training_table(estimator, X, y, sample_weight, rules)
    class_checks.check_classes_kept(y, table.y)
    data = _with_classes(estimator, table.X, table.y, table.weight, class_weight)
    return replace(data, terms=table.terms, columns=table.columns)


def _labelled_dataset(
    estimator: BaseEstimator,
    dataset: Dataset,
    y: Any,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
) -> AnyLabelled:
    """Rows of a Dataset, in memory or not, with its own labels and weights unless others are given."""
    weight = dataset.sample_weight if sample_weight is None else sample_weight
    if y is not None or not dataset.is_in_parts or dataset.classes is None:
        rows: Any = dataset if dataset.is_in_parts else dataset.rows
        labels: Any = dataset.y if y is None else y
        found, checked, weights = validation.check_encoded(estimator, rows, labels, weight)
        class_checks.check_classes_kept(labels, checked)
        if y is None and dataset.classes is not None:
            class_checks.check_classes_kept(dataset.classes, np.unique(checked))
        return replace(
            _with_classes(estimator, found, checked, weights, class_weight), encoded_for=encoded_for(estimator, dataset)
        )
    whole, number, weights = validation.check_encoded(estimator, dataset, dataset.stored_y, weight)
    classes = dataset.classes
    validation.check_label_type(classes)
    present = np.zeros(classes.size, dtype=np.bool_)
    for begin in range(0, number.size, _BLOCK):  # an index array takes 8 bytes per row
        present[number[begin : begin + _BLOCK]] = True
    class_checks.check_classes_kept(classes, classes[present])
    if np.count_nonzero(present) < 2:
        class_checks.check_classes(estimator, classes[present])
    names, targets = one_against_rest(classes, number)
    is_plain = weights is None and class_weight is None
    return Labelled(
        X=whole,
        y=number,
        classes=classes,
        number=number,
        weight=weights,
        # Not 8 bytes per row for ones.
        weights=np.broadcast_to(1.0, number.shape) if is_plain else row_weights(class_weight, classes, number, weights),
        names=names,
        targets=targets,
        encoded_for=encoded_for(estimator, dataset),
    )


def _with_classes(
    estimator: BaseEstimator, X: RowsT, y: Labels, weight: Array | None, class_weight: ClassWeight
) -> Labelled[RowsT]:
    classes, number = class_checks.check_classes(estimator, y)
    validation.ask_about_many_classes(classes, number.size)
    weights = row_weights(class_weight, classes, number, weight)
    names, targets = one_against_rest(classes, number)
    return Labelled(
        X=X, y=y, weight=weight, weights=weights, names=names, targets=targets, classes=classes, number=number
    )
