"""What the classifiers share: labels from the scores of one class against the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, cast

import numpy as np
from sklearn.base import ClassifierMixin

from ..array_types import Array, Floats, Labels, MatrixLike
from .solving import Solved
from .training_data import RowsT

_FloatsT = TypeVar("_FloatsT", Array, Floats)

# Scores in memory while `predict` runs: 32 MB.
_SCORES_AT_ONCE = 2**22


class OneAgainstRest(ClassifierMixin, Solved[RowsT]):
    """A classifier of one binary problem for two classes, and one per class for more."""

    classes_: Labels

    def decision_function(self, X: MatrixLike | RowsT) -> Array:
        """Scores: one per row for two classes, positive for classes_[1]; else one per row and class."""
        return one_column_flat(self._scores(self._check_new(X)))

    def predict(self, X: MatrixLike | RowsT) -> Labels:
        """The class of the highest score."""
        rows = self._check_new(X)
        step = max(1, _SCORES_AT_ONCE // self.classes_.size)
        blocks: Iterable[RowsT] = [rows]
        if rows.shape[0] > step:
            blocks = (cast(RowsT, rows[k : k + step]) for k in range(0, rows.shape[0], step))
        return np.concatenate([labels(self.classes_, one_column_flat(self._scores(block))) for block in blocks])


def one_column_flat(scores: _FloatsT) -> _FloatsT:
    """Scores as scikit-learn gives them: of two classes, a vector."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def labels(classes: Labels, scores: Array | Floats) -> Labels:
    """The class of the highest score."""
    return classes[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
