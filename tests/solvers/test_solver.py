"""The solver against its referees: the certificate in NumPy, and LIBLINEAR on the same problem written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.svm import LinearSVC

from kernline import kernels, losses, tables
from kernline.encoding import Encoder
from kernline.native import row_norms
from kernline.solvers import DualCD, Problem
from kernline.solvers.certificate import certify, explicit_features

from ..conftest import KERNELS


def make_problem(X, y, pair, *, C=1.0, loss="hinge", intercept_square=1.0, gamma=None):
    encoder = Encoder.fit(X, pair, kernel=kernels.Chi2())
    data = encoder.transform(X)
    norms = row_norms(data, pair, encoder.scales, n_threads=1)
    gamma = gamma or 1.0 / norms.mean()
    return Problem(
        data=data,
        pair=pair,
        scales=gamma * encoder.scales,
        targets=np.where(y == np.unique(y)[1], 1.0, -1.0),
        cost=np.broadcast_to(np.asarray(C, dtype=float), y.shape).copy(),
        curvature=gamma * norms + intercept_square,
        intercept_square=intercept_square,
        loss=losses.get(loss),
    )


SYMMETRIC = [pytest.param(tables.Hats().build(kernel), id=f"hats {kernel.name}") for kernel in KERNELS]
SYMMETRIC += [
    pytest.param(tables.Hats(knots=8).build(kernels.Chi2()), id="8 hats"),
    pytest.param(tables.Hats(knots=300).build(kernels.Chi2()), id="300 hats, 2 bytes"),
    pytest.param(tables.linear_pair(), id="linear"),
    pytest.param(tables.HomogeneousMap().build(kernels.Chi2()), id="feature-map"),
    pytest.param(tables.ChebyshevMap(5).build(kernels.Chi2()), id="chebyshev"),
    pytest.param(tables.LowDimensionalMap(5).build(kernels.JensenShannon()), id="low-dim"),
    pytest.param(tables.QuantisedIntersection(9).build(kernels.Intersection()), id="hik"),
]
ASYMMETRIC = [
    pytest.param(tables.Plame().build(kernels.Chi2()), id="plame"),
    pytest.param(tables.Plame(7).build(kernels.JensenShannon()), id="7 intervals"),
    pytest.param(tables.PolynomialGradient().build(kernels.Chi2()), id="pmsvm-lut"),
    pytest.param(tables.PolynomialGradient(4).build(kernels.Chi2()), id="degree 4"),
    pytest.param(tables.PmSVM().build(kernels.Chi2()), id="pmsvm"),
    pytest.param(tables.PmSVM(shortcut=True).build(kernels.PowerMean(-8.0)), id="pmsvm with its shortcut"),
]
LAYOUTS = [pytest.param(sp.csr_array.toarray, id="dense"), pytest.param(lambda X: X, id="sparse")]


@pytest.mark.parametrize("pair", SYMMETRIC + ASYMMETRIC)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_certificate_confirms_the_gap(histograms, pair, loss):
    X, y = histograms
    problem = make_problem(X, y, pair, C=10.0, loss=loss)
    tol = 1e-5 if pair.symmetric else 1e-4  # some of the others settle before 1e-5
    result = DualCD(tol=tol, max_iter=20_000).solve(problem)
    assert result.converged
    assert 0.0 <= result.gap <= tol * result.primal
    certificate = certify(problem, result.beta)
    assert_allclose(result.primal, certificate.primal, rtol=1e-5)
    # gap = primal - dual cancels all but its last digits in the certificate, so compare on the objective's scale
    assert_allclose(result.gap, certificate.gap, atol=1e-6 * certificate.primal, rtol=1e-4)
    assert certificate.violation < 0.1


@pytest.mark.parametrize("pair", SYMMETRIC)
@pytest.mark.parametrize("tol", [0.3, 0.01])
def test_gap_of_an_early_stop_equals_the_certificate(digits, pair, tol):
    X, y = digits
    problem = make_problem(X, y == 8, pair, C=1.0)
    result = DualCD(tol=tol).solve(problem)
    certificate = certify(problem, result.beta)
    assert result.gap <= tol * result.primal
    assert_allclose(result.gap, certificate.gap, rtol=1e-4)
    assert_allclose(result.dual, certificate.dual, rtol=1e-5)


@pytest.mark.parametrize("pair", SYMMETRIC)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_liblinear_finds_the_same_function(histograms, pair, layout, loss):
    """LinearSVC on the explicit features whose products are the kernel: same objective, same solution."""
    X, y = histograms
    problem = make_problem(layout(X), y, pair, C=2.0, loss=loss)
    result = DualCD(tol=1e-6, max_iter=100_000).solve(problem)
    read, write = explicit_features(problem)
    values, vectors = np.linalg.eigh((read @ write.T).toarray())
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    peer = LinearSVC(loss=loss, C=2.0, dual=True, tol=1e-8, max_iter=1_000_000).fit(features, problem.targets)
    assert_allclose(certify(problem, result.beta).decision, peer.decision_function(features), atol=5e-3)


@pytest.mark.parametrize("pair", SYMMETRIC + ASYMMETRIC)
def test_layouts_give_one_answer(histograms, pair):
    X, y = histograms
    results = [
        DualCD(tol=1e-4).solve(make_problem(layout(X), y, pair)) for layout in (sp.csr_array.toarray, lambda X: X)
    ]
    assert_allclose(results[0].primal, results[1].primal, rtol=2e-4)
    assert_allclose(results[0].weights, results[1].weights, atol=0.02 * np.abs(results[0].weights).max())


def test_same_seed_same_result(histograms):
    problem = make_problem(*histograms, tables.Hats().build(kernels.Chi2()))
    first, second, other = (DualCD(tol=0.01, seed=seed).solve(problem) for seed in (3, 3, 4))
    assert_allclose(first.beta, second.beta, rtol=0)
    assert np.abs(first.beta - other.beta).max() > 0


def test_without_intercept_the_weights_are_the_model(histograms):
    problem = make_problem(*histograms, tables.Hats().build(kernels.Chi2()), intercept_square=0.0)
    result = DualCD(tol=1e-3).solve(problem)
    assert result.intercept == 0.0
    assert_allclose(result.gap, certify(problem, result.beta).gap, rtol=1e-3)


def test_costs_of_their_own(histograms):
    X, y = histograms
    cost = np.random.default_rng(0).uniform(0.1, 10.0, y.size)
    problem = make_problem(X, y, tables.Hats().build(kernels.Chi2()), C=cost)
    result = DualCD(tol=1e-3).solve(problem)
    assert (np.abs(result.beta) <= cost * (1 + 1e-6)).all()
    assert_allclose(result.gap, certify(problem, result.beta).gap, rtol=1e-3)


def test_a_row_of_zeros_without_intercept():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    problem = make_problem(X, np.array([0, 1, 1]), tables.Hats().build(kernels.Chi2()), intercept_square=0.0)
    result = DualCD(tol=1e-6).solve(problem)
    assert result.converged
    assert result.beta[2] == 1.0  # nothing can be said of it, so it pays in full


def test_reports_every_epoch_and_stops_when_asked(histograms):
    problem = make_problem(*histograms, tables.Hats().build(kernels.Chi2()), C=100.0)
    seen = []

    def on_epoch(report):
        seen.append(report)
        return report.epoch == 3

    result = DualCD(tol=1e-9).solve(problem, on_epoch)
    assert [report.epoch for report in seen] == [1, 2, 3]
    assert result.history == seen
    assert not result.converged
    assert_allclose(result.gap, certify(problem, result.beta).gap, rtol=1e-4)


def test_dual_never_falls(histograms):
    problem = make_problem(*histograms, tables.Hats().build(kernels.Chi2()), C=10.0)
    history = DualCD(tol=1e-5, solver="dual-cd").solve(problem).history
    assert (np.diff([report.dual for report in history]) >= -1e-6 * history[-1].dual).all()


@pytest.mark.parametrize("solver", ["auto", "dual-cd", "newton"])
def test_a_start_far_off(histograms, solver):
    """With every β at its bound the dual objective is negative, and may stay so for many epochs."""
    problem = make_problem(*histograms, tables.Hats().build(kernels.Chi2()), C=1000.0)
    result = DualCD(tol=0.01, solver=solver, max_iter=5000).solve(problem, start=problem.targets * problem.cost)
    assert result.converged
    assert_allclose(result.gap, certify(problem, result.beta).gap, rtol=1e-3)
