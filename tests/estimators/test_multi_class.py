"""multi_class of AdditiveSVC and AdditiveSVCCV: Crammer and Singer's problem, and one class against the rest."""

import logging
import os
import pickle
import signal
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV


def joint(**parameters):
    return AdditiveSVC(**{"kernel": "chi2", "multi_class": "crammer-singer"} | parameters)


@pytest.fixture(scope="module")
def half(digits):
    X, y = digits
    return X[:900], y[:900]


class TestFit:
    def test_one_problem(self, half):
        X, y = half
        model = joint().fit(X, y)
        for attribute in (model.n_iter_, model.objective_, model.dual_gap_, model.history_):
            assert len(attribute) == 1
        assert model.dual_gap_[0] <= 0.01 * model.objective_[0]
        assert model.intercept_.shape == (10,)
        assert model.solver_ == "dual-cd"
        scores = model.decision_function(X)
        assert scores.shape == (900, 10)
        assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
        margins = 1.0 + scores - scores[np.arange(900), y][:, None]
        margins[np.arange(900), y] = 0.0
        assert margins.max(axis=1).sum() <= model.objective_[0]

    def test_agrees_with_liblinear(self):
        X, y = load_iris(return_X_y=True)
        model = joint(kernel="linear", gamma=1.0, tol=1e-5, max_iter=20_000, fit_intercept=False).fit(X, y)
        peer = LinearSVC(multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=1_000_000).fit(X, y)
        assert_allclose(model.decision_function(X), peer.decision_function(X), atol=0.02)
        assert_array_equal(model.predict(X), peer.predict(X))

    def test_the_default_is_one_against_the_rest(self, half):
        models = [AdditiveSVC(loss="hinge", multi_class=name).fit(*half) for name in ("auto", "ovr")]
        assert_array_equal(models[0].shapes_.weights, models[1].shapes_.weights)
        assert len(models[0].history_) == 10

    def test_two_classes_are_a_binary_problem(self, histograms):
        X, y = histograms
        binary = AdditiveSVC("chi2", loss="hinge").fit(X, y)
        assert_array_equal(joint().fit(X, y).decision_function(X), binary.decision_function(X))

    def test_with_nothing_else_set(self):
        X, y = load_wine(return_X_y=True)
        model = AdditiveSVC(multi_class="crammer-singer").fit(X[::2], y[::2])
        assert (model.loss_, model.scale_, model.C_) == ("hinge", "rank", 10.0)
        assert len(model.objective_) == 1
        assert model.score(X[1::2], y[1::2]) > 0.95
        assert_allclose(model.feature_importances_.sum(), 1.0)

    def test_weights_are_repetitions(self):
        X, y = load_iris(return_X_y=True)
        weight = np.random.default_rng(0).integers(0, 3, y.size)
        common = {"tol": 1e-5, "max_iter": 20_000, "gamma": 0.1, "C": 0.5}
        weighted = joint(**common).fit(X, y, sample_weight=weight)
        repeated = joint(**common).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-4)
        assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=0.03)

    def test_class_weight_is_a_factor_of_the_cost(self):
        X, y = load_iris(return_X_y=True)
        factors = {0: 1.0, 1: 5.0, 2: 0.5}
        by_class = joint(class_weight=factors).fit(X, y)
        by_row = joint(gamma=by_class.gamma_).fit(X, y, sample_weight=np.array([factors[label] for label in y]))
        assert_allclose(by_class.objective_, by_row.objective_, rtol=0.01)

    def test_threads_do_not_matter(self, half):
        models = [joint(n_jobs=n_jobs).fit(*half) for n_jobs in (1, 3)]
        assert_array_equal(models[0].shapes_.weights, models[1].shapes_.weights)
        assert_array_equal(models[0].intercept_, models[1].intercept_)

    def test_labels_of_text(self):
        X, y = load_iris(return_X_y=True)
        names = load_iris().target_names[y]
        assert joint(kernel="intersection", scale="rank").fit(X, names).score(X, names) > 0.9

    def test_encoded_rows(self, half):
        X, y = half
        model = joint().fit(X, y)
        again = joint().fit(model.shapes_.encoder.transform(X), y)
        assert_array_equal(model.shapes_.weights, again.shapes_.weights)


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"loss": "squared_hinge"}, "needs loss='hinge'; got loss='squared_hinge'"),
            ({"loss": "log"}, "needs loss='hinge'; got loss='log'"),
            ({"solver": "newton"}, "is solved by coordinate descent; got solver='newton'"),
            ({"approximation": "plame"}, "needs a method with a symmetric kernel"),
        ],
    )
    @pytest.mark.parametrize("estimator", [AdditiveSVC, AdditiveSVCCV])
    def test_that_do_not_apply(self, parameters, message, estimator):
        X, y = load_iris(return_X_y=True)
        with pytest.raises(ValueError, match=message):
            estimator(multi_class="crammer-singer", **parameters).fit(X, y)

    def test_interactions(self):
        X, y = load_iris(return_X_y=True)
        with pytest.raises(ValueError, match="'crammer-singer' has no interactions; got interactions=2"):
            joint(interactions=2).fit(X, y)
        with pytest.raises(ValueError, match="needs all classes to be fitted together; got multi_class='ovr'"):
            AdditiveSVC(multi_class="ovr", interactions=2).fit(X, y)
        assert AdditiveSVC(multi_class="ovr", interactions=2).fit(X[:100], y[:100]).shapes_.pairs

    def test_several_labels_a_row(self):
        X, y = load_iris(return_X_y=True)
        with pytest.raises(ValueError, match="y is an indicator matrix"):
            joint().fit(X, np.eye(3, dtype=int)[y])
        assert not get_tags(joint()).classifier_tags.multi_label

    def test_batches(self):
        X, y = load_iris(return_X_y=True)
        model = joint(loss="hinge").fit(X, y)
        assert not hasattr(model, "partial_fit")
        with pytest.raises(ValueError, match="cannot go on from a fit of all classes together"):
            model.set_params(multi_class="ovr").partial_fit(X, y)
        model = AdditiveSVC("chi2", loss="log").fit(X, y)
        with pytest.raises(ValueError, match="cannot go on from a fit of all classes together"):
            model.set_params(multi_class="ovr").partial_fit(X, y)
        model.fit(X, y)
        with pytest.raises(ValueError, match="cannot go on from a fit of all classes one by one"):
            model.set_params(multi_class="auto").partial_fit(X, y)

    def test_unknown(self):
        with pytest.raises(ValueError, match="multi_class"):
            AdditiveSVC(multi_class="ovo").fit(*load_iris(return_X_y=True))

    def test_a_limit_that_is_too_low(self):
        with pytest.warns(ConvergenceWarning, match="1 of 1 problems .* the worst, all classes"):
            joint(C=1e3, max_iter=2).fit(*load_iris(return_X_y=True))


class TestOneAgainstRest:
    def test_log_loss_agrees_with_scikit_learn(self):
        X, y = load_iris(return_X_y=True)
        model = AdditiveSVC("linear", gamma=1.0, C=1.0, loss="log", multi_class="ovr", scale="max", tol=1e-5).fit(X, y)
        assert model.solver_ != "joint"
        assert len(model.objective_) == 3
        peer = OneVsRestClassifier(LogisticRegression(C=1.0, tol=1e-8, max_iter=10_000)).fit(X, y)
        assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=0.01)

    def test_C_is_not_by_evidence(self):
        X, y = load_wine(return_X_y=True)
        model = AdditiveSVC(multi_class="ovr").fit(X[::2], y[::2])
        assert (model.loss_, model.C_) == ("log", 30.0)
        assert len(model.objective_) == 3
        assert model.score(X[1::2], y[1::2]) > 0.95

    def test_two_classes_are_fitted_by_the_same_solver(self):
        X, y = load_iris(return_X_y=True)
        models = [AdditiveSVC(multi_class=name).fit(X[50:], y[50:]) for name in ("auto", "ovr")]
        assert models[1].solver_ == "joint"
        assert_array_equal(models[0].shapes_.weights, models[1].shapes_.weights)


class TestProgress:
    def test_verbose(self, caplog):
        with caplog.at_level(logging.INFO, logger="kernline"):
            joint(verbose=2).fit(*load_iris(return_X_y=True))
        assert caplog.messages[0].startswith("kernel=chi2, scale=max, loss=hinge, C 1: ")
        assert caplog.messages[1].startswith("all classes (1/1) epoch 1: gap ")
        assert caplog.messages[-1].startswith("all classes (1/1): ")

    def test_ctrl_c(self):
        """A fit that would take for ever ends within a slice of time."""
        rng = np.random.default_rng(0)
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            joint(C=1e6, tol=1e-12, max_iter=10**8).fit(rng.random((3000, 5)), rng.integers(5, size=3000))


class TestSaved:
    def test_files_and_pickle(self, tmp_path, half):
        X, y = half
        model = joint().fit(X, y)
        kernline.save(model, tmp_path / "m.kern")
        for again in (kernline.load(tmp_path / "m.kern"), pickle.loads(pickle.dumps(model))):
            assert again.multi_class == "crammer-singer"
            assert_array_equal(again.decision_function(X), model.decision_function(X))


class TestSearch:
    def test_scores_are_those_of_the_folds(self, half):
        X, y = half
        common = {"scale": "max", "gamma": 0.001, "fit_intercept": True, "tol": 1e-4, "max_iter": 5000}
        splits = [(np.arange(300, 900), np.arange(300)), (np.arange(600), np.arange(600, 900))]
        model = AdditiveSVCCV(multi_class="crammer-singer", Cs=[0.1, 1.0], cv=splits, **common).fit(X, y)
        expected = [
            [joint(C=C, **common).fit(X[train], y[train]).score(X[test], y[test]) for train, test in splits]
            for C in (0.1, 1.0)
        ]
        # The search scales columns by the maximum of all rows, and solves folds to a looser gap.
        assert_allclose(model.scores_[0], expected, atol=0.02)
        assert model.Cs_[np.mean(model.scores_[0], axis=1).argmax()] == model.C_
        assert len(model.history_) == 1
        assert model.dual_gap_[0] <= 1e-4 * model.objective_[0]

    def test_threads_do_not_matter(self, half):
        models = [
            AdditiveSVCCV(multi_class="crammer-singer", Cs=3, cv=3, n_jobs=n_jobs).fit(*half) for n_jobs in (1, 3)
        ]
        assert_array_equal(models[0].scores_, models[1].scores_)
        assert_array_equal(models[0].shapes_.weights, models[1].shapes_.weights)
