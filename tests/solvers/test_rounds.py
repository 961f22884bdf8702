"""Rounds on parts in one process, judged by the referee, which computes everything from β."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kernline import kernels, losses, solvers, training
from kernline.solvers import part, rounds
from kernline.solvers.certificate import certify
from kernline.solvers.intercept import centred_norms, first_intercept_of_labels, free_square
from kernline.solvers.problem import KernelMean


def problem_of(loss="hinge", C=1.0, free=True, n_rows=800):
    X, y = load_digits(return_X_y=True)
    intercept = training.Intercept(True, None if free else 1.0)
    settings = training.AdditiveSettings(kernels.Chi2(), loss=losses.get(loss), intercept=intercept)
    rows = training.encode(X[:n_rows], settings)
    return rows.problem(np.where(y[:n_rows] == 9, 1.0, -1.0), np.full(n_rows, C))


def some(problem, rows):
    mean = problem.mean
    return replace(
        problem,
        data=problem.data[rows],
        targets=problem.targets[rows],
        cost=problem.cost[rows],
        curvature=problem.curvature[rows],
        mean=None if mean is None else KernelMean(mean.products[rows], mean.square),
    )


@pytest.mark.parametrize("free", [True, False])
def test_the_first_step_of_one_row_reaches_its_margin(free):
    """β = t / (K(x, x) + s), whatever the constant s of all parts is."""
    problem = some(problem_of(C=1e6, free=free), np.arange(1))
    square = 3.0 * problem.curvature[0]
    core = part.part_solver(problem, square, 0)
    core.sweep(1)
    beta = np.empty(1)
    core.copy_beta(beta)
    norm = centred_norms(problem)[0] - (0.0 if free else problem.intercept_square)
    np.testing.assert_allclose(beta, problem.targets / (norm + square), rtol=1e-5)


class Remembered(rounds.LocalParts):
    """Parts that can be lost, and whose balanced β can be looked at."""

    lose_at = None

    def work(self, steps, orders):
        self.n_work = getattr(self, "n_work", 0) + 1
        if self.n_work == self.lose_at:
            self.states[0] = self.rows[0].zeros()
            raise rounds.PartsLost
        return super().work(steps, orders)


def solve(problem, n_parts, tol=0.01, lose_at=None):
    members = [np.arange(k, problem.n_rows, n_parts) for k in range(n_parts)]
    square = free_square(centred_norms(problem)) if problem.free_intercept else problem.intercept_square
    parts = Remembered([part.PartRows([some(problem, rows)], square) for rows in members])
    parts.lose_at = lose_at
    cost = np.array([problem.cost[problem.targets == label].sum() for label in (1.0, -1.0)])
    outline = rounds.Outline(
        pair=problem.pair,
        scales=problem.scales,
        losses=[problem.loss],
        n_rows=problem.n_rows,
        n_cells=problem.data.n_cells,
        square=square,
        mean_square=0.0 if problem.mean is None else problem.mean.square,
        free_intercept=problem.free_intercept,
        norm=float(centred_norms(problem).mean()),
        cost=float(problem.cost.mean()),
        firsts=[first_intercept_of_labels(problem.loss, cost) if problem.free_intercept else 0.0],
        reach=[1.0],
    )
    result = rounds.Rounds(tol).solve(parts, outline, [lambda report: False])[0]
    beta = np.empty(problem.n_rows)
    for rows, found in zip(members, parts.betas, strict=True):
        beta[rows] = found[0]
    return result, beta


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
def test_the_certificate_is_that_of_the_referee(loss, free):
    problem = problem_of(loss, free=free)
    result, beta = solve(problem, 4)
    referee = certify(problem, beta, result.intercept)
    assert result.converged
    assert referee.gap <= 0.0101 * referee.primal
    assert result.primal == pytest.approx(referee.primal, rel=1e-4)
    assert result.gap == pytest.approx(referee.gap, abs=1e-4 * referee.primal)
    plain = solvers.DualCD(1e-3).solve(problem)
    assert plain.dual * 0.9999 <= result.primal <= plain.primal * 1.0101


def test_rounds_do_not_grow_with_the_parts():
    problem = problem_of(C=10.0)
    assert max(solve(problem, n_parts)[0].n_iter for n_parts in (1, 2, 8)) <= 12


def test_a_part_that_is_lost_starts_again_from_zero():
    problem = problem_of()
    result, beta = solve(problem, 4, lose_at=2)
    referee = certify(problem, beta, result.intercept)
    assert referee.gap <= 0.0101 * referee.primal


def test_the_dual_objective_never_falls():
    result, _ = solve(problem_of(C=10.0), 8, tol=1e-3)
    dual = np.array([report.dual for report in result.history])
    centre_moves = 1e-2 * dual.max()  # the problem itself changes with the centre of the intercept
    assert (np.diff(dual) > -centre_moves).all()


def test_sums_do_not_depend_on_the_grouping_of_equal_parts():
    sums = [[part.Sums(np.full(3, float(k)), np.full(2, float(k)))] for k in range(5)]
    found = rounds.added(sums)[0]
    assert found.slots.tolist() == [10.0] * 3
    assert found.numbers.tolist() == [10.0] * 2
