"""Reports of every kind of model: what they contain, their size, and errors."""

import json
import re
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import kernline
from kernline.report import listing as listing_module
from kernline.report import writing
from kernline.report.outcome import classified
from kernline.report.rows import reasons, worst_rows

from .models import digits, landmark_models, mixed, regression, table_model, words


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="report-data">(.*?)</script>', text, flags=re.DOTALL).group(1))


def sections_of(path):
    return re.findall(r'<section id="([\w-]+)"', path.read_text(encoding="utf-8"))


def test_every_kind_of_additive_model(tmp_path, kinds):
    path = tmp_path / "report.html"
    for name, model, X, y in kinds:
        kernline.report(model, X, y, path)
        found = sections_of(path)
        assert {"summary", "scores", "features", "what-if", "wrong", "training", "facts"} <= set(found), name
        assert ("confusion" in found) == hasattr(model, "decision_function"), name
        assert path.stat().st_size < 5_000_000


def test_pipelines_have_the_names_that_their_steps_give(tmp_path):
    frame, signal, _ = mixed()
    steps = make_column_transformer(
        (SimpleImputer(), ["age", "income", "balance"]), (OneHotEncoder(sparse_output=False), ["colour"])
    )
    model = make_pipeline(steps, kernline.AdditiveSVC(random_state=0)).fit(frame, signal > 0.3)
    path = tmp_path / "report.html"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernline.report(model, frame, signal > 0.3, path)
    assert sorted(data_of(path)["functions"]["names"]) == sorted(model[:-1].get_feature_names_out())
    known = {name for pushed in shown_reasons(path).values() for name, _ in pushed}
    assert known <= set(model[:-1].get_feature_names_out())
    assert "5, from which the steps before the model make 8" in path.read_text(encoding="utf-8")


def test_a_search_is_reported_as_the_estimator_that_it_found(tmp_path):
    X, y, X_test, y_test = digits()
    search = GridSearchCV(make_pipeline(MinMaxScaler(), kernline.AdditiveSVC(tol=0.1)), {"additivesvc__C": [1]}, cv=2)
    kernline.report(search.fit(X, y), X_test, y_test, tmp_path / "report.html")
    assert "features" in sections_of(tmp_path / "report.html")
    assert "MinMaxScaler → AdditiveSVC" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_landmark_models_have_scores_but_no_curves(tmp_path):
    path = tmp_path / "report.html"
    for model, X, y in landmark_models():
        kernline.report(model, X, y, path)
        found = sections_of(path)
        assert {"summary", "scores", "confusion", "curves", "wrong", "training"} <= set(found)
        assert not {"features", "what-if"} & set(found)
        assert data_of(path)["convergence"]


def test_the_page_says_what_was_measured(tmp_path):
    model, X, y = table_model()
    path = tmp_path / "report.html"
    kernline.report(model, X, y, path, title="Title", source="rows.csv")
    text = path.read_text(encoding="utf-8")
    share = model.score(X, y)
    assert f"{100 * share:.2f} %" in text
    assert "Wilson" in text
    assert "bootstrap" in text
    assert "<title>Title</title>" in text
    assert "rows.csv" in text
    assert kernline.__version__ in text
    assert f"{len(X):,}" in text
    assert "size-note" not in text


def test_a_regression_has_errors_in_place_of_labels(tmp_path):
    model, X, y = regression()
    path = tmp_path / "report.html"
    kernline.report(model, X, y, path)
    text = path.read_text(encoding="utf-8")
    assert "R²" in text
    assert f"{model.score(X, y):.4g}" in text
    assert data_of(path)["task"] == "regression"
    assert "in the unit of y" in text
    assert "mean prediction of these rows" in text


def test_a_regression_of_several_outputs_is_summed_up_for_each(tmp_path):
    X, y, X_test, y_test = digits()
    model = kernline.AdditiveSVR(random_state=0).fit(X, np.column_stack([y, X[:, 20]]))
    kernline.report(model, X_test, np.column_stack([y_test, X_test[:, 20]]), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    summary = text.partition('<section id="summary"')[2].partition("</section>")[0]
    assert re.findall("<dt>(R².*?)</dt>", summary) == ["R² of output 0", "R² of output 1"]
    assert "averaged over outputs" in text
    wrong = text.partition('<section id="wrong"')[2].partition("</section>")[0]
    assert len(re.findall(r"output [01]: <bdi>", wrong)) == 10


def test_large_models_are_cut_to_size(tmp_path, monkeypatch):
    X, y = words(n_features=3000, n_classes=30)
    model = kernline.AdditiveSVC(random_state=0, tol=0.1).fit(X, y)
    path = tmp_path / "report.html"
    kernline.report(model, X, y, path)
    whole = path.stat().st_size
    assert "size-note" in path.read_text(encoding="utf-8")
    assert whole < 5_000_000
    monkeypatch.setattr(writing, "MOST_BYTES", whole - 1_000_000)
    kernline.report(model, X, y, path)
    assert path.stat().st_size < whole - 1_000_000
    found = data_of(path)
    assert found["functions"]["drawn"]["perFunction"] == 3
    assert len(found["rows"]) >= 1


def test_very_wide_models_list_the_most_important_features(tmp_path, monkeypatch):
    monkeypatch.setattr(listing_module, "_MOST_LISTED", 100)
    X, y = words()
    model = kernline.AdditiveSVC(random_state=0).fit(X, y)
    path = tmp_path / "report.html"
    kernline.report(model, X, y, path)
    assert "The list has 100 of 400 functions" in path.read_text(encoding="utf-8")


def test_importance_of_models_without_facts_of_training():
    model, _, _ = table_model()
    shapes = replace(model.shapes_, training=None)
    found = listing_module.importance_of(shapes)
    assert found.measure == "range"
    points = np.linspace(*shapes.encoder.number(2).points[0][[0, -1]], 1000)
    assert found.values[2, 0] == pytest.approx(np.ptp(shapes.evaluate(2, points)), rel=0.05)
    levels = np.append(shapes.evaluate(3, ["red", "green", "blue", "violet", None])[:, 0], 0.0)
    assert found.values[3, 0] == pytest.approx(np.ptp(levels), rel=1e-5)
    assert (found.values[5:] > 0.0).all()  # pairs


def test_sparse_and_dense_rows_give_the_same_data(tmp_path):
    X, y, X_test, y_test = digits()
    model = kernline.AdditiveSVC(random_state=0).fit(X, y)
    pages = []
    for rows in (X_test, sp.csr_array(X_test)):
        kernline.report(model, rows, y_test, tmp_path / "report.html")
        pages.append(data_of(tmp_path / "report.html"))
    assert pages[0]["rows"] == pages[1]["rows"]


def test_it_can_be_called_after_its_modules_are_imported():
    program = "import kernline\nimport kernline.report.writing\nassert callable(kernline.report)"
    subprocess.run([sys.executable, "-c", program + "\nassert kernline.report.report"], check=True)


def test_errors(tmp_path):
    X, y, X_test, y_test = digits()
    path = tmp_path / "report.html"
    model = kernline.AdditiveSVC(random_state=0)
    with pytest.raises(ValueError, match="not fitted"):
        kernline.report(model, X_test, y_test, path)
    model.fit(X, y)
    with pytest.raises(ValueError, match="same number of rows"):
        kernline.report(model, X_test, y_test[:-1], path)
    with pytest.raises(ValueError, match="one label per row"):
        kernline.report(model, X_test, np.column_stack([y_test, y_test]), path)
    several = kernline.AdditiveSVC(random_state=0).fit(X, np.column_stack([y > 4, y % 2 == 0]).astype(int))
    with pytest.raises(ValueError, match="one label per row; this one predicts several"):
        kernline.report(several, X_test, y_test, path)
    with pytest.raises(TypeError, match="got str"):
        kernline.report("model.kern", X_test, y_test, path)
    with pytest.raises(ValueError, match="got labels"):
        kernline.report(kernline.AdditiveSVR(random_state=0).fit(X, y), X_test, ["a"] * len(y_test), path)
    assert not path.exists()


@pytest.mark.parametrize("gap", [None, float("nan"), "NA"])
def test_missing_labels_are_refused(tmp_path, gap):
    X, y, X_test, _ = digits()
    for labels in (y, np.array(["zero or one", "more"], dtype=object)[(y > 1).astype(int)]):
        given = pd.Series(labels[:200], dtype=object)
        given[[3, 5]] = pd.NA if gap == "NA" else gap
        model = kernline.AdditiveSVC(random_state=0, tol=0.1).fit(X, labels)
        with pytest.raises(ValueError, match="lacks the labels of 2 of its 200 rows"):
            kernline.report(model, X_test, given, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_y_of_other_kinds_is_refused(tmp_path):
    X, y, X_test, y_test = digits()
    path = tmp_path / "report.html"
    classifier = kernline.AdditiveSVC(random_state=0, tol=0.1).fit(X, y)
    regressor = kernline.AdditiveSVR(random_state=0).fit(X, y)
    for model in (classifier, regressor):
        for given in (None, 3, "yes"):
            with pytest.raises(ValueError, match=f"for each row of X; got {given!r}"):
                kernline.report(model, X_test, given, path)
    with pytest.raises(ValueError, match="finite numbers; 1 of its 200 rows"):
        kernline.report(regressor, X_test, np.where(np.arange(200) == 7, np.nan, y_test), path)
    with pytest.raises(ValueError, match=r"in shape \(200,\); got shape \(200, 2\)"):
        kernline.report(regressor, X_test, np.column_stack([y_test, y_test]), path)


@pytest.mark.parametrize("step", ["passthrough", None])
def test_steps_that_pass_rows_through_are_left_out(tmp_path, step):
    X, y, X_test, y_test = digits()
    model = Pipeline([("nothing", step), ("scale", MinMaxScaler()), ("model", kernline.AdditiveSVC(random_state=0))])
    kernline.report(model.fit(X, y), X_test, y_test, tmp_path / "report.html")
    assert "<title>MinMaxScaler → AdditiveSVC: report</title>" in (tmp_path / "report.html").read_text("utf-8")


def test_a_regression_of_very_large_numbers(tmp_path):
    X, y, X_test, y_test = digits()
    model = kernline.AdditiveSVR(random_state=0).fit(X, y)
    path = tmp_path / "report.html"
    with pytest.raises(
        ValueError, match=r"squares of y, so that these must be at most 1e\+150 in size; got 1\.7e\+308"
    ):
        kernline.report(model, X_test, np.where(y_test > 4, 1.7e308, -1.7e308), path)
    assert not path.exists()
    for given in (np.full(200, 1e30), np.where(y_test > 4, 1e16, 1e16 + 2), np.where(y_test > 4, 1e149, -1e149)):
        kernline.report(model, X_test, given, path)
        edges, counts = data_of(path)["regression"][0]["errors"]
        assert sum(counts) == 200
        assert len(edges) == len(counts) + 1


def test_long_names_do_not_fill_the_page(tmp_path):
    model, X, y = table_model()
    long = "n" * 1_000_000
    frame = X.assign(colour=X["colour"] + long).rename(columns={"age": "a" + long})
    labels = np.array([label + long for label in y], dtype=object)
    model = kernline.AdditiveSVC(scale="rank", interactions=1, categorical=["colour"], random_state=0).fit(
        frame, labels
    )
    path = tmp_path / "report.html"
    kernline.report(model, frame, labels, path, title="t" + long, source="s" + long)
    text = path.read_text(encoding="utf-8")
    assert len(text) < 5_000_000
    assert "n" * 201 not in text
    for begin in ("a", "red", "yes", "t", "s"):
        shown = begin + "n" * (199 - len(begin))
        assert f"{shown}…" in text or f"{shown}\\u2026" in text


def test_edits_and_unknown_labels_are_listed_up_to_100(tmp_path):
    model, X, _ = table_model()
    shapes = model.shapes_.with_history(model.shapes_.training, tuple(f"change {k}" for k in range(100_000)))
    path = tmp_path / "report.html"
    with pytest.warns(UserWarning, match="100 of 100 rows have labels"):
        kernline.report(model.with_shapes(shapes), X, [f"unknown {k}" for k in range(len(X))], path)
    text = path.read_text(encoding="utf-8")
    assert "change 99<" in text
    assert "change 100<" not in text
    assert "and 99,900 more" in text
    rows = X.loc[X.index.repeat(30)]
    with pytest.warns(UserWarning, match="3,000 of 3,000 rows have labels"):
        kernline.report(model, rows, [f"unknown {k:04}" for k in range(len(rows))], path)
    text = path.read_text(encoding="utf-8")
    assert "unknown 0099" in text
    assert "and 2,900 more" in text
    assert path.stat().st_size < 5_000_000


def test_the_callable_module_has_the_signature_and_text_of_the_function():
    """And can be called before its modules are imported."""
    program = """
import inspect, pydoc, kernline
assert callable(kernline.report)
called, function = inspect.signature(kernline.report), inspect.signature(kernline.report.report)
assert list(called.parameters) == list(function.parameters) == ["model", "X", "y", "path", "title", "source"]
assert called == function
shown = pydoc.render_doc(kernline.report, renderer=pydoc.plaintext)
assert "report(model: " in shown and "Write a page about a fitted model" in shown and "**options" not in shown
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_bokeh_is_needed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh", None)
    X, y, X_test, y_test = digits()
    model = kernline.AdditiveSVC(random_state=0).fit(X, y)
    with pytest.raises(ImportError, match=r"kernline\[report\]"):
        kernline.report(model, X_test, y_test, tmp_path / "report.html")


@pytest.mark.parametrize("rows", [[0], [0, 1], [3, 3, 3]])
def test_few_rows_and_few_classes(tmp_path, rows):
    X, y, X_test, y_test = digits()
    model = kernline.AdditiveSVC(loss="log", random_state=0).fit(X, y)
    kernline.report(model, X_test[rows], y_test[rows], tmp_path / "report.html")
    assert len(data_of(tmp_path / "report.html")["rows"]) == len(rows)
    kernline.report(
        kernline.AdditiveSVR(random_state=0).fit(X, y), X_test[rows], y_test[rows], tmp_path / "report.html"
    )
    assert data_of(tmp_path / "report.html")["task"] == "regression"


def test_unknown_labels_are_counted(tmp_path):
    X, y, X_test, y_test = digits()
    model = kernline.AdditiveSVC(random_state=0).fit(X[y < 5], y[y < 5])
    n_unknown = int((y_test >= 5).sum())
    with pytest.warns(UserWarning, match=f"{n_unknown} of 200 rows have labels that .* such as 5, 6, 7; .* 0, 1, 2"):
        kernline.report(model, X_test, y_test, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{(y_test >= 5).sum():,}" in text.partition("Rows with a label that the model does not know")[2][:80]


def test_reasons_are_the_largest_differences_between_two_scores():
    X, y, X_test, y_test = digits()
    model = kernline.AdditiveSVC(random_state=0).fit(X, y)
    outcome = classified(model, X_test, y_test)
    row = worst_rows(outcome)[0]
    parts = model.shapes_.explain(X_test[[row]])
    push = parts.row(0, outcome.found[row]) - parts.row(0, outcome.true[row])
    found = reasons(model.shapes_, X_test, outcome, row, [1.0] * 10)
    assert [int(name) for name, _ in found] == np.argsort(-push, kind="stable")[:3].tolist()
    np.testing.assert_allclose([value for _, value in found], np.sort(push)[::-1][:3])


def shown_reasons(path):
    """For each of the most wrong rows, what pushed it there, as the page says."""
    text = path.read_text(encoding="utf-8").partition('<section id="wrong"')[2].partition("</section>")[0]
    rows = re.findall(r'<th scope="row">Row (\d+)</th>(.*?)</tr>', text)
    pushes = re.compile(r"<bdi>([^<]*)</bdi> (−?[\d.e+−]+)")
    return {
        int(row) - 1: [(name, float(push.replace("−", "-"))) for name, push in pushes.findall(cells.split("<td")[-1])]
        for row, cells in rows
    }


def test_reasons_are_centred_effects(tmp_path):
    path = tmp_path / "report.html"
    model, X, y = table_model()
    kernline.report(model, X, y, path)
    found, effects = shown_reasons(path), model.shapes_.centred().explain(X)
    assert len(found) > 3
    for row, pushed in found.items():
        push = effects.row(row) * np.sign(model.decision_function(X)[row])
        best = np.argsort(-push, kind="stable")[:3]
        assert [name for name, _ in pushed] == [model.shapes_.name_of(int(k)) for k in best if push[k] > 0.0]
        np.testing.assert_allclose([value for _, value in pushed], push[best][: len(pushed)], rtol=1e-3)


def test_reasons_of_several_outputs_are_in_the_unit_of_the_worst(tmp_path):
    path = tmp_path / "report.html"
    X, y, X_test, y_test = digits()
    model = kernline.AdditiveSVR(random_state=0).fit(X, np.column_stack([y, 1e30 * X[:, 20]]))
    true = np.column_stack([y_test, 1e30 * X_test[:, 20]])
    kernline.report(model, X_test, true, path)
    found, effects = shown_reasons(path), model.shapes_.centred().explain(X_test)
    errors = (model.predict(X_test) - true) / true.std(axis=0)
    for row, pushed in found.items():
        output = int(np.abs(errors[row]).argmax())
        push = effects.row(row, output) * np.sign(errors[row, output]) * model.target_unit_[output]
        np.testing.assert_allclose([value for _, value in pushed], np.sort(push)[::-1][:3], rtol=1e-3)
