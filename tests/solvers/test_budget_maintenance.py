"""Merging, projection and removal of support vectors, against algorithms written out in NumPy."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import RegularGridInterpolator
from scipy.spatial.distance import cdist

from kernline import BudgetedSVC
from kernline.landmarks import merging
from kernline.solvers import BudgetedModel, BudgetedSGD
from kernline.solvers.budgeted_sgd import as_model, values_of

from .budgeted import GAMMA, C, decision, fit, kernel

SEARCHES = ("lookup-wd", "lookup-h", "gss", "gss-precise")
OURS = ("lookup-wd", "lookup-h", "gss-precise")


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
