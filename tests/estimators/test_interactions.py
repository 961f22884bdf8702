"""Pairs of columns: what only they can fit, what remains of curves, and pairs that cannot be."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kernline import AdditiveSVC, AdditiveSVR, tables
from kernline.encoding.pair_axes import PairAxis
from kernline.estimators import pair_trial
from kernline.pair_functions import PairFunction, purified, sum_of_pairs

from ..pair_data import CATEGORICAL, labels, new_rows, paired


@pytest.fixture(scope="module")
def crossed():
    """Classes by the sign of a product, of which no sum of curves knows anything."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (1500, 5))
    return X, (X[:, 1] * X[:, 3] > 0).astype(int)


@pytest.mark.parametrize(("beyond_doubt", "n_trials"), [(pair_trial._BEYOND_DOUBT, 1), (np.inf, 5)])
def test_a_gain_beyond_doubt_ends_the_trials(crossed, monkeypatch, beyond_doubt, n_trials):
    X, y = crossed
    trials = []
    tried = pair_trial._tried
    monkeypatch.setattr(pair_trial, "_BEYOND_DOUBT", beyond_doubt)
    monkeypatch.setattr(pair_trial, "_tried", lambda *parts, **more: trials.append(tried(*parts, **more)) or trials[-1])
    model = AdditiveSVC(interactions="auto").fit(X[:600], y[:600])
    assert len(trials) == n_trials
    assert [trial.is_quick for trial in trials] == [n_trials == 1] * n_trials
    assert model.score(X[600:], y[600:]) > 0.9


class TestWhatOnlyAPairFits:
    def test_two_classes(self, crossed):
        X, y = crossed
        assert AdditiveSVC(loss="log").fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) < 0.6
        model = AdditiveSVC(interactions=1).fit(X[:1000], y[:1000])
        assert [pair.columns for pair in model.shapes_.pairs] == [(1, 3)]
        assert model.score(X[1000:], y[1000:]) > 0.95

    def test_several_classes(self, crossed):
        X, y = crossed
        y = y + 2 * (X[:, 0] > 0)
        model = AdditiveSVC(interactions=[(3, 1)]).fit(X[:1000], y[:1000])
        assert model.score(X[1000:], y[1000:]) > 0.9
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)

    @pytest.mark.parametrize("n_outputs", [1, 2])
    def test_regression(self, crossed, n_outputs):
        X, _ = crossed
        Y = np.column_stack([X[:, 1] * X[:, 3], 100.0 * X[:, 0] + 50.0 * X[:, 1] * X[:, 3]])[:, :n_outputs].squeeze()
        assert AdditiveSVR().fit(X[:1000], Y[:1000]).score(X[1000:], Y[1000:]) < 0.9
        model = AdditiveSVR(interactions="auto").fit(X[:1000], Y[:1000])
        assert (1, 3) in [pair.columns for pair in model.shapes_.pairs]
        assert model.score(X[1000:], Y[1000:]) > 0.98

    def test_categories(self):
        rng = np.random.default_rng(0)
        X = np.c_[rng.integers(0, 3, 1000), rng.integers(0, 3, 1000), rng.normal(size=1000)]
        y = X[:, 0] == X[:, 1]
        model = AdditiveSVC(interactions=1, categorical=[0, 1]).fit(X, y)
        assert [pair.columns for pair in model.shapes_.pairs] == [(0, 1)]
        assert model.score(X, y) == 1.0

    def test_a_category_and_a_number(self):
        rng = np.random.default_rng(0)
        X = np.c_[rng.integers(0, 2, 1000), rng.normal(size=(1000, 2))]
        y = (X[:, 0] == 1) == (X[:, 1] > 0)
        model = AdditiveSVC(interactions=1, categorical=[0]).fit(X, y)
        assert [pair.columns for pair in model.shapes_.pairs] == [(0, 1)]
        assert model.score(X, y) > 0.95


def bilinear(pair, rows):
    """f_ab one row at a time, as the class describes it."""
    out = []
    for row in rows:
        corners = []
        for axis, x in zip(pair.axes, row, strict=True):
            if np.isnan(x) or (not axis.is_number and x not in axis.points):
                place = axis.size
            elif axis.is_number:
                place = np.interp(x, axis.points, axis.places)
            else:
                place = axis.places[list(axis.points).index(x)]
            low = int(place)
            corners.append([(low, 1.0 - (place - low)), (min(low + 1, axis.size), place - low)])
        out.append(sum(wi * wj * pair.values[i, j] for i, wi in corners[0] for j, wj in corners[1]))
    return np.array(out)


@pytest.fixture(scope="module", params=[2, 3])
def model(request):
    """A model of two or three classes with pairs of every two kinds of columns."""
    X, score = paired()
    y = labels(score, request.param)
    return AdditiveSVC(interactions=[(0, 1), (2, 3), (1, 2)], categorical=CATEGORICAL).fit(X, y)


class TestValues:
    def test_tables_are_bilinear(self, model):
        """NaN, values beyond the range, and levels that the training data has not, included."""
        X = new_rows()
        for pair in model.shapes_.pairs:
            rows = X[:, list(pair.columns)]
            assert_allclose(pair.evaluate(rows), bilinear(pair, rows), atol=1e-12)

    def test_the_decision_is_the_sum_of_its_functions(self, model):
        X = new_rows()
        X[::6, 1] = np.nan  # a number that had no gaps: curve and tables read the same value
        shapes = model.shapes_
        parts = [shapes.evaluate(k, X[:, list(columns)]) for k, columns in enumerate(shapes.functions)]
        expected = model.intercept_ + sum(parts)
        assert_allclose(model.decision_function(X).reshape(expected.shape), expected, atol=1e-4)
        assert shapes.n_functions == 7
        assert shapes.importance(X).shape == (7, shapes.n_problems)

    def test_purified_tables_have_no_main_effects(self, model):
        """Their means over the training rows at each place, to the nearest, are zero."""
        X, _ = paired()
        for pair in model.shapes_.pairs:
            places = [axis.places_of(X[:, j]) for j, axis in zip(pair.columns, pair.axes, strict=True)]
            known = (places[0] < pair.axes[0].size) & (places[1] < pair.axes[1].size)
            known &= ~np.isnan(X[:, list(pair.columns)]).any(axis=1)
            largest = np.abs(pair.values).max()
            for k in (0, 1):
                near = np.round(places[k][known]).astype(int)
                other = np.round(places[1 - k][known]).astype(int)
                cells = pair.values[near, other] if k == 0 else pair.values[other, near]
                for place in np.unique(near):
                    # Codes are rounded to 1/32 of a step, so a few rows count for the next place here.
                    assert np.abs(cells[near == place].mean(axis=0)).max() < 0.1 * largest

    def test_blocks_of_rows_do_not_matter(self, model, monkeypatch):
        X, expected = new_rows(), model.decision_function(new_rows())
        monkeypatch.setattr("kernline.pair_functions._WEIGHTS", 30)
        assert_array_equal(model.decision_function(X), expected)
        assert_array_equal(model.decision_function(np.asfortranarray(X)), expected)

    def test_sparse_rows(self):
        X = np.random.default_rng(0).integers(0, 4, (500, 5)).astype(float)
        y = X[:, 0] * X[:, 1] > 2
        model = AdditiveSVC("intersection", loss="log", scale="max", interactions=2).fit(sp.csr_array(X), y)
        assert model.score(sp.csr_array(X), y) > 0.95
        assert_array_equal(model.decision_function(sp.csr_array(X)), model.decision_function(X))


class TestPurification:
    @pytest.mark.parametrize("is_number", [(True, True), (True, False), (False, False)])
    def test_the_sum_does_not_change(self, is_number):
        rng = np.random.default_rng(0)
        table, weight = rng.standard_normal((5, 4, 2)), rng.integers(0, 9, (5, 4)).astype(float)
        split = purified(table, weight, is_number)
        a, b = split.effects
        assert_allclose(split.values[:-1, :-1] + a[:, None] + b[None] + split.constant, table, atol=1e-9)
        assert_allclose(split.values[-1, :-1] + b + split.constant, 0.0, atol=1e-12)
        assert_allclose(split.values[:-1, -1] + a + split.constant, 0.0, atol=1e-12)
        assert_allclose(split.values[-1, -1] + split.constant, 0.0, atol=1e-12)
        for effect, number in zip(split.effects, is_number, strict=True):
            assert not number or (effect[0] == 0.0).all()

    def test_means_are_zero(self):
        rng = np.random.default_rng(0)
        table, weight = rng.standard_normal((6, 6, 3)), rng.random((6, 6))
        rest = purified(table, weight, (True, True)).values[:-1, :-1]
        for axis in (0, 1):
            assert_allclose((weight[:, :, None] * rest).sum(axis=axis), 0.0, atol=1e-7)

    def test_an_additive_table_leaves_nothing(self):
        a, b = np.arange(5.0), np.arange(4.0) ** 2
        split = purified((a[:, None] + b)[:, :, None], np.ones((5, 4)), (True, True))
        assert_allclose(split.values[:-1, :-1], 0.0, atol=1e-9)
        assert_allclose(split.effects[0][:, 0], a, atol=1e-9)
        assert_allclose(split.effects[1][:, 0], b, atol=1e-9)

    def test_places_without_rows(self):
        weight = np.zeros((3, 3))
        weight[0, 0] = 1.0
        split = purified(np.random.default_rng(0).standard_normal((3, 3, 1)), weight, (False, False))
        assert np.isfinite(split.values).all()


def test_axes_of_one_point():
    axis = PairAxis(True, np.array([2.0]), np.array([0.0]), 1)
    pair = PairFunction((0, 1), (axis, axis), np.arange(4.0).reshape(2, 2, 1))
    pair.check()
    rows = np.array([[2.0, 5.0], [np.nan, 1.0], [1.0, np.nan], [np.nan, np.nan]])
    assert_array_equal(sum_of_pairs([pair], rows)[:, 0], [0.0, 2.0, 1.0, 3.0])


class TestWhatCannotBe:
    def test_more_than_there_are(self, crossed):
        X, y = crossed
        model = AdditiveSVC(interactions=1000).fit(X[:, 1:4], y)
        assert sorted(pair.columns for pair in model.shapes_.pairs) == [(0, 1), (0, 2), (1, 2)]
        assert AdditiveSVC(interactions=5).fit(X[:, :1], y).shapes_.pairs == ()

    def test_few_rows_have_no_pairs_by_themselves(self, crossed):
        X, y = crossed
        assert AdditiveSVC(interactions="auto").fit(X[:50], y[:50]).shapes_.pairs == ()
        assert len(AdditiveSVC(interactions="auto").fit(X[:350], y[:350]).shapes_.pairs) == 3

    def test_a_pair_too_large_for_the_rows_leaves_room_for_others(self):
        pd = pytest.importorskip("pandas")
        random = np.random.default_rng(0)
        levels = random.integers(0, 16, (400, 2))
        numbers = random.normal(size=(400, 2))
        noise = random.random(400) < 0.02
        y = np.where(random.random(400) < 0.2, levels.sum(axis=1) % 2 == 0, numbers.prod(axis=1) > 0) ^ noise
        X = pd.DataFrame(levels, columns=["a", "b"]).astype(str).assign(c=numbers[:, 0], d=numbers[:, 1])
        chosen = AdditiveSVC(interactions="auto").fit(X, y).shapes_.pairs
        assert (0, 1) not in [pair.columns for pair in chosen]
        assert len(chosen) > 0

    @pytest.mark.parametrize("scale", ["max", "rank"])
    def test_columns_of_two_values_have_small_tables(self, scale):
        """They count as what they can say, so that "auto" takes all of them, and the table is exact."""
        random = np.random.default_rng(3)
        X = (random.random((900, 12)) < 0.5).astype(np.float64)
        y = (X[:, 2] != X[:, 9]) ^ (random.random(900) < 0.05)
        model = AdditiveSVC(scale=scale, interactions="auto").fit(X[:600], y[:600])
        assert len(model.shapes_.pairs) == 66
        assert all(pair.values.shape[:2] == (3, 3) for pair in model.shapes_.pairs)
        assert model.score(X[600:], y[600:]) > 0.9

    @pytest.mark.parametrize(
        ("interactions", "message"),
        [
            ([(1, 3), (3, 1)], r"the pair \(3, 1\) is given twice"),
            ([(1, 1)], "two different columns"),
            ([(0, 5)], "numbers from 0 to 4"),
            ([(-1, 2)], "numbers from 0 to 4"),
            ([(0, 1, 2)], "not a pair"),
            ([(0,)], "not a pair"),
            ([(0, 1.5)], "not a pair"),
            ([("a", "b")], "not a pair"),
            ([5], "not a pair"),
            (["ab"], "not a pair"),
            ("all", "interactions"),
            (-1, "interactions"),
            (1.5, "interactions"),
            (True, "interactions=True does not say how many: pass 'auto'"),
            ((1, 3), r"interactions=\(1, 3\) is not a list of pairs. For one pair, pass \[\(1, 3\)\]"),
            (["a", "b"], r"is not a list of pairs. For one pair, pass \[\('a', 'b'\)\]"),
            ([("a", 1)], "'a' is a name, and the columns of X have none"),
        ],
    )
    @pytest.mark.parametrize("estimator", [AdditiveSVC, AdditiveSVR])
    def test_bad_lists(self, crossed, estimator, interactions, message):
        X, y = crossed
        with pytest.raises(ValueError, match=message):
            estimator(interactions=interactions).fit(X, y)

    def test_names(self, crossed):
        pd = pytest.importorskip("pandas")
        X, y = crossed
        frame = pd.DataFrame(X, columns=list("abcde"))
        model = AdditiveSVC(interactions=[("d", "b")]).fit(frame, y)
        assert [pair.columns for pair in model.shapes_.pairs] == [(1, 3)]
        with pytest.raises(ValueError, match=r"there is no column 'z'\. There are: a, b, c, d, e\."):
            AdditiveSVC(interactions=[("b", "z")]).fit(frame, y)

    @pytest.mark.parametrize(
        "params", [{"loss": "hinge"}, {"loss": "log", "solver": "dual-cd"}, {"approximation": "plame"}], ids=str
    )
    def test_other_solvers_have_none(self, crossed, params):
        X, y = crossed
        with pytest.raises(ValueError, match=r"interactions=2 needs loss in .* approximation='hats' .*solver='auto'"):
            AdditiveSVC(interactions=2, scale="rank", **params).fit(X, y)

    def test_codes_are_not_enough(self, crossed):
        X, y = crossed
        model = AdditiveSVC(interactions=1).fit(X, y)
        with pytest.raises(ValueError, match="takes values, not codes"):
            model.decision_function(model.shapes_.encoder.transform(X, write=False))


def test_hats_of_any_number_of_knots(crossed):
    X, y = crossed
    few, default = (
        AdditiveSVC(approximation=one, interactions=1).fit(X, y > 0) for one in (tables.Hats(8, spacing=1.0), "hats")
    )
    assert few.shapes_.weights.shape[2] == 8
    assert few.solver_ == "joint"
    assert [pair.columns for pair in few.shapes_.pairs] == [pair.columns for pair in default.shapes_.pairs]
    assert few.score(X, y > 0) > default.score(X, y > 0) - 0.05


def test_trials_of_pairs_weigh_rows():
    rng = np.random.default_rng(0)
    X, is_light = rng.random((600, 2)), np.arange(600) % 5 > 0
    additive = X[:, 0] + 0.3 * rng.standard_normal(600) > 0.5
    y = np.where(is_light, additive, (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)
    weight = np.where(is_light, 1e-3, 1.0)
    model = AdditiveSVC(interactions="auto").fit(X, y, sample_weight=weight)
    assert model.score(X, y, weight) > 0.95
