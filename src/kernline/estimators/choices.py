"""What "auto" stands for: the kernel, scale, loss and C that suit the data, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .. import kernels, tables
from ..array_types import Matrix, is_sparse
from ..encoding import ColumnRange, EncodedData, Encoder, Scale, TermSpec
from ..encoding.terms import replaced_columns
from ..encoding.units import Units, some_rows, units_of
from ..mapped.dataset import Dataset
from ..memory import COLUMN_BYTES, check_width
from ..tables.knots import Knots
from .training_data import AnyTrainingData

Kernel = str | kernels.AdditiveKernel

# Losses that the joint solver takes, and whose C the evidence can decide.
JOINT_LOSSES = ("log", "squared_error")

# A dense X of at most so many columns is a table. A wider one is a table unless its columns are of one unit, as those
# of images and histograms are; with more cells than this, its fit by evidence would take minutes.
MOST_COLUMNS, _MOST_CELLS = 200, 20_000_000
# Fewer columns than this are not taken to be of one unit, even if they look so.
_LEAST_COLUMNS = 8
# Knots of ranks weighed by evidence: more than hats have by default, where every knot of a column has so many rows, and
# a sample of rows shows that a column has more values than hats have knots.
_MORE_KNOTS, _ROWS_A_KNOT = (32, 64), 25
_FEW_VALUES, _SAMPLE = 16, 2000
# C where no evidence is to be had. Ranks are smoother than raw values, whose columns may differ by much.
_C_OF_RANKS, _C_OF_VALUES, _C_OF_LOG = 10.0, 1.0, 30.0


@dataclass(frozen=True)
class Choice:
    """The parameters of a fit with nothing left to choose. C is None if the evidence decides.

    `knots` are those of the hats, None for as many as these have by default; `doubt` is what the user should know.
    """

    kernel: Kernel
    scale: Scale
    loss: str
    C: float | None
    reason: str
    knots: int | None = None
    doubt: str | None = None

    @property
    def kernel_name(self) -> str:
        """The kernel's name."""
        return self.kernel if isinstance(self.kernel, str) else self.kernel.name

    def method(self, approximation: str | tables.Approximation) -> str | tables.Approximation:
        """The approximation that was asked for, with these knots if it is "hats"."""
        if approximation != "hats" or self.knots is None:
            return approximation
        return tables.Hats(self.knots, tables.EVEN)

    @property
    def line(self) -> str:
        """What was chosen, for the log."""
        C = "by evidence" if self.C is None else f"{self.C:g}"
        return f"kernel={self.kernel_name}, scale={self.scale}, loss={self.loss}, C {C}: {self.reason}"


@dataclass(frozen=True)
class Asked:
    """The parameters as they were given, those that may be "auto"."""

    kernel: Kernel
    scale: str
    loss: str
    C: float | str
    is_joint: bool  # whether tables and solver allow for the joint solver, and with it evidence
    has_pairs: bool
    losses: tuple[str, str]  # what "auto" is for a table, and for other data


class Facts(NamedTuple):
    """Whether the columns are of one unit, whether X is a table, and whether it has negative values."""

    units: Units
    is_table: bool
    has_negative: bool


def choose(asked: Asked, data: AnyTrainingData, terms: tuple[TermSpec, ...], n_threads: int) -> Choice:
    """Replace every "auto"; kernel and scale by those of the Dataset, if the rows are from one."""
    if data.encoded_for is not None:
        kernel, scale = data.encoded_for
        asked = replace(
            asked,
            kernel=kernel if asked.kernel == "auto" else asked.kernel,
            scale=scale if asked.scale == "auto" else asked.scale,
        )
    choice = choose_by(asked, _facts(data, terms, n_threads))
    return replace(choice, knots=_chosen_knots(choice, data, terms))


def choose_by(asked: Asked, facts: Facts) -> Choice:
    """Replace every "auto", for data of which these facts are known."""
    units, is_table, has_negative = facts
    names_kernel = asked.kernel != "auto"
    scale: Scale = asked.scale if asked.scale != "auto" else _scale(asked, units, has_negative)  # type: ignore[assignment]
    kernel = asked.kernel
    if not names_kernel:
        kernel = "intersection" if scale == "rank" else "linear" if has_negative and scale == "max" else "chi2"
    loss = asked.loss
    if loss == "auto":
        loss = asked.losses[0 if asked.has_pairs or (is_table and not names_kernel) else 1]
    if asked.C != "auto":
        C: float | None = float(asked.C)
    elif loss in JOINT_LOSSES and asked.is_joint:
        C = None
    elif loss == "log":
        C = _C_OF_LOG
    else:
        C = _C_OF_RANKS if scale == "rank" else _C_OF_VALUES
    doubt = None
    if names_kernel and asked.scale == "auto" and scale == "max" and units.differ and is_table:
        doubt = (
            f"A kernel that is named takes raw values, and {units.reason}: the columns of large numbers decide. "
            "Pass scale='rank', or leave the kernel to be chosen."
        )
    return Choice(kernel, scale, loss, C, units.reason, doubt=doubt)


def _chosen_knots(choice: Choice, data: AnyTrainingData, terms: tuple[TermSpec, ...]) -> int | None:
    """Those that rows were encoded for, or those for ranks that evidence weighs; None for those of hats by default."""
    if choice.scale != "rank":
        return None
    if isinstance(data.X, EncodedData | Dataset):
        return knots_of(data.X.encoder)
    return knots_of_ranks(data.X, data.X.shape[0], terms) if choice.C is None else None


def knots_of(encoder: Encoder | None) -> int | None:
    """Which of these numbers of knots ranks were encoded for; None if none of them."""
    if encoder is None or encoder.numbers != "rank" or encoder.grid is None:
        return None
    for count in _MORE_KNOTS:
        if np.array_equal(Knots.spaced(count, tables.EVEN).grid().values, encoder.grid.values):
            return count
    return None


def knots_of_ranks(X: Matrix, n_rows: int, terms: tuple[TermSpec, ...]) -> int | None:
    """The knots whose heights `n_rows` like those of dense X can tell; None for those of hats by default."""
    numbers = np.delete(np.arange(X.shape[1]), replaced_columns(terms))
    enough = [count for count in _MORE_KNOTS if numbers.size * count * _ROWS_A_KNOT <= n_rows]
    if is_sparse(X) or not enough:
        return None
    rows = X[:: max(1, X.shape[0] // _SAMPLE)]
    columns = (rows[:, j] for j in numbers)
    has_many = any(np.unique(column[~np.isnan(column)]).size > _FEW_VALUES for column in columns)
    return max(enough) if has_many else None


def _facts(data: AnyTrainingData, terms: tuple[TermSpec, ...], n_threads: int) -> Facts:
    X = data.X
    if isinstance(X, EncodedData | Dataset):
        is_rank = X.encoder is not None and X.encoder.numbers == "rank"
        return Facts(Units(not is_rank, "the rows were encoded before"), False, False)
    check_width(X, COLUMN_BYTES)
    return facts_of(data.column_range(n_threads), X.shape, terms, X, sparse=is_sparse(X))


def facts_of(
    found: ColumnRange, shape: tuple[int, int], terms: tuple[TermSpec, ...], rows: Matrix | None, *, sparse: bool
) -> Facts:
    """The facts of data of this shape, whose columns have this range; `rows` are some or all of its rows, if known."""
    replaced = replaced_columns(terms)
    n_numbers, found = shape[1] - replaced.size, found.of_others(replaced)
    some = None if rows is None or is_sparse(rows) else np.delete(some_rows(rows), replaced, axis=1)
    units = units_of(found, shape[0], sparse=sparse, rows=some)
    if units.is_one and not sparse and n_numbers < _LEAST_COLUMNS:
        few = "one column of numbers is" if n_numbers == 1 else f"{n_numbers} columns of numbers are"
        units = Units(False, f"{few} too few to show a common unit" if n_numbers else "no column holds numbers")
    is_mixed = not units.is_one and shape[0] * shape[1] <= _MOST_CELLS
    is_table = not sparse and (shape[1] <= MOST_COLUMNS or is_mixed or bool(terms))
    return Facts(units, is_table, bool(found.minimum.min(initial=0.0) < 0.0))


def _scale(asked: Asked, units: Units, has_negative: bool) -> Scale:
    """Raw values for columns of one unit, and for a kernel that was named if it takes them; ranks otherwise."""
    if asked.kernel == "auto":
        return "max" if units.is_one else "rank"
    kernel = kernels.BY_NAME.get(asked.kernel) if isinstance(asked.kernel, str) else asked.kernel
    return "rank" if has_negative and getattr(kernel, "nonnegative", False) else "max"
