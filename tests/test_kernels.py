"""Kernels against their formulas, computed another way."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.svm import SVC

from kernline import AdditiveSVC, AdditiveSVCCV, kernels
from kernline.feature_maps import AdditiveKernelMap
from kernline.gram import _blocks

from .conftest import KERNELS

positive = st.floats(1e-6, 1e6)
exponent = st.sampled_from([0.0, -1e-17, -1e-9, -9e-4, -1e-3, -0.25, -0.5, -1.0, -2.0, -8.0, -16.0, -300.0, -math.inf])


def power_mean_by_logarithms(u, v, p):
    """The mean from its definition, in 50 digits' worth of care: logarithms of powers, added without overflow."""
    if p == 0.0:
        return math.exp(0.5 * (math.log(u) + math.log(v)))
    if p == -math.inf:
        return min(u, v)
    a, b = p * math.log(u), p * math.log(v)
    if abs(a - b) < 1e-3:  # ln cosh, whose leading terms cancel otherwise
        z = 0.5 * (a - b)
        return math.exp(0.5 * (math.log(u) + math.log(v)) + (z * z / 2 - z**4 / 12) / p)
    return math.exp((np.logaddexp(a, b) - math.log(2.0)) / p)


@given(positive, positive, exponent)
def test_power_mean_is_its_definition(u, v, p):
    assert_allclose(kernels.PowerMean(p).scalar(u, v), power_mean_by_logarithms(u, v, p), rtol=1e-9)


@given(positive, positive)
def test_jensen_shannon_is_its_definition(u, v):
    expected = u / 2 * math.log2((u + v) / u) + v / 2 * math.log2((u + v) / v)
    assert_allclose(kernels.JensenShannon().scalar(u, v), expected, rtol=1e-12, atol=1e-15 * max(u, v))


@given(positive, positive, st.floats(1e-3, 1e3))
def test_homogeneous_symmetric_and_normalised(u, v, s):
    for kernel in KERNELS:
        assert_allclose(kernel.scalar(s * u, s * v), s * kernel.scalar(u, v), rtol=1e-9)
        assert_allclose(kernel.scalar(u, v), kernel.scalar(v, u), rtol=1e-12)
        assert_allclose(kernel.scalar(u, u), u, rtol=1e-9)


def test_zero_gives_zero(kernel):
    v = np.array([0.0, 1e-300, 0.3, 1e6])
    with np.errstate(all="raise", under="ignore"):
        assert_allclose(kernel.scalar(0.0, v), 0.0)
        assert_allclose(kernel.scalar(v, 0.0), 0.0)


def test_special_cases_of_the_power_mean():
    u, v = np.random.default_rng(0).random((2, 100))
    assert_allclose(kernels.PowerMean(-1).scalar(u, v), kernels.Chi2().scalar(u, v))
    assert_allclose(kernels.PowerMean(0).scalar(u, v), kernels.Hellinger().scalar(u, v))
    assert_allclose(kernels.PowerMean(-math.inf).scalar(u, v), kernels.Intersection().scalar(u, v))


def gram_by_formula(kernel, X, Y):
    return np.array([[kernel.scalar(x, y).sum() for y in Y] for x in X])


@pytest.mark.parametrize(
    "kernel", [*KERNELS, kernels.Linear(), kernels.PowerMean(-0.5), kernels.PowerMean(0)], ids=repr
)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_gram_matrix(kernel, layout):
    rng = np.random.default_rng(1)
    X, Y = (rng.gamma(0.3, 10.0, (n, 17)) * (rng.random((n, 17)) < 0.6) for n in (9, 6))
    X[3] = 0.0
    assert_allclose(kernel(layout(X), layout(Y)), gram_by_formula(kernel, X, Y), rtol=1e-12, atol=1e-14)
    assert_allclose(kernel(layout(X)), gram_by_formula(kernel, X, X), rtol=1e-12, atol=1e-14)


def test_gram_matrix_of_mixed_layouts_and_threads(kernel):
    X = np.random.default_rng(2).random((40, 30))
    expected = kernel(X)
    assert_allclose(kernel(sp.csr_array(X), X), expected, rtol=1e-12)
    assert_allclose(type(kernel)(n_jobs=3)(X), type(kernel)()(X), rtol=0)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_every_thread_gets_rows_even_of_large_products(layout, monkeypatch):
    """A row against all of Y may fill a block; the next thread then has one too."""
    monkeypatch.setattr("kernline.gram._BLOCK_WORK", 10)
    X = layout(np.random.default_rng(0).random((7, 30)))
    assert [rows.stop - rows.start for rows in _blocks(7, 30 * 7, 3)] == [3, 3, 1]
    assert_allclose(kernels.Chi2(n_jobs=3)(X), kernels.Chi2()(X), rtol=0)


def test_gram_matrix_of_very_different_and_very_large_values():
    X = np.array([[1e10], [1e-6], [1.0], [1e-15], [1e200], [1e-200]])
    for kernel in (*KERNELS, kernels.PowerMean(-5e-4)):
        assert_allclose(kernel(X), kernel.scalar(X, X.T), rtol=1e-11)
        assert_allclose(kernel(sp.csr_array(X)), kernel.scalar(X, X.T), rtol=1e-11)


def test_a_kernel_with_a_field_p_is_no_power_mean():
    @dataclass(frozen=True)
    class Own(kernels.AdditiveKernel):
        p: float = 0.0
        name = "own"

        def scalar(self, u, v):
            return np.minimum(u, v)

    assert_allclose(Own()([[4.0]], [[1.0]]), [[1.0]])


def test_gram_matrix_leaves_its_input_alone(kernel):
    duplicated = sp.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    kernel(duplicated)
    assert duplicated.nnz == 2


def test_gram_matrix_sums_duplicate_entries():
    duplicated = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert_allclose(kernels.Intersection()(duplicated), [[7.0]])


def test_gram_matrix_is_positive_definite(kernel, digits):
    eigenvalues = np.linalg.eigvalsh(kernel(digits[0][:200]))
    assert eigenvalues.min() > -1e-9 * eigenvalues.max()


def test_serves_as_kernel_of_svc(digits):
    X, y = digits
    as_callable = SVC(kernel=kernels.Chi2()).fit(X[:300], y[:300])
    # scikit-learn's additive_chi2 is -Σ (x - y)² / (x + y); 2xy/(x + y) = (x + y - (x - y)²/(x + y)) / 2.
    sums = X.sum(axis=1)
    gram = 0.5 * (sums[:, None] + sums[None, :300] + additive_chi2_kernel(X, X[:300]))
    precomputed = SVC(kernel="precomputed").fit(gram[:300], y[:300])
    assert_allclose(as_callable.decision_function(X), precomputed.decision_function(gram), atol=1e-6)


def test_gram_matrix_refuses_bad_values(kernel):
    with pytest.raises(ValueError, match=r"needs non-negative values; the minimum given is -0\.5"):
        kernel(np.array([[1.0, -0.5]]))
    with pytest.raises(ValueError, match="NaN"):
        kernel(np.array([[1.0, np.nan]]))
    with pytest.raises(ValueError, match=r"[Ii]ncompatible dimension"):
        kernel(np.ones((2, 3)), np.ones((2, 4)))


def test_power_mean_refuses_what_is_no_kernel():
    for p in (0.5, math.nan):
        with pytest.raises(ValueError, match="p <= 0"):
            kernels.PowerMean(p)


def test_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match=r"'chi2'.*'intersection'"):
        kernels.get("rbf")


class TestCustom:
    def test_is_the_kernel_it_computes(self):
        custom = kernels.Custom(np.minimum)
        X = np.random.default_rng(3).random((20, 5)) * (np.arange(5) != 2)
        assert_allclose(custom(X), kernels.Intersection()(X))
        assert_allclose(custom(sp.csr_array(X), X[:4]), kernels.Intersection()(X, X[:4]))
        assert custom.homogeneous

    def test_knows_when_it_is_not_homogeneous(self):
        assert not kernels.Custom(lambda u, v: u * v).homogeneous

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (lambda u, v: np.exp(-((u - v) ** 2)), "zero if either argument is"),
            (lambda u, v: u**2 * v, "symmetric"),
            (lambda u, v: np.maximum(u, v) * u * v, "positive definite"),
            (lambda u, v: np.divide(1.0, u + v), "finite"),
            (lambda u, v: 1.0, "broadcast"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:divide by zero")
    def test_refuses(self, function, message):
        with pytest.raises(ValueError, match=message):
            kernels.Custom(function)


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (AdditiveSVC("rbf"), "'rbf' is not additive: use NystromSVC (any kernel) or BudgetedSVC ('rbf')."),
        (AdditiveSVCCV("poly"), "'poly' is not additive: use NystromSVC"),
        (AdditiveSVCCV(["chi2", "rbf"]), "'rbf' is not additive: use NystromSVC"),
        (AdditiveKernelMap("rbf"), "'rbf' is not additive: use NystromMap."),
    ],
    ids=lambda value: str(value)[:20],
)
def test_kernels_of_other_estimators_are_named(model, remedy):
    with pytest.raises(ValueError, match=re.escape(remedy)):
        model.fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    with pytest.raises(ValueError, match=r"must be|not known") as error:
        model.set_params(kernel=["chi3"] if isinstance(model.kernel, list) else "chi3").fit([[1.0], [2.0]], [0, 1])
    assert "not additive" not in str(error.value)
