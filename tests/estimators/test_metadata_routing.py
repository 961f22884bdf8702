"""Metadata routing: sample weights reach every estimator through pipelines and searches."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from kernline import AdditiveSVC, AdditiveSVCCV, BudgetedSVC, NystromSVC

ESTIMATORS = [AdditiveSVC(), AdditiveSVCCV(Cs=[1.0], cv=2), NystromSVC(n_basis=20), BudgetedSVC(budget=20, passes=2)]


@pytest.fixture
def data():
    X, y = load_breast_cancer(return_X_y=True)
    return X, y, np.random.default_rng(0).integers(1, 20, y.size).astype(float)


@pytest.fixture(autouse=True)
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pipeline(estimator, data):
    X, y, weight = data
    scaled = MinMaxScaler().fit_transform(X)
    requests = type(estimator)(**estimator.get_params()).set_fit_request(sample_weight=True)
    requests.set_score_request(sample_weight=True)
    model = make_pipeline(MinMaxScaler(), requests).fit(X, y, sample_weight=weight)
    direct = type(estimator)(**estimator.get_params()).fit(scaled, y, sample_weight=weight)
    assert_array_equal(model.decision_function(X), direct.decision_function(scaled))
    assert model.score(X, y, sample_weight=weight) == direct.score(scaled, y, sample_weight=weight)


def test_cross_validate_and_a_search(data):
    X, y, weight = data
    requests = AdditiveSVC(C=1.0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    found = cross_validate(requests, X, y, cv=3, params={"sample_weight": weight})["test_score"]
    plain = cross_validate(AdditiveSVC(C=1.0).set_fit_request(sample_weight=False), X, y, cv=3)["test_score"]
    assert not np.array_equal(found, plain)
    search = GridSearchCV(requests, {"C": [1.0]}, cv=3).fit(X, y, sample_weight=weight)
    assert search.best_score_ == pytest.approx(found.mean())


def test_partial_fit_can_ask_for_weights_and_classes():
    model = AdditiveSVC().set_partial_fit_request(sample_weight=True, classes=True)
    request = model.get_metadata_routing().partial_fit.requests
    assert request == {"sample_weight": True, "classes": True}


def test_a_request_that_is_missing_is_an_error(data):
    X, y, weight = data
    with pytest.raises(Exception, match="sample_weight"):
        make_pipeline(AdditiveSVC()).fit(X, y, sample_weight=weight)
