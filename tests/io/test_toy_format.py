"""A file format that another package defines: what CONTRIBUTING.md promises about it."""

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import load_iris

import kernline
from kernline.io import FORMATS, Format, read, register_format, write

from . import toy_format
from .toy_format import BARS

IRIS = load_iris()
needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow, of kernline[io]")


@pytest.fixture
def bars():
    register_format(BARS)
    yield BARS
    del FORMATS["bars"]


@pytest.fixture
def iris(bars, tmp_path, monkeypatch):
    """A file of the toy format in the current folder."""
    monkeypatch.chdir(tmp_path)
    with open("iris.bars", "wb") as stream:
        write(stream, IRIS.data, IRIS.target_names[IRIS.target], name="iris.bars")
    return tmp_path


def run(*arguments):
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from kernline.cli.app import app

    return CliRunner().invoke(app, list(arguments))


class TestRead:
    @pytest.mark.parametrize("format", ["auto", "bars", "bar"])
    def test_by_suffix_and_by_name(self, iris, format):
        if format != "auto":
            (iris / "iris.bars").rename(iris / "iris.csv")
        data = read("iris.bars" if format == "auto" else "iris.csv", format=format)
        assert np.array_equal(data.X, IRIS.data)
        assert np.array_equal(data.y, IRIS.target_names[IRIS.target])

    def test_compressed_and_streams(self, iris):
        content = (iris / "iris.bars").read_bytes()
        (iris / "iris.bars.gz").write_bytes(gzip.compress(content))
        assert np.array_equal(read("iris.bars.gz").X, IRIS.data)
        assert np.array_equal(read(io.BytesIO(content), format="bars", dtype=np.float32).X, IRIS.data.astype("f4"))

    def test_encoder(self, iris):
        encoder = kernline.AdditiveSVC().fit(IRIS.data, IRIS.target).shapes_.encoder
        codes = read("iris.bars", encoder=encoder).X
        assert np.array_equal(codes.cells, encoder.transform(IRIS.data).cells)
        narrow = kernline.AdditiveSVC().fit(IRIS.data[:, :3], IRIS.target).shapes_.encoder
        with pytest.raises(ValueError, match=r"iris.bars has 4 columns of features, and the encoder was fitted on 3"):
            read("iris.bars", encoder=narrow)

    def test_bad_lines(self, iris):
        (iris / "bad.bars").write_text("a | 1 2\nb | 1 x\nc | 3 4\n")
        with pytest.raises(ValueError, match=r"bad.bars:2: could not convert string to float: 'x'"):
            read("bad.bars")
        with pytest.warns(UserWarning, match=r"Skipped a line of bad.bars. The first: bad.bars:2") as warned:
            data = read("bad.bars", on_error="skip")
        assert warned[0].filename == __file__
        assert data.n_skipped == 1
        assert data.y.tolist() == ["a", "c"]

    @pytest.mark.parametrize(
        "options",
        [{"target": "y"}, {"columns": ["a"]}, {"n_features": 4}, {"zero_based": True}, {"multilabel": True}],
        ids=lambda options: next(iter(options)),
    )
    def test_options(self, iris, options):
        (name,) = options
        with pytest.raises(ValueError, match=f"{name}= does not apply to format 'bars'"):
            read("iris.bars", **options)
        (iris / "commas.bars").write_text("a | 1,2\n")
        assert read("commas.bars", delimiter=",").X.tolist() == [[1.0, 2.0]]


class TestCommandLine:
    def test_train_and_predict(self, iris):
        assert run("train", "iris.bars", "m.kern").exit_code == 0
        result = run("predict", "m.kern", "iris.bars")
        expected = kernline.load("m.kern").predict(IRIS.data)
        assert result.stdout.split() == expected.tolist()

    @needs_pyarrow
    def test_convert(self, iris):
        assert run("convert", "iris.bars", "iris.csv").exit_code == 0
        assert run("convert", "iris.csv", "again", "--to", "bars", "--target", "label").exit_code == 0
        assert (iris / "again").read_bytes() == (iris / "iris.bars").read_bytes()

    def test_wrong_options(self, iris):
        result = run("train", "iris.bars", "m.kern", "--target", "species")
        assert result.exit_code == 1
        assert "--target does not apply to format 'bars'. Pass --format if it is another" in result.stderr
        result = run("train", "iris.bars", "m.kern", "--format", "balls")
        assert result.exit_code == 1
        assert "format must be one of auto, arrow, bars, csv" in result.stderr


class TestInstalledPackage:
    """A package that is installed, in another process: an entry point is its registration."""

    def install(self, folder, entry_point):
        shutil.copy(toy_format.__file__, folder / "bars_format.py")
        info = folder / "bars_format-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bars-format\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[kernline.formats]\nbars = {entry_point}\n")
        (folder / "toy.bars").write_text("a | 1 2\nb | 3 4\n")

    def inspect(self, folder, *arguments):
        command = [sys.executable, "-m", "kernline", "inspect", *arguments, "--json"]
        path = filter(None, [str(folder), os.environ.get("PYTHONPATH")])
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    @pytest.mark.parametrize("arguments", [("toy.bars",), ("toy", "--format", "bar")])
    def test_is_found(self, tmp_path, arguments):
        pytest.importorskip("typer")
        self.install(tmp_path, "bars_format:BARS")
        shutil.copy(tmp_path / "toy.bars", tmp_path / "toy")
        ended = self.inspect(tmp_path, *arguments)
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout)["labels"] == {"a": 1, "b": 1}

    def test_broken_package_is_reported(self, tmp_path):
        pytest.importorskip("typer")
        self.install(tmp_path, "bars_format:MISSING")
        (tmp_path / "data.other").write_text("1 1:2\n")
        ended = self.inspect(tmp_path, "data.other")
        assert "The file format bars_format:MISSING cannot be loaded" in ended.stderr
        assert json.loads(ended.stdout)["rows"] == 1


class TestRegister:
    def test_twice(self, bars):
        assert register_format(bars) is bars
        with pytest.raises(ValueError, match="'bar' of format 'bars' already belongs to 'bars'"):
            register_format(replace(bars, options=()))

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"name": "csv"}, "'csv' of format 'csv' already belongs to 'csv'"),
            ({"aliases": ("libsvm",)}, "'libsvm' of format 'bars' already belongs to 'svmlight'"),
            ({"suffixes": (".npy",)}, "'.npy' of format 'bars' already belongs to 'npy'"),
            ({"suffixes": ("bars",)}, "'bars' cannot be the suffix of format 'bars'"),
            ({"suffixes": (".Bars",)}, "'.Bars' cannot be the suffix"),
            ({"suffixes": (".gz",)}, "'.gz' cannot be the suffix"),
            ({"options": ("sep",)}, "options of format 'bars': 'sep' is none of target, columns"),
            ({"stores": ("weights",)}, "stores of format 'bars': 'weights' is none of qid, multilabel"),
            ({"name": "auto"}, "a format cannot be called 'auto'"),
        ],
    )
    def test_mistakes(self, changes, message):
        with pytest.raises(ValueError, match=message):
            register_format(replace(BARS, **changes))
        assert "bars" not in FORMATS

    def test_write_is_optional(self, bars):
        read_only = Format("stars", toy_format.read_bars, suffixes=(".stars",))
        register_format(read_only)
        try:
            with pytest.raises(ValueError, match=r"format 'stars' cannot be written. Choose one of arrow, bars"):
                write(io.BytesIO(), [[1.0]], ["a"], name="x.stars")
        finally:
            del FORMATS["stars"]
        with pytest.raises(ValueError, match=r"x.bars: format 'bars' cannot store qid"):
            write(io.BytesIO(), [[1.0]], ["a"], name="x.bars", qid=np.array([1]))

    def test_codes_cannot_be_written(self):
        encoder = kernline.AdditiveSVC().fit(IRIS.data, IRIS.target).shapes_.encoder
        data = read(io.BytesIO(b"1 1:2\n"), encoder=encoder)
        with pytest.raises(ValueError, match=r"the rows are encoded. Read them without encoder="):
            FORMATS["csv"].write(io.BytesIO(), data)
