"""Files of earlier versions, which every later version must read. Beside each file are rows and their scores."""

from pathlib import Path

import numpy as np
import pytest

import kernline
from kernline.model_files.stored_classes import ESTIMATORS

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


def test_every_estimator_has_one():
    found = {type(kernline.load(path)) for path in FILES}
    assert set(ESTIMATORS) <= found
