"""y of all rows, learnt batch by batch: classes with their counts, or the mean and the spread of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .array_types import Array, Indices, Labels


@dataclass
class ClassSummary:
    """The labels in order, how many rows have each, and their weight."""

    classes: Labels = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    counts: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    weights: Array = field(default_factory=lambda: np.zeros(0))

    def update(self, y: Labels, weight: Array | None = None) -> None:
        """Add the labels of a batch."""
        classes, number, counts = np.unique(y, return_inverse=True, return_counts=True)
        self.merge(ClassSummary(classes, counts, np.bincount(number, weight, classes.size).astype(np.float64)))

    def merge(self, other: ClassSummary) -> None:
        """Add the labels of other rows, which must be of the same kind: numbers, or text."""
        if not other.classes.size:
            return
        if not self.classes.size:
            self.classes, self.counts, self.weights = other.classes, other.counts, other.weights
            return
        if _is_text(self.classes) != _is_text(other.classes):
            kinds = [f"{one.classes.tolist()[0]!r:.50}" for one in (self, other)]
            raise ValueError(
                f"y holds {kinds[0]} in one part and {kinds[1]} in another: text and numbers cannot be classes of one "
                "model. Convert y to one of them."
            )
        classes, place = np.unique(np.concatenate([self.classes, other.classes]), return_inverse=True)
        self.counts = np.bincount(place, np.append(self.counts, other.counts), classes.size).astype(np.int64)
        self.weights = np.bincount(place, np.append(self.weights, other.weights), classes.size).astype(np.float64)
        self.classes = classes


@dataclass
class NumberSummary:
    """Weight, mean, and sum of squared distances from the mean of each output, and the ranges.

    Merged as by Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
    1979.
    """

    weight: float = 0.0
    mean: Array = field(default_factory=lambda: np.zeros(0))
    squares: Array = field(default_factory=lambda: np.zeros(0))
    minimum: Array = field(default_factory=lambda: np.zeros(0))
    maximum: Array = field(default_factory=lambda: np.zeros(0))

    def update(self, y: Array, weight: Array | None = None) -> None:
        """Add the numbers of a batch, (n_rows,) or (n_rows, n_outputs)."""
        if not len(y):
            return
        columns = y.reshape(len(y), -1).astype(np.float64)
        weights = np.ones(len(columns)) if weight is None else weight
        mean = np.average(columns, axis=0, weights=weights)
        squares = weights @ np.square(columns - mean)
        self.merge(NumberSummary(float(weights.sum()), mean, squares, columns.min(axis=0), columns.max(axis=0)))

    def merge(self, other: NumberSummary) -> None:
        """Add the numbers of other rows."""
        if other.weight == 0.0:
            return
        if self.weight == 0.0:
            self.__dict__.update(other.__dict__)
            return
        total, apart = self.weight + other.weight, other.mean - self.mean
        self.squares = self.squares + other.squares + np.square(apart) * (self.weight * other.weight / total)
        self.mean = self.mean + apart * (other.weight / total)
        self.minimum, self.maximum = np.minimum(self.minimum, other.minimum), np.maximum(self.maximum, other.maximum)
        self.weight = total

    @property
    def spread(self) -> Array:
        """The standard deviations."""
        return np.sqrt(self.squares / self.weight)


def _is_text(classes: Labels) -> bool:
    return classes.dtype.kind not in "biuf"
