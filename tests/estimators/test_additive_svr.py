"""AdditiveSVR as its users meet it: against SVR, kernel ridge regression and LinearSVR, on every kind of y."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVR, LinearSVR

from kernline import AdditiveSVC, AdditiveSVR, kernels, tables

LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive", "squared_error"]
# With 17 knots the intersection kernel of 0, 1, … 16 is exact, so only the solvers differ.
EXACT = tables.Hats(17, spacing=1.0)


@pytest.fixture(scope="module")
def counts():
    """300 rows of the integers from 0 to 16, a sum of curves of them, and the Gram matrix of gamma="scale"."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 17, (300, 20))
    y = 5.0 + 3.0 * np.sqrt(X[:, :5]).sum(axis=1) + rng.standard_normal(300)
    gram = kernels.Intersection()(X)
    return X, y, gram / gram.diagonal().mean()


def ridge(gram, y, penalty, weight=1.0):
    """Kernel ridge regression with an intercept that is not penalised, in closed form."""
    n = len(y)
    system = np.block([[gram + np.diag(np.full(n, penalty) / weight), np.ones((n, 1))], [np.ones((1, n)), np.zeros(1)]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return gram @ solution[:n] + solution[n]


class TestAgainstExactSolutions:
    @pytest.mark.parametrize("solver", ["dual-cd", "newton"])
    @pytest.mark.parametrize(("C", "tol"), [(0.01, 1e-7), (1.0, 1e-6), (100.0, 3e-4)])
    def test_svr(self, counts, C, tol, solver):
        """C is that of y in standard deviations, epsilon that of y."""
        X, y, gram = counts
        exact = SVR(kernel="precomputed", C=C * y.std(), epsilon=0.3, tol=1e-8).fit(gram, y)
        options = {"C": C, "epsilon": 0.3, "loss": "epsilon_insensitive", "tol": tol, "solver": solver}
        ours = AdditiveSVR("intersection", EXACT, max_iter=10**4, **options).fit(X, y)
        assert_allclose(ours.predict(X), exact.predict(gram), atol=1e-3 * y.std())

    @pytest.mark.parametrize("solver", ["dual-cd", "newton"])
    @pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
    def test_kernel_ridge(self, counts, C, solver):
        X, y, gram = counts
        ours = AdditiveSVR("intersection", EXACT, C=C, tol=1e-8, max_iter=10**4, solver=solver).fit(X, y)
        assert_allclose(ours.predict(X), ridge(gram, y, 0.5 / C), atol=1e-3 * y.std())

    @pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
    def test_kernel_ridge_without_an_intercept(self, counts, C):
        X, y, gram = counts
        exact = KernelRidge(alpha=0.5 / C, kernel="precomputed").fit(gram, y)
        ours = AdditiveSVR("intersection", EXACT, C=C, fit_intercept=False, tol=1e-8, max_iter=10**4).fit(X, y)
        assert_allclose(ours.predict(X), exact.predict(gram), atol=1e-3 * y.std())

    @pytest.mark.parametrize("loss", LOSSES[:2])
    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
    def test_linear_kernel(self, loss, layout):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((300, 10))
        y = X @ rng.standard_normal(10) + rng.standard_normal(300)
        y = 3.0 + (y - y.mean()) / y.std()  # LinearSVR's C is that of y in its own unit
        constant = np.sqrt(np.mean((X**2).sum(axis=1)))  # on the kernel's own scale, as ours
        options = {"loss": loss, "C": 0.1, "epsilon": 0.2, "random_state": 0}
        peer = LinearSVR(dual=True, tol=1e-8, max_iter=10**6, intercept_scaling=constant, **options).fit(X, y)
        ours = AdditiveSVR("linear", gamma=1.0, intercept_scaling=1.0, tol=1e-6, max_iter=10**4, **options)
        ours.fit(layout(X), y)
        assert_allclose(ours.predict(layout(X)), peer.predict(X), atol=2e-3)
        assert_allclose(ours.shapes_.weights[0, :, 0], peer.coef_, atol=2e-3)

    def test_the_losses_differ(self, counts):
        X, y, _ = counts
        models = [AdditiveSVR(loss=loss, epsilon=0.5, tol=1e-4).fit(X, y) for loss in LOSSES]
        predictions = [model.predict(X) for model in models]
        assert np.ptp(predictions, axis=0).max() > 0.1
        assert_allclose([model.epsilon_[0] for model in models], [0.5, 0.5, 0.0])


def test_the_curves_are_those_of_the_target():
    """Friedman's first function has a quadratic in x_2 and lines in x_3 and x_4."""
    X, y = make_friedman1(2000, noise=0.5, random_state=0)
    model = AdditiveSVR("intersection", scale="rank", C=10.0).fit(X, y)
    at = np.linspace(0.05, 0.95, 50)
    for j, curve in ((2, 20.0 * (at - 0.5) ** 2), (3, 10.0 * at), (4, 5.0 * at)):
        found = model.shapes_.evaluate(j, at)[:, 0]
        assert_allclose(found - found.mean(), curve - curve.mean(), atol=0.6)


def test_reported_gap_is_within_tol(counts):
    X, y, _ = counts
    for loss in LOSSES:
        model = AdditiveSVR(loss=loss, tol=1e-3).fit(X, y)
        assert (model.dual_gap_ <= 1e-3 * model.objective_).all()


@pytest.mark.parametrize("loss", LOSSES)
class TestUnits:
    @pytest.mark.parametrize("exponent", [-1000, -10, 10, 1000])
    def test_a_power_of_two_changes_nothing(self, counts, exponent, loss):
        X, y, _ = counts
        unit = 2.0**exponent
        model = AdditiveSVR(loss=loss, C=3.0).fit(X, y)
        other = AdditiveSVR(loss=loss, C=3.0).fit(X, unit * y)
        assert_allclose(other.predict(X) / unit, model.predict(X), rtol=1e-6)
        assert_allclose(other.epsilon_, unit * model.epsilon_)
        curve = other.target_unit_ * other.shapes_.evaluate(0, np.arange(17))[:, 0]
        assert_allclose(curve / unit, model.shapes_.evaluate(0, np.arange(17))[:, 0], rtol=1e-5)

    @pytest.mark.parametrize(("unit", "offset"), [(1e-300, 0.0), (1e-3, 5.0), (1e9, -1e9), (1e298, 1e299)])
    def test_nor_does_any_other(self, counts, unit, offset, loss):
        X, y, _ = counts
        model, other = (AdditiveSVR(loss=loss, tol=1e-4, max_iter=10**4) for _ in range(2))
        expected, found = model.fit(X, y).predict(X), other.fit(X, unit * y + offset).predict(X)
        assert_allclose((found - offset) / unit, expected, atol=0.01 * y.std())


class TestKindsOfY:
    def test_several_outputs_are_several_problems(self, counts):
        X, y, _ = counts
        Y = np.column_stack([y, 1e6 * X[:, 3], -y])
        options = {"loss": "epsilon_insensitive", "C": 1.0, "tol": 1e-5, "max_iter": 10**5}
        model = AdditiveSVR(**options).fit(X, Y)
        peer = MultiOutputRegressor(AdditiveSVR(**options)).fit(X, Y)
        assert model.predict(X).shape == Y.shape
        assert model.intercept_.shape == model.n_iter_.shape == (3,)
        assert (np.abs(model.predict(X) - peer.predict(X)) < 0.01 * Y.std(axis=0)).all()
        assert_allclose(model.score(X, Y), peer.score(X, Y), atol=1e-4)

    def test_one_column_is_a_vector(self, counts):
        X, y, _ = counts
        with pytest.warns(DataConversionWarning):
            model = AdditiveSVR().fit(X, y[:, None])
        assert_array_equal(model.predict(X), AdditiveSVR().fit(X, y).predict(X))

    @pytest.mark.parametrize("constant", [0.0, 3.7, -1e300, 5e-324])
    @pytest.mark.parametrize("loss", LOSSES)
    def test_a_constant_is_predicted(self, counts, constant, loss):
        X = counts[0]
        model = AdditiveSVR(loss=loss).fit(X, np.full(len(X), constant))
        assert_array_equal(model.predict(X), constant)

    def test_integers_booleans_and_objects(self, counts):
        X, y, _ = counts
        expected = AdditiveSVR().fit(X, np.rint(y)).predict(X)
        for given in (np.rint(y).astype(int), np.rint(y).astype(object), pd.Series(np.rint(y)), np.rint(y).tolist()):
            assert_array_equal(AdditiveSVR().fit(X, given).predict(X), expected)
        assert AdditiveSVR().fit(X, y > y.mean()).score(X, y > y.mean()) > 0.3

    @pytest.mark.parametrize("missing", [np.nan, np.inf])
    @pytest.mark.parametrize("kind", [float, object])
    def test_not_finite(self, counts, missing, kind):
        X, y, _ = counts
        y = np.append(y[:-1], missing).astype(kind)
        with pytest.raises(ValueError, match=r"Input (y )?contains"):
            AdditiveSVR().fit(X, y)

    @pytest.mark.parametrize("y", [["low", "high"], np.array([1.0, "high"], dtype=object)])
    def test_text(self, y):
        with pytest.raises(ValueError, match=r"AdditiveSVR predicts numbers; y holds '\w+'.*use a classifier"):
            AdditiveSVR().fit([[1.0], [2.0]], y)

    def test_three_dimensions_and_no_column(self):
        for shape in ((2, 2, 2), (2, 0)):
            with pytest.raises(ValueError, match=r"dim|feature"):
                AdditiveSVR().fit([[1.0], [2.0]], np.ones(shape))

    def test_few_rows(self):
        X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 2.0, 4.0])
        for n in (1, 2, 3):
            for loss in LOSSES:
                assert np.isfinite(AdditiveSVR("intersection", loss=loss).fit(X[:n], y[:n]).predict(X)).all()

    def test_a_huge_epsilon_predicts_a_constant(self, counts):
        X, y, _ = counts
        model = AdditiveSVR(loss="epsilon_insensitive", epsilon=1e308).fit(X, 1e-3 * y)
        assert np.ptp(model.predict(X)) == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_sample_weight_is_repetition(counts, loss):
    X, y, _ = counts
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    options = {"loss": loss, "gamma": 0.01, "C": 0.1, "tol": 1e-7, "max_iter": 10**4}
    weighted = AdditiveSVR("intersection", EXACT, **options).fit(X, y, weight)
    repeated = AdditiveSVR("intersection", EXACT, **options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3 * y.std())


def test_sample_weight_against_ridge(counts):
    X, y, gram = counts
    weight = np.random.default_rng(0).random(len(y)) + 0.1
    gamma = 1.0 / kernels.Intersection()(X).diagonal().mean()
    model = AdditiveSVR("intersection", EXACT, C=1.0, gamma=gamma, tol=1e-8, max_iter=10**4).fit(X, y, weight)
    assert_allclose(model.predict(X), ridge(gram, y, 0.5, weight), atol=1e-3 * y.std())


class TestInScikitLearn:
    def test_pickle_clone_and_pipeline(self):
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        model = make_pipeline(MinMaxScaler(), AdditiveSVR()).fit(X, y)
        assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
        assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))
        model = AdditiveSVR(scale="rank").fit(X, y)
        assert_array_equal(model.feature_names_in_, X.columns)
        assert_array_equal(model.shapes_.feature_names_in_, X.columns)

    def test_weights_are_routed(self, counts):
        X, y, _ = counts
        weight = np.arange(len(y)) % 3 + 0.5
        with config_context(enable_metadata_routing=True):
            step = AdditiveSVR(scale="minmax").set_fit_request(sample_weight=True)
            model = make_pipeline(MinMaxScaler(), step).fit(X, y, sample_weight=weight)
        expected = AdditiveSVR(scale="minmax").fit(MinMaxScaler().fit_transform(X), y, weight)
        assert_array_equal(model.predict(X), expected.predict(MinMaxScaler().fit_transform(X)))

    def test_sparse_and_dense_agree(self, counts):
        X, y, _ = counts
        dense, sparse = AdditiveSVR("chi2").fit(X, y), AdditiveSVR("chi2").fit(sp.csr_array(X), y)
        assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), atol=0.05)

    def test_search_and_cross_validation(self, counts):
        X, y, _ = counts
        assert cross_val_score(AdditiveSVR(), X, y).min() > 0.7
        found = GridSearchCV(AdditiveSVR(), {"C": [1e-4, 1.0], "loss": LOSSES}).fit(X, y)
        assert found.best_params_["C"] == 1.0

    def test_the_result_does_not_depend_on_threads(self, counts):
        X, y, _ = counts
        Y = np.column_stack([y, X[:, 0]])
        one, two = (AdditiveSVR(n_jobs=n).fit(X, Y).predict(X) for n in (1, 2))
        assert_array_equal(one, two)

    def test_it_is_no_classifier(self):
        assert not hasattr(AdditiveSVR(), "decision_function")
        assert not hasattr(AdditiveSVR(), "classes_")

    def test_the_classifier_points_to_it(self, counts):
        X, y, _ = counts
        with pytest.warns(UserWarning, match="AdditiveSVR"), pytest.warns(ConvergenceWarning):
            AdditiveSVC(max_iter=1).fit(X[:100], np.round(y[:100], 1).astype(str))


@pytest.mark.parametrize("bad", [{"loss": "hinge"}, {"epsilon": -1.0}, {"epsilon": "auto"}, {"C": 0.0}])
def test_parameters_are_checked(counts, bad):
    X, y, _ = counts
    with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter of AdditiveSVR"):
        AdditiveSVR(**bad).fit(X, y)
