"""Data on the command line: named pipes, tables without a header, lossless conversion."""

import gzip
import json
import os
import stat
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("typer")
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import kernline
from kernline.cli.app import app

needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow, of kernline[io]")
needs_fifo = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(folder):
    """With iris as in the UCI archive, without a header, and a model of it."""
    (folder / "iris.data.csv").write_text((folder / "iris.csv").read_text().partition("\n")[2])
    X, y = load_iris(return_X_y=True)
    kernline.save(kernline.AdditiveSVC(C=10.0, random_state=0).fit(X, y), "model.kern")
    return folder


def piped(source, *arguments):
    """Run a command with an argument PIPE, a named pipe to which `source` is written."""
    os.mkfifo("PIPE")
    with subprocess.Popen(["dd", f"if={source}", "of=PIPE", "status=none"]) as writer:
        command = [sys.executable, "-m", "kernline", *map(str, arguments)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        writer.kill()
    os.unlink("PIPE")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@needs_fifo
class TestPipes:
    def test_no_row_is_lost(self, folder):
        (folder / "aligned.svm").write_text("1 1:0.5\n" * 100_000)
        assert json.loads(piped("aligned.svm", "inspect", "PIPE", "--json"))["rows"] == 100_000

    @pytest.mark.parametrize("arguments", [("PIPE", "model.kern"), ("model.kern", "PIPE")])
    def test_predict_in_either_order(self, folder, arguments):
        assert piped("iris.svm", "predict", *arguments) == run("predict", "model.kern", "iris.svm").stdout

    @needs_pyarrow
    def test_parquet(self, folder):
        assert run("convert", "iris.svm", "iris.parquet").exit_code == 0
        record = json.loads(piped("iris.parquet", "inspect", "PIPE", "-f", "parquet", "--target", "label", "--json"))
        assert (record["rows"], record["features"]) == (150, 4)

    @pytest.mark.parametrize(
        "arguments", [("train", "iris.svm", "PIPE"), ("export", "model.kern", "PIPE", "--to", "json")]
    )
    def test_output_pipes_are_not_replaced(self, folder, arguments):
        os.mkfifo("PIPE")
        with (folder / "arrived").open("wb") as arrived, subprocess.Popen(["cat", "PIPE"], stdout=arrived) as reader:
            result = run(*arguments)
            if not stat.S_ISFIFO(os.stat("PIPE").st_mode):
                reader.kill()  # it would wait forever
        assert result.exit_code == 0, result.stderr
        assert stat.S_ISFIFO(os.stat("PIPE").st_mode)
        assert (folder / "arrived").stat().st_size > 100


@needs_pyarrow
class TestHeader:
    def test_missing_header_is_detected(self, folder):
        result = run("train", "iris.data.csv", "m.kern", "--target", "-1", "--json")
        assert json.loads(result.stdout)["rows"] == 150
        assert not hasattr(kernline.load("m.kern"), "feature_names_in_")
        (folder / "two.csv").write_text("5.1,3.5,1.4,0.2,setosa\n6.3,3.3,6.0,2.5,virginica\n")
        assert run("predict", "m.kern", "two.csv", "--target", "-1").stdout == "setosa\nvirginica\n"

    def test_option(self, folder):
        (folder / "x.csv").write_text("1,2,3\n4,5,6\n")
        assert json.loads(run("inspect", "x.csv", "--json").stdout)["rows"] == 2
        assert json.loads(run("inspect", "x.csv", "--header", "--json").stdout)["feature_names"] == ["1", "2", "3"]
        (folder / "y.csv").write_text("a,b\na,c\n")
        result = run("convert", "y.csv", "-", "--to", "csv", "--no-header", "--target", "1", "--columns", "0")
        assert result.stdout.replace('"', "").splitlines()[1:] == ["a,b", "a,c"]

    def test_message_names_the_option(self, folder):
        (folder / "years.csv").write_text("id,2019,2020\n1,2,3\n")
        result = run("inspect", "years.csv")
        assert result.exit_code == 1
        assert "--header" in result.stderr
        assert run("inspect", "years.csv", "--header").exit_code == 0


@needs_pyarrow
class TestDelimiter:
    @pytest.mark.parametrize(("name", "delimiter"), [("x.csv", ";"), ("x.txt", "tab"), ("x", "\\t"), ("x.csv", "|")])
    def test_any_character(self, folder, name, delimiter):
        character = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
        (folder / name).write_text((folder / "iris.csv").read_text().replace(",", character))
        options = ["--delimiter", delimiter]
        assert run("train", name, "m.kern", "--target", "species", *options).exit_code == 0
        run("train", "iris.csv", "same.kern", "--target", "species")
        weights = [kernline.load(model).shapes_.weights for model in ("m.kern", "same.kern")]
        np.testing.assert_array_equal(*weights)
        for command in (
            ["evaluate", "m.kern", name],
            ["inspect", name, "--target", "species"],
            ["cv", name, "-c", "1"],
        ):
            target = ["--target", "species"] if command[0] == "cv" else []
            result = run(*command, *target, *options)
            assert result.exit_code == 0, result.stderr
        assert run("predict", "m.kern", name, *options).stdout == run("predict", "same.kern", "iris.csv").stdout
        result = run("convert", name, "back.csv", "--target", "species", *options)
        assert result.exit_code == 0, result.stderr

    def test_from_standard_input(self, folder):
        text = (folder / "iris.csv").read_text().replace(",", ";")
        arguments = ["inspect", "-", "--delimiter", ";", "--target", "species", "--json"]
        result = CliRunner().invoke(app, arguments, input=text)
        assert json.loads(result.stdout)["rows"] == 150

    def test_more_than_one_character_is_an_error(self, folder):
        result = run("inspect", "iris.csv", "--delimiter", ";;")
        assert result.exit_code == 1
        assert "delimiter must be one ASCII character" in result.stderr


@needs_pyarrow
class TestTarget:
    """A model remembers the label column of a table."""

    def test_is_remembered(self, folder):
        assert run("train", "iris.csv", "m.kern", "--target", "species").exit_code == 0
        result = run("evaluate", "m.kern", "iris.csv", "--json")
        assert result.exit_code == 0, result.stderr
        named = run("evaluate", "m.kern", "iris.csv", "--target", "species", "--json")
        assert result.stdout == named.stdout
        assert "Accuracy" in run("predict", "m.kern", "iris.csv").stderr
        assert json.loads(run("inspect", "m.kern", "--json").stdout)["target"] == "species"

    def test_can_be_overridden(self, folder):
        run("train", "iris.csv", "m.kern", "--target", "species")
        text = (folder / "iris.csv").read_text().replace("species", "kind")
        (folder / "other.csv").write_text(text)
        assert run("evaluate", "m.kern", "other.csv", "--target", "kind").exit_code == 0
        result = run("evaluate", "m.kern", "other.csv")
        assert result.exit_code == 1
        assert "no column 'species' to be the target" in result.stderr

    def test_is_not_needed_to_predict(self, folder):
        run("train", "iris.csv", "m.kern", "--target", "species")
        lines = (folder / "iris.csv").read_text().splitlines()
        (folder / "x.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines))
        result = run("predict", "m.kern", "x.csv")
        assert result.exit_code == 0, result.stderr
        assert result.stdout == run("predict", "m.kern", "iris.csv").stdout
        assert "Accuracy" not in result.stderr

    def test_is_a_number_if_columns_have_no_names(self, folder):
        run("train", "iris.data.csv", "m.kern", "--target", "-1")
        assert json.loads(run("evaluate", "m.kern", "iris.data.csv", "--json").stdout)["rows"] == 150
        (folder / "x.csv").write_text("5.1,3.5,1.4,0.2\n")
        assert run("predict", "m.kern", "x.csv").stdout == "setosa\n"

    def test_is_remembered_by_a_search(self, folder):
        run("cv", "iris.csv", "m.kern", "--target", "species", "-c", "1")
        assert run("evaluate", "m.kern", "iris.csv").exit_code == 0

    def test_model_without_one(self, folder):
        result = run("evaluate", "model.kern", "iris.csv")
        assert result.exit_code == 2
        assert "--target" in result.stderr
        run("train", "iris.csv", "m.kern", "--target", "species")
        svmlight = run("evaluate", "m.kern", "iris.svm")
        assert svmlight.exit_code == 0, svmlight.stderr

    def test_invalid_one_in_a_model_file(self, folder):
        model = kernline.AdditiveSVC().fit(*load_iris(return_X_y=True))
        model.target_name_ = ["species"]
        kernline.save(model, "m.kern")
        assert run("evaluate", "m.kern", "iris.csv").exit_code == 2

    @pytest.mark.parametrize("name", ["when", "list", "decimal"])
    @pytest.mark.parametrize("command", ["train", "cv", "bench"])
    def test_type_that_models_cannot_store(self, folder, monkeypatch, name, command):
        import pyarrow as pa
        import pyarrow.parquet

        values = {
            "when": pa.array([1, 2] * 10, type=pa.timestamp("s")),
            "list": pa.array([[1], [2]] * 10),
            "decimal": pa.array([1, 2] * 10).cast(pa.decimal128(20, 0)),
        }
        pa.parquet.write_table(pa.table({"x": list(range(20)), "y": values[name]}), "t.parquet")
        monkeypatch.setattr(kernline.AdditiveSVC, "fit", None)  # must not be called
        monkeypatch.setattr(kernline.AdditiveSVCCV, "fit", None)
        result = run(command, "t.parquet", "--target", "y")
        assert result.exit_code == 1, result.stderr
        assert "must be numbers or text" in result.stderr
        result = run("inspect", "t.parquet", "--target", "y")
        assert result.exit_code == (1 if name == "list" else 0), result.stderr


class TestNamedDatasets:
    def test_a_split_is_announced(self, folder):
        for name, part, rest in (("@digits", "70 %", "@digits.t"), ("@digits.t", "30 %", "@digits")):
            result = run("inspect", name)
            assert f"{name}: {part} of the rows" in result.stderr
            assert f"{rest} has the rest" in result.stderr
        assert run("inspect", "@digits", "-q").stderr == ""

    def test_a_separate_test_part_is_not(self, folder, monkeypatch):
        monkeypatch.setenv("KERNLINE_DATA", str(folder))
        for name in ("a9a", "a9a.t"):
            (folder / name).write_bytes((folder / "iris.svm").read_bytes())
        assert "of the rows" not in run("inspect", "@a9a").stderr

    def test_without_a_home_folder(self, folder, monkeypatch):
        def no_home():
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr("pathlib.Path.home", no_home)
        for name in ("KERNLINE_CACHE", "KERNLINE_OFFLINE", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        assert run("datasets", "list").exit_code == 0
        for arguments in (("train", "@usps", "m.kern"), ("datasets", "fetch", "usps")):
            result = run(*arguments)
            assert result.exit_code == 3, result.stderr
            assert "KERNLINE_CACHE" in result.stderr


class TestConvert:
    def test_queries(self, folder):
        (folder / "q.svm").write_text("1 qid:3 1:1.0\n2 qid:4 2:1.0\n")
        assert run("convert", "q.svm", "-").stdout == (folder / "q.svm").read_text()
        result = run("convert", "q.svm", "q.npz")
        assert result.exit_code == 0
        assert "q.svm has query numbers (qid), which npz cannot store" in result.stderr

    def test_several_labels(self, folder):
        (folder / "m.svm").write_text("1,3 1:1.0\n2 2:1.0\n")
        assert run("convert", "m.svm", "-", "--multilabel").stdout == (folder / "m.svm").read_text()
        assert "kernline convert reads several with --multilabel" in run("train", "m.svm", "m.kern").stderr

    @needs_pyarrow
    def test_libsvm_cannot_store_missing_values(self, folder):
        (folder / "m.csv").write_text("a,b,y\n1,,0\n2,3,1\n")
        result = run("convert", "m.csv", "m.svm", "--target", "y")
        assert result.exit_code == 1
        assert "row 1, column 'b' holds nan" in result.stderr
        assert not (folder / "m.svm").exists()

    def test_wide_rows(self, folder):
        (folder / "wide.svm").write_text("1 999999999:1\n0 3:1\n")
        assert run("convert", "wide.svm", "wide.npz").exit_code == 0
        assert run("convert", "wide.npz", "-").stdout == "1 999999999:1.0\n0 3:1.0\n"
        result = run("convert", "wide.svm", "wide.csv")
        assert result.exit_code == 1
        assert "999999999" in result.stderr


def test_a_truncated_data_set_is_an_error_in_json(folder, monkeypatch):
    monkeypatch.setenv("KERNLINE_DATA", str(folder))
    (folder / "mnist").mkdir()
    for name in ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"):
        (folder / "mnist" / name).write_bytes(gzip.compress(np.arange(100, dtype=np.uint8).tobytes())[:30])
    result = run("inspect", "@mnist", "--json")
    assert result.exit_code == 1
    assert "train-images-idx3-ubyte.gz: the gzip stream is cut off" in json.loads(result.stdout)["error"]
    assert "Aborted" not in result.stderr


def test_end_of_file_is_an_error_in_json(folder, monkeypatch):
    def ends(*_, **__):
        raise EOFError("it ended early")

    monkeypatch.setattr(kernline.io, "read", ends)
    result = run("inspect", "iris.svm", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"] == "it ended early"
