"""ShapeDisplay: what is drawn is what the curves hold."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR, AdditiveSVRCV, NystromSVC
from kernline.display import ShapeDisplay

from .conftest import HOSTILE, overlaps


def lines_of(ax):
    """The curves in a panel, without the line at zero and the markers of missing values."""
    return [line for line in ax.lines if len(line.get_xdata()) > 1 and line.get_linewidth() > 1]


def test_lines_are_the_curves(digits_model):
    display = ShapeDisplay.from_estimator(digits_model, top=4)
    assert len(display.axes_) == 4
    for ax, k in zip(display.axes_, digits_model.shapes_.top(4), strict=True):
        curve = digits_model.shapes_.curve(k, centred=True)
        lines = lines_of(ax)
        assert len(lines) == 10
        for problem, line in enumerate(lines):
            assert_array_equal(line.get_xdata(), curve.x)
            assert_array_equal(line.get_ydata(), curve.effect[:, problem])
        assert ax.get_title() == f"feature {k}"
    assert [text.get_text() for text in display.legend_.get_texts()] == [str(k) for k in range(10)]
    looks = {(line.get_color(), line._dash_pattern[1] and tuple(line._dash_pattern[1])) for line in lines}
    assert len(looks) == 10


def test_not_centred(digits_model):
    display = ShapeDisplay.from_estimator(digits_model, 20, centred=False, classes=[3])
    values = np.linspace(0.0, 16.0, 9)
    (line,) = lines_of(display.axes_[0])
    found = np.interp(values, line.get_xdata(), line.get_ydata())
    assert_allclose(found, digits_model.shapes_.evaluate(20, values)[:, 3], atol=0.02)
    assert display.legend_ is None


def test_density_strip(table_model, customers):
    display = ShapeDisplay.from_estimator(table_model, "visits")
    (ax,) = display.axes_
    (strip,) = ax.child_axes
    counts, edges, _ = strip.patches[0].get_data()
    curve = table_model.shapes_.curve("visits")
    assert_allclose(counts.sum(), curve.density.counts.sum())
    assert (edges[0], edges[-1]) == ax.get_xlim()
    middle = 0.5 * (edges[1:] + edges[:-1])
    assert_allclose(np.average(middle, weights=counts), customers[0].visits.mean(), atol=0.7)


def test_values_without_rows_are_not_shown(table_model, customers):
    """The curve of age begins at zero, and nobody is younger than 18."""
    display = ShapeDisplay.from_estimator(table_model, "age")
    assert abs(display.axes_[0].get_xlim()[0] - customers[0].age.min()) < 3.0
    assert display.axes_[0].get_xlim()[1] == customers[0].age.max()
    counts = display.axes_[0].child_axes[0].patches[0].get_data().values
    assert counts.sum() == table_model.shapes_.curve("age").density.counts.sum()
    assert ShapeDisplay.from_estimator(table_model, "visits").axes_[0].get_xlim()[0] == 0.0


def test_bars_of_a_category(table_model):
    display = ShapeDisplay.from_estimator(table_model, ["region"])
    (ax,) = display.axes_
    curve = table_model.shapes_.curve("region", centred=True)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(curve.x)
    assert_allclose([bar.get_width() for bar in ax.patches], curve.effect[:, 0])
    assert_array_equal([bar.get_width() for bar in ax.child_axes[0].patches], curve.density.counts)


def test_missing_values_have_a_marker(table_model):
    display = ShapeDisplay.from_estimator(table_model, "income")
    (ax,) = display.axes_
    markers = [line for line in ax.lines if line.get_linestyle() == "None"]
    expected = table_model.shapes_.curve("income", centred=True).missing_effect
    assert [line.get_ydata()[0] for line in markers] == list(expected)
    low, high = ax.get_ylim()
    assert low < expected[0] < high


def test_heat_map_of_a_pair(table_model):
    shapes = table_model.shapes_
    k = shapes.n_features
    display = ShapeDisplay.from_estimator(table_model, k)
    (ax,) = display.axes_
    mesh = ax.collections[0]
    curve = shapes.curve(k, centred=True)
    assert_allclose(np.asarray(mesh.get_array()).ravel(), curve.effect[..., 0].T.ravel())
    assert mesh.norm.vmin == -mesh.norm.vmax == -np.abs(curve.effect).max()
    names = [shapes.name_of(j) for j in shapes.functions[k]]
    assert [ax.get_xlabel(), ax.get_ylabel()] == names
    assert ax.get_title() == " × ".join(names)


def test_pair_of_several_classes_names_the_class():
    rng = np.random.default_rng(0)
    X = rng.random((900, 2))
    y = np.where((X[:, 0] > 0.5) == (X[:, 1] > 0.5), "red", np.where(X[:, 0] > 0.8, "green", "blue"))
    model = AdditiveSVC(interactions=1).fit(X, y)
    display = ShapeDisplay.from_estimator(model, 2)
    effect = model.shapes_.curve(2, centred=True).effect
    strongest = int(np.argmax(np.ptp(effect, axis=(0, 1))))
    assert display.axes_[0].get_title() == f"feature 0 × feature 1 → {model.classes_[strongest]}"
    assert_allclose(np.asarray(display.axes_[0].collections[0].get_array()).ravel(), effect[..., strongest].T.ravel())


def test_axes_name_the_class_of_the_score(table_model, regression):
    label = f"effect on the score of {table_model.classes_[1]}"
    number, category = ShapeDisplay.from_estimator(table_model, ["age", "region"]).axes_
    assert number.get_ylabel() == category.get_xlabel() == label
    figure = ShapeDisplay.from_estimator(table_model, [5]).figure_
    assert label in [ax.get_ylabel() for ax in figure.axes]
    assert ShapeDisplay.from_estimator(regression, [0]).axes_[0].get_ylabel() == "effect on the prediction"


def test_names_of_many_levels_of_a_pair_do_not_overlap():
    rng = np.random.default_rng(0)
    day = rng.integers(30, size=1500)
    X = np.array([[f"{k:02d}.11.2024", "ab"[k % 2]] for k in day], dtype=object)
    model = AdditiveSVC(interactions=[(0, 1)]).fit(X, rng.random(1500) < 0.5)
    display = ShapeDisplay.from_estimator(model, [0, 1, 2])
    display.figure_.canvas.draw()
    renderer = display.figure_.canvas.get_renderer()
    labels = display.axes_[2].get_xticklabels()
    assert len(labels) == 16
    assert overlaps(labels, renderer) == []


def test_many_classes_and_levels():
    """Markers instead of bars; the most frequent levels; the ten classes that vary most."""
    rng = np.random.default_rng(0)
    town = rng.integers(30, size=2000)
    X = np.array([[f"town {k}"] for k in town], dtype=object)
    model = AdditiveSVC().fit(X, town % 12)
    display = ShapeDisplay.from_estimator(model)
    (ax,) = display.axes_
    assert len(display.problems) == len(display.legend_.get_texts()) == 10
    dots = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert len(dots) == 10
    assert len(ax.get_yticks()) == len(dots[0].get_xdata()) == 12
    assert ax.get_xlabel() == "effect on the score (18 more levels)"
    curve = model.shapes_.curve(0, centred=True)
    kept = sorted(np.argsort(-curve.density.counts, kind="stable")[:12])
    assert_array_equal(dots[0].get_xdata(), curve.effect[kept, display.problems[0]])


def test_scales(table_model):
    same = ShapeDisplay.from_estimator(table_model, ["age", "visits"])
    assert same.axes_[0].get_ylim() == same.axes_[1].get_ylim()
    own = ShapeDisplay.from_estimator(table_model, ["age", "visits"], shared_scale=False)
    assert own.axes_[0].get_ylim() != own.axes_[1].get_ylim()


def test_one_large_curve_does_not_flatten_the_others():
    rng = np.random.default_rng(0)
    X = rng.random((500, 4))
    model = AdditiveSVR().fit(X, 100.0 * X[:, 0] + X[:, 1:].sum(axis=1))
    display = ShapeDisplay.from_estimator(model)
    assert len({ax.get_ylim() for ax in display.axes_}) == 4
    shared = ShapeDisplay.from_estimator(model, shared_scale=True)
    assert len({ax.get_ylim() for ax in shared.axes_}) == 1


def test_given_axes(regression):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    display = ShapeDisplay.from_estimator(regression, [0, 1], ax=axes)
    assert display.figure_ is figure
    assert display.axes_ == list(axes)
    again = display.plot()
    assert again.figure_ is not figure
    with pytest.raises(ValueError, match="ax must be 2 axes, one for each panel; got 1"):
        display.plot(axes[0])


def test_search_and_pipelines(customers):
    X, y = customers
    searched = AdditiveSVCCV(Cs=[1.0], cv=2).fit(X[:200], y[:200])
    assert ShapeDisplay.from_estimator(searched, "age").axes_[0].get_title() == "age"
    numbers = X[["age", "visits"]]
    pipeline = make_pipeline(MinMaxScaler(), AdditiveSVC("chi2")).fit(numbers, y)
    assert ShapeDisplay.from_estimator(pipeline, "visits").axes_[0].get_title() == "visits"
    unnamed = make_pipeline(MinMaxScaler(), AdditiveSVRCV(Cs=[1.0], cv=2)).fit(numbers.to_numpy(), X.visits)
    assert ShapeDisplay.from_estimator(unnamed, 1).axes_[0].get_title() == "feature 1"


def test_errors(regression, table_model):
    with pytest.raises(TypeError, match=r"ShapeDisplay takes AdditiveSVC.*; got NystromSVC"):
        ShapeDisplay.from_estimator(NystromSVC())
    with pytest.raises(ValueError, match="features is empty"):
        ShapeDisplay.from_estimator(regression, [])
    with pytest.raises(ValueError, match="top must be at least 1; got 0"):
        ShapeDisplay.from_estimator(regression, top=0)
    with pytest.raises(ValueError, match=r"'maybe' is not a class with a score of its own. There are: returns"):
        ShapeDisplay.from_estimator(table_model, classes=["maybe"])


def test_older_model_files(regression):
    """These hold no facts about the training rows: the curves are drawn as they are, without a strip."""
    from sklearn.base import clone

    model = clone(regression)
    model.__dict__.update(regression.__dict__, shapes_=replace(regression.shapes_, training=None))
    display = ShapeDisplay.from_estimator(model)
    order = np.argsort(-model.feature_importances_, kind="stable")
    assert [ax.get_title() for ax in display.axes_] == [f"feature {k}" for k in order]
    (line,) = lines_of(display.axes_[0])
    assert_array_equal(line.get_ydata(), model.shapes_.curve(int(order[0])).effect[:, 0])
    assert display.axes_[0].child_axes == []


def test_wide_model_draws_the_top(wide_model):
    display = ShapeDisplay.from_estimator(wide_model)
    assert [ax.get_title() for ax in display.axes_] == [f"feature {k}" for k in wide_model.shapes_.top(9)]


def test_hostile_names(hostile_model, no_overlaps):
    display = ShapeDisplay.from_estimator(hostile_model)
    no_overlaps(display.figure_)
    titles = [ax.get_title() for ax in display.axes_]
    assert len(titles) == len(HOSTILE)
    assert not any(set("\n\x07\u202e") & set(title) for title in titles)
    assert max(map(len, titles)) <= 30
    assert "_hidden line" in titles
    assert display.legend_.get_texts()[0].get_text() == "_a$b$<i>"


@pytest.mark.parametrize("name", ["digits_model", "table_model", "wide_model", "regression"])
def test_labels_do_not_overlap(name, request, no_overlaps):
    no_overlaps(ShapeDisplay.from_estimator(request.getfixturevalue(name)).figure_)


def test_pairs_by_names(table_model):
    names = tuple(table_model.shapes_.function_names[5].split(" × "))
    display = ShapeDisplay.from_estimator(table_model, ["age", names])
    assert display.column_names == [("age",), names]
    with pytest.raises(ValueError, match=r"^ShapeDisplay: no feature 'agee'"):
        ShapeDisplay.from_estimator(table_model, ["agee"])
