"""Codes, files and summaries of any data."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import kernline
from kernline.encoding.summaries import ColumnSummary
from kernline.label_summaries import ClassSummary, NumberSummary
from kernline.table_input import TableRules
from kernline.table_summary import TableSummary

from .any_data import checked, fitted, tables


@settings(checked, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=tables(), scale=st.sampled_from(["max", "minmax", "rank"]))
def test_save_load_save(tmp_path, data, scale):
    X, y = data
    first, second = tmp_path / "first.kern", tmp_path / "second.kern"
    kernline.save(fitted(X, y, scale=scale), first)
    kernline.save(kernline.load(first), second)
    assert first.read_bytes() == second.read_bytes()


@checked
@given(data=tables(), us=st.lists(st.floats(0.0, 1.0, width=32), min_size=2, max_size=20))
def test_codes_are_the_nearest_values(data, us):
    """What a code stands for is the nearest value of the grid, and codes keep the order of values."""
    encoder = fitted(*data).shapes_.encoder
    u, grid = np.sort(np.array(us)), np.asarray(encoder.grid.values, dtype=np.float64)
    codes = encoder.quantised(u)
    decoded = grid[codes]
    assert (np.diff(codes) >= 0).all()
    assert (np.abs(decoded - u) <= np.abs(grid[:, None] - u).min(axis=0) + 1e-6).all()


def orders(n):
    return st.permutations(range(n))


@checked
@given(data=tables(least_rows=8), order=orders(4))
def test_summaries_of_columns_in_any_order(data, order):
    X, _ = data
    parts = np.array_split(X, 4)
    whole, merged = ColumnSummary(X.shape[1], sparse=False), ColumnSummary(X.shape[1], sparse=False)
    whole.update(X)
    for k in order:
        part = ColumnSummary(X.shape[1], sparse=False)
        part.update(parts[k])
        merged.merge(part)
    for name in ("minimum", "maximum", "n_nonzero"):
        assert_array_equal(getattr(merged, name), getattr(whole, name))
    found, expected = (one.edges(one.column_range, 16) for one in (merged, whole))
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other)


@checked
@given(order=orders(5), seed=st.integers(0, 1000))
def test_summaries_of_tables_in_any_order(order, seed):
    """Levels are listed by their name, so that who came first does not matter."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.choice(["a", "b", "c"], 50), rng.integers(0, 5, 50).astype(str)]).astype(object)
    parts, described = np.array_split(X, 5), []
    for ways in (range(5), order):
        total = TableSummary(TableRules("auto", "own"))
        for number, k in enumerate(ways):
            part = TableSummary(TableRules("auto", "own"), stream=number)
            part.update(parts[k])
            total.merge(part)
        terms, _ = total.terms()
        described.append((terms, [total._names(j) for j in total._categories()], total.n_rows))
    assert described[0] == described[1]


@checked
@given(order=orders(4), seed=st.integers(0, 1000))
def test_summaries_of_labels_in_any_order(order, seed):
    rng = np.random.default_rng(seed)
    y, weight = rng.normal(size=40), rng.uniform(0.5, 2.0, 40)
    labels = rng.choice(["x", "y", "z"], 40)
    numbers, classes = NumberSummary(), ClassSummary()
    for k in order:
        here = slice(10 * k, 10 * k + 10)
        one, other = NumberSummary(), ClassSummary()
        one.update(y[here], weight[here])
        other.update(labels[here], weight[here])
        numbers.merge(one)
        classes.merge(other)
    mean = np.average(y, weights=weight)
    assert_allclose(numbers.spread, np.sqrt(np.average((y - mean) ** 2, weights=weight)), rtol=1e-12)
    assert_array_equal(classes.classes, np.unique(labels))
    assert_array_equal(classes.counts, [np.sum(labels == name) for name in np.unique(labels)])
    assert_allclose(classes.weights, [weight[labels == name].sum() for name in np.unique(labels)], rtol=1e-12)
