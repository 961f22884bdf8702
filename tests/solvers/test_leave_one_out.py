"""Leave-one-out scores: the referee is a fit without the row."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from kernline import AdditiveSVC, kernels, losses
from kernline.joint_losses import Separate, Softmax
from kernline.solvers import evidence, leave_one_out
from kernline.solvers.basis import Basis
from kernline.solvers.lbfgs import LBFGS, SmoothProblem
from kernline.training import AdditiveSettings, encode


def problem_of(n_classes, step=2):
    X, y = load_iris(return_X_y=True)
    X, y = X[::step], y[::step]
    rows = encode(X, AdditiveSettings(kernels.Intersection(), scale="rank"))
    basis = Basis(rows.data, rows.pair, rows.scales, [], None, 1, threading.Event())
    cost = np.full(len(y), 3.0)
    loss = (
        Softmax(y, 3, cost)
        if n_classes == 3
        else Separate(losses.Logistic(), np.where(y == 1, 1.0, -1.0)[:, None], cost)
    )
    return SmoothProblem(basis, loss, np.array([0.5, 1.0, 2.0, 1.0]))


def values(problem):
    return evidence.Evidence(tol=1e-6, max_iter=1000).solve(problem, lambda report: False)[1].point.F


@pytest.mark.parametrize(("n_classes", "step", "by_unknowns"), [(2, 1, True), (2, 2, False), (3, 2, False)])
def test_scores_are_those_of_a_fit_without_the_row(n_classes, step, by_unknowns):
    problem = problem_of(n_classes, step)
    assert (2 * problem.basis.sizes.sum() <= problem.basis.data.n_rows) == by_unknowns
    F = values(problem)
    rows = np.arange(len(F))
    change = leave_one_out._changes(LBFGS(problem), problem.loss, F, rows, 1.0)
    some = rows[:: 10 // step]
    exact = []
    for i in some:
        cost = problem.loss.cost.copy()
        cost[i] = 0.0
        exact.append(values(replace(problem, loss=replace(problem.loss, cost=cost)))[i] - F[i])
    exact, change = np.array(exact).ravel(), change[some].ravel()
    if n_classes == 2:
        assert_allclose(change, exact, atol=0.02 * np.abs(exact).max())
        return
    # Without what couples the classes, the same rows move, by a little more or less.
    assert np.corrcoef(change, exact)[0, 1] > 0.95
    assert 0.8 < (change @ exact) / (exact @ exact) < 1.3


def test_a_sample_of_rows_stands_for_all(monkeypatch):
    problem = problem_of(3)
    problem = replace(problem, loss=replace(problem.loss, cost=np.full(len(problem.loss.cost), 30.0)))
    F = values(problem)
    factor = leave_one_out.score_factor(LBFGS(problem), F)
    assert 1.05 < factor < 1.9
    monkeypatch.setattr(leave_one_out, "_MOST_ROWS", len(F) - 15)
    assert_allclose(leave_one_out.score_factor(LBFGS(problem), F), factor, rtol=0.1)


def test_rows_without_cost_are_left_out():
    problem = problem_of(3)
    cost = np.where(np.arange(len(problem.loss.cost)) % 3 == 0, 0.0, 3.0)
    without = replace(problem, loss=replace(problem.loss, cost=cost))
    F = values(without)
    other = F.copy()
    other[::3] += 100.0
    assert leave_one_out.score_factor(LBFGS(without), F) == leave_one_out.score_factor(LBFGS(without), other)


def test_separable_classes_get_sure_probabilities(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = (X[:, 0] + X[:, 1] > 0.0) * 1
    X[:, 0] += 2.0 * np.where(y == 1, 1.0, -1.0)
    ours = AdditiveSVC().fit(X[:300], y[:300])
    monkeypatch.setattr(evidence, "score_factor", lambda lbfgs, F: 1.0)
    timid = AdditiveSVC().fit(X[:300], y[:300])
    loss = [log_loss(y[300:], model.predict_proba(X[300:])) for model in (ours, timid)]
    assert loss[0] < 0.8 * loss[1]


def test_noise_is_not_taken_for_certain(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 30)), rng.integers(2, size=300)
    found = []
    monkeypatch.setattr(evidence, "score_factor", lambda lbfgs, F: found.append(score(lbfgs, F)) or found[-1])
    score = leave_one_out.score_factor
    AdditiveSVC().fit(X, y)
    assert found[0] < 0.7
