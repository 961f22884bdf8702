"""The command line with tables that have columns of text and gaps."""

import csv
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")
import numpy as np
import pandas as pd

import kernline
from kernline.cli.searching import Found

from ..encoding.tables import people
from .test_cli import run

RANK = ("--scale", "rank", "--kernel", "intersection")


@pytest.fixture
def tables(folder):
    """A file to train on, and one with unknown levels, more gaps, and columns in another order."""
    frame, y = people()
    frame.assign(y=y).to_csv("train.csv", index=False)
    frame, y = people(200, seed=1)
    frame["city"] = frame["city"].replace("Paris", "Oslo")
    frame["member"] = frame["member"].astype(object)
    frame.loc[::9, "member"] = None
    frame.assign(y=y, more="text")[["more", "y", *list(frame)[::-1]]].to_csv("test.csv", index=False, sep=";")
    return folder


def read(path, **options):
    """The file as pandas reads it, with the same missing values."""
    return pd.read_csv(path, na_values="?", **options)


def test_train_and_predict(tables):
    assert run("train", "train.csv", "m.kern", "--target", "y", *RANK).exit_code == 0
    train, test = read("train.csv"), read("test.csv", sep=";")
    names = ["age", "city", "grade", "member", "zone"]
    model = kernline.AdditiveSVC("intersection", scale="rank").fit(train[names], train.y)
    found = run("predict", "m.kern", "test.csv", "-o", "out.txt")
    assert found.exit_code == 0
    assert (tables / "out.txt").read_text().split() == model.predict(test[names]).tolist()
    accuracy = json.loads(run("evaluate", "m.kern", "test.csv", "--json").stdout)["accuracy"]
    assert accuracy == model.score(test[names], test.y)
    assert kernline.load("m.kern").feature_names_in_.tolist() == names


def test_other_commands(tables):
    assert run("train", "train.csv", "m.kern", "--target", "y", *RANK).exit_code == 0
    record = json.loads(run("inspect", "train.csv", "--target", "y", "--json").stdout)
    assert record["levels"] == {"city": 2, "grade": 3}
    assert record["missing_texts"] == int(read("train.csv").city.isna().sum())
    ranking = json.loads(run("inspect", "m.kern", "--data", "test.csv", "--json").stdout)["importance"]
    assert {entry["feature"] for entry in ranking} == {"age", "city", "grade", "member", "zone"}
    for name in ("m.h", "m.json", "m.csv"):
        assert run("export", "m.kern", name).exit_code == 0
        assert "Rome" in (tables / name).read_text()
    assert json.loads(run("cv", "train.csv", "--target", "y", *RANK, "--json").stdout)["best"]["score"] > 0.8
    assert "Cross Validation Accuracy" in run("train", "-v", "3", "train.csv", "--target", "y", *RANK).stdout


def test_convert(tables):
    run("train", "train.csv", "m.kern", "--target", "y", *RANK)
    assert run("convert", "train.csv", "train.parquet", "--target", "y").exit_code == 0
    for path in ("train.csv", "train.parquet"):
        accuracy = json.loads(run("evaluate", "m.kern", path, "--json").stdout)["accuracy"]
        assert accuracy > 0.8
    refused = run("convert", "train.csv", "train.svm", "--target", "y")
    assert "column 'city' holds text, not numbers. Write csv" in refused.stderr


def test_numbers_that_are_levels(tables):
    assert run("train", "train.csv", "m.kern", "--target", "y", *RANK, "--categorical", "zone,city").exit_code == 0
    assert kernline.load("m.kern").shapes_.encoder.columns.of_text == (1, 2, 4)
    assert run("evaluate", "m.kern", "test.csv").exit_code == 0
    unknown = run("train", "train.csv", "m.kern", "--target", "y", "--categorical", "town")
    assert "no column 'town' to be a category" in unknown.stderr


def test_what_does_not_fit(tables):
    run("train", "train.csv", "m.kern", "--target", "y", *RANK)
    frame = read("train.csv")
    frame.assign(age="old").to_csv("text.csv", index=False)
    assert "Column 'age' held numbers in training, and now holds text" in run("predict", "m.kern", "text.csv").stderr
    frame.assign(city=range(3, 3 + len(frame))).to_csv("numbers.csv", index=False)
    for command in ("predict", "evaluate", "explain"):
        refused = run(command, "m.kern", "numbers.csv")
        assert refused.exit_code == 1
        assert "Column 'city' held text in training, such as " in refused.stderr
        assert "and now holds numbers, such as 3." in refused.stderr
    refused = run("train", "train.csv", "n.kern", "--target", "y", "--kernel", "rbf")
    assert "Column 'city' holds text, which this estimator does not take" in refused.stderr
    refused = run("train", "train.csv", "n.kern", "--target", "y", "-p", "missing=error")
    assert "Pass -p missing='own'" in refused.stderr


def test_export_does_not_overwrite_data(tables):
    pytest.importorskip("onnx")
    assert run("train", "train.csv", "m.kern", "--target", "y", *RANK).exit_code == 0
    data = (tables / "train.csv").read_bytes()
    refused = run("export", "m.kern", "train.csv")
    assert refused.exit_code == 2
    assert "train.csv exists and is not an exported model" in refused.stderr
    assert (tables / "train.csv").read_bytes() == data
    assert run("export", "m.kern", "train.csv", "--force").exit_code == 0
    (tables / "empty.csv").write_bytes(b"")
    for name in ("train.csv", "empty.csv", "m.h", "m.h", "m.json", "m.json", "m.onnx", "m.onnx"):
        assert run("export", "m.kern", name).exit_code == 0


@pytest.mark.parametrize("test", [(), ("test.csv",)])
def test_bench(tables, test):
    """The test file has unknown levels, and columns in the order of the training file."""
    frame = read("test.csv", sep=";")
    frame[list(read("train.csv"))].to_csv("test.csv", index=False)
    record = json.loads(run("bench", "train.csv", *test, "--target", "y", "--json").stdout)
    assert len(record["results"]) == 6
    assert all(result["accuracy"] > 0.5 for result in record["results"])


def test_bench_fills_gaps(folder):
    rows = [f"{'' if k % 5 == 0 else k % 10},{k % 2}" for k in range(90)]
    (folder / "gaps.csv").write_text("\n".join(["x,y", *rows]))
    record = json.loads(run("bench", "gaps.csv", "--target", "y", "--json").stdout)
    assert len(record["results"]) == 6


def piped(content, *arguments):
    return subprocess.run([sys.executable, "-m", "kernline", *arguments], input=content, capture_output=True)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_table_on_standard_input(tables, compress):
    """It needs no --format: options of tables, or the first line, show that it is one."""
    train, test = (compress((tables / name).read_bytes()) for name in ("train.csv", "test.csv"))
    assert piped(train, "train", "-", "m.kern", "--target", "y", *RANK).returncode == 0
    assert run("train", "train.csv", "same.kern", "--target", "y", *RANK).exit_code == 0
    assert (tables / "m.kern").read_bytes() == (tables / "same.kern").read_bytes()
    assert piped(test, "predict", "m.kern", "-").stdout.decode() == run("predict", "m.kern", "test.csv").stdout
    without_target = piped(train, "train", "-", "m.kern")
    assert without_target.returncode == 2
    assert "Pass --target with its label column" in without_target.stderr.decode()


def test_svmlight_on_standard_input(folder):
    rows = b"# two, or three\n1 1:0.5\n-1\t2:1\n1 1:0.25\n-1 2:3\n"
    for content in (rows, gzip.compress(rows)):
        assert piped(content, "train", "-", "m.kern").returncode == 0
        assert kernline.load("m.kern").n_features_in_ == 2


def test_a_search_says_why_the_highest_score_was_not_taken():
    tried = [{"C": 1.0, "score": 0.81}, {"C": 10.0, "score": 0.7}, {"C": "auto", "score": 0.8}]
    lines = Found(tried[2], tried, []).lines
    assert lines[:4] == ["C      score", "1     0.8100", "10    0.7000", "auto  0.8000"]
    assert lines[4] == "C = auto is taken: by chance alone, its score may differ as much from 0.8100."
    assert not any("is taken" in line for line in Found(tried[0], tried, []).lines)


def test_the_evidence_in_a_search(tables):
    """It is a line of the table, and the model that is written is the one that is reported."""
    found = run("cv", "train.csv", "m.kern", "--target", "y", "--json")
    assert found.exit_code == 0, found.stderr
    record = json.loads(found.stdout)
    assert [entry["C"] for entry in record["tried"]][-1] == "auto"
    model = kernline.load("m.kern")
    expected = "auto" if model.C_ not in model.Cs_ else model.C_
    assert record["best"]["C"] == expected
    assert record["best"]["score"] == pytest.approx(model.best_score_)
    result = run("train", "train.csv", "m.kern", "--target", "y", "-C")
    assert result.exit_code == 0, result.stderr
    assert "Best C = auto  CV accuracy = " in result.stdout
    (options,) = re.findall("^Options of train: (.*)", result.stdout, re.MULTILINE)
    assert options.endswith(" -c auto")
    assert run("train", "train.csv", "n.kern", "--target", "y", *options.split()).exit_code == 0
    X = read("test.csv", sep=";")[["age", "city", "grade", "member", "zone"]]
    found, same = (kernline.load(name).decision_function(X) for name in ("m.kern", "n.kern"))
    assert same == pytest.approx(found, rel=1e-6, abs=1e-6)


def test_auto_is_the_default(tables):
    def scores(*options):
        assert run("train", "train.csv", "m.kern", "--target", "y", *options).exit_code == 0
        return run("predict", "m.kern", "test.csv", "--scores").stdout

    assert scores("-c", "auto", "-t", "auto", "--scale", "auto", "--loss", "auto") == scores()
    found = run("cv", "train.csv", "--target", "y", "-c", "auto", "-t", "auto", "-v", "2")
    assert found.stdout == run("cv", "train.csv", "--target", "y", "-v", "2").stdout
    for options, message in (
        (("train", "-c", "one"), "expected a number or auto, not 'one'"),
        (("cv", "-c", "auto", "-c", "1"), "-c auto tries a range of values"),
        (("cv", "-t", "auto", "-t", "chi2"), "-t auto chooses the kernel"),
    ):
        refused = run(options[0], "train.csv", "--target", "y", *options[1:])
        assert refused.exit_code == 2
        assert message in refused.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_without_a_label_are_predicted(tables, suffix):
    assert run("train", "train.csv", "m.kern", "--target", "y", *RANK).exit_code == 0
    whole = read("test.csv", sep=";")
    expected = run("predict", "m.kern", "test.csv").stdout
    labels = whole.y.astype(object)
    labels[:20] = None
    for part, n_labelled in ((whole.assign(y=labels), len(whole) - 20), (whole.assign(y=None), 0)):
        getattr(part, f"to_{suffix}")(f"gaps.{suffix}", index=False)
        for options in ((), ("--target", "y"), *([("--skip-bad",)] if suffix == "csv" else [])):
            assert run("predict", "m.kern", f"gaps.{suffix}", *options).stdout == expected
        record = json.loads(run("predict", "m.kern", f"gaps.{suffix}", "out.txt", "--json").stdout)
        correct = [found == true for found, true in zip(expected.split(), whole.y, strict=True)][20:]
        assert record["rows"] == len(whole)
        assert record.get("correct") == (sum(correct) if n_labelled else None)
        assert run("explain", "m.kern", f"gaps.{suffix}").exit_code == 0
        refused = run("evaluate", "m.kern", f"gaps.{suffix}")
        assert refused.exit_code == 1
        assert f"lacks {len(whole) - n_labelled} of its values" in refused.stderr


def test_decimal_commas(folder):
    """The warning and the error name the option, and with it the file is like one with points."""
    frame, y = people()
    frame = frame.assign(y=y, age=frame["age"] + 0.25)
    frame.to_csv("points.csv", index=False)
    frame.to_csv("commas.csv", index=False, sep=";", decimal=",")
    assert run("train", "points.csv", "m.kern", "--target", "y", *RANK).exit_code == 0
    refused = run("evaluate", "m.kern", "commas.csv")
    assert "Column 'age' held numbers in training" in refused.stderr
    assert "read the file with --decimal ','." in refused.stderr
    expected = run("evaluate", "m.kern", "points.csv").stdout
    assert run("evaluate", "m.kern", "commas.csv", "--decimal", ",").stdout == expected
    warned = run("train", "commas.csv", "n.kern", "--target", "y", *RANK).stderr
    assert "'age' holds numbers with decimal commas" in warned
    assert "read the file with --decimal ','." in warned


@pytest.mark.parametrize("text", [[], ["name"]])
def test_an_index_is_asked_about(folder, text):
    frame = pd.DataFrame({"size": np.arange(60) % 7, "name": list("abcdef") * 10, "y": [0, 1] * 30})
    frame[["size", *text, "y"]].to_csv("table.csv")
    warned = run("train", "table.csv", "m.kern", "--target", "y").stderr
    assert warned.count("Column '' has no name and a different whole number in every row") == 1
    frame[["size", *text, "y"]].rename(columns={"size": ""}).to_csv("table.csv", index=False)
    assert "Column ''" not in run("train", "table.csv", "m.kern", "--target", "y").stderr


def test_a_table_without_rows(folder):
    Path("table.csv").write_text("size,y\n")
    assert "table.csv has no rows to train on." in run("train", "table.csv", "m.kern", "--target", "y").stderr


@pytest.mark.parametrize("option", ["-b 1", "--scores"])
def test_labels_with_spaces_are_quoted_before_numbers(folder, option):
    labels = ["New York", "Rome", 'the "Hague"']
    pd.DataFrame({"x": range(60), "y": [labels[k // 20] for k in range(60)]}).to_csv("cities.csv", index=False)
    assert run("train", "cities.csv", "m.kern", "--target", "y", "-b", "1").exit_code == 0
    lines = run("predict", "m.kern", "cities.csv", *option.split()).stdout.splitlines()
    rows = list(csv.reader(lines, delimiter=" "))
    assert {len(row) for row in rows} == {4}
    if option == "-b 1":
        assert rows.pop(0) == ["labels", *labels]
    plain = run("predict", "m.kern", "cities.csv").stdout.splitlines()
    assert [row[0] for row in rows] == plain
    assert set(plain) == set(labels)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_are_listed_without_a_target(tables, suffix):
    getattr(read("train.csv"), f"to_{suffix}")(f"table.{suffix}", index=False)
    for command in ("train", "bench", "cv"):
        refused = run(command, f"table.{suffix}")
        assert refused.exit_code == 2
        assert "Pass --target with its label column: age, city, grade, member, zone, y." in refused.stderr


@pytest.mark.parametrize("content", ["Größe,y\n1,a\n", "x,y\nKöln,a\n"])
def test_other_encodings(folder, content):
    (folder / "latin.csv").write_bytes(content.encode("cp1252"))
    refused = run("inspect", "latin.csv")
    assert refused.exit_code == 1
    assert "not UTF-8. Convert the file first, for example from Windows-1252 by iconv" in refused.stderr
