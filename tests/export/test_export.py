"""Exported models give the same scores: ONNX with onnxruntime, C with the compiler, curves by their sum."""

import csv
import ctypes
import json
import os
import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import kernline.export
from kernline import AdditiveSVC, AdditiveSVCCV, BudgetedSVC, NystromMap, NystromSVC, tables

ADDITIVE = {
    "default": AdditiveSVC(),
    "hats": AdditiveSVC("chi2"),
    "many knots": AdditiveSVC("js", tables.Hats(300)),
    "linear": AdditiveSVC("linear"),
    "linear, scaled": AdditiveSVC("linear", scale="minmax"),
    "plame": AdditiveSVC("js", "plame"),
    "pmsvm": AdditiveSVC("chi2", "pmsvm"),
    "pmsvm-lut": AdditiveSVC("power_mean", "pmsvm-lut"),
    "feature-map": AdditiveSVC("intersection", "feature-map"),
    "hik": AdditiveSVC("intersection", "hik"),
    "rank": AdditiveSVC("intersection", scale="rank"),
    "rank, linear": AdditiveSVC("linear", scale="rank"),
    "minmax": AdditiveSVC("chi2", scale="minmax"),
    "cv": AdditiveSVCCV("chi2", Cs=[1.0], cv=2),
}
LANDMARKS = {
    "rbf": NystromSVC(n_basis=30),
    "narrow": NystromSVC(gamma=0.01, n_basis=30),
    "poly": NystromSVC("poly", n_basis=30),
    "sigmoid": NystromSVC("sigmoid", 0.0005, n_basis=30),
    "rbf-scaled": NystromSVC(scale="standard", n_basis=30),
    "budgeted": BudgetedSVC(budget=20),
    "budgeted-scaled": BudgetedSVC(budget=20, scale="standard"),
}


@pytest.fixture(scope="module")
def data():
    """Digits that are not integers, and rows outside the training range in both directions."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    X = X[:400] * rng.uniform(0.5, 1.5, (400, 64))
    return X[:300], y[:300], X[300:] * rng.choice([0.0, 1.0, 3.0, 1e6], (100, 64))


def new_rows(model, rows):
    """Rows with negative values, if the model accepts them."""
    return rows - 5.0 if isinstance(model, AdditiveSVC) and model.scale_ != "max" else rows


def fitted(model, X, y):
    return model.set_params(random_state=0).fit(X, y)


def onnx_session(model, path, input_type="float64"):
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is the referee of ONNX files")
    pytest.importorskip("onnx", reason="to_onnx needs onnx")
    kernline.export.to_onnx(model, path, input_type=input_type)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_onnx(model, rows, path, input_type="float64"):
    return onnx_session(model, path, input_type).run(["label", "scores"], {"X": rows.astype(input_type)})


def tolerance(expected):
    """1e-5 of each row's largest score, or of 1, as scores near zero are differences of larger numbers."""
    return 1e-5 * np.maximum(1.0, np.abs(expected.reshape(len(expected), -1)).max(axis=1))


def assert_close(found, expected):
    """Compare row by row, so that a large score does not hide errors in other rows."""
    assert found.shape == expected.shape
    error = np.abs(found - expected).reshape(len(expected), -1).max(axis=1)
    worst = (error / tolerance(expected)).argmax()
    assert (error <= tolerance(expected)).all(), f"row {worst}: {found[worst]}, where {expected[worst]} is right"


def assert_same_labels(found, model, rows):
    """Compare labels, except where the two highest scores differ by less than the tolerance."""
    scores = model.decision_function(rows)
    margin = np.abs(scores) if scores.ndim == 1 else np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0]
    clear = margin > 2.0 * tolerance(scores)
    assert clear.mean() > 0.9
    assert (np.asarray(found)[clear] == model.predict(rows)[clear]).all()


@pytest.mark.parametrize("input_type", ["float64", "float32"])
@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("name", [*ADDITIVE, *LANDMARKS])
def test_onnx(name, n_classes, input_type, data, tmp_path):
    X, y, rows = data
    model = fitted((ADDITIVE | LANDMARKS)[name], X, y % n_classes)
    rows = new_rows(model, rows) if name in ADDITIVE else rows / max(1.0, np.abs(rows).max() / 40.0)
    rows = np.concatenate([rows, X]).astype(input_type)
    label, scores = run_onnx(model, rows, tmp_path / "model.onnx", input_type)
    assert_close(scores, model.decision_function(rows.astype(np.float64)))
    assert_same_labels(label, model, rows)


@pytest.mark.parametrize("labels", [["ä", "b", "c"], [1.5, 2.0, 3.0], [False, True], [-1, 7]], ids=str)
def test_onnx_labels(labels, data, tmp_path):
    X, y, _ = data
    labels = np.array(labels)
    model = fitted(AdditiveSVC(), X, labels[y % labels.size] if labels.dtype != float else labels.round()[y % 3])
    label, _ = run_onnx(model, X, tmp_path / "model.onnx")
    np.testing.assert_array_equal(label, model.predict(X))


def test_onnx_of_sparse_landmarks(data, tmp_path):
    X, y, _ = data
    model = fitted(NystromSVC(n_basis=20, basis="random"), sp.csr_array(X), y)
    _, scores = run_onnx(model, X, tmp_path / "model.onnx")
    assert_close(scores, model.decision_function(X))


def compiled(folder):
    """The library of run.c."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([compiler, *strict, folder / "run.c", "-o", folder / "run.so", "-lm"], check=True)
    return ctypes.CDLL(str(folder / "run.so"))


def run_c(header, name, rows, n_scores, folder):
    (folder / "run.c").write_text(
        f'#include "{header.name}"\n'
        f"int run(const double *x, double *scores) {{ return {name}_predict(x, scores); }}\n"
        f"const char *label(int k) {{ return {name}_labels[k]; }}\n"
    )
    library = compiled(folder)
    library.label.restype = ctypes.c_char_p
    number = ctypes.POINTER(ctypes.c_double)
    scores = np.empty((len(rows), n_scores))
    best = []
    for row, score in zip(np.ascontiguousarray(rows, dtype=np.float64), scores, strict=True):
        best.append(library.run(row.ctypes.data_as(number), score.ctypes.data_as(number)))
        assert library.run(row.ctypes.data_as(number), None) == best[-1]
    return [library.label(k).decode() for k in best], scores


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("name", ADDITIVE)
def test_c(name, n_classes, data, tmp_path):
    X, y, rows = data
    model = fitted(ADDITIVE[name], X, y % n_classes)
    rows = np.concatenate([new_rows(model, rows), X])
    header = tmp_path / "my-model.h"
    kernline.export.to_c(model, header)
    expected = model.decision_function(rows).reshape(len(rows), -1)
    labels, scores = run_c(header, "my_model", rows, expected.shape[1], tmp_path)
    assert_close(scores, expected)
    assert_same_labels([int(label) for label in labels], model, rows)


def test_c_labels(data, tmp_path):
    X, y, _ = data
    names = np.array(['ä"\\n', "%s\n", "??/x"])
    model = fitted(AdditiveSVC(), X, names[y % 3])
    kernline.export.to_c(model, tmp_path / "model.h", name="m")
    labels, _ = run_c(tmp_path / "model.h", "m", X, 3, tmp_path)
    assert labels == model.predict(X).tolist()


@pytest.mark.parametrize("name", ADDITIVE)
def test_curves_sum_up_to_the_scores(name, data, tmp_path):
    """The scores of rows that consist of listed values are sums of listed scores."""
    X, y, _ = data
    model = fitted(ADDITIVE[name], X, y % 3)
    kernline.export.to_json(model, tmp_path / "curves.json")
    curves = json.loads((tmp_path / "curves.json").read_text())
    rng = np.random.default_rng(0)
    rows, sums = np.empty((5, 64)), np.tile(curves["intercepts"], (5, 1))
    for j, feature in enumerate(curves["features"]):
        assert feature["values"] == sorted(feature["values"])
        at = rng.integers(len(feature["values"]), size=5)
        rows[:, j] = np.array(feature["values"])[at]
        sums += np.array(feature["scores"]).T[at]
    assert_close(sums, model.decision_function(rows))


def score_of(curves, feature, x):
    """The scores computed from the JSON file as documented in `to_json`."""
    values, scores = np.array(feature["values"]), np.array(feature["scores"])
    if curves["between"] == "steps":
        return scores[:, np.maximum(np.searchsorted(values, x, side="right") - 1, 0)]
    if curves["extrapolates"]:
        return scores[:, :1] + np.diff(scores) * (x - values[0]) / np.diff(values)
    if "edges" in feature:
        u = np.interp(x, feature["edges"], feature["levels"])
    elif "factor" in feature:
        u = (x - feature["offset"]) * feature["factor"]
    if curves["between"] == "powers":
        u = np.clip(u, 0.0, 1.0)
        return np.where(u > 0.0, np.polynomial.polynomial.polyval(np.log(u + 0.05), np.array(feature["powers"]).T), 0.0)
    if curves["codes"] is not None:
        code = np.searchsorted(np.float32(curves["codes"]["thresholds"]), np.clip(np.float32(u), 0, 1), side="right")
        unit = np.array(curves["codes"]["units"])[code]
        if "edges" in feature:
            x = np.interp(unit, feature["levels"], feature["edges"])
        elif feature["factor"]:
            x = feature["offset"] + unit / feature["factor"]
    return np.array([np.interp(x, values, score) for score in scores])


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", ADDITIVE)
def test_json_alone_gives_the_scores(name, whole, data, tmp_path):
    """Values in and out of range, and integers, at which steps often begin."""
    X, y, rows = data
    X, rows = (X.round(), rows.round()) if whole else (X, rows)
    model = fitted(ADDITIVE[name], X, y % 3)
    rows = np.concatenate([new_rows(model, rows), X])
    kernline.export.to_json(model, tmp_path / "curves.json")
    curves = json.loads((tmp_path / "curves.json").read_text())
    assert curves["between"] == {"plame": "steps", "pmsvm": "powers", "hik": "steps"}.get(name, curves["between"])
    sums = np.tile(curves["intercepts"], (len(rows), 1))
    for j, feature in enumerate(curves["features"]):
        sums += score_of(curves, feature, rows[:, j]).T
    assert_close(sums, model.decision_function(rows))


def test_csv_marks_steps(data, tmp_path):
    X, y, _ = data
    kernline.export.to_csv(fitted(ADDITIVE["hik"], X, y), tmp_path / "curves.csv")
    assert (tmp_path / "curves.csv").read_text().startswith("feature,from,0,")


def test_csv_and_json_agree(data, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, _ = data
    frame = pd.DataFrame(X, columns=[f"a, {j}" for j in range(64)])
    model = AdditiveSVC().fit(frame, np.where(y > 4, "hi", "lo"))
    kernline.export.to_json(model, tmp_path / "curves.json")
    kernline.export.to_csv(model, tmp_path / "curves.csv")
    curves = json.loads((tmp_path / "curves.json").read_text())
    with open(tmp_path / "curves.csv", newline="") as file:
        header, intercepts, *lines = csv.reader(file)
    assert header == ["feature", "value", "lo"]
    assert float(intercepts[2]) == curves["intercepts"][0]
    expected = [
        [feature["name"], value, score]
        for feature in curves["features"]
        for value, score in zip(feature["values"], feature["scores"][0], strict=True)
    ]
    assert [[name, float(value), float(score)] for name, value, score in lines] == expected


def test_what_cannot_be_exported_is_named(data, tmp_path):
    X, y, _ = data
    rbf, chi2 = NystromSVC(n_basis=5).fit(X, y), NystromSVC("chi2", n_basis=5).fit(X, y)
    pipeline = make_pipeline(MinMaxScaler(), AdditiveSVC()).fit(X, y)
    for export in (kernline.export.to_c, kernline.export.to_json, kernline.export.to_csv):
        with pytest.raises(ValueError, match=r"takes AdditiveSVC, AdditiveSVR and.*got NystromSVC"):
            export(rbf, tmp_path / "model")
    with pytest.raises(ValueError, match="cannot begin a name in C"):
        kernline.export.to_c(AdditiveSVC().fit(X, y), tmp_path / "8.h")
    pytest.importorskip("onnx")
    for model, message in [(chi2, "'chi2'"), (pipeline, "Pipeline"), (NystromMap().fit(X), "NystromMap")]:
        with pytest.raises(ValueError, match=message):
            kernline.export.to_onnx(model, tmp_path / "model")
    with pytest.raises(ValueError, match="input_type"):
        kernline.export.to_onnx(rbf, tmp_path / "model", input_type="float16")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("input_type", ["float64", "float32"])
@pytest.mark.parametrize("name", ["rbf", "budgeted"])
def test_onnx_far_from_the_origin(name, input_type, data, tmp_path):
    """float32 has about two decimals at 100,000, so the graph must round at the same step as the core."""
    X, y, _ = data
    far = X + 1e5
    model = fitted(LANDMARKS[name], far, y)
    rows = far.astype(input_type)
    label, scores = run_onnx(model, rows, tmp_path / "model.onnx", input_type)
    assert_close(scores, model.decision_function(rows.astype(np.float64)))
    assert_same_labels(label, model, rows.astype(np.float64))


@pytest.mark.parametrize("scale", ["max", "minmax"])
def test_linear_far_out_of_range(scale, data, tmp_path):
    """Values too large to be squared in float32 are clipped, in dense and sparse rows, in the graph and in C."""
    X, y, _ = data
    model = fitted(AdditiveSVC("linear", scale=scale), X, y)
    rows = X[:50] * np.random.default_rng(0).choice([1.0, -1e17, 1e30, 1e40], X[:50].shape)
    expected = model.decision_function(rows)
    if scale == "max":
        assert_close(model.decision_function(sp.csr_array(rows)), expected)
        assert_close(model.decision_function(np.clip(rows, -1e18, 1e18)), expected)
    kernline.export.to_c(model, tmp_path / "model.h")
    labels, scores = run_c(tmp_path / "model.h", "model", rows, 10, tmp_path)
    assert_close(scores, expected)
    assert_same_labels([int(label) for label in labels], model, rows)
    label, scores = run_onnx(model, rows, tmp_path / "model.onnx")
    assert_close(scores, expected)
    assert_same_labels(label, model, rows)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_several_labels_per_row(n_labels, loss, data, tmp_path):
    X, y, rows = data
    labels = (y[:, None] >> np.arange(n_labels)) & 1
    model = AdditiveSVC(loss=loss, scale="minmax").fit(X, labels)
    session = onnx_session(model, tmp_path / "model.onnx")
    found = dict(zip([output.name for output in session.get_outputs()], session.run(None, {"X": rows}), strict=True))
    assert_close(found["scores"], model.decision_function(rows))
    sure = np.abs(model.decision_function(rows)) > 1e-4
    np.testing.assert_array_equal(found["label"][sure], model.predict(rows)[sure])
    assert ("probabilities" in found) == (loss == "log")
    if loss == "log":
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-5)
    kernline.export.to_json(model, tmp_path / "m.json")
    described = json.loads((tmp_path / "m.json").read_text())
    assert described["multilabel"] is True
    assert described["scores_of"] == [str(k) for k in range(n_labels)]
    kernline.export.to_csv(model, tmp_path / "m.csv")
    assert (tmp_path / "m.csv").read_text().startswith(f"feature,value,{','.join(described['scores_of'])}\n")
    with pytest.raises(ValueError, match=r"to_c takes models of one label per row; .* to_onnx, to_json"):
        kernline.export.to_c(model, tmp_path / "m.h")
