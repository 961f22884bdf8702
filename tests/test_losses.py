"""Losses against their definitions, the core against NumPy, and solutions against LIBLINEAR, SciPy and closed forms."""

import threading
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVR

from kernline import kernels, losses, tables
from kernline.solvers import BlockProblems, Blockwise, DualCD
from kernline.solvers.certificate import certify, explicit_features
from kernline.solvers.descent import core_solver

from .solvers.test_solver import make_problem

ALL = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.Logistic(),
    losses.EpsilonInsensitive(0.3),
    losses.SquaredEpsilonInsensitive(0.3),
    losses.SquaredError(),
]
every_loss = pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)


def targets_of(loss, n, rng):
    return rng.choice([-1.0, 1.0], n) if loss.targets == "labels" else rng.normal(scale=2.0, size=n)


def rows_of(loss, n=200, seed=0):
    """Targets, costs, feasible β and values."""
    rng = np.random.default_rng(seed)
    t, c = targets_of(loss, n, rng), rng.uniform(0.2, 5.0, n)
    low, high = (np.clip(end, -4.0, 4.0) for end in loss.bounds(t, c))
    return t, c, low + rng.random(n) * (high - low), rng.normal(scale=2.0, size=n)


@every_loss
def test_gradient_and_curvature_are_derivatives(loss):
    t, _, _, f = rows_of(loss)
    width = 1e-6
    slope = (loss.value(t, f + width) - loss.value(t, f - width)) / (2.0 * width)
    assert_allclose(loss.gradient(t, f), slope, atol=1e-5)
    bend = (loss.gradient(t, f + width) - loss.gradient(t, f - width)) / (2.0 * width)
    assert_allclose(loss.curvature(t, f), bend, atol=1e-5)


@every_loss
def test_conjugate_is_the_supremum(loss):
    t, c, beta, _ = rows_of(loss, n=30)
    f = np.linspace(-50.0, 50.0, 400_001)
    for i in range(t.size):
        s = -beta[i] / c[i]
        supremum = (s * f - loss.value(np.full_like(f, t[i]), f)).max()
        assert_allclose(loss.conjugate(t[i : i + 1], np.array([s])), supremum, atol=1e-4)
        assert_allclose(loss.dual(t[i : i + 1], c[i : i + 1], beta[i : i + 1]), -c[i] * supremum, atol=1e-3)


@every_loss
def test_gap_is_fenchel_young(loss):
    t, c, beta, f = rows_of(loss)
    gap = loss.gap(t, c, beta, f)
    assert (gap >= 0.0).all()
    assert_allclose(gap, c * loss.value(t, f) - loss.dual(t, c, beta) + beta * f, atol=1e-10)
    assert_allclose(loss.gap(t, c, -c * loss.gradient(t, f), f), 0.0, atol=1e-10)


@every_loss
def test_step_is_the_maximum_over_one_coordinate(loss):
    t, c, beta, f = rows_of(loss, n=40)
    K = np.random.default_rng(1).uniform(0.01, 20.0, t.size)
    stepped = loss.step(t, c, beta, f, K)
    low, high = loss.bounds(t, c)
    assert ((stepped >= low) & (stepped <= high)).all()

    def objective(at):
        return loss.dual(t, c, at) - f * (at - beta) - 0.5 * K * (at - beta) ** 2

    best = objective(stepped)
    for distance in (1e-4, 1e-2, 1.0):
        for direction in (-distance, distance):
            assert (objective(np.clip(stepped + direction, low, high)) <= best + 1e-9).all()


@every_loss
def test_idle_rows_pay_nothing_nearby(loss):
    t, _, _, f = rows_of(loss, n=2000)
    idle = loss.is_idle(t, f)
    for near in (f - 1.0, f, f + 1.0):
        assert_array_equal(loss.value(t, near)[idle], 0.0)
    assert idle.any() == (loss.name in ("hinge", "squared_hinge"))


def problem_of(loss, histograms, *, C=2.0, pair=None, seed=0):
    X, y = histograms
    problem = make_problem(X, y, pair or tables.Hats().build(kernels.Chi2()), C=C)
    rng = np.random.default_rng(seed)
    cost = C * rng.uniform(0.5, 2.0, y.size)
    if loss.targets == "labels":
        return replace(problem, loss=loss, cost=cost)
    signal = np.sqrt(X[:, :5]).sum(axis=1) + rng.normal(scale=0.3, size=y.size)
    return replace(problem, loss=loss, cost=cost, targets=signal)


@every_loss
def test_core_takes_the_steps_of_numpy(histograms, loss):
    """One epoch in the order of the rows, in float64 with the Gram matrix written out."""
    problem = problem_of(loss, histograms)
    core = core_solver(problem, seed=0, shuffle=False)
    while not core.sweep(1.0):
        pass
    found = np.empty(problem.n_rows)
    core.copy_beta(found)

    read, write = explicit_features(problem)
    gram = (read @ write.T).toarray() + problem.intercept_square
    beta, gaps = np.zeros(problem.n_rows), 0.0
    for i in range(problem.n_rows):
        row = slice(i, i + 1)
        given = problem.targets[row], problem.cost[row], beta[row], gram[row] @ beta
        gaps += loss.gap(*given).item()
        beta[i] = loss.step(*given, problem.curvature[row]).item()
    assert_allclose(found, beta, atol=2e-4)
    assert_allclose(core.active_gap, gaps, rtol=1e-4)
    dual = loss.dual(problem.targets, problem.cost, beta).sum() - 0.5 * beta @ gram @ beta
    assert_allclose(core.dual, dual, rtol=1e-4)


def test_log_step_for_large_costs(histograms):
    """Where Newton's method alone goes back and forth: K c is large, and the first row is on the wrong side."""
    problem = problem_of(losses.Logistic(), histograms, C=1e5)
    core = core_solver(problem, seed=0, shuffle=False)
    f = -4.0 * problem.targets[:1]
    core.set_centre(f.item())
    while not core.sweep(1.0):
        pass
    found = np.empty(problem.n_rows)
    core.copy_beta(found)
    expected = problem.loss.step(problem.targets[:1], problem.cost[:1], np.zeros(1), f, problem.curvature[:1])
    assert_allclose(found[:1], expected, rtol=1e-5)


SYMMETRIC = [tables.Hats().build(kernels.Intersection()), tables.linear_pair()]
ASYMMETRIC = [tables.Plame().build(kernels.Chi2()), tables.PmSVM().build(kernels.Chi2())]


@every_loss
@pytest.mark.parametrize("pair", SYMMETRIC + ASYMMETRIC, ids=["hats", "linear", "plame", "pmsvm"])
@pytest.mark.parametrize("solver", ["auto", "dual-cd", "newton"])
@pytest.mark.parametrize("C", [0.1, 30.0])
def test_certificate_confirms_the_gap(histograms, loss, pair, solver, C):
    if not pair.symmetric and loss.targets == "numbers":
        C = min(C, 0.3)  # the iteration of these methods need not converge at a large C
    problem = problem_of(loss, histograms, C=C, pair=pair)
    tol = 1e-4 if pair.symmetric else 1e-3
    result = DualCD(tol=tol, max_iter=20_000, solver=solver).solve(problem)
    certificate = certify(problem, result.beta)
    assert result.converged
    assert 0.0 <= result.gap <= tol * result.primal
    assert_allclose(result.primal, certificate.primal, rtol=1e-4)
    assert_allclose(result.gap, certificate.gap, atol=1e-5 * certificate.primal, rtol=1e-3)


def test_a_tracked_objective_that_is_wrong_does_not_delay_the_end(histograms):
    """The dual objective is tracked as if K were symmetric. Here it stays negative, and the gap must be computed."""
    problem = problem_of(losses.Logistic(), histograms, C=30.0, pair=tables.PmSVM().build(kernels.Chi2()))
    result = DualCD(tol=1e-3, max_iter=20_000).solve(problem)
    assert result.converged
    assert result.n_iter < 1000


def features_of(problem):
    """Rows whose products are the kernel, intercept included."""
    read, write = explicit_features(problem)
    eigenvalues, vectors = np.linalg.eigh((read @ write.T).toarray() + problem.intercept_square)
    return vectors * np.sqrt(np.maximum(eigenvalues, 0.0))


PEERS = [
    (
        losses.Logistic(),
        lambda: LogisticRegression(solver="liblinear", dual=True, tol=1e-8, fit_intercept=False),
    ),
    (losses.EpsilonInsensitive(0.3), lambda: _svr("epsilon_insensitive", dual=True)),
    (losses.SquaredEpsilonInsensitive(0.3), lambda: _svr("squared_epsilon_insensitive", dual=True)),
    (losses.SquaredEpsilonInsensitive(0.3), lambda: _svr("squared_epsilon_insensitive", dual=False)),
]


def _svr(loss, *, dual):
    return LinearSVR(loss=loss, dual=dual, epsilon=0.3, C=1.0, tol=1e-9, fit_intercept=False, max_iter=1_000_000)


@pytest.mark.parametrize(("loss", "peer"), PEERS, ids=["solver 7", "solver 13", "solver 12", "solver 11"])
@pytest.mark.parametrize("solver", ["dual-cd", "newton"])
def test_liblinear_finds_the_same_function(histograms, loss, peer, solver):
    problem = problem_of(loss, histograms)
    result = DualCD(tol=1e-6, max_iter=100_000, solver=solver).solve(problem)
    features = features_of(problem)
    model = peer().fit(features, problem.targets, sample_weight=problem.cost)
    theirs = model.decision_function(features) if hasattr(model, "decision_function") else model.predict(features)
    assert_allclose(certify(problem, result.beta).decision, theirs, atol=5e-3)


@pytest.mark.parametrize("solver", ["dual-cd", "newton"])
def test_squared_error_is_kernel_ridge(histograms, solver):
    """(K + diag(1 / 2c)) β = t."""
    problem = problem_of(losses.SquaredError(), histograms)
    features = features_of(problem)
    exact = np.linalg.solve(features @ features.T + np.diag(0.5 / problem.cost), problem.targets)
    result = DualCD(tol=1e-8, max_iter=100_000, solver=solver).solve(problem)
    assert_allclose(result.beta, exact, atol=2e-3)


@every_loss
def test_blocks_reach_the_same_optimum(histograms, loss):
    """Block minimisation on dense rows of the linear kernel."""
    X, _ = histograms
    features = X.toarray().astype(np.float32)
    whole = problem_of(loss, (features, histograms[1]), pair=tables.linear_pair())
    whole = replace(whole, scales=np.ones(features.shape[1]), curvature=(features**2).sum(axis=1) + 1.0)
    blocks = [slice(0, 120), slice(120, 300)]
    problems = BlockProblems.of_features(
        lambda rows: features[rows], blocks, features.shape[1], [whole.targets], whole.cost, 1.0, loss
    )
    [result] = Blockwise(tol=1e-4, max_iter=2000).solve(problems, [lambda report: False], threading.Event())
    certificate = certify(whole, result.beta)
    assert result.converged
    assert_allclose(result.gap, certificate.gap, atol=1e-5 * certificate.primal, rtol=1e-2)


@every_loss
def test_a_start_and_more_rows_than_one_class(histograms, loss):
    """From the solution itself, one look is enough; outside the bounds, it is cut to them."""
    problem = problem_of(loss, histograms)
    first = DualCD(tol=1e-4).solve(problem)
    again = DualCD(tol=1e-3).solve(problem, start=first.beta)
    assert again.converged
    assert again.n_iter <= 3
    assert DualCD(tol=1e-2, max_iter=5000).solve(problem, start=np.full(problem.n_rows, 1e6)).converged


@dataclass(frozen=True)
class Huber(losses.Loss):
    """½ r² near the target, δ (|r| − δ/2) away from it: a loss that the package does not have."""

    delta: float = 0.5
    name: ClassVar[str] = "huber"
    targets: ClassVar[str] = "numbers"
    smooth: ClassVar[bool] = True

    def value(self, t, f):
        r = np.abs(t - f)
        return np.where(r <= self.delta, 0.5 * r * r, self.delta * (r - 0.5 * self.delta))

    def gradient(self, t, f):
        return np.clip(f - t, -self.delta, self.delta)

    def curvature(self, t, f):
        return (np.abs(t - f) <= self.delta).astype(float)

    def conjugate(self, t, s):
        return t * s + 0.5 * s * s

    def bounds(self, t, c):
        return -self.delta * c, self.delta * c

    def unbounded_step(self, t, c, beta, f, K):
        return (K * beta + t - f) / (K + 1.0 / c)


@dataclass(frozen=True)
class AbsoluteError(losses.EpsilonInsensitive):
    """|t − f|, with a kink, solved by proximal steps."""

    epsilon: float = 0.0
    name: ClassVar[str] = "absolute_error"
    in_core: ClassVar[bool] = False


@pytest.mark.parametrize("loss", [Huber(), AbsoluteError()], ids=["huber", "absolute error"])
def test_a_loss_from_outside_the_package(histograms, loss, monkeypatch):
    monkeypatch.setattr(losses, "BY_NAME", dict(losses.BY_NAME))
    losses.register(loss)
    problem = problem_of(losses.get(loss.name), histograms)
    result = DualCD(tol=1e-5 if loss.smooth else 1e-3).solve(problem)
    assert result.converged
    certificate = certify(problem, result.beta)
    assert_allclose(result.gap, certificate.gap, atol=1e-6 * certificate.primal, rtol=1e-3)
    features = features_of(problem)

    def objective(w):
        return 0.5 * w @ w + float((problem.cost * loss.value(problem.targets, features @ w)).sum())

    if loss.smooth:
        peer = scipy.optimize.minimize(objective, np.zeros(features.shape[1]), method="L-BFGS-B")
        assert_allclose(result.primal, peer.fun, rtol=1e-3)
    else:
        in_core = replace(problem, loss=losses.EpsilonInsensitive(0.0))
        assert_allclose(result.primal, DualCD(tol=1e-5, max_iter=20_000).solve(in_core).primal, rtol=1e-3)


def test_a_loss_from_outside_needs_a_symmetric_method(histograms):
    with pytest.raises(ValueError, match="'huber' is not in the core: use a symmetric method"):
        DualCD(tol=0.1).solve(problem_of(Huber(), histograms, pair=ASYMMETRIC[0]))


def test_names():
    assert isinstance(losses.get("log"), losses.Logistic)
    loss = losses.EpsilonInsensitive(2.0)
    assert losses.get(loss) is loss
    with pytest.raises(ValueError, match=r"loss='hing' is not known. Choose one of 'hinge', "):
        losses.get("hing")


def test_core_checks_what_it_is_given(histograms):
    problem = problem_of(losses.SquaredError(), histograms)
    with pytest.raises(ValueError, match="the core has no loss named huber"):
        core_solver(replace(problem, loss=Huber()), 0, True)
    with pytest.raises(ValueError, match="targets must be within"):
        core_solver(replace(problem, targets=np.full(problem.n_rows, np.nan)), 0, True)
    with pytest.raises(ValueError, match="labels must be"):
        core_solver(replace(problem, loss=losses.Hinge()), 0, True)
    with pytest.raises(ValueError, match="beta: not within the bounds"):
        core_solver(replace(problem, loss=losses.EpsilonInsensitive()), 0, True).set_beta(np.full(problem.n_rows, 1e9))
    with pytest.raises(ValueError, match="epsilon must be"):
        core_solver(replace(problem, loss=losses.EpsilonInsensitive(-1.0)), 0, True)
