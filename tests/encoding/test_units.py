"""Columns of one unit: the rule on data whose units are known."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import HashingVectorizer

from kernline.datasets import make_bag_of_words
from kernline.encoding import ColumnRange, units_of


def units(X):
    return units_of(ColumnRange.of(X), X.shape[0], sparse=sp.issparse(X))


def table(seed=0):
    """Half zeros, columns of different units: an indicator, years, a rare amount."""
    rng = np.random.default_rng(seed)
    return rng.random((300, 3)) * [1.0, 90.0, 1e5] * (rng.random((300, 3)) < 0.5)


@pytest.mark.parametrize("layout", [np.asarray, np.float32, sp.csr_array])
def test_pixels_counts_and_fractions_are_of_one_unit(layout):
    pixels = load_digits().data
    words = make_bag_of_words(300, 500, random_state=0)[0].toarray()
    fractions = pixels / pixels.sum(axis=1, keepdims=True)
    for X in (pixels, words, fractions, (pixels > 8.0).astype(float)):
        assert units(layout(X)).is_one


@pytest.mark.parametrize("power", [1, 2])
def test_normalised_histograms_are_of_one_unit_though_nothing_is_zero(power):
    rng = np.random.default_rng(0)
    X = rng.gamma(0.3, size=(200, 30)) * rng.lognormal(sigma=3.0, size=30) + 1e-12
    assert not units_of(ColumnRange.of(X), 200, rows=X).is_one
    X /= (X**power).sum(axis=1, keepdims=True) ** (1.0 / power)
    assert units_of(ColumnRange.of(X), 200, rows=X).is_one
    assert "same" in units_of(ColumnRange.of(X), 200, rows=X).reason


@pytest.mark.parametrize("load", [load_wine, load_iris, load_breast_cancer])
def test_measurements_are_not(load):
    assert not units(load().data).is_one


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_different_ranges_are_not_of_one_unit_however_stored(layout):
    decision = units(layout(table()))
    assert not decision.is_one
    assert "ranges differ" in decision.reason


def test_signed_hashes_are_of_one_unit_if_sparse():
    words = [f"word{number}" for number in range(200)]
    documents = np.random.default_rng(0).choice(words, (100, 30)).tolist()
    X = HashingVectorizer(n_features=256).fit_transform(map(" ".join, documents))
    assert X.min() < 0.0
    assert units(X).is_one
    assert not units(X.toarray()).is_one


def test_reasons_name_what_was_found():
    pixels = load_digits().data
    assert "down to -16" in units(-pixels).reason
    assert "only 0% of the values are zero" in units(pixels + 1.0).reason
    assert "49% are zero" in units(pixels).reason


def test_one_word_repeated_a_thousand_times_changes_nothing():
    X = make_bag_of_words(300, 500, random_state=0)[0].toarray()
    X[0, 0] = 1000 * X.max()
    assert units(X).is_one


def test_nothing_but_zeros():
    assert units(np.zeros((5, 3))).is_one
    assert units(np.zeros((5, 3))).reason
