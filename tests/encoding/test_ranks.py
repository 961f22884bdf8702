"""scale="rank" against its definition, written out for one column at a time."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernline.encoding import ColumnRange, ranks

N_ROWS = 90


def points(values, weight, width, maximum):
    """Edges and levels of one column of all values, zeros included."""
    base, steps = min(0.0, values.min()), width - 1
    above = np.sort(np.unique(values[values > base]))
    if above.size <= steps:
        edges, levels = above, np.ceil(np.arange(1, above.size + 1) * steps / max(1, above.size)) / steps
    else:
        total = np.array([weight[(values > base) & (values <= edge)].sum() for edge in above])
        quantile = [int(np.argmax(total / total[-1] >= k / steps - 1e-12)) for k in range(1, steps + 1)]
        highest = {at: k / steps for k, at in enumerate(quantile, start=1)}
        edges, levels = above[list(highest)], np.array(list(highest.values()))
    if maximum > max([base, *edges[-1:]]):
        edges, levels = np.append(edges, maximum), np.append(levels, 1.0)
    return np.append(base, edges), np.append(0.0, levels)


def columns():
    """Empty, rare, of few values, of many, with negative ones, constant."""
    rng = np.random.default_rng(0)
    rare = np.zeros(N_ROWS)
    rare[5] = 3.0
    kept = rng.random((N_ROWS, 3)) < 0.4
    return np.column_stack(
        [
            np.zeros(N_ROWS),
            rare,
            rng.integers(0, 4, N_ROWS),
            rng.gamma(0.5, 1.0, (N_ROWS, 3)) * kept,
            np.full(N_ROWS, 2.0),
            np.round(3.0 * rng.gamma(1.0, 2.0, (N_ROWS, 2))),
            rng.integers(0, 40, (N_ROWS, 2)) ** 2,
            rare,
        ]
    ).astype(np.float64)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [3, 16, 256])
@pytest.mark.parametrize("kind", ["dense", "negative", "csr", "float32", "uint16"])
@pytest.mark.parametrize(("block", "long"), [(1_000_000, 500), (200, 10), (1, 0)])
def test_points_of_columns(monkeypatch, block, long, kind, width, weighted, n_threads):
    """Whatever the blocks: columns together, some at a time, one by one; sorted together and one by one."""
    monkeypatch.setattr(ranks, "_BLOCK_VALUES", block)
    monkeypatch.setattr(ranks, "_LONG_COLUMN", long)
    dense = columns() - (2.5 if kind == "negative" else 0.0)
    X = {"csr": sp.csr_array, "float32": np.float32, "uint16": np.uint16}.get(kind, np.asarray)(dense)
    dense = X.toarray() if sp.issparse(X) else X.astype(np.float64)
    weight = np.random.default_rng(1).integers(1, 5, N_ROWS) / 4.0  # sums are exact in any order
    start, edges, levels = ranks.rank_edges(X, ColumnRange.of(X), width, weight if weighted else None, 0, n_threads)
    assert start.size == X.shape[1] + 1
    for j in range(X.shape[1]):
        expected = points(dense[:, j], weight if weighted else np.ones(N_ROWS), width, dense[:, j].max())
        here = slice(start[j], start[j + 1])
        np.testing.assert_array_equal(edges[here], expected[0])
        np.testing.assert_array_equal(levels[here], expected[1])


def test_the_largest_value_counts_though_the_sample_lacks_it(monkeypatch):
    monkeypatch.setattr(ranks, "RANK_ROWS", 20)
    X = columns()
    rows = np.sort(np.random.default_rng(3).choice(N_ROWS, 20, replace=False))
    start, edges, levels = ranks.rank_edges(X, ColumnRange.of(X), 16, None, 3)
    for j in range(X.shape[1]):
        expected = points(X[rows, j], np.ones(20), 16, X[:, j].max())
        here = slice(start[j], start[j + 1])
        np.testing.assert_array_equal(edges[here], expected[0])
        np.testing.assert_array_equal(levels[here], expected[1])


@pytest.mark.parametrize("sparse", [True, False])
def test_columns_are_computed_together(monkeypatch, sparse):
    """Work in Python must not grow with the number of columns."""
    calls = []
    compute = ranks._points
    monkeypatch.setattr(ranks, "_points", lambda *arguments: calls.append(1) or compute(*arguments))
    X = sp.random_array((50, 40_000), density=0.01, rng=np.random.default_rng(0), format="csr")
    X = X if sparse else X.toarray()
    start, _, _ = ranks.rank_edges(X, ColumnRange.of(X), 16, None, 0)
    assert start.size == 40_001
    assert len(calls) <= 2
