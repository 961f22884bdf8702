"""Several labels per row: y is an indicator matrix, and each of its columns a binary problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .. import validation
from ..array_types import Array, Indices, Matrix, MatrixLike
from ..class_signs import ClassWeight, Rows
from ..encoding import EncodedData
from ..joint_losses import JointLoss, Separate
from ..table_input import TableRules
from .labelled import LOGISTIC, Labelled


@dataclass(frozen=True)
class LabelSigns:
    """+1 for the rows that have a label, −1 for others, computed when they are indexed."""

    rows: Indices  # those that have it
    n_rows: int

    def __getitem__(self, rows: Rows) -> Array:
        signs = np.full(self.n_rows, -1.0)
        signs[self.rows] = 1.0
        return signs[rows]


@dataclass(frozen=True, kw_only=True)
class MultiLabelled(Labelled[Matrix]):
    """Rows with any number of labels each. `classes` are the numbers of the labels, and `number` means nothing."""

    def joint_loss(self, cost: Array) -> JointLoss:
        """The logistic losses of all labels."""
        return Separate(LOGISTIC, np.column_stack([signs[:] for signs in self.targets]), cost)


def is_indicator(y: ArrayLike) -> bool:
    """Whether y has several columns."""
    shape: tuple[int, ...] | None = getattr(y, "shape", None)
    if shape is None:
        try:
            shape = np.asarray(y).shape
        except ValueError:  # lists of different lengths, which are reported elsewhere
            return False
    return sp.issparse(y) or (len(shape) == 2 and shape[1] > 1)


def multilabelled(
    estimator: BaseEstimator,
    X: MatrixLike | EncodedData,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
    rules: TableRules,
) -> MultiLabelled:
    """Check the arguments of `fit` for an indicator matrix y."""
    if isinstance(X, EncodedData):
        raise ValueError("y: rows that are encoded already take one label each. Pass the values as X.")
    if class_weight is not None:
        raise ValueError(
            "class_weight weighs classes that exclude one another; y is an indicator matrix, of labels that do not. "
            "Pass class_weight=None, and sample_weight for rows that count more."
        )
    table = validation.check_training_table(estimator, X, y, sample_weight, rules, indicator=True)
    indicator, weight = table.y, table.weight
    columns = sp.csc_array(indicator)
    n_rows, n_labels = columns.shape
    members = [columns.indices[slice(*columns.indptr[k : k + 2])] for k in range(n_labels)]
    return MultiLabelled(
        X=table.X,
        y=indicator,
        weight=weight,
        weights=np.ones(n_rows) if weight is None else weight,
        names=[f"label {k}" for k in range(n_labels)],
        targets=[LabelSigns(has_label, n_rows) for has_label in members],
        classes=np.arange(n_labels),
        number=np.zeros(0, dtype=np.int64),
        terms=table.terms,
        columns=table.columns,
    )
