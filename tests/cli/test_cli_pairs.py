"""Pairs of columns, the log loss and probabilities on the command line."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("typer")
from sklearn.datasets import load_iris

import kernline

from ..pair_data import labels, paired
from .test_cli import run


@pytest.fixture
def table(folder):
    """A table of four named columns, of which two pairs matter."""
    X, score = paired()
    X = np.nan_to_num(X)
    with open("table.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "hours", "job", "town", "class"])
        writer.writerows([*row, f"c{label}"] for row, label in zip(X.tolist(), labels(score), strict=True))
    return X


def trained(*options):
    result = run("train", "table.csv", "m.kern", "--target", "class", *options)
    assert result.exit_code == 0, result.stderr
    return result, kernline.load("m.kern")


@pytest.mark.parametrize(
    ("text", "pairs"),
    [("age:hours,job:3", [(0, 1), (2, 3)]), ("0:1", [(0, 1)]), ("2", None), ("auto", None)],
)
def test_interactions(table, text, pairs):
    result, model = trained("--interactions", text)
    found = [pair.columns for pair in model.shapes_.pairs]
    assert found == pairs if pairs else 0 < len(found) <= 6
    assert "loss log" in result.stderr
    assert f"{len(found)} pairs" in result.stderr
    record = json.loads(run("inspect", "m.kern", "--json").stdout)
    names = ["age", "hours", "job", "town"]
    assert record["pairs"] == [f"{names[a]} × {names[b]}" for a, b in found]


def test_inspect_ranks_pairs_with_the_others(table):
    _, model = trained("--interactions", "age:hours")
    record = json.loads(run("inspect", "m.kern", "--data", "table.csv", "--json").stdout)
    expected = model.shapes_.importance(table).sum(axis=1)
    found = {entry["feature"]: entry["importance"] for entry in record["importance"]}
    assert found["age × hours"] == pytest.approx(expected[4])
    shown = run("inspect", "m.kern", "--data", "table.csv").stdout
    assert "pairs: age × hours" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--interactions", "age"), "expected auto, a number of pairs, or pairs"),
        (("--interactions", "age:hours:job"), "expected auto"),
        (("--interactions", "age:"), "expected auto"),
        (("--interactions", "age:weight"), "no column 'weight'. There are: age, hours, job, town"),
        (("--interactions", "age:age"), "two different columns"),
        (("--interactions", "age:hours,hours:age"), "given twice"),
        (("--interactions", "0:9"), "not a pair of two different columns"),
        (("--interactions", "2", "--loss", "hinge"), "--loss"),
        (("--interactions", "2", "-C"), "does not apply to -C"),
        (("--interactions", "2", "-t", "rbf"), "needs an additive model"),
        (("-s", "5"), "L1 penalty"),
        (("-s", "6"), "-s 0 (logistic regression)"),
        (("-s", "8"), "0 (logistic regression)"),
        (("-b", "1", "--loss", "hinge"), "-b 1 trains with --loss log"),
        (("-b", "1", "-s", "3"), "got the loss hinge"),
        (("-b", "1", "--task", "regression"), "a regression does not have"),
        (("-b", "2"), "Invalid value for '-b'"),
        (("-s", "4", "--multi-class", "ovr"), "-s 4 is --multi-class crammer-singer"),
        (("--multi-class", "all"), "--multi-class must be one of"),
        (("--multi-class", "ovr", "-t", "rbf"), "no parameter 'multi_class'"),
    ],
)
def test_what_cannot_be(table, arguments, message):
    result = run("train", "table.csv", "m.kern", "--target", "class", *arguments)
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("options", [("-b", "1"), ("--loss", "log"), ("-s", "0"), ("-s", "7")], ids=str)
def test_probabilities(folder, table, options):
    _, model = trained(*options)
    assert model.loss_ == "log"
    expected = model.predict_proba(table)
    result = run("predict", "-b", "1", "table.csv", "m.kern", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    np.testing.assert_allclose(found["probabilities"], expected)
    assert found["labels"] == model.predict(table).tolist()
    assert run("predict", "-b", "1", "m.kern", "table.csv", "out.txt").exit_code == 0
    first, *lines = (folder / "out.txt").read_text().splitlines()
    assert first == "labels c0 c1 c2"
    np.testing.assert_allclose([[float(x) for x in line.split()[1:]] for line in lines], expected)
    assert run("predict", "--probabilities", "m.kern", "table.csv", "out.csv").exit_code == 0
    assert (folder / "out.csv").read_text().startswith("label,probability_c0,probability_c1,probability_c2\n")


@pytest.mark.parametrize("kind", ["ovr", "crammer-singer"])
def test_multi_class(table, kind):
    _, model = trained("--multi-class", kind, "--loss", "hinge", "--scale", "rank")
    assert model.multi_class == kind


def test_models_without_probabilities(folder):
    run("train", "iris.svm", "m.kern", "--loss", "hinge")
    result = run("predict", "-b", "1", "iris.svm", "m.kern")
    assert result.exit_code == 2
    assert "trained with the loss hinge. Train it with -b 1" in result.stderr
    run("train", "iris.svm", "m.kern", "-t", "rbf")
    assert "has no probabilities" in run("predict", "-b", "1", "iris.svm", "m.kern").stderr
    assert run("train", "iris.svm", "m.kern", "-t", "rbf", "-b", "1").exit_code == 2
    assert "Pass one of them" in run("predict", "-b", "1", "--scores", "iris.svm", "m.kern").stderr


def test_train_says_what_it_chose(folder):
    result = run("train", "iris.csv", "m.kern", "--target", "species")
    model = kernline.load("m.kern")
    line = f"Kernel {model.kernel_}, scale {model.scale_}, loss {model.loss_}, C {model.C_:.3g}: "
    assert line in result.stderr
    X, _ = load_iris(return_X_y=True)
    record = json.loads(run("train", "iris.csv", "m.kern", "--target", "species", "--json").stdout)
    assert (record["kernel"], record["scale"], record["loss"]) == (model.kernel_, model.scale_, model.loss_)
    parameters = json.loads(run("inspect", "m.kern", "--json").stdout)["parameters"]
    assert parameters["kernel"] == model.kernel_
    assert parameters["C"] == model.C_
    assert model.predict(X).shape == (150,)
