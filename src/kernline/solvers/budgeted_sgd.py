"""Stochastic gradient descent on a budget (Wang, Crammer, Vucetic, JMLR 2012): settings, passes, and when to stop.

The core makes the steps (native/budgeted.hpp). The loss of a step comes before its update, so that the mean over a pass
is known at no cost; when it no longer falls, more passes bring nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core, merging
from .dual_cd import in_slices

Array = NDArray[np.float64]

# So many passes in a row must bring nothing before the fit stops.
_PATIENCE = 3
# γ ‖x‖² of a sparse row at which the rounding of |x|² + |b|² − 2 x·b in float32 changes the kernel by about 10⁻³; such
# rows are written out, up to so many values.
_COARSEST, _DENSE_VALUES = 1e4, 250_000_000


def values_of(X: Any, gamma: float) -> _core.Rows:
    """X as the core takes it, float32: dense rows are compared by differences, sparse ones by products."""
    if sp.issparse(X) and X.nnz:
        # In float64: squares of narrow integers wrap around, and those of float16 overflow.
        squares = sp.csr_array((np.square(X.data, dtype=np.float64), X.indices, X.indptr), shape=X.shape)
        longest = float(squares.sum(axis=1).max())
        if gamma * longest > _COARSEST:
            if X.shape[0] * X.shape[1] > _DENSE_VALUES:
                raise ValueError(
                    f"gamma · ‖x‖² is {gamma * longest:.3g} for the longest row, too much for products of sparse rows "
                    "in float32. Scale the data (sklearn.preprocessing.MaxAbsScaler), or lower gamma."
                )
            X = X.toarray()
    if not sp.issparse(X):
        return _core.Rows.dense_values(np.ascontiguousarray(X, dtype=np.float32))
    indices = X.indices if X.indices.dtype in (np.int32, np.int64) else X.indices.astype(np.int64)
    return _core.Rows.sparse_values(X.indptr.astype(np.int64), indices, X.data.astype(np.float32), X.shape[1])


class PassReport(NamedTuple):
    """One pass: the mean loss of its steps, how many met a violation, and how many needed budget maintenance."""

    epoch: int
    seconds: float
    loss: float
    n_violations: int
    n_maintained: int

    def line(self) -> str:
        """Return the pass as a line of a log."""
        return (
            f"pass {self.epoch}: mean loss {self.loss:.4g}, {self.n_violations} violations, "
            f"{self.n_maintained} times too many support vectors, {self.seconds:.2f} s"
        )


@dataclass(frozen=True)
class BudgetedModel:
    """f(x) = Σ_b coef_b k(x, b) + intercept, and what it takes to go on training.

    The last iterate has coefficients scale · counts. Averages are Σ_t t w_t / Σ_t t; what they need is kept as
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
        """Return the same function as one pass would leave it, so that 1/(λt) stays C as a stream goes on."""
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
        """Return the last iterate alone."""
        return replace(self, pasts=np.zeros_like(self.pasts), bias_past=0.0, weight_sum=0.0, average_norm=0.0)

    @property
    def coefficients(self) -> Array:
        """Of the average, if there is one, else of the last iterate."""
        return self._shared(self.counts.astype(np.float64), self.pasts)

    @property
    def intercept(self) -> float:
        """Of the average, if there is one, else of the last iterate."""
        return float(self._shared(np.float64(self.bias), np.float64(self.bias_past)))

    def _shared(self, counts: Any, pasts: Any) -> Any:
        return (self.weight_sum * counts - pasts) / self.average_norm if self.average_norm else self.scale * counts


@dataclass(frozen=True)
class BudgetedSGD:
    """At most `passes` passes in random order (or in that of the rows), with λ = 1/(n C) and steps 1/(λ t).

    `published` runs Algorithm 1 to the letter for comparison: the kernels of a merge are computed again, all partners
    are looked at, and a point that is a support vector already becomes another one.
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

    def fit(
        self,
        rows: _core.Rows,
        signed_weights: Array,
        on_pass: Callable[[PassReport], bool] | None = None,
        interrupted: threading.Event | None = None,
    ) -> tuple[BudgetedModel, list[PassReport]]:
        """Passes over rows whose labels are the signs of `signed_weights`, until they bring nothing.

        `interrupted`, set by another thread, ends it within a slice by KeyboardInterrupt.
        """
        core = self.core(rows, signed_weights)
        begun = time.perf_counter()
        history: list[PassReport] = []
        best, waited = np.inf, 0
        while len(history) < self.passes and waited < _PATIENCE:
            # The first pass of several is left out of the average: it begins far off.
            if self.average and len(history) == min(1, self.passes - 1):
                core.begin_average()
            in_slices(core.run, interrupted or threading.Event())
            history.append(_report(core, len(history) + 1, begun, signed_weights.size))
            improved = history[-1].loss < (1.0 - self.tol) * best
            best, waited = min(best, history[-1].loss), 0 if improved or self.tol == 0.0 else waited + 1
            if on_pass is not None and on_pass(history[-1]):
                break
        return _model(core), history

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
        return _model(core)

    def core(self, rows: _core.Rows, signed_weights: Array) -> _core.BudgetedSGD:
        """The core's state of a problem under way, without support vectors."""
        return _core.BudgetedSGD(
            rows=rows,
            signed_weights=signed_weights,
            grid=merging.native_tables(self.grid_size),
            gamma=self.gamma,
            C=self.C,
            budget=self.budget,
            search=self.search,
            maintenance=self.maintenance,
            intercept=self.intercept,
            published=self.published,
            seed=self.seed,
            shuffle=self.shuffle,
        )


def _report(core: _core.BudgetedSGD, epoch: int, begun: float, n_rows: int) -> PassReport:
    seconds = time.perf_counter() - begun
    return PassReport(epoch, seconds, core.loss_sum / n_rows, core.n_violations, core.n_maintained)


def _model(core: _core.BudgetedSGD) -> BudgetedModel:
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
