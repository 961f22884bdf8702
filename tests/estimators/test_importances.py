"""feature_importances_: against the curves themselves, evaluated at the training rows."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline

from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR, tables
from kernline.encoding import TermSpec
from kernline.estimators import importances
from kernline.shapes import TrainingFacts


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


@pytest.mark.parametrize("kernel", ["linear", "chi2"])
def test_facts_that_wait_are_those_of_the_fit(kernel, monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    model = AdditiveSVC(kernel, C=1.0, scale="max", random_state=0)
    monkeypatch.setattr(importances, "_KEPT_BYTES", 0)
    at_once = clone(model).fit(X, y)
    monkeypatch.undo()
    shared = X.copy()
    model.fit(shared, y)
    shared[:] = 1.0
    assert "feature_importances_" not in vars(model)
    for later in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model):
        assert_allclose(later.feature_importances_, at_once.feature_importances_, rtol=1e-6)
        for name in ("importance", "low", "high", "mean"):
            expected = getattr(at_once.shapes_.training, name)
            assert_allclose(getattr(later.shapes_.training, name), expected, rtol=1e-5, atol=1e-7)
    assert type(pickle.loads(pickle.dumps(model)).shapes_.training) is TrainingFacts
    model.fit(X[:, ::-1], y)
    assert_allclose(model.feature_importances_[::-1], at_once.feature_importances_, rtol=0.2, atol=0.02)
    assert not hasattr(AdditiveSVC(), "feature_importances_")


def test_changes_of_sparse_rows_after_the_fit_are_not_seen():
    X, y = load_digits(return_X_y=True)
    shared = sp.csr_matrix(X[:500].astype(np.float32))
    expected = AdditiveSVC("linear", C=1.0, random_state=0).fit(shared, y[:500]).feature_importances_
    later = AdditiveSVC("linear", C=1.0, random_state=0).fit(shared, y[:500])
    shared.indices[:] = 0
    shared.data[:] = 1.0
    assert_allclose(later.feature_importances_, expected, rtol=1e-6)


def test_facts_that_another_thread_computed_meanwhile():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdditiveSVC("chi2", C=1.0, scale="max").fit(X, y)
    facts = model.shapes_.training
    mean = facts.mean
    assert facts.__getattr__("mean") is mean  # as a thread would that looked before, and asks after
    assert not hasattr(facts, "no such fact")
