"""warm_start: the optimum of a cold start, in fewer visits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from kernline import AdditiveSVC
from kernline.encoding import EncodedData


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def visits(model):
    return sum(report.n_active for history in model.history_ for report in history)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.3, 1.0, 10.0])
def test_another_C(digits, loss, C):
    X, y = digits
    options = {"loss": loss, "tol": 1e-3}
    cold = AdditiveSVC(C=C, **options).fit(X, y)
    warm = AdditiveSVC(C=1.0, warm_start=True, **options).fit(X, y).set_params(C=C).fit(X, y)
    assert (warm.dual_gap_ <= 1e-3 * warm.objective_).all()
    assert_allclose(warm.objective_, cold.objective_, rtol=1e-3)
    assert visits(warm) < visits(cold) or C < 1.0  # where a cold start takes few passes


def test_the_same_problem_again(digits):
    X, y = digits
    model = AdditiveSVC("chi2", warm_start=True).fit(X, y)
    first = visits(model)
    assert visits(model.fit(X, y)) < 0.6 * first
    assert_allclose(model.objective_, AdditiveSVC("chi2", tol=1e-4).fit(X, y).objective_, rtol=0.01)


def test_a_few_labels_change(digits):
    X, y = digits
    changed = y.copy()
    changed[:20] = (y[:20] + 1) % 10
    model = AdditiveSVC("chi2", warm_start=True, tol=1e-3).fit(X, y).fit(X, changed)
    assert_allclose(model.objective_, AdditiveSVC("chi2", tol=1e-3).fit(X, changed).objective_, rtol=1e-3)


@pytest.mark.parametrize("intercept_scaling", [None, 1.0])
def test_all_classes_in_one_problem(digits, intercept_scaling):
    X, y = digits
    changed = y.copy()
    changed[:20] = (y[:20] + 1) % 10
    options = {"multi_class": "crammer-singer", "tol": 1e-3, "intercept_scaling": intercept_scaling}
    model = AdditiveSVC("chi2", C=1.0, warm_start=True, **options).fit(X, y)
    first = visits(model)
    assert visits(model.fit(X, y)) < 0.6 * first
    for C, labels in [(10.0, y), (0.3, y), (1.0, changed)]:
        cold = AdditiveSVC("chi2", C=C, **options).fit(X, labels)
        assert_allclose(model.set_params(C=C).fit(X, labels).objective_, cold.objective_, rtol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_more_rows_fewer_rows_other_columns(digits, loss):
    X, y = digits
    model = AdditiveSVC(loss=loss, warm_start=True, tol=1e-3)
    for rows, columns in [(900, 64), (1700, 64), (400, 64), (400, 30), (900, 30)]:
        part, labels = X[:rows, :columns], y[:rows]
        expected = AdditiveSVC(loss=loss, tol=1e-3).fit(part, labels).objective_
        assert_allclose(model.fit(part, labels).objective_, expected, rtol=2e-3)


def test_other_classes_start_anew(digits):
    X, y = digits
    model = AdditiveSVC("chi2", warm_start=True).fit(X, y).fit(X, y % 2)
    np.testing.assert_array_equal(model.decision_function(X), AdditiveSVC("chi2").fit(X, y % 2).decision_function(X))


def test_values_that_the_former_curves_are_not_defined_for(digits):
    X, y = digits
    options = {"kernel": "intersection", "loss": "squared_hinge"}
    model = AdditiveSVC(warm_start=True, scale="max", **options).fit(X[:500], y[:500])
    model.set_params(scale="minmax").fit(-X, y)
    assert_allclose(model.objective_, AdditiveSVC(scale="minmax", **options).fit(-X, y).objective_, rtol=0.01)


def test_encoded_rows(digits):
    X, y = digits
    codes = AdditiveSVC().fit(X, y).shapes_.encoder.transform(X)
    assert isinstance(codes, EncodedData)
    model = AdditiveSVC(loss="squared_hinge", warm_start=True).fit(X[:500], y[:500]).fit(codes, y)
    assert visits(model.fit(codes, y)) < visits(AdditiveSVC(loss="squared_hinge").fit(codes, y))


def test_without_it_a_fit_leaves_nothing_behind(digits):
    X, y = digits
    model = AdditiveSVC("chi2", warm_start=True).fit(X, y)
    assert not hasattr(model.set_params(warm_start=False).fit(X, y), "_starts")
