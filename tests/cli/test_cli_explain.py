"""`kernline explain`, and the curves that `kernline inspect` draws."""

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
from rich.console import Console
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import kernline
import kernline.export
from kernline.cli.explanation import Explainer, _csv, _json, _plain_text
from kernline.cli.text_curves import Painter

from ..shapes.models import mixed
from .test_cli import run


@pytest.fixture
def table(folder):
    """A table with text and gaps, and a model of it with pairs."""
    frame, y = mixed(300)
    frame.assign(bought=y).to_csv("table.csv", index=False)
    result = run("train", "table.csv", "m.kern", "--target", "bought", "--interactions", "2")
    assert result.exit_code == 0, result.stderr
    return frame, kernline.load("m.kern")


def explained(*arguments):
    result = run("explain", *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


class TestExplain:
    def test_json_adds_up_to_the_scores(self, table):
        frame, model = table
        rows = json.loads(explained("m.kern", "table.csv", "--to", "json", "--top", 2))["rows"]
        assert [row["row"] for row in rows] == list(range(1, 301))
        assert [row["prediction"] for row in rows] == model.predict(frame).tolist()
        for row, score in zip(rows, model.decision_function(frame), strict=True):
            assert len(row["contributions"]) <= 2
            parts = sum(part["contribution"] for part in row["contributions"])
            assert row["intercept"] + parts + row["others"] == pytest.approx(row["score"], abs=1e-5)
            assert row["score"] == pytest.approx(score, abs=1e-5)
        assert json.loads(explained("m.kern", "table.csv", "--json", "--top", 2))["rows"] == rows

    def test_csv_adds_up_too(self, table):
        lines = list(csv.DictReader(io.StringIO(explained("m.kern", "table.csv", "--to", "csv", "--top", 3))))
        for number in ("1", "200"):
            of_row = [line for line in lines if line["row"] == number]
            assert (of_row[0]["feature"], of_row[-1]["feature"]) == ("(intercept)", "(others)")
            total = sum(float(line["contribution"]) for line in of_row)
            assert total == pytest.approx(float(of_row[0]["score"]), abs=1e-5)

    def test_values_are_those_of_the_file(self, table):
        frame, _ = table
        rows = json.loads(explained("m.kern", "table.csv", "--to", "json", "--top", 6))["rows"]
        parts = {part["feature"]: part["value"] for part in rows[1]["contributions"]}
        assert parts["age"] == pytest.approx(frame.age[1])
        assert parts["colour"] == frame.colour[1]
        first = {part["feature"]: part["value"] for part in rows[0]["contributions"]}
        assert first["age"] is None  # missing

    @pytest.mark.usefixtures("table")
    def test_text_is_for_people(self):
        lines = explained("m.kern", "table.csv", "--top", 2).splitlines()
        assert lines[0].startswith("row 1: ")
        assert "(score of yes " in lines[0]
        assert lines[1].split()[0] == "intercept"
        assert lines[4].strip().startswith("all others")
        assert sum(line.startswith("row ") for line in lines) == 300
        assert len({line.index(".", line.index(" ", 12)) for line in lines[1:5]}) == 1  # decimal points, aligned

    def test_files_have_the_format_of_their_suffix(self, table):
        for name, begin in (("why.csv", "row,prediction"), ("why.json", '{"rows"'), ("why.txt", "row 1: ")):
            assert "300 rows" in explained("m.kern", "table.csv", "-o", name)
            with open(name, encoding="utf-8") as file:
                assert file.read().startswith(begin)

    def test_rows_may_come_first_or_from_a_pipe(self, table):
        expected = explained("m.kern", "table.csv")
        assert explained("table.csv", "m.kern") == expected
        with open("table.csv") as file:
            assert run("explain", "m.kern", "-", "-f", "csv", stdin=file.read()).stdout == expected

    def test_several_classes_and_sparse_files(self, folder):
        X, y = load_iris(return_X_y=True)
        model = kernline.AdditiveSVC(C=10.0, random_state=0).fit(X, y)
        kernline.save(model, "iris.kern")
        rows = json.loads(explained("iris.kern", "iris.svm", "--to", "json"))["rows"]
        scores = model.decision_function(X)
        assert [row["score_of"] for row in rows] == [str(label) for label in model.predict(X)]
        np.testing.assert_allclose([row["score"] for row in rows], scores.max(axis=1), atol=1e-5)

    def test_regressions_and_pipelines(self, folder):
        X, y = load_iris(return_X_y=True)
        kernline.save(kernline.AdditiveSVR().fit(X[:, :3], X[:, 3]), "svr.kern")
        np.savetxt("rows.csv", X[:5, :3], delimiter=",")
        rows = json.loads(explained("svr.kern", "rows.csv", "--no-header", "--to", "json"))["rows"]
        expected = kernline.load("svr.kern").predict(X[:5, :3])
        np.testing.assert_allclose([row["prediction"] for row in rows], expected, atol=1e-5)
        assert f"row 1: {expected[0]:.4g}\n" in explained("svr.kern", "rows.csv", "--no-header")
        pipe = make_pipeline(MinMaxScaler(), kernline.AdditiveSVC()).fit(X, y)
        kernline.save(pipe, "pipe.kern")
        rows = json.loads(explained("pipe.kern", "iris.svm", "--to", "json"))["rows"]
        assert [row["prediction"] for row in rows] == pipe.predict(X).tolist()

    def test_each_of_several_outputs(self, folder):
        X, _ = load_iris(return_X_y=True)
        model = kernline.AdditiveSVR().fit(X[:, :2], X[:, 2:])
        kernline.save(model, "two.kern")
        np.savetxt("rows.csv", X[:5, :2], delimiter=",")
        rows = json.loads(explained("two.kern", "rows.csv", "--no-header", "--to", "json"))["rows"]
        assert [row["row"] for row in rows] == np.repeat(np.arange(1, 6), 2).tolist()
        assert len({row["score_of"] for row in rows}) == 2
        found = np.reshape([row["prediction"] for row in rows], (5, 2))
        np.testing.assert_allclose(found, model.predict(X[:5, :2]), atol=1e-5)
        for row in rows:
            parts = sum(part["contribution"] for part in row["contributions"])
            assert row["intercept"] + parts + row["others"] == pytest.approx(row["prediction"], abs=1e-5)
        assert explained("two.kern", "rows.csv", "--no-header").count("row 3: ") == 2

    def test_zeros_of_sparse_rows_add_nothing(self, folder):
        """As in reports and ContributionDisplay; the same rows as a table are centred."""
        X = np.random.default_rng(0).random((60, 5)) * (np.random.default_rng(1).random((60, 5)) < 0.4)
        y = (X[:, 0] > X[:, 1]).astype(int)
        dump_svmlight_file(X, y, "words.svm", zero_based=False)
        np.savetxt("words.csv", X, delimiter=",")
        kernline.save(kernline.AdditiveSVC("chi2", scale="max").fit(X, y), "words.kern")
        sparse = json.loads(explained("words.kern", "words.svm", "--to", "json", "--top", 9))["rows"]
        dense = json.loads(explained("words.kern", "words.csv", "--no-header", "--to", "json", "--top", 9))["rows"]
        at_zero = [[part["contribution"] for part in row["contributions"] if not part["value"]] for row in sparse]
        assert not any(any(parts) for parts in at_zero)
        assert any(any(part["contribution"] and not part["value"] for part in row["contributions"]) for row in dense)
        np.testing.assert_allclose([row["score"] for row in sparse], [row["score"] for row in dense], atol=1e-5)

    @pytest.mark.parametrize("form", ["json", "csv", "text"])
    def test_half_a_surrogate_pair_in_a_name(self, folder, form):
        """Pandas refuses such names, but a model file may hold them."""
        X = np.column_stack([np.arange(20.0), np.arange(20.0) % 3])
        model = kernline.AdditiveSVC().fit(X, np.arange(20) > 9)
        model.feature_names_in_ = np.array(["a\ud800", "ä"], dtype=object)
        rows = Explainer(model, model.shapes_.with_names(["a\ud800", "ä"]), 2, 1).rows(X)
        text = {"json": _json, "csv": _csv, "text": _plain_text}[form](rows)
        if form == "json":
            assert json.loads(text.encode())["rows"][0]["contributions"][0]["feature"] in ("a\ud800", "ä")
        kernline.export.to_json(model, "curves.json")
        assert json.loads((folder / "curves.json").read_bytes())["features"][0]["name"] == "a\ud800"
        kernline.export.to_csv(model, "curves.csv")
        assert (folder / "curves.csv").read_text(encoding="utf-8").count("a?") > 1

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["m.kern", "table.csv", "--to", "xml"], "--to xml is not known. Choose text, csv or json"),
            (["m.kern", "table.csv", "--json", "--to", "csv"], "--json and --to csv contradict each other"),
            (["nystrom.kern", "table.csv"], "whose score is not a sum over features"),
        ],
    )
    def test_wrong_usage(self, table, arguments, message):
        X, y = load_iris(return_X_y=True)
        kernline.save(kernline.NystromSVC(n_basis=5).fit(X, y), "nystrom.kern")
        result = run("explain", *arguments)
        assert result.exit_code == 2
        assert message in result.stderr

    def test_models_of_older_files(self, folder, request):
        X, y = load_iris(return_X_y=True)
        model = kernline.AdditiveSVC(C=10.0).fit(X, y)
        model.shapes_ = model.shapes_.with_history().with_classes(model.classes_)
        kernline.save(model, "old.kern")
        rows = json.loads(explained("old.kern", "iris.svm", "--to", "json"))["rows"]
        np.testing.assert_allclose([row["score"] for row in rows], model.decision_function(X).max(axis=1), atol=1e-5)
        assert "importance" not in run("inspect", "old.kern").stdout


class TestInspect:
    def test_draws_the_most_important_curves(self, table):
        _, model = table
        shown = run("inspect", "m.kern", "--top", 6).stdout
        for name in model.shapes_.function_names:
            assert f"\n{name}\n" in shown
        assert any(block in shown for block in "▁▂▃▄▅▆▇█")
        assert "missing" in shown
        assert "highest +" in shown
        low, high = model.classes_
        assert f"Effects on the score: above 0 speaks for {high}, below 0 for {low}." in shown
        record = json.loads(run("inspect", "m.kern", "--json").stdout)
        assert record["importance"][0]["feature"] == model.shapes_.function_names[model.shapes_.top(1)[0]]
        assert record["scores_of"] == [str(high)]

    def test_lists_edits(self, table):
        _, model = table
        kernline.save(model.with_shapes(model.shapes_.edit("hours", replace=0.0)), "edited.kern")
        assert "edits: hours: replaced by 0" in run("inspect", "edited.kern").stdout

    def test_without_unicode_and_colour(self, table):
        def shown(**environment):
            command = [sys.executable, "-m", "kernline", "inspect", "m.kern"]
            return subprocess.run(command, capture_output=True, check=True, env=_environment() | environment).stdout

        plain = shown(PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        assert plain.isascii()
        assert b"#" in plain
        assert b"\x1b[" not in shown(PYTHONIOENCODING="utf-8")
        coloured = shown(PYTHONIOENCODING="utf-8", FORCE_COLOR="1", TERM="xterm-256color")
        assert b"\x1b[38;5;" in coloured
        without = shown(PYTHONIOENCODING="utf-8", FORCE_COLOR="1", TERM="xterm-256color", NO_COLOR="1")
        assert b"\x1b[38;5;" not in without


def _environment():
    import os

    return {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}


class TestPainter:
    @pytest.mark.parametrize("width", [40, 80, 200])
    def test_lines_fit_the_width(self, table, width):
        _, model = table
        painter = Painter(Console(file=io.StringIO(), width=width))
        for k in range(6):
            for line in painter.function(model.shapes_, k, "name " * 30):
                assert line.cell_len <= width

    def test_names_are_harmless(self):
        painter = Painter(Console(file=io.StringIO(), width=80))
        assert painter.shown("a\x1b[31m\nb") == "a?[31m?b"
        assert painter.text(painter.shown("[bold]x[/bold]")).plain == "[bold]x[/bold]"
        assert painter.shown("x" * 100, 10) == "x" * 9 + "…"

    def test_many_classes_and_levels(self):
        X = np.arange(60.0)[:, None] % 20
        model = kernline.AdditiveSVC(categorical=[0], loss="hinge", C=1.0).fit(X, X[:, 0] % 5)
        painter = Painter(Console(file=io.StringIO(), width=80))
        lines = [line.plain for line in painter.function(model.shapes_, 0, "level")]
        assert "    and 12 more levels" in lines
        assert lines[-1] == "  and 2 more classes"
