"""The unknowns of a joint problem: columns of few values have fewer of them, and the solution stays the same."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from kernline import AdditiveSVC, kernels, tables
from kernline.solvers.basis import Basis
from kernline.training import AdditiveSettings, encode

# Values of each column: an indicator, a constant, three values, and one for each row.
N_VALUES = (2, 1, 3, 1000)


def table(n_rows=1000):
    rng = np.random.default_rng(0)
    few = [rng.integers(0, n, n_rows) / max(1, n - 1) for n in N_VALUES[:3]]
    X = np.column_stack([*few, rng.random(n_rows)])
    X[:, 1] = 1.0
    return X, (X[:, 0] + np.sin(6.0 * X[:, 3]) + 0.5 * rng.standard_normal(n_rows) > 0.5).astype(int)


def basis_of(X, kernel=None, scale="max", n_threads=1):
    rows = encode(X, AdditiveSettings(kernel or kernels.Intersection(), scale=scale))
    return Basis(rows.data, rows.pair, rows.scales, [], None, n_threads, threading.Event())


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_a_curve_has_no_more_unknowns_than_values(layout):
    basis = basis_of(layout(table()[0]))
    assert dict(zip(basis.curves.tolist(), basis.sizes.tolist(), strict=True)) == {0: 1, 1: 1, 2: 2, 3: 15}


def test_values_beyond_the_first_rows_count():
    X = np.zeros((100_000, 2))
    X[:, 1] = np.linspace(0.0, 1.0, len(X))
    X[[50, 5000, 99_999], 0] = [0.25, 0.5, 1.0]
    assert basis_of(X).sizes.tolist() == [3, 15]


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", [kernels.Intersection(), kernels.Chi2(), kernels.Linear()])
def test_values_sums_and_features_agree(kernel, layout):
    basis = basis_of(layout(table()[0]), kernel)
    n_unknowns = int(basis.sizes.sum())
    Phi = basis.features(np.arange(1000), slice(0, n_unknowns)).astype(np.float64)
    rng = np.random.default_rng(1)
    theta, r = rng.standard_normal((n_unknowns, 3)), rng.standard_normal((1000, 3))
    assert_allclose(basis.values(theta), Phi @ theta, atol=1e-4)
    assert_allclose(basis.sums(r), Phi.T @ r, atol=1e-3)
    middle = slice(int(basis.sizes[0]), n_unknowns)
    assert_allclose(basis.features(np.arange(1000), middle), Phi[:, middle], atol=1e-6)


def test_the_solution_is_that_of_all_unknowns():
    """The features of the peer are all hats, times the root of the kernel's matrix at the knots."""
    X, y = table()
    ours = AdditiveSVC("intersection", scale="max", gamma=1.0, loss="log", C=3.0, tol=1e-9, max_iter=1000).fit(X, y)
    pair = tables.build(kernels.Intersection(), tables.Hats(16))
    cells = encode(X, AdditiveSettings(kernels.Intersection())).data.dense_cells(np.arange(4))
    root = np.linalg.cholesky(pair.gram[1:, 1:])
    Phi = np.hstack([pair.read.vectors(column)[:, 1:] @ root for column in cells.T.astype(np.int64)])
    peer = LogisticRegression(C=3.0, tol=1e-10, max_iter=10**5).fit(Phi, y)
    assert_allclose(ours.decision_function(X), peer.decision_function(Phi), atol=2e-3)
    knots = ours.shapes_.weights[0, :, 1:]
    assert_allclose(knots, (root @ peer.coef_[0].reshape(4, -1).T).T, atol=2e-3)
