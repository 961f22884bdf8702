"""Regression on the command line: tasks, LIBLINEAR's options, and what is printed of numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
from sklearn.datasets import dump_svmlight_file, load_diabetes
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.svm import LinearSVR

import kernline

from .test_cli import run

TABLE = ("--target", "progression", "--scale", "rank", "-j", "1")


@pytest.fixture
def diabetes(folder):
    """The data as a table and as LIBSVM; y is a number with fractions."""
    X, y = load_diabetes(return_X_y=True, scaled=False, as_frame=True)
    y = y + 0.5
    X.assign(progression=y).to_csv("diabetes.csv", index=False)
    dump_svmlight_file(X.to_numpy(), y.to_numpy(), "diabetes.svm", zero_based=False)
    return X.to_numpy(), y.to_numpy()


def succeeds(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def test_train_predict_and_evaluate(diabetes):
    X, y = diabetes
    assert (
        "AdditiveSVR, regression" in succeeds("train", "diabetes.csv", "m.kern", "--task", "regression", *TABLE).stdout
    )
    model = kernline.load("m.kern")
    assert isinstance(model, kernline.AdditiveSVR)
    expected = kernline.AdditiveSVR(scale="rank").fit(X, y).predict(X)
    np.testing.assert_array_equal(model.predict(X), expected)
    line = f"R² = {r2_score(y, expected):.4f}, RMSE = {root_mean_squared_error(y, expected):.6g}"
    assert succeeds("evaluate", "m.kern", "diabetes.csv").stdout.startswith(line)
    assert succeeds("predict", "m.kern", "diabetes.csv", "-o", "out.csv").stdout.startswith(line)
    header, *rows = Path("out.csv").read_text().split()
    assert header == "prediction"
    np.testing.assert_array_equal(np.array(rows, dtype=float), expected)
    np.testing.assert_array_equal(np.loadtxt(succeeds("predict", "m.kern", "diabetes.csv").stdout.split()), expected)


def test_json(diabetes):
    X, y = diabetes
    record = json.loads(succeeds("train", "diabetes.csv", "m.kern", "--task", "regression", *TABLE, "--json").stdout)
    assert record["estimator"] == "AdditiveSVR"
    assert record["classes"] is None
    expected = kernline.load("m.kern").predict(X)
    record = json.loads(succeeds("evaluate", "m.kern", "diabetes.csv", "--json").stdout)
    assert record == {
        "rows": 442,
        "r2": pytest.approx(r2_score(y, expected)),
        "rmse": pytest.approx(root_mean_squared_error(y, expected)),
        "mae": pytest.approx(mean_absolute_error(y, expected)),
    }
    record = json.loads(succeeds("predict", "m.kern", "diabetes.csv", "--json").stdout)
    np.testing.assert_array_equal(record["predictions"], expected)
    record = json.loads(succeeds("inspect", "m.kern", "--json").stdout)
    assert (record["outputs"], record["classes"], record["target"]) == (1, None, "progression")
    record = json.loads(succeeds("inspect", "diabetes.csv", "--target", "progression", "--json").stdout)
    assert record["target"] == {"distinct": 214, "lowest": 25.5, "highest": 346.5, "mean": pytest.approx(y.mean())}


@pytest.mark.parametrize(
    ("number", "loss", "solver"),
    [
        ("11", "squared_epsilon_insensitive", "newton"),
        ("12", "squared_epsilon_insensitive", "dual-cd"),
        ("13", "epsilon_insensitive", "dual-cd"),
    ],
)
def test_solvers_of_liblinear(diabetes, number, loss, solver):
    """A model without an intercept, of the linear kernel on columns of one size."""
    X, y = diabetes
    X = X / X.max(axis=0)
    dump_svmlight_file(X, y, "scaled.svm", zero_based=False)
    options = (
        "-s",
        number,
        "-p",
        "10",
        "-t",
        "0",
        "-g",
        "1",
        "-B",
        "0",
        "-c",
        "0.5",
        "-e",
        "1e-5",
        "-p",
        "max_iter=10000",
    )
    succeeds("train", *options, "scaled.svm", "m.kern")
    model = kernline.load("m.kern")
    assert (model.loss, model.solver, model.epsilon, model.fit_intercept) == (loss, solver, 10.0, False)
    # Its C is that of y in its own unit, which matters for a loss that is not squared.
    C = 0.5 * y.std() if number == "13" else 0.5
    peer = LinearSVR(loss=loss, C=C, epsilon=10.0, fit_intercept=False, tol=1e-9, max_iter=10**6, random_state=0)
    np.testing.assert_allclose(model.predict(X), peer.fit(X, y).predict(X), atol=0.01 * y.std())


def test_cross_validation(diabetes):
    X, y = diabetes
    line = succeeds("train", "diabetes.csv", "--task", "regression", *TABLE, "-v", "4", "--seed", "3").stdout
    split = KFold(4, shuffle=True, random_state=3)
    expected = cross_val_predict(kernline.AdditiveSVR(scale="rank", random_state=3), X, y, cv=split)
    assert line.startswith(f"Cross Validation R² = {r2_score(y, expected):.4f}, RMSE = ")


def test_search(diabetes):
    X, y = diabetes
    costs = ("-c", "0.1", "-c", "1", "-t", "chi2", "-t", "intersection")
    result = succeeds("cv", "diabetes.csv", "best.kern", "--task", "regression", *TABLE, *costs)
    expected = kernline.AdditiveSVRCV(["chi2", "intersection"], Cs=[0.1, 1.0], scale="rank").fit(X, y)
    assert f"Cross Validation Score = {expected.best_score_:.4f} (kernel = {expected.kernel_}" in result.stdout
    np.testing.assert_array_equal(kernline.load("best.kern").predict(X), expected.predict(X))
    result = succeeds("train", "-C", "-c", "64", "diabetes.csv", "--task", "regression", *TABLE)
    assert "CV R² = 0." in result.stdout.splitlines()[-1]


def test_a_regression_is_suggested(diabetes):
    result = run("train", "diabetes.csv", "m.kern", *TABLE)
    assert result.exit_code == 1
    assert "y looks like numbers to predict: pass --task regression." in result.stderr
    X, y = diabetes
    dump_svmlight_file(X, np.rint(y), "whole.svm")
    result = succeeds("train", "whole.svm", "m.kern")
    assert "If it is a number to predict, pass --task regression." in result.stderr


def test_export(diabetes):
    succeeds("train", "diabetes.csv", "m.kern", "--task", "regression", *TABLE)
    for name in ("m.h", "m.json", "m.csv"):
        succeeds("export", "m.kern", name)
    assert "double m_predict(" in Path("m.h").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--task", "guess"), "--task must be classification or regression, not 'guess'"),
        (("--task", "classification", "-s", "12"), "loss squared_epsilon_insensitive is for --task regression"),
        (("--task", "regression", "-t", "rbf"), "rbf predicts labels only"),
        (("--task", "regression", "--estimator", "budgeted"), "budgeted predicts labels only"),
        (("--task", "regression", "-w", "1:2"), "-w weighs classes"),
        (("--task", "regression", "--loss", "hinge"), "--loss must be one of epsilon_insensitive, "),
        (("-s", "13", "-p", "-1"), "-p epsilon must be "),
        (("-p", "0.1"), "has no parameter 'epsilon'"),
        (("-p", "often"), "expected NAME=VALUE, or a number, which is epsilon"),
        (("-s", "14"), "11 (squared epsilon-insensitive, primal)"),
    ],
)
@pytest.mark.parametrize("command", ["train", "cv"])
def test_options_that_contradict(diabetes, command, options, message):
    result = run(command, "diabetes.svm", "m.kern", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_what_does_not_apply_to_a_regression(diabetes):
    succeeds("train", "diabetes.csv", "m.kern", "--task", "regression", *TABLE)
    result = run("predict", "m.kern", "diabetes.csv", "--scores")
    assert (result.exit_code, "has no scores" in result.stderr) == (2, True)
    text = Path("diabetes.csv").read_text().replace("151.5\n", "much\n")
    Path("text.csv").write_text(text)
    result = run("evaluate", "m.kern", "text.csv")
    assert (result.exit_code, "must have a number per row" in result.stderr) == (1, True)
    assert len(succeeds("predict", "m.kern", "text.csv").stdout.split()) == 442
    result = run("train", "text.csv", "n.kern", "--task", "regression", *TABLE)
    assert (result.exit_code, "AdditiveSVR predicts numbers" in result.stderr) == (1, True)


def test_rows_without_a_number_are_predicted(folder):
    rows = [f"{x},{2 * x}" for x in range(60)]
    (folder / "train.csv").write_text("\n".join(["x,y", *rows]))
    (folder / "gaps.csv").write_text("\n".join(["x,y", "3,", *rows[10:]]))
    assert run("train", "train.csv", "m.kern", "--target", "y", "--task", "regression").exit_code == 0
    record = json.loads(run("predict", "m.kern", "gaps.csv", "out.txt", "--json").stdout)
    assert record["rows"] == 51
    assert record["r2"] > 0.9


def test_no_probabilities(folder):
    (folder / "train.csv").write_text("\n".join(["x,y", *(f"{x},{2 * x}" for x in range(60))]))
    assert run("train", "train.csv", "m.kern", "--target", "y", "--task", "regression").exit_code == 0
    refused = run("predict", "m.kern", "train.csv", "-b", "1")
    assert refused.exit_code == 2
    assert "-b 1: m.kern is a regression, which has no probabilities." in refused.stderr
