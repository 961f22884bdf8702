"""BudgetedSVC: the estimator, streams, and bad input. Its solver is tested in tests/solvers."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from kernline import BudgetedSVC

SEARCHES = ("lookup-wd", "lookup-h", "gss", "gss-precise")


@pytest.fixture(scope="module")
def moons():
    return make_moons(3000, noise=0.25, random_state=0)


class TestEstimator:
    def test_near_the_exact_svm(self, moons):
        X, y = moons
        exact = SVC(C=1.0).fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
        for search in SEARCHES:
            model = BudgetedSVC(budget=50, merge=search, random_state=0).fit(X[:2000], y[:2000])
            assert model.score(X[2000:], y[2000:]) > exact - 0.015
            assert model.support_vectors_.shape == (50, 2)

    def test_gamma_is_that_of_svc(self, digits):
        X, y = digits
        for data in (X, sp.csr_array(X), X.astype(np.uint8)):
            model = BudgetedSVC(budget=10, passes=1, random_state=0).fit(data, y)
            assert_allclose(model.gamma_, SVC().fit(X, y)._gamma)

    def test_scores_are_the_kernel_sum(self, digits):
        X, y = digits
        model = BudgetedSVC(gamma=0.001, budget=20, passes=2, random_state=0).fit(X, y)
        assert model.n_support_.sum() == model.support_vectors_.shape[0] == model.dual_coef_.size
        K = np.exp(-0.001 * cdist(X, model.support_vectors_, "sqeuclidean"))
        ends = np.cumsum(model.n_support_)
        expected = [
            K[:, end - n : end] @ model.dual_coef_[end - n : end] + b
            for end, n, b in zip(ends, model.n_support_, model.intercept_, strict=True)
        ]
        assert_allclose(model.decision_function(X), np.transpose(expected), rtol=1e-4, atol=1e-4)
        assert_allclose(model.decision_function(sp.csr_array(X)), model.decision_function(X), rtol=1e-3, atol=1e-3)

    @pytest.mark.parametrize("index", [np.int32, np.int64])
    def test_dense_and_sparse_agree(self, digits, index):
        X, y = digits
        sparse = sp.csr_array(X)
        sparse.indices, sparse.indptr = sparse.indices.astype(index), sparse.indptr.astype(index)
        models = [BudgetedSVC(budget=50, random_state=0).fit(data, y) for data in (X, sparse)]
        assert min(model.score(X, y) for model in models) > 0.95
        # Rounding differs, and with it who is merged: the same function for all practical purposes.
        assert (models[0].predict(X) == models[1].predict(X)).mean() > 0.97
        for model in models:
            assert_allclose(model.decision_function(X), model.decision_function(sparse), atol=1e-3)

    @pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
    def test_sparse_and_mostly_empty_columns_far_from_the_origin(self, offset):
        """|x|² + |b|² − 2 x·b in float32 would know nothing of the distances here."""
        rng = np.random.default_rng(0)
        X = np.zeros((1500, 5))
        X[:, 0] = offset + rng.integers(-12, 13, 1500) / 4.0
        y = np.sin(1.5 * (X[:, 0] - offset)) > 0
        for data in (X, X[:, :1], sp.csr_array(X), sp.csr_array(X[:, :1])):
            model = BudgetedSVC(gamma=1.0, C=10.0, budget=60, random_state=0).fit(data, y)
            assert model.score(data, y) > 0.97
            assert_allclose(model.decision_function(data[::2]), model.decision_function(data)[::2], atol=1e-3)

    @pytest.mark.parametrize("merge", ["lookup-wd", "lookup-h", "gss", "gss-precise"])
    @pytest.mark.parametrize("scale", [10.0, 300.0, 1e4, 1e12])
    @pytest.mark.parametrize("gamma", [1.0, 1e20])
    def test_points_that_are_far_apart(self, merge, scale, gamma):
        """κ = 0 for all pairs: merging can only drop the smaller, and must not harm the other."""
        rng = np.random.default_rng(0)
        X, y = scale * rng.standard_normal((600, 5)), rng.integers(2, size=600)
        for weight in (None, rng.uniform(0.5, 2.0, 600)):
            model = BudgetedSVC(gamma=gamma, budget=10, passes=3, merge=merge, random_state=0)
            model.fit(X, y, sample_weight=weight)
            assert np.isfinite(model.decision_function(X)).all()
            assert model.n_support_[0] <= 10
            if weight is None:
                assert np.abs(model._models()[0].counts).min() >= 0.99

    @pytest.mark.parametrize(("C", "weight"), [(1.0, 1e20), (1e25, 1e-50), (1e-25, 1e25)])
    def test_weights_that_float32_cannot_count(self, moons, C, weight):
        X, y = moons
        with pytest.raises(ValueError, match="between"):
            BudgetedSVC(C=C).fit(X, y, sample_weight=np.full(y.size, weight))

    def test_a_budget_beyond_the_rows_takes_no_memory(self, moons):
        X, y = moons[0][:200], moons[1][:200]
        small, large = (BudgetedSVC(budget=b, random_state=0).fit(X, y) for b in (200, 10**9))
        assert_array_equal(small.decision_function(X), large.decision_function(X))
        with pytest.raises(ValueError, match="GB"):
            BudgetedSVC(budget=50_000, maintenance="project").partial_fit(X, y, classes=[0, 1])

    def test_threads_do_not_change_the_result(self, digits):
        X, y = digits
        models = [BudgetedSVC(budget=20, passes=2, random_state=0, n_jobs=n).fit(X, y) for n in (None, 2, 3)]
        for other in models[1:]:
            assert_array_equal(models[0].support_vectors_, other.support_vectors_)
            assert_array_equal(models[0].decision_function(X), other.decision_function(X))

    def test_stops_when_passes_bring_nothing(self, moons):
        X, y = moons
        model = BudgetedSVC(budget=30, passes=200, tol=0.01, random_state=0).fit(X, y)
        assert model.n_iter_[0] < 100
        assert BudgetedSVC(budget=30, passes=25, tol=0.0, random_state=0).fit(X, y).n_iter_[0] == 25

    def test_pickles_and_goes_on(self, moons):
        X, y = moons
        model = BudgetedSVC(budget=20, random_state=0).partial_fit(X[:500], y[:500], classes=[0, 1])
        restored = pickle.loads(pickle.dumps(model))
        for one in (model, restored):
            one.partial_fit(X[500:1000], y[500:1000])
        assert_array_equal(restored.decision_function(X), model.decision_function(X))

    def test_class_weight_moves_the_boundary(self, moons):
        X, y = moons
        found = [
            np.mean(BudgetedSVC(budget=30, class_weight=w, random_state=0).fit(X, y).predict(X))
            for w in (None, {1: 10})
        ]
        assert found[1] > found[0] + 0.05

    def test_verbose_logs(self, moons, caplog):
        with caplog.at_level("INFO", logger="kernline"):
            BudgetedSVC(budget=10, passes=2, verbose=2).fit(*moons)
        assert "pass 2: mean loss" in caplog.text
        assert "2 passes, mean loss" in caplog.text

    def test_ctrl_c_stops_soon(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((20_000, 20)), rng.integers(2, size=20_000)
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        model = BudgetedSVC(passes=10**6, tol=0.0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert not hasattr(model, "support_vectors_")


class TestStream:
    def test_a_thousand_chunks_are_as_good_as_one_fit(self, moons):
        X, y = moons
        order = np.random.default_rng(0).permutation(2000)
        X_train, y_train = X[order], y[order]
        stream = BudgetedSVC(budget=50, random_state=0)
        for k in range(1000):
            rows = slice(2 * k, 2 * k + 2)
            stream.partial_fit(X_train[rows], y_train[rows], classes=[0, 1] if k == 0 else None)
        assert stream.support_vectors_.shape == (50, 2)
        assert len(pickle.dumps(stream)) < 10_000
        whole = BudgetedSVC(gamma=stream.gamma_, budget=50, random_state=0).fit(X_train, y_train)
        assert stream.score(X[2000:], y[2000:]) > whole.score(X[2000:], y[2000:]) - 0.005

    def test_parameters_that_change_within_a_stream(self, moons):
        X, y = moons
        model = BudgetedSVC(gamma=1.0, budget=20, random_state=0).partial_fit(X[:500], y[:500], classes=[0, 1])
        with pytest.raises(ValueError, match="budget=10: the stream has 20 support vectors"):
            model.set_params(budget=10).partial_fit(X, y)
        with pytest.raises(ValueError, match=r"gamma=5\.0: the stream began with 1"):
            model.set_params(budget=20, gamma=5.0).partial_fit(X, y)
        model.set_params(gamma=1.0, average=False)
        for part in np.array_split(np.arange(500, 2000), 20):
            model.partial_fit(X[part], y[part])
        last = BudgetedSVC(gamma=1.0, budget=20, random_state=0, average=False)
        for part in np.array_split(np.arange(2000), 20):
            last.partial_fit(X[part], y[part], classes=[0, 1])
        assert model.score(X[2000:], y[2000:]) > last.score(X[2000:], y[2000:]) - 0.05

    def test_a_first_call_that_fails_leaves_nothing(self, moons):
        X, y = moons
        model = BudgetedSVC(budget=20)
        with pytest.raises(ValueError, match="classes"):
            model.partial_fit(X, y + 5, classes=[0, 1])
        with pytest.raises(NotFittedError):
            model.predict(X)
        assert model.partial_fit(X, y, classes=[0, 1]).score(X, y) > 0.8

    def test_a_later_chunk_is_checked_too(self, moons):
        X, y = moons
        model = BudgetedSVC(budget=20).partial_fit(X[:100], y[:100], classes=[0, 1])
        with pytest.raises(ValueError, match="takes values up to"):
            model.partial_fit(X * 1e30, y)
        assert np.isfinite(model.decision_function(X)).all()

    def test_a_stream_after_many_passes_begins_at_the_same_function(self, moons):
        """1/(λt) is C/passes after fit, and C in a stream: the counts take the difference."""
        X, y = moons
        model = BudgetedSVC(gamma=1.0, budget=30, passes=7, tol=0.0, random_state=0).fit(X[:500], y[:500])
        for before in model._models():
            after = before.as_of_one_pass()
            assert after.n_steps == 500
            assert_allclose(after.coefficients, before.coefficients, rtol=1e-5)
            assert_allclose(after.intercept, before.intercept, rtol=1e-9)

    def test_goes_on_after_fit(self, moons):
        X, y = moons
        model = BudgetedSVC(budget=30, random_state=0).fit(X[:1000], y[:1000])
        assert model.partial_fit(X[1000:2000], y[1000:2000]).score(X[2000:], y[2000:]) > 0.9

    @pytest.mark.parametrize("maintenance", ["merge", "project"])
    def test_weighted_streams(self, moons, maintenance):
        X, y = moons
        model = BudgetedSVC(budget=30, maintenance=maintenance, class_weight={1: 2.0}, random_state=0)
        for part in np.array_split(np.arange(2000), 20):
            model.partial_fit(X[part], y[part], classes=[0, 1])
        assert model.score(X[2000:], y[2000:]) > 0.85

    def test_a_chunk_may_lack_classes(self):
        X, y = load_digits(return_X_y=True)
        model = BudgetedSVC(budget=20, random_state=0)
        for label in range(10):
            model.partial_fit(X[y == label], y[y == label], classes=np.arange(10))
        assert model.decision_function(X[:3]).shape == (3, 10)

    def test_labels_and_classes_are_checked(self, moons):
        X, y = moons
        with pytest.raises(ValueError, match="classes must be passed on the first call"):
            BudgetedSVC().partial_fit(X, y)
        with pytest.raises(ValueError, match=r"not among the classes of the first call to partial_fit: \[1\]"):
            BudgetedSVC().partial_fit(X, y, classes=[0, 2])
        with pytest.raises(ValueError, match="needs all labels together"):
            BudgetedSVC(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
        with pytest.raises(ValueError, match="at least two classes"):
            BudgetedSVC().partial_fit(X, y, classes=[0])


class TestBadInput:
    @pytest.mark.parametrize("options", [{"budget": 1}, {"gamma": 0.0}, {"gamma": -1.0}, {"C": 0.0}, {"merge": "best"}])
    def test_parameters(self, moons, options):
        (name,) = options
        with pytest.raises(ValueError, match=f"The '{name}' parameter of BudgetedSVC must be"):
            BudgetedSVC(**options).fit(*moons)

    def test_one_class(self):
        with pytest.raises(ValueError, match="at least two classes; y holds one class only"):
            BudgetedSVC().fit(np.eye(3), [1, 1, 1])

    def test_huge_column_numbers(self):
        X = sp.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 10**9, 5, 2 * 10**9])), shape=(4, 2 * 10**9 + 1))
        with pytest.raises(ValueError, match=r"support vectors of 2,000,000,001 features take .* GB"):
            BudgetedSVC().fit(X, [0, 1, 0, 1])
        wide = sp.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 10**5, 5, 10**6])), shape=(4, 10**6 + 1))
        assert BudgetedSVC(budget=4, gamma=1.0).fit(wide, [0, 1, 0, 1]).score(wide, [0, 1, 0, 1]) == 1.0

    def test_values_beyond_float32(self, moons):
        X, y = moons
        with pytest.raises(ValueError, match="Rescale it"):
            BudgetedSVC(gamma=1.0).fit(1e30 * X, y)
        with pytest.raises(ValueError, match="beyond float32"):
            BudgetedSVC(gamma=1e-40).fit(X, y)

    def test_constant_and_empty_rows(self):
        model = BudgetedSVC(random_state=0).fit(np.ones((10, 2)), [0, 1] * 5)
        assert np.isfinite(model.decision_function(np.ones((2, 2)))).all()
        model = BudgetedSVC(random_state=0).fit(sp.csr_array((10, 2)), [0, 1] * 5)
        assert np.isfinite(model.decision_function(sp.csr_array((2, 2)))).all()
