"""feature_importances_: against the curves themselves, evaluated at the training rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline

from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR, tables
from kernline.encoding import TermSpec


def by_curves(model, X):
    """The standard deviations of the curves over all rows, averaged over the problems."""
    spread = np.std(model.shapes_.explain(X).values, axis=0, dtype=np.float64).mean(axis=1)
    found = spread[: X.shape[1]].copy()
    for pair, extent in zip(model.shapes_.encoder.functions[X.shape[1] :], spread[X.shape[1] :], strict=True):
        found[list(pair)] += extent / 2.0
    return found / found.sum()


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "linear"},
        {"kernel": "intersection", "scale": "rank"},
        {"kernel": "js", "approximation": "plame"},
        {"approximation": "pmsvm"},
        {"approximation": tables.PolynomialGradient()},
    ],
    ids=str,
)
def test_classes(layout, parameters):
    X, y = load_digits(return_X_y=True)
    model = AdditiveSVC(**parameters).fit(layout(X), y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert_allclose(model.feature_importances_, by_curves(model, X), atol=1e-6)


def test_a_sample_of_many_rows_is_enough():
    X, y = load_digits(return_X_y=True)
    X, y = np.tile(X, (6, 1)), np.tile(y, 6)
    model = AdditiveSVC().fit(X, y)
    assert_allclose(model.feature_importances_, by_curves(model, X), atol=2e-3)


def test_terms_belong_to_their_columns():
    X, y = load_digits(return_X_y=True)
    X = X[:, 18:24].copy()
    X[X[:, 1] == 0.0, 1] = np.nan
    model = AdditiveSVC()
    model._terms = lambda: (TermSpec("category", (0,)), TermSpec("missing", (1,)), TermSpec("pair", (2, 3)))
    model.fit(X, y)
    assert_allclose(model.feature_importances_, by_curves(model, X), atol=1e-6)


def test_other_estimators():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"kernel": "intersection", "scale": "rank"}
    for model in (AdditiveSVCCV(Cs=2, cv=2, **options), AdditiveSVC(**options).fit(X, y)):
        model.fit(X, y)
        assert_allclose(model.feature_importances_, by_curves(model, X), atol=1e-6)
    model = AdditiveSVC(**options).partial_fit(X, y, classes=[0, 1])
    assert_allclose(model.feature_importances_, by_curves(model, X), atol=1e-6)
    X, y = load_diabetes(return_X_y=True)
    model = AdditiveSVR("intersection", scale="rank").fit(X, y)
    assert_allclose(model.feature_importances_, by_curves(model, X), atol=1e-6)


def test_a_model_of_constants():
    X = np.ones((20, 3))
    model = AdditiveSVC("intersection", scale="rank").fit(X, np.arange(20) % 2)
    assert_allclose(model.feature_importances_.sum(), [0.0, 1.0][int(model.feature_importances_.any())])


def test_selection():
    X, y = load_digits(return_X_y=True)
    model = make_pipeline(SelectFromModel(AdditiveSVC(), max_features=30), AdditiveSVC()).fit(X, y)
    assert model[-1].n_features_in_ <= 30
    assert model.score(X, y) > 0.9
