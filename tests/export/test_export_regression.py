"""Exported regressors predict the same numbers: ONNX with onnxruntime, C with the compiler, curves by their sum."""

import csv
import ctypes
import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import kernline.export
from kernline import AdditiveSVR, AdditiveSVRCV

from .test_export import compiled, onnx_session, score_of

MODELS = {
    "hats": AdditiveSVR(scale="minmax"),
    "linear": AdditiveSVR("linear"),
    "plame": AdditiveSVR("js", "plame", scale="minmax"),
    "pmsvm": AdditiveSVR("chi2", "pmsvm", scale="minmax"),
    "rank": AdditiveSVR("intersection", scale="rank", loss="epsilon_insensitive"),
    "cv": AdditiveSVRCV("chi2", scale="minmax", Cs=[1.0], cv=2),
}


@pytest.fixture(scope="module")
def data():
    """Numbers to predict of different units, and rows beyond the training range."""
    X, y = load_diabetes(return_X_y=True)
    return X[:300], np.column_stack([y, 1e-3 * X[:, 2], 1e4 * y])[:300], 1.3 * X[300:]


@pytest.fixture(params=[1, 3])
def targets(request, data):
    return data[1][:, 0] if request.param == 1 else data[1]


def assert_close(found, expected):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found / expected.std(axis=0), expected / expected.std(axis=0), atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_onnx(name, data, targets, tmp_path):
    X, _, rows = data
    model = MODELS[name].fit(X, targets)
    session = onnx_session(model, tmp_path / "model.onnx")
    assert [output.name for output in session.get_outputs()] == ["prediction"]
    assert_close(session.run(None, {"X": rows})[0], model.predict(rows))


def run_c(header, rows, folder):
    """What the header predicts for rows."""
    (folder / "run.c").write_text(
        f'#include "{header.name}"\n'
        f"double run(const double *x, double *outputs) {{ return {header.stem}_predict(x, outputs); }}\n"
        f"const int n_outputs = {header.stem.upper()}_N_OUTPUTS;\n"
    )
    library = compiled(folder)
    library.run.restype = ctypes.c_double
    found = np.empty((len(rows), ctypes.c_int.in_dll(library, "n_outputs").value))
    number = ctypes.POINTER(ctypes.c_double)
    for row, outputs in zip(rows, found, strict=True):
        first = library.run(row.ctypes.data_as(number), outputs.ctypes.data_as(number))
        assert first == outputs[0] == library.run(row.ctypes.data_as(number), None)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_c(name, data, targets, tmp_path):
    X, _, rows = data
    model = MODELS[name].fit(X, targets)
    kernline.export.to_c(model, tmp_path / "model.h")
    expected = model.predict(rows)
    assert_close(run_c(tmp_path / "model.h", rows, tmp_path).reshape(expected.shape), expected)


@pytest.mark.parametrize("name", MODELS)
def test_json(name, data, targets, tmp_path):
    X, _, rows = data
    model = MODELS[name].fit(X, targets)
    kernline.export.to_json(model, tmp_path / "curves.json")
    curves = json.loads((tmp_path / "curves.json").read_text())
    assert curves["classes"] is None
    one = ["prediction"]
    assert curves["scores_of"] == (one if targets.ndim == 1 else ["prediction 0", "prediction 1", "prediction 2"])
    sums = np.tile(curves["intercepts"], (len(rows), 1))
    for j, feature in enumerate(curves["features"]):
        sums += score_of(curves, feature, rows[:, j]).T
    expected = model.predict(rows)
    assert_close(sums.reshape(expected.shape), expected)


def test_csv(data, tmp_path):
    X, Y, _ = data
    kernline.export.to_csv(AdditiveSVR("linear").fit(X, Y[:, 0]), tmp_path / "curves.csv")
    with open(tmp_path / "curves.csv", newline="") as file:
        header, *_ = csv.reader(file)
    assert header == ["feature", "value", "prediction"]


def test_a_unit_that_float32_cannot_represent_is_refused(data, tmp_path):
    X, Y, _ = data
    model = AdditiveSVR("linear").fit(X, 1e200 * Y[:, 0])
    for name in ("to_onnx", "to_c", "to_json", "to_csv"):
        with pytest.raises(ValueError, match=rf"{name}: the standard deviation of y was .*e\+20\d"):
            getattr(kernline.export, name)(model, tmp_path / "model")
