"""Categories of many levels: products, their weight and leave-one-out scores. Most levels have a row or two."""

import threading
from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from kernline import kernels, losses
from kernline.encoding import TermSpec
from kernline.joint_losses import Separate
from kernline.solvers import evidence, leave_one_out
from kernline.solvers.basis import Basis
from kernline.solvers.lbfgs import LBFGS, SmoothProblem
from kernline.solvers.level_variance import first_weights
from kernline.solvers.sampled_hessian import SampledHessian, blocks_of
from kernline.training import AdditiveSettings, encode


def basis_of(X):
    settings = AdditiveSettings(kernels.Intersection(), scale="rank", terms=(TermSpec("category", (1,)),))
    rows = encode(X, settings)
    term, start = rows.encoder.terms[0], int(rows.encoder.term_start[0])
    levels = [start + np.arange(term.n_columns)]
    return Basis(rows.data, rows.pair, rows.scales, levels, None, 1, threading.Event())


def table(n_rows, n_levels, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.random(n_rows), rng.integers(n_levels, size=n_rows)])


def test_products_are_those_of_indicator_columns():
    X = table(1000, 900)
    basis = basis_of(X)
    assert basis.level_cells is not None
    assert basis.cells.n_columns == 2
    n_curves = basis.n_curve_unknowns
    indicators = (X[:, 1:] == np.unique(X[:, 1])) * basis.level_heights
    Phi = np.hstack([basis.features(np.arange(1000), slice(0, n_curves)), indicators])
    rng = np.random.default_rng(1)
    theta, r = rng.standard_normal((Phi.shape[1], 3)), rng.standard_normal((1000, 3))
    assert_allclose(basis.values(theta), Phi @ theta, atol=1e-4)
    assert_allclose(basis.sums(r), Phi.T @ r, atol=1e-3)
    some = np.arange(0, 1000, 3)
    assert_allclose(basis.of_rows(some).values(theta), Phi[some] @ theta, atol=1e-4)
    assert_array_equal(basis.level_features(some).toarray(), indicators[some])


def test_levels_are_in_no_block():
    pieces = np.array([15, 1, *[1] * 700, 49, 49])
    is_apart = np.repeat([False, True, False], [16, 700, 98])
    assert blocks_of(pieces, 60, is_apart) == [slice(0, 16), slice(716, 765), slice(765, 814)]


def regression(n_rows=3000, n_levels=1500, deviation=1.0):
    X = table(n_rows, n_levels)
    rng = np.random.default_rng(2)
    effects = deviation * rng.standard_normal(n_levels)
    y = effects[X[:, 1].astype(int)] + 0.5 * rng.standard_normal(n_rows)
    loss = Separate(losses.get("squared_error"), y[:, None], np.full(n_rows, 2.0))
    basis = basis_of(X)
    return X, y, SmoothProblem(basis, loss, np.ones(basis.sizes.size))


def variance(problem):
    """V, from the weight of the category."""
    lbfgs = LBFGS(problem)
    k = problem.basis.curves.size
    weight = first_weights(lbfgs, lbfgs.with_best_intercept(lbfgs.start()), 1.0, 1e-4)[k]
    return weight * problem.basis.level_heights[0] ** 2


def test_the_weight_is_the_covariance_of_rows_that_share_a_level():
    X, y, problem = regression(deviation=0.4)
    same = X[:, None, 1] == X[:, 1]
    np.fill_diagonal(same, False)
    centred = y - y.mean()
    assert_allclose(variance(problem), (centred @ same @ centred) / same.sum(), rtol=1e-3)
    assert 0.1 < variance(problem) < 0.22


def test_levels_of_one_row_have_no_weight():
    rng = np.random.default_rng(0)
    basis = basis_of(np.column_stack([rng.random(2000), rng.permutation(2000)]))
    loss = Separate(losses.get("log"), rng.choice([-1.0, 1.0], (2000, 1)), np.full(2000, 30.0))
    problem = SmoothProblem(basis, loss, np.ones(basis.sizes.size))
    lbfgs = LBFGS(problem)
    constant = lbfgs.with_best_intercept(lbfgs.start())
    assert first_weights(lbfgs, constant, 30.0, 1e-4)[basis.curves.size] == 1e-4
    solved, result = evidence.Evidence(tol=1e-3, max_iter=100, rounds=2, prior_scale=30.0).solve(
        problem, lambda _: False
    )
    assert solved.group_weights[basis.curves.size] < 1e-3
    assert np.abs(result.theta[basis.n_curve_unknowns :]).max() < 0.05


def test_a_hessian_needs_no_block_for_levels():
    basis = basis_of(np.column_stack([np.linspace(0.0, 1.0, 60_000), np.arange(60_000.0)]))
    loss = Separate(losses.get("log"), np.ones((60_000, 1)), np.ones(60_000))
    lbfgs = LBFGS(SmoothProblem(basis, loss, np.ones(basis.sizes.size)))
    hessian = SampledHessian.of(lbfgs, np.zeros((60_000, 1)))
    assert hessian is not None
    assert_allclose(hessian.squares, 0.25 * basis.level_heights[:, None] ** 2, rtol=1e-5)


def test_leave_one_out_scores_are_those_of_a_fit_without_the_row():
    X = table(900, 600)
    rng = np.random.default_rng(3)
    y = np.where(np.sin(6.0 * X[:, 0]) + rng.standard_normal(600)[X[:, 1].astype(int)] > 0.0, 1.0, -1.0)
    basis = basis_of(np.vstack([X, np.column_stack([np.full(600, 0.5), np.arange(600.0)])]))
    cost = np.append(np.full(900, 3.0), np.zeros(600))  # rows without cost, so that there are more than 500 levels
    loss = Separate(losses.get("log"), np.append(y, np.ones(600))[:, None], cost)
    problem = SmoothProblem(basis, loss, np.ones(basis.sizes.size))
    assert basis.has_many_levels.any()

    def values(one):
        return evidence.Evidence(tol=1e-7, max_iter=1000).solve(one, lambda _: False)[1].point.F

    F, rows = values(problem), np.arange(900)
    lbfgs = LBFGS(problem)
    shares = leave_one_out._shares_of_levels(lbfgs, F, rows)
    change = leave_one_out._changes(lbfgs, loss.of_rows(rows), F[rows], rows, 1.0, shares)
    some = rows[::150]
    exact = []
    for i in some:
        without = cost.copy()
        without[i] = 0.0
        exact.append(values(replace(problem, loss=loss.with_cost(without)))[i] - F[i])
    exact = np.array(exact)
    assert_allclose(change[some], exact, atol=0.1 * np.abs(exact).max())
