"""A free intercept: the same optimum as SVC's, whatever the data, and a certificate with Σβ = 0."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC, LinearSVC

from kernline import AdditiveSVC, kernels, losses, tables, training
from kernline.solvers import DualCD, intercept
from kernline.solvers.certificate import certify, explicit_features
from kernline.solvers.descent import Descent, core_solver
from kernline.solvers.epochs import Stretch, negligible_share
from kernline.solvers.intercept import Centring, balance, best_intercept, kernel_mean
from kernline.solvers.problem import is_free

LOSSES = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.Logistic(),
    losses.EpsilonInsensitive(0.1),
    losses.SquaredEpsilonInsensitive(0.1),
    losses.SquaredError(),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def rows_of(X, loss=LOSSES[0], kernel=None, **settings):
    kernel = kernel or kernels.Chi2()
    return training.encode(X, training.AdditiveSettings(kernel, loss=loss, **settings))


def counts(n=300, d=20, seed=0):
    """Counts of heavy-tailed rows, and labels of which a third are positive."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.pareto(1.5, (n, 1)) * rng.random(d)).astype(float)
    score = np.log1p(X) @ rng.normal(size=d) + 0.5 * rng.standard_normal(n)
    return X, np.where(score > np.quantile(score, 2 / 3), 1.0, -1.0)


def gram(problem):
    read, write = explicit_features(problem)
    return (read @ write.T).toarray()


class TestOptimum:
    @pytest.mark.parametrize("C", [1e-3, 0.1, 10.0, 1e3])
    @pytest.mark.parametrize("solver", ["dual-cd", "newton", "auto"])
    def test_of_svc(self, C, solver):
        X, t = counts()
        problem = rows_of(X).problem(t, np.full(t.size, C))
        result = DualCD(tol=1e-4, max_iter=20_000, solver=solver).solve(problem)
        certificate = certify(problem, result.beta, result.intercept)
        assert result.converged
        assert abs(result.beta.sum()) <= 1e-5 * np.abs(result.beta).sum()
        assert_allclose(result.primal, certificate.primal, rtol=1e-4)
        assert_allclose(result.gap, certificate.gap, atol=1e-5 * certificate.primal, rtol=1e-2)
        exact = SVC(kernel="precomputed", C=C, tol=1e-8).fit(gram(problem), t)
        decision = exact.decision_function(gram(problem))
        beta = exact.dual_coef_[0]
        best = (
            0.5 * beta @ (decision - exact.intercept_)[exact.support_] + C * np.maximum(0.0, 1.0 - t * decision).sum()
        )
        assert_allclose(result.primal, best, rtol=2e-4)

    @every_loss
    @pytest.mark.parametrize("solver", ["dual-cd", "newton"])
    def test_cannot_be_improved_by_another_intercept(self, loss, solver):
        X, t = counts()
        if loss.targets == "numbers":
            t = 100.0 + np.log1p(X[:, :5]).sum(axis=1)
        problem = rows_of(X, loss).problem(t, np.full(t.size, 2.0))
        result = DualCD(tol=1e-4, max_iter=20_000, solver=solver).solve(problem)
        assert result.converged
        certificate = certify(problem, result.beta, result.intercept)
        assert certificate.gap <= 2e-4 * certificate.primal
        curve = certificate.decision - result.intercept
        assert_allclose(best_intercept(problem, curve), result.intercept, atol=0.02)


class TestHardCases:
    @pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
    @pytest.mark.parametrize("n_positive", [1, 2, 299])
    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
    def test_one_class_nearly_empty(self, C, n_positive, loss):
        X, _ = counts()
        y = np.arange(300) < n_positive
        model = AdditiveSVC("chi2", C=C, loss=loss, random_state=0).fit(X, y)  # a ConvergenceWarning would be an error
        assert model.dual_gap_[0] <= 0.01 * model.objective_[0]
        assert np.isfinite(model.intercept_).all()

    @pytest.mark.parametrize("solver", ["dual-cd", "newton"])
    def test_labels_of_one_side(self, solver):
        """f = 0 and b = 1 lose nothing; no pair of rows can have Σβ = 0 otherwise."""
        X, _ = counts()
        problem = rows_of(X).problem(np.ones(300), np.full(300, 1.0))
        result = DualCD(tol=1e-3, solver=solver).solve(problem)
        assert result.converged
        assert result.primal <= 1e-6 * 300
        assert result.intercept >= 1.0 - 1e-6

    def test_rows_of_weight_zero_do_not_count(self):
        X, t = counts()
        kept = np.arange(300) % 3 > 0
        weighted = AdditiveSVC("chi2", tol=1e-4, random_state=0).fit(X, t, sample_weight=kept.astype(float))
        alone = AdditiveSVC("chi2", tol=1e-4, random_state=0, gamma=weighted.gamma_).fit(X[kept], t[kept])
        if np.array_equal(X.max(axis=0), X[kept].max(axis=0)):
            assert_allclose(weighted.decision_function(X), alone.decision_function(X), atol=0.02)

    def test_copies_of_one_row(self):
        """All rows lie in one point, where the mean is: K(x, x), centred, is 0."""
        X = np.ones((40, 3))
        y = np.arange(40) % 4 == 0
        model = AdditiveSVC("chi2", C=10.0, random_state=0).fit(X, y)
        assert_allclose(model.decision_function(X), -1.0, atol=0.05)

    def test_rows_of_zeros(self):
        model = AdditiveSVC("chi2", C=1e4).fit(np.zeros((3, 2)), [0, 1, 1])
        assert_allclose(model.decision_function(np.zeros((1, 2))), 1.0, atol=1e-3)

    def test_a_penalised_one_is_that_of_liblinear(self):
        X, t = counts()
        peer = LinearSVC(loss="hinge", C=0.01, tol=1e-6, max_iter=10**6).fit(X, t)
        scaling = 1.0 / np.sqrt((X**2).sum(axis=1).mean())
        ours = AdditiveSVC("linear", C=0.01, gamma=1.0, intercept_scaling=scaling, tol=1e-6, max_iter=10**5).fit(X, t)
        assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=0.02)


class TestBalance:
    def test_sums_to_zero_within_the_bounds(self):
        rng = np.random.default_rng(0)
        low, high = np.full(50, -1.0), np.full(50, 2.0)
        for total in (-20.0, -0.1, 0.0, 0.3, 20.0):
            beta = np.clip(rng.normal(size=50) + total / 50, low, high)
            found = balance(beta, (low, high), rng.random(50) + 0.1)
            assert abs(found.sum()) <= 1e-9
            assert (found >= low - 1e-12).all()
            assert (found <= high + 1e-12).all()

    def test_long_rows_change_less(self):
        beta, norms = np.array([0.5, 0.5, -0.4]), np.array([1.0, 10.0, 1.0])
        change = np.abs(balance(beta, (np.full(3, -1.0), np.full(3, 1.0)), norms) - beta)
        assert change[1] < change[0]


class TestMean:
    @pytest.mark.parametrize("kernel", [kernels.Chi2(), kernels.Intersection(), kernels.Linear()])
    def test_products_are_those_of_a_mean(self, kernel):
        """With few rows all are taken, weighted by 1 / K(x, x)."""
        rng = np.random.default_rng(0)
        rows = rows_of(1.0 + rng.random((80, 6)), kernel=kernel)
        K = gram(rows.problem(np.ones(80), np.ones(80)))
        weight = 1.0 / np.diag(K)
        weight /= weight.sum()
        assert_allclose(rows.mean.products, K @ weight, rtol=1e-4)
        assert_allclose(rows.mean.square, weight @ K @ weight, rtol=1e-4)

    def test_none_if_rows_have_little_in_common(self):
        assert rows_of(np.eye(50), kernel=kernels.Linear()).mean is None

    def test_none_of_rows_of_zeros(self):
        pair = tables.linear_pair()
        rows = rows_of(np.eye(3), kernel=kernels.Linear())
        assert kernel_mean(rows.data, pair, np.ones(3), np.zeros(3)) is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("C", [0.05, 0.2, 1.0])
def test_the_centre_does_not_swing(seed, C):
    """A centre beyond b, without a secant, swung ever further on rows as plain as these."""
    rng = np.random.default_rng(seed)
    X = rng.random((4000, 12))
    score = X @ rng.normal(size=12) + 0.8 * rng.standard_normal(4000)
    targets = np.where(score > np.quantile(score, 0.7), 1.0, -1.0)
    problem = rows_of(X, kernel=kernels.Intersection(), scale="rank").problem(targets, np.full(4000, C))
    result = DualCD(0.01, 25, solver="dual-cd").solve(problem)
    assert result.converged


def test_rows_at_a_bound_that_float32_rounds_are_not_free():
    X, targets = counts()
    problem = rows_of(X).problem(targets, np.full(targets.size, 0.7))
    result = DualCD(1e-3, solver="dual-cd").solve(problem)
    at_bound = np.isclose(np.abs(result.beta), 0.7, rtol=1e-6)
    assert at_bound.sum() > 10
    assert not is_free(result.beta, *problem.bounds)[at_bound].any()
    assert abs(result.beta.sum()) <= 1e-9


def test_targets_far_from_zero():
    X, _ = counts()
    y = np.log1p(X).sum(axis=1)
    rows = rows_of(X, losses.EpsilonInsensitive(0.1))
    near, far = (DualCD(1e-4, solver="dual-cd").solve(rows.problem(y + shift, np.ones(y.size))) for shift in (0.0, 1e6))
    assert_allclose(far.primal, near.primal, rtol=1e-3)
    found = certify(rows.problem(y + 1e6, np.ones(y.size)), far.beta, far.intercept)
    assert_allclose(found.primal, far.primal, rtol=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_differ_in_one_feature(seed):
    """κ was learnt from a tiny Σβ, far too large: then no row's share of the gap seemed worth a step."""
    rng = np.random.default_rng(0)
    X = np.broadcast_to(np.round(4.0 * rng.gamma(1.0, 1.0, (48, 1))), (48, 9))
    targets = np.where(rng.integers(0, 3, 48) == 1, 1.0, -1.0)
    problem = rows_of(X).problem(targets, np.full(48, 100.0))
    assert DualCD(0.01, 1000, seed=seed, solver="dual-cd").solve(problem).converged


def test_another_point_can_be_evaluated_in_between():
    """Neither the point nor the rests change: the same epochs follow as without it."""
    X, t = counts()
    problem = rows_of(X).problem(t, np.full(t.size, 10.0))
    found = []
    for looks_aside in (False, True):
        core = core_solver(problem, 0, True)
        for epoch in range(12):
            core.set_negligible(1e-3)
            assert core.sweep(60.0)
            if looks_aside and epoch % 4 == 2:
                core.save()
                core.set_beta(np.zeros(t.size))
                core.set_centre(3.0)
                assert core.rebuild(60.0)
                core.restore()
        beta, weights = np.empty(t.size), np.empty(problem.data.n_columns * problem.pair.width, dtype=np.float32)
        core.copy_beta(beta)
        core.copy_weights(weights)
        found.append((core.n_visits, core.dual, core.intercept, *beta, *weights))
    assert found[0] == found[1]
    with pytest.raises(ValueError, match="nothing is saved"):
        core.restore()
    with pytest.raises(ValueError, match="no certificate"):
        core.wake_by_shares()


def test_epochs_in_the_core_move_the_centre_as_in_python():
    X, t = counts()
    problem = rows_of(X).problem(t, np.full(t.size, 10.0))
    descent = Descent(problem, 0, True, threading.Event())
    epochs, is_due = descent.sweeps(Stretch(15, 99, 10**9, 0.01))
    assert (len(epochs), is_due) == (15, False)

    centring = Centring.of(problem, descent.norms)
    core = core_solver(problem, 0, True)
    core.set_centre(centring.first)
    awake_at = core.centre
    for _, dual, gap, n_visits in epochs:
        assert core.sweep(60.0)
        total = core.beta_sum
        centre = centring.next_centre(core.centre + centring.s * total, total, core.active_gap)
        if centre is not None:
            core.set_centre(centre)
            if abs(centre - awake_at) > 0.5 * centring.reach:
                core.wake_all()
                awake_at = centre
        assert n_visits == core.n_visits
        assert_allclose([dual, gap], [core.dual, core.active_gap + centring.imbalance(core.beta_sum)], rtol=1e-4)
        core.set_negligible(negligible_share(0.01, core.dual + core.active_gap, t.size))
    assert np.ptp([gap for _, _, gap, _ in epochs]) > 0.0


@every_loss
@pytest.mark.parametrize("shift", [-0.4, 0.0, 0.3])
@pytest.mark.parametrize("exact", [False, True])
def test_certificates_of_the_core_are_those_of_python(loss, shift, exact):
    X, t = counts()
    rng = np.random.default_rng(0)
    problem = replace(rows_of(X).problem(t, np.full(t.size, 2.0)), loss=loss)
    descent = Descent(problem, 0, True, threading.Event())
    core, low, high = descent.core, *problem.bounds
    beta = np.clip(0.7 * rng.normal(shift, 1.0, t.size), low, high)
    core.set_beta(beta)
    assert core.rebuild(60.0)
    assert_allclose(core.beta_sum, beta.sum())

    core.balance(exact)
    if exact:
        assert core.rebuild(60.0)
    found, expected = descent.beta, balance(beta, problem.bounds, descent.norms)
    assert abs(found.sum()) < 1e-6 * np.abs(found).sum()
    assert_allclose(found, expected, atol=1e-5)

    values = descent._values()
    assert_allclose(values, gram(problem) @ found, atol=1e-4 * np.abs(values).max())
    gap, primal = core.certify(values)
    f = values + core.intercept
    at_best = values + best_intercept(problem, values)  # losses with kinks have several
    assert_allclose(problem.cost @ loss.value(t, f), problem.cost @ loss.value(t, at_best), rtol=1e-6)
    assert_allclose(gap, loss.gap(t, problem.cost, found, f).sum(), rtol=1e-6)
    assert_allclose(primal, problem.cost @ loss.value(t, f) + 0.5 * (found @ values), rtol=1e-6)
    core.restore()
    assert_allclose(descent.beta, beta)


@pytest.mark.parametrize("seed", [0, 5])
def test_a_few_long_rows_do_not_slow_down_the_others(seed, monkeypatch):
    """The constant of the intercept follows the median of K(x, x), not its mean, where C is large."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(np.outer(rng.lognormal(1.0, 1.2, 400), rng.random((1, 40)) ** 4)).astype(float)
    y = X @ rng.normal(size=40) > 0.0
    assert np.mean(np.sum(X**2, axis=1)) > 4.0 * np.median(np.sum(X**2, axis=1))
    model = AdditiveSVC("linear", C=1e4, solver="dual-cd", max_iter=3000)
    epochs = model.fit(X, y).n_iter_.sum()
    monkeypatch.setattr(intercept, "free_square", lambda norms, cost=0.0: 0.05 * float(np.mean(norms)))
    assert epochs < 0.7 * model.fit(X, y).n_iter_.sum()


@pytest.mark.parametrize("size", [1, 2, 3, 10, 11])
def test_the_median_is_that_of_numpy(size):
    values = np.random.default_rng(size).random(size)
    assert intercept._median(values) == np.median(values)
