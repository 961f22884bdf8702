"""Prediction: every table, layout and number of problems against the curves added up in NumPy."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kernline import kernels, tables
from kernline.encoding import Encoder
from kernline.native import decision
from kernline.shapes import ShapeFunctions

METHODS = {
    "hats": tables.Hats(),
    "hats, 40 knots": tables.Hats(knots=40),
    "plame": tables.Plame(),
    "pmsvm": tables.PmSVM(),
    "pmsvm-lut": tables.PolynomialGradient(),
    "feature-map": tables.HomogeneousMap(),
    "hik": tables.QuantisedIntersection(),
}
PROBLEMS = [1, 3, 4, 5, 8, 10, 27, 70]


def random_model(method, n_problems, density=0.5, scale="max"):
    """Curves of random weights, and data: as many kinds of both as there are."""
    rng = np.random.default_rng(n_problems)
    X = rng.gamma(1.0, 1.0, (37, 9)) * (rng.random((37, 9)) < density)
    kernel = kernels.Linear() if method == "linear" else kernels.Chi2()
    if method == "hik":
        kernel = kernels.Intersection()
    pair = tables.build(kernel, METHODS.get(method, "hats"))
    encoder = Encoder.fit(X, pair, scale=scale, kernel=kernel)
    weights = rng.standard_normal((n_problems, 9, pair.width)).astype(np.float32)
    if isinstance(pair.read, tables.PairTable):
        weights[:, :, 0] = 0.0  # the knot at u = 0, where every curve begins
    return ShapeFunctions(encoder, pair.read, weights, rng.standard_normal(n_problems)), X


def by_curves(shapes, X):
    return sum(shapes.evaluate(j, X[:, j]) for j in range(X.shape[1])) + shapes.intercepts


@pytest.mark.parametrize("n_problems", PROBLEMS)
@pytest.mark.parametrize("method", [*METHODS, "linear"])
def test_decision_is_the_sum_of_the_curves(method, n_problems):
    for density in (0.1, 0.9):
        shapes, X = random_model(method, n_problems, density)
        expected = by_curves(shapes, X)
        for layout in (X, sp.csr_array(X), np.asfortranarray(X)):
            assert_allclose(shapes.decision(layout), expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("n_problems", [1, 10])
@pytest.mark.parametrize("method", [*METHODS, "linear"])
def test_encoded_rows_give_what_raw_rows_give(method, n_problems):
    """Every kind of encoded rows, of which prediction uses some only."""
    for density in (0.1, 0.9):
        shapes, X = random_model(method, n_problems, density)
        data = shapes.encoder.transform(X, write=False)
        scores = decision(data, shapes.table, shapes._slots, shapes.intercepts, 2)
        assert_allclose(scores, shapes.decision(X), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("scale", ["minmax", "rank"])
def test_scales(scale):
    shapes, X = random_model("hats", 5, 0.9, scale)
    assert_allclose(shapes.decision(X - 0.5), by_curves(shapes, X - 0.5), atol=1e-4)


@pytest.mark.parametrize("method", [*METHODS, "linear"])
def test_threads_change_nothing(method):
    shapes, X = random_model(method, 10)
    for n_threads in (2, 5, 1000):
        assert_array_equal(shapes.decision(X, n_threads), shapes.decision(X))


def test_wide_data():
    """More columns than a word of 32 bits has room for."""
    wide = sp.csr_array(([0.5, 1.0, 0.25], [3, 2**24 + 5, 7], [0, 2, 3]), shape=(2, 2**24 + 10))
    pair = tables.DenseTable.of(np.arange(4.0)[:, None]), tables.CodeGrid.nearest(np.linspace(0, 1, 4))
    method = tables.TablePair(pair[0], pair[0], symmetric=True, grid=pair[1])
    encoder = Encoder.fit(wide, method, kernel=kernels.Chi2())
    weights = np.zeros((3, wide.shape[1], 1), dtype=np.float32)
    weights[:, [3, 7, 2**24 + 5], 0] = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    shapes = ShapeFunctions(encoder, pair[0], weights, np.zeros(3))
    assert_array_equal(shapes.decision(wide), 3.0 * np.array([[4, 10, 16], [2, 5, 8]]))


class TestFittedForm:
    def test_an_edit_of_the_weights_is_seen(self):
        shapes, X = random_model("hats", 10)
        shapes.weights[3] = 0.0
        assert_array_equal(shapes.decision(X)[:, 3], shapes.intercepts[3])

    @pytest.mark.parametrize("copied", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy, copy.copy])
    def test_copies_are_equal_and_edited_alone(self, copied):
        shapes, X = random_model("hats", 10)
        before = shapes.decision(X)
        other = copied(shapes)
        assert_array_equal(other.weights, shapes.weights)
        assert_array_equal(other.decision(X), before)
        other.weights[:] = 0.0
        assert_array_equal(other.decision(X), np.tile(other.intercepts, (X.shape[0], 1)))
        assert_array_equal(shapes.decision(X), before)

    def test_weights_given_are_not_written_to(self):
        shapes, X = random_model("hats", 10)
        weights = np.ascontiguousarray(shapes.weights)
        weights.flags.writeable = False
        assert_array_equal(
            ShapeFunctions(shapes.encoder, shapes.table, weights, shapes.intercepts).decision(X), shapes.decision(X)
        )
