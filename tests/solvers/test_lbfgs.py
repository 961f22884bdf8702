"""All problems of a smooth loss at once, against scikit-learn, the dual solver, and the gap in plain NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_digits, load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

from kernline import AdditiveSVC, AdditiveSVR, kernels, losses
from kernline.solvers.certificate import certify
from kernline.training import AdditiveSettings, Intercept, encode

PRECISE = {"tol": 1e-9, "max_iter": 10_000}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400]


def linear(**params):
    return AdditiveSVC("linear", gamma=1.0, loss="log", scale="max", **params)


def value_of(X, y, coef, intercept, C, weight=1.0):
    """½‖w‖² + C Σ ℓ of multinomial logistic regression."""
    scores = X @ coef.T + intercept
    log_likelihood = weight * log_softmax(scores, axis=1)[np.arange(len(y)), y]
    return 0.5 * (coef**2).sum() - C * log_likelihood.sum()


class TestLogisticRegression:
    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
    @pytest.mark.parametrize("C", [0.1, 10.0])
    def test_softmax(self, iris, C, layout):
        X, y = iris
        peer = LogisticRegression(C=C, tol=1e-10, max_iter=10**5).fit(X, y)
        ours = linear(C=C, **PRECISE).fit(layout(X), y)
        assert ours.solver_ == "joint"
        assert_allclose(ours.objective_, value_of(X, y, peer.coef_, peer.intercept_, C), rtol=1e-4)
        assert_allclose(ours.predict_proba(layout(X)), peer.predict_proba(X), atol=1e-4)

    def test_many_classes(self, digits):
        X, y = digits
        peer = LogisticRegression(C=0.01, tol=1e-8, max_iter=10**5).fit(X, y)
        ours = linear(C=0.01, **PRECISE).fit(X, y)
        assert_allclose(ours.objective_, value_of(X, y, peer.coef_, peer.intercept_, 0.01), rtol=1e-4)
        assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-3)

    def test_two_classes(self, iris):
        X, y = iris[0], iris[1] == 1
        peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=10**5).fit(X, y)
        ours = linear(C=2.0, **PRECISE).fit(X, y)
        assert_allclose(ours.shapes_.weights[0, :, 0], peer.coef_[0], atol=1e-3)
        assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)

    def test_without_an_intercept(self, iris):
        X, y = iris
        peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10**5).fit(X, y)
        ours = linear(C=1.0, fit_intercept=False, **PRECISE).fit(X, y)
        assert_array_equal(ours.intercept_, np.zeros(3))
        assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)

    def test_a_penalised_intercept_is_a_constant_feature(self, iris):
        X, y = iris
        constant = 0.5 * np.sqrt(np.mean((X**2).sum(axis=1)))
        padded = np.column_stack([X, np.full(len(X), constant)])
        peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10**5).fit(padded, y)
        ours = linear(C=1.0, intercept_scaling=0.5, **PRECISE).fit(X, y)
        assert_allclose(ours.objective_, value_of(padded, y, peer.coef_, 0.0, 1.0), rtol=1e-4)
        assert_allclose(ours.predict_proba(X), peer.predict_proba(padded), atol=1e-4)


@pytest.mark.parametrize("scale", ["minmax", "rank"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_dual_solver_finds_the_same(iris, C, scale):
    X, y = iris[0], iris[1] == 1
    shared = {"kernel": "intersection", "scale": scale, "loss": "log", "C": C, "tol": 1e-4, "max_iter": 10_000}
    joint, dual = AdditiveSVC(**shared).fit(X, y), AdditiveSVC(solver="dual-cd", **shared).fit(X, y)
    assert (joint.solver_, dual.solver_) == ("joint", "dual-cd")
    assert_allclose(joint.objective_, dual.objective_, rtol=2e-4)
    assert_allclose(joint.predict_proba(X), dual.predict_proba(X), atol=0.02)


@pytest.mark.parametrize("tol", [0.1, 1e-3])
def test_the_gap_of_softmax_is_half_the_squared_gradient(iris, tol):
    X, y = iris
    model = linear(C=1.0, tol=tol).fit(X, y)
    W = model.shapes_.weights[:, :, 0].astype(np.float64)
    residual = softmax(X @ W.T + model.intercept_, axis=1) - np.eye(3)[y]
    gradient = W + residual.T @ X
    assert_allclose(model.dual_gap_[0], 0.5 * (gradient**2).sum(), rtol=1e-2, atol=1e-6)
    assert_allclose(residual.sum(axis=0), 0.0, atol=1e-4)  # else it would be no certificate
    assert_allclose(model.objective_[0], value_of(X, y, W, model.intercept_, 1.0), rtol=1e-5)


@pytest.mark.parametrize("tol", [0.1, 1e-3])
def test_the_gap_of_curves_is_that_of_the_certificate(digits, tol):
    """The dual objective of β = −c ℓ′ is computed from the tables alone, without the core."""
    X, y = digits[0], np.where(digits[1] < 5, -1.0, 1.0)
    model = AdditiveSVC("chi2", scale="max", loss="log", C=3.0, tol=tol).fit(X, y)
    settings = AdditiveSettings(kernel=kernels.Chi2(), loss=losses.get("log"), intercept=Intercept(True, None))
    problem = encode(X, settings).problem(y, np.full(len(X), 3.0))
    beta = -3.0 * losses.get("log").gradient(y, model.decision_function(X))
    dual = certify(problem, beta, model.intercept_[0]).dual
    assert_allclose(model.objective_[0] - dual, model.dual_gap_[0], rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_squared_errors_are_kernel_ridge_regression(n_outputs):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 12)).astype(float)  # on which hats are exact
    Y = (X @ rng.standard_normal((12, 2)) + rng.standard_normal((200, 2)))[:, :n_outputs].squeeze()
    gram = kernels.Intersection()(X)
    peer = KernelRidge(alpha=0.5 / 0.3, kernel="precomputed").fit(gram, Y)
    ours = AdditiveSVR("intersection", gamma=1.0, scale="max", C=0.3, fit_intercept=False, **PRECISE).fit(X, Y)
    assert ours.solver_ == "joint"
    assert_allclose(ours.predict(X), peer.predict(gram), atol=1e-3)


def test_threads_do_not_change_the_result(digits):
    X, y = digits
    one, two = (AdditiveSVC("chi2", loss="log", interactions=3, n_jobs=n).fit(X, y) for n in (1, 2))
    assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert_array_equal(one.objective_, two.objective_)


@pytest.mark.parametrize("interactions", [0, [(0, 1), (2, 3)]])
def test_a_weight_is_a_number_of_rows(iris, interactions):
    X, y = iris
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    shared = {"kernel": "intersection", "scale": "minmax", "loss": "log", "C": 1.0, "gamma": 1.0, "tol": 1e-8}
    weighted = AdditiveSVC(interactions=interactions, **shared).fit(X, y, sample_weight=weight)
    repeated = AdditiveSVC(interactions=interactions, **shared).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-5)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-3)


def test_the_history_ends_with_the_result(digits):
    X, y = digits
    model = AdditiveSVC("chi2", scale="max", loss="log", C=1.0).fit(X, y)
    last = model.history_[0][-1]
    assert last.gap == model.dual_gap_[0]
    assert_allclose(last.dual + last.gap, model.objective_[0])
    assert last.gap <= 0.01 * model.objective_[0]
    assert len(model.history_[0]) == model.n_iter_[0]


def noisy():
    """Two columns that matter and two that do not, what the first two add up to, and a source of noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (3000, 4))
    return X, 2.0 * np.sin(3.0 * X[:, 0]) + 2.0 * X[:, 1] ** 2, rng


def assert_noise_is_shrunk(weights):
    """Below 1, with which every column begins, and below those of the columns that matter.

    How far below is not stated: two rounds, with a few observations of 1 added, do not go all the way.
    """
    assert weights[2:].max() < min(1.0, weights[:2].min())


class TestEvidence:
    def test_a_noise_feature_gets_a_small_weight(self):
        X, f, rng = noisy()
        y = rng.random(len(f)) < 1.0 / (1.0 + np.exp(1.0 - 2.0 * f))
        weights = AdditiveSVC().fit(X, y).feature_weights_
        assert_noise_is_shrunk(weights)
        assert_array_equal(AdditiveSVC(C=1.0, loss="log", kernel="intersection").fit(X, y).feature_weights_, np.ones(4))

    @pytest.mark.parametrize("noise", [0.1, 1.0])
    def test_the_cost_of_a_regression_is_that_of_its_noise(self, noise):
        X, f, rng = noisy()
        y = f + noise * rng.standard_normal(len(f))
        model = AdditiveSVR().fit(X, y)
        assert_allclose(model.C_, y.var() / (2.0 * noise**2), rtol=0.2)
        assert_noise_is_shrunk(model.feature_weights_)
