"""The binary problems of a classification: labels ±1 and costs C_i, one class against the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from .array_types import Array, Indices, Labels

# Computations in float32 must stay well within its limits.
LARGEST = 1e30

ClassWeight: TypeAlias = Mapping[object, float] | str | None
Rows: TypeAlias = slice | NDArray[np.integer]


@dataclass(frozen=True)
class ClassSigns:
    """The labels ±1 of one class against the rest, computed when they are indexed.

    Stored, those of all classes would take 8 bytes per row and class.
    """

    number: Indices  # of each row's class
    positive: int

    def __getitem__(self, rows: Rows) -> Array:
        return np.where(self.number[rows] == self.positive, 1.0, -1.0)


def one_against_rest(classes: Labels, number: Indices) -> tuple[list[str], list[ClassSigns]]:
    """Name and labels ±1 of each binary problem: one per class, or a single one for two classes."""
    positive = range(classes.size) if classes.size > 2 else [1]
    return [f"class {classes[k]}" for k in positive], [ClassSigns(number, k) for k in positive]


def row_weights(class_weight: ClassWeight, classes: Labels, number: Indices, weight: Array | None) -> Array:
    """Return C_i / C = sample_weight_i · class_weight of y_i."""
    weight = np.ones(number.size) if weight is None else weight
    if class_weight is None:  # the call below would import all of scikit-learn's preprocessing
        return weight
    factors = compute_class_weight(class_weight, classes=classes, y=classes[number], sample_weight=weight)
    if not (factors > 0.0).all():
        raise ValueError("class_weight: every weight must be positive. To leave out a class, leave out its samples.")
    return weight * factors[number]


def costs(C: float, weights: Array) -> Array:
    """C_i, within the range of float32."""
    cost = C * weights
    if not (cost.min() >= 1.0 / LARGEST and cost.max() <= LARGEST):
        raise ValueError(
            f"C times the weights ranges from {cost.min():.3g} to {cost.max():.3g}; float32 needs it between "
            f"{1.0 / LARGEST:g} and {LARGEST:g}."
        )
    return cost
