"""Curves as arrays and as data frames, and the differences of two models."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from kernline import AdditiveSVC, AdditiveSVR
from kernline.shapes import compare

from .models import APPROXIMATIONS, fitted, mixed


@pytest.fixture(scope="module")
def model():
    return AdditiveSVC(interactions=2).fit(*mixed())


class TestNumbers:
    @pytest.mark.parametrize("name", APPROXIMATIONS)
    def test_straight_lines_between_the_points_are_the_curve(self, name):
        X, y = load_digits(return_X_y=True)
        shapes = fitted(name, X[:500], y[:500]).shapes_
        curve = shapes.curve(20)
        assert (curve.kind, curve.name) == ("number", "20")
        assert (np.diff(curve.x) > 0.0).all()
        assert curve.x[0] <= X[:500, 20].min()
        assert curve.x[-1] >= X[:500, 20].max()
        expected = shapes.evaluate(20, X[:500, 20])
        between = np.column_stack([np.interp(X[:500, 20], curve.x, one) for one in curve.effect.T])
        # Values are rounded to codes before they are looked up.
        assert_allclose(between, expected, atol=0.01 * np.abs(expected).max())
        assert curve.density.counts.sum() == curve.density.n_rows == 500
        assert curve.density.edges.size == curve.density.counts.size + 1

    def test_even_points(self, model):
        curve = model.shapes_.curve("age", n_points=50)
        assert curve.x.shape == (50,)
        assert_allclose(np.diff(curve.x), np.diff(curve.x)[0])
        assert_allclose(curve.effect, model.shapes_.evaluate("age", curve.x))

    def test_gaps_have_an_effect_and_a_count(self, model):
        frame, _ = mixed()
        curve = model.shapes_.curve("age")
        assert_allclose(curve.missing_effect, model.shapes_.evaluate("age", [np.nan])[0])
        assert curve.density.missing == frame.age.isna().sum()
        assert curve.density.counts.sum() == frame.age.notna().sum()
        assert model.shapes_.curve("hours").missing_effect is None

    def test_densities_are_histograms(self):
        X = np.random.default_rng(0).gamma(2.0, size=(1000, 1))
        density = fitted("hats", X, X[:, 0] > 1.0).shapes_.curve(0).density
        expected, _ = np.histogram(X[:, 0], density.edges)
        assert_allclose(density.counts, expected, atol=15)

    @pytest.mark.parametrize("name", ["hats", "plame", "pmsvm", "hik"])
    def test_curves_lie_between_the_least_and_the_largest_training_value(self, name):
        X = np.random.default_rng(0).uniform(18.0, 89.0, (300, 1))
        low, high = X.min(), X.max()
        shapes = fitted(name, X, X[:, 0] > 50.0).shapes_
        curve = shapes.curve(0)
        assert (curve.x[0], curve.x[-1]) == pytest.approx((low, high))
        assert shapes.curve(0, n_points=5).x[0] == pytest.approx(low)
        assert (curve.density.edges[0], curve.density.edges[-1]) == pytest.approx((low, high))
        assert curve.density.counts.sum() == 300
        assert_allclose(curve.effect[0], shapes.evaluate(0, [low])[0], atol=0.02 * np.ptp(curve.effect))

    def test_curves_of_sparse_rows_begin_at_zero(self):
        X = np.random.default_rng(0).uniform(18.0, 89.0, (300, 1))
        assert fitted("hats", sp.csr_array(X), X[:, 0] > 50.0).shapes_.curve(0).x[0] == 0.0

    def test_batches_extend_the_range_up_to_that_of_the_first(self):
        X = np.linspace(10.0, 90.0, 300)[:, None]
        y = X[:, 0] > 50.0
        model = AdditiveSVC("chi2", scale="max", loss="hinge", C=1.0)
        model.partial_fit(X[100:], y[100:], classes=[False, True])
        assert model.shapes_.curve(0).x[0] == X[100, 0]
        model.partial_fit(X[:200], y[:200])
        assert (model.shapes_.curve(0).x[0], model.shapes_.curve(0).x[-1]) == pytest.approx((10.0, 90.0))

    @pytest.mark.parametrize("kernel", ["auto", "linear"])
    def test_booleans_have_two_points(self, kernel):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"vip": rng.random(300) < 0.3, "age": rng.uniform(18.0, 89.0, 300)})
        y = X.vip ^ (rng.random(300) < 0.2)
        shapes = AdditiveSVC(kernel).fit(X, y).shapes_
        curve = shapes.curve("vip", n_points=50)
        assert (curve.kind, curve.x.tolist()) == ("number", [0.0, 1.0])
        assert_allclose(curve.effect, shapes.evaluate("vip", [0.0, 1.0]))
        assert curve.density.counts.tolist() == [(~X.vip).sum(), X.vip.sum()]
        frame = shapes.frame(["vip"])
        assert frame.value.tolist() == [0.0, 1.0]
        assert_allclose(frame.density, [(~X.vip).mean(), X.vip.mean()])
        drawn = curve.drawn()
        assert (drawn.kind, drawn.x.tolist()) == ("category", ["0", "1"])
        assert not shapes.curve("age").is_boolean

    def test_booleans_with_gaps(self):
        X = np.tile([0.0, 1.0, np.nan], 40)[:, None]
        curve = AdditiveSVC().fit(X, X[:, 0] == 1.0).shapes_.curve(0)
        assert curve.x.tolist() == [0.0, 1.0]
        drawn = curve.drawn()
        assert drawn.x.tolist() == ["0", "1", "missing"]
        assert drawn.density.counts.tolist() == [40, 40, 40]
        assert_allclose(drawn.effect[2], curve.missing_effect)

    def test_batches_with_another_value_are_no_booleans(self):
        X = np.tile([0.0, 1.0], 50)[:, None]
        model = AdditiveSVC("chi2", scale="max", loss="hinge", C=1.0)
        model.partial_fit(X, X[:, 0] > 0.5, classes=[False, True])
        assert model.shapes_.curve(0).is_boolean
        model.partial_fit(X[:1], [False])
        assert model.shapes_.curve(0).is_boolean
        model.partial_fit(0.5 * X, X[:, 0] > 0.5)
        assert not model.shapes_.curve(0).is_boolean

    def test_constant_columns(self):
        X = np.column_stack([np.zeros(20), np.arange(20.0)])
        shapes = AdditiveSVC("chi2", scale="minmax").fit(X, np.arange(20) > 9).shapes_
        curve = shapes.curve(0)
        assert (curve.x.size, curve.effect.tolist()) == (1, [[0.0]])
        assert curve.density.counts.sum() == 20


class TestCategories:
    def test_levels_have_names_effects_and_counts(self, model):
        frame, _ = mixed()
        curve = model.shapes_.curve("job")
        assert curve.kind == "category"
        assert curve.x.tolist() == ["baker", "clerk", "missing"]
        assert_allclose(curve.effect, model.shapes_.evaluate("job", ["baker", "clerk", None]))
        assert curve.density.counts.tolist() == frame.job.fillna("missing").value_counts().sort_index().tolist()

    def test_levels_that_are_numbers(self):
        X = np.tile([[1.5], [3.0]], (20, 1))
        curve = AdditiveSVC(categorical=[0]).fit(X, X[:, 0] > 2.0).shapes_.curve(0)
        assert curve.x.tolist() == ["1.5", "3"]


class TestPairs:
    def test_the_last_place_says_what_it_is(self):
        rng = np.random.default_rng(0)
        n = 400
        X = pd.DataFrame({"on": rng.choice(["a", "b"], n), "few": rng.choice(["x", "y"], n)})
        X["gaps"] = rng.choice(np.array(["u", "v", None], dtype=object), n)
        X["many"] = rng.choice(np.array([*(f"c{i}" for i in range(30)), None], dtype=object), n)
        pairs = [("on", name) for name in ("few", "gaps", "many")]
        shapes = AdditiveSVC(interactions=pairs).fit(X, X.on == "a").shapes_
        last = [shapes.curve(f"on × {name}").y[-1] for _, name in pairs]
        assert last == ["other", "missing", "other or missing"]

    def test_a_table_of_two_axes(self, model):
        shapes = model.shapes_
        curve = shapes.curve(4)
        assert curve.kind == "pair"
        assert curve.name == shapes.function_names[4]
        assert curve.effect.shape == (curve.x.size, curve.y.size, 1)
        rows = np.array([[a, b] for a in curve.x for b in curve.y], dtype=object)
        assert_allclose(shapes.evaluate(4, rows), curve.effect.reshape(-1, 1), atol=1e-9)

    def test_even_points(self, model):
        number = next(k for k, name in enumerate(model.shapes_.function_names) if name == "age × colour")
        assert model.shapes_.curve(number, n_points=7).effect.shape == (7, 4, 1)


class TestNames:
    def test_functions_and_problems(self, model):
        names = model.shapes_.function_names
        assert names[:4] == ["age", "colour", "hours", "job"]
        assert all(" × " in name for name in names[4:])
        assert model.shapes_.number_of(names[5]) == 5
        assert model.shapes_.problem_names == ["yes"]
        X, y = load_digits(return_X_y=True)
        assert fitted("hats", X, y).shapes_.class_names.tolist() == list(range(10))
        assert AdditiveSVR().fit(X[:50], y[:50]).shapes_.problem_names == ["prediction"]
        outputs = AdditiveSVR().fit(X[:50], np.column_stack([y, y])[:50]).shapes_
        assert outputs.problem_names == ["prediction 0", "prediction 1"]
        assert outputs.class_names is None


def test_centred_curves(model):
    for k in range(6):
        plain, centred = (model.shapes_.curve(k, centred=flag) for flag in (False, True))
        mean = model.shapes_.training.mean[k].astype(np.float64)
        assert_allclose(plain.effect - centred.effect, np.broadcast_to(mean, plain.effect.shape))
    assert_allclose(
        model.shapes_.curve("age").missing_effect - model.shapes_.curve("age", centred=True).missing_effect,
        model.shapes_.training.mean[0],
        rtol=1e-6,
    )


class TestFrame:
    def test_has_a_line_for_each_point(self, model):
        frame = model.shapes_.frame()
        assert list(frame.columns) == ["feature", "class", "value", "value2", "effect", "density"]
        assert set(frame.feature) == set(model.shapes_.function_names)
        for name in ("age", "colour", "hours", "job"):
            assert frame[frame.feature == name].density.sum() == pytest.approx(1.0)
        of_age = frame[(frame.feature == "age") & frame.value.notna()]
        assert_allclose(of_age.effect, model.shapes_.curve("age").effect[:, 0])

    def test_of_some_functions(self, model):
        frame = model.shapes_.frame(["hours", 1], centred=True)
        assert list(frame.feature.unique()) == ["hours", "colour"]
        assert "value2" not in frame
        weighted = (frame.effect * frame.density)[frame.feature == "colour"].sum()
        assert weighted == pytest.approx(0.0, abs=1e-6)

    def test_needs_pandas(self, model, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match="pip install pandas"):
            model.shapes_.frame()


class TestCompare:
    def test_a_model_with_itself(self, model):
        frame = model.shapes_.compare(model.shapes_)
        assert sorted(frame.feature) == sorted(model.shapes_.function_names)
        assert (frame.largest == 0.0).all()

    def test_what_was_changed_comes_first(self, model):
        changed = model.shapes_.edit("hours", replace=([0.0, 4.0], [0.0, 5.0]))
        frame = compare(model.shapes_, changed)
        assert frame.feature[0] == "hours"
        assert frame.largest[0] > frame["mean"][0] > 0.0
        assert (frame.largest[1:] == 0.0).all()

    def test_models_of_other_functions(self, model):
        without = AdditiveSVC().fit(*mixed())
        frame = model.shapes_.compare(without.shapes_)
        assert sorted(frame.feature) == sorted(model.shapes_.function_names)
        pair = frame[frame.feature == model.shapes_.function_names[4]]
        expected = np.abs(model.shapes_.curve(4, centred=True).effect).max()
        assert pair.largest.item() == pytest.approx(expected)

    def test_refuses_other_columns(self, model):
        other = fitted("hats", *load_digits(return_X_y=True))
        with pytest.raises(ValueError, match="the same columns and classes; got 4 features"):
            model.shapes_.compare(other.shapes_)


def test_pairs_by_the_names_of_their_features(model):
    shapes = model.shapes_
    a, b = shapes.function_names[4].split(" × ")
    for pair in ((a, b), (b, a), shapes.functions[4]):
        assert shapes.number_of(pair) == 4
        assert shapes.curve(pair).name == shapes.function_names[4]
    with pytest.raises(ValueError, match="not a pair of two features"):
        shapes.curve((a, b, a))


def test_errors_name_the_method(model):
    with pytest.raises(ValueError, match=r"^frame: no feature 'agee'"):
        model.shapes_.frame(["agee"])


def test_models_are_compared_as_their_shapes(model):
    assert (model.shapes_.compare(model).largest == 0.0).all()
    with pytest.raises(TypeError, match=r"compare: expected a fitted additive model, or its shapes_; got AdditiveSVC"):
        model.shapes_.compare(AdditiveSVC())
