"""Newton's method on many rows, which starts from the solution of a sample of them."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernline import AdditiveSVC, kernels, tables
from kernline.solvers import DualCD
from kernline.solvers.certificate import certify, explicit_features
from kernline.solvers.newton import Newton
from kernline.solvers.newton_sample import sample_of

from .test_solver import make_problem

PAIR = tables.Hats().build(kernels.Intersection())


def _many(n_rows=50_000, n_rare=None):
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 3))
    y = (np.sin(5.0 * X).sum(axis=1) + rng.normal(scale=0.5, size=n_rows) > 1.5).astype(int)
    if n_rare is not None:
        y[:] = 0
        y[:n_rare] = 1
    return X, y


def test_a_sample_stands_for_all_rows():
    problem = make_problem(*_many(), PAIR, C=2.0)
    sample = sample_of(problem)
    assert 10_000 <= sample.n_rows <= 10_002
    for label in (-1.0, 1.0):
        here = problem.targets == label
        assert_allclose(sample.cost[sample.targets == label].sum(), problem.cost[here].sum())
    assert_array_equal(sample.targets, problem.targets[sample.members])
    assert_array_equal(sample.curvature, problem.curvature[sample.members])
    assert (np.diff(sample.members) > 0).all()


def test_members_have_a_sample_of_members():
    problem = make_problem(*_many(90_000), PAIR, C=2.0)
    even = np.arange(0, 90_000, 2, dtype=np.int32)
    part = replace(
        problem, targets=problem.targets[even], cost=problem.cost[even], curvature=problem.curvature[even], members=even
    )
    sample = sample_of(part)
    assert (sample.members % 2 == 0).all()
    assert_array_equal(sample.targets, problem.targets[sample.members])


def test_a_rare_label_is_not_left_out():
    sample = sample_of(make_problem(*_many(n_rare=5), PAIR))
    assert np.count_nonzero(sample.targets > 0.0) == 5


def test_few_rows_have_no_sample():
    assert sample_of(make_problem(*_many(39_000), PAIR)) is None


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive", "squared_error"])
def test_the_solution_is_that_of_all_rows(loss):
    problem = make_problem(*_many(), PAIR, C=1000.0, loss=loss)
    result = DualCD(tol=1e-3, solver="newton").solve(problem)
    assert result.converged
    assert 0 < result.newton_steps < 40
    certificate = certify(problem, result.beta)
    assert_allclose(result.primal, certificate.primal, rtol=1e-5)
    assert certificate.gap <= 1.1e-3 * certificate.primal


def test_the_sample_hears_an_interruption():
    interrupted = threading.Event()
    interrupted.set()
    with pytest.raises(KeyboardInterrupt):
        Newton.from_zero(make_problem(*_many(), PAIR, C=100.0), 0.0, 1, interrupted)


def test_threads_do_not_change_the_solution():
    problem = make_problem(*_many(), PAIR, C=300.0)
    one, two = (DualCD(tol=1e-3, solver="newton", n_threads=n).solve(problem) for n in (1, 2))
    assert_array_equal(one.beta, two.beta)
    assert_array_equal(one.weights, two.weights)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_cost_so_large_that_rounding_errors_of_beta_add_up(loss):
    """C · K(x, x) is 10⁴ for 60,000 rows. The gap is that of f and β, by plain NumPy: ‖f‖² = Σ_j W_jᵀ (s_j M)⁻¹ W_j."""
    rng = np.random.default_rng(0)
    X = rng.random((60_000, 1))
    score = X[:, 0] + 0.3 * np.sin(15.0 * X[:, 0])
    y = (score + score.std() * rng.normal(size=len(X)) > np.median(score)).astype(int)
    problem = make_problem(X, y, PAIR, C=1e4, loss=loss, intercept_square=0.0)
    result = DualCD(tol=1e-2).solve(problem)
    assert result.converged
    assert result.newton_first
    norm = 0.0
    for W, scale in zip(result.weights[:, 1:].astype(float), problem.scales, strict=True):
        norm += W @ np.linalg.solve(scale * PAIR.gram[1:, 1:], W)
    values = explicit_features(replace(problem, scales=np.ones(1)))[0] @ result.weights.ravel().astype(float)
    primal = 0.5 * norm + (problem.cost * problem.loss.value(problem.targets, values)).sum()
    certificate = certify(problem, result.beta)
    dual = certificate.primal - certificate.gap
    assert_allclose(result.primal, primal, rtol=1e-4)
    assert primal - dual <= 1.01e-2 * primal


def test_a_model_at_a_cost_that_large_has_a_certificate():
    rng = np.random.default_rng(1)
    X = rng.random((60_000, 2))
    y = X.sum(axis=1) + 0.5 * rng.normal(size=len(X)) > 1.0
    for C in (1e4, 1e6):
        model = AdditiveSVC("chi2", C=C, loss="squared_hinge", random_state=0).fit(X, y)
        assert model.dual_gap_[0] <= 0.01 * model.objective_[0]
        assert model.score(X, y) > 0.72  # the best is 0.725
        again = (
            AdditiveSVC("chi2", C=2.0 * C, loss="squared_hinge", warm_start=True, random_state=0).fit(X, y).fit(X, y)
        )
        assert again.dual_gap_[0] <= 0.01 * again.objective_[0]


def test_no_gap_below_single_precision_is_claimed():
    problem = make_problem(*_many(), PAIR, C=1e3, loss="squared_hinge")
    method = Newton.from_zero(problem, 0.0, 1, threading.Event())
    solution = method.solution_of_curve(method.run(1e-12, 30, lambda *_: False)[0])
    assert solution.gap == 1e-6 * solution.primal
    assert_allclose(solution.primal, certify(problem, solution.beta).primal, rtol=1e-3)


@pytest.mark.parametrize("C", [300.0, 1e3, 1e4, 1e5, 1e6])
def test_large_costs_take_few_steps(C):
    rng = np.random.default_rng(0)
    X = rng.random((60_000, 2))
    y = (np.sin(6.0 * X[:, 0]) + 0.3 * rng.normal(size=len(X)) > 0.2).astype(int)
    method = Newton.from_zero(make_problem(X, y, PAIR, C=C), 0.0, 1, threading.Event())
    seen = []
    method.run(0.01, 100, lambda *step: seen.append(step))
    assert len(seen) < 100
    assert not method._is_anchored
