"""The maps as transformers: products against the exact Gram matrix, layouts against each other."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernline import AdditiveSVC, kernels
from kernline.feature_maps import AdditiveKernelMap

MAPS = [
    AdditiveKernelMap("chi2", n_components=7),
    AdditiveKernelMap("js", n_components=7),
    AdditiveKernelMap("intersection", n_components=9),
    AdditiveKernelMap("hellinger", n_components=1),
    AdditiveKernelMap("chi2", "chebyshev", n_components=12),
    AdditiveKernelMap("intersection", "low-dim", n_components=8),
    AdditiveKernelMap("intersection", "hik", n_components=255),
    AdditiveKernelMap("power_mean", "hats", n_components=15),
    AdditiveKernelMap(kernels.Custom(np.minimum), "hats", n_components=15),
]


@parametrize_with_checks([AdditiveKernelMap(), AdditiveKernelMap("intersection", "hats", n_components=5)])
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("map_", MAPS, ids=repr)
def test_products_approximate_the_kernel(map_, histograms):
    X = histograms[0]
    exact = kernels.get(map_.kernel)(X)
    mapped = map_.fit_transform(X)
    assert sp.issparse(mapped)
    difference = (mapped @ mapped.T).toarray() - exact
    assert np.sqrt(np.mean(difference**2) / np.mean(exact**2)) < 0.05
    assert_allclose(map_.fit_transform(X.toarray()), mapped.toarray(), atol=1e-12)


def test_nearer_to_chi2_than_scikit_learns(histograms):
    X = histograms[0].toarray()
    exact = kernels.Chi2()(X)
    maps = AdditiveKernelMap(n_components=3), AdditiveChi2Sampler(sample_steps=2)
    ours, theirs = (np.linalg.norm(Z @ Z.T - exact) for Z in (map_.fit_transform(X) for map_ in maps))
    assert ours < theirs


def test_in_a_pipeline_with_any_linear_model(digits):
    X, y = digits
    model = make_pipeline(
        AdditiveKernelMap("intersection", "hats", n_components=8), SGDClassifier(alpha=1e-5, random_state=0)
    )
    assert model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.85


def test_names():
    frame = pd.DataFrame({"red": [1.0, 2.0], "blue": [0.0, 1.0]})
    names = AdditiveKernelMap().fit(frame).get_feature_names_out()
    assert_array_equal(names, ["red_0", "red_1", "red_2", "blue_0", "blue_1", "blue_2"])
    mapped = AdditiveKernelMap().set_output(transform="pandas").fit_transform(frame)
    assert list(mapped.columns) == list(names)


@pytest.mark.parametrize(
    ("map_", "message"),
    [
        (AdditiveKernelMap(n_components=4), r"2n \+ 1 components.*Pass 3 or 5"),
        (AdditiveKernelMap("js", "chebyshev"), "series of the chi2 kernel"),
        (AdditiveKernelMap("chi2", "hik"), "quantised intersection"),
        (AdditiveKernelMap("linear"), "'kernel' parameter"),
        (AdditiveKernelMap(n_components=0), "'n_components' parameter"),
        (AdditiveKernelMap(method="fourier"), "'method' parameter"),
    ],
)
def test_bad_settings(map_, message):
    with pytest.raises(ValueError, match=message):
        map_.fit(np.ones((3, 2)))


def test_negative_values_are_refused():
    with pytest.raises(ValueError, match="column 1 has minimum -2"):
        AdditiveKernelMap().fit([[1.0, -2.0]])


def test_the_implicit_map_is_the_explicit_one(histograms):
    """AdditiveSVC with the map's tables and a linear SVM on the mapped data are one model."""
    X, y = histograms
    implicit = AdditiveSVC("chi2", "feature-map", gamma=1.0, C=0.1, tol=1e-4, random_state=0).fit(X, y)
    map_ = AdditiveKernelMap().fit(X)
    explicit = AdditiveSVC("linear", gamma=1.0, C=0.1, tol=1e-4, random_state=0).fit(map_.transform(X), y)
    assert_allclose(implicit.decision_function(X), explicit.decision_function(map_.transform(X)), atol=0.05)
