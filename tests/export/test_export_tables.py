"""Exported models of tables with text and gaps give the same scores, from the texts themselves."""

import csv
import ctypes
import json
import subprocess

import numpy as np
import pytest

import kernline.export
from kernline import AdditiveSVC

from ..encoding.tables import people
from ..encoding.test_term_files import table_score
from .test_export import assert_close, run_c, score_of

MODELS = {
    "max": AdditiveSVC(),
    "minmax": AdditiveSVC(scale="minmax"),
    "rank": AdditiveSVC("intersection", scale="rank"),
    "linear": AdditiveSVC("linear"),
    "steps": AdditiveSVC("intersection", "hik", scale="rank"),
}
BY_MODEL = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def new_people():
    """Rows with levels that are not known, and gaps where the training data has none."""
    frame, _ = people(60, seed=1)
    frame["city"] = frame["city"].replace("Rome", "Łódź")
    frame["member"] = frame["member"].astype(object)
    frame.loc[::5, "member"] = None
    frame.loc[::7, "grade"] = None
    return frame


def fitted(model, n_classes=2):
    frame, y = people()
    frame["name"] = ['quote " \\', "%s??/", "ü"] * 133 + [None]
    return model.fit(frame, np.where(frame.zone == 20, "other", y) if n_classes == 3 else y), new_people().assign(
        name="ü"
    )


def number_columns(frame):
    return np.column_stack([frame[name].astype(float) for name in ("age", "member", "zone")])


def text_columns(frame):
    return frame[["city", "grade", "name"]].astype(object).fillna("").to_numpy()


@BY_MODEL
@pytest.mark.parametrize("n_classes", [2, 3])
def test_onnx(model, n_classes, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is the referee of ONNX files")
    onnx = pytest.importorskip("onnx", reason="to_onnx needs onnx")
    model, rows = fitted(model, n_classes)
    kernline.export.to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    label, scores = session.run(["label", "scores"], {"X": number_columns(rows), "text": text_columns(rows)})
    assert_close(scores, model.decision_function(rows))
    assert label.tolist() == model.predict(rows).tolist()
    (columns,) = onnx.load(tmp_path / "model.onnx").metadata_props
    assert json.loads(columns.value) == {"X": ["age", "member", "zone"], "text": ["city", "grade", "name"]}


@BY_MODEL
def test_c(model, tmp_path):
    model, rows = fitted(model)
    kernline.export.to_c(model, tmp_path / "people.h")
    (tmp_path / "level.c").write_text(
        '#include "people.h"\ndouble level(int j, const char *text) { return people_level(j, text); }\n'
    )
    numbers = np.full((len(rows), 6), np.nan)
    numbers[:, [0, 3, 4]] = number_columns(rows)
    run_c(tmp_path / "people.h", "people", numbers[:1], 1, tmp_path)  # skips without a compiler
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "level.c", "-o", tmp_path / "level.so", "-lm"], check=True)
    level = ctypes.CDLL(str(tmp_path / "level.so")).level
    level.restype, level.argtypes = ctypes.c_double, [ctypes.c_int, ctypes.c_char_p]
    for j, column in zip((1, 2, 5), text_columns(rows).T, strict=True):
        numbers[:, j] = [level(j, text.encode()) for text in column]
    assert np.isnan(level(1, None))
    labels, scores = run_c(tmp_path / "people.h", "people", numbers, 1, tmp_path)
    assert_close(scores[:, 0], model.decision_function(rows))
    assert labels == model.predict(rows).tolist()


@pytest.mark.parametrize("name", ["max", "rank", "steps"])
def test_json_alone_gives_the_scores(name, tmp_path):
    model, rows = fitted(MODELS[name])
    kernline.export.to_json(model, tmp_path / "curves.json")
    curves = json.loads((tmp_path / "curves.json").read_text())
    names = [feature["name"] for feature in curves["features"]]
    for term in curves["terms"]:
        for axis in term["axes"]:
            axis["points"] = axis.get("names", axis["points"])
    scores = np.full(len(rows), curves["intercepts"][0])
    for i, row in enumerate(rows.astype(object).to_numpy().tolist()):
        row = [np.nan if value is None else value for value in row]
        for feature, x in zip(curves["features"], row, strict=True):
            x = feature.get("gap", x) if x != x else x
            if feature["values"] and x == x:
                scores[i] += score_of(curves, feature, x)[0]
        for term in curves["terms"]:
            is_missing = term["kind"] == "missing"
            values = [float("nan" if x != x else 0) if is_missing else x for x in row]
            scores[i] += table_score(term, values, names)[0]
    assert_close(scores, model.decision_function(rows))


def test_csv_has_the_names(tmp_path):
    model, _ = fitted(MODELS["rank"])
    kernline.export.to_csv(model, tmp_path / "curves.csv")
    lines = list(csv.reader((tmp_path / "curves.csv").open()))
    assert [line[1] for line in lines if line[0] == "city"] == ["= ?", "= NA", "= Paris", "= Rome", "missing"]
    (rome,) = [float(line[2]) for line in lines if line[:2] == ["city", "= Rome"]]
    assert rome == pytest.approx(model.shapes_.evaluate("city", ["Rome"])[0, 0])
