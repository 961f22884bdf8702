"""The defaults on tables with next to nothing in them, against what can be said of them without a fit."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit

from kernline import AdditiveSVC, AdditiveSVR

# Warnings of NumPy would mean that something went wrong on the way.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

RNG = np.random.default_rng(0)
LARGEST = np.finfo(float).max
EMPTY = {
    "zeros": np.zeros((40, 3)),
    "constant": np.full((40, 3), 7.0),
    "negative constant": np.full((40, 3), -7.0),
    "gaps": np.full((40, 3), np.nan),
    "smallest": np.full((40, 3), 5e-324),
    "sparse": sp.csr_array((40, 3)),
}
ODD = {
    "three rows": np.array([[0.0, 1.0], [1.0, 2.0], [5.0, -3.0]]),
    "one feature": RNG.normal(size=(40, 1)),
    "one constant": np.column_stack([RNG.normal(size=40), np.full(40, 7.0)]),
    "huge": 1e300 * RNG.normal(size=(40, 3)),
    "largest": np.column_stack([LARGEST * RNG.choice([-1.0, 1.0], 40), RNG.normal(size=40)]),
    "tiny": 1e-300 * RNG.normal(size=(40, 3)),
    "bytes": RNG.integers(0, 255, (40, 3)).astype(np.uint8),
    "half precision": RNG.normal(size=(40, 3)).astype(np.float16),
    "booleans": RNG.random((40, 3)) < 0.3,
    "a column of gaps": np.column_stack([RNG.normal(size=40), np.full(40, np.nan)]),
    "negative and sparse": sp.csr_array(np.where(RNG.random((40, 5)) < 0.3, RNG.normal(size=(40, 5)), 0.0)),
    "strided": RNG.normal(size=(80, 6))[::2, ::2],
}
BY_INTERACTIONS = pytest.mark.parametrize("interactions", [0, "auto"])


def read_only(X):
    if isinstance(X, np.ndarray):
        X = X.copy()
        X.flags.writeable = False
    return X


@BY_INTERACTIONS
@pytest.mark.parametrize("X", EMPTY.values(), ids=EMPTY)
class TestNothingToLearn:
    def test_the_shares_of_the_classes(self, X, interactions):
        y = np.array(["a"] * 10 + ["b"] * 30)
        model = AdditiveSVC(interactions=interactions, loss="log", tol=1e-6).fit(X, y)
        assert_allclose(model.predict_proba(X), np.tile([0.25, 0.75], (40, 1)), atol=1e-3)
        assert_allclose(model.decision_function(X), logit(0.75), atol=0.01)
        shares = AdditiveSVC(interactions=interactions, loss="log", tol=1e-6).fit(X, np.arange(40) % 4)
        assert_allclose(shares.predict_proba(X), 0.25, atol=1e-3)

    def test_the_mean(self, X, interactions):
        y = np.arange(40.0)
        assert_allclose(AdditiveSVR(interactions=interactions).fit(X, y).predict(X), 19.5, atol=0.01)


@BY_INTERACTIONS
@pytest.mark.parametrize("X", ODD.values(), ids=ODD)
class TestOddValues:
    def test_classes(self, X, interactions):
        for y in (np.arange(X.shape[0]) % 2, np.arange(X.shape[0]) % 3):
            model = AdditiveSVC(interactions=interactions).fit(read_only(X), read_only(y))
            assert np.isfinite(model.decision_function(X)).all()
            if model.loss_ == "log":
                assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)

    def test_numbers(self, X, interactions):
        for y in (np.sin(np.arange(X.shape[0])), np.ones(X.shape[0]), np.ones((X.shape[0], 2))):
            model = AdditiveSVR(interactions=interactions).fit(read_only(X), read_only(y))
            assert np.isfinite(model.predict(X)).all()
            if np.ptp(y) == 0.0:
                assert_array_equal(model.predict(X), y)


def test_a_row_of_each_class():
    X = np.arange(5.0)[:, None]
    assert_array_equal(AdditiveSVC().fit(X, list("edcba")).predict(X), list("edcba"))


def test_one_row_with_a_weight():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    assert_array_equal(AdditiveSVR().fit(X, y, sample_weight=np.arange(20) == 3).predict(X), 3.0)


def test_numbers_without_noise():
    """The variance of the errors goes to zero, and the cost of an error with its inverse beyond float32."""
    X = np.arange(2000.0)[:, None] % 7
    y = X[:, 0] ** 2
    assert_allclose(AdditiveSVR().fit(X, y).predict(X), y, atol=0.01 * y.std())


def test_more_levels_than_a_matrix_of_them_has_room_for():
    n = 40_000
    frame, y = pd.DataFrame({"id": np.arange(n) // 2}).astype(str), np.arange(n) // 2 % 2
    assert AdditiveSVC().fit(frame, y).score(frame, y) == 1.0


def test_pairs_of_the_linear_kernel():
    X, y = ODD["negative and sparse"], np.arange(40) % 2
    model = AdditiveSVC(interactions="auto").fit(X, y)
    assert model.kernel_ == "linear"
    assert not model.shapes_.pairs
    with pytest.raises(ValueError, match=r"interactions=3: tables of pairs need curves.*kernel='intersection'"):
        AdditiveSVC(interactions=3).fit(X, y)
