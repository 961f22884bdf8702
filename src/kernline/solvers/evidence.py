"""The weight of each group from the data itself, by maximum evidence: no cross-validation.

A penalised fit is the mode of a posterior: θ_g has a normal prior, and W_g the covariance τ v_g s_j G, where τ is C for
a loss that is a negative log-likelihood as it is (log, softmax), and 1 for the squared error, whose C is 1 / 2σ². By
Laplace's approximation at the fit, γ_g = size_g − tr((H⁻¹)_gg) of the unknowns of a group are determined by the data,
and the evidence is highest where v_g = v_g ‖η_g‖² / γ_g with η = θ / √τ (MacKay, Neural Computation 1992). A few
observations of v = 1 are added to every group, which keeps groups of few unknowns, and tables of few rows, near the
default:

    v_g ← (v_g ‖η_g‖² + a) / (γ_g + a)

Laplace's approximation says little of a level with a row or two. So a category of many levels begins with the weight
that rows of the same level ask for (level_variance.py) instead of 1, its a observations are of that weight, and only
levels that are mostly determined count.

Two rounds, each beginning at the last fit, are enough: a third moves accuracies by less than 0.1. They need no more
rows than it takes to estimate a variance for each group: of many rows, a sample is used, and its solution is where the
fit to all rows begins.

On data that curves separate, Laplace's approximation asks for too little. So the last round of a classification also
finds the factor T by which leave-one-out scores should be multiplied (leave_one_out.py), and multiplies all weights by
T⁴: scores grow about as the fourth root of the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..array_types import Array
from ..joint_losses import JointLoss
from .lbfgs import LBFGS, OnReport, SmoothProblem, SmoothResult
from .leave_one_out import score_factor
from .level_variance import first_weights
from .problem import EpochReport
from .sampled_hessian import SampledHessian

_PRIOR = 2.0  # a
_SMALLEST, _LARGEST = 1e-4, 1e4
_POWER = 4.0  # of T
_KNOWN = 0.5  # the determined share of a level from which on it counts
_LOOSER = 10.0  # how much less precise the fits before the last are
# Rows of which the weights are estimated on a sample, and of the sample.
_MANY_ROWS, SAMPLE_ROWS = 500_000, 250_000

# The mean cost for a new estimate of the noise, given the loss, the values F and the number of determined unknowns.
Recost = Callable[[JointLoss, Array, float], float]


@dataclass(frozen=True)
class Evidence:
    """Solves a problem; with `rounds` of evidence, also for its group weights, and for its noise if `recost` is given.

    `prior_scale` is τ.
    """

    tol: float
    max_iter: int
    rounds: int = 0
    prior_scale: float = 1.0
    recost: Recost | None = None
    seed: int = 0

    def solve(
        self, problem: SmoothProblem, on_report: OnReport, start: Array | None = None
    ) -> tuple[SmoothProblem, SmoothResult]:
        """Return the problem with its final weights, and its solution.

        `start` is a θ scaled by √v to begin with, with the intercept as its last row.
        """
        history: list[EpochReport] = []
        sample = self.sample(problem)
        if sample is problem or (start is not None and not self.rounds):
            return self._solve(problem, on_report, start, history)
        sample, found = replace(self, tol=_LOOSER * self.tol)._solve(sample, on_report, start, history)
        problem = self.weighted_as(sample, problem)
        if found.stopped:
            return problem, found
        return replace(self, rounds=0)._solve(problem, on_report, found.scaled, history)

    def sample(self, problem: SmoothProblem) -> SmoothProblem:
        """The problem itself or, if it has many rows, that of a sample of them: enough to find its weights."""
        n_rows = problem.basis.data.n_rows
        if n_rows <= _MANY_ROWS:
            return problem
        chosen = np.random.default_rng(self.seed).choice(n_rows, SAMPLE_ROWS, replace=False, shuffle=False)
        return problem.of_rows(np.sort(chosen))

    def weighted_as(self, sample: SmoothProblem, problem: SmoothProblem) -> SmoothProblem:
        """The problem with what the evidence has found in a sample of its rows."""
        weighted = replace(problem, group_weights=sample.group_weights)
        return weighted if self.recost is None else weighted.with_mean_cost(float(sample.loss.cost.mean()))

    def _solve(
        self, problem: SmoothProblem, on_report: OnReport, start: Array | None, history: list[EpochReport]
    ) -> tuple[SmoothProblem, SmoothResult]:
        theta = None if start is None else start / np.append(problem.root_weights, 1.0)[:, None]
        lbfgs = LBFGS(problem, self.seed)
        point = lbfgs.start(theta)
        prior = np.ones(problem.group_weights.size)
        has_many_levels = bool(self.rounds and problem.basis.has_many_levels.any())
        if has_many_levels:
            prior = first_weights(lbfgs, lbfgs.with_best_intercept(lbfgs.start()), self.prior_scale, _SMALLEST)
            if start is None:
                problem = replace(problem, group_weights=prior)
                lbfgs = LBFGS(problem, self.seed)
                point = lbfgs.start()
        sampled = SampledHessian.of(lbfgs, point.F)
        for round_ in range(self.rounds + 1):
            is_last = round_ == self.rounds
            hessian = None if sampled is None else sampled.factored(problem.root_weights)
            tol = self.tol if is_last or has_many_levels else _LOOSER * self.tol
            result = lbfgs.run(point, hessian, tol, self.max_iter, on_report, history)
            if is_last or result.stopped:
                break
            # The values do not change with the weights, so the next round begins with the same Hessian.
            sampled = SampledHessian.of(lbfgs, result.point.F)
            if sampled is not None:
                problem, theta = self._next(lbfgs, result, sampled, prior, is_last=round_ == self.rounds - 1)
                lbfgs = LBFGS(problem, self.seed)
                point = lbfgs.start(theta)
            else:
                point = result.point
        return problem, result

    def _next(
        self, lbfgs: LBFGS, result: SmoothResult, sampled: SampledHessian, prior: Array, *, is_last: bool
    ) -> tuple[SmoothProblem, Array]:
        """The problem with the weights, and the noise, that the evidence asks for, and the last fit as its start."""
        problem, F = lbfgs.problem, result.point.F
        hessian = sampled.factored(problem.root_weights)
        updated, determined = _updated(problem, result, lbfgs.traces(F, hessian), hessian, prior, self.prior_scale)
        if self.recost is not None:
            updated = updated.with_mean_cost(self.recost(updated.loss, F, determined))
        elif is_last:
            updated = replace(updated, group_weights=score_factor(lbfgs, F) ** _POWER * updated.group_weights)
        return updated, result.point.theta * np.append(problem.root_weights / updated.root_weights, 1.0)[:, None]


def _updated(
    problem: SmoothProblem,
    result: SmoothResult,
    traces: Array,
    hessian: SampledHessian,
    prior: Array,
    prior_scale: float,
) -> tuple[SmoothProblem, float]:
    """The problem with new weights, and the number of unknowns that the data determines, per problem."""
    sizes, n_problems = problem.basis.sizes, result.theta.shape[1]
    starts = np.cumsum(sizes) - sizes
    squares = (result.point.theta[:-1] ** 2).sum(axis=1) / prior_scale
    determined = np.maximum(sizes * n_problems - traces, 0.0)
    counted, many = determined.copy(), problem.basis.has_many_levels
    if many.any():
        of_levels = np.zeros(squares.size)
        of_levels[hessian.apart] = (1.0 - 1.0 / hessian.diagonal).sum(axis=1)
        unknown = hessian.apart[of_levels[hessian.apart] < _KNOWN * n_problems]
        squares[unknown] = of_levels[unknown] = 0.0
        counted[many] = np.add.reduceat(of_levels, starts)[many]
    weights = (problem.group_weights * np.add.reduceat(squares, starts) + _PRIOR * prior) / (counted + _PRIOR)
    weights = np.clip(weights, _SMALLEST, _LARGEST)
    return replace(problem, group_weights=weights), float(determined.sum()) / n_problems
