"""Summaries of batches against `Encoder.fit` on all rows at once."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernline import kernels, training
from kernline.encoding import summaries
from kernline.encoding.columns import read_training
from kernline.encoding.summaries import ColumnSummary
from kernline.label_summaries import ClassSummary, NumberSummary
from kernline.table_input import TableRules, table_terms
from kernline.table_summary import TableSummary


def table(n_rows=700, seed=0):
    """Numbers of several kinds, with gaps, and text."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "skewed": random.exponential(5.0, n_rows),
            "signed": random.normal(size=n_rows),
            "few": random.integers(0, 7, n_rows),
            "flag": random.integers(0, 2, n_rows),
            "colour": random.choice(["red", "blue", "green", "violet"], n_rows, p=[0.6, 0.3, 0.09, 0.01]),
        }
    )
    frame["kind"] = pd.Categorical(random.choice(["b", "a", "c"], n_rows), categories=["c", "b", "a"])
    frame.loc[random.random(n_rows) < 0.1, "skewed"] = np.nan
    frame.loc[: n_rows // 2, "few"] = np.nan  # all missing in the first batches
    frame.loc[random.random(n_rows) < 0.1, "colour"] = None
    return frame


def whole(X, settings, rules, weight=None):
    """The encoder that a fit makes of all rows."""
    read = read_training(X, rules.categorical)
    matrix = read.matrix if sp.issparse(read.matrix) else np.asarray(read.matrix)
    names = getattr(X, "columns", None)
    terms, columns = table_terms(
        matrix, read.columns, read.declared, rules, None if names is None else np.array(names, dtype=object), str
    )
    settings = training.replace(settings, terms=terms, columns=columns)
    return training.encode(matrix, settings, weight).encoder


def in_batches(X, settings, rules, cuts, weight=None, streams=False):
    """The encoder of batches, added to one summary or merged from one for each."""
    total = TableSummary(rules)
    for number, (begin, end) in enumerate(itertools.pairwise(cuts)):
        batch = X.iloc[begin:end] if hasattr(X, "iloc") else X[begin:end]
        w = None if weight is None else weight[begin:end]
        if streams:
            part = TableSummary(rules, stream=number)
            part.update(batch, w)
            total.merge(part)
        else:
            total.update(batch, w)
    terms, columns = total.terms()
    return training.encoder_of(total, training.replace(settings, terms=terms, columns=columns))


SETTINGS = [
    training.AdditiveSettings(kernels.Intersection(), scale="rank"),
    training.AdditiveSettings(kernels.Chi2(), scale="minmax"),
    training.AdditiveSettings(kernels.Linear(), scale="max"),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings.scale)
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_give_the_encoder_of_all_rows(settings, streams, weighted):
    X = table()
    weight = np.random.default_rng(1).integers(1, 5, len(X)).astype(float) if weighted else None
    expected = whole(X, settings, TableRules(), weight)
    for cuts in ([0, 700], [0, 1, 300, 300, 640, 700]):
        found = in_batches(X, settings, TableRules(), cuts, weight, streams)
        assert found.equals(expected)
        np.testing.assert_array_equal(found.scales, expected.scales)
        assert found.packed == expected.packed


def test_sparse_batches():
    X = sp.random_array((500, 40), density=0.1, format="csr", random_state=0)
    for settings in (SETTINGS[0], training.AdditiveSettings(kernels.Chi2())):
        expected = whole(X, settings, TableRules())
        assert in_batches(X, settings, TableRules(), [0, 100, 101, 500], streams=True).equals(expected)


def test_large_columns_are_within_the_stated_error(monkeypatch):
    """The ranks of a sample, and those of counted columns, which are exact."""
    monkeypatch.setattr(summaries, "_LEAST_ROWS", 0)
    random = np.random.default_rng(0)
    X = np.column_stack([random.exponential(size=60_000), random.integers(1, 301, 60_000)])
    total = ColumnSummary(2, sparse=False)
    total.sample.most_rows = 3000
    for number in range(6):
        part = ColumnSummary(2, sparse=False, stream=number)
        part.sample.most_rows = 3000
        part.update(X[number * 10_000 : (number + 1) * 10_000])
        total.merge(part)
    start, edges, levels = total.edges(total.column_range, 16)
    assert total.sample.n_rows == 3000
    assert set(total.counts) == {1}
    for j, error in ((0, total.rank_error()), (1, 0.0)):
        here = slice(start[j] + 1, start[j + 1] - 1)  # the last is the maximum
        share = np.searchsorted(np.sort(X[:, j]), edges[here], side="right") / len(X)
        low, high = levels[here] - error, levels[here] + error + (X[:, j] == edges[here][:, None]).mean(axis=1)
        assert (share >= low - 1e-9).all()
        assert (share <= high + 1e-9).all()


def test_merges_are_associative():
    X = table(900)
    parts = []
    for number in range(3):
        part = TableSummary(stream=number)
        part.update(X.iloc[300 * number : 300 * (number + 1)])
        parts.append(part)
    left, right, last = copy.deepcopy(parts[0]), copy.deepcopy(parts[1]), parts[2]
    left.merge(parts[1])
    left.merge(last)
    right.merge(last)
    first = copy.deepcopy(parts[0])
    first.merge(right)
    settings = SETTINGS[0]
    encoders = []
    for total in (left, first):
        terms, columns = total.terms()
        encoders.append(training.encoder_of(total, training.replace(settings, terms=terms, columns=columns)))
    assert encoders[0].equals(encoders[1])


def test_batches_that_differ():
    X = table(100)
    for other, message in (
        (X.rename(columns={"few": "many"}), "has the columns .*many.*and the first one: .*few"),
        (X.drop(columns="few"), "has the columns"),
        (X.assign(signed="text"), "'signed' holds numbers in one batch and text, such as 'text'"),
        (X.assign(colour=1.0), "'colour' holds numbers in one batch and text"),
        (X.assign(kind=pd.Categorical(X["kind"], categories=["a", "b", "c"])), "'kind' has the categories"),
        (X.assign(signed=np.inf), "infinity.* in column 'signed'"),
    ):
        summary = TableSummary()
        summary.update(X)
        with pytest.raises(ValueError, match=message):
            summary.update(other)
        if "infinity" not in message:
            one, two = TableSummary(), TableSummary(stream=1)
            one.update(X)
            two.update(other)
            with pytest.raises(ValueError, match=message):
                one.merge(two)
    numbers = TableSummary()
    numbers.update(np.ones((3, 2)))
    with pytest.raises(ValueError, match="3 columns, and the first one 2"):
        numbers.update(np.ones((3, 3)))
    with pytest.raises(ValueError, match="same columns"):
        numbers.update(sp.csr_array(np.ones((3, 2))))
    with pytest.raises(ValueError, match="every batch is empty"):
        TableSummary().terms()
    with_gap = TableSummary(TableRules(missing="error"))
    with_gap.update(np.array([[1.0, np.nan]]))
    with pytest.raises(ValueError, match="NaN in column 1"):
        with_gap.terms()


def test_labels():
    y = np.random.default_rng(0).choice(["spam", "ham", "eggs"], 50)
    total = ClassSummary()
    for begin, end in ((0, 10), (10, 10), (10, 40), (40, 50)):
        part = ClassSummary()
        part.update(y[begin:end])
        total.merge(part)
    classes, counts = np.unique(y, return_counts=True)
    assert total.classes.tolist() == classes.tolist()
    assert total.counts.tolist() == counts.tolist()
    numbers = ClassSummary()
    numbers.update(np.array([1, 2]))
    with pytest.raises(ValueError, match="text and numbers"):
        total.merge(numbers)


def test_numbers():
    random = np.random.default_rng(0)
    y, weight = random.normal(1e6, 1.0, (60, 2)), random.random(60)
    total = NumberSummary()
    for begin, end in ((0, 1), (1, 20), (20, 20), (20, 60)):
        part = NumberSummary()
        part.update(y[begin:end], weight[begin:end])
        total.merge(part)
    mean = np.average(y, axis=0, weights=weight)
    np.testing.assert_allclose(total.mean, mean, rtol=1e-14)
    spread = np.sqrt(np.average(np.square(y - mean), axis=0, weights=weight))
    np.testing.assert_allclose(total.spread, spread, rtol=1e-9)


@pytest.mark.parametrize("order", [1, -1])
def test_a_column_is_a_category_in_all_parts_or_in_none(order):
    values = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    parts = []
    for frame in (values.astype("category"), values + 3.0)[::order]:
        parts.append(TableSummary())
        parts[-1].update(frame)
    with pytest.raises(ValueError, match="'a' is a category in one batch, by its type, and a number in another"):
        parts[0].merge(parts[1])
    gaps = TableSummary()
    gaps.update(values * np.nan)  # may be of any type
    known = parts[0] if order == 1 else parts[1]
    known.merge(gaps)
    assert known.levels[0].tolist() == [1.0, 2.0, 3.0]
