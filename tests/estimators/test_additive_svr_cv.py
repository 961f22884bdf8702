"""AdditiveSVRCV against the same choice made by scikit-learn, fit by fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from kernline import AdditiveSVR, AdditiveSVRCV

CS = [0.01, 0.1, 1.0]
TABLE = {"kernel": "intersection", "scale": "rank"}


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive", "squared_epsilon_insensitive"])
def test_scores_are_those_of_single_fits(diabetes, loss):
    """Only the encoder and the spread of y see all rows, which changes the scores a little."""
    X, y = diabetes
    options = TABLE | {"loss": loss, "tol": 1e-4, "max_iter": 10**4}
    model = AdditiveSVRCV(Cs=CS, **options).fit(X, y)
    expected = [cross_val_score(AdditiveSVR(C=C, **options), X, y, cv=KFold(5)) for C in CS]
    assert_allclose(model.scores_[0], expected, atol=0.02)
    assert model.best_score_ == pytest.approx(model.scores_[0].mean(axis=1).max())
    assert CS[int(np.mean(expected, axis=1).argmax())] == model.C_


def test_the_model_is_refitted_to_all_rows(diabetes):
    X, y = diabetes
    model = AdditiveSVRCV(Cs=CS, tol=1e-5, **TABLE).fit(X, y)
    single = AdditiveSVR(C=model.C_, tol=1e-5, **TABLE).fit(X, y)
    assert_allclose(model.predict(X), single.predict(X), atol=0.01 * y.std())
    assert_array_equal(model.epsilon_, single.epsilon_)


def test_weights_count_in_fits_and_scores(diabetes):
    """Rows of weight zero are as good as absent, whatever they hold."""
    X, y = diabetes
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    noise = np.where(weight > 0.0, y, 1e6)
    split = list(KFold(4, shuffle=True, random_state=0).split(X))
    kept = np.flatnonzero(weight)
    place = np.cumsum(weight > 0.0) - 1
    own = [[place[part[weight[part] > 0.0]] for part in fold] for fold in split]
    given = AdditiveSVRCV(Cs=CS, cv=split, **TABLE).fit(X, noise, weight)
    alone = AdditiveSVRCV(Cs=CS, cv=own, **TABLE).fit(X[kept], y[kept], weight[kept])
    assert_array_equal(given.scores_, alone.scores_)


def test_default_score_is_weighted_r2(diabetes):
    X, y = diabetes
    weight = np.random.default_rng(0).random(len(y)) + 0.1
    held_out = np.arange(300, len(y))
    model = AdditiveSVRCV(Cs=[0.1], cv=[(np.arange(300), held_out)], tol=1e-5, **TABLE).fit(X, y, weight)
    single = AdditiveSVR(C=0.1, tol=1e-5, **TABLE).fit(X[:300], y[:300], weight[:300])
    expected = r2_score(y[held_out], single.predict(X[held_out]), sample_weight=weight[held_out])
    assert_allclose(model.scores_[0, 0, 0], expected, atol=0.02)


def test_scorers_see_the_unit_of_y(diabetes):
    X, y = diabetes
    root = AdditiveSVRCV(Cs=CS, scoring="neg_root_mean_squared_error", **TABLE).fit(X, 1000.0 * y)
    grid = GridSearchCV(AdditiveSVR(**TABLE), {"C": CS}, scoring="neg_root_mean_squared_error").fit(X, 1000.0 * y)
    assert_allclose(root.scores_[0].mean(axis=1), grid.cv_results_["mean_test_score"], rtol=0.02)
    seen = []

    def scoring(model, X, y):
        seen.append((model.predict(X).shape, y.shape))
        return -float(np.abs(model.predict(X) - y).mean())

    AdditiveSVRCV(Cs=[0.1], cv=2, scoring=scoring, **TABLE).fit(X, y)
    assert seen == [((221,), (221,))] * 2


def test_several_outputs_and_kernels():
    X, y = make_friedman1(400, noise=0.5, random_state=0)
    Y = np.column_stack([y, 1e3 * X[:, 0]])
    model = AdditiveSVRCV(["linear", "intersection"], scale="minmax", Cs=[0.1, 1.0, 10.0], cv=3).fit(X, Y)
    assert model.scores_.shape == (2, 3, 3)
    assert model.kernel_ == "intersection"
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.85


def test_the_result_does_not_depend_on_threads(diabetes):
    X, y = diabetes
    one, two = (AdditiveSVRCV(Cs=CS, n_jobs=n, **TABLE).fit(X, y) for n in (1, 2))
    assert_array_equal(one.scores_, two.scores_)
    assert_array_equal(one.predict(X), two.predict(X))


def test_bad_folds(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match="cv: fold 0 trains on no sample"):
        AdditiveSVRCV(cv=[([], [0, 1])], **TABLE).fit(X, y)
    with pytest.raises(ValueError, match="cv: fold 1 holds out no sample"):
        AdditiveSVRCV(Cs=[1.0], cv=[([0, 1, 2], [3, 4]), ([0, 1], [])], **TABLE).fit(X, y)
    with pytest.raises(ValueError, match="not a finite number"), pytest.warns(UserWarning, match="R"):
        AdditiveSVRCV(Cs=[1.0], cv=[([0, 1, 2], [3])], **TABLE).fit(X, y)
