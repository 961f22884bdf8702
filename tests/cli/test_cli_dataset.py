"""Encoded rows on the command line: convert, train, predict and evaluate."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

pytest.importorskip("typer")
import kernline
from kernline import Dataset, io

from .test_cli import run


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    X = np.round(random.random((400, 6)) * (random.random((400, 6)) < 0.5), 3)
    y = np.where(X[:, 0] > X[:, 1], "b", "a")
    for name in ("a.svm", "a.csv"):
        with open(name, "wb") as stream:
            io.write(stream, X, y, name=name)


def test_convert_train_predict_and_evaluate(rows):
    assert run("convert", "a.svm", "a.kdata").exit_code == 0
    assert Dataset.load("a.kdata").shape == (400, 6)
    assert run("train", "a.kdata", "codes.kern").exit_code == 0
    assert run("train", "a.svm", "out.kern", "--out-of-core").exit_code == 0
    assert run("train", "a.svm", "values.kern", "--loss", "hinge").exit_code == 0
    assert sorted(os.listdir()) == ["a.csv", "a.kdata", "a.svm", "codes.kern", "out.kern", "values.kern"]
    weights = [kernline.load(name).shapes_.weights for name in ("codes.kern", "out.kern", "values.kern")]
    assert np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[0], weights[2])
    found = [run("predict", "codes.kern", data).stdout for data in ("a.svm", "a.kdata")]
    assert found[0] == found[1]
    scores = [json.loads(run("evaluate", "codes.kern", data, "--json").stdout) for data in ("a.svm", "a.kdata")]
    assert scores[0]["accuracy"] == scores[1]["accuracy"] > 0.9


def test_tables(rows):
    assert run("convert", "a.csv", "t.kdata").exit_code == 2
    assert run("convert", "a.csv", "t.kdata", "--target", "label").exit_code == 0
    assert run("train", "t.kdata", "t.kern").exit_code == 0
    assert run("evaluate", "t.kern", "a.csv").exit_code == 0  # the model knows the column of the labels


def test_what_codes_do_not_allow(rows):
    assert run("convert", "a.svm", "a.kdata").exit_code == 0
    for arguments, message in (
        (["train", "-v", "3", "a.kdata"], "AdditiveSVCCV takes a kernline.Dataset"),
        (["train", "a.kdata", "m.kern", "--kernel", "rbf"], "needs values"),
        (["convert", "a.svm", "b.csv", "--kernel", "chi2"], "apply to .kdata"),
        (["train", "none.kdata", "m.kern"], "no such file"),
        (["train", "-", "m.kern", "--out-of-core"], "twice"),
        (["train", "a.kdata", "m.kern", "--columns", "1,2"], "--columns applies to kernline convert"),
        (["train", "a.kdata", "m.kern", "--one-based"], "--one-based applies to kernline convert"),
        (["train", "a.kdata", "m.kern", "--skip-bad"], "--skip-bad applies to kernline convert"),
        (["train", "a.kdata", "m.kern", "--target", "x"], "--target applies to kernline convert"),
        (["inspect", "a.kdata"], "holds codes; this command needs values"),
        (["cv", "a.kdata"], "holds codes; this command needs values"),
        (["convert", "a.kdata", "b.csv"], "holds codes; this command needs values"),
        (["convert", "a.kdata", "b.kdata"], "holds codes; this command needs values"),
    ):
        ended = run(*arguments)
        assert ended.exit_code in (1, 2)
        assert message in ended.stderr


def test_models_and_codes(rows):
    assert run("convert", "a.csv", "t.kdata", "--target", "label").exit_code == 0
    assert run("train", "t.kdata", "t.kern", "--target", "label").exit_code == 0
    for command in ("predict", "evaluate"):
        assert run(command, "t.kern", "t.kdata", "--target", "label").exit_code == 0
        ended = run(command, "t.kern", "t.kdata", "--delimiter", ";")
        assert ended.exit_code == 2
        assert "--delimiter applies to kernline convert" in ended.stderr
    for command in ("explain", "report"):
        ended = run(command, "t.kern", "t.kdata")
        assert ended.exit_code == 2
        assert "holds codes; this command needs values" in ended.stderr
