"""Newton's method on many rows, which starts from the solution of a sample of them."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernline import kernels, tables
from kernline.solvers import DualCD
from kernline.solvers.certificate import certify
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
