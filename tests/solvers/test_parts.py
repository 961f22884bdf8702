"""One problem in parts: the same optimum and certificate, and the same bits from any number of threads."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernline import AdditiveSVC, kernels, training
from kernline.solvers import DualCD, parts
from kernline.solvers.certificate import certify
from kernline.solvers.descent import core_solver

from .test_intercept import LOSSES


@pytest.fixture(autouse=True)
def short_parts(monkeypatch):
    monkeypatch.setattr(parts, "_LEAST_SECONDS", 1e-7)
    monkeypatch.setattr(parts, "_ROUNDS", 4)


def problem_of(C=1.0, loss=LOSSES[0], n=3000, members=None, **settings):
    rng = np.random.default_rng(0)
    X = rng.random((n, 12))
    score = X @ rng.normal(size=12) + np.sin(5.0 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    targets = score - score.mean() if loss.targets == "numbers" else np.where(score > np.median(score), 1.0, -1.0)
    options = training.AdditiveSettings(kernels.Intersection(), scale="rank", loss=loss, **settings)
    problem = training.encode(X, options).problem
    if members is None:
        return problem(targets, np.full(n, C))
    return problem(targets[members], np.full(members.size, C), members)


def solve(problem, tol=1e-3, n_parts=16, n_threads=1, **settings):
    solver = DualCD(tol, seed=1, solver="dual-cd", n_parts=n_parts, n_threads=n_threads, **settings)
    return solver.solve(problem)


def n_passes(result, problem):
    return sum(report.n_active for report in result.history) / problem.n_rows


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", [training.FREE, training.Intercept(scaling=1.0)], ids=["free", "penalised"])
def test_the_optimum_and_its_certificate(loss, intercept):
    problem = problem_of(loss=loss, intercept=intercept)
    alone, found = solve(problem, n_parts=1), solve(problem)
    assert found.converged
    assert not np.array_equal(found.beta, alone.beta)  # it did work in parts
    assert_allclose(found.primal, alone.primal, rtol=2e-3)
    certificate = certify(problem, found.beta, found.intercept)
    assert_allclose(
        [certificate.primal, certificate.gap], [found.primal, found.gap], rtol=1e-3, atol=1e-4 * found.primal
    )


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_any_number_of_threads(C):
    problem = problem_of(C)
    one = solve(problem)
    for n_threads in (2, 3, 40):
        other = solve(problem, n_threads=n_threads)
        assert_array_equal(other.beta, one.beta)
        assert_array_equal(other.weights, one.weights)
        assert [report[2:] for report in other.history] == [report[2:] for report in one.history]


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0, 100.0])
def test_few_more_visits_than_alone(C):
    problem = problem_of(C)
    alone, found = solve(problem, 0.01, n_parts=1), solve(problem, 0.01)
    assert n_passes(found, problem) <= 2.5 * n_passes(alone, problem) + 1.0


def test_members_only():
    members = np.arange(0, 3000, 2, dtype=np.int32)
    problem = problem_of(members=members)
    assert_allclose(solve(problem).primal, solve(problem, n_parts=1).primal, rtol=2e-3)


def test_which_problems_have_parts(monkeypatch):
    assert parts.least_rows(problem_of()) == 16
    assert parts.least_rows(problem_of(n=50)) == 0
    assert parts.least_rows(problem_of(approximation="pmsvm")) == 0
    monkeypatch.undo()
    assert parts.least_rows(problem_of()) == 0


def test_only_a_problem_that_is_alone(monkeypatch):
    asked = []
    monkeypatch.setattr("kernline.solvers.dual_cd.least_rows", lambda problem: asked.append(problem) or 0)
    X = np.random.default_rng(0).random((60, 3))
    AdditiveSVC("chi2").fit(X, np.arange(60) % 3)
    assert asked == []
    AdditiveSVC("chi2").fit(X, np.arange(60) % 2)
    assert len(asked) == 1


@pytest.mark.parametrize(("most_parts", "least_rows"), [(0, 8), (257, 8), (4, 0), (4, 2**25)])
def test_settings_out_of_range(most_parts, least_rows):
    core = core_solver(problem_of(n=50), 0, True)
    with pytest.raises(ValueError, match="parts"):
        core.set_parts(most_parts, least_rows)


def test_not_within_an_epoch():
    core = core_solver(problem_of(), 0, True)
    core.set_parts(4, 8)
    assert not core.sweep(0.0)
    with pytest.raises(ValueError, match="epoch"):
        core.set_parts(4, 8)


def test_an_epoch_in_many_slices():
    problem = problem_of()
    whole, sliced = (core_solver(problem, 0, True) for _ in range(2))
    for core in (whole, sliced):
        core.set_parts(8, 8)
    for _ in range(5):
        while not whole.sweep(10.0):
            pass
        while not sliced.sweep(1e-7, 2):
            pass
    assert whole.dual == sliced.dual


def test_interrupted():
    interrupted = threading.Event()
    interrupted.set()
    with pytest.raises(KeyboardInterrupt):
        DualCD(1e-3, n_parts=16, n_threads=2).solve(problem_of(), interrupted=interrupted)
