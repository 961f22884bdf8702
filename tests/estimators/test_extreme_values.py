"""Data of any magnitude: the same accuracy as at magnitude 1, or an error that says what to do."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits

from kernline import AdditiveSVC, BudgetedSVC, NystromSVC
from kernline.feature_maps import AdditiveKernelMap, NystromMap

X, Y = load_digits(return_X_y=True)
X, Y = X[:400] / 16.0, Y[:400]

MODELS = {
    "chi2": AdditiveSVC(),
    "linear": AdditiveSVC("linear"),
    "rank": AdditiveSVC(scale="rank"),
    "nystrom": NystromSVC(n_basis=40),
    "nystrom-poly": NystromSVC("poly", n_basis=40),
    "nystrom-laplacian": NystromSVC("laplacian", n_basis=40),
    "nystrom-exp-chi2": NystromSVC("exp-chi2", n_basis=40),
    "nystrom-l1": NystromSVC(basis="l1", n_basis=40),
    "nystrom-blocks": NystromSVC(n_basis=40, store_features=False),
}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", MODELS)
def test_powers_of_two_change_nothing(name, form):
    """X · 1e-25, 1e25 and so on, but for the rounding of decimal powers."""
    few, labels = X[:150], Y[:150]
    plain = clone(MODELS[name]).fit(form(few), labels).predict(form(X[300:]))
    assert (plain == Y[300:]).mean() > 0.7
    for exponent in (-490, -83, -30, 30, 83, 490):
        model = clone(MODELS[name]).fit(form(np.ldexp(few, exponent)), labels)
        predicted = model.predict(form(np.ldexp(X[300:], exponent)))
        # The linear kernel rounds values of ordinary magnitude elsewhere than others.
        assert (predicted == plain).mean() > (0.95 if name == "linear" else 0.99), exponent


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("model", [NystromSVC(), NystromMap(), BudgetedSVC(), AdditiveSVC("linear")])
def test_squares_that_vanish(model, form):
    with pytest.raises(ValueError, match=r"largest magnitude in X is 1e-300.*Rescale X"):
        clone(model).fit(form(X * 1e-300), Y)


@pytest.mark.parametrize("factor", [1e-25, 1e25])
def test_budgeted_distances_are_float32(factor):
    with pytest.raises(ValueError, match=r"Scale the data|Rescale"):
        BudgetedSVC().fit(X * factor, Y)


def test_beyond_float64():
    with pytest.raises(ValueError, match="up to 1e\\+150"):
        NystromSVC().fit(X * 1e200, Y)
    assert AdditiveSVC().fit(X * 1e-300, Y).score(X * 1e-300, Y) > 0.9
    mapped, plain = (AdditiveKernelMap().fit_transform(X * factor) for factor in (2.0**-800, 1.0))
    np.testing.assert_allclose(mapped, plain * 2.0**-400, rtol=1e-12)


def test_constant_rows_have_some_gamma():
    """As in scikit-learn's SVC: 1 where the variance is zero."""
    assert NystromSVC().fit(np.ones((20, 3)), np.arange(20) % 2).gamma_ == 1.0
    assert BudgetedSVC().fit(np.zeros((20, 3)), np.arange(20) % 2).gamma_ == 1.0


@pytest.mark.parametrize("order", ["C", "F"])
def test_scale_is_that_of_svc(order):
    expected = 1.0 / (X.shape[1] * X.var())
    assert NystromSVC(n_basis=10).fit(np.asarray(X, order=order), Y).gamma_ == pytest.approx(expected, rel=1e-12)
    assert NystromSVC(n_basis=10).fit(sp.csr_array(X), Y).gamma_ == pytest.approx(expected, rel=1e-12)
