"""Landmarks in the units of the input, and scikit-learn's partial dependence of landmark models."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, load_wine
from sklearn.inspection import partial_dependence

import kernline
from kernline import BudgetedSVC, NystromSVC

MODELS = {"nystrom": NystromSVC(n_basis=20, random_state=0), "budgeted": BudgetedSVC(budget=20, random_state=0)}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_landmarks_are_in_the_units_of_the_input(model, tmp_path):
    X, y = load_wine(return_X_y=True)
    X = np.column_stack([X, np.full(len(X), 7.0)])
    model.fit(X, y)
    assert model.scale_.name == "standard"
    scaled = model.basis_ if isinstance(model, NystromSVC) else model.support_vectors_
    assert_allclose(model.scale_.transform(model.landmarks_)[:, :-1], scaled[:, :-1], rtol=1e-5, atol=1e-6)
    assert_allclose(model.landmarks_[:, -1], 7.0, rtol=1e-12)
    low, high = X.min(axis=0), X.max(axis=0)
    assert ((model.landmarks_ >= low - 1e-3 * high) & (model.landmarks_ <= high + 1e-3 * high)).all()
    kernline.save(model, tmp_path / "m.kern")
    assert_allclose(kernline.load(tmp_path / "m.kern").landmarks_, model.landmarks_)


def test_columns_that_are_left_as_they_are():
    X, y = load_iris(return_X_y=True)
    model = NystromSVC(n_basis=10, scale=None, random_state=0).fit(X, y)
    assert model.landmarks_ is model.basis_


def test_sparse_landmarks_stay_sparse():
    X, y = load_wine(return_X_y=True)
    model = NystromSVC(n_basis=10, basis="random", scale="standard", random_state=0).fit(sp.csr_array(X), y)
    assert sp.issparse(model.landmarks_)
    distances = np.abs(model.landmarks_.toarray()[:, None] - X[None]).max(axis=2).min(axis=1)
    assert_allclose(distances, 0.0, atol=1e-3 * X.max())  # each is a training row


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_partial_dependence(model):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y == 2)
    found = partial_dependence(model, X, [2], response_method="decision_function", kind="average", grid_resolution=5)
    changed = X.copy()
    for value, average in zip(found["grid_values"][0], found["average"][0], strict=True):
        changed[:, 2] = value
        assert average == pytest.approx(model.decision_function(changed).mean(), rel=1e-5, abs=1e-6)
