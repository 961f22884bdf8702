"""Tables of pairs in exports: ONNX with onnxruntime, C with the compiler, JSON as its documentation says."""

import csv
import ctypes
import json

import numpy as np
import pytest

import kernline.export
from kernline import AdditiveSVC, AdditiveSVR

from ..pair_data import CATEGORICAL, labels, new_rows, paired
from .test_export import assert_close, assert_same_labels, compiled, onnx_session, run_c, score_of
from .test_export_regression import assert_close as assert_same_numbers
from .test_export_regression import run_c as run_regression

PAIRS = [(0, 1), (2, 3), (1, 2)]
N_CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def classifier(n_classes, **params):
    X, score = paired()
    model = AdditiveSVC(interactions=PAIRS, categorical=CATEGORICAL, **params)
    return model.fit(X, labels(score, n_classes))


def rows():
    """Rows with gaps also in columns that had none in training."""
    X, gaps = paired()[0], paired(seed=2)[0]
    gaps[::3, 1], gaps[::4, 3] = np.nan, np.nan
    return np.concatenate([new_rows(), X, gaps])


@pytest.mark.parametrize("input_type", ["float64", "float32"])
@N_CLASSES
def test_onnx(n_classes, input_type, tmp_path):
    model, X = classifier(n_classes), rows().astype(input_type)
    session = onnx_session(model, tmp_path / "model.onnx", input_type)
    label, scores, probabilities = session.run(["label", "scores", "probabilities"], {"X": X})
    values = X.astype(np.float64)
    assert_close(scores, model.decision_function(values))
    np.testing.assert_allclose(probabilities, model.predict_proba(values), atol=1e-5)
    assert_same_labels(label, model, values)


def test_onnx_of_a_regression(tmp_path):
    X, score = paired()
    model = AdditiveSVR(interactions=PAIRS, categorical=CATEGORICAL).fit(X, np.c_[score, 1e3 * X[:, 1]])
    session = onnx_session(model, tmp_path / "model.onnx")
    found = session.run(["prediction"], {"X": rows()})[0]
    assert_same_numbers(found, model.predict(rows()))


@pytest.mark.parametrize("loss", ["hinge", "log"])
@N_CLASSES
def test_onnx_has_probabilities_with_log_loss_only(n_classes, loss, tmp_path):
    X, score = paired()
    y, X = labels(score, n_classes), np.nan_to_num(X)
    model = AdditiveSVC(loss=loss, C=1.0, solver="dual-cd", scale="minmax").fit(X, y)
    session = onnx_session(model, tmp_path / "model.onnx")
    names = [output.name for output in session.get_outputs()]
    assert names == ["label", "scores"] + ["probabilities"] * (loss == "log")
    if loss == "log":
        found = session.run(["probabilities"], {"X": X})[0]
        np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-5)


@N_CLASSES
def test_c(n_classes, tmp_path):
    model, X = classifier(n_classes), rows()
    kernline.export.to_c(model, tmp_path / "m.h")
    expected = model.decision_function(X).reshape(len(X), -1)
    label, scores = run_c(tmp_path / "m.h", "m", X, expected.shape[1], tmp_path)
    assert_close(scores, expected)
    assert_same_labels(np.array(label).astype(int), model, X)


@pytest.mark.parametrize("solver", ["auto", "dual-cd"])
@N_CLASSES
def test_c_probabilities(n_classes, solver, tmp_path):
    X, score = paired()
    X = np.nan_to_num(X)
    model = AdditiveSVC(loss="log", C=1.0, solver=solver, scale="minmax").fit(X, labels(score, n_classes))
    kernline.export.to_c(model, tmp_path / "m.h")
    (tmp_path / "run.c").write_text(
        '#include "m.h"\nvoid run(const double *scores, double *out) { m_probabilities(scores, out); }\n'
        "int unused(const double *x) { return m_predict(x, NULL) + (m_labels[0] == NULL); }\n"
    )
    library, number = compiled(tmp_path), ctypes.POINTER(ctypes.c_double)
    scores = np.ascontiguousarray(model.decision_function(X).reshape(len(X), -1))
    found = np.empty((len(X), n_classes))
    for one, out in zip(scores, found, strict=True):
        library.run(one.ctypes.data_as(number), out.ctypes.data_as(number))
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_c_of_a_regression(tmp_path):
    X, score = paired()
    model = AdditiveSVR(interactions=PAIRS, categorical=CATEGORICAL).fit(X, np.c_[score, 1e3 * X[:, 1]])
    kernline.export.to_c(model, tmp_path / "m.h")
    found = run_regression(tmp_path / "m.h", rows(), tmp_path)
    assert_same_numbers(found, model.predict(rows()))


def place_of(axis, x):
    """The place of a value, read as the documentation of `to_json` says."""
    if np.isnan(x):
        return axis["size"]
    if axis["is_number"]:
        return np.interp(x, axis["points"], axis["places"])
    return axis["places"][axis["points"].index(x)] if x in axis["points"] else axis["size"]


def value_of(feature, x):
    return feature.get("gap", x) if np.isnan(x) else x


def pair_score(pair, row, names, features):
    """What a table of JSON adds for a row."""
    corners = []
    for axis, name in zip(pair["axes"], pair["features"], strict=True):
        place = place_of(axis, value_of(features[names.index(name)], row[names.index(name)]))
        low = min(int(place), axis["size"] - 1)
        corners.append([(low, 1.0 - (place - low)), (low + 1, place - low)])
    return np.array(
        [sum(wi * wj * scores[i][j] for i, wi in corners[0] for j, wj in corners[1]) for scores in pair["scores"]]
    )


def term_score(term, x):
    """What a category or a missing value adds."""
    axis = term["axes"][0]
    position = 0 if axis["kind"] == "missing" and np.isnan(x) else None
    if axis["kind"] == "levels" and x in axis["points"]:
        position = axis["points"].index(x)
    return np.zeros(len(term["scores"])) if position is None else np.array([s[position] for s in term["scores"]])


@N_CLASSES
def test_json_alone_gives_the_scores(n_classes, tmp_path):
    model, X = classifier(n_classes), rows()[::7]
    kernline.export.to_json(model, tmp_path / "curves.json")
    curves = json.loads((tmp_path / "curves.json").read_text())
    names = [feature["name"] for feature in curves["features"]]
    sums = np.tile(curves["intercepts"], (len(X), 1))
    for i, row in enumerate(X.tolist()):
        for feature, x in zip(curves["features"], row, strict=True):
            x = value_of(feature, x)
            if feature["values"] and not np.isnan(x):
                sums[i] += score_of(curves, feature, x)
        sums[i] += sum(term_score(term, row[names.index(term["features"][0])]) for term in curves["terms"])
        sums[i] += sum(pair_score(pair, row, names, curves["features"]) for pair in curves["pairs"])
    assert_close(sums, model.decision_function(X).reshape(len(X), -1))


def test_csv_lists_the_places_of_a_pair(tmp_path):
    pd = pytest.importorskip("pandas")
    X, score = paired()
    frame = pd.DataFrame({"age": X[:, 1], "sex": np.where(X[:, 3] > 1, "f", "m")})
    model = AdditiveSVC(interactions=[("age", "sex")]).fit(frame, score > 0)
    kernline.export.to_csv(model, tmp_path / "curves.csv")
    with open(tmp_path / "curves.csv", newline="") as file:
        lines = [line for line in csv.reader(file) if line[0] == "age and sex"]
    pair = model.shapes_.pairs[0]
    assert len(lines) == pair.values[..., 0].size
    assert lines[-1][1] == "other and other"
    at, level = lines[1][1].split(" and = ")
    assert level == "m"
    expected = model.shapes_.evaluate(2, np.array([[float(at), level]], dtype=object))
    np.testing.assert_allclose(float(lines[1][2]), expected[0, 0], rtol=1e-9)
    kernline.export.to_json(model, tmp_path / "curves.json")
    described = json.loads((tmp_path / "curves.json").read_text())["pairs"][0]
    assert described["features"] == ["age", "sex"]
    assert described["axes"][1]["names"] == ["f", "m"]
