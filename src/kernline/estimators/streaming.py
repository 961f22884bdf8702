"""The batches of `partial_fit`: checks of their labels and columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .. import class_checks, validation
from ..array_types import Labels, Matrix, MatrixLike
from ..class_signs import ClassWeight, one_against_rest, row_weights
from ..encoding import Columns, TermSpec
from ..table_input import TableRules
from .labelled import Labelled


def has_partial_fit(estimator: BaseEstimator) -> bool:
    """Whether it has: a search for C needs all rows at once, and Crammer and Singer's problem has no steps."""
    if not hasattr(estimator, "C"):
        name = type(estimator).__name__
        raise AttributeError(f"{name} chooses C by cross-validation, on all rows at once. Use AdditiveSVC(C=...).")
    if getattr(estimator, "multi_class", "auto") == "crammer-singer":
        raise AttributeError(
            "partial_fit has no steps for multi_class='crammer-singer'. Pass multi_class='ovr', or multi_class='auto' "
            "with loss='log', which fits all classes together."
        )
    return True


def next_batch(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
    rules: TableRules | None = None,
    *,
    first: bool,
) -> Labelled[Matrix]:
    """Check the arguments of `partial_fit`: all classes at the `first` call, then the same classes and columns.

    With `rules`, batches may be tables with text and missing values.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' needs all labels together, and partial_fit sees them in parts. Pass a dict: "
            "sklearn.utils.class_weight.compute_class_weight('balanced', ...) on a sample gives its values."
        )
    terms: tuple[TermSpec, ...] = ()
    columns: Columns | None = None
    if rules is None:
        rows, labels, weight = validation.check_training_data(estimator, X, y, sample_weight, reset=first)
    elif first:
        rows, labels, weight, terms, columns = validation.check_training_table(estimator, X, y, sample_weight, rules)
    else:
        encoder = estimator.shapes_.encoder
        rows, labels, weight = validation.check_more_of_table(estimator, X, y, sample_weight, encoder)
    known = _classes(estimator, classes, first=first)
    number = class_checks.check_known_classes(known, labels)
    weights = row_weights(class_weight, known, number, weight)
    names, targets = one_against_rest(known, number)
    return Labelled(
        X=rows,
        y=labels,
        weight=weight,
        weights=weights,
        names=names,
        targets=targets,
        classes=known,
        number=number,
        terms=terms,
        columns=columns,
    )


def _classes(estimator: BaseEstimator, classes: ArrayLike | None, *, first: bool) -> Labels:
    if classes is None:
        if first:
            raise ValueError("classes must be passed on the first call to partial_fit: all the labels there will be.")
        return estimator.classes_
    known = class_checks.check_class_list(estimator, classes)
    if not first and not np.array_equal(known, estimator.classes_):
        raise ValueError(f"`classes={known}` is not the same as on last call to partial_fit, {estimator.classes_}.")
    return known
