"""Rows to explain, checked as an estimator checks the rows that it predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator

from .. import validation
from ..array_types import Matrix, MatrixLike

if TYPE_CHECKING:
    from .functions import ShapeFunctions


class _Model(BaseEstimator):
    """What scikit-learn's checks need to know of a fitted model."""

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = n_jobs


# Its name is in messages.
_Model.__name__ = "ShapeFunctions"


def checked_rows(shapes: ShapeFunctions, X: MatrixLike, n_threads: int) -> Matrix:
    """X with the columns of the fit, as it can be encoded."""
    model = _Model(n_threads)
    model.n_features_in_ = shapes.n_features
    if shapes.feature_names_in_ is not None:
        model.feature_names_in_ = shapes.feature_names_in_
    return validation.check_new_data(model, X, shapes.encoder)
