"""From values to a solution, in three steps: encode the rows, state the problem, solve it.

    rows = training.encode(X, training.AdditiveSettings(kernels.Chi2()))
    problem = rows.problem(targets, cost)                 # t_i and c_i, one per row
    result = solvers.DualCD(tol=0.01).solve(problem)

All binary problems, values of C and folds of a cross-validation on the same rows share the first step. Estimators do
the same: they translate their parameters into these settings, and keep the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from . import losses, tables, validation
from .array_types import Array, Floats, Matrix, is_sparse
from .class_signs import LARGEST
from .encoding import ColumnRange, Columns, EncodedData, Encoder, Scale, TermSpec, sample_of_values
from .encoding.column_range import boolean_columns
from .encoding.column_scaling import rank_width
from .encoding.terms import replaced_columns
from .kernels import AdditiveKernel
from .memory import COLUMN_BYTES, check_memory, check_width
from .native import row_norms
from .solvers import JointProblem, Problem
from .solvers.intercept import kernel_mean
from .solvers.problem import HINGE, KernelMean
from .table_summary import TableSummary
from .threads import one_blas_thread
from .validation import NO_NAMES, Names


@dataclass(frozen=True)
class Intercept:
    """An intercept that is free, or penalised by a constant of the kernel: `scaling`² times the mean of K(x, x).

    Only symmetric pairs of tables have a free intercept; with others, None is a scaling of 1.
    """

    fit: bool = True
    scaling: float | None = None

    def is_free(self, pair: tables.TablePair) -> bool:
        """Whether it is not penalised, with these tables."""
        return self.fit and self.scaling is None and pair.intercept and pair.symmetric

    def constant(self, pair: tables.TablePair, mean: float) -> float:
        """The kernel's constant, for these tables and this mean of K(x, x); 0 if there is none."""
        if not self.fit or not pair.intercept or self.is_free(pair):
            return 0.0
        scaling = 1.0 if self.scaling is None else float(self.scaling)
        constant = scaling * scaling * mean
        if not constant < LARGEST:
            raise ValueError(f"intercept_scaling={scaling:g} is too large for float32; try 10 at most.")
        return constant


FREE = Intercept()


@dataclass(frozen=True)
class AdditiveSettings:
    """How rows are encoded, and the kernel and loss of the problems on them. Parameters are those of AdditiveSVC.

    `terms` are those besides numbers, `columns` what a table held before it became numbers. `n_problems` is the number
    of weight vectors that the caller keeps in memory, for the estimate of what is needed.
    """

    kernel: AdditiveKernel
    approximation: str | tables.Approximation = "hats"
    scale: Scale = "max"
    gamma: float | str = "scale"
    loss: losses.Loss = HINGE
    intercept: Intercept = FREE
    terms: tuple[TermSpec, ...] = ()
    columns: Columns | None = None
    seed: int = 0
    n_problems: int = 1
    n_threads: int = 1

    @property
    def method(self) -> tables.Approximation:
        """The approximation as an object. Values scaled by their maximum crowd near zero, and so do its knots."""
        return tables.get(self.approximation, tables.CROWDED if self.scale == "max" else tables.EVEN)

    @property
    def places_knots_by_values(self) -> bool:
        """Whether the tables depend on the training values."""
        return getattr(self.method, "spacing", None) == "quantile"


@dataclass(frozen=True)
class TrainingRows:
    """Rows as the solver reads them, and all of a problem but its targets and costs.

    `norms` are K(x_i, x_i), with the constant of a penalised intercept.
    """

    data: EncodedData
    pair: tables.TablePair
    scales: Array
    norms: Array
    intercept_square: float
    free_intercept: bool
    mean: KernelMean | None
    loss: losses.Loss

    def problem(self, targets: Array, cost: Array, members: NDArray[np.int32] | None = None) -> Problem:
        """Return the problem of targets t_i and costs c_i. With `members`, they are those of these rows alone."""
        return Problem(
            data=self.data,
            pair=self.pair,
            scales=self.scales,
            targets=targets,
            cost=cost,
            curvature=self.norms if members is None else self.norms[members],
            intercept_square=self.intercept_square,
            loss=self.loss,
            members=members,
            free_intercept=self.free_intercept,
            mean=None if self.mean is None else self.mean.of(members),
        )

    def joint_problem(
        self, labels: NDArray[np.int32], n_classes: int, cost: Array, members: NDArray[np.int32] | None = None
    ) -> JointProblem:
        """Return the problem of all classes together, of labels y_i from 0 and costs c_i, of `members` as above."""
        if not self.pair.symmetric:
            raise ValueError(
                "multi_class='crammer-singer' needs a method with a symmetric kernel: approximation='hats' or one of "
                "the explicit maps, or kernel='linear'. With other methods, pass multi_class='ovr'."
            )
        # β in the core, a copy of it, and four arrays of float64 to balance it with.
        check_memory(
            f"Fitting {n_classes:,} classes × {labels.size:,} rows as one problem",
            40.0 * labels.size * n_classes,
            "Pass multi_class='ovr'.",
        )
        return JointProblem(
            data=self.data,
            pair=self.pair,
            scales=self.scales,
            labels=labels,
            n_classes=n_classes,
            cost=cost,
            curvature=self.norms if members is None else self.norms[members],
            intercept_square=self.intercept_square,
            members=members,
            free_intercept=self.free_intercept,
            mean=None if self.mean is None else self.mean.of(members),
        )

    @classmethod
    def of_features(
        cls, features: Floats, loss: losses.Loss, intercept: Intercept, mean_norm: float, n_threads: int
    ) -> TrainingRows:
        """Rows of plain features and the linear kernel, K(x, x) of which is `mean_norm` on average."""
        data, scales, pair = EncodedData(features.shape, features), np.ones(features.shape[1]), tables.linear_pair()
        constant = intercept.constant(pair, mean_norm)
        norms = row_norms(data, pair, scales, n_threads)
        free = intercept.is_free(pair)
        mean = kernel_mean(data, pair, scales, norms, n_threads) if free else None
        return cls(data, pair, scales, norms + constant, constant, free, mean, loss)


@dataclass(frozen=True)
class AdditiveRows(TrainingRows):
    """Encoded rows, the encoder, and the kernel's factor.

    `limits` are the least and the largest value of each column, (n_features, 2), and `booleans` whether a column has
    only the values 0 and 1, (n_features,); both are empty if that is not known. `sample_of` is the number of rows that
    `data` is a sample of, for what a model keeps of them; 0 if these are all rows.
    """

    encoder: Encoder
    gamma: float
    limits: Array = field(default_factory=lambda: np.zeros((0, 2)))
    booleans: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    sample_of: int = 0

    @property
    def n_all(self) -> int:
        """The number of all rows."""
        return self.sample_of or self.data.n_rows


@one_blas_thread
def encode(
    X: Matrix | EncodedData,
    settings: AdditiveSettings,
    weight: Array | None = None,
    names: Names = NO_NAMES,
    known: ColumnRange | None = None,
) -> AdditiveRows:
    """Encode X, a CSR matrix or an array, validated; rows that are encoded already are taken as they are.

    `weight` are the sample weights, `names` the names that error messages mention, `known` the range of the columns.
    """
    if isinstance(X, EncodedData):
        return _scaled(X, pair_of_encoded(X, settings), settings, weight)
    check_width(X, COLUMN_BYTES)
    found = (known or ColumnRange.of(X, settings.n_threads)).without(replaced_columns(settings.terms))
    validation.check_values(found, settings.kernel, settings.scale, names, sparse=is_sparse(X))
    pair = _pair(X, found, settings)
    # Float32 weights: those of the solver, of all problems, and as the core reads them.
    column_bytes = COLUMN_BYTES + 3 * 4 * pair.width * settings.n_problems
    check_width(X, column_bytes)
    encoder = Encoder.fit(
        X,
        pair,
        scale=settings.scale,
        column_range=found,
        kernel=settings.kernel,
        terms=settings.terms,
        columns=settings.columns,
        sample_weight=weight,
        seed=settings.seed,
        n_threads=settings.n_threads,
    )
    if encoder.n_columns > X.shape[1]:
        check_width(X, column_bytes, encoder.n_columns)
    data = encoder.transform(X, column_range=found, n_threads=settings.n_threads)
    return with_ranges(_scaled(data, pair, settings, weight), found, X)


def encoder_of(summary: TableSummary, settings: AdditiveSettings, names: Names = NO_NAMES) -> Encoder:
    """The encoder of rows that were summarised batch by batch; terms and columns of the settings are the summary's."""
    known = summary.known
    found = known.column_range.without(replaced_columns(settings.terms))
    validation.check_values(found, settings.kernel, settings.scale, names, sparse=known.sparse)
    values = None
    if settings.places_knots_by_values:
        known.sample.trim()
        values = sample_of_values(known.sample.X, ColumnRange.of(known.sample.X), settings.scale, settings.seed)
    pair = tables.build(settings.kernel, settings.method, values=values)
    width = rank_width(pair) if settings.scale == "rank" else None
    facts = summary.facts(settings.terms, settings.columns or Columns(), width, settings.n_threads)
    return Encoder.of_facts(facts, pair, settings.scale, settings.kernel)


def with_ranges(rows: AdditiveRows, found: ColumnRange, X: Matrix) -> AdditiveRows:
    """The rows with what is known of dense columns. The curves of sparse values begin at zero."""
    if is_sparse(X):
        return rows
    limits = np.column_stack([found.minimum, found.maximum]) if rows.encoder.clips else np.zeros((0, 2))
    return replace(rows, limits=limits, booleans=boolean_columns(X, found))


def _pair(X: Matrix, found: ColumnRange, settings: AdditiveSettings) -> tables.TablePair:
    values = sample_of_values(X, found, settings.scale, settings.seed) if settings.places_knots_by_values else None
    return tables.build(settings.kernel, settings.method, values=values)


def pair_of_encoded(data: EncodedData, settings: AdditiveSettings) -> tables.TablePair:
    """The tables for rows that were encoded before, by an encoder that must suit the settings."""
    pair = None if settings.places_knots_by_values else tables.build(settings.kernel, settings.method)
    encoder = data.encoder
    if pair is None or encoder is None or not encoder.suits(pair, settings.scale, settings.kernel):
        raise ValueError(
            f"X was encoded for another kernel, approximation or scale than kernel={settings.kernel.name!r}, "
            f"approximation={settings.approximation!r}, scale={settings.scale!r}. Use those of the model that the "
            "encoder is from, or pass the values. An approximation with spacing='quantile' always needs the values."
        )
    return pair


def _scaled(
    data: EncodedData, pair: tables.TablePair, settings: AdditiveSettings, weight: Array | None
) -> AdditiveRows:
    """The kernel's factor and constant, for these rows."""
    encoder = data.encoder
    assert encoder is not None
    norms = row_norms(data, pair, relative_scales(encoder), settings.n_threads)
    scaling = kernel_scaling(encoder, pair, settings, KernelSummary.of(norms, weight))
    norms *= scaling.factor
    mean = kernel_mean(data, pair, scaling.scales, norms, settings.n_threads) if scaling.free_intercept else None
    return AdditiveRows(
        data=data,
        encoder=encoder,
        pair=pair,
        gamma=scaling.gamma,
        scales=scaling.scales,
        norms=norms + scaling.intercept_square,
        intercept_square=scaling.intercept_square,
        free_intercept=scaling.free_intercept,
        mean=mean,
        loss=settings.loss,
    )


@dataclass(frozen=True)
class KernelSummary:
    """Σ w K(x, x), Σ w and the largest K(x, x) of encoded rows, at `relative_scales`. Those of parts add up."""

    total: float = 0.0
    weight: float = 0.0
    largest: float = 0.0

    @classmethod
    def of(cls, norms: Array, weight: Array | None) -> KernelSummary:
        """Those of rows with these K(x, x)."""
        total = norms.sum() if weight is None else (norms * weight).sum()
        return cls(float(total), float(norms.size if weight is None else weight.sum()), float(norms.max(initial=0.0)))

    def merged(self, other: KernelSummary) -> KernelSummary:
        """Those of both."""
        return KernelSummary(self.total + other.total, self.weight + other.weight, max(self.largest, other.largest))


@dataclass(frozen=True)
class KernelScaling:
    """The kernel's factor, that of `relative_scales` and γ; the scales of columns; and the intercept's constant."""

    factor: float
    gamma: float
    scales: Array
    intercept_square: float
    free_intercept: bool


def relative_scales(encoder: Encoder) -> Array:
    """The scales of columns relative to the largest, so that nothing overflows."""
    return encoder.scales / (float(encoder.scales.max(initial=0.0)) or 1.0)


def kernel_scaling(
    encoder: Encoder, pair: tables.TablePair, settings: AdditiveSettings, found: KernelSummary
) -> KernelScaling:
    """What gamma and the intercept are for rows of this summary."""
    unit = float(encoder.scales.max(initial=0.0)) or 1.0
    mean = found.total / found.weight or 1.0
    factor = 1.0 / mean if settings.gamma == "scale" else float(settings.gamma) * unit
    if not factor * found.largest < LARGEST:
        raise ValueError(
            f"gamma={settings.gamma!r} makes K(x, x) as large as {factor * found.largest:.3g}, too large for float32. "
            "Pass gamma='scale', or scale the data."
        )
    return KernelScaling(
        factor=factor,
        gamma=factor / unit,
        scales=factor * relative_scales(encoder),
        intercept_square=settings.intercept.constant(pair, factor * mean),
        free_intercept=settings.intercept.is_free(pair),
    )
