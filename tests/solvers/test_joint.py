"""Crammer and Singer's problem against its referees: the certificate, LIBLINEAR, and a quadratic program by SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from kernline import kernels, training
from kernline.solvers import DualCD, JointCD
from kernline.solvers.certificate import certify_joint, explicit_features
from kernline.solvers.joint import within_bounds
from kernline.solvers.joint_intercept import balance

from .test_solver import LAYOUTS

INTERCEPTS = {
    "free": training.Intercept(),
    "penalised": training.Intercept(scaling=1.0),
    "none": training.Intercept(fit=False),
}
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS.values(), ids=INTERCEPTS)
METHODS = [
    ("chi2", "hats"),
    ("intersection", "hik"),
    ("js", "low-dim"),
    ("chi2", "feature-map"),
    ("chi2", "chebyshev"),
    ("linear", "hats"),
]


def classes_of(n=200, d=12, n_classes=5, seed=0):
    """Sparse rows that are not negative, and classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, 1.0, (n, d)) * (rng.random((n, d)) < 0.6)
    scores = np.sqrt(X) @ rng.standard_normal((d, n_classes)) + 0.5 * rng.standard_normal((n, n_classes))
    return sp.csr_array(X), np.unique(scores.argmax(axis=1), return_inverse=True)[1].astype(np.int32)


def rows_of(X, kernel="chi2", approximation="hats", intercept=INTERCEPTS["free"], **settings):
    return training.encode(
        X, training.AdditiveSettings(kernels.get(kernel, -8.0), approximation, intercept=intercept, **settings)
    )


def problem_of(X, y, C=1.0, members=None, **settings):
    cost = np.broadcast_to(np.asarray(C, dtype=float), y.shape).copy()
    return rows_of(X, **settings).joint_problem(y, int(y.max()) + 1, cost, members)


def gram(problem):
    read, write = explicit_features(problem)
    return (read @ write.T).toarray() + problem.intercept_square


class TestCertificate:
    @pytest.mark.parametrize(("kernel", "approximation"), METHODS)
    @pytest.mark.parametrize("layout", LAYOUTS)
    @every_intercept
    def test_confirms_the_gap(self, kernel, approximation, layout, intercept):
        X, y = classes_of()
        problem = problem_of(layout(X), y, 5.0, kernel=kernel, approximation=approximation, intercept=intercept)
        result = JointCD(tol=1e-4, max_iter=20_000).solve(problem)
        assert result.converged
        certificate = certify_joint(problem, result.beta, result.intercepts)
        assert_allclose(result.primal, certificate.primal, rtol=1e-4)
        assert_allclose(result.gap, certificate.gap, atol=1e-5 * certificate.primal, rtol=1e-2)
        assert 0.0 <= certificate.gap <= 2e-4 * certificate.primal

    @pytest.mark.parametrize("n_classes", [2, 3, 8, 9, 40])
    @every_intercept
    def test_numbers_of_classes(self, n_classes, intercept):
        """Weights are padded to blocks of eight classes."""
        X, y = classes_of(n=400, n_classes=n_classes)
        problem = problem_of(X, y, intercept=intercept)
        result = JointCD(tol=1e-3).solve(problem)
        assert result.converged
        certificate = certify_joint(problem, result.beta, result.intercepts)
        assert_allclose(result.gap, certificate.gap, atol=1e-5 * certificate.primal, rtol=1e-2)
        scores = np.stack([read_curve(problem, curve) for curve in result.curves], axis=1) + result.intercepts
        assert_allclose(scores, certificate.decision, atol=1e-4)

    def test_of_an_early_stop(self):
        X, y = classes_of()
        problem = problem_of(X, y, 100.0)
        seen = []

        def on_epoch(report):
            seen.append(report)
            return report.epoch == 4

        result = JointCD(tol=1e-9).solve(problem, on_epoch)
        assert [report.epoch for report in seen] == [1, 2, 3, 4]
        assert result.history == seen
        assert result.stopped
        assert not result.converged
        certificate = certify_joint(problem, result.beta, result.intercepts)
        assert_allclose(result.gap, certificate.gap, rtol=1e-3)


def read_curve(problem, weights):
    return explicit_features(problem)[0] @ weights.ravel().astype(np.float64)


class TestOptimum:
    @pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
    @pytest.mark.parametrize("constant", [0.0, 1.0])
    def test_of_liblinear(self, C, constant):
        """LIBLINEAR on features whose products are the kernel, with the constant: its intercept is penalised."""
        X, y = classes_of()
        intercept = training.Intercept(fit=constant > 0.0, scaling=1.0)
        problem = problem_of(X, y, C, kernel="linear", intercept=intercept, gamma=1.0)
        result = JointCD(tol=1e-5, max_iter=20_000).solve(problem)
        features = X.toarray()
        scaling = np.sqrt(problem.intercept_square)
        peer = LinearSVC(
            multi_class="crammer_singer",
            C=C,
            fit_intercept=constant > 0.0,
            intercept_scaling=scaling or 1.0,
            tol=1e-8,
            max_iter=1_000_000,
        ).fit(features, y)
        weights = np.hstack([peer.coef_, peer.intercept_[:, None] / (scaling or 1.0)] if constant else [peer.coef_])
        decision = peer.decision_function(features)
        margins = 1.0 + decision - decision[np.arange(y.size), y][:, None]
        margins[np.arange(y.size), y] = 0.0
        assert_allclose(result.primal, 0.5 * (weights**2).sum() + C * margins.max(axis=1).sum(), rtol=2e-5)
        assert_allclose(certify_joint(problem, result.beta, result.intercepts).decision, decision, atol=0.02)

    @every_intercept
    @pytest.mark.parametrize("C", [0.3, 3.0])
    def test_of_a_quadratic_program(self, intercept, C):
        X, y = classes_of(n=14, n_classes=3)
        cost = C * np.random.default_rng(1).uniform(0.5, 2.0, y.size)
        problem = problem_of(X, y, cost, intercept=intercept)
        result = JointCD(tol=1e-6, max_iter=100_000).solve(problem)
        assert_allclose(result.dual, best_dual(problem), rtol=2e-4)

    def test_two_classes_are_the_binary_problem_at_twice_the_cost(self):
        X, y = classes_of(n_classes=2)
        rows = rows_of(X)
        joint = JointCD(tol=1e-4, max_iter=10_000).solve(rows.joint_problem(y, 2, np.full(y.size, 1.5)))
        binary = DualCD(tol=1e-4).solve(rows.problem(np.where(y == 1, 1.0, -1.0), np.full(y.size, 3.0)))
        assert_allclose(2.0 * joint.primal, binary.primal, rtol=3e-4)
        difference = joint.curves[1] - joint.curves[0]
        assert_allclose(difference, binary.weights, atol=0.02 * np.abs(binary.weights).max())

    def test_of_a_row_of_zeros(self):
        X, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 2, 2], dtype=np.int32)
        problem = problem_of(X, y, 1.0, intercept=INTERCEPTS["none"])
        result = JointCD(tol=1e-5).solve(problem)
        assert result.converged
        assert_allclose(result.beta[2], [-0.5, -0.5, 1.0])  # nothing can be said of it, so it pays in full


def best_dual(problem):
    """The optimum of the dual problem, by SciPy."""
    K, y, n_classes = gram(problem), problem.labels, problem.n_classes
    n = y.size
    own = np.eye(n_classes)[y].ravel()

    def value(b):
        return 0.5 * np.sum(b.reshape(n, -1) * (K @ b.reshape(n, -1))) - own @ b

    def slope(b):
        return (K @ b.reshape(n, -1)).ravel() - own

    equalities = [np.kron(np.eye(n), np.ones((1, n_classes)))]
    if problem.free_intercept:
        equalities.append(np.kron(np.ones((1, n)), np.eye(n_classes))[:-1])  # the last one follows
    A = np.vstack(equalities)
    found = minimize(
        value,
        np.zeros(n * n_classes),
        jac=slope,
        bounds=[(None, bound) for bound in own * np.repeat(problem.cost, n_classes)],
        constraints={"type": "eq", "fun": lambda b: A @ b, "jac": lambda b: A},
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-12},
    )
    assert found.success
    return -found.fun


class TestDescent:
    def test_same_seed_same_result(self):
        problem = problem_of(*classes_of())
        first, second, other = (JointCD(tol=0.01, seed=seed).solve(problem) for seed in (3, 3, 4))
        assert_allclose(first.beta, second.beta, rtol=0)
        assert np.abs(first.beta - other.beta).max() > 0

    def test_dual_never_falls(self):
        problem = problem_of(*classes_of(), 3.0, intercept=INTERCEPTS["penalised"])
        history = JointCD(tol=1e-4).solve(problem).history
        assert (np.diff([report.dual for report in history]) >= -1e-6 * history[-1].dual).all()

    def test_members(self):
        """Some rows of the data are the problem of these rows alone."""
        X, y = classes_of()
        members = np.arange(0, 200, 2, dtype=np.int32)
        part = problem_of(X, y[members], 2.0, members)
        result = JointCD(tol=1e-4, max_iter=5000).solve(part)
        certificate = certify_joint(part, result.beta, result.intercepts)
        assert_allclose(result.primal, certificate.primal, rtol=1e-4)
        assert certificate.gap <= 2e-4 * certificate.primal

    @every_intercept
    def test_a_start_at_the_solution(self, intercept):
        problem = problem_of(*classes_of(), 2.0, intercept=intercept)
        solver = JointCD(tol=1e-3)
        cold = solver.solve(problem)
        warm = solver.solve(problem, start=cold.beta, intercepts=cold.intercepts)
        assert warm.converged
        assert warm.n_iter < cold.n_iter / 2

    @pytest.mark.parametrize("C", [1e-5, 1.0, 100.0])
    @pytest.mark.parametrize("n_alone", [1, 2, 150])
    def test_a_class_nearly_empty(self, C, n_alone):
        X, _ = classes_of()
        y = np.where(np.arange(200) < n_alone, 2, np.arange(200) % 2).astype(np.int32)
        problem = problem_of(X, y, C)
        result = JointCD(tol=0.01, max_iter=3000).solve(problem)
        assert result.converged
        certificate = certify_joint(problem, result.beta, result.intercepts)
        assert certificate.gap <= 0.011 * certificate.primal

    def test_equal_rows_of_all_classes(self):
        """Scores that are equal but for rounding errors: the search for a row's best β ends."""
        rng = np.random.default_rng(42)
        X, y = np.repeat(rng.random((15, 30)), 3, axis=0), (np.arange(45) % 3).astype(np.int32)
        problem = problem_of(X, y)
        assert JointCD(tol=0.01).solve(problem).converged

    def test_methods_without_a_symmetric_kernel_are_refused(self):
        X, y = classes_of()
        with pytest.raises(ValueError, match="needs a method with a symmetric kernel"):
            problem_of(X, y, approximation="plame")


class TestBalance:
    @pytest.mark.parametrize("C", [0.1, 1e6])
    @pytest.mark.parametrize("n_free", [0, 1, 40])
    def test_keeps_the_constraints(self, C, n_free):
        """`n_free` rows are between their bounds; the others are at one of them, so that mass must leave it."""
        rng = np.random.default_rng(0)
        y = rng.integers(4, size=60).astype(np.int32)
        p = np.eye(4)[rng.integers(4, size=60)]
        p[:n_free] = rng.dirichlet(np.ones(4), n_free)
        beta = (C * (np.eye(4)[y] - p)).astype(np.float32)
        balanced = balance(beta, y, np.full(60, C))
        bound = C * np.eye(4)[y]
        assert (balanced <= bound * (1 + 1e-6)).all()
        assert_allclose(balanced.sum(axis=1), 0.0, atol=1e-6 * C)
        assert_allclose(balanced.sum(axis=0), 0.0, atol=1e-5 * C)

    def test_leaves_a_balanced_point(self):
        beta = np.array([[1.0, -1.0], [-1.0, 1.0]], dtype=np.float32)
        assert balance(beta, np.array([0, 1], dtype=np.int32), np.ones(2)) is beta


class TestWithinBounds:
    def test_leaves_what_is_within(self):
        y = np.array([0, 2, 1], dtype=np.int32)
        beta = np.array([[1.0, -0.25, -0.75], [0.0, 0.0, 0.0], [-0.5, 0.5, 0.0]])
        assert_allclose(within_bounds(beta, y, np.ones(3)), beta)

    def test_other_labels_and_costs(self):
        rng = np.random.default_rng(0)
        y, cost = rng.integers(4, size=60).astype(np.int32), rng.random(60)
        beta = within_bounds(rng.standard_normal((60, 4)), y, cost)
        assert (beta <= cost[:, None] * np.eye(4)[y] * (1 + 1e-6)).all()
        assert_allclose(beta.sum(axis=1), 0.0, atol=1e-6)
