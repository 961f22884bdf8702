"""Encoded rows of earlier versions, which every later version must read. Beside each file are its values and cells."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernline import AdditiveSVC, AdditiveSVR, Dataset
from kernline.mapped.file import ChunkFile

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted(GOLDEN.glob("*.kdata"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_cells_and_labels(path):
    expected = np.load(path.with_name(f"{path.name}.npz"))
    data, file = Dataset.load(path), ChunkFile(path)
    assert data.shape == expected["X"].shape
    assert file.described.n_chunks > 1
    assert_array_equal(data.y, expected["y"])
    for k in range(file.described.n_chunks):
        assert_array_equal(file.chunk(k).cells, expected[f"cells{k}"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_fits_and_predictions(path):
    """A fit to the file predicts its rows, from the file and from their values, alike."""
    expected, data = np.load(path.with_name(f"{path.name}.npz")), Dataset.load(path)
    model = (AdditiveSVR if expected["y"].dtype.kind == "f" else AdditiveSVC)(random_state=0).fit(data)
    assert_array_equal(model.predict(data), model.predict(expected["X"]))


def test_every_kind_of_rows_has_one():
    assert {path.stem.split("-")[1] for path in FILES} == {"dense", "sparse", "linear", "table"}
