"""From validated data to binary problems: what every fit on one training set shares, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight

from .. import kernels, losses, tables, validation
from ..encoding import ColumnRange, EncodedData, Encoder, sample_of_values
from ..encoding.terms import replaced_columns
from ..memory import COLUMN_BYTES, check_width
from ..native import row_norms
from ..solvers import Problem
from ..threads import thread_count

Array = NDArray[np.float64]

# What is computed in float32 must keep clear of its limits.
LARGEST = 1e30


@dataclass(frozen=True)
class ClassSigns:
    """The labels ±1 of one class against the rest, made for the rows that are asked for.

    Stored, those of all classes would take 8 bytes per row and class.
    """

    number: NDArray[np.int64]  # of each row's class
    positive: int

    def __getitem__(self, rows: Any) -> Array:
        return np.where(self.number[rows] == self.positive, 1.0, -1.0)


@dataclass(frozen=True)
class TrainingRows:
    """Rows as the solver reads them, and all of a problem but its signs and costs.

    `norms` are K(x_i, x_i), intercept included.
    """

    data: EncodedData
    pair: tables.TablePair
    scales: Array
    norms: Array
    intercept_square: float
    loss: str

    def problem(self, signs: ClassSigns, cost: Array, members: NDArray[np.int32] | None = None) -> Problem:
        """Return the problem of labels ±1 and costs C_i, both one per row of the data, on the rows `members` alone."""
        rows: Any = slice(None) if members is None else members
        return Problem(
            data=self.data,
            pair=self.pair,
            scales=self.scales,
            targets=signs[rows],
            cost=cost[rows],
            curvature=self.norms[rows],
            intercept_square=self.intercept_square,
            loss=losses.get(self.loss),
            members=members,
        )


@dataclass(frozen=True)
class Prepared(TrainingRows):
    """Encoded rows, how they were encoded, and the kernel's factor."""

    encoder: Encoder
    gamma: float


@dataclass(frozen=True)
class Labelled:
    """Validated rows with their labels, and the binary problems that these make, one against the rest."""

    X: Any
    y: NDArray[Any]
    weight: Array | None  # sample_weight
    classes: NDArray[Any]
    number: NDArray[np.int64]  # of each row's class
    weights: Array  # C_i / C
    names: list[str]
    signs: list[ClassSigns]

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any) -> Labelled:
        """Check what `fit` of the estimator `model` was given."""
        X, y, weight = validation.check_training_data(model, X, y, sample_weight)
        classes, number = validation.check_classes(model, y)
        validation.ask_about_many_classes(classes, number.size)
        weights = row_weights(model.class_weight, classes, number, weight)
        return cls(X, y, weight, classes, number, weights, *one_against_rest(classes, number))


def prepare(model: Any, kernel_of_model: Any, X: Any, weight: Array | None, seed: int, n_problems: int = 1) -> Prepared:
    """Encode X for one kernel and so many problems, with the settings of the estimator `model`."""
    check_width(model, X, COLUMN_BYTES)
    kernel = kernels.get(kernel_of_model, model.p)
    n_threads = thread_count(model.n_jobs)
    terms = validation.terms_of(model)
    found = ColumnRange.of(X, n_threads).without(replaced_columns(terms))
    validation.check_values(model, found, kernel, model.scale, sparse=hasattr(X, "indptr"))
    method = tables.get(model.approximation, tables.CROWDED if model.scale == "max" else tables.EVEN)
    by_values = getattr(method, "spacing", None) == "quantile"
    values = sample_of_values(X, found, model.scale, seed) if by_values else None
    pair = tables.build(kernel, method, values=values)
    # Float32 weights: those of the solver, of all problems, and as the core reads them.
    column_bytes = COLUMN_BYTES + 3 * 4 * pair.width * n_problems
    check_width(model, X, column_bytes)
    encoder = Encoder.fit(
        X,
        pair,
        scale=model.scale,
        column_range=found,
        kernel=kernel,
        terms=terms,
        sample_weight=weight,
        seed=seed,
        n_threads=n_threads,
    )
    check_width(model, X, column_bytes, encoder.n_columns)
    data = encoder.transform(X, column_range=found, n_threads=n_threads)
    return _scaled(model, encoder, data, pair, weight)


def _scaled(model: Any, encoder: Encoder, data: EncodedData, pair: tables.TablePair, weight: Array | None) -> Prepared:
    """The kernel's factor and constant. Scales are taken relative to the largest: nothing overflows."""
    unit = float(encoder.scales.max(initial=0.0)) or 1.0
    norms = row_norms(data, pair, encoder.scales / unit, thread_count(model.n_jobs))
    mean = float(np.average(norms, weights=weight)) or 1.0
    factor = 1.0 / mean if model.gamma == "scale" else float(model.gamma) * unit
    if not factor * norms.max(initial=0.0) < LARGEST:
        raise ValueError(
            f"gamma={model.gamma!r} makes K(x, x) as large as {factor * norms.max():.3g}, too large for float32. "
            "Pass gamma='scale', or scale the data."
        )
    intercept_square = intercept_constant(model, factor * mean) if pair.intercept else 0.0
    return Prepared(
        data=data,
        encoder=encoder,
        pair=pair,
        gamma=factor / unit,
        scales=factor * (encoder.scales / unit),
        norms=factor * norms + intercept_square,
        intercept_square=intercept_square,
        loss=model.loss,
    )


def random_of(model: Any) -> np.random.RandomState:
    """The model's random numbers. Those of random_state=None come from NumPy's global state, asked only once.

    The global state has a lock, which a fork in another thread may leave locked in the child.
    """
    random = check_random_state(model.random_state)
    return np.random.RandomState(seed_from(random)) if model.random_state is None else random


def seed_from(random: np.random.RandomState) -> int:
    """A seed for the core."""
    return int(random.randint(2**31 - 1))


def intercept_constant(model: Any, mean: float) -> float:
    """The constant that the kernel gains: intercept_scaling² times the mean of K(x, x)."""
    scaling = float(model.intercept_scaling)
    constant = scaling * scaling * mean if model.fit_intercept else 0.0
    if not constant < LARGEST:
        raise ValueError(f"intercept_scaling={model.intercept_scaling:g} is too large for float32; try 10 at most.")
    return constant


def one_against_rest(classes: NDArray[Any], number: NDArray[np.int64]) -> tuple[list[str], list[ClassSigns]]:
    """Name and labels ±1 of each binary problem: one per class, or a single one for two classes."""
    positive = range(classes.size) if classes.size > 2 else [1]
    return [f"class {classes[k]}" for k in positive], [ClassSigns(number, k) for k in positive]


def row_weights(class_weight: Any, classes: NDArray[Any], number: NDArray[np.int64], weight: Array | None) -> Array:
    """Return C_i / C = sample_weight_i · class_weight of y_i."""
    weight = np.ones(number.size) if weight is None else weight
    if class_weight is None:  # the call below would import all of scikit-learn's preprocessing
        return weight
    factors = compute_class_weight(class_weight, classes=classes, y=classes[number], sample_weight=weight)
    if not (factors > 0.0).all():
        raise ValueError("class_weight: every weight must be positive. To leave a class out, leave out its samples.")
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
