"""Contributions add up to the score, for every approximation, layout and kind of function."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_digits

from kernline import AdditiveSVC, AdditiveSVR

from .models import APPROXIMATIONS, fitted, mixed, scores


def assert_adds_up(found, expected):
    assert_allclose(found.decision(), expected, rtol=0.0, atol=1e-6 * max(1.0, np.abs(expected).max()))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


@pytest.mark.parametrize("name", APPROXIMATIONS)
@pytest.mark.parametrize("classes", [10, 6, 3, 2], ids=lambda n: f"{n} classes")
def test_they_add_up(name, classes, digits):
    X, y = digits
    model = fitted(name, X, y % classes)
    expected = scores(model, X)
    dense, sparse = model.shapes_.explain(X), model.shapes_.explain(sp.csr_array(X))
    assert dense.values.shape == (300, 64, expected.shape[1])
    assert len(sparse.values) == expected.shape[1]
    assert sparse.values[0].shape == (300, 64)
    for found in (dense, sparse, model.shapes_.centred().explain(X), model.shapes_.centred().explain(sp.csr_array(X))):
        assert_adds_up(found, expected)
    for p, part in enumerate(sparse.values):
        assert_allclose(part.toarray(), dense.values[:, :, p], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_each_is_the_value_of_its_curve(name, digits):
    X, y = digits
    model = fitted(name, X, y)
    found = model.shapes_.explain(X)
    for j in (0, 20, 43):
        assert_allclose(found.values[:, j], model.shapes_.evaluate(j, X[:, j]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_of_categories_and_gaps(name):
    X, y = mixed()
    model = fitted(name, X, y, scale="minmax")
    found = model.shapes_.explain(X)
    assert_allclose(found.decision(), scores(model, X), atol=1e-5)
    for k, column in enumerate(X.columns):
        assert_allclose(found.values[:, k], model.shapes_.evaluate(column, X[column]), rtol=1e-4, atol=1e-5)


def test_of_pairs():
    X, y = mixed()
    model = AdditiveSVC(interactions=2).fit(X, y)
    shapes = model.shapes_
    found = shapes.explain(X)
    assert found.names[4:] == [shapes.name_of(4), shapes.name_of(5)]
    assert_adds_up(found, scores(model, X))
    assert_adds_up(shapes.centred().explain(X), scores(model, X))
    pair = [X.columns[j] for j in shapes.functions[4]]
    assert_allclose(found.values[:, 4], shapes.evaluate(4, X[pair].to_numpy(dtype=object)), rtol=1e-5, atol=1e-6)


def test_of_pairs_and_sparse_rows():
    X = np.random.default_rng(0).random((200, 4)) * (np.random.default_rng(1).random((200, 4)) > 0.5)
    model = AdditiveSVC(interactions=[(0, 1)]).fit(X, (X[:, 0] > 0.2) ^ (X[:, 1] > 0.2))
    found = model.shapes_.explain(sp.csr_array(X))
    assert found.values[0].shape == (200, 5)
    assert_adds_up(found, scores(model, X))


def test_of_a_regression():
    X, y = load_diabetes(return_X_y=True)
    model = AdditiveSVR().fit(X, y)
    assert_adds_up(model.shapes_.explain(X), model.predict(X)[:, None])


def test_of_several_labels_and_threads(digits):
    X, y = digits
    model = AdditiveSVC("chi2").fit(X, np.column_stack([y > 4, y % 2 == 0]))
    one, two = (model.shapes_.explain(X, n_threads=n) for n in (1, 2))
    assert_adds_up(one, model.decision_function(X))
    np.testing.assert_array_equal(one.values, two.values)


def test_rows_and_their_largest(digits):
    X, y = digits
    shapes = fitted("hats", X, y).shapes_
    for rows in (X, sp.csr_array(X)):
        found = shapes.explain(rows)
        values = found.row(5, problem=3)
        assert_allclose(values.sum() + found.intercepts[3], found.decision()[5, 3], rtol=1e-6)
        top = found.top(5, 3, problem=3)
        assert top == np.argsort(-np.abs(values), kind="stable")[:3].tolist()


def test_negative_row_numbers_count_from_the_last_row():
    X, y = mixed()
    shapes = AdditiveSVC(interactions=2).fit(X, y).shapes_
    for found in (shapes.explain(X[:7]), shapes.centred().explain(X[:7])):
        for i in range(-7, 0):
            np.testing.assert_array_equal(found.row(i), found.row(i + 7))
            assert found.top(i) == found.top(i + 7)
            assert found.top(i)
        for i in (-8, 7):
            with pytest.raises(IndexError, match=rf"no row {i}\. There are 7, 0 to 6"):
                found.row(i)
            with pytest.raises(IndexError, match=rf"no row {i}\."):
                found.top(i)


def test_checks_rows_as_predict_does():
    X, y = mixed()
    shapes = AdditiveSVC().fit(X, y).shapes_
    with pytest.raises(ValueError, match="feature names should match"):
        shapes.explain(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="expecting 64 features"):
        fitted("hats", *load_digits(return_X_y=True)).shapes_.explain(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="Negative values"):
        fitted("hats", *load_digits(return_X_y=True)).shapes_.explain(np.full((2, 64), -1.0))


def test_no_rows(digits):
    X, y = digits
    shapes = fitted("hats", X, y).shapes_
    with pytest.raises(ValueError, match="0 sample"):
        shapes.explain(X[:0])


def test_repr_is_a_summary():
    X, y = mixed()
    shapes = AdditiveSVC(interactions=2).fit(X, y).shapes_
    assert repr(shapes.explain(X)).startswith("Contributions(600 rows × 6 functions, 1 score each: age, colour, hours,")
    assert "1 score each, centred:" in repr(shapes.centred().explain(X))
