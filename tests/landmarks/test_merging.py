"""The functions that merging needs, and their tables, against SciPy and direct kernel evaluation."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import RegularGridInterpolator
from scipy.optimize import minimize_scalar

from kernline.landmarks import merging

from ..solvers.budgeted import kernel

RNG = np.random.default_rng(0)
SHARES, KAPPAS = 0.5 * RNG.random(200), RNG.random(200)  # m of a pair of coefficients, and the kernel's value


def test_h_and_degradation_by_scipy():
    h = merging.best_h(SHARES, KAPPAS)
    for m, kappa, ours in zip(SHARES, KAPPAS, h, strict=True):

        def negative(t, m=m, kappa=kappa):
            return -(m * kappa ** ((1 - t) ** 2) + (1 - m) * kappa ** (t**2))

        found = minimize_scalar(negative, bounds=(0.0, 0.5), method="bounded", options={"xatol": 1e-10})
        everywhere = minimize_scalar(negative, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
        assert -negative(ours) >= max(-found.fun, -everywhere.fun) - 1e-12
        assert_allclose(ours, found.x, atol=1e-6)


def test_degradation_is_the_squared_distance_of_the_terms():
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


def test_tables_interpolate():
    h, loss = merging.tables(400)
    grid = (np.linspace(0, 0.5, 400), np.linspace(0, 1, 400))
    at = np.column_stack([SHARES, KAPPAS])
    best = merging.best_h(SHARES, KAPPAS)
    exact = np.sqrt(0.5 * merging.degradation(SHARES, KAPPAS, best)) / SHARES
    assert np.abs(RegularGridInterpolator(grid, loss)(at) - exact).max() < 2e-3
    near = KAPPAS > 0.9
    assert_allclose(RegularGridInterpolator(grid, loss)(at[near]), exact[near], rtol=1e-4)
    smooth = np.exp(-2) + 0.01 < KAPPAS
    assert np.abs(RegularGridInterpolator(grid, h)(at) - best)[smooth].max() < 1e-3


def test_the_edge_holds_one_mode():
    """At m = 1/2 and κ < e⁻² both ends are as good; the table keeps to the one it comes from, on all of Z."""
    h, loss = merging.tables(400)
    kappa = np.linspace(0, 1, 400)
    two_modes = kappa < np.exp(-2)
    assert (h[-1, two_modes] < 0.5).all()
    assert_allclose(h[-1, ~two_modes], 0.5, atol=1e-3)
    assert np.abs(np.diff(h[:, two_modes], axis=0)).max() < 0.12
    assert_allclose(loss[-1, ~two_modes], 1 - np.sqrt(kappa[~two_modes]), atol=1e-6)


def test_the_first_row_is_the_limit():
    """One of a pair next to nothing: √(WD/2)/m at m = 0 is where small m lead to."""
    kappa = np.linspace(0.0, 0.99, 100)
    m = np.full_like(kappa, 1e-4)
    near = np.sqrt(0.5 * merging.degradation(m, kappa, merging.best_h(m, kappa))) / m
    assert_allclose(merging.loss(np.zeros_like(m), kappa, np.zeros_like(m)), near, rtol=1e-3)


def test_published_tables_hold_h_and_wd_over_the_unit_square():
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


def test_equal_and_orthogonal_points():
    assert_array_equal(merging.best_h(np.array([0.1, 0.5]), np.array(1.0)), [0.1, 0.5])
    assert_array_equal(merging.best_h(np.array([0.1, 0.5]), np.array(0.0)), [0.0, 0.0])
    h, loss = merging.tables(50)
    assert_array_equal(loss[:, -1], 0.0)
    assert np.isfinite(h).all()


def test_the_bound_of_the_core_leaves_no_better_partner_out():
    """See PartnerSearch in native/loops/merge_search.hpp, and `fill_bounds`."""
    m, kappa = np.meshgrid(np.linspace(0.001, 0.5, 300), np.linspace(0.0, 1.0, 301)[:-1])
    loss = np.sqrt(0.5 * merging.degradation(m, kappa, merging.best_h(m, kappa))) / m
    near = (1.0 - kappa) * (0.707 + 0.293 * kappa) * (1.0 - m)
    chords = np.minimum(0.707 - 0.56 * kappa, 0.726 - 0.913 * kappa)
    bound = np.maximum(near, np.maximum(chords, 0.7071 - 12.0 * kappa**2))
    assert (bound <= loss * (1.0 + 1e-6)).all()
    assert (loss < 1.5 * bound).all()
