"""Models with tables of pairs in files: the same after a load, refused by older readers, and checked."""

import json
from dataclasses import replace

import numpy as np
import pytest

import kernline
from kernline import AdditiveSVC, AdditiveSVR, kernels
from kernline.model_files import files
from kernline.model_files.tensor_file import TensorFile

from ..pair_data import CATEGORICAL, labels, new_rows, paired
from .forging import at, edit, forged, put, setting

PAIRS = [(0, 1), (1, 2), (2, 3)]


def classifier(**params):
    X, score = paired()
    return AdditiveSVC(interactions=PAIRS, categorical=CATEGORICAL, **params).fit(X, labels(score))


def again(model, path):
    kernline.save(model, path)
    return kernline.load(path)


def version(path):
    with TensorFile(path, 1) as file:
        return json.loads(file.metadata["kernline"])["format"]


def test_a_classifier(tmp_path):
    model = classifier()
    loaded = again(model, tmp_path / "model.kern")
    for method in ("decision_function", "predict_proba", "predict"):
        np.testing.assert_array_equal(getattr(loaded, method)(new_rows()), getattr(model, method)(new_rows()))
    for name in ("kernel_", "scale_", "loss_", "C_", "feature_weights_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert [pair.columns for pair in loaded.shapes_.pairs] == PAIRS
    np.testing.assert_array_equal(loaded.shapes_.importance(new_rows()), model.shapes_.importance(new_rows()))
    kernline.save(loaded, tmp_path / "again.kern")
    assert (tmp_path / "again.kern").read_bytes() == (tmp_path / "model.kern").read_bytes()


def test_a_regression(tmp_path):
    X, score = paired()
    model = AdditiveSVR(interactions=2, categorical=CATEGORICAL).fit(X, np.c_[score, X[:, 1]])
    loaded = again(model, tmp_path / "model.kern")
    np.testing.assert_array_equal(loaded.predict(new_rows()), model.predict(new_rows()))
    assert loaded.C_ == model.C_


def test_a_kernel_object(tmp_path):
    loaded = again(classifier(kernel=kernels.Intersection(), scale="rank"), tmp_path / "model.kern")
    assert loaded.kernel_ == kernels.Intersection()


def test_columns_of_text(tmp_path):
    pd = pytest.importorskip("pandas")
    X, score = paired()
    frame = pd.DataFrame({"age": X[:, 0], "job": np.where(X[:, 3] > 1, "cook", "smith"), "hours": X[:, 1]})
    model = AdditiveSVC(interactions=[("age", "job"), ("age", "hours")]).fit(frame, score > 0)
    loaded = again(model, tmp_path / "model.kern")
    unseen = frame[:9].assign(job="baker")
    np.testing.assert_array_equal(loaded.decision_function(unseen), model.decision_function(unseen))


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"interactions": [(0, 1)]}, "3.2"),
        ({}, "3.2"),
        ({"kernel": "chi2", "scale": "minmax", "C": 1.0, "loss": "log"}, "3.2"),
        ({"kernel": "chi2", "scale": "minmax", "C": 1.0, "loss": "hinge"}, "1.4"),
    ],
    ids=["pairs", "defaults", "log loss", "as before"],
)
def test_only_files_that_need_it_are_of_a_new_version(params, expected, tmp_path):
    X, score = paired()
    kernline.save(AdditiveSVC(**params).fit(np.nan_to_num(X), labels(score)), tmp_path / "model.kern")
    assert version(tmp_path / "model.kern") == expected


def test_older_readers_refuse_pairs(tmp_path, monkeypatch):
    kernline.save(classifier(), tmp_path / "model.kern")
    monkeypatch.setattr(files, "_LATEST", dict([files.FORMAT, files.FORMAT_OF_TERMS]))
    with pytest.raises(
        ValueError, match=rf"format 3\.2.*reads 1\.x and 2\.x\. Update kernline to {kernline.__version__} or"
    ):
        kernline.load(tmp_path / "model.kern")


def pairs_of(tree):
    return at(tree, "shapes_", "pairs")["items"]


def pair(change):
    """A change to the fields of the first pair."""
    return lambda tree, _: change(pairs_of(tree)[0]["fields"])


def axis(change):
    """A change to the fields of its first axis."""
    return pair(lambda fields: change(fields["axes"]["items"][0]["fields"]))


def columns(*numbers):
    return pair(lambda fields: fields.update(columns={"kind": "tuple", "items": list(numbers)}))


def often_the_same(tree, arrays):
    """Many small nodes that refer to one large table."""
    arrays[VALUES] = np.zeros((9, 9, 3000))
    pairs_of(tree).extend(pairs_of(tree)[:1] * 300)


VALUES, POINTS, PLACES = (f"shapes_.pairs.0.{name}" for name in ("values", "axes.0.points", "axes.0.places"))
HOSTILE = [
    (columns(0, 4), "two of 4"),
    (columns(0, -1), "two of 4"),
    (columns(0, 1 << 70), "two of 4"),
    (columns(0, 1.0), "two of 4"),
    (columns(1, 1), "must differ"),
    (columns(0, 1, 2), "two columns"),
    (columns(0), "two columns"),
    (pair(lambda fields: fields.update(columns=[0, 1])), "two of 4"),
    (pair(lambda fields: fields["axes"]["items"].pop()), "two axes"),
    (pair(lambda fields: fields["axes"]["items"].append(5)), "two axes"),
    (pair(lambda fields: fields["axes"]["items"].__setitem__(0, 5)), "something else"),
    (pair(lambda fields: fields.update(values=5)), "for every two places"),
    (axis(lambda fields: fields.update(size=7.0)), "how many places"),
    (axis(lambda fields: fields.update(size=3)), "beyond it"),
    (axis(lambda fields: fields.update(size=100)), "for every two places"),
    (axis(lambda fields: fields.update(size=1 << 40)), "as many places"),
    (axis(lambda fields: fields.update(is_number=1)), "one of a number"),
    (edit(VALUES, lambda a: a[:-1]), "for every two places"),
    (edit(VALUES, lambda a: a[:, :, :1]), "has shape"),
    (edit(VALUES, lambda a: a[..., 0]), "for every two places"),
    (edit(VALUES, lambda a: a.astype(np.float32)), "array of float64"),
    (edit(VALUES, setting((0, 0, 0), np.nan)), "finite"),
    (edit(VALUES, setting((0, 0, 0), np.inf)), "finite"),
    (edit(POINTS, lambda a: a[::-1]), "increase"),
    (edit(POINTS, setting(0, np.nan)), "increase"),
    (edit(POINTS, lambda a: a[:-1]), "as many places"),
    (edit(POINTS, lambda a: a.astype(np.float32)), "float64"),
    (edit(PLACES, setting(0, -1.0)), "beyond it"),
    (edit(PLACES, setting(0, 1e9)), "beyond it"),
    (edit(PLACES, setting(0, np.nan)), "beyond it"),
    (edit(PLACES, lambda a: a[:, None]), "one dimension"),
    (put("shapes_", "pairs", 5), "the pairs"),
    (lambda tree, _: pairs_of(tree).append(5), "expected PairFunction"),
    (often_the_same, "memory"),
    (put("loss_", 5), "loss_ must be a name"),
    (put("solver_", {"kind": "tensor", "name": "intercept_"}), "solver_ must be a name"),
]


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "model.kern"
    kernline.save(classifier(), path)
    return path.read_bytes()


@pytest.mark.parametrize(("change", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_pairs_are_refused(change, message, model_file, tmp_path):
    path = tmp_path / "model.kern"
    path.write_bytes(model_file)
    with pytest.raises(ValueError, match=message):
        kernline.load(forged(path, change))


def test_axes_that_share_arrays_are_told_apart(model_file, tmp_path):
    """A file may give two axes the same places and different points; the tables still have their own."""
    path = tmp_path / "model.kern"
    path.write_bytes(model_file)
    kernline.load(path)

    def share(tree, arrays):
        first, second = (pairs_of(tree)[k]["fields"]["axes"]["items"][0]["fields"] for k in (0, 1))
        second["places"] = first["places"]

    model = kernline.load(forged(path, share))
    X = new_rows()
    expected = sum(one.evaluate(X[:, list(one.columns)]) for one in model.shapes_.pairs)
    expected = expected + replace(model.shapes_, pairs=()).decision(X)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12)
