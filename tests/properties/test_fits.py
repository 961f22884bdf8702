"""Fits to data that differ in what must not matter."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kernline import Dataset

from .any_data import LOSSES, assert_same_solution, checked, fitted, tables

by_loss = pytest.mark.parametrize("loss", LOSSES)


@by_loss
@checked
@given(data=tables(), seed=st.integers(0, 1000))
def test_order_of_rows_and_columns(loss, data, seed):
    (X, y), rng = data, np.random.default_rng(seed)
    rows, columns = rng.permutation(X.shape[0]), rng.permutation(X.shape[1])
    one, other = fitted(X, y, loss=loss), fitted(X[rows][:, columns], y[rows], loss=loss)
    assert_same_solution(one, other, X, X[:, columns])


@by_loss
@checked
@given(data=tables(), seed=st.integers(0, 1000))
def test_a_row_twice_is_a_row_of_twice_the_weight(loss, data, seed):
    (X, y), rng = data, np.random.default_rng(seed)
    times = rng.integers(1, 4, X.shape[0])
    one = fitted(X, y, times.astype(np.float64), loss=loss)
    other = fitted(np.repeat(X, times, axis=0), np.repeat(y, times), loss=loss)
    assert_same_solution(one, other, X)


@checked
@given(data=tables(), place=st.integers(0, 3))
def test_a_column_of_zeros(data, place):
    X, y = data
    wide = np.insert(X, min(place, X.shape[1]), 0.0, axis=1)
    assert_same_solution(fitted(X, y), fitted(wide, y), X, wide)


@checked
@given(data=tables(), value=st.integers(1, 15))
def test_a_constant_column_is_an_intercept(data, value):
    """Its kernel is constant, k(u, u) = u, as that of a penalised intercept of this square."""
    X, y = data
    wide = np.column_stack([X, np.full(X.shape[0], float(value))])
    twice = np.column_stack([X, np.full((X.shape[0], 2), value / 2.0)])
    assert_same_solution(fitted(wide, y), fitted(twice, y), wide, twice)


@checked
@given(data=tables(), power=st.integers(-8, 8), scale=st.sampled_from(["minmax", "rank"]))
def test_the_unit_of_a_column(data, power, scale):
    """Powers of two are exact, so the codes are the same, and so is every digit."""
    X, y = data
    other_unit = X * np.where(np.arange(X.shape[1]) == 0, 2.0**power, 1.0)
    one, other = fitted(X, y, scale=scale), fitted(other_unit, y, scale=scale)
    assert_array_equal(one.decision_function(X), other.decision_function(other_unit))


@checked
@given(data=tables(), kind=st.sampled_from([np.float32, np.float16, np.uint8, np.int16, np.int64, np.uint32]))
def test_types_of_numbers(data, kind):
    X, y = data
    one, other = fitted(X, y), fitted(X.astype(kind), y)
    assert_array_equal(one.decision_function(X), other.decision_function(X.astype(kind)))
    assert_array_equal(one.decision_function(X), one.decision_function(np.asfortranarray(X.astype(kind))))


@checked
@given(data=tables())
def test_dense_and_sparse(data):
    X, y = data
    assert_same_solution(fitted(X, y), fitted(sp.csr_array(X), y), X, sp.csr_array(X))


@checked
@given(data=tables(), cut=st.floats(0.1, 0.9))
def test_parts_of_the_data(data, cut):
    """Rows in two batches, encoded and then trained on, are the same problem as all rows at once."""
    X, y = data
    place = max(1, int(cut * X.shape[0]))
    batches = [(X[:place], y[:place]), (X[place:], y[place:])]
    together = fitted(Dataset(batches, kernel="chi2", scale="max", batches=True), None)
    assert_same_solution(fitted(X, y), together, X)
