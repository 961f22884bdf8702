"""Files of earlier versions, which every later version must read. Beside each file are rows and their scores."""

import json
from pathlib import Path

import numpy as np
import pytest

import kernline
from kernline.model_files.stored_classes import ESTIMATORS
from kernline.model_files.tensor_file import TensorFile

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted(GOLDEN.glob("*.kern"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_files(path):
    expected = np.load(path.with_suffix(".npz"))
    model = kernline.load(path)
    if "mapped" in expected:
        np.testing.assert_allclose(model.transform(expected["X"]), expected["mapped"], rtol=1e-5, atol=1e-6)
        return
    if "predictions" in expected:
        np.testing.assert_allclose(model.predict(expected["X"]), expected["predictions"], rtol=1e-5, atol=1e-6)
        return
    np.testing.assert_allclose(model.decision_function(expected["X"]), expected["scores"], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(model.predict(expected["X"]), expected["labels"])
    assert hasattr(model, "predict_proba") == ("probabilities" in expected)
    if "probabilities" in expected:
        found = model.predict_proba(expected["X"])
        np.testing.assert_allclose(found, expected["probabilities"], rtol=1e-5, atol=1e-6)


def test_what_was_edited_is_known():
    edits = kernline.load(GOLDEN / "1.3-edited.kern").shapes_.edits
    assert edits == ("2: smoothed over 0.2 of its range", "3: clipped to -0.1 to 0.1")


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.stem[:4] in ("1.4-", "2.3-", "3.2-")], ids=lambda path: path.stem
)
def test_files_have_facts_of_the_training_rows(path):
    shapes = getattr(kernline.load(path), "shapes_", None)
    if shapes is not None:
        assert shapes.training.n_rows == 200
        assert (shapes.importance() > 0.0).any()


def test_files_of_0_1_are_among_them():
    """Written by that version, with what it said of the rows: test_golden_files compares this version with it."""
    writers = {}
    for path in FILES:
        with TensorFile(path) as file:
            described = json.loads(file.metadata["kernline"])
        writers.setdefault(described["kernline"], set()).add(described["format"])
    assert {"1.0", "1.4", "2.3", "3.2"} <= writers["0.1.0"] | writers[kernline.__version__]
    assert "1.0" in writers["0.1.0"]


def test_every_estimator_has_one():
    found = {type(kernline.load(path)) for path in FILES}
    assert set(ESTIMATORS) <= found
