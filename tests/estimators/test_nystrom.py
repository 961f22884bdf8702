"""NystromSVC: against exact kernels and SVC."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.metrics import pairwise as referee
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kernline import NystromMap, NystromSVC, kernels
from kernline.landmarks.selection import METHODS


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y


class TestSVC:
    @pytest.mark.parametrize(("gamma", "C"), [(0.5, 1.0), (2.0, 1.0), (2.0, 10.0), (20.0, 10.0)])
    def test_all_rows_in_the_basis_is_svc(self, moons, gamma, C):
        X, y = moons
        exact = SVC(C=C, gamma=gamma, tol=1e-7).fit(X, y).decision_function(X)
        options = {"basis": X, "tol": 1e-6, "max_iter": 100_000}
        model = NystromSVC(gamma=gamma, C=C, random_state=0, **options).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), exact, atol=1e-3)

    @pytest.mark.parametrize("store_features", [True, False])
    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_penalised_intercept_is_svc_on_mirrored_rows(self, moons, store_features, fit_intercept):
        """Rows (φ, y) and (−φ, −y) leave SVC's free intercept at zero: the kernel's constant is the only one."""
        X, y = moons
        gram = referee.rbf_kernel(X, gamma=2.0) + float(fit_intercept)
        both = np.block([[gram, -gram], [-gram, gram]])
        svc = SVC(kernel="precomputed", C=0.5, tol=1e-8).fit(both, np.append(y, 1 - y))
        exact = svc.decision_function(np.hstack([gram, -gram]))
        options = {"basis": X, "tol": 1e-6, "max_iter": 100_000, "random_state": 0, "intercept_scaling": 1.0}
        model = NystromSVC(gamma=2.0, C=1.0, fit_intercept=fit_intercept, store_features=store_features, **options).fit(
            X, y
        )
        np.testing.assert_allclose(model.decision_function(X), exact, atol=1e-3)

    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
    def test_features_made_in_blocks_give_the_same_optimum(self, digits, loss, monkeypatch):
        X, y = digits
        monkeypatch.setattr("kernline.estimators.landmark_problems._BLOCK_VALUES", 60 * 200)  # nine blocks
        options = {"C": 10.0, "loss": loss, "n_basis": 60, "tol": 1e-4, "random_state": 0}
        stored, blocks = (NystromSVC(store_features=flag, **options).fit(X, y) for flag in (True, False))
        assert (blocks.dual_gap_ <= 1e-4 * blocks.objective_).all()
        assert (stored.dual_gap_ <= 1e-4 * stored.objective_).all()
        np.testing.assert_allclose(blocks.objective_, stored.objective_, rtol=2e-4)
        assert (stored.predict(X) == blocks.predict(X)).mean() > 0.995

    def test_objective_and_gap_in_numpy(self, digits):
        """The certificate, from the features of NystromMap in plain NumPy: the objective, and no less than the dual."""
        X, y = digits[0][:600], digits[1][:600] % 2
        for store_features in (True, False):
            options = {"gamma": 0.001, "basis": X[:80]}
            model = NystromSVC(C=2.0, tol=1e-3, random_state=0, store_features=store_features, **options).fit(X, y)
            Z = NystromMap(**options).fit(X).transform(X).astype(np.float64)
            scores = model.decision_function(X)
            weights = np.linalg.lstsq(Z, scores - model.intercept_[0], rcond=None)[0]
            hinge = np.maximum(0.0, 1.0 - (2.0 * y - 1.0) * scores).sum()
            primal = 0.5 * weights @ weights + 2.0 * hinge
            assert model.objective_[0] == pytest.approx(primal, rel=1e-3)
            assert model.dual_gap_[0] <= 1e-3 * model.objective_[0]

    def test_memory_without_stored_features(self):
        X, y = make_classification(30_000, n_features=10, random_state=0)
        peaks = []
        for store_features in (True, False):
            options = {"gamma": 1.0, "basis": "random", "n_basis": 600, "random_state": 0, "tol": 0.1}
            model = NystromSVC(store_features=store_features, **options)
            tracemalloc.start()
            model.fit(X.astype(np.float32), y)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert peaks[0] > 30_000 * 600 * 4  # the features
        assert peaks[1] < 0.8 * peaks[0]  # a block of 13,333 rows, and at most as many on the margin

    @pytest.mark.parametrize("basis", METHODS)
    def test_accuracy(self, digits, basis):
        X, y = digits
        model = NystromSVC(C=10.0, basis=basis, n_basis=200, random_state=0).fit(X[:1200], y[:1200])
        exact = SVC(C=10.0).fit(X[:1200], y[:1200])
        assert model.score(X[1200:], y[1200:]) > exact.score(X[1200:], y[1200:]) - 0.03

    def test_sparse_is_dense(self, digits):
        X, y = digits
        options = {"gamma": 0.001, "basis": X[:100], "tol": 1e-5, "max_iter": 100_000, "random_state": 0}
        dense = NystromSVC(**options).fit(X, y % 2)
        sparse = NystromSVC(**options | {"basis": sp.csr_array(X[:100])}).fit(sp.csr_array(X), y % 2)
        expected = dense.decision_function(X)
        for model in (dense, sparse):
            for layout in (np.asarray, sp.csr_array, sp.csc_matrix):
                np.testing.assert_allclose(model.decision_function(layout(X)), expected, atol=5e-3)

    def test_sparse_in_many_dimensions(self):
        """Rows of two million columns, and centres of them, without a dense copy."""
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 300)
        noise = sp.random_array((300, 1_999_999), density=1e-5, random_state=rng)
        X = sp.csr_array(sp.hstack([5.0 * y[:, None], noise]))
        model = NystromSVC(basis="random", n_basis=200, random_state=0).fit(X, y)
        assert sp.issparse(model.basis_)
        assert model.score(X, y) > 0.9

    def test_threads_and_seeds(self, digits):
        X, y = digits
        one, two = (NystromSVC(n_basis=80, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
        assert np.array_equal(one.decision_function(X), two.decision_function(X))
        blocks = [NystromSVC(n_basis=80, random_state=0, n_jobs=n, store_features=False).fit(X, y) for n in (1, 2)]
        assert np.array_equal(blocks[0].decision_function(X), blocks[1].decision_function(X))

    def test_weights_are_repetition(self, moons):
        X, y = moons
        weight = np.random.default_rng(0).integers(0, 4, y.size)
        options = {"gamma": 2.0, "basis": X, "tol": 1e-6, "max_iter": 100_000, "random_state": 0}
        weighted = NystromSVC(**options).fit(X, y, sample_weight=weight)
        repeated = NystromSVC(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=2e-3)

    def test_class_weight(self):
        X, y = make_classification(1000, weights=[0.95], class_sep=0.5, random_state=0)
        plain, balanced = (NystromSVC(C=1.0, class_weight=w, random_state=0).fit(X, y) for w in (None, "balanced"))
        assert (balanced.predict(X) == 1).sum() > 2 * (plain.predict(X) == 1).sum()

    def test_pickle_and_clone(self, digits):
        X, y = digits
        model = NystromSVC(kernels.Chi2(), n_basis=50, random_state=0).fit(X, y)
        copy = pickle.loads(pickle.dumps(model))
        assert np.array_equal(copy.decision_function(X), model.decision_function(X))
        assert clone(NystromSVC(basis=X[:5])).basis.shape == (5, 64)
        # the basis, the coefficients, and little more
        held = model.basis_.nbytes + model.dual_coef_.nbytes
        assert len(pickle.dumps(model)) < held + sum(len(h) for h in model.history_) * 200 + 20_000

    @pytest.mark.parametrize("kernel", ["poly", "sigmoid", "exp-chi2", "intersection", "laplacian", "cosine"])
    def test_every_kernel_learns(self, digits, kernel):
        X, y = digits
        gamma = 0.0005 if kernel == "sigmoid" else "scale"
        model = NystromSVC(kernel, gamma, C=10.0, n_basis=200, random_state=0, tol=0.005).fit(X[:1200], y[:1200])
        assert model.score(X[1200:], y[1200:]) > (0.8 if kernel == "sigmoid" else 0.9)

    @pytest.mark.parametrize("coef0", [-5.0, -3.0, -1.0])
    def test_a_kernel_that_is_not_positive_definite(self, moons, coef0):
        X, y = moons
        model = NystromSVC("sigmoid", 2.0, coef0=coef0, random_state=0).fit(X, y)
        assert model.n_dropped_ > 0
        assert (model.dual_gap_ <= 0.01 * model.objective_).all()
        assert model.score(X, y) > 0.6

    @pytest.mark.parametrize("dtype", [np.uint8, bool, np.int64, np.float32])
    def test_a_function_is_given_floating_point_numbers(self, digits, dtype):
        X, y = (digits[0] * 15).astype(dtype), digits[1]
        options = {"basis": "random", "n_basis": 60, "random_state": 0}
        model = NystromSVC(lambda A, B: A @ B.T, **options).fit(X, y)
        floats = NystromSVC(lambda A, B: A @ B.T, **options).fit(X.astype(np.float64), y)
        assert (model.predict(X) == floats.predict(X.astype(np.float64))).mean() > 0.99

    def test_a_function_may_return_a_sparse_matrix_or_its_own(self, digits):
        X, y = sp.csr_array(digits[0]), digits[1]
        options = {"basis": "random", "n_basis": 60, "random_state": 0}
        sparse = NystromSVC(lambda A, B: A @ B.T, **options).fit(X, y)
        kept = {}

        def remembered(A, B):
            key = (A.sum(), B.sum(), A.shape, B.shape)
            return kept.setdefault(key, (A @ B.T).toarray())

        again = NystromSVC(remembered, **options).fit(X, y)
        assert np.array_equal(sparse.predict(X), again.predict(X))
        assert np.array_equal(again.predict(X), again.predict(X))

    @pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exp-chi2", "cosine", "intersection"])
    def test_long_indices(self, digits, kernel):
        X, y = sp.csr_array(digits[0][:300]), digits[1][:300]
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        for basis in ("kmeans", "l1"):
            model = NystromSVC(kernel, basis=basis, n_basis=20, random_state=0).fit(X, y)
            assert model.score(X, y) > 0.8

    def test_a_function(self, moons):
        X, y = moons
        by_name = NystromSVC("rbf", 2.0, basis=X[:40], random_state=0).fit(X, y)
        by_function = NystromSVC(
            lambda A, B: referee.rbf_kernel(A, B, gamma=2.0), 1.0, basis=X[:40], random_state=0
        ).fit(X, y)
        np.testing.assert_allclose(by_function.decision_function(X), by_name.decision_function(X), atol=1e-3)


class TestChoose:
    def test_the_grid_and_the_refit(self, moons):
        X, y = moons
        model = NystromSVC(n_basis=50, random_state=0)
        assert model.choose(X, y, gamma=[0.01, 1.0, 100.0], C=[0.1, 1.0, 10.0], cv=3) is model
        assert model.scores_.shape == (3, 3, 3)
        assert (model.gamma, model.C) == ("scale", 10.0)
        assert model.gamma_ == 1.0
        assert model.C_ in (0.1, 1.0, 10.0)
        assert model.best_score_ == pytest.approx(np.nanmax(model.scores_.mean(axis=2)))
        again = NystromSVC(gamma=1.0, C=model.C_, n_basis=50, random_state=0).fit(X, y)
        assert np.array_equal(again.decision_function(X), model.decision_function(X))

    def test_scores_are_those_of_fits_on_the_folds(self, moons):
        X, y = moons
        folds = StratifiedKFold(4, shuffle=True, random_state=1)
        model = NystromSVC(basis=X[:60], tol=1e-3).choose(X, y, gamma=[0.5, 4.0], C=[0.1, 1.0], cv=folds)
        for g, gamma in enumerate((0.5, 4.0)):
            for c, C in enumerate((0.1, 1.0)):
                for f, (train, test) in enumerate(folds.split(X, y)):
                    fitted = NystromSVC(gamma=gamma, C=C, basis=X[:60], tol=1e-3).fit(X[train], y[train])
                    assert model.scores_[g, c, f] == pytest.approx(fitted.score(X[test], y[test]), abs=0.03)

    def test_defaults_and_several_classes(self, digits):
        X, y = digits[0][:500], digits[1][:500]
        model = NystromSVC(n_basis=60, random_state=0).choose(X, y, cv=3)
        assert model.scores_.shape == (5, 7, 3)
        assert model.best_score_ > 0.9

    def test_weights_scorers_and_features_not_stored(self, moons):
        X, y = moons
        weight = np.random.default_rng(0).integers(0, 3, y.size)
        model = NystromSVC(n_basis=30, store_features=False, random_state=0)
        model.choose(X, y, gamma=[1.0], C=[1.0, 10.0], cv=3, scoring="balanced_accuracy", sample_weight=weight)
        assert np.nanmax(model.scores_) > 0.8
        model.choose(X, y, gamma=[1.0], C=[1.0], cv=3, scoring=lambda m, A, b: m.score(A, b))
        assert model.scores_.shape == (1, 1, 3)

    def test_the_default_grid_is_round_scale_whatever_gamma_is(self, moons):
        X, y = moons
        first = NystromSVC(n_basis=30, scale=None, random_state=0).choose(X, y, C=[1.0], cv=3)
        assert first.gammas_[2] == pytest.approx(1.0 / (2 * X.var()))
        again = NystromSVC(gamma=123.0, scale=None, n_basis=30, random_state=0).choose(X, y, C=[1.0], cv=3)
        assert np.array_equal(first.gammas_, again.gammas_)

    def test_a_fit_forgets_the_choice(self, moons):
        model = NystromSVC(n_basis=30).choose(*moons, gamma=[1.0], C=[1.0], cv=3)
        assert not hasattr(model.fit(*moons), "scores_")

    def test_bad_grids(self, moons):
        X, y = moons
        for scoring in (5, "nonsense"):
            with pytest.raises(ValueError, match="scoring"):
                NystromSVC().choose(X, y, scoring=scoring)
        for wrong in (2, 2.0, [[1.0]]):
            with pytest.raises(ValueError, match="gamma: a list of at least one number"):
                NystromSVC().choose(X, y, gamma=wrong)
        with pytest.raises(ValueError, match="gamma: values must increase"):
            NystromSVC().choose(X, y, gamma=[2.0, 1.0])
        with pytest.raises(ValueError, match="C: every C must be positive"):
            NystromSVC().choose(X, y, C=[-1.0, 1.0])
        with pytest.raises(ValueError, match="C: a list of at least"):
            NystromSVC().choose(X, y, C=[])


class TestBadInput:
    def test_one_class(self, moons):
        with pytest.raises(ValueError, match="one class only"):
            NystromSVC().fit(moons[0], np.zeros(300))

    def test_nan(self, moons):
        X, y = moons
        model = NystromSVC().fit(X, y)
        bad = X.copy()
        bad[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            model.predict(bad)
        with pytest.raises(ValueError, match="NaN"):
            NystromSVC().fit(bad, y)

    def test_negative_values(self, moons):
        X, y = moons
        for kernel in ("exp-chi2", "intersection", kernels.Chi2()):
            with pytest.raises(ValueError, match=r"needs values >= 0, and column . has minimum"):
                NystromSVC(kernel).fit(X, y)
        model = NystromSVC("exp-chi2").fit(np.abs(X), y)
        with pytest.raises(ValueError, match="needs values >= 0"):
            model.predict(X)

    def test_huge_values(self, moons):
        X, y = moons
        with pytest.raises(ValueError, match="can be compared"):
            NystromSVC().fit(X * 1e200, y)
        scores = NystromSVC(scale=None).fit(X, y).decision_function(np.array([[1e100, -1e100], [1e30, 0.0]]))
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(scores, scores[0])  # far from every landmark: the intercept alone

    def test_a_basis_of_another_width(self, moons):
        X, y = moons
        with pytest.raises(ValueError, match="basis: the landmarks have 5 columns, and X has 2"):
            NystromSVC(basis=np.zeros((3, 5))).fit(X, y)

    @pytest.mark.parametrize("parameters", [{"kernel": "nonsense"}, {"gamma": 0.0}, {"n_basis": 0}, {"basis": "best"}])
    def test_parameters(self, moons, parameters):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            NystromSVC(**parameters).fit(*moons)
        with pytest.raises(ValueError, match=next(iter(parameters))):
            NystromSVC(**parameters).choose(*moons)
