"""Steps, averages and parts of BudgetedSGD against stochastic gradient descent written out in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from kernline import BudgetedSVC
from kernline.solvers import BudgetedModel, BudgetedSGD
from kernline.solvers.budgeted_sgd import values_of

from .budgeted import GAMMA, C, decision, fit, kernel


def unbudgeted(X, y, passes, weights=None, intercept=0.0):
    """Pegasos in its own words: w ← (1 − η_t λ) w + η_t y φ(x) on a violation, η_t = 1 / (λ t)."""
    n = y.size
    weights = np.ones(n) if weights is None else weights
    K = kernel(X, X) + intercept
    alpha, rate = np.zeros(n), 1.0 / (n * C)
    for t, i in enumerate(np.tile(np.arange(n), passes), start=1):
        violated = y[i] * (K[i] @ alpha) < 1.0
        alpha *= 1.0 - 1.0 / t
        if violated:
            alpha[i] += weights[i] * y[i] / (rate * t)
    return alpha


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_large_budget_is_unbudgeted_sgd(clouds, make, intercept):
    X, y = clouds
    model, history = fit(make(X), y, budget=400, passes=3, intercept=intercept)
    alpha = unbudgeted(X, y, 3, intercept=float(intercept))
    assert model.counts.size == np.count_nonzero(alpha) < 400
    assert sum(report.n_maintained for report in history) == 0
    place = cdist(X, model.vectors).argmin(axis=0)
    assert_allclose(model.coefficients, alpha[place], rtol=1e-6)
    assert_array_equal(np.sort(place), np.flatnonzero(alpha))
    assert_allclose(model.intercept, alpha.sum() if intercept else 0.0, atol=1e-6)


def test_weights_are_factors_of_the_loss(clouds):
    X, y = clouds
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    model, _ = fit(X, y, weights, budget=400, passes=2)
    alpha = unbudgeted(X, y, 2, weights)
    assert_allclose(decision(model, X), kernel(X, X) @ alpha, rtol=1e-4, atol=1e-4)


class TestAverage:
    def test_is_that_of_the_iterates(self, clouds):
        """Without merging, the weighted mean of all iterates, each computed by a run of its own."""
        X, y = clouds
        X, y = X[:60], y[:60]
        averaged, _ = fit(X, y, budget=60, average=True)
        iterates, weights, rate = [], [], 60.0
        alpha = np.zeros(60)
        for t in range(1, 61):
            violated = y[t - 1] * (kernel(X[t - 1], X)[0] @ alpha) < 1.0
            alpha = alpha * (1.0 - 1.0 / t)
            if violated:
                alpha[t - 1] += C * 60 / t * y[t - 1]
            iterates.append(alpha)
            weights.append((1.0 + 20.0 / rate) ** t)
        mean = np.average(iterates, axis=0, weights=weights)
        assert_allclose(decision(averaged, X), kernel(X, X) @ mean, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("seed", range(4))
    def test_gives_way_where_the_last_iterates_err_less(self, clouds, seed):
        """On one step in 16, before it: whose sign is wrong, the iterate's or the average's, written out in NumPy."""
        X, y = clouds
        order = np.random.default_rng(seed).permutation(400)[:160]
        X, y = X[order], np.where(np.random.default_rng(seed).random(160) < 0.4, -y[order], y[order])
        settings = BudgetedSGD(gamma=GAMMA, C=C, budget=160, shuffle=False, intercept=False, tol=0.0, passes=1)
        alpha, mean, weight, total = np.zeros(160), np.zeros(160), 1.0, 0.0
        wrong = np.zeros(2)
        for t in range(160):
            K = kernel(X[t], X)[0]
            if t > 0 and t % 16 == 0:
                wrong += [y[t] * (K @ alpha) <= 0.0, y[t] * (K @ mean) <= 0.0]
            violated = y[t] * (K @ alpha) < 1.0
            alpha *= t / (t + 1.0)
            if violated:
                alpha[t] += C * 160 / (t + 1.0) * y[t]
            weight *= 1.0 + 20.0 / 160
            total += weight
            mean += weight / total * (alpha - mean)
        model, _ = settings.fit(values_of(X, GAMMA), y)
        expected = alpha if wrong[1] > wrong[0] else mean
        assert_allclose(decision(model, X), kernel(X, X) @ expected, rtol=1e-3, atol=1e-3)

    def test_is_steadier_than_the_last_iterate(self, moons):
        X, y = moons
        scores = {
            average: [
                BudgetedSVC(budget=30, C=30, average=average, passes=5, random_state=seed).fit(X, y).score(X, y)
                for seed in range(5)
            ]
            for average in (False, True)
        }
        assert np.mean(scores[True]) > np.mean(scores[False])
        assert np.std(scores[True]) < np.std(scores[False])


def test_chunks_do_not_matter(clouds):
    """One pass in one part or in many, in the order of the rows, is the same sequence of steps."""
    X, y = clouds
    settings = BudgetedSGD(gamma=GAMMA, C=C, budget=20, shuffle=False, intercept=True)
    models = []
    for n_parts in (1, 7):
        model = BudgetedModel.empty(5)
        for part in np.array_split(np.arange(400), n_parts):
            model = settings.go_on(values_of(X[part], settings.gamma), y[part], model)
        models.append(model)
    assert_allclose(models[0].coefficients, models[1].coefficients, rtol=1e-5)
    assert_allclose(models[0].vectors, models[1].vectors, rtol=1e-5)
    assert_allclose(models[0].intercept, models[1].intercept, rtol=1e-9)
