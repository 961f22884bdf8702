"""A step of a stream: the model moves by as little as a batch of new rows asks for.

    min_f ½‖f − f_before‖² + Σ_i c_i ℓ(t_i, f(x_i)),        i in the batch,

is solved by coordinate descent from the weights of f_before, with one β_i per row of the batch: f = f_before +
Σ_i β_i K(x_i, ·). It is the passive-aggressive rule of Crammer et al. (JMLR 7, 2006) for batches. For a first pass over
the rows it is also a step of block coordinate ascent on the dual problem of all rows so far, in which the β of earlier
rows stay as they are. The intercept is penalised in the same way, by (b − b_before)² / 2s.

f follows the last batch too closely. The average of f over all steps does not: `share_of_average` is the weight of the
newest one, so that f after n rows counts in proportion to n.
"""

from __future__ import annotations

import threading
import time

import numpy as np

from .. import _core
from ..array_types import Floats
from .descent import core_solver, in_slices
from .dual_cd import DualCD
from .epochs import OnEpoch, looks_converged, negligible_share
from .problem import EpochReport, Problem, SolveResult


def share_of_average(n_before: int, n_rows: int) -> float:
    """Weight of the newest f in the average, after `n_rows` more rows."""
    return 1.0 - (n_before / (n_before + n_rows)) ** 2


def move(
    settings: DualCD,
    problem: Problem,
    weights: Floats,
    intercept: float,
    on_epoch: OnEpoch,
    interrupted: threading.Event,
) -> SolveResult:
    """Solve the problem of a batch to the tolerance, from the weights and the intercept of f_before.

    The result's objective and gap are those of the batch, and so is β.
    """
    core = core_solver(problem, settings.seed, settings.shuffle)
    core.set_weights(np.ascontiguousarray(weights, dtype=np.float32).ravel(), intercept)
    begun, history = time.perf_counter(), list[EpochReport]()
    gap, stopped, converged = np.inf, False, False
    while len(history) < settings.max_iter and not (stopped or converged):
        in_slices(core.sweep, interrupted)
        history.append(
            EpochReport(len(history) + 1, time.perf_counter() - begun, core.dual, core.active_gap, core.n_visits)
        )
        stopped = on_epoch(history[-1])
        is_last = stopped or len(history) == settings.max_iter
        if is_last or core.n_visits == 0 or looks_converged(core.active_gap, core.dual, settings.tol):
            gap = _exact_gap(core, interrupted)
            converged = gap <= settings.tol * (core.dual + gap)
        core.set_negligible(negligible_share(settings.tol, core.dual + core.active_gap, problem.n_rows))
    moved, beta = np.empty(weights.size, dtype=np.float32), np.empty(problem.n_rows)
    core.copy_weights(moved)
    core.copy_beta(beta)
    return SolveResult(
        beta=beta,
        weights=moved.reshape(weights.shape),
        intercept=core.intercept,
        n_iter=len(history),
        primal=core.dual + gap,
        gap=gap,
        converged=converged,
        history=history,
        stopped=stopped,
    )


def _exact_gap(core: _core.DualSolver, interrupted: threading.Event) -> float:
    """The gap at the present weights. All rows are visited next: some may have rested for too long."""
    dual = core.dual
    in_slices(core.evaluate, interrupted)
    core.set_dual(dual)  # an evaluation takes all weights for those of β
    core.wake_all()
    return core.gap
