"""A fitted model as a scorer sees it in a search: it knows its scores of the held-out rows, and nothing else."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ..array_types import Array, Floats, Labels, Matrix
from ..encoding import EncodedData
from .one_vs_rest import labels
from .probabilities import FromScores, class_probabilities


class _HeldOut(BaseEstimator):
    values: Array | Floats

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _values_of(self, X: Matrix | EncodedData) -> Array | Floats:
        if X.shape[0] != self.values.shape[0]:
            raise ValueError(
                f"scoring: while C is chosen, the model scores its {self.values.shape[0]} held-out rows together; it "
                f"got {X.shape[0]} rows."
            )
        return self.values[:, 0] if self.values.shape[1] == 1 else self.values


class HeldOutClassifier(ClassifierMixin, _HeldOut):
    """Its values are scores f(x), (n_rows, n_problems)."""

    values: Floats

    def __init__(self, classes: Labels, values: Floats) -> None:
        self.classes_ = classes
        self.values = values

    def with_probabilities(self, how: FromScores) -> HeldOutProbabilities:
        """The same, of a loss whose scores become probabilities so."""
        return HeldOutProbabilities(self.classes_, self.values, how)

    def decision_function(self, X: Matrix | EncodedData) -> Array | Floats:
        """The scores."""
        return self._values_of(X)

    def predict(self, X: Matrix | EncodedData) -> Labels:
        """The labels."""
        return labels(self.classes_, self._values_of(X))

    def score(self, X: Matrix | EncodedData, y: Labels, sample_weight: Array | None = None) -> float:
        """The accuracy, without an import of scikit-learn's metrics."""
        return float(np.average(self.predict(X) == y, weights=sample_weight))


class HeldOutProbabilities(HeldOutClassifier):
    """A classifier with the log loss."""

    def __init__(self, classes: Labels, values: Floats, how: FromScores) -> None:
        super().__init__(classes, values)
        self.how = how

    def predict_proba(self, X: Matrix | EncodedData) -> Array:
        """The probability of each class."""
        return class_probabilities(self._values_of(X).reshape(len(self.values), -1), self.how)


class HeldOutRegressor(RegressorMixin, _HeldOut):
    """Its values are predictions, (n_rows, n_outputs)."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def predict(self, X: Matrix | EncodedData) -> Array | Floats:
        """The predictions."""
        return self._values_of(X)
