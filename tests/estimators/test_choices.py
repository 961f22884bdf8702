"""What "auto" stands for, by the kind of the data."""

import logging
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.model_selection import KFold

from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR, AdditiveSVRCV, kernels, tables
from kernline.estimators import choices
from kernline.estimators.probabilities import class_probabilities

FITTED = ("kernel_", "scale_", "loss_", "solver_")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def chosen(model):
    return tuple(getattr(model, name) for name in FITTED)


def test_columns_of_one_unit_keep_their_values(digits):
    assert chosen(AdditiveSVC().fit(*digits)) == ("chi2", "max", "log", "joint")


def test_columns_of_different_units_are_ranked():
    assert chosen(AdditiveSVC().fit(*load_wine(return_X_y=True))) == ("intersection", "rank", "log", "joint")


def test_negative_values_are_ranked(digits):
    X, y = digits
    assert chosen(AdditiveSVC().fit(X - 8.0, y)) == ("intersection", "rank", "log", "joint")


def test_sparse_counts(digits):
    X, y = digits
    assert chosen(AdditiveSVC().fit(sp.csr_array(X), y)) == ("chi2", "max", "hinge", "dual-cd")


def test_negative_sparse_values(digits):
    X, y = digits
    model = AdditiveSVC().fit(sp.csr_array(np.where(X > 8, X - 12.0, 0.0)), y)
    assert chosen(model)[:3] == ("linear", "max", "hinge")


def test_images_of_many_pixels_are_no_table(digits):
    X, y = digits
    assert chosen(AdditiveSVC().fit(np.tile(X, (1, 4)), y))[:3] == ("chi2", "max", "hinge")


def test_wide_tables_of_different_units(monkeypatch):
    """Evidence finds the columns that matter among many that do not."""
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 250))
    y = X[:, 3] + np.abs(X[:, 7]) > 0.8
    model = AdditiveSVC().fit(X[:400], y[:400])
    assert chosen(model) == ("intersection", "rank", "log", "joint")
    without = AdditiveSVC(loss="hinge").fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > without.score(X[400:], y[400:]) + 0.05
    monkeypatch.setattr(choices, "_MOST_CELLS", 400 * 250 - 1)
    assert chosen(AdditiveSVC().fit(X[:400], y[:400]))[:3] == ("intersection", "rank", "hinge")


def test_columns_of_text():
    pd = pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True)
    frame = pd.DataFrame(X[:, [0, 12]], columns=["alcohol", "proline"]).assign(
        hue=np.where(X[:, 10] > 1, "high", "low")
    )
    assert chosen(AdditiveSVC().fit(frame, y)) == ("intersection", "rank", "log", "joint")


def test_regression():
    model = AdditiveSVR().fit(*load_diabetes(return_X_y=True))
    assert chosen(model)[1:] == ("rank", "squared_error", "joint")
    assert 0.1 < model.C_ < 10.0


def test_what_is_given_stays(digits):
    X, y = digits
    for params in ({"kernel": "js"}, {"scale": "minmax"}, {"loss": "squared_hinge"}, {"C": 0.3}):
        model = AdditiveSVC(**params).fit(X, y)
        for name, value in params.items():
            assert getattr(model, f"{name}_") == value
            assert getattr(model, name) == value
    kernel = kernels.PowerMean(-4.0)
    assert AdditiveSVC(kernel).fit(X, y).kernel_ is kernel


def test_a_kernel_that_is_named_gets_values_it_takes(digits):
    X, y = digits
    assert AdditiveSVC("chi2").fit(X, y).scale_ == "max"
    assert AdditiveSVC("chi2").fit(X - 8.0, y).scale_ == "rank"
    assert AdditiveSVC("linear").fit(X - 8.0, y).scale_ == "max"


def test_a_kernel_that_is_named_is_doubted_on_different_units():
    """Only where raw values were not asked for, and only where a few columns would decide."""
    X = np.random.default_rng(0).random((60, 9)) * np.array([1.0] * 8 + [1000.0])
    y = X[:, 0] > 0.5
    with pytest.warns(UserWarning, match="ranges differ, from about 0.9.* to 999.*Pass scale='rank'"):
        AdditiveSVC("chi2").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdditiveSVC("chi2", scale="max").fit(X, y)
        AdditiveSVC("chi2", scale="rank").fit(X, y)
        AdditiveSVC("chi2").fit(X[:, :8], y)
        AdditiveSVC("chi2").fit(sp.csr_matrix(X), y)
        AdditiveSVC().fit(X, y)


def test_pairs_ask_for_a_smooth_loss(digits):
    X, y = digits
    assert AdditiveSVC("chi2", interactions=1).fit(X[:, 20:24], y).loss_ == "log"


def test_the_log_says_what_was_chosen(digits, caplog):
    with caplog.at_level(logging.INFO, logger="kernline"):
        AdditiveSVC(verbose=1).fit(*digits)
    assert "kernel=chi2, scale=max, loss=log, C by evidence: no value is negative" in caplog.text


def test_the_log_of_a_table_of_text(caplog):
    with caplog.at_level(logging.INFO, logger="kernline"):
        AdditiveSVC(verbose=1).fit([["a"], ["b"]] * 9, [0, 1] * 9)
    assert "C by evidence: no column holds numbers" in caplog.text


def test_parameters_are_not_changed(digits):
    model = AdditiveSVC()
    before = model.get_params()
    assert model.fit(*digits).get_params() == before


class TestWeightsOfEvidence:
    """Where C comes from the data, only the ratios of weights count."""

    @pytest.mark.parametrize("factor", [1e-30, 1e-4, 1.0 / 178, 1e4])
    @pytest.mark.parametrize("interactions", [0, 3])
    def test_a_factor_of_all_weights(self, factor, interactions):
        X, y = load_wine(return_X_y=True)
        weight = 0.5 + np.random.default_rng(0).random(y.size)
        plain, scaled = (
            AdditiveSVC(interactions=interactions, tol=1e-6).fit(X, y, w) for w in (weight, factor * weight)
        )
        np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), atol=1e-3)
        np.testing.assert_allclose(scaled.C_, plain.C_)

    @pytest.mark.parametrize("factor", [1e-4, 1e4])
    def test_regression(self, factor):
        X, y = load_diabetes(return_X_y=True)
        weight = 0.5 + np.random.default_rng(0).random(y.size)
        plain, scaled = (AdditiveSVR().fit(X, y, w) for w in (weight, factor * weight))
        np.testing.assert_allclose(scaled.predict(X), plain.predict(X), rtol=1e-4)

    def test_class_weights(self):
        X, y = load_wine(return_X_y=True)
        plain, scaled = (AdditiveSVC(class_weight={0: f, 1: 2.0 * f, 2: f}, tol=1e-6).fit(X, y) for f in (1.0, 1e-4))
        np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), atol=1e-3)

    @pytest.mark.parametrize("estimator", [AdditiveSVCCV(Cs=3, loss="hinge"), AdditiveSVRCV(Cs=3)])
    def test_a_search_over_a_number_of_costs(self, estimator):
        X, y = load_wine(return_X_y=True)
        folds = KFold(3, shuffle=True, random_state=0)
        weight = 0.5 + np.random.default_rng(0).random(y.size)
        plain, scaled = (clone(estimator).set_params(cv=folds).fit(X, y, w) for w in (weight, 1e-4 * weight))
        np.testing.assert_allclose(scaled.C_, 1e4 * plain.C_)
        np.testing.assert_allclose(scaled.scores_, plain.scores_, atol=0.02)

    def test_one_row_of_twice_the_weight_is_nearly_two_rows(self):
        X, y = load_wine(return_X_y=True)
        weight = np.ones(y.size)
        weight[20] = 2.0
        weighted = AdditiveSVC(scale="minmax", tol=1e-5).fit(X, y, weight)
        repeated = AdditiveSVC(scale="minmax", tol=1e-5).fit(np.append(X, X[20:21], axis=0), np.append(y, y[20]))
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=0.01)


@pytest.mark.parametrize("how", ["softmax", "each"])
def test_probabilities_of_scores_far_below_zero(how):
    scores = np.array([[-1e6, -1e6 + 1.0, -2e6], [-800.0, -800.0, -800.0]])
    found = class_probabilities(scores, how)
    np.testing.assert_allclose(found, [[1.0 / (1.0 + np.e), np.e / (1.0 + np.e), 0.0], [1 / 3] * 3])


def test_more_knots_where_every_knot_has_rows():
    """A curve of many waves needs them; columns of few values, and tables of few rows, do not get them."""
    X = np.random.default_rng(0).normal(size=(4000, 2))
    y = np.sin(12.0 * X[:, 0]) > 0.0
    model = AdditiveSVC().fit(X[:3200], y[:3200])
    assert model.shapes_.weights.shape[2] == 64
    without = AdditiveSVC(approximation=tables.Hats(16, tables.EVEN)).fit(X[:3200], y[:3200])
    assert model.score(X[3200:], y[3200:]) > without.score(X[3200:], y[3200:]) + 0.05
    assert AdditiveSVC().fit(X[:1600], y[:1600]).shapes_.weights.shape[2] == 32
    assert AdditiveSVC().fit(X[:1500], y[:1500]).shapes_.weights.shape[2] == 16
    assert AdditiveSVC().fit(np.round(2.0 * X), y).shapes_.weights.shape[2] == 16
    assert AdditiveSVC(C=1.0).fit(X, y).shapes_.weights.shape[2] == 16


def test_rows_encoded_for_more_knots():
    """A fit to codes, and batches after a fit, keep the knots that the encoder is for."""
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] > 0.0
    model = AdditiveSVC().fit(X, y)
    encoded = model.shapes_.encoder.transform(X)
    again = AdditiveSVC("intersection", scale="rank", loss="log").fit(encoded, y)
    assert again.shapes_.weights.shape == model.shapes_.weights.shape == (1, 2, 32)
    assert np.allclose(again.decision_function(X), model.decision_function(X), atol=1e-3)
    assert model.partial_fit(X, y).score(X, y) > 0.95
