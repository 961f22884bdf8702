"""Tables with text and missing values, against the same model on indicator columns."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR, AdditiveSVRCV, BudgetedSVC, NystromSVC, load, save
from kernline.encoding import LevelTable

from ..encoding.tables import Frame, indicators, people

EXACT = {"tol": 1e-6, "max_iter": 20_000, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return AdditiveSVC(**EXACT).fit(*people())


def table_of(frame):
    """The data frame as kernline.io would read it."""
    codes = {name: frame[name].astype("category").cat for name in ("city", "grade", "zone")}
    values = [codes[name].codes.replace(-1, np.nan) if name in codes else frame[name] for name in frame]
    levels = {j: [str(x) for x in codes[name].categories] for j, name in enumerate(frame) if name in codes}
    return LevelTable(np.column_stack([np.asarray(part, dtype=np.float64) for part in values]), levels, list(frame))


@pytest.mark.parametrize("kernel", ["chi2", "linear"])
def test_scores_are_those_of_indicator_columns(kernel):
    frame, y = people()
    model = AdditiveSVC(kernel, **EXACT).fit(frame, y)
    expected = AdditiveSVC(kernel, **EXACT).fit(indicators(frame, frame), y)
    new, _ = people(100, seed=1)
    new["city"] = new["city"].replace("Rome", "Oslo")  # a level that the model does not know
    for rows in (frame, new):
        assert_allclose(model.decision_function(rows), expected.decision_function(indicators(rows, frame)), atol=0.01)
    assert_allclose(model.objective_, expected.objective_, rtol=1e-5)


@pytest.mark.parametrize("library", [Frame, pa.Table.from_pandas, lambda frame: frame.to_numpy(), table_of])
def test_other_forms_of_the_table(model, library):
    frame, y = people()
    other = clone(model).set_params(categorical="auto" if library in (pa.Table.from_pandas, table_of) else [1, 2, 4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some forms have no names
        other.fit(library(frame), y)
        assert_allclose(other.decision_function(library(frame)), model.decision_function(frame), atol=0.01)
    assert other.n_features_in_ == 5


def test_a_table_of_levels_has_names(model):
    frame, y = people()
    table = table_of(frame)
    other = clone(model).fit(table, y)
    assert_array_equal(other.feature_names_in_, list(frame))
    swapped = table.select(list(frame)[::-1])
    assert_array_equal(other.decision_function(swapped), other.decision_function(table))
    for estimator in (NystromSVC(), BudgetedSVC()):
        with pytest.raises(ValueError, match="Column 'city' holds text, which this estimator does not take"):
            estimator.fit(table, y)
    assert cross_val_score(AdditiveSVC(scale="rank"), table, y, cv=3).min() > 0.8


def test_numbers_are_not_copied():
    for X in (np.eye(4, dtype=np.float32), np.eye(4, dtype=np.int64), pd.DataFrame(np.eye(4))):
        data = AdditiveSVC()._training_data(X, [0, 1, 0, 1], None)
        assert np.shares_memory(data.X, np.asarray(X))
        assert data.terms == ()


def test_float32_stays_float32():
    frame, y = people()
    frame = frame[["city", "member"]].assign(age=frame.age.astype(np.float32))
    assert AdditiveSVC()._training_data(frame, y, None).X.dtype == np.float32
    assert AdditiveSVC()._training_data(people()[0], y, None).X.dtype == np.float64


class TestCategorical:
    def test_auto_is_by_type(self, model):
        encoder = model.shapes_.encoder
        assert [term.columns[0] for term in encoder.terms if term.kind == "category"] == [1, 2, 4]
        assert encoder.columns.names(1) == ["?", "NA", "Paris", "Rome"]
        assert encoder.columns.names(2) == ["low", "middle", "high"]
        assert encoder.columns.names(4) is None

    @pytest.mark.parametrize("categorical", [["city", "grade"], [2, 1], [False, True, True, False, False]])
    def test_a_list_names_all(self, categorical):
        frame, y = people()
        model = AdditiveSVC(categorical=categorical).fit(frame, y)
        assert [term.columns[0] for term in model.shapes_.encoder.terms if term.kind == "category"] == [1, 2]

    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
    def test_numbers_of_an_array(self, layout):
        X = np.random.default_rng(0).integers(1, 4, (200, 2)).astype(float)
        y = X[:, 0] == 2
        model = AdditiveSVC(categorical=[0], C=10.0).fit(layout(X), y)
        assert model.score(layout(X), y) == 1.0
        assert_array_equal(model.shapes_.encoder.terms[0].axes[0].points, [1.0, 2.0, 3.0])

    @pytest.mark.parametrize("categorical", [None, [], ["age"]])
    def test_other_text_is_refused(self, categorical):
        with pytest.raises(ValueError, match=r"Column 'city' holds text, such as '\?', and categorical= does not"):
            AdditiveSVC(categorical=categorical).fit(*people())

    @pytest.mark.parametrize(
        ("categorical", "message"),
        [
            (["town"], "no column 'town'. There are: age, city, grade"),
            ([5], "no column 5. There are 5, numbered from 0"),
            ([-1], "no column -1"),
            ([True, False], "a mask of 2 values, and X has 5 columns"),
            ([[1, 2]], "an array of shape"),
        ],
    )
    def test_columns_that_are_not_there(self, categorical, message):
        with pytest.raises(ValueError, match=f"categorical: .*{message}"):
            AdditiveSVC(categorical=categorical).fit(*people())

    def test_names_need_a_frame(self):
        with pytest.raises(ValueError, match="'a' is a name, and the columns of X have none"):
            AdditiveSVC(categorical=["a"]).fit(np.eye(2), [0, 1])

    def test_dates_are_refused(self):
        frame, y = people()
        frame["day"] = pd.Timestamp("2020-01-01")
        with pytest.raises(TypeError, match="Column 'day' holds dates"):
            AdditiveSVC().fit(frame, y)

    def test_an_identifier_is_asked_about(self):
        frame, y = people()
        with pytest.warns(UserWarning, match="Column 'id' has a different text in every row.*Leave it out") as found:
            AdditiveSVC().fit(frame.assign(id=[f"p{k}" for k in range(len(y))]), y)
        assert [warning.filename for warning in found] == [__file__]

    def test_numbers_of_levels_are_looked_up_in_one_dict(self, model):
        frame, _ = people()
        alone = [model.decision_function(frame[k : k + 1]) for k in range(3)]
        columns = model.shapes_.encoder.columns
        known = columns._positions
        assert_allclose(np.ravel(alone), model.decision_function(frame[:3]))
        assert columns._positions is known
        assert "_positions" not in vars(pickle.loads(pickle.dumps(columns)))

    def test_an_identifier_is_left_out(self, tmp_path):
        frame, y = people()
        named = frame.assign(id=[f"p{k}" for k in range(len(y))])
        without = AdditiveSVC().fit(frame, y)
        with pytest.warns(UserWarning, match="Column 'id' .* the model does not use it"):
            model = AdditiveSVC().fit(named, y)
        assert_allclose(model.decision_function(named), without.decision_function(frame), rtol=1e-3, atol=1e-3)
        save(model, tmp_path / "m.kern")
        again = load(tmp_path / "m.kern")
        new = named.assign(id="new")
        assert_array_equal(again.decision_function(new), model.decision_function(named))

    def test_levels_of_single_rows_do_no_harm(self):
        """The column says nothing, and all but a few texts of it are of one row."""
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.normal(size=(8000, 2)), columns=["a", "b"])
        y = (frame["a"] + rng.logistic(size=8000) > 0.0).to_numpy()
        named = frame.assign(id=[f"p{k}" for k in rng.integers(50_000, size=8000)])
        losses = [
            log_loss(y[4000:], AdditiveSVC(loss="log").fit(X[:4000], y[:4000]).predict_proba(X[4000:]))
            for X in (frame, named)
        ]
        assert losses[1] < 1.01 * losses[0]

    def test_many_levels(self):
        n = 100_000
        frame = pd.DataFrame({"id": np.arange(n) // 2}).astype(str)
        y = np.arange(n) // 2 % 2
        model = AdditiveSVC(C=100.0).fit(frame, y)
        assert model.score(frame, y) > 0.99
        assert model.shapes_.encoder.packed

    def test_more_levels_than_memory(self, monkeypatch):
        monkeypatch.setattr("kernline.memory.available_bytes", lambda: 5e6)
        frame = pd.DataFrame({"id": np.arange(100_000) // 2}).astype(str)
        with pytest.raises(ValueError, match=r"1 columns \(50,001 with one for each level\).*memory are available"):
            AdditiveSVC().fit(frame, np.arange(100_000) % 2)


class TestMissing:
    @pytest.mark.parametrize(("scale", "value"), [("rank", 3.0), ("minmax", 5.5), ("max", 0.0)])
    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, pd.DataFrame])
    def test_a_gap_that_training_had_not_is_the_middle(self, scale, value, layout):
        column = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
        X, y = np.column_stack([column, column[::-1]]), [0, 1, 0, 1, 1]
        model = AdditiveSVC(scale=scale, C=10.0).fit(X, y)
        gaps, filled = X.copy(), X.copy()
        gaps[1, 0], filled[1, 0] = np.nan, value if scale != "rank" else model.shapes_.encoder.value_of_gap(0)
        assert_allclose(model.decision_function(layout(gaps)), model.decision_function(filled), rtol=1e-12)
        assert_allclose(model.shapes_.evaluate(0, [np.nan]), model.shapes_.evaluate(0, filled[[1], 0]))
        assert_array_equal(gaps[1, 0], np.nan)  # X stays as it is
        assert abs(filled[1, 0] - value) <= 1.0  # level 0.5 lies between two values

    def test_a_category_without_gaps_adds_nothing(self, model):
        frame, _ = people(20, seed=2)
        without = frame.copy()
        without["grade"] = pd.Categorical([None] * 20, categories=frame.grade.cat.categories)
        unseen = frame.assign(grade="unseen")
        assert_array_equal(model.decision_function(without), model.decision_function(unseen))
        assert_array_equal(model.shapes_.evaluate("grade", [None, "unseen"]), 0.0)

    def test_error_refuses(self):
        frame, y = people()
        with pytest.raises(ValueError, match=r"NaN in column 'age', which has no weight.*Pass missing='own'"):
            AdditiveSVC(missing="error").fit(frame, y)
        model = AdditiveSVC(missing="error").fit(frame.dropna(), y[frame.notna().all(axis=1)])
        with pytest.raises(ValueError, match="NaN in column 'age'"):
            model.predict(frame)
        with pytest.raises(ValueError, match="NaN"):
            AdditiveSVC(missing="error").fit([[1.0], [np.nan]], [0, 1])

    @pytest.mark.parametrize("scale", ["max", "minmax", "rank"])
    def test_a_column_of_gaps(self, scale):
        frame, y = people()
        for gaps in (np.nan, None, pd.Categorical([None] * len(y))):
            empty = frame.assign(empty=gaps)
            model = AdditiveSVC(scale=scale).fit(empty, y)
            assert model.score(empty, y) > 0.8
            filled = frame.assign(empty="text" if gaps is not np.nan else 1.0)
            assert np.isfinite(model.decision_function(filled)).all()

    def test_only_gaps(self):
        model = AdditiveSVC().fit([[np.nan], [np.nan], [np.nan]], [0, 1, 1])
        assert model.predict([[np.nan], [3.0]]).tolist() == [1, 1]

    def test_sparse(self):
        rng = np.random.default_rng(0)
        X = rng.random((300, 20)) * (rng.random((300, 20)) < 0.1)
        y = (X[:, 0] > 0).astype(int)
        X[y == 1, 1], X[::9, 0] = np.nan, np.nan
        dense, sparse = (AdditiveSVC("chi2", **EXACT).fit(layout(X), y) for layout in (np.asarray, sp.csr_array))
        assert_allclose(sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-3)
        assert sparse.score(sp.csr_array(X), y) == 1.0

    def test_infinity_is_refused(self):
        frame, y = people()
        frame.loc[3, "age"] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            AdditiveSVC().fit(frame, y)


class TestChangedTypes:
    def test_numbers_as_text(self, model):
        frame, _ = people(20, seed=3)
        as_text = frame.assign(
            age=[None if age != age else str(age) for age in frame.age], member=frame.member.map(str)
        )
        assert_array_equal(model.decision_function(as_text), model.decision_function(frame))

    def test_text_as_numbers(self):
        codes = pd.DataFrame({"code": ["10", "20", "30", None] * 20})
        y = [0, 1, 0, 1] * 20
        model = AdditiveSVC(C=10.0).fit(codes, y)
        assert model.score(codes.astype(float), y) == 1.0

    def test_leading_zeros_are_kept(self):
        codes = np.array([["01"], ["1"], ["x"]] * 20, dtype=object)
        model = AdditiveSVC(C=100.0).fit(codes, [0, 1, 1] * 20)
        assert model.predict(np.array([["01"], ["1"]], dtype=object)).tolist() == [0, 1]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"age": "old"}, "Column 'age' held numbers in training, and now holds text, such as 'old'"),
            ({"zone": "north"}, "Column 'zone' held numbers in training, and now holds text, such as 'north'"),
            ({"city": 3.0}, "Column 'city' held text in training, such as '[?]', and now holds numbers, such as 3"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, model, change, message):
        with pytest.raises(ValueError, match=message):
            model.predict(people(5)[0].assign(**change))

    def test_a_category_with_other_levels(self, model):
        frame, _ = people(20, seed=3)
        other = frame.assign(grade=pd.Categorical(frame.grade.astype(str), categories=["x", "high", "middle", "low"]))
        assert_array_equal(model.decision_function(other), model.decision_function(frame))

    def test_columns_are_checked(self, model):
        frame, _ = people(5)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[list(frame)[::-1]])
        with pytest.raises(ValueError, match="expecting 5 features"), pytest.warns(UserWarning, match="feature names"):
            model.predict(frame.to_numpy()[:, :4])

    def test_their_number_is_checked_before_their_types(self, model):
        numbers, texts = np.ones((3, 64)), np.full((3, 2), "a", dtype=object)
        for rows in (numbers, texts, sp.csr_array(numbers)):
            with pytest.raises(ValueError, match="expecting 5 features"), pytest.warns(UserWarning, match="names"):
                model.predict(rows)


def test_names_of_levels_in_curves(model):
    shapes = model.shapes_
    curve = shapes.evaluate("city", ["Rome", "NA", None, "Oslo"])
    assert curve[0] > curve[1]
    assert curve[3] == 0.0
    frame, _ = people()
    total = sum(shapes.evaluate(name, frame[name]) for name in frame)
    assert_allclose(total[:, 0] + model.intercept_, model.decision_function(frame), atol=1e-5)
    assert shapes.importance(frame).shape == (5, 1)


@pytest.mark.parametrize("estimator", [AdditiveSVR(**EXACT), AdditiveSVRCV(Cs=[1.0], cv=2, **EXACT)])
def test_regression(estimator):
    frame, y = people()
    numbers = 1.0 * (y == "yes") + (frame.city == "Paris")
    model = clone(estimator).fit(frame, numbers)
    expected = clone(estimator).fit(indicators(frame, frame), numbers)
    new, _ = people(100, seed=1)
    assert_allclose(model.predict(new), expected.predict(indicators(new, frame)), atol=0.01)
    assert get_tags(model).input_tags.allow_nan


def test_search_clone_and_pickle():
    frame, y = people()
    model = AdditiveSVCCV(scale="rank", Cs=[0.1, 1.0], cv=2, categorical=["city", "grade", "zone"]).fit(frame, y)
    assert model.best_score_ > 0.8
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame))
    assert clone(model).categorical == ["city", "grade", "zone"]


def test_tags():
    assert get_tags(AdditiveSVC()).input_tags.allow_nan
    assert get_tags(AdditiveSVC()).input_tags.string
    assert not get_tags(AdditiveSVC(missing="error")).input_tags.allow_nan
    assert not get_tags(AdditiveSVC(categorical=None)).input_tags.string


def test_rows_of_weight_zero_have_no_levels():
    frame, y = people()
    weight = (frame.city != "Rome").to_numpy().astype(float)
    model = AdditiveSVC().fit(frame, y, sample_weight=weight)
    assert model.shapes_.evaluate("city", ["Rome"]) == 0.0


class TestLargeIntegers:
    """Levels from 2^53 on differ by less than float64 can hold."""

    LEVELS = (2**53 + np.arange(4)).tolist()

    def columns(self):
        number = np.arange(80) % 4
        levels = [self.LEVELS[k] for k in number]
        return number, {
            "int64": pd.Series(levels, dtype="int64"),
            "uint64": pd.Series([2**63 + k for k in number.tolist()], dtype="uint64"),
            "Int64": pd.Series(levels, dtype="Int64").where(np.arange(80) > 3),
            "object": pd.Series(levels, dtype=object),
            "category": pd.Series(pd.Categorical(levels)),
            "negative": pd.Series([-level for level in levels]),
        }

    @pytest.mark.parametrize("kind", ["int64", "uint64", "Int64", "object", "category", "negative"])
    def test_stay_distinct(self, kind):
        number, columns = self.columns()
        frame = pd.DataFrame({"id": columns[kind], "x": np.zeros(80)})
        model = AdditiveSVC(categorical="auto" if kind == "category" else ["id"]).fit(frame, number % 2)
        assert model.score(frame[8:], number[8:] % 2) == 1.0
        assert model.score(frame[8:12], number[8:12] % 2) == 1.0

    def test_of_an_array(self):
        number, columns = self.columns()
        X = columns["int64"].to_numpy()[:, None]
        model = AdditiveSVC(categorical=[0]).fit(X, number % 2)
        assert model.score(X, number % 2) == 1.0
        assert model.score(X.tolist(), number % 2) == 1.0

    def test_smaller_ones_are_numbers(self):
        X = np.c_[np.arange(20) % 3, np.arange(20)]
        model = AdditiveSVC(categorical=[0]).fit(X, np.arange(20) % 2)
        assert model.shapes_.encoder.columns.of_text == ()


class LazyFrame:
    """As that of polars, which is not among our packages."""

    columns = ("age",)

    def collect(self):
        raise AssertionError


class TestWhatIsNoTable:
    @pytest.mark.parametrize(
        ("convert", "message"),
        [
            (lambda frame: frame.iloc[0], r"X is a Series\. Pass X.to_frame\(\) if it is a column, X.to_frame\(\).T"),
            (lambda frame: frame["age"], "X is a Series"),
            (
                lambda frame: frame.iloc[0].to_dict(),
                r"X is a dict\. Pass pandas.DataFrame\(X\), or pandas.DataFrame\(\[",
            ),
            (lambda frame: frame.to_dict("records"), r"X is a list of dicts\. Pass pandas.DataFrame\(X\)"),
            (lambda frame: frame.to_records(index=False), "X is a structured array"),
            (lambda frame: frame.iloc[0].tolist(), "Expected 2D array, got 1D array"),
            (lambda frame: 3, "Expected 2D array"),
            (lambda frame: np.ma.masked_less(np.eye(300, 5), 1.0), r"X is a masked array.* Pass X.filled\(np.nan\)"),
            (lambda frame: LazyFrame(), r"X is a LazyFrame\. Pass X.collect\(\)"),
        ],
        ids=["row", "column", "dict", "records", "structured", "list", "scalar", "masked", "lazy"],
    )
    def test_is_refused(self, model, convert, message):
        frame, y = people()
        with pytest.raises(ValueError, match=message):
            model.predict(convert(frame))
        with pytest.raises(ValueError, match="Expected 2D"):
            AdditiveSVC().fit(convert(frame), y)

    def test_the_advice_works(self, model):
        frame, _ = people()
        expected = model.decision_function(frame[:3])
        assert_allclose(model.decision_function(frame.iloc[0].to_frame().T), expected[:1])
        assert_allclose(model.decision_function(pd.DataFrame([frame.iloc[1].to_dict()])), expected[1:2])
        assert_allclose(model.decision_function(pd.DataFrame(frame[:3].to_dict("records"))), expected)

    @pytest.mark.parametrize("estimator", [AdditiveSVC(), AdditiveSVR(), NystromSVC(), BudgetedSVC()])
    def test_dates(self, estimator):
        days = np.arange("2020-01-01", "2020-01-05", dtype="datetime64[D]")[:, None]
        for X in (days, days - days[0]):
            with pytest.raises(TypeError, match=r"Array X holds dates or times.*days since a first date"):
                clone(estimator).fit(X, [0, 1, 0, 1])
        with pytest.raises(TypeError, match="Column 'day' holds dates or times"):
            clone(estimator).fit(pd.DataFrame({"x": np.arange(4), "day": days[:, 0]}), [0, 1, 0, 1])
        with pytest.raises(TypeError, match=r"Column 'day' holds dates or times \(2020-01-01\)"):
            AdditiveSVC().fit(pd.DataFrame({"day": pd.period_range("2020-01-01", periods=4)}), [0, 1, 0, 1])
        fitted = clone(estimator).fit(np.arange(4.0)[:, None], [0, 1, 0, 1])
        with pytest.raises(TypeError, match="Array X holds dates or times"):
            fitted.predict(days)


DAY = np.datetime64("2020-01-01")


class TestNumbersAsText:
    def frame(self, write):
        values = np.random.default_rng(0).normal(size=200)
        return pd.DataFrame({"size": [write(value) for value in values]}), values > 0.0

    @pytest.mark.parametrize(
        ("write", "message"),
        [
            (lambda value: f"{value:.4f}", "'size' holds numbers as text, such as .* in 199 different texts"),
            (lambda value: f"{value:.4f}".replace(".", ","), "'size' holds numbers with decimal commas, such as"),
            (lambda value: f"{value:.4f}" if value < 2.0 else "oops", "'size' is text because of 'oops'"),
            (lambda value: str(DAY + int(300 * value)), "'size' holds dates as text, such as '201.-..-..'"),
            (lambda value: (DAY + int(300 * value)).item().strftime("%d.%m.%Y"), "'size' holds dates as text"),
            (lambda value: f"{DAY + int(300 * value)}T12:30:00Z", "'size' holds dates as text"),
        ],
    )
    def test_are_asked_about(self, write, message):
        frame, y = self.frame(write)
        with pytest.warns(UserWarning, match=message) as found:
            AdditiveSVC().fit(frame, y)
        assert len(found) == 1

    def test_an_index_is_asked_about(self):
        frame, y = pd.DataFrame({"Unnamed: 0": np.random.default_rng(0).permutation(60)}), [0, 1] * 30
        with pytest.warns(UserWarning, match="Column 'Unnamed: 0' has no name .* the index of a data frame"):
            AdditiveSVC().fit(frame, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            AdditiveSVC().fit(frame % 50, y)
            AdditiveSVC().fit(frame.set_axis(["day"], axis=1), y)

    def test_codes_are_not(self):
        frame, y = self.frame(lambda value: f"0{int(1000 * abs(value)) % 70:02}")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            AdditiveSVC().fit(frame, y)


def test_intervals_are_levels():
    values = np.random.default_rng(0).normal(size=200)
    frame = pd.DataFrame(
        {"bin": pd.cut(values, [-9, -1, 0, 1, 9]), "other": pd.Series(pd.cut(values, 3)).astype(object)}
    )
    model = AdditiveSVC().fit(frame, values > 0.0)
    assert model.score(frame, values > 0.0) == 1.0
    assert model.shapes_.encoder.columns.names(0) == ["(-9, -1]", "(-1, 0]", "(0, 1]", "(1, 9]"]


def test_batches_of_a_frame_give_no_warning():
    frame, y = people()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AdditiveSVC(loss="log").partial_fit(frame, y, classes=np.unique(y)).partial_fit(frame[:50], y[:50])
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame.rename(columns={"age": "years"}), y)


@pytest.mark.parametrize("estimator", [AdditiveSVC(), AdditiveSVC("chi2"), NystromSVC(), BudgetedSVC()])
def test_a_class_of_weight_zero_is_refused(estimator):
    X, y = np.random.default_rng(0).random((90, 3)), np.arange(90) % 3
    with pytest.raises(ValueError, match="every sample of class 2 has weight zero"):
        clone(estimator).fit(X, y, sample_weight=(y < 2).astype(float))


@pytest.mark.parametrize("estimator", [NystromSVC(), BudgetedSVC()])
def test_estimators_of_numbers_name_the_column_of_text(estimator):
    frame = pd.DataFrame({"a": ["1", "2"] * 10, "b": ["1", "x"] * 10})
    for X, name in ((frame, "'b'"), (frame.to_numpy(dtype=object), "1")):
        with pytest.raises(ValueError, match=f"Column {name} holds text, which this estimator does not take"):
            estimator.fit(X, [0, 1] * 10)
    estimator.fit(frame[["a"]], [0, 1] * 10)  # numbers written as text


@pytest.mark.parametrize("estimator", [AdditiveSVC(), NystromSVC()])
@pytest.mark.parametrize("value", [1.0, "x"])
def test_two_columns_of_one_name(estimator, value):
    frame = pd.DataFrame([[1.0, 2.0, value]] * 20, columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="X has 2 columns called 'a'"):
        estimator.fit(frame, [0, 1] * 10)
