"""kernline report: a page from a model file and a data file."""

import json

import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

pytest.importorskip("typer")
pytest.importorskip("bokeh")

import kernline

from ..encoding.tables import people
from .test_cli import run


@pytest.fixture
def iris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X[::2], y[::2], "train.svm", zero_based=False)
    dump_svmlight_file(X[1::2], y[1::2], "test.svm", zero_based=False)
    assert run("train", "train.svm", "model.kern", "-q").exit_code == 0
    return tmp_path


def test_writes_a_page(iris):
    result = run("report", "model.kern", "test.svm", "-o", "page.html")
    assert result.exit_code == 0, result.output
    assert "page.html: open it in a browser" in result.stdout
    text = (iris / "page.html").read_text(encoding="utf-8")
    assert "<title>model.kern, evaluated on test.svm</title>" in text
    assert 'id="what-if"' in text


def test_a_dash_is_standard_output(iris):
    result = run("report", "model.kern", "test.svm", "-o", "-", "--json")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("<!doctype html>")
    assert json.loads(result.stderr.splitlines()[-1])["output"] == "-"
    assert not (iris / "-").exists()


def test_default_name_title_and_json(iris):
    result = run("report", "test.svm", "model.kern", "--title", "Iris & more", "--json")
    record = json.loads(result.stdout)
    assert record["output"] == "report.html"
    assert record["rows"] == 75
    assert record["bytes"] == (iris / "report.html").stat().st_size
    assert "<title>Iris &amp; more</title>" in (iris / "report.html").read_text(encoding="utf-8")


def test_a_table_with_text_and_gaps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = people()
    frame.assign(label=y).to_csv("people.csv", index=False)
    assert run("train", "people.csv", "model.kern", "--target", "label", "-q").exit_code == 0
    result = run("report", "model.kern", "people.csv", "-q")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    model = kernline.load("model.kern")
    assert all(name in text for name in model.feature_names_in_)


def test_rows_that_a_model_needs_dense(iris):
    assert run("train", "train.svm", "rank.kern", "--scale", "minmax", "-q").exit_code == 0
    assert run("report", "rank.kern", "test.svm", "-q").exit_code == 0


def test_errors(iris):
    result = run("report", "model.kern", "test.svm", "-o", "model.kern")
    assert result.exit_code == 2
    assert "would overwrite" in result.output
    result = run("report", "model.kern", "missing.svm")
    assert result.exit_code == 1
    assert not (iris / "report.html").exists()
