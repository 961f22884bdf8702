"""Model files of tables with text: the names of levels, and files in which they are not what a fit leaves."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV

from ..encoding.tables import people
from .forging import at, edit, forged, put


@pytest.mark.parametrize(
    "model",
    [
        AdditiveSVC(),
        AdditiveSVC("intersection", scale="rank", categorical=["city", "grade"]),
        AdditiveSVC(categorical=np.array([1, 2])),
        AdditiveSVCCV(scale="minmax", Cs=[1.0], cv=2),
    ],
)
def test_save_and_load(model, tmp_path):
    frame, y = people()
    kernline.save(model.fit(frame, y), tmp_path / "model.kern")
    loaded = kernline.load(tmp_path / "model.kern")
    new = people(50, seed=1)[0].assign(age=None)
    assert_array_equal(loaded.decision_function(new), model.decision_function(new))
    assert_array_equal(loaded.shapes_.evaluate("city", ["Rome", None]), model.shapes_.evaluate("city", ["Rome", None]))
    with pytest.raises(ValueError, match="Column 'age' held numbers in training"):
        loaded.predict(new.assign(age="old"))


def levels(change):
    """A change to the names of the levels of the first column of text."""

    def edited(tree, arrays):
        change(at(tree, "shapes_", "encoder", "columns", "levels")["items"][0]["items"])

    return edited


def tuple_of(*items):
    return {"kind": "tuple", "items": list(items)}


HOSTILE = [
    (levels(lambda names: names.pop()), "a level of column 1 has no name"),
    (levels(lambda names: names.append(names[0])), "each once"),
    (levels(lambda names: names.append(5)), "must be texts"),
    (levels(lambda names: names.append(None)), "must be texts"),
    (put("shapes_", "encoder", "columns", "of_text", tuple_of(1, 5)), "none of the input"),
    (put("shapes_", "encoder", "columns", "of_text", tuple_of(1, 1)), "one list of levels"),
    (put("shapes_", "encoder", "columns", "of_text", tuple_of(1)), "one list of levels"),
    (put("shapes_", "encoder", "columns", "of_text", tuple_of(True, 2)), "none of the input"),
    (put("shapes_", "encoder", "columns", "of_text", [1, 2]), "must be a tuple"),
    (put("shapes_", "encoder", "columns", "levels", tuple_of(1, 2)), "an array of texts"),
    (put("shapes_", "encoder", "columns", "gaps", "x"), "'x' are not known"),
    (put("shapes_", "encoder", "columns", None), "the columns: expected Columns, found NoneType"),
    (edit("shapes_.encoder.terms.0.axes.0.points", lambda a: a + 0.5), "has no name"),
    (edit("shapes_.encoder.terms.0.axes.0.points", lambda a: a - 1.0), "has no name"),
]


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "model.kern"
    kernline.save(AdditiveSVC().fit(*people()), path)
    return path.read_bytes()


@pytest.mark.parametrize(("change", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_columns_are_refused(change, message, model_file, tmp_path):
    path = tmp_path / "model.kern"
    path.write_bytes(model_file)
    with pytest.raises(ValueError, match=message):
        kernline.load(forged(path, change))
