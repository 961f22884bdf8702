"""Columns of tables of any library, against pandas."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from kernline.encoding import LevelTable
from kernline.encoding.frames import Coded, as_table, column_at, number_of, text_of

from .tables import Frame, people


def read(column, **options):
    return column_at(pd.DataFrame({"a": column}), 0, "'a'", **options)


def texts(column):
    codes, names = column.values
    return [None if code < 0 else names[code] for code in codes]


@pytest.mark.parametrize("library", [lambda frame: frame, Frame, pa.Table.from_pandas], ids=["pandas", "any", "arrow"])
def test_every_library_gives_the_same_columns(library):
    frame, _ = people(50)
    for j, name in enumerate(frame):
        column, expected = column_at(library(frame), j, name), frame[name]
        if isinstance(column.values, Coded):
            assert texts(column) == [None if value is None or value != value else value for value in expected]
        else:
            assert_array_equal(column.values, expected.astype(np.float64))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, ""], ids=["None", "NaN", "NA", "NaT", "empty"])
def test_what_is_missing(missing):
    for table in (pd.DataFrame({"a": np.array(["x", missing], dtype=object)}), np.array([["x"], [missing]], object)):
        assert texts(column_at(table, 0, "a")) == ["x", None]
    assert np.isnan(read(np.array([1.0, missing], dtype=object)).values[1])


def test_texts_named_like_missing_values_are_levels():
    names = ["NA", "nan", "None", "?", "null", "NaN"]
    assert texts(read(names)) == names


def test_a_column_of_gaps_is_text_without_levels():
    for column in ([None, None], np.array([None, None]), pd.Categorical([None, None])):
        assert read(column).values.texts == []
        assert texts(read(column)) == [None, None]


def test_order_of_levels():
    assert read(["b", "a", "b"]).values.texts == ["a", "b"]
    ordered = pd.Categorical(["b", "a", "b"], categories=["c", "b", "a"], ordered=True)
    assert read(ordered).values.texts == ["b", "a"]  # and not the one that no row has


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2.5, True], [1.0, 2.5, 1.0]),
        ([Decimal("1.5"), None], [1.5, np.nan]),
        ([True, None, False], [1.0, np.nan, 0.0]),
        (pd.array([1, None], dtype="Int64"), [1.0, np.nan]),
        (pd.array([True, None], dtype="boolean"), [1.0, np.nan]),
        (pd.Categorical([3, 1, None]), [3.0, 1.0, np.nan]),
    ],
)
def test_numbers_that_are_objects(values, expected):
    assert_array_equal(read(values).values, expected)


def test_numbers_and_text_in_one_column_are_text():
    assert texts(read(np.array([1, "a", 1.0, 2.5, np.int64(1), "1"], dtype=object))) == ["1", "a", "1", "2.5", "1", "1"]


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (pd.to_datetime(["2020-01-01"]), "'a' holds dates or times .2020-01-01.*Convert it to numbers"),
        ([datetime.date(2020, 1, 1)], "'a' holds dates or times"),
        (pd.to_timedelta([1], unit="h"), "'a' holds dates or times"),
        ([[1, 2]], "'a' holds a list: the argument must be a string or a number"),
        ([{"b": 1}], "'a' holds a dict"),
        ([1j], "'a' holds a complex"),
    ],
)
def test_what_is_neither_number_nor_text(values, error):
    with pytest.raises(TypeError, match=error):
        read(values)


class TestArrays:
    def test_numbers_need_no_reading(self):
        for X in (np.eye(2), np.eye(2, dtype=bool), [[1.0, 2.0]], pd.DataFrame({"a": [1], "b": [True]}), [1.0], 3):
            assert as_table(X) is None

    def test_a_column_is_numbers_if_all_its_texts_are(self):
        table = as_table(np.array([["1", "1"], ["2.5", "x"]]))
        assert_array_equal(column_at(table, 0, "0").values, [1.0, 2.5])
        assert texts(column_at(table, 1, "1")) == ["1", "x"]
        assert texts(column_at(table, 0, "0", parse=False)) == ["1", "2.5"]

    def test_sparse_matrices_are_numbers(self):
        for layout in ("csr", "dok", "lil", "coo"):
            assert as_table(sp.eye_array(2, format=layout)) is None

    def test_nested_lists_keep_their_numbers(self):
        table = as_table([["a", 1.0], ["b", 2]])
        assert texts(column_at(table, 0, "0")) == ["a", "b"]
        assert_array_equal(column_at(table, 1, "1").values, [1.0, 2.0])


class TestLevelTable:
    table = LevelTable(np.array([[1.5, 1.0], [2.5, np.nan], [3.5, 0.0]]), {1: ["x", "y"]}, ["a", "b"])

    def test_columns(self):
        assert self.table["b"].tolist() == ["y", None, "x"]
        assert texts(column_at(self.table, 1, "b")) == ["y", None, "x"]
        assert_array_equal(self.table["a"], [1.5, 2.5, 3.5])

    def test_rows(self):
        for rows in (slice(1, None), [1, 2], np.array([False, True, True])):
            assert self.table[rows]["b"].tolist() == self.table[rows, ...]["b"].tolist() == [None, "x"]
        assert len(self.table) == 3

    def test_another_order(self):
        swapped = self.table.select(["b", "a"])
        assert swapped.columns == ["b", "a"]
        assert swapped["b"].tolist() == self.table["b"].tolist()
        with pytest.raises(ValueError, match=r"no column 'c'\. There are: a, b"):
            self.table.select(["c"])

    def test_is_no_matrix(self):
        with pytest.raises(ValueError, match="Column 'b' holds text, which this estimator does not take"):
            np.asarray(self.table)
        assert_array_equal(np.asarray(LevelTable(np.eye(2))), np.eye(2))


@pytest.mark.parametrize(("text", "number"), [("1", 1.0), (" 2.5", 2.5), ("true", 1.0), ("x", None), ("1_0", None)])
def test_numbers_in_text(text, number):
    assert number_of(text) == number


def test_a_number_has_one_text():
    assert [text_of(number) for number in (1, 1.0, 2.5, -0.0, 1e20)] == ["1", "1", "2.5", "0", "100000000000000000000"]
