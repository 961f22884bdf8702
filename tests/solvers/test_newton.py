"""Newton's method against coordinate descent and the certificate, and its products against the features written out."""

import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kernline import AdditiveSVC, _core, kernels, tables
from kernline.native import native_table
from kernline.solvers import DualCD
from kernline.solvers.certificate import certify, explicit_features
from kernline.solvers.newton_space import Space
from kernline.solvers.newton_system import MOST_SLOTS, System, n_unknowns

from .test_solver import LAYOUTS, SYMMETRIC, make_problem


@pytest.fixture(scope="module")
def hard():
    """Two overlapping classes of few features and a large C: coordinate descent alone takes hundreds of epochs."""
    rng = np.random.default_rng(0)
    X = rng.random((3000, 6))
    y = (np.sin(5.0 * X).sum(axis=1) + rng.normal(scale=0.5, size=3000) > 2.0).astype(int)
    return X, y


@pytest.mark.parametrize("pair", SYMMETRIC)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_products_with_rows_of_a_list(histograms, pair, layout, n_threads):
    X, y = histograms
    problem = make_problem(layout(X), y, pair)
    features = explicit_features(replace(problem, scales=np.ones_like(problem.scales)))[0]
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(X.shape[0], 170, replace=False)).astype(np.int32)
    weights = rng.normal(size=features.shape[1] + 1).astype(np.float32)
    if pair.gram is not None:
        weights[0 :: pair.width] = 0.0  # the slot of u = 0
    t = rng.normal(size=rows.size)
    native, table = problem.data.native, native_table(pair.read)

    values = np.empty(rows.size)
    _core.read_members(native, table, weights, rows, values, n_threads)
    assert_allclose(values, features[rows] @ weights[:-1], atol=1e-4)

    sums = np.zeros(weights.size)
    _core.add_members(native, table, t, rows, sums, n_threads)
    assert_allclose(_without_zero_slots(sums[:-1], pair), _without_zero_slots(features[rows].T @ t, pair), atol=1e-10)

    image = np.zeros(weights.size)
    _core.add_image(native, table, weights, t.astype(np.float32), rows, image, n_threads)
    v = t * (features[rows] @ weights[:-1] + weights[-1])
    assert_allclose(_without_zero_slots(image[:-1], pair), _without_zero_slots(features[rows].T @ v, pair), atol=1e-3)
    assert_allclose(image[-1], v.sum(), atol=1e-3)

    if weights.size > MOST_SLOTS:
        return
    S = np.zeros((weights.size, weights.size))
    _core.add_products(native, table, t, rows, S, n_threads)
    expected = np.zeros_like(S)
    expected[:-1, :-1] = np.tril((features[rows].T @ sp.diags_array(t) @ features[rows]).toarray())
    kept = np.arange(weights.size) % pair.width != 0 if pair.gram is not None else slice(None)  # not the slots of u = 0
    assert_allclose(S[kept][:, kept], expected[kept][:, kept], atol=1e-9)


def test_products_of_slots_do_not_depend_on_threads(histograms):
    problem = make_problem(*histograms, tables.Hats().build(kernels.Chi2()))
    native, table = problem.data.native, native_table(problem.pair.read)
    rows = np.arange(problem.n_rows, dtype=np.int32)
    size = problem.data.n_columns * problem.pair.width + 1
    found = []
    for n_threads in (1, 2, 7):
        S = np.zeros((size, size))
        _core.add_products(native, table, problem.targets, rows, S, n_threads)
        found.append(S)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])
    with pytest.raises(ValueError, match="squared"):
        _core.add_products(native, table, problem.targets, rows, np.zeros((size, size - 1)), 1)
    with pytest.raises(ValueError, match="outside the data"):
        _core.add_products(native, table, np.ones(1), np.array([problem.n_rows], dtype=np.int32), found[0], 1)


def _without_zero_slots(sums, pair):
    """Hats may add zeros up in the slot of u = 0, where the kernel vanishes."""
    slots = sums.reshape(-1, pair.width)
    return slots if pair.gram is None else slots[:, 1:]


def test_products_check_their_rows(histograms):
    problem = make_problem(*histograms, tables.Hats().build(kernels.Chi2()))
    native, table = problem.data.native, native_table(problem.pair.read)
    size = problem.data.n_columns * problem.pair.width + 1
    weights, sums = np.zeros(size, dtype=np.float32), np.zeros(size)
    for wrong in (-1, problem.n_rows):
        rows = np.array([wrong], dtype=np.int32)
        with pytest.raises(ValueError, match="outside the data"):
            _core.read_members(native, table, weights, rows, np.empty(1), 1)
        with pytest.raises(ValueError, match="outside the data"):
            _core.add_members(native, table, np.ones(1), rows, sums, 1)
    with pytest.raises(ValueError, match="one number per row"):
        _core.read_members(native, table, weights, np.zeros(2, dtype=np.int32), np.empty(1), 1)


@pytest.mark.parametrize("pair", SYMMETRIC)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_newton_finds_what_coordinate_descent_finds(histograms, pair, loss, C):
    problem = make_problem(*histograms, pair, C=C, loss=loss)
    newton = DualCD(tol=1e-4, solver="newton").solve(problem)
    descent = DualCD(tol=1e-4, solver="dual-cd", max_iter=100_000).solve(problem)
    assert newton.newton_steps > 0
    assert descent.newton_steps == 0
    assert newton.converged
    assert descent.converged
    assert_allclose(newton.primal, descent.primal, rtol=2e-4)
    certificate = certify(problem, newton.beta)
    assert_allclose(newton.primal, certificate.primal, rtol=1e-5)
    assert_allclose(newton.gap, certificate.gap, atol=1e-6 * certificate.primal, rtol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_auto_begins_with_newton_where_descent_crawls(hard, loss):
    X, y = hard
    model = AdditiveSVC("intersection", C=1000.0, loss=loss, tol=1e-3, random_state=0)
    auto = model.fit(X, y)
    assert auto.solver_ == "newton"
    assert auto.dual_gap_[0] <= 1e-3 * auto.objective_[0]
    plain = AdditiveSVC(**{**model.get_params(), "solver": "dual-cd", "max_iter": 100_000}).fit(X, y)
    assert plain.solver_ == "dual-cd"
    assert plain.n_iter_[0] > 2 * auto.n_iter_[0]
    assert_allclose(plain.objective_, auto.objective_, rtol=2e-3)


def test_newton_takes_over_from_a_descent_that_crawls(hard):
    """A run that is given a start does not begin with Newton's method: the start may be the solution."""
    problem = make_problem(*hard, tables.Hats().build(kernels.Intersection()), C=3000.0)
    result = DualCD(tol=1e-3).solve(problem, start=np.zeros(problem.n_rows))
    assert not result.newton_first
    assert result.newton_steps > 0
    assert result.n_iter > result.newton_steps
    assert result.converged
    assert_allclose(result.gap, certify(problem, result.beta).gap, atol=1e-6 * result.primal, rtol=1e-3)


def test_easy_problems_are_left_to_descent(hard):
    model = AdditiveSVC("intersection", C=0.01, random_state=0).fit(*hard)
    assert model.solver_ == "dual-cd"


def test_methods_without_a_primal_keep_to_descent(hard):
    model = AdditiveSVC("intersection", "plame", solver="newton", random_state=0).fit(*hard)
    assert model.solver_ == "dual-cd"


@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_threads_do_not_change_a_binary_problem(hard, C):
    X, y = hard
    one, three = (
        AdditiveSVC("intersection", C=C, tol=1e-3, random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3)
    )
    assert_array_equal(one.shapes_.weights, three.shapes_.weights)
    assert [report[2:] for report in one.history_[0]] == [report[2:] for report in three.history_[0]]


@pytest.mark.parametrize("solver", ["dual-cd", "newton"])
@pytest.mark.parametrize("pair", [tables.Hats().build(kernels.Chi2()), tables.linear_pair()], ids=["hats", "linear"])
def test_members_are_a_problem_of_their_own(histograms, pair, solver):
    X, y = histograms
    rows = np.random.default_rng(1).choice(X.shape[0], 200, replace=False).astype(np.int32)
    whole = make_problem(X, y, pair, C=5.0)
    part = replace(
        whole, targets=whole.targets[rows], cost=whole.cost[rows], curvature=whole.curvature[rows], members=rows
    )
    copied = sp.csr_array(X)[rows]
    alone = make_problem(copied, y[rows], pair, C=5.0)
    alone = replace(alone, scales=whole.scales, curvature=part.curvature)
    settings = DualCD(tol=1e-5, solver=solver, max_iter=100_000)
    result = settings.solve(part)
    assert result.beta.size == 200
    assert_allclose(result.gap, certify(part, result.beta).gap, atol=1e-6 * result.primal, rtol=1e-3)
    if pair.grid is None:  # codes are relative to the columns' maxima, which differ
        assert_allclose(result.primal, settings.solve(alone).primal, rtol=1e-4)


def test_a_solution_as_start_is_kept(hard):
    X, y = hard
    problem = make_problem(X, y, tables.Hats().build(kernels.Intersection()), C=1.0)
    first = DualCD(tol=1e-3).solve(problem)
    again = DualCD(tol=1e-3).solve(problem, start=first.beta)
    assert again.n_iter <= 2
    assert_allclose(again.primal, first.primal, rtol=1e-3)


def test_a_start_is_cut_to_the_bounds(histograms):
    problem = make_problem(*histograms, tables.Hats().build(kernels.Chi2()), C=0.5)
    result = DualCD(tol=1e-3).solve(problem, start=np.full(problem.n_rows, 7.0))
    assert result.converged
    assert (np.abs(result.beta) <= 0.5).all()


def test_newton_hears_an_interruption(hard):
    problem = make_problem(*hard, tables.Hats().build(kernels.Intersection()), C=100.0)
    interrupted = threading.Event()
    interrupted.set()
    with pytest.raises(KeyboardInterrupt):
        DualCD(tol=1e-3, solver="newton").solve(problem, interrupted=interrupted)


def test_newton_reports_its_steps_and_stops_when_asked(hard):
    problem = make_problem(*hard, tables.Hats().build(kernels.Intersection()), C=100.0)
    seen = []

    def on_epoch(report):
        seen.append(report)
        return report.epoch == 3

    result = DualCD(tol=1e-9, solver="newton").solve(problem, on_epoch)
    assert [report.epoch for report in seen] == [1, 2, 3]
    assert result.n_iter == 3
    assert not result.converged
    assert_allclose(result.gap, certify(problem, result.beta).gap, rtol=1e-3)
    limited = DualCD(tol=1e-9, solver="newton", max_iter=5).solve(problem)
    assert limited.n_iter == 5


@pytest.mark.parametrize("shape", [(100, 5), (100, 50), (1000, 20)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_random_labels_at_a_very_large_cost(shape, loss):
    """Nothing separates these classes, and C K(x, x) is 10,000: no step may cycle or run away."""
    rng = np.random.default_rng(0)
    X, y = rng.random(shape), rng.integers(0, 2, shape[0])
    model = AdditiveSVC("chi2", C=1e4, loss=loss, random_state=0).fit(X, y)  # a ConvergenceWarning would be an error
    assert model.dual_gap_[0] <= 0.01 * model.objective_[0]


def test_a_gradient_of_zero_ends_it():
    """With all α at their bound there is no direction left, though rounding leaves a gap above such a tol."""
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 4)), rng.integers(0, 2, 60)
    problem = make_problem(X, y, tables.Hats().build(kernels.Chi2()), C=1e-3)
    result = DualCD(tol=1e-12, solver="newton", max_iter=30).solve(problem)
    assert_allclose(np.abs(result.beta), 1e-3, rtol=1e-6)
    assert result.gap <= 1e-6 * result.primal


def test_rows_of_zeros_alone():
    model = AdditiveSVC("chi2", C=1e4, solver="newton").fit(np.zeros((3, 2)), [0, 1, 1])
    assert_array_equal(model.predict(np.zeros((1, 2))), [1])


def test_the_last_entry_of_the_history_is_exact(hard):
    model = AdditiveSVC("intersection", C=1000.0, tol=1e-3, random_state=0).fit(*hard)
    assert model.history_[0][-1].gap == model.dual_gap_[0]


def test_a_stop_during_the_first_epochs_is_heard(hard):
    """C doubles over these; what is returned is a solution for the C that was asked for, if a poor one."""
    problem = make_problem(*hard, tables.Hats().build(kernels.Intersection()), C=100.0)
    result = DualCD(tol=1e-6).solve(problem, on_epoch=lambda report: True)
    assert result.n_iter == 1
    assert np.abs(result.beta).max() <= 100.0
    assert_allclose(result.gap, certify(problem, result.beta).gap, rtol=1e-3)


@pytest.mark.parametrize("pair", SYMMETRIC)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_rows", [40, 170])
def test_factored_systems_are_solved(histograms, pair, layout, n_rows):
    """By slots or by rows, and with what was kept of the system before: against the matrix written out."""
    X, y = histograms
    problem = make_problem(layout(X), y, pair, C=10.0)
    space = Space(problem, 1, threading.Event())
    system = System(space)
    system.is_hard = True
    rng = np.random.default_rng(0)
    for _ in range(2):
        rows = np.sort(rng.choice(X.shape[0], n_rows, replace=False)).astype(np.int32)
        sigma = rng.uniform(1.0, 100.0, size=n_rows)
        gradient = space.sum(rng.normal(size=X.shape[0]), np.arange(X.shape[0], dtype=np.int32))
        found = system.solve(gradient, rows, sigma)
        values = space.values(found, rows)
        residual = found.plus(1.0, space.sum(sigma * values, rows)).plus(1.0, gradient)
        assert residual.dot(residual) <= 1e-5 * gradient.dot(gradient)
    assert n_unknowns(space.size - 1, n_rows) is not None


def test_large_costs_converge_with_a_free_intercept():
    """Classes that can be separated, and labels that cannot be learned: C · K(x, x) = 10⁴ ends with a certificate."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 8))
    labels = {"separable": X.sum(axis=1) > 4.0, "random": rng.random(600) > 0.5, "rare": np.arange(600) < 3}
    for name, y in labels.items():
        model = AdditiveSVC("intersection", C=1e4, loss="hinge", random_state=0).fit(X, y)
        assert model.dual_gap_[0] <= 0.01 * model.objective_[0], name
