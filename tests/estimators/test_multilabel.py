"""Several labels a row: against OneVsRestClassifier, which fits one model per column."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import get_tags

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV, BudgetedSVC
from kernline.export import to_c

TIGHT = {"tol": 1e-4}


@pytest.fixture(scope="module")
def data():
    return make_multilabel_classification(300, n_features=20, n_classes=4, random_state=0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_each_column_is_a_model_of_its_own(data, loss):
    X, Y = data
    model = AdditiveSVC(loss=loss, **TIGHT).fit(X, Y)
    expected = OneVsRestClassifier(AdditiveSVC(loss=loss, **TIGHT)).fit(X, Y)
    assert_allclose(model.decision_function(X), expected.decision_function(X), atol=0.06)
    assert (model.predict(X) == expected.predict(X)).mean() > 0.995
    assert model.score(X, Y) == pytest.approx(expected.score(X, Y), abs=0.02)  # subset accuracy
    assert model.multilabel_
    assert_array_equal(model.classes_, np.arange(4))


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_matrix, pd.DataFrame, np.ndarray.tolist, bool])
def test_forms_of_y(data, form):
    X, Y = data
    expected = AdditiveSVC().fit(X, Y).decision_function(X)
    given = Y.astype(bool) if form is bool else form(Y)
    assert_array_equal(AdditiveSVC().fit(X, given).decision_function(X), expected)


def test_two_labels_and_weights(data):
    X, Y = data
    weight = np.random.default_rng(0).integers(0, 3, len(Y))
    model = AdditiveSVC("chi2", **TIGHT).fit(X, Y[:, :2], sample_weight=weight)
    assert model.predict(X).shape == model.decision_function(X).shape == (300, 2)
    for k in range(2):
        alone = AdditiveSVC("chi2", **TIGHT).fit(X, Y[:, k], sample_weight=weight)
        assert_allclose(model.objective_[k], alone.objective_[0], rtol=1e-3)


def test_a_label_that_all_rows_have_or_none(data):
    X, Y = data
    Y = Y.copy()
    Y[:, 0], Y[:, 1] = 0, 1
    predicted = AdditiveSVC().fit(X, Y).predict(X)
    assert not predicted[:, 0].any()
    assert predicted[:, 1].all()


def test_threads_and_a_search(data):
    X, Y = data
    one, two = (AdditiveSVC(n_jobs=n).fit(X, Y).decision_function(X) for n in (1, 2))
    assert_array_equal(one, two)
    search = GridSearchCV(AdditiveSVC(), {"C": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.3


def test_saved(data, tmp_path):
    X, Y = data
    for labels in (Y, Y[:, :2]):
        model = AdditiveSVC().fit(X, labels)
        kernline.save(model, tmp_path / "model.kern")
        again = kernline.load(tmp_path / "model.kern")
        assert_array_equal(again.predict(X), model.predict(X))
        assert again.multilabel_


def test_a_fit_to_classes_afterwards(data):
    X, Y = data
    model = AdditiveSVC(warm_start=True).fit(X, Y).fit(X, Y[:, 0])
    assert not model.multilabel_
    assert_array_equal(model.predict(X), AdditiveSVC().fit(X, Y[:, 0]).predict(X))


def test_what_is_refused(data, tmp_path):
    X, Y = data
    with pytest.raises(ValueError, match=r"'multiclass-multioutput'.*MultiLabelBinarizer"):
        AdditiveSVC().fit(X, Y + np.arange(4))
    with pytest.raises(ValueError, match="class_weight weighs classes that exclude one another"):
        AdditiveSVC(class_weight="balanced").fit(X, Y)
    with pytest.raises(ValueError, match=r"AdditiveSVCCV takes one label per row.*GridSearchCV"):
        AdditiveSVCCV().fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AdditiveSVC().fit(X, Y[:50])
    codes = AdditiveSVC().fit(X, Y[:, 0]).shapes_.encoder.transform(X)
    with pytest.raises(ValueError, match="encoded already take one label"):
        AdditiveSVC().fit(codes, Y)
    model = AdditiveSVC().fit(X, Y)
    with pytest.raises(ValueError, match="partial_fit takes one label per row"):
        model.partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="y should be a 1d array"):
        AdditiveSVC().partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="models of one label per row"):
        to_c(model, tmp_path / "m.h")


def test_tags():
    assert get_tags(AdditiveSVC()).classifier_tags.multi_label
    assert not get_tags(AdditiveSVCCV()).classifier_tags.multi_label
    assert not get_tags(BudgetedSVC()).classifier_tags.multi_label
