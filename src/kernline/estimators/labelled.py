"""What every classifier makes of X and y before it fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .. import validation
from ..array_types import Array, Indices, Labels, Matrix, MatrixLike
from ..class_signs import ClassSigns, ClassWeight, one_against_rest, row_weights
from ..encoding import Columns, EncodedData, TermSpec
from ..table_input import TableRules

RowsT = TypeVar("RowsT", bound=Matrix | EncodedData)


@dataclass(frozen=True)
class Labelled(Generic[RowsT]):
    """Validated rows with their labels, and the binary problems that these make, one against the rest."""

    X: RowsT
    y: Labels
    weight: Array | None  # sample_weight
    classes: Labels
    number: Indices  # of each row's class
    weights: Array  # C_i / C
    names: list[str]
    signs: list[ClassSigns]
    terms: tuple[TermSpec, ...] = ()  # besides numbers
    columns: Columns | None = None  # what a table held


AnyLabelled: TypeAlias = Labelled[Matrix] | Labelled[EncodedData]


def labelled(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
) -> Labelled[Matrix]:
    """Check the arguments of `fit`."""
    rows, labels, weight = validation.check_training_data(estimator, X, y, sample_weight)
    return _with_classes(estimator, rows, labels, weight, class_weight)


def labelled_table(
    estimator: BaseEstimator,
    X: MatrixLike | EncodedData,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
    rules: TableRules,
) -> AnyLabelled:
    """Check the arguments of `fit` of an estimator that takes tables with text and missing values.

    It also takes rows encoded before, from ``io.read(encoder=)``.
    """
    if isinstance(X, EncodedData):
        rows, labels, weight = validation.check_encoded(estimator, X, y, sample_weight)
        return _with_classes(estimator, rows, labels, weight, class_weight)
    table = validation.check_training_table(estimator, X, y, sample_weight, rules)
    data = _with_classes(estimator, table.X, table.y, table.weight, class_weight)
    return replace(data, terms=table.terms, columns=table.columns)


def _with_classes(
    estimator: BaseEstimator, X: RowsT, y: Labels, weight: Array | None, class_weight: ClassWeight
) -> Labelled[RowsT]:
    classes, number = validation.check_classes(estimator, y)
    validation.ask_about_many_classes(classes, number.size)
    weights = row_weights(class_weight, classes, number, weight)
    return Labelled(X, y, weight, classes, number, weights, *one_against_rest(classes, number))
