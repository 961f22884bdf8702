"""Tables against the kernels they approximate and the papers' formulas."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernline import kernels, tables

U = np.random.default_rng(0).random(4000)
V = np.random.default_rng(1).random(4000)
SMALL_U, SMALL_V = U**4, V**4  # crowded near zero, as in histograms


def approximate(pair, u, v):
    """φ(u)·ψ(v) through the codes."""
    code_u, code_v = (np.searchsorted(pair.grid.thresholds, x, side="right") for x in (u, v))
    return np.einsum("nk,nk->n", pair.read.as_rows()[code_u], pair.write.as_rows()[code_v])


def error(pair, kernel, u, v):
    """Root mean square error, as a share of the kernel's."""
    exact = kernel.scalar(u, v)
    return np.sqrt(np.mean((approximate(pair, u, v) - exact) ** 2) / np.mean(exact**2))


def test_hats_error_is_as_documented(kernel):
    pair = tables.Hats().build(kernel)
    assert error(pair, kernel, U, V) < 0.012
    assert error(pair, kernel, SMALL_U, SMALL_V) < 0.025


@pytest.mark.parametrize("method", [lambda n: tables.Hats(n), lambda n: tables.Plame(n - 1)], ids=["hats", "plame"])
def test_error_falls_with_knots(kernel, method):
    errors = [error(method(n).build(kernel), kernel, SMALL_U, SMALL_V) for n in (4, 8, 16, 32, 64, 256)]
    assert all(finer < coarser for coarser, finer in pairwise(errors))
    assert errors[-1] < 2e-3


@pytest.mark.parametrize("kernel", [kernels.Chi2(), kernels.JensenShannon(), kernels.Hellinger()], ids=lambda k: k.name)
def test_polynomial_error_falls_with_degree(kernel):
    """For smooth kernels. The intersection has a corner, at which polynomials of high degree swing wildly."""
    errors = [error(tables.PolynomialGradient(m, bins=10_000).build(kernel), kernel, U, V) for m in (1, 2, 5, 7)]
    assert all(finer < coarser for coarser, finer in pairwise(errors))
    assert errors[-1] < 2e-3


def test_hats_are_symmetric_and_positive_definite(kernel):
    pair = tables.Hats(knots=12).build(kernel)
    gram = pair.read.as_rows() @ pair.write.as_rows().T
    assert_allclose(gram, gram.T, atol=1e-6)
    assert np.linalg.eigvalsh(gram).min() > -1e-5
    assert_allclose(pair.curvature, np.diag(gram), atol=1e-6)


def test_hats_are_exact_at_the_knots(kernel):
    knots = tables.Knots.spaced(16, tables.CROWDED).positions
    pair = tables.Hats().build(kernel)
    u, v = (grid.ravel() for grid in np.meshgrid(knots, knots))
    assert_allclose(approximate(pair, u, v), kernel.scalar(u, v), atol=1e-6)


def test_plame_is_the_papers_chord():
    """Equations 2-4 for chi2, with x the argument that is exact and xi the one in the interval [lower, upper]."""
    knots = tables.Knots.spaced(16, tables.CROWDED).positions
    pair = tables.Plame(15).build(kernels.Chi2())
    x, xi = (pair.grid.values[np.random.default_rng(i).integers(1, pair.grid.values.size, 500)] for i in range(2))
    interval = np.minimum(np.searchsorted(knots, xi, side="right"), 15)
    lower, upper = knots[interval - 1], knots[interval]
    slope = 2 * x**2 / ((x + upper) * (x + lower))
    intercept = 2 * x * lower * upper / ((x + upper) * (x + lower))
    assert_allclose(approximate(pair, x, xi), slope * xi + intercept, atol=1e-6)


@pytest.mark.parametrize("nodes", ["chebyshev", (0.01, 0.06, 0.75)])
def test_polynomial_is_the_papers_algorithm(nodes):
    """Algorithm 3 of PmSVM-LUT: T_1 and T_2 by their definitions, with the Vandermonde matrix of ln(c + 0.05)."""
    b, kernel = 1000, kernels.Chi2()
    c = (
        np.array([0.5 + 0.5 * math.cos((2 * i - 1) / 6 * math.pi) for i in (1, 2, 3)])
        if nodes == "chebyshev"
        else nodes
    )
    vandermonde = np.vander(np.log(np.asarray(c) + 0.05), increasing=True)
    u, v = np.random.default_rng(0).uniform(0.001, 1.0, (2, 300))
    h_u, h_v = np.floor(b * u) / b, np.floor(b * v) / b
    T1 = np.log(h_u + 0.05)[:, None] ** np.arange(3)
    T2 = np.linalg.solve(vandermonde, kernel.scalar(np.asarray(c)[:, None], h_v[None, :])).T
    pair = tables.PolynomialGradient(2, nodes, bins=b).build(kernel)
    assert_allclose(approximate(pair, u, v), np.einsum("nk,nk->n", T1, T2), atol=2e-6)


def test_chebyshev_nodes_are_roots():
    for degree in (1, 2, 5, 10):
        nodes = tables.chebyshev_nodes(degree)
        assert_allclose(np.polynomial.chebyshev.Chebyshev.basis(degree + 1)(2 * nodes - 1), 0.0, atol=1e-12)
        assert (np.diff(nodes) > 0).all()


@pytest.mark.parametrize("approximation", ["hats", "plame", "pmsvm-lut"])
def test_zero_has_no_vector(kernel, approximation):
    pair = tables.build(kernel, approximation)
    v = pair.grid.values
    assert_allclose(approximate(pair, np.zeros_like(v), v), 0.0)
    assert_allclose(approximate(pair, v, np.zeros_like(v)), 0.0)


@pytest.mark.parametrize(("knots", "bits"), [(2, 8), (16, 8), (17, 8), (129, 8), (130, 16), (300, 16)])
def test_codes_fit_their_bytes(knots, bits):
    grid = tables.Hats(knots).build(kernels.Chi2()).grid
    assert grid.code_bits == bits
    assert grid.values.size <= 1 << bits
    assert (np.diff(grid.values) > 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tables.Hats(knots=1).build(kernels.Chi2()), "between 2 and 4096"),
        (lambda: tables.Hats(spacing=0.0).build(kernels.Chi2()), "spacing must be a positive power"),
        (lambda: tables.PolynomialGradient(degree=-1), "degree must be"),
        (lambda: tables.PolynomialGradient(bins=0), "bins must be"),
        (lambda: tables.PolynomialGradient(nodes=(0.1, 0.2)), "3 distinct numbers"),
        (lambda: tables.PolynomialGradient(nodes=(0.1, 0.1, 0.2)), "3 distinct numbers"),
        (lambda: tables.PolynomialGradient(nodes=(0.1, 0.5, 1.2)), "3 distinct numbers"),
        (lambda: tables.build(kernels.Chi2(), "splines"), "'hats'"),
        (lambda: tables.build(kernels.Chi2(), 3), "tables.Hats"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()
