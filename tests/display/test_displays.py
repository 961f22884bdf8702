"""The other displays: what is drawn is what the model says."""

import builtins

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import kernline
from kernline import AdditiveSVC, BudgetedSVC, NystromSVC, analysis, kernels, tables
from kernline.display import (
    ApproximationDisplay,
    ContributionDisplay,
    ConvergenceDisplay,
    ImageDisplay,
    ImportanceDisplay,
    MergeSurfaceDisplay,
)
from kernline.landmarks import merging


def test_importance_bars(table_model, no_overlaps):
    display = ImportanceDisplay.from_estimator(table_model, top=4)
    importance = table_model.shapes_.importance()[:, 0]
    order = np.argsort(-importance)[:4]
    assert_allclose([bar.get_width() for bar in display.bars_], importance[order])
    assert [text.get_text() for text in display.axes_.get_yticklabels()] == [
        table_model.shapes_.name_of(k) for k in order
    ]
    assert display.axes_.get_title(loc="left") == "4 of 7 features"
    no_overlaps(display.figure_)


def test_importance_of_rows_and_of_a_class(digits_model, digits):
    X = digits[0]
    display = ImportanceDisplay.from_estimator(digits_model, X, class_name=3, top=5)
    expected = digits_model.shapes_.importance(X)[:, 3]
    assert_allclose(display.values, np.sort(expected)[::-1][:5])
    assert display.axes_.get_xlabel() == "mean |effect on the score|"
    assert display.axes_.get_title(loc="left") == "3, 5 of 64 features"
    with pytest.raises(ValueError, match="top must be at least 1; got 0"):
        ImportanceDisplay.from_estimator(digits_model, top=0)


def test_importance_of_a_wide_model(wide_model, no_overlaps):
    display = ImportanceDisplay.from_estimator(wide_model)
    assert display.axes_.get_title(loc="left") == "20 of 60,000 features"
    no_overlaps(display.figure_)


@pytest.mark.parametrize("centred", [True, False])
def test_contributions_add_up(table_model, customers, centred, no_overlaps):
    X = customers[0]
    display = ContributionDisplay.from_estimator(table_model, X, 7, top=3, centred=centred)
    widths = [bar.get_width() for bar in display.bars_]
    expected = table_model.decision_function(X[7:8])[0]
    assert_allclose(display.start + sum(widths), expected, atol=1e-5)
    assert_allclose(display.score, expected, atol=1e-5)
    assert_array_equal(widths[:3], display.values)
    labels = [text.get_text() for text in display.axes_.get_yticklabels()]
    assert labels[3:] == ["4 other features"]
    start = "mean score" if centred else "intercept"
    assert display.axes_.get_xlabel() == f"added to the {start}, {display.start:.4g}".replace("-", "−")
    assert display.axes_.get_title(loc="left") == f"score of returns: {expected:.4g}".replace("-", "−")
    assert (np.abs(display.values)[:-1] >= np.abs(display.values)[1:]).all()
    no_overlaps(display.figure_)


def test_contribution_labels(table_model, customers):
    X = customers[0].iloc[:1].assign(income=np.nan, age=43.0, region="south", discount=True)
    display = ContributionDisplay.from_estimator(table_model, X)
    assert {"income = missing", "age = 43", "region = south", "discount = True"} <= set(display.labels)


@pytest.mark.parametrize("kind", ["pyarrow", "polars", "LevelTable", "objects"])
def test_contributions_of_tables_of_all_kinds(table_model, customers, kind, tmp_path):
    X = customers[0][:5]
    expected = ContributionDisplay.from_estimator(table_model, X, 1)
    if kind == "pyarrow":
        table = pytest.importorskip("pyarrow").Table.from_pandas(X)
    elif kind == "polars":
        table = pytest.importorskip("polars").from_pandas(X)
    elif kind == "objects":
        table = X.to_numpy(dtype=object)
    else:
        pytest.importorskip("pyarrow")
        X.to_csv(tmp_path / "x.csv", index=False)
        table = kernline.io.read(tmp_path / "x.csv", target=None).X
    with np.errstate(all="raise"):
        found = ContributionDisplay.from_estimator(table_model, table, 1)
    assert_allclose(found.values, expected.values)
    # A file has no booleans, only 0 and 1.
    assert [_as_number(label) for label in found.labels] == [_as_number(label) for label in expected.labels]


def _as_number(label):
    return label.replace("True", "1").replace("False", "0")


def test_contributions_of_sparse_rows(wide_model):
    X = sp.csr_array((np.array([1.0, 2.0]), (np.array([1, 1]), np.array([5, 40_000]))), shape=(2, 60_000))
    display = ContributionDisplay.from_estimator(wide_model, X, -1)
    assert set(display.labels) <= {"feature 5 = 1", "feature 40000 = 2"}
    assert_allclose(display.score, wide_model.decision_function(X)[1], atol=1e-5)
    assert display.axes_.get_xlabel().startswith("added to the intercept")


def test_contributions_are_of_the_predicted_class(digits_model, digits):
    X = digits[0]
    display = ContributionDisplay.from_estimator(digits_model, X, 5)
    assert display.class_name == str(digits_model.predict(X[5:6])[0])
    other = ContributionDisplay.from_estimator(digits_model, X, 5, class_name=2)
    assert_allclose(other.score, digits_model.decision_function(X[5:6])[0, 2], atol=1e-5)
    with pytest.raises(IndexError, match="no row 2000; X has 1797 rows"):
        ContributionDisplay.from_estimator(digits_model, X, 2000)
    with pytest.raises(ValueError, match="X must be a table of rows"):
        ContributionDisplay.from_estimator(digits_model, X[0])


def test_contributions_in_a_pipeline(customers):
    X, y = customers[0][["age", "visits"]], customers[1]
    pipeline = make_pipeline(MinMaxScaler(), AdditiveSVC("chi2")).fit(X, y)
    display = ContributionDisplay.from_estimator(pipeline, X, 3)
    assert_allclose(display.score, pipeline.decision_function(X[3:4])[0], atol=1e-5)
    assert {label.partition(" = ")[0] for label in display.labels} == {"age", "visits"}


def test_contributions_of_a_text():
    """Only the words that occur are drawn, by name."""
    texts = ["red apple", "green apple", "red car", "fast car"] * 5
    pipeline = make_pipeline(CountVectorizer(), AdditiveSVC("chi2")).fit(
        texts, ["fruit", "fruit", "thing", "thing"] * 5
    )
    display = ContributionDisplay.from_estimator(pipeline, texts, 2)
    assert {label.partition(" = ")[0] for label in display.labels} <= {"red", "car"}
    assert_allclose(display.score, pipeline.decision_function(texts[2:3])[0], atol=1e-5)
    assert display.class_name == "thing"


def test_hostile_names(hostile_model, hostile_rows, no_overlaps):
    no_overlaps(ImportanceDisplay.from_estimator(hostile_model).figure_)
    for name in hostile_model.classes_:
        no_overlaps(ImportanceDisplay.from_estimator(hostile_model, class_name=name, top=2).figure_)
        no_overlaps(ContributionDisplay.from_estimator(hostile_model, hostile_rows[0], class_name=name).figure_)
    display = ContributionDisplay.from_estimator(hostile_model, hostile_rows[0])
    no_overlaps(display.figure_)
    assert not any("\n" in label for label in display.labels)


def test_convergence(digits_model, no_overlaps):
    display = ConvergenceDisplay.from_estimator(digits_model)
    for k, history in enumerate(digits_model.history_):
        by_epoch, by_second = (ax.lines[k] for ax in display.axes_)
        assert_array_equal(by_epoch.get_xdata(), [report.epoch for report in history])
        assert_array_equal(by_second.get_xdata(), [report.seconds for report in history])
        expected = [report.gap / (report.dual + report.gap) for report in history]
        assert_allclose(by_epoch.get_ydata(), expected)
    assert [text.get_text() for text in display.legend_.get_texts()] == [str(k) for k in range(10)]
    assert display.axes_[0].lines[-1].get_ydata()[0] == digits_model.tol
    assert display.axes_[0].get_yscale() == "log"
    no_overlaps(display.figure_)


def test_convergence_of_other_estimators(digits, regression, tmp_path):
    X, y = digits[0][:300], digits[1][:300] % 2
    budgeted = BudgetedSVC(budget=20, passes=3).fit(X, y)
    display = ConvergenceDisplay.from_estimator(budgeted)
    assert_allclose(display.axes_[0].lines[0].get_ydata(), [report.loss for report in budgeted.history_[0]])
    assert display.axes_[0].get_ylabel() == "mean loss of a pass"
    assert display.legend_ is None
    assert len(ConvergenceDisplay.from_estimator(make_pipeline(NystromSVC(n_basis=20)).fit(X, y)).axes_) == 2
    assert len(ConvergenceDisplay.from_estimator(regression).axes_) == 2
    kernline.save(regression, tmp_path / "m.kern")
    loaded = ConvergenceDisplay.from_estimator(kernline.load(tmp_path / "m.kern"))
    assert [ax.get_xlabel() for ax in loaded.axes_] == ["epoch"]  # files do not store seconds


def test_convergence_on_one_axes(digits_model):
    import matplotlib.pyplot as plt

    ax = plt.subplots()[1]
    display = ConvergenceDisplay.from_estimator(digits_model, ax=ax)
    assert display.axes_ == [ax]
    assert ax.get_legend() is display.legend_


def test_approximation():
    rng = np.random.default_rng(0)
    column, coefficients = rng.random(50), rng.standard_normal(50)
    methods = {f"degree {m}": tables.PolynomialGradient(m) for m in (2, 3)}
    display = ApproximationDisplay.from_methods(kernels.Chi2(), methods, column, coefficients)
    exact, *lines = display.axes_.lines
    for line, method in zip(lines, methods.values(), strict=True):
        curve = analysis.gradient_curve(kernels.Chi2(), method, column, coefficients)
        assert_array_equal(line.get_ydata(), curve.approximate)
        assert_array_equal(exact.get_ydata(), curve.exact)
    texts = display.axes_.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["exact", "degree 2", "degree 3"]
    with pytest.raises(ValueError, match="no curves to draw"):
        ApproximationDisplay({}).plot()


def test_approximation_of_a_model(digits_model, digits, table_model, customers):
    X, y = digits
    display = ApproximationDisplay.from_estimator(digits_model, X, y, 20)
    coefficients = analysis.random_coefficients(np.where(y == y[0], 1.0, -1.0))
    expected = analysis.gradient_curve(kernels.Chi2(), "hats", X[:, 20] / 16.0, coefficients)
    assert_allclose(display.curves["hats"].exact, expected.exact, atol=1e-9)
    sparse = ApproximationDisplay.from_estimator(digits_model, sp.csr_array(X), y, 20)
    assert_allclose(sparse.curves["hats"].exact, expected.exact, atol=1e-9)
    ranked = ApproximationDisplay.from_estimator(table_model, *customers, "age")
    assert ranked.curves["hats"].relative_error.max() < 0.1
    with pytest.raises(ValueError, match="feature 'region' is not a number"):
        ApproximationDisplay.from_estimator(table_model, *customers, "region")


def test_merge_surface():
    display = MergeSurfaceDisplay.from_estimator(BudgetedSVC(grid_size=50))
    h, loss = merging.tables(50)
    for ax, table in zip(display.axes_, (h, loss), strict=True):
        assert_array_equal(np.asarray(ax.images[0].get_array()), table)
        assert ax.images[0].get_extent() == [0.0, 1.0, 0.0, 0.5]
    assert MergeSurfaceDisplay.from_size(5000).h.shape == (400, 400)
    with pytest.raises(TypeError, match="takes BudgetedSVC"):
        MergeSurfaceDisplay.from_estimator(NystromSVC())


def test_images(digits_model, no_overlaps):
    display = ImageDisplay.from_estimator(digits_model)
    shapes = digits_model.shapes_
    for k, ax in enumerate(display.axes_):
        expected = [np.subtract(*shapes.evaluate(j, [16.0, 0.0])[:, k]) for j in range(64)]
        ranges = [shapes.curve(j).x[-1] for j in range(64)]
        image = np.asarray(ax.images[0].get_array()).ravel()
        full = np.array(ranges) == 16.0
        assert_allclose(image[full], np.array(expected)[full], atol=1e-5)
        assert ax.get_title() == str(k)
        assert ax.images[0].norm.vmin == -ax.images[0].norm.vmax
    no_overlaps(display.figure_)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_images_of_rows(digits_model, digits, form):
    X = digits[0][:3]
    display = ImageDisplay.from_estimator(digits_model, (8, 8), form(X), classes=[2, 7])
    scores = digits_model.decision_function(X)[:, [2, 7]].mean(axis=0)
    assert_allclose(display.images.sum(axis=(1, 2)) + digits_model.intercept_[[2, 7]], scores, atol=1e-5)
    assert [ax.get_title() for ax in display.axes_] == ["2", "7"]


@pytest.mark.parametrize("kernel", ["auto", "linear", "chi2"])
def test_images_of_all_scales(kernel, digits):
    """The picture is the difference between the ends of each curve."""
    X, y = digits[0][:300] + 1.0, digits[1][:300] % 2
    model = AdditiveSVC(kernel).fit(X, y)
    image = ImageDisplay.from_estimator(model).images[0].ravel()
    low = X.min(axis=0) if kernel == "linear" else np.zeros(64)  # elsewhere the lowest code is that of zero
    effects = [model.shapes_.evaluate(j, [X[:, j].max(), low[j]])[:, 0] for j in range(64)]
    assert_allclose(image, [high - low for high, low in effects], atol=1e-5)


def test_images_are_of_pixels(table_model):
    with pytest.raises(ValueError, match="feature 'region' is a category, not a pixel"):
        ImageDisplay.from_estimator(table_model, (1, 5))


def test_images_need_a_shape(regression):
    with pytest.raises(ValueError, match=r"has 3 features, which is not the number of pixels of a square. Pass shape"):
        ImageDisplay.from_estimator(regression)
    assert ImageDisplay.from_estimator(regression, (1, 3)).images.shape == (1, 1, 3)


def test_without_matplotlib(regression, monkeypatch):
    imported = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"kernline.display needs matplotlib: pip install 'kernline\[plot\]'"):
        ImportanceDisplay.from_estimator(regression)
