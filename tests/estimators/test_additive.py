"""AdditiveSVC as its users meet it: against exact SVC and LinearSVC, on every kind of input, good and bad."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, LinearSVC

from kernline import AdditiveSVC, datasets, kernels, tables


class TestAgainstExactSVC:
    """gamma=1 and the same C as SVC on the exact Gram matrix. SVC does not penalise its bias; ours is, lightly."""

    @pytest.mark.parametrize("C", [0.01, 0.1])
    def test_digits(self, kernel, digits, C):
        X, y = digits
        train, test = slice(0, 1200), slice(1200, None)
        exact = OneVsRestClassifier(SVC(kernel="precomputed", C=C)).fit(kernel(X[train]), y[train])
        expected = exact.decision_function(kernel(X[test], X[train]))
        model = AdditiveSVC(kernel, C=C, gamma=1.0, tol=1e-3, max_iter=10_000, random_state=0)
        ours = model.fit(X[train], y[train])
        scores = ours.decision_function(X[test])
        for k in range(10):
            assert np.corrcoef(scores[:, k], expected[:, k])[0, 1] > 0.99
        assert np.mean(scores.argmax(axis=1) == expected.argmax(axis=1)) >= 0.98

    def test_binary_scores_are_the_same_numbers(self, kernel, histograms):
        X, y = histograms
        exact = SVC(kernel="precomputed", C=1.0, tol=1e-5).fit(kernel(X), y)
        ours = AdditiveSVC(kernel, tables.Hats(256), C=1.0, gamma=1.0, tol=1e-3, random_state=0).fit(X, y)
        difference = ours.decision_function(X) - exact.decision_function(kernel(X))
        assert np.abs(difference).max() < 0.1
        assert np.abs(difference).mean() < 0.02

    @pytest.mark.parametrize("solver", ["dual-cd", "newton"])
    @pytest.mark.parametrize(("C", "tol"), [(0.01, 1e-6), (1.0, 1e-6), (100.0, 1e-4)])
    def test_the_intercept_is_as_free_as_that_of_svc(self, C, tol, solver):
        """With 17 knots the intersection kernel of 0, 1, … 16 is exact, so only the solvers differ."""
        rng = np.random.default_rng(0)
        X = rng.integers(0, 17, (300, 20))
        y = X[:, :5].sum(axis=1) + 5.0 * rng.standard_normal(300) > 50.0
        kernel = kernels.Intersection()
        gamma = 1.0 / kernel(X).diagonal().mean()
        exact = SVC(kernel="precomputed", C=C, tol=1e-8).fit(gamma * kernel(X), y)
        hats = tables.Hats(17, spacing=1.0)
        ours = AdditiveSVC(kernel, hats, C=C, scale="max", tol=tol, solver=solver, max_iter=10**5).fit(X, y)
        assert_allclose(ours.decision_function(X), exact.decision_function(gamma * kernel(X)), atol=1e-3)


class TestAgainstLinearSVC:
    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
    def test_linear_kernel(self, loss, layout):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((300, 10))
        y = X @ rng.standard_normal(10) + rng.standard_normal(300) > 0
        options = {"loss": loss, "C": 0.1, "random_state": 0}
        constant = np.sqrt(np.mean((X**2).sum(axis=1)))  # on the kernel's own scale, as ours
        peer = LinearSVC(dual=True, tol=1e-8, max_iter=10**6, intercept_scaling=constant, **options).fit(X, y)
        options |= {"intercept_scaling": 1.0}
        ours = AdditiveSVC("linear", gamma=1.0, tol=1e-6, max_iter=10**5, **options).fit(layout(X), y)
        assert_allclose(ours.decision_function(layout(X)), peer.decision_function(X), atol=5e-3)
        assert_allclose(ours.intercept_, peer.intercept_, atol=5e-3)
        assert_allclose(ours.shapes_.weights[0, :, 0], peer.coef_[0], atol=5e-3)

    def test_class_weight(self, digits):
        """Two classes only: with more, LIBLINEAR weighs the one class and not the rest."""
        X, y = digits[0], digits[1] == 8
        options = {"C": 1e-4, "fit_intercept": False, "class_weight": {True: 5.0, False: 0.5}, "random_state": 0}
        peer = LinearSVC(loss="hinge", tol=1e-6, max_iter=10**5, **options).fit(X, y)
        ours = AdditiveSVC("linear", gamma=1.0, tol=1e-5, **options).fit(X, y)
        assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=0.02)


@pytest.mark.parametrize("approximation", ["hats", "plame", "pmsvm-lut", tables.Hats(32), tables.PolynomialGradient(3)])
@pytest.mark.parametrize("kernel_name", ["chi2", "js", "hellinger"])
def test_approximations_agree(digits, approximation, kernel_name):
    X, y = digits
    finest, model = (
        AdditiveSVC(kernel_name, method, C=10.0, random_state=0).fit(X[:1200], y[:1200])
        for method in (tables.Hats(128), approximation)
    )
    assert abs(model.score(X[1200:], y[1200:]) - finest.score(X[1200:], y[1200:])) < 0.01
    assert np.mean(model.predict(X) == finest.predict(X)) > 0.97


def test_kernel_beats_linear_on_bursty_counts():
    data = datasets.make_bag_of_words(2000, 1000, 500)
    linear, chi2, intersection = (
        AdditiveSVC(kernel, random_state=0).fit(data.X_train, data.y_train).score(data.X_test, data.y_test)
        for kernel in ("linear", "chi2", "intersection")
    )
    assert min(chi2, intersection) > linear + 0.05


def test_reported_gap_is_within_tol(digits):
    for tol in (0.1, 0.001):
        model = AdditiveSVC("chi2", tol=tol, random_state=0).fit(*digits)
        assert (model.dual_gap_ <= tol * model.objective_).all()
        assert [len(history) for history in model.history_] == list(model.n_iter_)


class TestGammaScale:
    def test_makes_the_mean_norm_one(self, kernel, histograms):
        X, y = histograms
        model = AdditiveSVC(kernel, random_state=0).fit(X, y)
        assert_allclose(model.gamma_ * np.diag(kernel(X)).mean(), 1.0, rtol=0.06)

    @pytest.mark.parametrize("factor", [1e-100, 1e-24, 1e-6, 255.0, 1e40, 1e140])
    @pytest.mark.parametrize("kernel", ["chi2", "linear"])
    def test_makes_the_unit_of_the_data_irrelevant(self, histograms, kernel, factor):
        X, y = histograms
        model = AdditiveSVC(kernel, tol=1e-5, random_state=0)
        scores = [model.fit(Z, y).decision_function(Z) for Z in (X, factor * X)]
        assert_allclose(scores[0], scores[1], atol=0.02)

    def test_all_zeros(self):
        model = AdditiveSVC().fit(np.zeros((4, 2)), [0, 1, 1, 1])
        assert model.gamma_ == 1.0
        assert_array_equal(model.predict(np.zeros((1, 2))), [1])


class TestLabelsAndWeights:
    @pytest.mark.parametrize(
        "labels", [["b", "a", "c"], [3.0, -1.0, 7.0], [True, False], np.array(["x", "y"], dtype=object)]
    )
    def test_classes_of_any_type(self, digits, labels):
        X = digits[0][:300]
        y = np.asarray(labels)[digits[1][:300] % len(labels)]
        model = AdditiveSVC(C=10.0, random_state=0).fit(X, y)
        assert_array_equal(model.classes_, np.unique(y))
        assert model.predict(X).dtype == np.asarray(y).dtype
        assert model.score(X, y) > 0.9
        assert model.decision_function(X).shape == ((300,) if len(labels) == 2 else (300, 3))

    def test_sample_weight_is_repetition(self, histograms):
        X, y = histograms
        weight = np.random.default_rng(0).integers(0, 4, y.size)
        for scale in ("max", "rank"):
            model = AdditiveSVC("intersection", scale=scale, tol=1e-5, max_iter=10**5, random_state=0)
            weighted = clone(model).fit(X, y, sample_weight=weight)
            repeated = clone(model).fit(sp.csr_array(np.repeat(X.toarray(), weight, axis=0)), np.repeat(y, weight))
            assert_allclose(weighted.gamma_, repeated.gamma_, rtol=1e-5)
            assert_allclose(weighted.objective_, repeated.objective_, rtol=5e-5)
            assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=0.02)

    def test_balanced_raises_the_rare_class(self, histograms):
        X, y = histograms
        kept = (y == "ham") | (np.arange(y.size) % 10 == 0)
        rare = [
            np.mean(AdditiveSVC(class_weight=w, random_state=0).fit(X[kept], y[kept]).predict(X) == "spam")
            for w in (None, "balanced")
        ]
        assert rare[1] > rare[0]

    def test_a_class_with_one_sample(self, digits):
        X, y = digits[0][:101], np.append(np.zeros(100, dtype=int), 1)
        model = AdditiveSVC(class_weight="balanced", random_state=0).fit(X, y)
        assert_array_equal(model.classes_, [0, 1])


class TestInput:
    def test_layouts_and_types_give_one_model(self, histograms):
        X, y = histograms
        frame = pd.DataFrame(X.toarray(), columns=[f"word {j}" for j in range(40)])
        reference = AdditiveSVC("chi2", random_state=0).fit(X, y).decision_function(X)
        inputs = [
            X.toarray(),
            sp.csc_matrix(X),
            sp.coo_array(X),
            frame,
            X.toarray().astype(np.float32),
            X.toarray().tolist(),
        ]
        for data in inputs:
            scores = AdditiveSVC("chi2", random_state=0).fit(data, y).decision_function(data)
            assert_allclose(scores, reference, atol=1e-3)

    def test_bytes_need_no_conversion(self, digits):
        X, y = digits
        model = AdditiveSVC(random_state=0)
        assert_allclose(
            model.fit(X.astype(np.uint8), y).decision_function(X.astype(np.uint8)),
            model.fit(X, y).decision_function(X),
            rtol=1e-6,
        )

    def test_int64_indices(self, histograms):
        X, y = histograms
        wide = X.copy()
        wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        for kernel in ("chi2", "linear"):
            model = AdditiveSVC(kernel, tol=1e-5, random_state=0)
            assert_allclose(model.fit(wide, y).decision_function(wide), model.fit(X, y).decision_function(X), atol=1e-3)

    def test_strided_sparse_arrays(self, histograms):
        X, y = histograms
        strided = sp.csr_array((np.repeat(X.data, 2)[::2], X.indices, X.indptr), shape=X.shape)
        model = AdditiveSVC(random_state=0)
        assert_allclose(model.fit(strided, y).decision_function(strided), model.fit(X, y).decision_function(X))
        assert_allclose(kernels.Chi2()(strided), kernels.Chi2()(X))

    def test_minmax_clips_even_on_data_within_0_and_1(self):
        X = np.random.default_rng(0).random((60, 3))
        X[0], X[1] = 0.0, 1.0
        model = AdditiveSVC("linear", scale="minmax", random_state=0).fit(X, X[:, 0] > 0.5)
        assert_allclose(model.decision_function([[5.0, 0.5, 0.5]]), model.decision_function([[1.0, 0.5, 0.5]]))

    def test_duplicate_entries_are_summed(self):
        data, columns, start = np.array([1.0, 2.0, 3.0, 1.0]), np.array([0, 0, 1, 1]), np.array([0, 2, 3, 4])
        duplicated = sp.csr_matrix((data, columns, start), shape=(3, 2))
        y = [0, 1, 1]
        expected = AdditiveSVC("chi2").fit(duplicated.toarray(), y).decision_function(duplicated.toarray())
        assert_allclose(AdditiveSVC("chi2").fit(duplicated, y).decision_function(duplicated), expected)
        assert duplicated.nnz == 4

    def test_zero_rows_constant_columns_and_duplicated_rows(self, histograms):
        X = histograms[0].toarray()
        X[5], X[:, 3], X[:, 4], X[50:100] = 0.0, 2.5, 0.0, X[0]
        for scale in ("max", "minmax", "rank"):
            model = AdditiveSVC("intersection", scale=scale, random_state=0).fit(X, histograms[1])
            assert np.isfinite(model.decision_function(X)).all()

    def test_negative_values_by_minmax_and_rank(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((600, 4)) * [1, 10, 100, 1000]
        y = np.abs(X / [1, 10, 100, 1000]).sum(axis=1) > 3.0  # no line separates it, four curves do
        for scale in ("minmax", "rank"):
            assert AdditiveSVC("intersection", scale=scale, C=10.0, random_state=0).fit(X, y).score(X, y) > 0.9

    def test_a_kernel_of_ones_own(self, digits):
        X, y = digits
        own = AdditiveSVC(kernels.Custom(np.minimum), random_state=0).fit(X, y)
        assert_allclose(
            own.decision_function(X), AdditiveSVC("intersection", random_state=0).fit(X, y).decision_function(X)
        )
        # u·v is not homogeneous of degree one: it applies to the scaled values
        product = AdditiveSVC(kernels.Custom(np.multiply), tol=1e-3, random_state=0).fit(X, y)
        scaled = AdditiveSVC("linear", tol=1e-3, random_state=0).fit(MinMaxScaler().fit_transform(X), y)
        assert np.mean(product.predict(X) == scaled.predict(MinMaxScaler().fit_transform(X))) > 0.98

    def test_in_a_pipeline(self, digits):
        X, y = digits
        assert make_pipeline(MinMaxScaler(), AdditiveSVC(C=10.0)).fit(X, y).score(X, y) > 0.95


class TestBadInput:
    @pytest.mark.parametrize(
        ("X", "y", "message"),
        [
            ([[1.0, np.inf], [0.0, 1.0]], [0, 1], "infinity"),
            (np.empty((0, 2)), [], "minimum of 1 is required"),
            (np.empty((3, 0)), [0, 1, 0], "minimum of 1 is required"),
            ([[1.0], [2.0]], [1, 1], "at least two classes; y holds one class only: .*1"),
            ([[1.0], [2.0]], [0, 1, 1], "inconsistent numbers of samples"),
            ([[1.0], [2.0]], [0.5, 1.7], "Unknown label type"),
            ([[1.0, np.inf], [np.nan, 1.0]], [0, 1], "infinity"),
            ([[1.0], [2.0]], [0.0, np.nan], "Input y contains NaN"),
            ([[1.0], [2.0]], ["a", None], "Input y contains NaN or None: 1 labels"),
        ],
    )
    def test_data(self, X, y, message):
        with pytest.raises(ValueError, match=message):
            AdditiveSVC().fit(X, y)

    def test_negative_values_name_the_column_and_the_remedy(self):
        frame = pd.DataFrame({"height": [1.0, 2.0], "age": [-3.2, 1.0]})
        with pytest.raises(
            ValueError, match=r"chi2 needs values >= 0, and column 'age' has minimum -3\.2\..*scale='minmax'"
        ):
            AdditiveSVC("chi2", scale="max").fit(frame, [0, 1])
        model = AdditiveSVC("chi2").fit(frame.abs(), [0, 1])
        with pytest.raises(ValueError, match="column 'age' has minimum"):
            model.predict(frame)
        for scale in ("minmax", "rank"):
            with pytest.raises(ValueError, match="keeps the zeros of a sparse matrix, and column 1"):
                AdditiveSVC(scale=scale).fit(sp.csr_array(frame.to_numpy()), [0, 1])

    def test_feature_count_and_names(self, digits):
        model = AdditiveSVC().fit(digits[0][:300], digits[1][:300])
        with pytest.raises(ValueError, match="63 features, but AdditiveSVC is expecting 64"):
            model.predict(digits[0][:, :63])
        frame = pd.DataFrame(np.random.default_rng(0).random((6, 2)), columns=["a", "b"])
        model = AdditiveSVC().fit(frame, [0, 1, 0, 1, 0, 1])
        assert_array_equal(model.feature_names_in_, ["a", "b"])
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[["b", "a"]])

    @pytest.mark.parametrize(
        "options",
        [
            {"C": 0.0},
            {"C": -1.0},
            {"C": np.nan},
            {"C": "1"},
            {"gamma": 0.0},
            {"gamma": "auto"},
            {"kernel": "rbf"},
            {"kernel": None},
            {"approximation": "spline"},
            {"p": 0.5},
            {"loss": "logistic"},
            {"scale": "std"},
            {"tol": 0.0},
            {"max_iter": 0},
            {"intercept_scaling": 0.0},
            {"class_weight": "even"},
            {"random_state": "seed"},
        ],
        ids=str,
    )
    def test_parameters(self, options, digits):
        name, value = next(iter(options.items()))
        with pytest.raises(ValueError, match=f"The '{name}' parameter of AdditiveSVC must be .*Got {value!r} instead"):
            AdditiveSVC(**options).fit(*digits)

    def test_weights(self, digits):
        X, y = digits
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            AdditiveSVC().fit(X, y, sample_weight=np.full(y.size, -1.0))
        with pytest.raises(ValueError, match="zero"):
            AdditiveSVC().fit(X, y, sample_weight=np.zeros(y.size))
        with pytest.raises(ValueError, match="two classes"):
            AdditiveSVC().fit(X, y, sample_weight=(y == 3).astype(float))
        with pytest.raises(ValueError, match="class_weight: every weight must be positive"):
            AdditiveSVC(class_weight={3: 0.0}).fit(X, y)

    def test_values_beyond_float32(self):
        X = np.array([[1e300, 0.0], [0.0, 1.0]])
        assert np.isfinite(AdditiveSVC().fit(X, [0, 1]).decision_function(X)).all()
        for model in (AdditiveSVC("linear"), AdditiveSVC(scale="minmax")):
            with pytest.raises(ValueError, match=r"column 0 has magnitude 1e\+300"):
                model.fit(X, [0, 1])
        with pytest.raises(ValueError, match=r"takes values up to 1e\+150; X holds 1e\+300"):
            AdditiveSVC("linear").fit(np.eye(2), [0, 1]).predict(X)
        with pytest.raises(ValueError, match=r"gamma=1e\+300 makes K\(x, x\) as large as"):
            AdditiveSVC(gamma=1e300).fit(np.eye(2), [0, 1])

    @pytest.mark.parametrize(
        ("options", "weight", "message"),
        [
            ({"C": 1e-46}, 1.0, "ranges from 1e-46 to 1e-46; float32 needs"),
            ({"C": 1e39}, 1.0, r"ranges from 1e\+39"),
            ({"loss": "squared_hinge"}, 1e-60, "ranges from 1e-60 to 1;"),
            ({"intercept_scaling": 1e160}, 1.0, "intercept_scaling=.* too large"),
        ],
    )
    def test_costs_beyond_float32(self, options, weight, message, digits):
        weights = np.ones(digits[1].size)
        weights[0] = weight
        with pytest.raises(ValueError, match=message):
            AdditiveSVC(**options).fit(*digits, sample_weight=weights if weight != 1.0 else None)

    @pytest.mark.parametrize("kernel", ["intersection", "linear"])
    @pytest.mark.parametrize("scale", ["minmax", "rank"])
    def test_sparse_cannot_stand_for_columns_whose_lowest_value_is_not_zero(self, kernel, scale):
        X = np.random.default_rng(0).standard_normal((50, 4))
        model = AdditiveSVC(kernel, scale=scale).fit(X, X[:, 0] > 0)
        with pytest.raises(ValueError, match=r"zero is not the lowest.*Pass a dense array"):
            model.predict(sp.csr_array(np.maximum(X, 0.0)))
        with pytest.raises(ValueError, match="keeps the zeros of a sparse matrix"):
            AdditiveSVC(kernel, scale=scale).fit(sp.csr_array(X), X[:, 0] > 0)

    def test_a_class_is_not_an_approximation(self, digits):
        with pytest.raises(ValueError, match=r"approximation=.*is not known"):
            AdditiveSVC(approximation=tables.Hats).fit(*digits)


class TestFit:
    def test_warns_with_numbers_and_a_remedy(self, digits):
        with pytest.warns(
            ConvergenceWarning, match=r"max_iter=2 passes.*relative gap of .* where tol=1e-06.*Raise max_iter"
        ):
            AdditiveSVC("chi2", tol=1e-6, max_iter=2).fit(*digits)

    def test_a_tighter_tol_is_a_better_solution(self, digits):
        """Float32 weights drift over thousands of epochs; they are summed again on the way."""
        X, y = digits[0], digits[1] == 2
        options = {"C": 10.0, "max_iter": 20_000, "random_state": 0}
        loose, tight = (AdditiveSVC("chi2", tol=tol, **options).fit(X, y) for tol in (1e-4, 3e-6))
        assert tight.dual_gap_[0] <= 3e-6 * tight.objective_[0] < loose.dual_gap_[0]

    def test_more_threads_than_the_system_gives(self, digits):
        model = AdditiveSVC(random_state=0).fit(digits[0][:300], digits[1][:300])
        scores = model.set_params(n_jobs=10_000).decision_function(digits[0])
        assert np.isfinite(scores).all()

    def test_threads_do_not_change_the_result(self, digits):
        X, y = digits[0][:500], digits[1][:500]
        scores = [AdditiveSVC(random_state=0, n_jobs=n).fit(X, y).decision_function(X) for n in (None, 2, 3, -1)]
        for other in scores[1:]:
            assert_array_equal(scores[0], other)

    def test_fitted_state_pickles(self, digits):
        model = AdditiveSVC(random_state=0).fit(digits[0][:500], digits[1][:500])
        restored = pickle.loads(pickle.dumps(model))
        assert_array_equal(restored.decision_function(digits[0]), model.decision_function(digits[0]))

    def test_verbose_logs(self, digits, caplog):
        with caplog.at_level("INFO", logger="kernline"):
            AdditiveSVC("chi2", verbose=2).fit(*digits)
        assert "class 9 (10/10)" in caplog.text
        assert "epoch 1: gap" in caplog.text
        assert "relative gap" in caplog.text

    def test_callbacks_follow_the_epochs_and_can_stop(self, digits):
        callback = pytest.importorskip("sklearn.callback")

        class StopAtThree:
            def __init__(self):
                self.names = []

            def setup(self, estimator, context): ...

            def teardown(self, estimator, context): ...

            def on_fit_task_begin(self, estimator, context):
                self.names.append(context.task_name)

            def on_fit_task_end(self, estimator, context):
                return context.task_name == "epoch 3"

        watcher = StopAtThree()
        assert isinstance(watcher, callback.FitCallback)
        model = AdditiveSVC("chi2", tol=1e-6).set_callbacks(watcher).fit(*digits)
        assert_array_equal(model.n_iter_, 3)
        assert watcher.names[:3] == ["fit", "class 0 (1/10)", "epoch 1"]
        assert watcher.names.count("epoch 3") == 10
        watcher.names.clear()
        together = AdditiveSVC(tol=1e-6).set_callbacks(watcher).fit(*digits)
        assert_array_equal(together.n_iter_, [3])
        assert watcher.names == ["fit", "all together (1/1)", "epoch 1", "epoch 2", "epoch 3"]

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_ctrl_c_stops_soon_and_loses_nothing(self, n_jobs):
        data = datasets.make_bag_of_words(20_000, 10, 500)
        model = AdditiveSVC("chi2", C=1e4, tol=1e-9, max_iter=10**6, n_jobs=n_jobs, random_state=0)
        sent = []

        def interrupt():
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        n_before = threading.active_count()
        timer = threading.Timer(1.0, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(data.X_train, data.y_train)
        assert sent
        assert not hasattr(model, "shapes_")
        assert threading.active_count() <= n_before + 1  # no worker goes on; the timer may


class TestShapes:
    def test_curves_add_up_to_the_score(self, histograms):
        X, y = histograms
        model = AdditiveSVC(random_state=0).fit(X, y)
        dense = X.toarray()
        total = model.intercept_ + sum(model.shapes_.evaluate(j, dense[:, j]) for j in range(X.shape[1]))
        assert_allclose(total[:, 0], model.decision_function(X), atol=1e-5)

    def test_a_curve_starts_at_zero_and_is_constant_beyond_the_data(self, histograms):
        X, y = histograms
        shapes = AdditiveSVC("intersection", random_state=0).fit(X, y).shapes_
        top = X.max(axis=0).toarray()[0]
        assert_allclose(shapes.evaluate(0, [0.0]), 0.0)
        assert_allclose(shapes.evaluate(0, [5 * top]), shapes.evaluate(0, [top]))

    def test_importance_finds_the_feature_that_matters(self):
        rng = np.random.default_rng(0)
        X = rng.random((500, 5))
        shapes = AdditiveSVC(random_state=0).fit(X, X[:, 3] > 0.5).shapes_
        for data in (X, sp.csr_array(X), pd.DataFrame(X), X.tolist()):
            assert shapes.importance(data)[:, 0].argmax() == 3
        with pytest.raises(ValueError, match="X has 4 features, and the model 5"):
            shapes.importance(X[:, :4])
        with pytest.raises(ValueError, match="must be finite"):
            shapes.evaluate(0, [np.inf])

    def test_size(self, digits):
        shapes = AdditiveSVC().fit(*digits).shapes_
        assert shapes.weights.shape == (10, 64, 16)
        assert shapes.nbytes - shapes.training.nbytes < 1.1 * shapes.weights.nbytes + 64 * 16 + 100
        assert shapes.training.nbytes < 0.5 * shapes.weights.nbytes
