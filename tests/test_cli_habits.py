"""The command line in a hurry: LIBSVM's habits, files that must not be lost, signals, and words it understands."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
from sklearn.datasets import dump_svmlight_file, load_iris, load_wine
from sklearn.model_selection import cross_val_score

import kernline

from .test_cli import TestProcesses as Processes
from .test_cli import interrupted, run, start


class TestLibsvm:
    def test_class_weights(self, folder):
        assert run("train", "-w1", "2", "-w2", "0.5", "-c", "1", "iris.svm", "m.kern").exit_code == 0
        assert kernline.load("m.kern").class_weight == {1: 2.0, 2: 0.5}

    def test_a_weight_that_was_forgotten_costs_no_data(self, folder):
        before = (folder / "iris.svm").read_bytes()
        result = run("train", "-w1", "iris.svm", "m.kern")
        assert result.exit_code == 2
        assert "expected a weight after -w1" in result.stderr
        assert run("train", "-w1", "2", "iris.svm").exit_code == 0
        assert (folder / "iris.svm").read_bytes() == before
        assert (folder / "iris.svm.kern").exists()

    @pytest.mark.parametrize(
        ("option", "hint"), [("-v", "kernline cv -v 5"), ("-b", "--scores"), ("-B", "-p intercept")]
    )
    def test_hints(self, folder, option, hint):
        result = run("train", option, "5", "iris.svm")
        assert result.exit_code == 2
        assert f"No such option: {option}" in result.stderr
        assert hint in result.stderr.replace("\n", " ")


class TestNothingIsLost:
    def test_what_is_no_model_is_kept(self, folder):
        before = (folder / "iris.svm").read_bytes()
        (folder / "other.svm").write_bytes(before)
        for command in ("train", "cv"):
            result = run(command, "iris.svm", "other.svm")
            assert result.exit_code == 2
            assert "other.svm exists and is no model file" in result.stderr
        assert (folder / "other.svm").read_bytes() == before
        assert run("train", "iris.svm", "other.svm", "--force").exit_code == 0
        assert kernline.load("other.svm").n_features_in_ == 4

    def test_models_and_empty_files_are_replaced(self, folder):
        (folder / "m.kern").write_bytes(b"")
        for C in (1.0, 2.0):
            assert run("train", "iris.svm", "m.kern", "-c", C).exit_code == 0
            assert kernline.load("m.kern").C == C

    @pytest.mark.parametrize("output", ["m.kern", "iris.svm"])
    def test_predict_spares_what_it_reads(self, folder, output):
        run("train", "iris.svm", "m.kern")
        before = (folder / output).read_bytes()
        result = run("predict", "m.kern", "iris.svm", "-o", output)
        assert result.exit_code == 2
        assert f"OUTPUT would overwrite {output}" in result.stderr
        assert (folder / output).read_bytes() == before


class TestWords:
    """Messages of the library, told in options."""

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["train", "negative.svm", "m.kern"], 1, "Pass --scale minmax or --scale rank, or use --kernel linear."),
            (["train", "one.svm", "m.kern"], 1, "y holds one class only: 1."),
            (["inspect", "text.csv"], 1, "--columns"),
            (["export", "iris.kern", "2024.h"], 1, "Pass --name with letters"),
            (["export", "iris.kern", "x.json", "--name", "x"], 2, "--name is for names in C"),
            (["evaluate", "iris.kern", "zero.svm"], 1, "pass --zero-based"),
            (["train", "iris.svm", "m.kern", "-j", "0"], 2, "0 threads"),
        ],
    )
    def test_are_options(self, folder, arguments, code, message):
        (folder / "negative.svm").write_text("1 1:-1\n2 1:1\n")
        (folder / "one.svm").write_text("1 1:1\n1 1:2\n")
        (folder / "zero.svm").write_text("1 0:1\n")
        (folder / "text.csv").write_text("a,b\n1,x\n2,y\n")
        run("train", "iris.svm", "iris.kern")
        result = run(*arguments)
        assert result.exit_code == code, result.stderr
        assert message in result.stderr

    def test_inspect_and_export_have_what_their_messages_name(self, folder):
        pytest.importorskip("pyarrow")
        (folder / "text.csv").write_text("a,b\n1,x\n2,y\n")
        assert json.loads(run("inspect", "text.csv", "--columns", "a", "--json").stdout)["features"] == 1
        run("train", "iris.svm", "iris.kern")
        assert run("export", "iris.kern", "2024.h", "--name", "iris").exit_code == 0
        assert "int iris_predict(" in (folder / "2024.h").read_text()


def test_budgeted_cross_validation(folder):
    arguments = ["--estimator", "budgeted", "-p", "budget=20", "-c", "1", "-c", "10", "-v", "3", "-j", "1"]
    result = run("cv", "iris.svm", "best.kern", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    X, y = load_iris(return_X_y=True)
    for entry in record["tried"]:
        model = kernline.BudgetedSVC(budget=20, C=entry["C"], n_jobs=1, random_state=0)
        assert entry["score"] == pytest.approx(cross_val_score(model, X, y, cv=3).mean())
    assert record["best"]["score"] == max(entry["score"] for entry in record["tried"])
    assert record["best"]["C"] == kernline.load("best.kern").C


class TestSearch:
    def test_tries_all_of_wine(self, folder):
        X, y = load_wine(return_X_y=True)
        dump_svmlight_file(X, y, "wine.svm")
        result = run("cv", "wine.svm", "--json")
        record = json.loads(result.stdout)
        assert len(record["tried"]) == 10
        assert record["skipped"] == []
        assert record["best"]["score"] > 0.9

    def test_reports_what_was_not_tried(self, folder, monkeypatch):
        monkeypatch.setattr("kernline.cross_validation._has_fallen", lambda scores: len(scores) == 2)
        arguments = ["cv", "iris.svm", "-c", "1", "-c", "2", "-c", "30", "-c", "40"]
        assert json.loads(run(*arguments, "--json").stdout)["skipped"] == [
            {"kernel": "chi2", "C": 30.0},
            {"kernel": "chi2", "C": 40.0},
        ]
        lines = run(*arguments).stdout.splitlines()
        begin = next(k for k, line in enumerate(lines) if line.startswith("Not tried, as the scores had fallen"))
        assert lines[begin + 1 : begin + 3] == ["  kernel = chi2, C = 30", "  kernel = chi2, C = 40"]


class TestSignals:
    @pytest.fixture
    def hard(self, folder):
        rng = np.random.default_rng(0)
        dump_svmlight_file(rng.random((2000, 5)), rng.integers(4, size=2000), str(folder / "hard.svm"))
        return folder

    def test_keep_tells_how_many_problems_were_cut_short(self, hard):
        process = start("train", *Processes.ENDLESS, "--keep", "-j", "1")
        told = interrupted(process)
        assert process.returncode == 130
        assert b"4 of 4 problems were cut short" in told

    @pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
    def test_an_end_from_outside_leaves_no_temporary_file(self, folder, name):
        """The output is under way when the signal comes."""
        number = getattr(signal, name)
        code = (
            "import sys, time, kernline.cli, kernline.cli.app\n"
            "import kernline.io as io\n"
            "def slow(stream, *_, **__):\n"
            "    stream.write(b'1 1:1')\n"
            "    print('begun', file=sys.stderr, flush=True)\n"
            "    time.sleep(100)\n"
            "io.write = slow\n"
            "sys.argv = ['kernline', 'convert', 'iris.svm', 'out.svm']\n"
            "kernline.cli.main()\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
        assert process.stderr.readline() == b"begun\n"
        assert len(list(folder.glob("out.svm.*.tmp"))) == 1
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 128 + number
        assert b"Traceback" not in told
        assert {path.name for path in folder.iterdir()} == {"iris.svm", "iris.csv"}

    def test_an_interrupt_while_modules_load(self):
        code = (
            "import sys, kernline.cli\n"
            "class Interrupted:\n"
            "    def find_spec(self, name, *_):\n"
            "        if name == 'kernline.cli.app':\n"
            "            raise KeyboardInterrupt\n"
            "sys.meta_path.insert(0, Interrupted())\n"
            "kernline.cli.main()\n"
        )
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert ended.returncode == 130
        assert ended.stderr == b""

    def test_a_closed_standard_output(self, folder):
        command = [sys.executable, "-m", "kernline", "inspect", "iris.svm"]
        ended = subprocess.run(command, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1), check=False)
        assert ended.returncode == 1
        assert b"standard output is closed" in ended.stderr
        assert b"Traceback" not in ended.stderr
