"""Columns in one scale: against StandardScaler, dense and sparse, and what the estimators make of it."""

import logging

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernline
from kernline import BudgetedSVC, NystromSVC
from kernline.landmarks import pairwise
from kernline.landmarks.scaling import scaling_for, standard

ESTIMATORS = [NystromSVC(n_basis=60), BudgetedSVC(budget=60)]


@pytest.fixture(scope="module")
def table():
    """A column of zeros and ones, one of large numbers, one with an outlier, one without any variation."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 200), 1e6 + 1e3 * rng.standard_normal(200), rng.random(200), np.ones(200)])
    X[7, 2] = 1e4
    return X


@pytest.mark.parametrize("weighted", [False, True])
def test_dense_columns_are_those_of_standard_scaler(table, weighted):
    weight = np.random.default_rng(0).integers(1, 4, 200).astype(float) if weighted else None
    expected = StandardScaler().fit_transform(table, sample_weight=weight)
    found = standard("a test", table, weight).transform(table)
    assert found.dtype == np.float64
    assert standard("a test", table, weight).transform(table.astype(np.float32)).dtype == np.float32
    assert_allclose(found, np.clip(expected, -3.0, 3.0), atol=1e-5)


def test_sparse_columns_keep_their_zeros(table):
    table = table * [1.0, 0.0, 1.0, 1.0]
    scaling = standard("a test", sp.csr_array(table), None)
    found = scaling.transform(sp.csr_array(table))
    assert sp.issparse(found)
    assert_array_equal(found.toarray() != 0.0, (table != 0.0) & (table.std(axis=0) > 0.0))
    assert_allclose(found.toarray()[:, 0], table[:, 0] / table[:, 0].std(), rtol=1e-6)
    assert found.toarray()[7, 2] == pytest.approx((table[:, 2].mean() + 3.0 * table[:, 2].std()) / table[:, 2].std())
    assert_array_equal(scaling.transform(table), found.toarray())


def test_a_sparse_matrix_after_a_dense_fit(table):
    scaling = standard("a test", table, None)
    assert_array_equal(scaling.transform(sp.csr_array(table)), scaling.transform(table))


def test_what_auto_does():
    def chosen(X, kernel="rbf", gamma="scale"):
        return scaling_for("auto", gamma, pairwise.get(kernel), X, None, 1)

    wine, digits = load_wine().data, load_digits().data
    assert chosen(wine).name == "standard"
    assert "columns standardised: the columns' ranges differ" in str(chosen(wine))
    assert chosen(sp.csr_array(wine)).name == "standard"
    assert chosen(digits).name is None
    assert "columns left as they are: no value is negative" in str(chosen(digits))
    assert "gamma is a number" in chosen(wine, gamma=0.5).reason
    assert "values as they are" in chosen(wine, "exp-chi2").reason
    assert chosen(digits).transform(digits) is digits
    with pytest.raises(ValueError, match="kernel='chi2' needs values >= 0"):
        scaling_for("standard", "scale", pairwise.get("chi2"), wine, None, 1)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_defaults_are_as_accurate_as_svc_behind_a_scaler(estimator, load):
    X, y = load(return_X_y=True)
    expected = cross_val_score(make_pipeline(StandardScaler(), SVC()), X, y).mean()
    assert cross_val_score(estimator, X, y).mean() > expected - 0.02


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scaling_is_part_of_the_model(estimator, tmp_path):
    X, y = load_wine(return_X_y=True)
    model = estimator.fit(X, y)
    by_hand = standard("a test", X, None).transform(X)
    same = type(model)(**model.get_params() | {"scale": None}).fit(by_hand.astype(np.float32), y)
    assert_array_equal(model.decision_function(X), same.decision_function(by_hand))
    kernline.save(model, tmp_path / "model.kern")
    again = kernline.load(tmp_path / "model.kern")
    assert str(again.scale_) == str(model.scale_)
    assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_landmarks_given_are_scaled_too():
    X, y = load_wine(return_X_y=True)
    model = NystromSVC(basis=X[:40]).fit(X, y)
    assert_allclose(model.basis_, model.scale_.transform(X)[model_order(model, X[:40])], atol=1e-5)
    assert model.score(X, y) > 0.97


def model_order(model, given):
    """The numbers of a model's landmarks among those given."""
    scaled = model.scale_.transform(given)
    return [int(np.square(scaled - row).sum(axis=1).argmin()) for row in model.basis_]


def test_choose_scales_unless_it_is_given_numbers():
    X, y = load_wine(return_X_y=True)
    chosen = NystromSVC(n_basis=40).choose(X, y, C=[1.0, 10.0], cv=3)
    assert chosen.scale_.name == "standard"
    assert chosen.best_score_ > 0.95
    refit = NystromSVC(gamma=chosen.gamma_, C=chosen.C_, scale=chosen.scale_.name, n_basis=40).fit(X, y)
    assert_allclose(refit.decision_function(X), chosen.decision_function(X), atol=1e-6)
    assert NystromSVC(n_basis=40).choose(X, y, gamma=[1e-5], C=[1.0], cv=3).scale_.name is None


def test_a_stream_keeps_the_scaling_of_its_first_rows():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(y.size)
    X, y = X[order], y[order]
    model = BudgetedSVC(budget=50).partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    first = model.scale_
    for _ in range(5):
        model.partial_fit(X[60:], y[60:])
    assert model.scale_ is first
    assert model.score(X, y) > 0.95
    with pytest.raises(ValueError, match="the stream began with scale='standard'"):
        model.set_params(scale=None).partial_fit(X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_log_says_what_was_done(estimator, caplog):
    X, y = load_wine(return_X_y=True)
    with caplog.at_level(logging.INFO, "kernline"):
        type(estimator)(**estimator.get_params() | {"verbose": 1}).fit(X, y)
    assert "columns standardised: the columns' ranges differ" in caplog.text


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_missing_values_are_refused(estimator):
    X, y = load_wine(return_X_y=True)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        estimator.fit(X, y)
