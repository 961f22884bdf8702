"""Crammer and Singer's SVM: all classes in one problem, by dual coordinate descent over rows.

    min ½ Σ_k ‖f_k‖² + Σ_i c_i max_m (f_m(x_i) + [m ≠ y_i] − f_{y_i}(x_i))

(Crammer and Singer, JMLR 2001). Its dual has a β_ik for every row and class,

    max Σ_i β_{i, y_i} − ½ Σ_k β_kᵀ K β_k    with    Σ_k β_ik = 0,  β_ik ≤ c_i [k = y_i],

and f_k = Σ_i β_ik K(x_i, ·). The core visits rows in random order and takes the best β_i1 … β_iK of each (Keerthi et
al., KDD 2008; native/loops/joint_cd.hpp). The loop over epochs, the rests and the exact gap are those of binary
problems.

For two classes this is the binary hinge with twice the cost: f_1 = −f_0 = f / 2.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..array_types import Array
from ..native import empty_slots, native_table, weights_in
from .descent import in_slices
from .epochs import Effort, Epochs, Log, OnEpoch, Stretch, doublings_to, looks_converged, negligible_share
from .intercept import centred_norms, intercept_square
from .joint_intercept import Centrings, balance, first_intercepts
from .problem import JointProblem, JointResult, as_in_core

# Epochs between new sums of the weights, and how far a centre moves before all rows wake (native/host/epochs.hpp).
_EPOCHS_A_REBUILD, _FAR = 100, 0.5


@dataclass(frozen=True)
class JointCD:
    """Stop at a duality gap of `tol` times the primal objective, or after `max_iter` passes over the rows.

    Rows are visited in random order, from `seed`, by one thread.
    """

    tol: float
    max_iter: int = 1000
    seed: int = 0

    def solve(
        self,
        problem: JointProblem,
        on_epoch: OnEpoch | None = None,
        interrupted: threading.Event | None = None,
        start: Array | None = None,
        intercepts: Array | None = None,
    ) -> JointResult:
        """Run to the tolerance, from β = `start` if given, which is brought within the bounds, and free intercepts.

        Raises KeyboardInterrupt within a slice if another thread sets `interrupted`.
        """
        log = Log(on_epoch)
        descent = JointDescent(problem, self.seed, interrupted or threading.Event())
        doublings = doublings_to(float(np.mean(problem.cost)), float(np.mean(problem.curvature)), self.max_iter)
        if start is not None:
            descent.start(start, intercepts)
            doublings = 0
        epochs = Epochs(descent, self.tol, Effort(problem.n_rows, self.max_iter), log)
        converged = epochs.run(doublings)
        return JointResult(
            beta=descent.beta,
            curves=descent.curves,
            intercepts=descent.intercepts,
            n_iter=len(log.history),
            primal=descent.primal,
            gap=descent.gap,
            converged=converged,
            history=log.history,
            stopped=log.asked_to_stop,
        )


class JointDescent:
    """The core's state of one joint problem, from β = 0, for the loop over epochs (epochs.py)."""

    def __init__(self, problem: JointProblem, seed: int, interrupted: threading.Event) -> None:
        self.problem = problem
        self.interrupted = interrupted
        norms, mean = centred_norms(problem), problem.mean
        s = intercept_square(problem, norms)
        self.core = _core.JointSolver(
            rows=problem.data.native,
            read=native_table(problem.pair.read),
            write=native_table(problem.pair.write),
            scales=problem.scales.astype(np.float32),
            labels=problem.labels,
            n_classes=problem.n_classes,
            cost=problem.cost,
            curvature=norms + s if problem.free_intercept else problem.curvature,
            intercept_square=s,
            members=problem.members,
            means=None if mean is None else mean.products,
            mean_square=0.0 if mean is None else mean.square,
            seed=seed,
            shuffle=True,
        )
        self.centrings = Centrings(norms, problem.cost, problem.n_classes) if problem.free_intercept else None
        if problem.free_intercept:
            self.core.set_centres(first_intercepts(problem.labels, problem.cost, problem.n_classes))
        self.awake_at = np.array(self.core.centres)  # when all rows last were
        self.gap = self.primal = 0.0
        self.n_sweeps = 0

    def sweep(self) -> None:
        """Visit every row that is not resting."""
        self.n_sweeps += 1
        in_slices(self.core.sweep, self.interrupted)
        if self.n_sweeps % _EPOCHS_A_REBUILD == 0:
            in_slices(self.core.rebuild, self.interrupted)
        self._move_centres()

    def sweeps(self, stretch: Stretch) -> tuple[list[tuple[float, float, float, int]], bool]:
        """Run one epoch; return it, and whether a check is due."""
        begun = time.perf_counter()
        self.sweep()
        epoch = time.perf_counter() - begun, self.dual, self.active_gap, self.n_active
        may_check = stretch.first_check <= 1 and looks_converged(self.active_gap, self.dual, stretch.tol)
        return [epoch], self.n_active == 0 or may_check

    def _move_centres(self) -> None:
        core, centrings = self.core, self.centrings
        if centrings is None:
            return
        totals = np.array(core.beta_sums)
        centres = centrings.next_centres(np.array(core.centres) + centrings.s * totals, totals, core.active_gap)
        if centres is not None:
            core.set_centres(centres)
            if np.abs(centres - self.awake_at).max() > _FAR * centrings.each[0].reach:
                core.wake_all()
                self.awake_at = centres

    def evaluate(self, tol: float = np.inf) -> None:
        """Sum the weights again from β, in double precision, and compute the exact gap in one pass over all rows.

        With free intercepts, β is balanced first. It stays balanced if the gap is at most `tol` times the objective.
        """
        core, centrings = self.core, self.centrings
        if centrings is None:
            self._evaluate_in_core()
            return
        beta, centres, totals = self.beta, np.array(core.centres), np.array(core.beta_sums)
        dual, estimate = core.dual, core.active_gap
        core.set_centres(centres + centrings.s * totals)
        core.set_beta(balance(beta, self.problem.labels, as_in_core(self.problem.cost)))
        self._evaluate_in_core()
        centrings.compare(estimate, totals, self.gap)
        if self.gap > tol * self.primal:
            # Further epochs start from β as it was: balanced, it may be far from the best.
            core.set_beta(beta)
            core.set_centres(centres)
            in_slices(core.rebuild, self.interrupted)
            core.set_dual(dual)
            core.set_centres(centres + centrings.s * totals)

    def _evaluate_in_core(self) -> None:
        core = self.core
        in_slices(core.rebuild, self.interrupted)
        in_slices(core.evaluate, self.interrupted)
        self.gap = core.gap
        self.primal = core.loss_sum + 0.5 * (core.squared_norm - float(np.dot(core.centres, core.beta_sums)))

    def start(self, beta: Array, intercepts: Array | None) -> None:
        """Continue from β and, if they are free, these intercepts."""
        problem, cost = self.problem, as_in_core(self.problem.cost)
        inside = within_bounds(beta, problem.labels, cost)
        if self.centrings is not None:
            inside = balance(inside, problem.labels, cost)
            centres = np.zeros(problem.n_classes) if intercepts is None else intercepts
            self.core.set_centres(centres if problem.mean is None else centres + problem.mean.products @ inside)
        self.core.set_beta(inside)
        self._evaluate_in_core()

    def wake(self) -> None:
        """End all rests."""
        self.core.wake_all()

    def let_rest(self, tol: float, gap: float) -> None:
        """Set the share of the gap at which a row rests; `gap` is the last one, exact or estimated."""
        objective = self.core.dual + min(gap, self.core.active_gap)
        self.core.set_negligible(negligible_share(tol, objective, self.problem.n_rows))

    def grow(self, factor: float) -> None:
        """Multiply costs, β and f."""
        self.core.grow(factor)
        if self.centrings is not None:
            self.centrings.restart()
            self.awake_at = np.array(self.core.centres)

    @property
    def balances(self) -> bool:
        """Whether an evaluation changes β, for Σ_i β_ik = 0."""
        return self.centrings is not None

    @property
    def beta(self) -> NDArray[np.float32]:
        """A copy of the coefficients, (n_rows, n_classes)."""
        beta = np.empty((self.problem.n_rows, self.problem.n_classes), dtype=np.float32)
        self.core.copy_beta(beta)
        return beta

    @property
    def intercepts(self) -> Array:
        """b of every class. A number added to all of them changes nothing, so the sum of free ones is made zero."""
        intercepts = np.array(self.core.intercepts)
        return intercepts if self.centrings is None else intercepts - intercepts.mean()

    @property
    def curves(self) -> NDArray[np.float32]:
        """W, (n_classes, n_columns, width)."""
        shape = (self.problem.n_classes, self.problem.data.n_columns, self.problem.pair.width)
        slots = empty_slots(shape)
        self.core.copy_weights(slots)
        return weights_in(slots, shape)

    @property
    def n_active(self) -> int:
        """Rows visited by the last sweep."""
        return self.core.n_active

    @property
    def dual(self) -> float:
        """The dual objective."""
        return self.core.dual

    @property
    def active_gap(self) -> float:
        """Estimate of the gap from the last sweep."""
        imbalance = 0.0 if self.centrings is None else self.centrings.imbalance(np.array(self.core.beta_sums))
        return self.core.active_gap + imbalance


def within_bounds(beta: Array, labels: NDArray[np.int32], cost: Array) -> NDArray[np.float32]:
    """β with β_ik ≤ c_i [k = y_i] and Σ_k β_ik = 0, the same if it has these already."""
    rows, inside = np.arange(labels.size), np.minimum(beta, 0.0)
    inside[rows, labels] = 0.0
    own = -inside.sum(axis=1)
    factor = np.minimum(1.0, np.divide(cost, own, out=np.ones_like(own), where=own > 0.0))
    inside *= factor[:, None]
    inside[rows, labels] = factor * own
    return inside.astype(np.float32)
