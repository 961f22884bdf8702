"""A term that the package does not know: one file (toy_terms.py) and one registration, from fit to file."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kernline.export
from kernline import AdditiveSVC
from kernline.encoding import TERMS, TermSpec

from ..export.test_export import assert_close, run_c, run_onnx
from ..model_files.forging import at, forged
from . import toy_terms
from .mixed_data import with_terms


@pytest.fixture(scope="module")
def data():
    """A direction, a number of either sign, and classes by both."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.uniform(-360.0, 720.0, 500), rng.standard_normal(500), rng.random(500)]
    return X, np.sin(np.deg2rad(X[:, 0])) + np.sign(X[:, 1]) + X[:, 2] > 0.3


@pytest.mark.parametrize(
    "params", [{"kernel": "chi2"}, {"kernel": "linear"}, {"kernel": "chi2", "approximation": "pmsvm"}], ids=str
)
def test_a_toy_term_from_fit_to_file(data, params, tmp_path):
    X, y = data
    specs = TermSpec("compass", (0,), {"n_sectors": 12}), TermSpec("sign", (1,))
    model = with_terms(AdditiveSVC(**params, random_state=0), *specs).fit(X, y)
    assert model.score(X, y) > 0.9
    turns = X[:, 0] / 30.0
    sectors = np.zeros((len(X), 12))
    sectors[np.arange(len(X)), np.round(turns).astype(int) % 12] = 1.0 - np.abs(turns - np.round(turns))
    explicit = np.c_[X[:, 2], sectors, X[:, 1] < 0, X[:, 1] >= 0]
    expected = AdditiveSVC(**params, random_state=0, tol=1e-6, max_iter=10_000).fit(explicit, y)
    exact = with_terms(AdditiveSVC(**params, random_state=0, tol=1e-6, max_iter=10_000), *specs).fit(X, y)
    assert_allclose(exact.objective_, expected.objective_, rtol=0.01)
    curves = sum(model.shapes_.evaluate(j, X[:, j]) for j in range(3))
    assert_allclose(model.intercept_ + curves[:, 0], model.decision_function(X), atol=1e-5)
    kernline.save(model, tmp_path / "model.kern")
    again = kernline.load(tmp_path / "model.kern")
    assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_toy_table_is_exported(data, tmp_path):
    X, y = data
    X = X[:, 1:]
    model = with_terms(AdditiveSVC(random_state=0), TermSpec("sign", (0,))).fit(X, y)
    expected = model.decision_function(X)
    assert_close(run_onnx(model, X, tmp_path / "m.onnx")[1], expected)
    kernline.export.to_c(model, tmp_path / "m.h")
    assert_close(run_c(tmp_path / "m.h", "m", X, 1, tmp_path)[1][:, 0], expected)
    kernline.export.to_json(model, tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text())["terms"][0]["axes"] == [{"kind": "bins", "points": [0.0]}]


def test_what_a_toy_term_cannot_do_is_named(data, tmp_path, monkeypatch):
    X, y = data
    model = with_terms(AdditiveSVC(scale="minmax"), TermSpec("compass", (0,))).fit(X, y)
    for export in (kernline.export.to_c, kernline.export.to_json, kernline.export.to_csv):
        with pytest.raises(ValueError, match="the model has a term of kind 'compass'"):
            export(model, tmp_path / "m")
    path = tmp_path / "m.kern"
    kernline.save(model, path)

    def change(tree, arrays):
        at(tree, "shapes_", "encoder")["fields"]["terms"]["items"][0]["fields"]["n_sectors"] = 1000

    content = path.read_bytes()
    with pytest.raises(ValueError, match="1000 sectors"):
        kernline.load(forged(path, change))
    path.write_bytes(content)
    monkeypatch.delitem(TERMS, "compass")
    with pytest.raises(ValueError, match=r"'compass' is not registered\. If a package defines it, import that first"):
        kernline.load(path)
    with pytest.raises(ValueError, match="Compass, which is not registered"):
        kernline.save(model, path)


def test_a_column_has_one_kind(data):
    X, y = data
    with pytest.raises(ValueError, match="Column 0 cannot be both a category and a compass"):
        with_terms(AdditiveSVC(), TermSpec("category", (0,)), TermSpec("compass", (0,))).fit(X, y)


def test_cells_out_of_range_are_refused(data, monkeypatch):
    X, y = data
    for cells in ((np.full(500, 8), np.ones(500)), (np.zeros(500), np.full(500, 1.5)), (np.zeros(3), np.ones(3))):
        monkeypatch.setattr(toy_terms.Compass, "cells", lambda self, values, cells=cells: cells)
        with pytest.raises(ValueError, match=r"'compass'.* must give one column below 8 and one u"):
            with_terms(AdditiveSVC(scale="minmax"), TermSpec("compass", (0,))).fit(X, y)
