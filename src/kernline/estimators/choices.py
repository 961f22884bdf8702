"""What "auto" stands for: the kernel, scale, loss and C that suit the data, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import kernels
from ..array_types import is_sparse
from ..encoding import ColumnRange, EncodedData, Scale, TermSpec
from ..encoding.terms import replaced_columns
from ..encoding.units import Units, units_of
from ..memory import COLUMN_BYTES, check_width
from .training_data import AnyTrainingData

Kernel = str | kernels.AdditiveKernel

# Losses that the joint solver takes, and whose C the evidence can decide.
JOINT_LOSSES = ("log", "squared_error")

# A dense X of at most so many columns is a table. A wider one is a table unless its columns are of one unit, as those
# of images and histograms are; with more cells than this, its fit by evidence would take minutes.
MOST_COLUMNS, _MOST_CELLS = 200, 20_000_000
# Fewer columns than this are not taken to be of one unit, even if they look so.
_LEAST_COLUMNS = 8
# C where no evidence is to be had. Ranks are smoother than raw values, whose columns may differ by much.
_C_OF_RANKS, _C_OF_VALUES, _C_OF_LOG = 10.0, 1.0, 30.0


@dataclass(frozen=True)
class Choice:
    """The parameters of a fit with nothing left to choose. C is None if the evidence decides."""

    kernel: Kernel
    scale: Scale
    loss: str
    C: float | None
    reason: str

    @property
    def kernel_name(self) -> str:
        """The kernel's name."""
        return self.kernel if isinstance(self.kernel, str) else self.kernel.name

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


def choose(asked: Asked, data: AnyTrainingData, terms: tuple[TermSpec, ...], n_threads: int) -> Choice:
    """Replace every "auto"."""
    units, is_table, has_negative = _facts(data, terms, n_threads)
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
    return Choice(kernel, scale, loss, C, units.reason)


def _facts(data: AnyTrainingData, terms: tuple[TermSpec, ...], n_threads: int) -> tuple[Units, bool, bool]:
    """Whether the columns are of one unit, whether X is a table, and whether it has negative values."""
    X = data.X
    if isinstance(X, EncodedData):
        is_rank = X.encoder is not None and X.encoder.numbers == "rank"
        return Units(not is_rank, "the rows were encoded before"), False, False
    check_width(X, COLUMN_BYTES)
    found = ColumnRange.of(X, n_threads)
    numbers = np.delete(np.arange(X.shape[1]), replaced_columns(terms))
    found = replace(
        found, minimum=found.minimum[numbers], maximum=found.maximum[numbers], n_nonzero=found.n_nonzero[numbers]
    )
    units = units_of(found, X.shape[0], sparse=is_sparse(X))
    if units.is_one and not is_sparse(X) and numbers.size < _LEAST_COLUMNS:
        units = Units(False, f"{numbers.size} columns of numbers are too few to tell whether they have one unit")
    is_mixed = not units.is_one and X.shape[0] * X.shape[1] <= _MOST_CELLS
    is_table = not is_sparse(X) and (X.shape[1] <= MOST_COLUMNS or is_mixed or bool(terms))
    return units, is_table, bool(found.minimum.min(initial=0.0) < 0.0)


def _scale(asked: Asked, units: Units, has_negative: bool) -> Scale:
    """Raw values for columns of one unit, and for a kernel that was named if it takes them; ranks otherwise."""
    if asked.kernel == "auto":
        return "max" if units.is_one else "rank"
    kernel = kernels.BY_NAME.get(asked.kernel) if isinstance(asked.kernel, str) else asked.kernel
    return "rank" if has_negative and getattr(kernel, "nonnegative", False) else "max"
