"""Models of terms in files: saved, as ONNX by onnxruntime, as C by the compiler, and as tables of scores."""

import csv
import json

import numpy as np
import pytest

import kernline.export
from kernline.model_files.tensor_file import TensorFile

from ..export.test_export import assert_close, assert_same_labels, run_c, run_onnx, score_of
from ..model_files.forging import at, edit, forged, put
from .mixed_data import BINNED, CATEGORY, MISSING, TERMS, fitted, mixed, new_rows
from .test_terms import METHODS

BY_METHOD = pytest.mark.parametrize("params", METHODS.values(), ids=METHODS)


def rows_of(model):
    """Rows of either sign where the model takes them."""
    return new_rows() - ([1.0, 1.0, 0.0, 0.0] if model.scale_ != "max" else 0.0)


@BY_METHOD
def test_save_and_load(params, tmp_path):
    model = fitted(*TERMS, **params)
    kernline.save(model, tmp_path / "model.kern")
    again = kernline.load(tmp_path / "model.kern")
    np.testing.assert_array_equal(again.decision_function(rows_of(model)), model.decision_function(rows_of(model)))
    assert [term.kind for term in again.shapes_.encoder.terms] == [term.kind for term in TERMS]


def version(path):
    with TensorFile(path, 1) as file:
        return json.loads(file.metadata["kernline"])["format"]


def test_only_models_of_other_terms_need_a_new_reader(tmp_path):
    for terms, expected in (((CATEGORY, MISSING, TERMS[-1]), "2.3"), ((), "1.4")):
        X, _ = mixed()
        model = fitted(*terms, X=X if terms else np.nan_to_num(X), scale="minmax", loss="hinge", C=1.0)
        kernline.save(model, tmp_path / "model.kern")
        assert version(tmp_path / "model.kern") == expected


@BY_METHOD
@pytest.mark.parametrize("input_type", ["float64", "float32"])
def test_onnx(params, input_type, tmp_path):
    y = None if input_type == "float64" else mixed()[1] > 0
    model = fitted(*TERMS, y=y, **params)
    rows = np.concatenate([rows_of(model), mixed()[0]]).astype(input_type)
    label, scores = run_onnx(model, rows, tmp_path / "model.onnx", input_type)
    assert_close(scores, model.decision_function(rows.astype(np.float64)))
    assert_same_labels(label, model, rows.astype(np.float64))


@BY_METHOD
@pytest.mark.parametrize("n_classes", [2, 3])
def test_c(params, n_classes, tmp_path):
    model = fitted(*TERMS, y=mixed()[1] % n_classes, **params)
    rows = np.concatenate([rows_of(model), mixed()[0]])
    kernline.export.to_c(model, tmp_path / "m.h")
    expected = model.decision_function(rows)
    label, scores = run_c(tmp_path / "m.h", "m", rows, 1 if n_classes == 2 else n_classes, tmp_path)
    assert_close(scores.reshape(expected.shape), expected)
    assert_same_labels(np.array(label).astype(int), model, rows)


def table_score(term, row, names):
    """What a term of JSON adds for a row, read as the documentation says."""
    place = 0
    for axis, name in zip(term["axes"], term["features"], strict=True):
        x = row[names.index(name)]
        if axis["kind"] == "missing":
            position, size = (0 if np.isnan(x) else None), 1
        elif axis["kind"] == "levels":
            position, size = (axis["points"].index(x) if x in axis["points"] else None), len(axis["points"])
        else:
            position, size = sum(point <= x for point in axis["points"]), len(axis["points"]) + 1
            position = None if np.isnan(x) else position
        if position is None:
            return np.zeros(len(term["scores"]))
        place = place * size + position
    return np.array([scores[place] for scores in term["scores"]])


@pytest.mark.parametrize("params", [METHODS[name] for name in ("hats", "rank", "hik")], ids=str)
def test_json_alone_gives_the_scores(params, tmp_path):
    model, rows = fitted(*TERMS, **params), new_rows()
    kernline.export.to_json(model, tmp_path / "curves.json")
    curves = json.loads((tmp_path / "curves.json").read_text())
    names = [feature["name"] for feature in curves["features"]]
    scores = np.tile(curves["intercepts"], (len(rows), 1))
    for i, row in enumerate(rows):
        for feature, x in zip(curves["features"], row.tolist(), strict=True):
            if feature["values"] and not np.isnan(x):
                scores[i] += score_of(curves, feature, x)
        scores[i] += sum(table_score(term, row.tolist(), names) for term in curves["terms"])
    assert_close(scores, model.decision_function(rows))


def test_csv_lists_levels_bins_and_missing_values(tmp_path):
    model = fitted(CATEGORY, MISSING, TERMS[-1], BINNED)
    kernline.export.to_csv(model, tmp_path / "curves.csv")
    with open(tmp_path / "curves.csv", newline="") as file:
        lines = [line for line in csv.reader(file) if line[1].startswith(("=", "miss", "<", ">"))]
    shapes = model.shapes_
    levels = [-1.0, 0.0, 1.0, 2.0]
    assert [line[:2] for line in lines[:6]] == [*(["2", f"= {x}"] for x in levels), ["0", "missing"], ["2", "missing"]]
    np.testing.assert_allclose(np.array(lines)[:4, 2:].astype(float), shapes.evaluate(2, levels))
    np.testing.assert_allclose(np.array(lines)[4, 2:].astype(float), shapes.evaluate(0, [np.nan])[0])
    low, high = shapes.encoder.terms[3].axes[0].points[:2]
    assert lines[6][:2] == ["1 and 2", f"< {low} and = -1.0"]
    assert lines[11][:2] == ["1 and 2", f">= {low} and < {high} and = 0.0"]
    np.testing.assert_allclose(np.array(lines[11][2:], float), shapes.evaluate(4, [[low, 0.0]])[0])


def term(number, *keys_and_value):
    """A change to a field of a term."""
    *keys, last, value = keys_and_value

    def change(tree, arrays):
        node = at(tree, "shapes_", "encoder")["fields"]["terms"]["items"][number]["fields"]
        for key in keys:
            node = node[key]
        node[last] = value

    return change


def points(change):
    return edit("shapes_.encoder.terms.0.axes.0.points", change)


def tuple_of(*items):
    return {"kind": "tuple", "items": list(items)}


def terms(change):
    def edited(tree, arrays):
        change(at(tree, "shapes_", "encoder")["fields"]["terms"]["items"])

    return edited


HOSTILE = [
    (points(lambda a: a[::-1]), "increase"),
    (points(lambda a: np.append(a[:-1], a[0])), "increase"),
    (points(lambda a: np.append(a[:-1], np.nan)), "finite"),
    (points(lambda a: np.append(a[:-1], np.inf)), "finite"),
    (points(lambda a: a[:-1]), "columns"),
    (points(lambda a: a[:0]), "axis of 0"),
    (points(lambda a: a.astype(np.float32)), "float64"),
    (points(lambda a: a[:, None]), "one dimension"),
    (term(0, "columns", tuple_of(4)), "columns of 4"),
    (term(0, "columns", tuple_of(-1)), "columns of 4"),
    (term(0, "columns", tuple_of(1 << 70)), "columns of 4"),
    (term(0, "columns", tuple_of(2.0)), "must be a tuple"),
    (term(0, "columns", tuple_of(1, 2)), "reads 1 distinct"),
    (term(0, "columns", [2]), "must be a tuple"),
    (term(0, "axes", tuple_of()), "0 axes"),
    (term(0, "axes", 5), "axes"),
    (term(0, "axes", "items", 0, "fields", "kind", "bins"), "no axis of bins"),
    (term(0, "axes", "items", 0, "fields", "kind", "missing"), "cannot be"),
    (term(0, "axes", "items", 0, "fields", "kind", "x"), "'x' is not known"),
    (term(1, "colour", 5), "colour"),
    (terms(lambda items: items.pop()), "columns"),
    (terms(lambda items: items.append(items[1])), "given twice"),
    (terms(lambda items: items[1].update(of="colour")), "'colour' is not registered"),
    (terms(lambda items: items.append(5)), "expected Term, found int"),
    (put("shapes_", "encoder", "terms", None), "the terms"),
    (put("shapes_", "encoder", "terms", tuple_of()), "columns"),
    (put("shapes_", "encoder", "numbers", "rank"), "edge_start"),
    (put("shapes_", "encoder", "numbers", "log"), "'log'"),
    (edit("shapes_.encoder.scales", lambda a: a[:4]), "scales"),
    (edit("shapes_.weights", lambda W: W[:-1]), "columns"),
]


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("terms") / "model.kern"
    kernline.save(fitted(*TERMS), path)
    return path.read_bytes()


@pytest.mark.parametrize(("change", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_terms_are_refused(change, message, model_file, tmp_path):
    path = tmp_path / "model.kern"
    path.write_bytes(model_file)
    with pytest.raises(ValueError, match=message):
        kernline.load(forged(path, change))


def test_two_terms_for_one_column_are_refused(tmp_path):
    path = tmp_path / "model.kern"
    kernline.save(fitted(CATEGORY, CATEGORY._replace(columns=(3,)), X=np.nan_to_num(mixed()[0])), path)
    with pytest.raises(ValueError, match="given twice"):
        kernline.load(forged(path, term(1, "columns", tuple_of(2))))
