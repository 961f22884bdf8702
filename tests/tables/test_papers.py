"""Each published method against its paper's algorithm, written out in NumPy: one epoch in the order of the rows.

The papers' loop, with G = y_i g(x_i) − 1 (PmSVM's final algorithms print G = g(x_i)):

    α_i ← clip(α_i − G / Q_ii, 0, C),   then the update of what g is read from
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.interpolate import BarycentricInterpolator

from kernline import AdditiveSVC, kernels, tables
from kernline.encoding import Encoder
from kernline.native import row_norms
from kernline.solvers import DualCD, Problem
from kernline.solvers.certificate import certify
from kernline.tables.polynomial import chebyshev_nodes

C = 0.3


@pytest.fixture(scope="module")
def data():
    """Rows of thousandths with a maximum of one in each column: what the papers' look-up table is exact on."""
    rng = np.random.default_rng(0)
    X = np.round(rng.gamma(0.4, 0.3, (80, 12)).clip(0, 1) * (rng.random((80, 12)) < 0.7), 3)
    X[0] = 1.0
    return X, np.where(X @ rng.standard_normal(12) > 0, 1.0, -1.0)


def one_epoch(X, y, pair):
    encoder = Encoder.fit(X, pair, kernel=kernels.Chi2())
    encoded = encoder.transform(X)
    norms = row_norms(encoded, pair, encoder.scales, n_threads=1)
    problem = Problem(encoded, pair, encoder.scales, y, np.full(y.size, C), norms, intercept_square=0.0)
    result = DualCD(tol=1e-9, max_iter=1, shuffle=False).solve(problem)
    return result.beta * y, result.weights, certify(problem, result.beta).decision


def papers_epoch(y, Q, read, write, shape):
    """`read(W, i)` gives g(x_i), `write(W, i, δ)` updates W."""
    alpha, W = np.zeros(y.size), np.zeros(shape)
    for i in range(y.size):
        G = y[i] * read(W, i) - 1.0
        with np.errstate(divide="ignore"):  # a row whose map is zero pays in full: G = -1, Q = 0
            updated = min(max(alpha[i] - G / Q[i], 0.0), C)
        write(W, i, (updated - alpha[i]) * y[i])
        alpha[i] = updated
    return alpha, W


@pytest.mark.parametrize("p", [-1.0, -8.0])
@pytest.mark.parametrize("shortcut", [False, True])
def test_pmsvm_is_its_algorithm_3(data, p, shortcut):
    X, y = data
    c = np.array([0.01, 0.06, 0.75])
    inverse = np.linalg.inv(np.vander(np.log(c + 0.05), increasing=True))

    def mean(u):
        """M_p(c, u), from the definition."""
        m = ((c**p + u**p) / 2.0) ** (1.0 / p)
        return np.array([c[0], *m[1:]]) if shortcut else m

    def read(a, i):
        return sum((a[j] * np.log(X[i, j] + 0.05) ** np.arange(3)).sum() for j in np.flatnonzero(X[i]))

    def write(a, i, step):
        for j in np.flatnonzero(X[i]):
            a[j] += step * inverse @ mean(X[i, j])

    alpha, a = papers_epoch(y, np.abs(X).sum(axis=1), read, write, (12, 3))
    ours = one_epoch(X, y, tables.PmSVM(shortcut=shortcut).build(kernels.PowerMean(p)))
    assert_allclose(ours[0], alpha, atol=1e-5)
    assert_allclose(ours[1], a, atol=1e-5 * np.abs(a).max())


@pytest.mark.parametrize("degree", [2, 4])
def test_pmsvm_lut_is_its_algorithm_3(data, degree):
    X, y = data
    b, m = 1000, degree
    i = np.arange(1, m + 2)
    c = 0.5 + 0.5 * np.cos((2 * i - 1) / (2 * (m + 1)) * np.pi)
    vandermonde = np.vander(np.log(c + 0.05), increasing=True)
    T1 = np.log(np.arange(b + 1) / b + 0.05)
    T2 = np.linalg.solve(vandermonde, kernels.Chi2().scalar(c[:, None], np.arange(b + 1) / b)).T
    h = np.floor(b * X + 1e-9).astype(int)  # the values are thousandths, which floats only come near

    def read(a, i):
        return sum((a[j] * T1[h[i, j]] ** np.arange(m + 1)).sum() for j in np.flatnonzero(X[i]))

    def write(a, i, step):
        for j in np.flatnonzero(X[i]):
            a[j] += step * T2[h[i, j]]

    alpha, a = papers_epoch(y, np.abs(X).sum(axis=1), read, write, (12, m + 1))
    ours = one_epoch(X, y, tables.PolynomialGradient(m, bins=b).build(kernels.Chi2()))
    assert_allclose(ours[0], alpha, atol=1e-5)
    # ours keeps g_j at the nodes (in increasing order), the paper a_j = X⁻¹ g_j(c)
    assert_allclose(ours[1][:, ::-1], a @ vandermonde.T, atol=1e-5 * np.abs(a @ vandermonde.T).max())


@pytest.mark.parametrize("degree", [2, 3, 4, 5])
def test_chebyshev_nodes_have_the_papers_bounds(degree):
    """PmSVM-LUT's equation 14, max |∏ (x − x_i)| = 2^(−m) on [−1, 1], here on [0, 1]; and 17, Lebesgue's constant."""
    nodes, x = chebyshev_nodes(degree), np.linspace(0.0, 1.0, 20_001)
    product = np.abs((x[:, None] - nodes).prod(axis=1)).max()
    assert_allclose(product, 2.0**-degree / 2.0 ** (degree + 1), rtol=1e-6)
    for others in (np.linspace(0.0, 1.0, degree + 1), nodes + 0.01):
        assert np.abs((x[:, None] - others).prod(axis=1)).max() > 1.01 * product
    lagrange = [BarycentricInterpolator(nodes, row)(x) for row in np.eye(degree + 1)]
    growth = 2.0 / np.pi * np.log(degree + 1)
    assert growth + 0.9625 < np.abs(lagrange).sum(axis=0).max() < growth + 1.0


PLAME_CHORDS = {
    "chi2": (
        lambda x, lo, up: 2 * x**2 / ((x + up) * (x + lo)),
        lambda x, lo, up: 2 * x * lo * up / ((x + up) * (x + lo)),
    ),
    "intersection": (
        lambda x, lo, up: (np.minimum(up, x) - np.minimum(lo, x)) / (up - lo),
        lambda x, lo, up: (up * np.minimum(lo, x) - lo * np.minimum(up, x)) / (up - lo),
    ),
    "hellinger": (
        lambda x, lo, up: np.sqrt(x) / (np.sqrt(up) + np.sqrt(lo)),
        lambda x, lo, up: np.sqrt(x * lo * up) / (np.sqrt(up) + np.sqrt(lo)),
    ),
    "js": (
        lambda x, lo, up: (jensen_shannon(x, up) - jensen_shannon(x, lo)) / (up - lo),
        lambda x, lo, up: (up * jensen_shannon(x, lo) - lo * jensen_shannon(x, up)) / (up - lo),
    ),
}


def jensen_shannon(x, y):
    """Table II; 0 log 0 = 0."""
    zero = y == 0
    y = np.where(zero, 1.0, y)
    return np.where(zero, 0.0, 0.5 * x * np.log2((x + y) / x) + 0.5 * y * np.log2((x + y) / y))


@pytest.mark.parametrize("name", PLAME_CHORDS)
def test_symmetric_plame_is_the_projection_onto_the_knots(name):
    """k̂(x, y) = k(x, c) M⁺ k(c, y): positive definite, exact where an argument is a knot, and nearer than the chord."""
    kernel = kernels.get(name)
    pair = tables.Plame(15, symmetric=True).build(kernel)
    codes, knots = pair.grid.values, (np.arange(16) / 15) ** 2
    approximate = pair.read.as_rows() @ pair.write.as_rows().T
    assert_allclose(approximate, approximate.T, atol=2e-5)
    assert np.linalg.eigvalsh(approximate).min() > -1e-4
    exact = kernel.scalar(codes[:, None], codes[None, :])
    at_knots = np.abs(codes[:, None] - knots).min(axis=1) < 1e-12
    assert at_knots.sum() == 16
    assert_allclose(approximate[:, at_knots], exact[:, at_knots], atol=3e-3)
    # No vector is longer than the kernel's own, so no large weights cancel, in float32.
    for table in (pair.read, pair.write):
        assert ((table.as_rows() ** 2).sum(axis=1) <= kernel.scalar(codes, codes) + 1e-5).all()
    published = tables.Plame(15).build(kernel)
    chords = published.read.as_rows() @ published.write.as_rows().T
    assert np.abs(approximate - exact).mean() <= 1.01 * np.abs(chords - exact).mean()


def test_plame_converges_for_a_large_c_if_it_is_symmetric():
    """Where the published iteration ends with a gap of most of the objective."""
    rng = np.random.default_rng(0)
    X = rng.random((1500, 3))
    y = np.where(np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(1500) > 0.7, 1, -1)
    options = {"C": 300.0, "gamma": 1.0, "tol": 0.01, "max_iter": 300, "loss": "hinge", "scale": "max"}
    symmetric = AdditiveSVC("chi2", tables.Plame(symmetric=True), **options).fit(X, y)
    hats = AdditiveSVC("chi2", tables.Hats(256), **options).fit(X, y)
    assert symmetric.dual_gap_[0] <= 0.01 * symmetric.objective_[0]
    assert_allclose(symmetric.objective_, hats.objective_, rtol=0.05)


@pytest.mark.parametrize("name", PLAME_CHORDS)
def test_plame_is_its_measure(data, name):
    """g(x) = Σ_i α_i y_i Σ_j m(I) x_ij + c(I), by the slope and intercept of the interval that holds x_ij."""
    y = data[1]
    knots = np.linspace(0.0, 1.0, 16)
    codes = tables.Plame(15, spacing=1.0).build(kernels.get(name)).grid.values
    X = codes[np.abs(data[0][:, :, None] - codes).argmin(axis=2)]  # values the codes hold exactly
    slope, intercept = PLAME_CHORDS[name]
    interval = np.clip(np.searchsorted(knots, X, side="right"), 1, 15)
    lower, upper = knots[interval - 1], knots[interval]

    def measure(i, x):
        """Σ_j k_PL(x_ij, x_j), zeros left out."""
        both = (X[i] > 0) & (x > 0)
        m, c = (part(x[both], lower[i][both], upper[i][both]) for part in (slope, intercept))
        return (m * X[i][both] + c).sum()

    K = np.array([[measure(i, x) for i in range(y.size)] for x in X])
    alpha, _ = papers_epoch(
        y, np.diag(K), lambda b, i: K[i] @ b, lambda b, i, step: b.__setitem__(i, b[i] + step), y.shape
    )
    ours = one_epoch(X, y, tables.Plame(15, spacing=1.0).build(kernels.get(name)))
    assert_allclose(ours[0], alpha, atol=1e-5)
    assert_allclose(ours[2], K @ (alpha * y), atol=1e-4)


def thermometer(u):
    """libHIK with seven levels: ⌊7u⌋ ones."""
    return (np.floor(7 * u + 1e-6)[:, None] > np.arange(7)) / math.sqrt(7)


EXPLICIT = {
    "feature-map": (tables.HomogeneousMap(2), "chi2", lambda u: tables.HomogeneousMap(2).features(kernels.Chi2(), u)),
    "feature-map hik": (
        tables.HomogeneousMap(1),
        "intersection",
        lambda u: tables.HomogeneousMap(1).features(kernels.Intersection(), u),
    ),
    "chebyshev": (tables.ChebyshevMap(5), "chi2", lambda u: tables.ChebyshevMap(5).features(u)),
    "hik": (tables.QuantisedIntersection(7), "intersection", thermometer),
}


@pytest.mark.parametrize("name", EXPLICIT)
def test_explicit_maps_are_a_linear_svm_on_the_mapped_data(data, name):
    """Dual coordinate descent of the linear SVM (Hsieh et al., algorithm 1) on Φ, written down."""
    X, y = data
    method, kernel, features = EXPLICIT[name]
    Phi = np.stack([features(column) for column in X.T], axis=1)

    def write(W, i, step):
        W += step * Phi[i]

    alpha, W = papers_epoch(y, (Phi**2).sum(axis=(1, 2)), lambda W, i: (W * Phi[i]).sum(), write, Phi.shape[1:])
    ours = one_epoch(X, y, method.build(kernels.get(kernel)))
    assert_allclose(ours[0], alpha, atol=1e-5)
    assert_allclose(ours[1], W, atol=1e-5 * np.abs(W).max())


@pytest.mark.parametrize(("name", "p"), [("chi2", None), ("js", None), ("intersection", None)])
def test_homogeneous_map_has_the_published_spectrum(name, p):
    """A long period leaves the window no effect: the coefficients are L κ(jL) of the papers' closed forms."""
    spectrum = {
        "chi2": lambda w: 1.0 / math.cosh(math.pi * w),
        "intersection": lambda w: 2.0 / math.pi / (1.0 + 4.0 * w * w),
        "js": lambda w: 2.0 / math.log(4.0) / math.cosh(math.pi * w) / (1.0 + 4.0 * w * w),
    }[name]
    period = 60.0
    features = tables.HomogeneousMap(order=3, period=period).features(kernels.get(name), np.array([1.0]))[0]
    L = 2.0 * math.pi / period
    expected = [math.sqrt(L * spectrum(0.0))] + [math.sqrt(2.0 * L * spectrum(j * L)) for j in (1, 2, 3)]
    assert_allclose(features[[0, 1, 3, 5]], expected, rtol=1e-4)
    assert_allclose(features[[2, 4, 6]], 0.0, atol=1e-12)


def test_chebyshev_coefficients_are_their_integrals():
    """Φ_k(u) = √(2u)/π ∫₀^π cos or sin(ω ln u) cos kθ dθ with tanh(πω) = cos θ, by adaptive quadrature."""
    for u in (0.03, 0.4, 1.0):
        features = tables.ChebyshevMap(5).features(np.array([u]))[0]
        for k in range(5):
            wave = math.cos if k % 2 == 0 else math.sin

            def integrand(w, k=k, u=u, wave=wave):
                return wave(w * math.log(u)) * math.cos(k * math.acos(math.tanh(math.pi * w))) / math.cosh(math.pi * w)

            value = quad(integrand, -12, 12, epsabs=1e-12, limit=400)[0]
            assert_allclose(features[k], math.sqrt(u) * (math.sqrt(2.0) if k else 1.0) * value, atol=1e-9)


def test_low_dimensional_map_is_the_best_of_its_rank():
    """Eckart and Young: no map of as many dimensions has a smaller error on the same values."""
    kernel = kernels.Chi2()
    pair = tables.LowDimensionalMap(3, bins=200).build(kernel)
    gram = kernel.scalar(pair.grid.values[:, None], pair.grid.values[None, :])
    ours = np.linalg.norm(pair.read.as_rows() @ pair.read.as_rows().T - gram)
    assert_allclose(ours, np.sqrt((np.linalg.svd(gram, compute_uv=False)[3:] ** 2).sum()), rtol=1e-4)
    other = tables.HomogeneousMap(1).features(kernel, pair.grid.values)
    assert ours < np.linalg.norm(other @ other.T - gram)


def test_hik_is_the_intersection_of_integers():
    levels, (u, v) = 7, np.random.default_rng(0).random((2, 500))
    pair = tables.QuantisedIntersection(levels).build(kernels.Intersection())
    code_u, code_v = (np.searchsorted(pair.grid.thresholds, x, side="right") for x in (u, v))
    ours = (pair.read.as_rows()[code_u] * pair.write.as_rows()[code_v]).sum(axis=1)
    assert_allclose(ours, np.minimum(np.floor(levels * u), np.floor(levels * v)) / levels, atol=1e-6)


@pytest.mark.parametrize(
    "family",
    [
        pytest.param([(tables.HomogeneousMap(n), kernels.Chi2()) for n in (1, 3, 6)], id="feature-map chi2"),
        pytest.param([(tables.HomogeneousMap(n), kernels.JensenShannon()) for n in (1, 3, 6)], id="feature-map js"),
        pytest.param([(tables.HomogeneousMap(n), kernels.Intersection()) for n in (1, 3, 6)], id="feature-map hik"),
        pytest.param([(tables.ChebyshevMap(n), kernels.Chi2()) for n in (1, 3, 5, 9, 17)], id="chebyshev"),
        pytest.param([(tables.LowDimensionalMap(n), kernels.Chi2()) for n in (1, 2, 3, 5)], id="low-dim chi2"),
        pytest.param(
            [(tables.LowDimensionalMap(n), kernels.Custom(np.minimum)) for n in (2, 4, 8, 16)], id="low-dim own"
        ),
        pytest.param([(tables.QuantisedIntersection(n), kernels.Intersection()) for n in (2, 4, 16, 64)], id="hik"),
    ],
)
def test_kernel_error_falls_with_dimensions(family):
    u, v = np.random.default_rng(0).random((2, 3000)) ** 4  # over several decades, as in histograms
    errors = []
    for method, kernel in family:
        pair = method.build(kernel)
        code_u, code_v = (np.searchsorted(pair.grid.thresholds, x, side="right") for x in (u, v))
        approximate = (pair.read.as_rows()[code_u] * pair.write.as_rows()[code_v]).sum(axis=1)
        errors.append(np.sqrt(np.mean((approximate - kernel.scalar(u, v)) ** 2)))
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 0.02


def test_hellinger_map_is_exact():
    u, v = np.random.default_rng(0).random((2, 50))
    a, b = (tables.HomogeneousMap().features(kernels.Hellinger(), x) for x in (u, v))
    assert a.shape == (50, 1)
    assert_allclose((a * b).sum(axis=1), np.sqrt(u * v))


@pytest.mark.parametrize(
    ("approximation", "kernel"),
    [
        ("chebyshev", "intersection"),
        ("hik", "chi2"),
        ("feature-map", kernels.Custom(np.multiply)),
        ("feature-map", kernels.Custom(np.minimum)),
        ("feature-map", kernels.PowerMean(-2.0)),
    ],
)
def test_a_kernel_a_method_does_not_take(approximation, kernel, digits):
    with pytest.raises(ValueError, match=r"'hats', 'plame', 'pmsvm', 'pmsvm-lut' or 'low-dim'"):
        AdditiveSVC(kernel, approximation).fit(*digits)


@pytest.mark.parametrize("approximation", ["hats", "plame", "pmsvm", "pmsvm-lut", "low-dim"])
def test_any_kernel_of_ones_own(approximation, digits):
    X, y = digits
    own = kernels.Custom(lambda u, v: 0.5 * np.minimum(u, v) + 0.5 * np.sqrt(u * v))
    assert (
        AdditiveSVC(own, approximation, C=10.0, random_state=0).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.88
    )


def test_pmsvm_has_no_intercept_unless_asked(digits):
    assert not AdditiveSVC("chi2", "pmsvm").fit(*digits).intercept_.any()
    assert AdditiveSVC("chi2", tables.PmSVM(intercept=True)).fit(*digits).intercept_.all()


def test_pmsvm_takes_twenty_bytes_a_value(data):
    pair = tables.PmSVM(shortcut=True).build(kernels.Chi2())
    encoded = Encoder.fit(data[0], pair, kernel=kernels.Chi2()).transform(data[0])
    assert encoded.nbytes == 20 * encoded.n_cells + 8 * 81


class TestQuantileKnots:
    def test_hold_equal_shares(self):
        values = np.random.default_rng(0).beta(0.3, 5, 10_000)
        knots = tables.quantile_knots(values, 16)
        assert_allclose(np.histogram(values, knots)[0], 10_000 / 15, atol=10)

    def test_survive_repeated_values(self):
        knots = np.array(tables.quantile_knots(np.full(100, 0.5), 16))
        assert knots.size == 16
        assert (np.diff(knots) > 0).all()
        assert 0.5 in knots

    @pytest.mark.parametrize("scale", ["max", "minmax", "rank"])
    @pytest.mark.parametrize("method", [tables.Hats, tables.Plame])
    def test_in_a_fit(self, digits, method, scale):
        X, y = digits
        model = AdditiveSVC("chi2", method(12, "quantile"), scale=scale, C=10.0, random_state=0)
        assert model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.89

    def test_need_values(self):
        with pytest.raises(ValueError, match="needs training values"):
            tables.Hats(spacing="quantile").build(kernels.Chi2())
