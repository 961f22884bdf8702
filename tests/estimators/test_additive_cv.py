"""AdditiveSVCCV against the loop one would write by hand, and on input of every kind, good and bad."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold

from kernline import AdditiveSVC, AdditiveSVCCV, datasets, kernels

CS = [0.03, 0.3, 3.0]


def by_hand(X, y, splits, Cs, weight=None, **options):
    """Fits of their own for each fold and C, and the accuracy on its held-out rows."""
    scores = np.empty((len(Cs), len(splits)))
    for k, (train, test) in enumerate(splits):
        for c, C in enumerate(Cs):
            part = None if weight is None else weight[train]
            model = AdditiveSVC(C=C, random_state=0, **options).fit(X[train], y[train], sample_weight=part)
            scores[c, k] = model.score(X[test], y[test], None if weight is None else weight[test])
    return scores


@pytest.fixture(scope="module")
def shifting(digits):
    """Half of the digits, and five folds of them that are random splits."""
    X, y = digits[0][:900], digits[1][:900]
    return X, y, list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))


class TestAgainstSeparateFits:
    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
    @pytest.mark.parametrize("approximation", ["hats", "plame", "pmsvm"])
    def test_scores(self, shifting, approximation, loss):
        X, y, splits = shifting
        options = {"approximation": approximation, "loss": loss, "tol": 1e-3}
        model = AdditiveSVCCV(Cs=CS, cv=splits, random_state=0, **options).fit(X, y)
        expected = by_hand(X, y, splits, CS, **options)
        # The encoder sees the maxima of all rows, and two solutions within tol may differ in samples near the edge.
        assert_allclose(model.scores_[0], expected, atol=8.5 / 180)
        assert_allclose(model.scores_[0].mean(axis=1), expected.mean(axis=1), atol=0.015)

    def test_two_classes_and_weights(self, histograms):
        X, y = histograms
        weight = np.random.default_rng(0).integers(1, 5, y.size).astype(float)
        splits = list(StratifiedKFold(4).split(X, y))
        options = {"class_weight": {"ham": 1.0, "spam": 3.0}, "tol": 1e-4}
        model = AdditiveSVCCV(Cs=CS, cv=4, random_state=0, **options).fit(X, y, sample_weight=weight)
        assert_allclose(model.scores_[0], by_hand(X, y, splits, CS, weight, **options), atol=0.04)

    def test_refit_is_the_fit_at_the_chosen_cost(self, shifting):
        X, y, splits = shifting
        model = AdditiveSVCCV(Cs=CS, cv=splits, random_state=0).fit(X, y)
        means = model.scores_[0].mean(axis=1)
        assert_allclose(model.C_, CS[int(means.argmax())])
        assert_allclose(model.best_score_, means.max())
        single = AdditiveSVC(C=model.C_, random_state=0).fit(X, y)
        assert_array_equal(model.decision_function(X), single.decision_function(X))
        for name in ("classes_", "intercept_", "gamma_", "n_iter_", "dual_gap_", "objective_"):
            assert_array_equal(getattr(model, name), getattr(single, name))
        assert model.solver_ == single.solver_
        assert (model.dual_gap_ <= model.tol * model.objective_).all()


class TestChoice:
    def test_default_grid(self, histograms):
        model = AdditiveSVCCV(cv=3, random_state=0).fit(*histograms)
        assert_allclose(model.Cs_, np.geomspace(0.01, 100.0, 10))
        assert model.scores_.shape == (1, 10, 3)
        assert model.kernel_ == "chi2"

    def test_several_kernels(self, digits):
        X, y = digits[0][:600], digits[1][:600]
        choices = ["linear", kernels.Chi2(), "intersection"]
        model = AdditiveSVCCV(choices, Cs=CS, cv=3, random_state=0).fit(X, y)
        alone = [AdditiveSVCCV(kernel, Cs=CS, cv=3, random_state=0).fit(X, y) for kernel in choices]
        assert_array_equal(model.scores_, np.concatenate([single.scores_ for single in alone]))
        best = max(alone, key=lambda single: single.best_score_)
        assert model.kernel_ is choices[alone.index(best)]
        assert_array_equal(model.decision_function(X), best.decision_function(X))

    def test_ties_go_to_the_smaller_cost_then_the_first_kernel(self, histograms):
        X, y = histograms
        options = {"Cs": CS, "cv": 3, "random_state": 0}
        model = AdditiveSVCCV(["js", "chi2"], scoring=lambda model, X, y: 1.0, **options).fit(X, y)
        assert (model.C_, model.kernel_) == (CS[0], "js")

    def test_scoring(self, histograms):
        X, y = histograms
        kept = (y == "ham") | (np.arange(y.size) % 5 == 0)
        X, y = X[kept], y[kept]
        model = AdditiveSVCCV(Cs=CS, cv=3, random_state=0)
        named = clone(model).set_params(scoring="balanced_accuracy").fit(X, y)
        scorer = clone(model).set_params(scoring=make_scorer(balanced_accuracy_score)).fit(X, y)
        assert_array_equal(named.scores_, scorer.scores_)
        plain, accuracy = clone(model).fit(X, y), clone(model).set_params(scoring="accuracy").fit(X, y)
        assert_allclose(plain.scores_, accuracy.scores_)
        assert (plain.scores_ != named.scores_).any()
        ranked = clone(model).set_params(scoring="roc_auc").fit(X, y)
        assert (ranked.scores_ > 0.5).all()

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr", "neg_brier_score"])
    def test_scoring_by_probabilities(self, scoring, n_classes):
        X, y = load_wine(return_X_y=True)
        kept = y < n_classes
        model = AdditiveSVCCV(loss="log", Cs=[0.01, 1.0], cv=3, scoring=scoring).fit(X[kept], y[kept])
        assert np.isfinite(model.scores_).all()
        means = model.scores_[0].mean(axis=1)
        assert model.Cs_[means.argmax()] == model.C_
        assert means[1] > means[0]

    def test_probabilities_of_held_out_rows_are_those_of_the_model(self):
        X, y = load_wine(return_X_y=True)
        seen = []

        def scoring(model, X, y):
            seen.append(model.predict_proba(X))
            return 0.0

        everything = np.arange(len(y))
        model = AdditiveSVCCV(loss="log", Cs=[1.0], cv=[(everything, everything)], tol=1e-4, scoring=scoring).fit(X, y)
        assert_allclose(seen[0], model.predict_proba(X), atol=0.01)

    def test_scoring_by_probabilities_needs_the_log_loss(self, histograms):
        with pytest.raises(ValueError, match=r"scoring='neg_log_loss' needs probabilities.*loss='log'"):
            AdditiveSVCCV("chi2", loss="hinge", Cs=2, cv=3, scoring="neg_log_loss").fit(*histograms)

    def test_a_scorer_sees_the_held_out_rows(self, histograms):
        X, y = histograms
        seen = []

        def scoring(model, X, y):
            seen.append((X.shape, model.predict(X).shape, y.shape))
            return 0.0

        AdditiveSVCCV(Cs=2, cv=3, scoring=scoring).fit(X, y)
        assert seen == [((100, 40), (100,), (100,))] * 6

    @pytest.mark.parametrize("cv", [3, StratifiedKFold(3), ShuffleSplit(3, random_state=0)], ids=str)
    def test_splitters(self, histograms, cv):
        X, y = histograms
        model = AdditiveSVCCV(Cs=CS, cv=cv, random_state=0).fit(X, y)
        splits = list((StratifiedKFold(3) if cv == 3 else cv).split(X, y))
        listed = AdditiveSVCCV(Cs=CS, cv=splits, random_state=0).fit(X, y)
        assert_array_equal(model.scores_, listed.scores_)


class TestPath:
    """Which C are tried: all, unless the scores have risen and then stayed below the best."""

    @pytest.mark.parametrize(("load", "seed"), [(load_wine, 0), (load_iris, 1), (load_breast_cancer, 2)])
    def test_the_best_of_a_grid_search(self, load, seed):
        X, y = load(return_X_y=True)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        model = AdditiveSVCCV(loss="hinge", cv=folds, random_state=0).fit(X, y)
        search = GridSearchCV(AdditiveSVC(loss="hinge", random_state=0), {"C": model.Cs_}, cv=folds, refit=False).fit(
            X, y
        )
        means = search.cv_results_["mean_test_score"]
        errors = search.cv_results_["std_test_score"] / np.sqrt(5)
        chosen = model.Cs_.tolist().index(model.C_)
        # Solved to 1 %, fits from other starts differ in a few rows.
        assert means[chosen] >= means.max() - max(errors[means.argmax()], 3.5 / len(y))
        assert means.max() > 0.9

    @pytest.mark.parametrize(
        ("scores", "n_tried"),
        [
            ([5, 4, 3, 2, 3, 4, 9], 7),  # has not risen yet
            ([1, 5, 4, 3, 5, 4, 3], 7),  # falls twice at most
            ([1, 2, 5, 4, 3, 2, 9], 6),
            ([1, 9, 4, 4, 4, 4, 9], 5),
            ([5, 5, 5, 5, 5, 5, 5], 7),
        ],
    )
    def test_ends_after_three_falls(self, histograms, caplog, scores, n_tried):
        calls = []

        def scoring(model, X, y):
            calls.append(len(calls))
            return scores[calls[-1] // 3] + 0.01 * (calls[-1] % 3)

        Cs = np.arange(1.0, 8.0)
        with caplog.at_level("INFO", logger="kernline"):
            model = AdditiveSVCCV(Cs=Cs, cv=3, scoring=scoring, verbose=1).fit(*histograms)
        assert np.isfinite(model.scores_[0, :n_tried]).all()
        assert np.isnan(model.scores_[0, n_tried:]).all()
        assert 1.0 + int(np.argmax(scores[:n_tried])) == model.C_
        skipped = ", ".join(f"{C:g}" for C in Cs[n_tried:])
        assert [f"not tried: C = {skipped};" in caplog.text] == [n_tried < 7]

    def test_one_fold_tries_all(self, histograms):
        splits = [(np.arange(200), np.arange(200, 300))]
        scores = iter([1.0, 9.0, 3.0, 3.0, 3.0, 3.0])
        model = AdditiveSVCCV(Cs=6, cv=splits, scoring=lambda *_: next(scores)).fit(*histograms)
        assert np.isfinite(model.scores_).all()


class TestLogLoss:
    """The default for tables: all classes together, and the evidence among the C."""

    @pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
    def test_the_evidence_stays_unless_a_cost_is_better(self, load):
        X, y = load(return_X_y=True)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        model, alone = AdditiveSVCCV(cv=folds).fit(X, y), AdditiveSVC().fit(X, y)
        assert (model.loss_, model.scale_, model.solver_) == (alone.loss_, alone.scale_, "joint")
        assert model.evidence_scores_.shape == (1, 5)
        assert_array_equal(model.decision_function(X), alone.decision_function(X))
        assert model.C_ == alone.C_
        assert_allclose(model.best_score_, model.evidence_scores_.mean())

    def test_a_cost_that_is_better_is_taken(self):
        X, y = load_wine(return_X_y=True)
        n_calls = iter(range(1000))
        # Five folds of the first C have the best scores, those of the evidence come last.
        scoring = lambda *_: 1.0 if next(n_calls) < 5 else 0.5  # noqa: E731
        model = AdditiveSVCCV(Cs=2, scoring=scoring).fit(X, y)
        assert model.C_ == model.Cs_[0] == 0.01
        assert_array_equal(model.decision_function(X), AdditiveSVC(C=0.01, loss="log").fit(X, y).decision_function(X))

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_scores_are_those_of_separate_fits(self, n_classes):
        X, y = load_wine(return_X_y=True)
        X, y = X[y < n_classes], y[y < n_classes]
        splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
        model = AdditiveSVCCV(Cs=CS, cv=splits, scale="minmax", loss="log", tol=1e-4).fit(X, y)
        assert not hasattr(model, "evidence_scores_")
        expected = by_hand(X, y, splits, CS, scale="minmax", loss="log", tol=1e-4)
        assert_allclose(model.scores_[0], expected, atol=0.04)


class TestInput:
    def test_sparse_and_dense(self, histograms):
        X, y = histograms
        model = AdditiveSVCCV(loss="hinge", Cs=CS, cv=3, random_state=0)
        sparse, dense = (clone(model).fit(Z, y) for Z in (X, X.toarray()))
        assert_allclose(sparse.scores_, dense.scores_, atol=0.021)
        assert_allclose(sparse.best_score_, dense.best_score_, atol=0.01)

    def test_rows_of_weight_zero_take_no_part(self, histograms):
        """Splits name rows of the data as given, whatever their weights."""
        X, y = histograms
        weight = (np.arange(y.size) % 7 != 0).astype(float)
        splits = list(StratifiedKFold(3).split(X, y))
        weighted = AdditiveSVCCV(Cs=CS, cv=splits, random_state=0).fit(X, y, sample_weight=weight)
        kept = np.flatnonzero(weight)
        without = [tuple(np.flatnonzero(np.isin(kept, part)) for part in split) for split in splits]
        expected = AdditiveSVCCV(Cs=CS, cv=without, random_state=0).fit(X[kept], y[kept])
        assert_array_equal(weighted.scores_, expected.scores_)
        assert_array_equal(weighted.decision_function(X), expected.decision_function(X))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"Cs": []}, "Cs: an integer or a list of at least one number"),
            ({"Cs": [[1.0]]}, r"got an array of shape \(1, 1\)"),
            ({"Cs": [0.0, 1.0]}, "Cs: every C must be positive and finite"),
            ({"Cs": [1.0, np.inf]}, "Cs: every C must be positive and finite"),
            ({"Cs": [1.0, 0.1]}, r"Cs: values must increase.*np\.unique"),
            ({"Cs": [1.0, 1.0]}, "Cs: values must increase"),
            ({"Cs": 0}, "The 'Cs' parameter of AdditiveSVCCV must be"),
            ({"Cs": [1e-46]}, "ranges from 1e-46"),
            ({"kernel": []}, "kernel: the list is empty"),
            ({"kernel": ["chi2", "rbf"]}, "kernel: 'rbf' in the list is not known"),
            ({"kernel": "rbf"}, "The 'kernel' parameter of AdditiveSVCCV must be"),
            ({"cv": 1}, "The 'cv' parameter of AdditiveSVCCV must be"),
            ({"cv": 1000}, "n_splits=1000"),
            ({"cv": []}, "cv: there are no folds"),
            ({"cv": [(np.arange(300), [])]}, "cv: fold 0 holds out no sample"),
            ({"scoring": "elegance"}, "The 'scoring' parameter of AdditiveSVCCV must be"),
            ({"scoring": lambda model, X, y: np.nan}, "scoring: a score .* not a finite number"),
            ({"scoring": lambda model, X, y: model.predict(X[:5])}, "100 held-out rows together; it got 5"),
        ],
    )
    def test_bad_parameters(self, histograms, options, message):
        with pytest.raises(ValueError, match=message):
            AdditiveSVCCV(**{"cv": 3, **options}).fit(*histograms)

    @pytest.mark.filterwarnings("ignore:The least populated class")
    def test_a_class_too_small_for_the_folds(self, histograms):
        X, y = histograms[0], histograms[1].astype(object)
        y[0] = "alone"
        with pytest.raises(ValueError, match="trains without a sample of class alone, of which there are 1"):
            AdditiveSVCCV(cv=3).fit(X, y)


class TestFit:
    @pytest.mark.parametrize("solver", ["auto", "newton"])
    def test_threads_do_not_change_the_result(self, digits, solver):
        X, y = digits[0][:500], digits[1][:500]
        one, two, many = (
            AdditiveSVCCV(Cs=[1.0, 100.0], cv=3, solver=solver, n_jobs=n, random_state=0).fit(X, y) for n in (1, 2, 40)
        )
        for other in (two, many):
            assert_array_equal(one.scores_, other.scores_)
            assert_array_equal(one.decision_function(X), other.decision_function(X))

    def test_pickle_and_clone(self, histograms):
        X, y = histograms
        model = AdditiveSVCCV(["chi2", kernels.Intersection()], Cs=CS, cv=3, random_state=0).fit(X, y)
        restored = pickle.loads(pickle.dumps(model))
        assert_array_equal(restored.decision_function(X), model.decision_function(X))
        assert_array_equal(clone(model).fit(X, y).scores_, model.scores_)

    def test_warns_once(self, histograms):
        with pytest.warns(ConvergenceWarning, match="10 of 10 problems stopped at max_iter=2 .*Raise max_iter") as w:
            AdditiveSVCCV(Cs=CS, cv=3, tol=1e-6, max_iter=2).fit(*histograms)
        assert len(w) == 1

    def test_verbose_logs(self, histograms, caplog):
        with caplog.at_level("INFO", logger="kernline"):
            AdditiveSVCCV(Cs=CS, cv=3, verbose=1).fit(*histograms)
        assert "chi2, fold 2, class spam, C=3 (9/10): " in caplog.text
        assert "class spam (10/10): " in caplog.text

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_ctrl_c_stops_all_threads(self, n_jobs):
        data = datasets.make_bag_of_words(10_000, 10, 500)
        model = AdditiveSVCCV(Cs=[1e4], tol=1e-9, max_iter=10**6, n_jobs=n_jobs, random_state=0)
        n_before = threading.active_count()
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(data.X_train, data.y_train)
        assert not hasattr(model, "shapes_")
        assert threading.active_count() <= n_before + 1  # the timer may go on

    def test_works_on_a_sparse_matrix_of_int64_indices(self, histograms):
        X, y = histograms
        wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
        models = [AdditiveSVCCV("linear", Cs=CS, cv=3, tol=1e-5, random_state=0).fit(Z, y) for Z in (X, wide)]
        assert_array_equal(models[0].scores_, models[1].scores_)
