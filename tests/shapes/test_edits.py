"""Edited models predict, save and export what was changed, and keep a history of it."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

import kernline
from kernline import AdditiveSVC, AdditiveSVR, export
from kernline.shapes.comparison import compare
from kernline.shapes.edits import smoothed, with_points

from .models import APPROXIMATIONS, fitted, mixed, scores

WITH_CODES = [name for name in APPROXIMATIONS if name not in ("pmsvm", "linear")]


@pytest.fixture(scope="module")
def table():
    return mixed()


@pytest.fixture(scope="module")
def model(table):
    return AdditiveSVC(interactions=2).fit(*table)


def contributions(shapes, X, k):
    return shapes.explain(X).values[:, k].astype(np.float64)


def assert_only_changes(model, shapes, X, k):
    """Scores change by what function k and the intercept do."""
    before, after = model.shapes_, shapes.uncentred()
    moved = contributions(after, X, k) - contributions(before, X, k) + after.intercepts - before.intercepts
    change = scores(model.with_shapes(shapes), X) - scores(model, X)
    assert_allclose(change, moved, atol=1e-5 * max(1.0, np.abs(scores(model, X)).max()))


@pytest.mark.parametrize("name", WITH_CODES)
@pytest.mark.parametrize(
    "change",
    [
        {"smooth": 0.3},
        {"clip": (-0.05, 0.05)},
        {"monotone": "decreasing"},
        {"replace": ([20.0, 60.0], [1.0, 2.0])},
        {"replace": lambda x: np.sin(x)},
        {"replace": 0.5},
    ],
    ids=["smooth", "clip", "monotone", "points", "function", "constant"],
)
def test_curves_of_numbers(name, change, table):
    X, y = table
    model = fitted(name, X, y, scale="minmax")
    for shapes in (model.shapes_, model.shapes_.centred()):
        edited = shapes.edit("age", **change)
        assert_only_changes(model, edited, X, 0)
        curve = edited.curve("age").effect
        if "clip" in change and shapes.offsets is not None:
            assert curve.min() >= -0.05 - 1e-6
            assert curve.max() <= 0.05 + 1e-6
            assert np.abs(contributions(edited, X, 0)).max() <= 0.05 + 1e-6  # gaps too
        if "monotone" in change:
            assert (np.diff(curve, axis=0) <= 1e-7).all()
        if change.get("replace") == 0.5:
            assert np.ptp(contributions(edited, X, 0)) == pytest.approx(0.0, abs=1e-6)


def test_replaced_curves_are_as_given(table):
    X, y = table
    model = fitted("hats", X, y, scale="minmax")
    edited = model.shapes_.centred().edit("age", replace=([0.0, 100.0], [0.0, 10.0]))
    known = X.age.notna().to_numpy()
    assert_allclose(contributions(edited, X, 0)[known, 0], 0.1 * X.age[known], atol=0.03)


def test_a_class_alone():
    X, y = load_digits(return_X_y=True)
    model = fitted("hats", X[:300], y[:300])
    edited = model.shapes_.edit(20, replace=0.0, problem=3)
    change = scores(model.with_shapes(edited), X) - scores(model, X)
    assert np.flatnonzero(np.abs(change).max(axis=0) > 1e-5).tolist() == [3]
    assert edited.edits == ("20 of 3: replaced by 0",)
    with pytest.raises(IndexError, match=r"no problem 10\. There are 10, 0 to 9"):
        model.shapes_.edit(20, replace=0.0, problem=10)


@pytest.mark.parametrize("name", [name for name in APPROXIMATIONS if name not in WITH_CODES])
def test_curves_without_codes_can_be_removed(name, table):
    X, y = table
    model = fitted(name, X, y, scale="minmax")
    edited = model.shapes_.edit("hours", replace=0.0)
    assert_only_changes(model, edited, X, 2)
    assert contributions(edited, X, 2).tolist() == [[0.0]] * len(X)
    with pytest.raises(ValueError, match=r"has no points that could be moved.*or pass replace=0.0"):
        model.shapes_.edit("hours", smooth=0.1)


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_categories(name, table):
    X, y = table
    model = fitted(name, X, y, scale="minmax")
    for shapes in (model.shapes_, model.shapes_.centred()):
        edited = shapes.edit("job", replace={"baker": 1.5, "missing": -2.0})
        assert_only_changes(model, edited, X, 3)
        curve = edited.curve("job")
        assert_allclose(curve.effect[[0, 2], 0], [1.5, -2.0], rtol=1e-6)
        assert_allclose(curve.effect[1], shapes.curve("job").effect[1], rtol=1e-5, atol=1e-6)
        clipped = edited.edit("job", clip=(None, 1.0))
        assert clipped.curve("job").effect.max() <= 1.0 + 1e-6


@pytest.fixture(scope="module")
def two_missing(table):
    """A table with a level "missing" beside gaps, and a model of it."""
    X, y = table
    X = X.assign(job=X.job.replace("clerk", "missing"))
    return AdditiveSVC("chi2", scale="minmax", loss="hinge", C=1.0).fit(X, y), X


def test_a_level_named_missing_is_not_a_gap(two_missing):
    model, X = two_missing
    shapes = model.shapes_
    before = contributions(shapes, X, 3)[:, 0]
    is_gap, is_level = X.job.isna().to_numpy(), (X.job == "missing").to_numpy()
    assert is_gap.any()
    assert is_level.any()
    for key, changed in ((None, is_gap), ("missing", is_level)):
        edited = shapes.edit("job", replace={key: 3.0})
        after = contributions(edited, X, 3)[:, 0]
        assert_allclose(after[changed], 3.0, rtol=1e-6)
        assert_allclose(after[~changed], before[~changed], rtol=1e-5, atol=1e-6)
        largest = compare(shapes, edited).set_index("feature").largest
        assert largest["job"] > 1.0
        frame = edited.frame(["job"])
        # pandas keeps None in a column of objects, and has NaN in one of strings
        found = frame.value.isna() if key is None else frame.value == "missing"
        assert_allclose(frame.effect[found], [3.0], rtol=1e-6)
    assert shapes.curve("job").x.tolist() == ["baker", "missing", "(missing)"]


def test_pairs_keep_a_level_named_missing_apart(two_missing, table):
    shapes = AdditiveSVC(interactions=[("colour", "job")]).fit(two_missing[1], table[1]).shapes_
    assert shapes.curve(4).y.tolist() == ["baker", "missing", "(missing)"]
    assert set(shapes.frame([4]).value2) == {"baker", "missing", "(missing)"}


def test_gaps_are_compared_with_gaps(two_missing, table):
    with_level = two_missing[0].shapes_.edit("job", replace={"baker": 0.0, "missing": 0.0, None: 3.0})
    without = fitted("hats", *table, scale="minmax").shapes_.edit(
        "job", replace={"baker": 0.0, "clerk": 0.0, None: 3.0}
    )
    found = compare(with_level, without).set_index("feature").largest["job"]
    assert found == pytest.approx(1.0, abs=0.2)  # of levels that one model has; a gap and a level differ by 3
    assert_array_equal(compare(with_level, with_level).largest, 0.0)


def test_gaps_of_categories_are_none_or_missing(table):
    shapes = fitted("hats", *table, scale="minmax").shapes_
    by_none, by_name = (shapes.edit("job", replace={key: 1.0}) for key in (None, "missing"))
    assert_array_equal(by_none.weights, by_name.weights)
    assert by_none.frame(["job"]).value.tolist() == ["baker", "clerk", "missing"]
    with pytest.raises(ValueError, match=r"'colour' has no level None\. There are: blue, green, red\."):
        shapes.edit("colour", replace={None: 1.0})
    with pytest.raises(ValueError, match=r"no level 'cook'\. There are: baker, clerk, None for gaps\."):
        shapes.edit("job", replace={"cook": 1.0})
    with pytest.raises(ValueError, match="two numbers for the level 'missing' of 'job'"):
        shapes.edit("job", replace={None: 1.0, "missing": 2.0})


def test_pairs(model, table):
    edited = model.shapes_.edit(4, clip=(-0.1, 0.1))
    assert_only_changes(model, edited, table[0], 4)
    assert np.abs(contributions(edited, table[0], 4)).max() <= 0.1 + 1e-6
    shape = edited.pairs[0].values.shape[:2]
    assert (edited.edit(4, replace=np.full(shape, 2.0)).pairs[0].values == 2.0).all()


def test_facts_follow(model, table):
    edited = model.shapes_.edit("age", replace=0.0).edit("hours", monotone="increasing")
    facts = edited.training
    assert facts.importance[0, 0] == pytest.approx(0.0, abs=1e-6)
    values = contributions(edited, table[0], 2)
    assert_allclose(facts.mean[2], values.mean(axis=0), atol=0.02)
    assert_array_equal(facts.importance[[1, 3, 4, 5]], model.shapes_.training.importance[[1, 3, 4, 5]])
    again = model.with_shapes(edited)
    assert again.feature_importances_.sum() == pytest.approx(1.0)
    assert again.feature_importances_[2] != model.feature_importances_[2]


def test_history_is_kept(model, table, tmp_path):
    edited = model.shapes_.edit("age", smooth=0.2, clip=(-1.0, None)).edit("job", replace={"baker": 0.0})
    assert edited.edits == (
        "age: smoothed over 0.2 of its range, clipped to -1 to inf",
        "job: replaced",
    )
    again = model.with_shapes(edited.centred())
    kernline.save(again, tmp_path / "m.kern")
    for loaded in (kernline.load(tmp_path / "m.kern"), pickle.loads(pickle.dumps(again))):
        assert loaded.shapes_.edits == edited.edits
        assert_array_equal(loaded.decision_function(table[0]), again.decision_function(table[0]))
    assert model.shapes_.edits == ()


@pytest.mark.parametrize("name", ["hats", "feature-map", "hik"])
def test_edited_models_are_exported(name, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = load_digits(return_X_y=True)
    model = fitted(name, X[:300], y[:300] % 2)
    model = model.with_shapes(model.shapes_.edit(20, smooth=0.3, clip=(-0.1, 0.1)))
    export.to_onnx(model, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    found = session.run(None, {session.get_inputs()[0].name: X[:300]})
    assert_allclose(found[1], model.decision_function(X[:300]), atol=1e-4)
    for write, file in ((export.to_c, "m.h"), (export.to_json, "m.json"), (export.to_csv, "m.csv")):
        write(model, tmp_path / file)


def test_batches_go_on_from_the_edited_curves(table):
    X, y = table
    model = AdditiveSVC("intersection", scale="rank", loss="hinge", C=1.0).partial_fit(X, y, classes=["no", "yes"])
    edited = model.with_shapes(model.shapes_.edit("age", replace=0.0))
    edited.partial_fit(X[:1], y[:1])
    assert np.abs(contributions(edited.shapes_, X, 0)).max() < 0.5 * np.abs(contributions(model.shapes_, X, 0)).max()


def test_regressions():
    X, y = load_digits(return_X_y=True)
    model = AdditiveSVR("chi2").fit(X[:200], y[:200])
    edited = model.with_shapes(model.shapes_.edit(20, replace=0.0))
    assert_allclose(edited.predict(X[:200]), edited.shapes_.explain(X[:200]).decision()[:, 0], atol=1e-5)


@pytest.mark.parametrize("name", WITH_CODES)
def test_a_weight_for_each_code_changes_no_score(name, table):
    X, y = table
    model = fitted(name, X, y, scale="minmax")
    same = model.with_shapes(with_points(model.shapes_))
    assert_allclose(scores(same, X), scores(model, X), atol=1e-5)


@pytest.mark.filterwarnings("error")
def test_smoothing_with_knots_that_nearly_coincide():
    u = np.sort(np.concatenate([np.linspace(0.0, 1.0, 200), np.linspace(0.0, 1e-9, 56)]))
    line = 2.0 + 3.0 * u
    weight = np.where(np.arange(u.size) % 7, 1e-3, 10.0)
    assert_allclose(smoothed(u, line, weight, 0.3)[56:], line[56:], atol=0.02)


def test_smoothing_keeps_straight_lines():
    u = np.sort(np.random.default_rng(0).random(20))
    line, weight = 3.0 * u - 1.0, np.random.default_rng(1).random(20) + 0.1
    assert_allclose(smoothed(u, line, weight, 0.5), line, atol=1e-9)
    even = np.linspace(0.0, 1.0, 20)
    rough = even + 0.1 * np.random.default_rng(2).standard_normal(20)
    bends = [np.abs(np.diff(smoothed(even, rough, weight, length), 2)).sum() for length in (0.05, 0.2, 0.8)]
    assert bends[0] > bends[1] > bends[2]


@pytest.mark.parametrize(
    ("function", "change", "message"),
    [
        ("age", {}, "nothing to do"),
        ("age", {"smooth": 0.0}, r"smooth must be a share of the range, in \(0, 1\]; got 0.0"),
        ("age", {"monotone": "up"}, "monotone must be 'increasing' or 'decreasing'; got 'up'"),
        ("age", {"clip": (1.0, -1.0)}, r"clip must be \(low, high\)"),
        ("age", {"replace": ([2.0, 1.0], [0.0, 0.0])}, "with x that increases"),
        ("age", {"replace": {"red": 1.0}}, "replace by names is for categories"),
        ("age", {"clip": 1}, r"clip must be \(low, high\), in order .*, with None for no limit; got 1"),
        ("age", {"clip": ("a", "b")}, r"clip must be \(low, high\)"),
        ("age", {"clip": "ab"}, r"clip must be \(low, high\).*; got 'ab'"),
        ("age", {"clip": (np.nan, 1.0)}, r"clip must be .*; got \(nan, 1.0\)"),
        ("age", {"clip": (np.inf, np.inf)}, r"clip must be .*; got \(inf, inf\)"),
        ("age", {"clip": (None, -np.inf)}, r"clip must be .*; got \(None, -inf\)"),
        ("age", {"clip": (1e39, None)}, r"clip must be .*; got \(1e\+39, None\)"),
        ("colour", {"clip": (None, np.nan)}, r"clip must be .*; got \(None, nan\)"),
        (4, {"clip": (np.nan, np.nan)}, r"clip must be .*; got \(nan, nan\)"),
        ("age", {"replace": np.nan}, r"finite numbers of at most 1e\+30 in magnitude; got nan"),
        ("age", {"replace": np.array(np.inf)}, "finite numbers .*; got array\\(inf\\)"),
        ("age", {"replace": 10**400}, "finite numbers .*; got 1000"),
        ("age", {"replace": ([0.0, 100.0], [0.0, 1e300])}, r"finite numbers .*; got 1e\+300 at place 1"),
        ("age", {"replace": ([0.0, 100.0, 1e6], [0.0, 1.0, np.inf])}, "finite numbers .*; got inf at place 2"),
        ("age", {"replace": ([0.0, np.inf], [0.0, 1.0])}, "the x of replace must be finite; got inf"),
        ("age", {"replace": lambda x: x * 1e40}, r"finite numbers .*; got .*e\+4\d at place"),
        ("colour", {"replace": {"red": 1e39}}, r"finite numbers .*; got 1e\+39 for 'red'"),
        ("colour", {"replace": {"red": np.nan}}, "finite numbers .*; got nan for 'red'"),
        ("colour", {"replace": {"red": None}}, "finite numbers .*; got None for 'red'"),
        ("colour", {"replace": -np.inf}, "finite numbers .*; got -inf"),
        ("colour", {"replace": "red"}, "must be a number, or a dict"),
        (4, {"replace": np.float32(np.nan)}, "finite numbers .*; got .*nan"),
        ("colour", {"smooth": 0.1}, "smooth does not apply to a category"),
        ("colour", {"monotone": "increasing"}, "monotone does not apply to a category"),
        ("colour", {"replace": {"violet": 1.0}}, "'colour' has no level 'violet'. There are: blue, green, red"),
        ("colour", {"replace": ([0.0], [1.0])}, "must be a number, or a dict"),
        (("age", "job"), {"smooth": 0.1}, "edit: the model has no pair"),
        (4, {"smooth": 0.1}, "smooth does not apply to a pair"),
        (4, {"replace": {"red": 1.0}}, "replace of a pair must be a number, or an array of shape"),
        (4, {"replace": np.zeros((2, 2))}, "numbers of shape"),
        ("agee", {"smooth": 0.1}, "edit: no feature 'agee'. Did you mean 'age'"),
    ],
)
def test_what_is_refused(model, function, change, message):
    with pytest.raises(ValueError, match=message):
        model.shapes_.edit(function, **change)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39, np.float64(1e300)])
def test_constants_that_are_not_finite_are_refused_without_codes(value, table):
    shapes = fitted("linear", *table, scale="minmax").shapes_
    with pytest.raises(ValueError, match=r"finite numbers of at most 1e\+30 in magnitude; got"):
        shapes.edit("hours", replace=value)


@pytest.mark.filterwarnings("error")
def test_the_largest_effects(model, table):
    for function in ("age", "colour", 4):
        edited = model.shapes_.edit(function, replace=1e30).edit(function, clip=(None, np.inf))
        assert np.isfinite(edited.explain(table[0]).decision()).all()
    edited = model.shapes_.edit("age", replace=([0.0, 100.0], [-1e30, 1e30]))
    assert np.isfinite(model.with_shapes(edited).decision_function(table[0])).all()


@pytest.mark.parametrize("value", [2, np.int64(2), np.float32(2), np.array(2.0), Fraction(2)], ids=repr)
@pytest.mark.parametrize("name", ["hats", "linear"])
def test_every_real_scalar_is_a_constant(name, value, table):
    X, y = table
    shapes = fitted(name, X, y, scale="minmax").shapes_
    for function, k in (("age", 0), ("job", 3)):
        edited, expected = shapes.edit(function, replace=value), shapes.edit(function, replace=2.0)
        assert edited.edits == (f"{function}: replaced by 2",)
        assert np.ptp(contributions(edited, X, k)) == pytest.approx(0.0, abs=1e-6)  # gaps too
        assert_array_equal(edited.explain(X).decision(), expected.explain(X).decision())


def test_shapes_of_other_models_are_refused(model):
    with pytest.raises(ValueError, match="with_shapes: the functions must be those of a model of 4 features with 1"):
        model.with_shapes(fitted("hats", *load_digits(return_X_y=True)).shapes_)
