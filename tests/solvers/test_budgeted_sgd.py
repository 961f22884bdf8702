"""The solver of BudgetedSVC against SciPy, direct kernel evaluation, and algorithms written out in NumPy."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import RegularGridInterpolator
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons

from kernline import BudgetedSVC
from kernline.landmarks import merging
from kernline.solvers import BudgetedModel, BudgetedSGD
from kernline.solvers.budgeted_sgd import as_model, values_of

SEARCHES = ("lookup-wd", "lookup-h", "gss", "gss-precise")
OURS = ("lookup-wd", "lookup-h", "gss-precise")
GAMMA, C = 0.7, 3.0


def kernel(X, Y):
    return np.exp(-GAMMA * cdist(np.atleast_2d(X), np.atleast_2d(Y), "sqeuclidean"))


@pytest.fixture(scope="module")
def clouds():
    """400 rows of 5 features, float32 values, and labels ±1 that a line does not part."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 5)).astype(np.float32).astype(np.float64)
    return X, np.where((X[:, :2] ** 2).sum(axis=1) + 0.3 * rng.standard_normal(400) > 1.5, 1.0, -1.0)


@pytest.fixture(scope="module")
def moons():
    return make_moons(3000, noise=0.25, random_state=0)


class TestMerging:
    rng = np.random.default_rng(0)
    m, kappa = 0.5 * rng.random(200), rng.random(200)

    def test_h_and_degradation_by_scipy(self):
        h = merging.best_h(self.m, self.kappa)
        for m, kappa, ours in zip(self.m, self.kappa, h, strict=True):

            def negative(t, m=m, kappa=kappa):
                return -(m * kappa ** ((1 - t) ** 2) + (1 - m) * kappa ** (t**2))

            found = minimize_scalar(negative, bounds=(0.0, 0.5), method="bounded", options={"xatol": 1e-10})
            everywhere = minimize_scalar(negative, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
            assert -negative(ours) >= max(-found.fun, -everywhere.fun) - 1e-12
            assert_allclose(ours, found.x, atol=1e-6)

    def test_degradation_is_the_squared_distance_of_the_terms(self):
        """‖α φ(x) + β φ(x′) − α_z φ(z)‖² from the Gram matrix of x, x′ and z: the formula that the paper misprints."""
        x, other = np.zeros(2), np.array([0.9, -0.4])
        alpha, beta = 0.4, 1.7
        kappa = kernel(x, other)[0, 0]
        m = alpha / (alpha + beta)
        h = float(merging.best_h(m, kappa))
        z = h * x + (1 - h) * other
        merged = alpha * kernel(x, z)[0, 0] + beta * kernel(other, z)[0, 0]
        terms = np.array([alpha, beta, -merged])
        gram = kernel([x, other, z], [x, other, z])
        assert_allclose((alpha + beta) ** 2 * merging.degradation(m, kappa, h), terms @ gram @ terms, rtol=1e-12)
        assert_allclose(merged, (alpha + beta) * merging.merged_length(m, kappa, h), rtol=1e-12)
        # No other z on the line, and no other coefficient, loses less.
        for t in np.linspace(-0.5, 1.5, 41):
            for factor in (0.98, 1.0, 1.02):
                there = t * x + (1 - t) * other
                others = np.array([alpha, beta, -factor * merged])
                gram = kernel([x, other, there], [x, other, there])
                assert others @ gram @ others >= terms @ kernel([x, other, z], [x, other, z]) @ terms - 1e-12

    def test_tables_interpolate(self):
        h, loss = merging.tables(400)
        grid = (np.linspace(0, 0.5, 400), np.linspace(0, 1, 400))
        at = np.column_stack([self.m, self.kappa])
        best = merging.best_h(self.m, self.kappa)
        exact = np.sqrt(0.5 * merging.degradation(self.m, self.kappa, best)) / self.m
        assert np.abs(RegularGridInterpolator(grid, loss)(at) - exact).max() < 2e-3
        near = self.kappa > 0.9
        assert_allclose(RegularGridInterpolator(grid, loss)(at[near]), exact[near], rtol=1e-4)
        smooth = self.kappa > np.exp(-2) + 0.01
        assert np.abs(RegularGridInterpolator(grid, h)(at) - best)[smooth].max() < 1e-3

    def test_the_edge_holds_one_mode(self):
        """At m = 1/2 and κ < e⁻² both ends are as good; the table keeps to the one it comes from, on all of Z."""
        h, loss = merging.tables(400)
        kappa = np.linspace(0, 1, 400)
        two_modes = kappa < np.exp(-2)
        assert (h[-1, two_modes] < 0.5).all()
        assert_allclose(h[-1, ~two_modes], 0.5, atol=1e-3)
        assert np.abs(np.diff(h[:, two_modes], axis=0)).max() < 0.12
        assert_allclose(loss[-1, ~two_modes], 1 - np.sqrt(kappa[~two_modes]), atol=1e-6)

    def test_the_first_row_is_the_limit(self):
        """One of a pair next to nothing: √(WD/2)/m at m = 0 is where small m lead to."""
        kappa = np.linspace(0.0, 0.99, 100)
        m = np.full_like(kappa, 1e-4)
        near = np.sqrt(0.5 * merging.degradation(m, kappa, merging.best_h(m, kappa))) / m
        assert_allclose(merging.loss(np.zeros_like(m), kappa, np.zeros_like(m)), near, rtol=1e-3)

    def test_published_tables_hold_h_and_wd_over_the_unit_square(self):
        """Lemma 1's WD(m, κ) = m² + (1−m)² − s(h)² + 2m(1−m)κ with s from line 7, minimised by SciPy."""
        h, loss = merging.published_tables(21)
        assert h.shape == loss.shape == (21, 21)
        for i, m in enumerate(np.linspace(0, 1, 21)):
            for k, kappa in enumerate(np.linspace(0, 1, 21)[1:-1], start=1):

                def s(t, m=m, kappa=kappa):
                    return m * kappa ** ((1 - t) ** 2) + (1 - m) * kappa ** (t**2)

                ends = [(0.0, 0.5), (0.5, 1.0)]
                modes = [minimize_scalar(lambda t: -s(t), bounds=end, method="bounded") for end in ends]
                best = max(-mode.fun for mode in modes)
                assert_allclose(s(h[i, k]), best, atol=1e-6)
                assert_allclose(loss[i, k], m**2 + (1 - m) ** 2 + 2 * m * (1 - m) * kappa - best**2, atol=1e-6)

    def test_equal_and_orthogonal_points(self):
        assert_array_equal(merging.best_h(np.array([0.1, 0.5]), np.array(1.0)), [0.1, 0.5])
        assert_array_equal(merging.best_h(np.array([0.1, 0.5]), np.array(0.0)), [0.0, 0.0])
        h, loss = merging.tables(50)
        assert_array_equal(loss[:, -1], 0.0)
        assert np.isfinite(h).all()

    def test_the_bound_of_the_core_leaves_no_better_partner_out(self):
        """See PartnerSearch in native/loops/merge_search.hpp, and `fill_bounds`."""
        m, kappa = np.meshgrid(np.linspace(0.001, 0.5, 300), np.linspace(0.0, 1.0, 301)[:-1])
        loss = np.sqrt(0.5 * merging.degradation(m, kappa, merging.best_h(m, kappa))) / m
        near = (1.0 - kappa) * (0.707 + 0.293 * kappa) * (1.0 - m)
        chords = np.minimum(0.707 - 0.56 * kappa, 0.726 - 0.913 * kappa)
        bound = np.maximum(near, np.maximum(chords, 0.7071 - 12.0 * kappa**2))
        assert (bound <= loss * (1.0 + 1e-6)).all()
        assert (loss < 1.5 * bound).all()


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


def fit(X, y, weights=1.0, **options):
    options = {"intercept": False, "average": False, "tol": 0.0, "shuffle": False, "passes": 1} | options
    return BudgetedSGD(gamma=GAMMA, C=C, **options).fit(values_of(X, GAMMA), y * weights)


def decision(model, X):
    return kernel(X, model.vectors) @ model.coefficients + model.intercept


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


def algorithm_1(X, y, budget, search, steps, weights):
    """SGD with the paper's budget maintenance. Of equal coefficients the newest is the smallest.

    `search(m, κ)` gives the loss of merging if the smaller coefficient is one, and where to merge.
    """
    vectors, counts = np.empty((0, X.shape[1])), np.empty(0)
    merges = 0
    for t in range(steps):
        f = C * y.size / t * (kernel(X[t], vectors)[0] @ counts) if t else 0.0
        if y[t] * f >= 1.0:
            continue
        vectors, counts = np.vstack([vectors, X[t]]), np.append(counts, y[t] * weights[t])
        if counts.size <= budget:
            continue
        merges += 1
        least = counts.size - 1 - np.abs(counts)[::-1].argmin()
        a, best = abs(counts[least]), (np.inf, -1, 0.0)
        for j in np.flatnonzero(np.sign(counts) == np.sign(counts[least])):
            if j == least:
                continue
            b, kappa = abs(counts[j]), kernel(vectors[j], vectors[least])[0, 0]
            loss, h = search(a / (a + b), kappa)
            if loss < best[0]:
                best = (loss, j, h)
        _, j, h = best
        z = h * vectors[least] + (1 - h) * vectors[j]
        merged = counts[least] * kernel(vectors[least], z)[0, 0] + counts[j] * kernel(vectors[j], z)[0, 0]
        vectors[j], counts[j] = z, merged
        vectors, counts = np.delete(vectors, least, axis=0), np.delete(counts, least)
    return vectors, C * y.size / steps * counts, merges


def golden_section(m, kappa, end, precision):
    """The textbook's: the middle of an interval that is cut until it is no longer than the precision."""
    low, high, ratio = 0.0, end, (5**0.5 - 1) / 2
    while high - low > precision:
        one, other = high - ratio * (high - low), low + ratio * (high - low)
        if merging.merged_length(m, kappa, other) > merging.merged_length(m, kappa, one):
            low = one
        else:
            high = other
    return 0.5 * (low + high)


def golden_search(precision, refined, end):
    """The loss at the h of the first precision, and the h of the second."""

    def search(m, kappa):
        loss = merging.degradation(m, kappa, golden_section(m, kappa, end, precision)) / m**2
        return loss, golden_section(m, kappa, end, refined)

    return search


def table_search(lookup_loss, published):
    h, loss = (merging.published_tables if published else merging.tables)(400)
    grid = (np.linspace(0, 1.0 if published else 0.5, 400), np.linspace(0, 1, 400))
    of_h, of_loss = RegularGridInterpolator(grid, h), RegularGridInterpolator(grid, loss)

    def search(m, kappa):
        h = float(of_h((m, kappa)))
        if not lookup_loss:
            return merging.degradation(m, kappa, h) / m**2, h
        return float(of_loss((m, kappa))) / (m**2 if published else 1.0), h

    return search


def referee(search, published):
    end = 1.0 if published else 0.5
    return {
        "gss-precise": golden_search(1e-10, 1e-10, end),
        "gss": golden_search(0.01, 0.001, end),
        "lookup-h": table_search(False, published),
        "lookup-wd": table_search(True, published),
    }[search]


# With weights, gss meets pairs where s is flat: its cuts in float32 part ways with ours, and all later steps with them.
CASES = [(search, weighted) for search in SEARCHES for weighted in (False, True) if (search, weighted) != ("gss", True)]


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize(("search", "weighted"), CASES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_algorithm_1_as_written(clouds, make, search, weighted, published):
    """With weights, the smallest coefficient is not always the newest, and its row is that of the kept distances."""
    X, y = clouds
    weights = np.random.default_rng(1).uniform(0.5, 2.0, y.size) if weighted else np.ones(y.size)
    model, history = fit(make(X), y, weights, budget=20, search=search, published=published)
    vectors, coefficients, merges = algorithm_1(X, y, 20, referee(search, published), y.size, weights)
    assert history[0].n_maintained == merges > 50
    grid = np.random.default_rng(0).standard_normal((100, 5))
    expected = kernel(grid, vectors) @ coefficients
    assert_allclose(decision(model, grid), expected, atol=2e-3 * np.abs(expected).max())


def test_gss_without_refinement_merges_at_a_hundredth(clouds):
    """One merge: z is where the search to 0.01 ends, or, refined, where the one to 0.001 does."""
    X = clouds[0].copy()
    X[0] = X[1] + 0.5  # near enough for one mode, κ > e⁻²
    squared = cdist(X[:1], X[1:2], "sqeuclidean")[0, 0]
    counts = np.array([30.0, 30.0], np.float32)
    vectors = np.vstack([X[1], X[1] + 9.0]).astype(np.float32)  # the second is out of reach
    before = replace(BudgetedModel.empty(5), vectors=vectors, counts=counts, pasts=np.zeros(2), n_seen=1.0, n_steps=1)
    for refine, precision in ((True, 0.001), (False, 0.01)):
        settings = BudgetedSGD(
            gamma=GAMMA, C=1e-9, budget=2, search="gss", refine=refine, average=False, intercept=False
        )
        after = settings.go_on(values_of(X[:1], GAMMA), np.ones(1), before)
        h = golden_section(1.0 / 31.0, np.exp(-GAMMA * squared), 0.5, precision)
        assert_allclose(after.vectors[0], h * X[0] + (1 - h) * X[1], atol=1e-4)


def test_partners_of_either_label(clouds):
    """Algorithm 1 read without labels: coefficients by their size; the label of a pair is that of the smaller one."""
    X, y = clouds
    X, y = X[:150], y[:150]
    model, history = fit(X, y, budget=12, search="gss-precise", published=True, any_label=True)
    vectors, counts = np.empty((0, 5)), np.empty(0)
    merges = 0
    for t in range(150):
        f = C * 150 / t * (kernel(X[t], vectors)[0] @ counts) if t else 0.0
        if y[t] * f >= 1.0:
            continue
        vectors, counts = np.vstack([vectors, X[t]]), np.append(counts, y[t])
        if counts.size <= 12:
            continue
        merges += 1
        least = counts.size - 1 - np.abs(counts)[::-1].argmin()
        best = (np.inf, -1, 0.0)
        for j in np.delete(np.arange(counts.size), least):
            a, b, kappa = abs(counts[least]), abs(counts[j]), kernel(vectors[j], vectors[least])[0, 0]
            h = golden_section(a / (a + b), kappa, 1.0, 1e-10)
            merged = a * kappa ** ((1 - h) ** 2) + b * kappa ** (h**2)
            loss = a**2 + b**2 - merged**2 + 2 * a * b * kappa
            best = min(best, (loss, j, h))
        _, j, h = best
        kappa, a = kernel(vectors[j], vectors[least])[0, 0], counts[least]
        counts[j] = a * kappa ** ((1 - h) ** 2) + np.sign(a) * abs(counts[j]) * kappa ** (h**2)
        vectors[j] = h * vectors[least] + (1 - h) * vectors[j]
        vectors, counts = np.delete(vectors, least, axis=0), np.delete(counts, least)
    assert history[0].n_maintained == merges > 20
    expected = kernel(X, vectors) @ counts * C
    assert_allclose(decision(model, X), expected, atol=1e-2 * np.abs(expected).max())


@pytest.mark.parametrize("at_once", [2, 3])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_several_merges_at_once(clouds, make, at_once):
    """A new point is merged with its best partners, one after the other, which frees slots."""
    X, _ = clouds
    rng = np.random.default_rng(0)
    counts = rng.uniform(1.0, 9.0, 20).astype(np.float32)
    before = replace(
        BudgetedModel.empty(5),
        vectors=X[:20].astype(np.float32),
        counts=counts,
        pasts=np.zeros(20),
        n_seen=1.0,
        n_steps=1,
    )
    settings = BudgetedSGD(
        gamma=GAMMA, C=1e-9, budget=20, search="lookup-h", average=False, intercept=False, merged_at_once=at_once
    )
    after = settings.go_on(values_of(make(X[20:21]), GAMMA), np.ones(1), before)
    assert after.counts.size == 21 - at_once
    losses = [
        (1.0 + b) ** 2 * merging.degradation(1.0 / (1.0 + b), k, merging.best_h(1.0 / (1.0 + b), k))
        for b, k in zip(counts.astype(float), kernel(X[20], X[:20])[0], strict=True)
    ]
    z, a = X[20], 1.0
    partners = np.argsort(losses)[:at_once]
    for j in partners:
        b, kappa = float(counts[j]), kernel(z, X[j])[0, 0]
        h = float(merging.best_h(min(a, b) / (a + b), kappa))
        h = h if a <= b else 1.0 - h  # the share of z
        z, a = h * z + (1 - h) * X[j], a * kappa ** ((1 - h) ** 2) + b * kappa ** (h**2)
    rest = np.setdiff1d(np.arange(20), partners)
    expected = kernel(X, X[rest]) @ counts[rest] + a * kernel(X, z)[:, 0]
    assert_allclose(kernel(X, after.vectors) @ after.counts, expected, rtol=2e-3)


def test_partners_left_out_by_their_bound_would_not_have_won(moons):
    """As published, all partners are looked at; else those in reach. Hundreds of merges, and the same model."""
    X, y = moons
    signs = np.where(y == 1, 1.0, -1.0)
    (pruned, history), (full, _) = (
        fit(X, signs, budget=60, search="gss-precise", published=published) for published in (False, True)
    )
    assert history[0].n_maintained > 200
    expected = decision(full, X[:500])
    assert_allclose(decision(pruned, X[:500]), expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("grid_size", [400, 401])
def test_a_support_vector_that_counts_nothing(clouds, search, grid_size):
    """Projection could leave one: its share of a pair, 0 / 0, must lead nowhere outside the tables."""
    X, y = clouds
    settings = BudgetedSGD(gamma=GAMMA, C=C, budget=20, search=search, grid_size=grid_size)
    counts = np.where(np.arange(20) % 2, 3.0, -3.0).astype(np.float32)
    counts[[3, 8]] = 0.0
    model = replace(BudgetedModel.empty(5), vectors=X[:20].astype(np.float32), counts=counts, pasts=np.zeros(20))
    model = settings.go_on(values_of(X[20:], GAMMA), y[20:], replace(model, n_seen=20.0, n_steps=20))
    assert np.isfinite(decision(model, X)).all()


@pytest.mark.parametrize("spread", [0.01, 0.03, 0.1, 1.0])
@pytest.mark.parametrize(("search", "published"), [*((name, False) for name in OURS), ("gss-precise", True)])
def test_the_partner_that_loses_least_is_found(search, published, spread):
    """One point too many among 40, near and far, with counts from 1 to 1000; the losses in extended precision."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        vectors = (spread * rng.standard_normal((40, 3))).astype(np.float32)
        counts = np.exp(rng.uniform(0.0, np.log(1000.0), 40)).astype(np.float32)
        point = (spread * rng.standard_normal((1, 3))).astype(np.float32)
        settings = BudgetedSGD(gamma=1.0, C=1e-9, budget=40, search=search, published=published, average=False)
        model = replace(BudgetedModel.empty(3), vectors=vectors, counts=counts, pasts=np.zeros(40))
        after = settings.go_on(values_of(point, 1.0), np.ones(1), replace(model, n_seen=1.0, n_steps=1))
        (merged,) = np.flatnonzero((after.vectors != vectors).any(axis=1) | (after.counts != counts))
        squared = np.longdouble(cdist(vectors.astype(np.float64), point.astype(np.float64), "sqeuclidean")[:, 0])
        losses = extended_losses(counts.astype(np.longdouble), squared)
        assert losses[merged] <= 1.02 * losses.min()


def extended_losses(counts, squared):
    """WD of merging a point of count 1 with each, by s − 1 and κ − 1, so that nothing cancels."""
    m = 1.0 / (1.0 + counts)
    h = np.longdouble(merging.best_h(m.astype(np.float64), np.exp(-squared).astype(np.float64)))
    excess = m * np.expm1(-squared * (1.0 - h) ** 2) + (1.0 - m) * np.expm1(-squared * h**2)
    return (1.0 + counts) ** 2 * (2.0 * m * (1.0 - m) * np.expm1(-squared) - 2.0 * excess - excess**2)


def test_a_loose_search_is_nearly_as_good(clouds):
    X, y = clouds
    correct = [np.mean(np.sign(decision(fit(X, y, budget=20, search=name, passes=5)[0], X)) == y) for name in SEARCHES]
    assert min(correct) > 0.85


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_kept_distances_of_merged_points(clouds, make):
    """‖z − l‖² by the rule, over hundreds of merges, against the distances of the points themselves."""
    X, y = clouds
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    settings = BudgetedSGD(gamma=GAMMA, C=C, budget=30)
    core = settings.core(values_of(make(X), settings.gamma), y * weights)
    for _ in range(5):
        while not core.run(1.0):
            pass
    assert core.n_maintained > 50
    kept = np.empty((core.n_vectors, core.n_vectors), np.float32)
    assert core.copy_distances(kept)
    vectors = as_model(core).vectors.astype(np.float64)
    assert_allclose(np.exp(-GAMMA * kept), kernel(vectors, vectors), atol=1e-6)


def test_projection_loses_least(clouds):
    """After a step too many, the rest represents the removed point as least squares does."""
    X, y = clouds
    before, _ = fit(X[:12], y[:12], budget=12)
    n = before.counts.size
    after, history = fit(X[:12], y[:12], budget=n - 1, maintenance="project")
    assert history[0].n_maintained == 1
    X = before.vectors.astype(np.float64)
    K = kernel(X, X)
    losses = []
    for r in range(n):
        rest = np.delete(np.arange(n), r)
        projected = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, r])
        losses.append(before.coefficients[r] ** 2 * (1.0 - K[r, rest] @ projected))
    removed = int(np.argmin(losses))
    difference = decision(before, X) - decision(after, X)
    assert cdist(X[[removed]], after.vectors).min() > 1e-3
    assert_allclose(np.delete(difference, removed), 0.0, atol=1e-3 * np.abs(before.coefficients).max())


def test_long_projection_stays_sound(moons):
    X, y = moons
    model = BudgetedSVC(budget=30, C=10, maintenance="project", passes=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.n_support_[0] == 30


def test_removal_drops_the_oldest_of_the_smallest(clouds):
    X, y = clouds
    model, history = fit(X[:40], y[:40], budget=10, maintenance="remove")
    assert history[0].n_maintained > 0
    newest = cdist(X[:40], model.vectors).argmin(axis=0)
    assert newest.min() >= history[0].n_maintained  # nothing of the first ones is left
    assert_allclose(model.vectors, X[newest], rtol=1e-6)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_repeated_point_is_one_support_vector(search):
    """κ = 1: nothing is lost, and nothing divides by zero."""
    X = np.repeat(np.random.default_rng(0).standard_normal((6, 3)), 50, axis=0)
    y = np.tile([1.0, -1.0], 3).repeat(50)
    for make in (np.asarray, sp.csr_array):
        model, _ = fit(make(X), y, budget=6, search=search, passes=5, shuffle=True)
        assert model.counts.size <= 6
        assert_array_equal(np.sign(decision(model, X)), y)
    model, _ = fit(X, y, budget=4, search=search, passes=5, shuffle=True, published=True)
    assert np.isfinite(model.coefficients).all()


def test_both_labels_stay_when_one_is_rare():
    """A budget full of one label still takes in the other: a pair of the first is merged then."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = -np.ones(200)
    y[150] = 1.0
    model, _ = fit(X, y, budget=2, passes=1)
    assert set(np.sign(model.counts)) == {-1.0, 1.0}


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
