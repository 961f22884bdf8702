"""Stochastic gradient descent on a budget (Wang, Crammer, Vucetic, JMLR 2012): settings, passes, and when to stop.

The core makes the steps (native/loops/budgeted.hpp). A step computes the loss before its update, so the mean over a
pass costs nothing. When it no longer falls, the fit stops.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array, Matrix, is_sparse
from ..landmarks import merging
from .descent import in_slices

# The fit stops after this many passes in a row without improvement.
_PATIENCE = 3
# γ ‖x‖² of a sparse row at which the float32 rounding error of |x|² + |b|² − 2 x·b changes the kernel by about 10⁻³.
# Such rows are made dense, up to this many values.
_COARSEST, _DENSE_VALUES = 1e4, 250_000_000

Numeric = TypeVar("Numeric", float, Array)


def values_of(X: Matrix, gamma: float) -> _core.Rows:
    """X as the core takes it, float32. Dense rows are compared by differences, sparse rows by products."""
    if is_sparse(X) and X.nnz:
        # In float64: squares of narrow integers wrap around, and those of float16 overflow.
        squares = sp.csr_array((np.square(X.data, dtype=np.float64), X.indices, X.indptr), shape=X.shape)
        longest = float(squares.sum(axis=1).max())
        if gamma * longest > _COARSEST:
            if X.shape[0] * X.shape[1] > _DENSE_VALUES:
                raise ValueError(
                    f"gamma · ‖x‖² is {gamma * longest:.3g} for the longest row, too large for products of sparse rows "
                    "in float32. Scale the data (sklearn.preprocessing.MaxAbsScaler), or lower gamma."
                )
            X = X.toarray()
    if not is_sparse(X):
        return _core.Rows.dense_values(np.ascontiguousarray(X, dtype=np.float32))
    indices = X.indices if X.indices.dtype in (np.int32, np.int64) else X.indices.astype(np.int64)
    return _core.Rows.sparse_values(X.indptr.astype(np.int64), indices, X.data.astype(np.float32), X.shape[1])


class PassReport(NamedTuple):
    """One pass: the mean loss of its steps, and how many had a violation or needed budget maintenance."""

    epoch: int
    seconds: float
    loss: float
    n_violations: int
    n_maintained: int

    def line(self) -> str:
        """Return the pass as a log line."""
        return (
            f"pass {self.epoch}: mean loss {self.loss:.4g}, {self.n_violations} violations, "
            f"{self.n_maintained} times too many support vectors, {self.seconds:.2f} s"
        )


@dataclass(frozen=True)
class BudgetedModel:
    """f(x) = Σ_b coef_b k(x, b) + intercept, and the state needed to continue training.

    The last iterate has coefficients scale · counts. Averages are Σ_t t w_t / Σ_t t; their sums are stored as
    weight_sum · counts − pasts, so that a step without violation costs nothing.
    """

    vectors: NDArray[np.float32]
    counts: NDArray[np.float32]
    pasts: Array
    bias: float
    bias_past: float
    weight_sum: float
    average_norm: float
    n_seen: float
    n_steps: int
    scale: float

    @classmethod
    def empty(cls, n_features: int) -> BudgetedModel:
        """Return the model before the first step."""
        vectors = np.empty((0, n_features), np.float32)
        return cls(vectors, np.empty(0, np.float32), np.empty(0), 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0.0)

    def as_of_one_pass(self) -> BudgetedModel:
        """Return the same function in the state after one pass, so that 1/(λt) stays C as a stream continues."""
        if self.n_steps <= self.n_seen:
            return self
        share = self.n_seen / self.n_steps
        return replace(
            self,
            counts=(share * self.counts).astype(np.float32),
            bias=share * self.bias,
            weight_sum=self.weight_sum / share,
            n_steps=round(self.n_seen),
        )

    def without_average(self) -> BudgetedModel:
        """Return the last iterate without the average."""
        return replace(self, pasts=np.zeros_like(self.pasts), bias_past=0.0, weight_sum=0.0, average_norm=0.0)

    @property
    def coefficients(self) -> Array:
        """Coefficients of the average if there is one, else of the last iterate."""
        return self._shared(self.counts.astype(np.float64), self.pasts)

    @property
    def intercept(self) -> float:
        """Intercept of the average if there is one, else of the last iterate."""
        return float(self._shared(self.bias, self.bias_past))

    def _shared(self, counts: Numeric, pasts: Numeric) -> Numeric:
        return (self.weight_sum * counts - pasts) / self.average_norm if self.average_norm else self.scale * counts


@dataclass(frozen=True)
class BudgetedSGD:
    """At most `passes` passes in random order (or the order of the rows), with λ = 1/(n C) and steps 1/(λ t).

    `published` runs Algorithm 1 exactly, for comparison: the kernels of a merge are computed again, all partners are
    considered, tables hold h and WD over [0, 1]², golden section search covers [0, 1], and a point that is already a
    support vector is added again. Also for comparison: without `refine`, gss merges at the h of its search, which is
    within 0.01 of the best; with `any_label`, merges ignore labels and keep the newest; and a new point is merged with
    `merged_at_once` partners if all rows have the same weight.
    """

    gamma: float
    C: float = 1.0
    budget: int = 500
    passes: int = 20
    search: str = "lookup-wd"
    maintenance: str = "merge"
    grid_size: int = 400
    intercept: bool = True
    average: bool = True
    tol: float = 1e-3
    seed: int = 0
    shuffle: bool = True
    published: bool = False
    refine: bool = True
    any_label: bool = False
    merged_at_once: int = 1

    def fit(
        self,
        rows: _core.Rows,
        signed_weights: Array,
        on_pass: Callable[[PassReport], bool] | None = None,
        interrupted: threading.Event | None = None,
    ) -> tuple[BudgetedModel, list[PassReport]]:
        """Run passes over rows whose labels are the signs of `signed_weights`, until the loss no longer falls.

        Raises KeyboardInterrupt within a slice if another thread sets `interrupted`.
        """
        core = self.core(rows, signed_weights)
        begun = time.perf_counter()
        history: list[PassReport] = []
        best, waited = np.inf, 0
        while len(history) < self.passes and waited < _PATIENCE:
            # The first of several passes is left out of the average, because it starts far from the solution.
            if self.average and len(history) == min(1, self.passes - 1):
                core.begin_average()
            in_slices(core.run, interrupted or threading.Event())
            history.append(_report(core, len(history) + 1, begun, signed_weights.size))
            improved = history[-1].loss < (1.0 - self.tol) * best
            best, waited = min(best, history[-1].loss), 0 if improved or self.tol == 0.0 else waited + 1
            if on_pass is not None and on_pass(history[-1]):
                break
        model, (_, last, average) = as_model(core), core.judged
        return model.without_average() if average > last else model, history

    def go_on(
        self,
        rows: _core.Rows,
        signed_weights: Array,
        model: BudgetedModel,
        interrupted: threading.Event | None = None,
    ) -> BudgetedModel:
        """One pass over more rows of a stream, where n is the number of rows so far."""
        core = self.core(rows, signed_weights)
        model = model.as_of_one_pass()
        if not self.average:
            model = model.without_average()
        core.resume(
            vectors=model.vectors,
            counts=model.counts,
            pasts=model.pasts,
            bias=model.bias,
            bias_past=model.bias_past,
            weight_sum=model.weight_sum,
            average_norm=model.average_norm,
            n_seen=model.n_seen,
            n_steps=model.n_steps,
        )
        core.count_rows_as_seen()
        if self.average:
            core.go_on_averaging()
        in_slices(core.run, interrupted or threading.Event())
        return as_model(core)

    def core(self, rows: _core.Rows, signed_weights: Array) -> _core.BudgetedSGD:
        """The core's state of a problem, without support vectors."""
        core = _core.BudgetedSGD(
            rows=rows,
            signed_weights=signed_weights,
            grid=merging.native_tables(self.grid_size, published=self.published),
            gamma=self.gamma,
            C=self.C,
            budget=self.budget,
            search=self.search,
            maintenance=self.maintenance,
            intercept=self.intercept,
            seed=self.seed,
            shuffle=self.shuffle,
        )
        core.set_merging(refine=self.refine, any_label=self.any_label, at_once=self.merged_at_once)
        return core


def _report(core: _core.BudgetedSGD, epoch: int, begun: float, n_rows: int) -> PassReport:
    seconds = time.perf_counter() - begun
    return PassReport(epoch, seconds, core.loss_sum / n_rows, core.n_violations, core.n_maintained)


def as_model(core: _core.BudgetedSGD) -> BudgetedModel:
    """The support vectors of the core's state, and what training goes on from."""
    vectors = np.empty((core.n_vectors, core.n_features), np.float32)
    counts, pasts = np.empty(core.n_vectors, np.float32), np.empty(core.n_vectors)
    core.copy_vectors(vectors)
    core.copy_counts(counts, pasts)
    return BudgetedModel(
        vectors=vectors,
        counts=counts,
        pasts=pasts,
        bias=core.bias,
        bias_past=core.bias_past,
        weight_sum=core.weight_sum,
        average_norm=core.average_norm,
        n_seen=core.n_seen,
        n_steps=core.n_steps,
        scale=core.scale,
    )
