"""What workers do with a partition: summarise it, encode it, and state its problems."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, overload

import numpy as np
from sklearn.utils.validation import column_or_1d

from .. import _core, validation
from ..array_types import Array, Indices, Labels, Matrix
from ..class_signs import ClassSigns
from ..encoding import EncodedData, Encoder
from ..encoding.encoded_data import joined_rows
from ..label_summaries import ClassSummary, NumberSummary
from ..losses import Loss
from ..native import native_table, row_norms
from ..solvers import Problem
from ..solvers.intercept import MeanCurve
from ..solvers.part import PartRows
from ..table_input import TableRules
from ..table_summary import TableSummary, as_matrix
from ..tables import TablePair
from ..training import AdditiveSettings, KernelScaling, KernelSummary, TrainingRows, encoder_of, relative_scales

# Rows of a sample that the driver sees: enough to tell whether columns have many values.
_FEW_ROWS = 2000


@dataclass(frozen=True)
class Known:
    """A summary of some partitions: of their columns and of y, and the number of rows of each partition."""

    table: TableSummary
    y: ClassSummary | NumberSummary
    n_rows: list[int]


@dataclass(frozen=True)
class HowToSummarise:
    """What all partitions need for a summary. y are `numbers`, or labels; `ranks` may be asked for."""

    rules: TableRules
    ranks: bool
    numbers: bool
    seed: int


def summarise(X: Any, y: Any, weight: Any, number: int, how: HowToSummarise) -> Known:
    """Summarise partition `number`."""
    with _naming(number):
        X, labels, weights = _checked(X, y, weight, how.numbers)
        table = TableSummary(how.rules, ranks=how.ranks, seed=how.seed, stream=number)
        table.update(X, weights)
        of_y = NumberSummary() if how.numbers else ClassSummary()
        of_y.update(labels, weights)
        return Known(table, of_y, [len(labels)])


def joined(parts: list[Known]) -> Known:
    """The summary of several partitions, in their order."""
    first = parts[0]
    table, of_y, n_rows = TableSummary(first.table.rules, ranks=first.table.ranks), type(first.y)(), []
    for part in parts:
        table.merge(part.table)
        of_y.merge(part.y)  # type: ignore[arg-type]
        n_rows += part.n_rows
    return Known(table, of_y, n_rows)


def outline(known: Known) -> Known:
    """The summary with only a few rows of its sample, for the driver."""
    if known.table.columns is None:
        return known
    sample = known.table.columns.sample
    few = replace(sample, blocks=[block[:_FEW_ROWS] for block in sample.blocks[:1]])
    columns = copy(known.table.columns)
    columns.sample = replace(few, weights=[], priorities=[])
    return replace(known, table=replace(known.table, columns=columns))


def encoder(known: Known, settings: AdditiveSettings, names: Labels | None) -> Encoder:
    """The encoder of all rows."""
    return encoder_of(known.table, settings, validation.Names("X", names))


@dataclass(frozen=True)
class Codes:
    """An encoded partition. `norms` are K(x, x) at `relative_scales`, `weight` the sample weights."""

    data: EncodedData
    y: Labels
    weight: Array | None
    norms: Array
    number: int


def joined_codes(parts: list[Codes]) -> Codes:
    """Several partitions as one."""
    weight = (
        None if parts[0].weight is None else np.concatenate([part.weight for part in parts if part.weight is not None])
    )
    return Codes(
        joined_rows([part.data for part in parts]),
        np.concatenate([part.y for part in parts]),
        weight,
        np.concatenate([part.norms for part in parts]),
        parts[0].number,
    )


@dataclass(frozen=True)
class HowToEncode:
    """What all partitions need for their codes."""

    encoder: Encoder
    pair: TablePair | None  # None: K(x, x) is not asked for
    names: Labels | None
    numbers: bool


def encode(X: Any, y: Any, weight: Any, number: int, how: HowToEncode) -> Codes:
    """Encode partition `number`."""
    with _naming(number):
        X, labels, weights = _checked(X, y, weight, how.numbers)
        encoder, names = how.encoder, validation.Names("X", how.names)
        matrix: Matrix = validation.encodable(as_matrix(encoder.columns.matrix(X)), encoder, 1, names)
        data = encoder.transform(matrix)
        norms = np.zeros(0) if how.pair is None else row_norms(data, how.pair, relative_scales(encoder), 1)
        return Codes(data, labels, weights, norms, number)


class Sample(NamedTuple):
    """Some encoded rows with their K(x, x), labels and weights; and facts of all rows, which add up."""

    data: list[EncodedData]
    norms: list[Array]
    y: list[Labels]
    weight: list[Array]
    kernel: KernelSummary
    used: Array | None  # slots that the rows use, if they are sparse


def sampled(codes: Codes, how: HowToEncode, n_rows: int, seed: int) -> Sample:
    """So many random rows of a partition."""
    assert how.pair is not None
    n = codes.data.n_rows
    rows = np.arange(n)
    if n > n_rows:
        rows = np.sort(np.random.default_rng([seed, codes.number]).choice(n, n_rows, replace=False))
    weight = np.ones(n) if codes.weight is None else codes.weight
    used = None if codes.data.is_dense else used_slots(codes.data, how.pair)
    return Sample(
        [replace(codes.data[rows], encoder=None)],
        [codes.norms[rows]],
        [codes.y[rows]],
        [weight[rows]],
        KernelSummary.of(codes.norms, codes.weight),
        used,
    )


def joined_samples(parts: list[Sample]) -> Sample:
    """The samples of several partitions, in their order."""
    kernel = parts[0].kernel
    for part in parts[1:]:
        kernel = kernel.merged(part.kernel)
    used = [part.used for part in parts if part.used is not None]
    return Sample(
        [one for part in parts for one in part.data],
        [one for part in parts for one in part.norms],
        [one for part in parts for one in part.y],
        [one for part in parts for one in part.weight],
        kernel,
        np.logical_or.reduce(used) if used else None,
    )


def used_slots(data: EncodedData, pair: TablePair) -> Array:
    """Which slots of W any row reads."""
    sums = np.zeros(data.n_columns * pair.width + 1)
    rows = np.arange(data.n_rows, dtype=np.int32)
    _core.add_members(data.native, native_table(pair.read), np.ones(rows.size), rows, sums, 1)
    return sums[:-1] != 0.0


@dataclass(frozen=True)
class HowToSolve:
    """What all partitions need to state their problems."""

    pair: TablePair
    scaling: KernelScaling
    mean: MeanCurve | None
    square: float  # s of all rows (solvers/part.py)
    used: Indices | None
    C: float
    losses: Sequence[Loss]
    classes: Labels | None = None
    class_weights: Array | None = None
    means: Array | None = None  # of the outputs, and their spreads
    spreads: Array | None = None


class Problems(Sequence[Problem]):
    """The problems of a partition, each made when it is asked for: its targets would take 8 bytes per row."""

    def __init__(self, rows: TrainingRows, targets: Sequence[Any], cost: Array, losses: Sequence[Loss]) -> None:
        self.rows, self.targets, self.cost, self.losses = rows, targets, cost, losses

    def __len__(self) -> int:
        return len(self.targets)

    @overload
    def __getitem__(self, k: int) -> Problem: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[Problem]: ...
    def __getitem__(self, k: int | slice) -> Problem | Sequence[Problem]:
        if isinstance(k, slice):
            return [self[one] for one in range(*k.indices(len(self)))]
        return replace(self.rows, loss=self.losses[k]).problem(self.targets[k][:], self.cost)


def part_rows(codes: Codes, how: HowToSolve) -> PartRows:
    """The problems of a partition."""
    scaling = how.scaling
    rows = TrainingRows(
        data=codes.data,
        pair=how.pair,
        scales=scaling.scales,
        norms=scaling.factor * codes.norms + scaling.intercept_square,
        intercept_square=scaling.intercept_square,
        free_intercept=scaling.free_intercept,
        mean=None if how.mean is None else how.mean.of(codes.data, how.pair),
        loss=how.losses[0],
    )
    targets, weights = targets_of(codes.y, codes.weight, how)
    return PartRows(Problems(rows, targets, how.C * weights, how.losses), how.square, how.used)


def targets_of(y: Labels, weight: Array | None, how: HowToSolve) -> tuple[Sequence[Any], Array]:
    """The targets of all problems, and C_i / C."""
    weights = np.ones(len(y)) if weight is None else weight
    if how.classes is None:
        assert how.means is not None
        assert how.spreads is not None
        columns = y.reshape(len(y), -1).T
        t = [(one - mean) / spread for one, mean, spread in zip(columns, how.means, how.spreads, strict=True)]
        return t, weights
    number = np.searchsorted(how.classes, y)
    positive = range(how.classes.size) if how.classes.size > 2 else [1]
    if how.class_weights is not None:
        weights = weights * how.class_weights[number]
    return [ClassSigns(number, k) for k in positive], weights


def _checked(X: Any, y: Any, weight: Any, numbers: bool) -> tuple[Any, Labels, Array | None]:
    """The rows of a partition that have a weight, with their labels or numbers."""
    labels: Labels = np.asarray(y)
    if labels.shape[:1] != X.shape[:1]:
        raise ValueError(f"X has {X.shape[0]} rows, and y has {labels.shape[0] if labels.ndim else 1}.")
    if len(labels):
        labels = validation.check_numbers(_Fit(), labels) if numbers else column_or_1d(labels)
        if not numbers:
            validation.check_label_type(labels)
    if weight is None:
        return X, labels, None
    weights = np.asarray(weight, dtype=np.float64)
    if weights.shape != (len(labels),):
        raise ValueError(f"sample_weight has the shape {weights.shape}, and X has {len(labels)} rows.")
    if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
        raise ValueError("sample_weight must be finite and not negative.")
    if (weights > 0.0).all():
        return X, labels, weights
    kept = np.flatnonzero(weights > 0.0)
    return X.iloc[kept] if hasattr(X, "iloc") else X[kept], labels[kept], weights[kept]


class _Fit:
    """Whose name messages about y mention."""


class _naming:  # noqa: N801, a context
    """Errors about values that say which partition they are in."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, ValueError | TypeError):
            raise type(error)(f"partition {self.number}: {error}") from error
