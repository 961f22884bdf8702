"""Options of LIBSVM and LIBLINEAR, files that must not be overwritten, signals, and messages."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("typer")
from sklearn.datasets import dump_svmlight_file, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import LinearSVC

import kernline

from .test_cli import TestProcesses as Processes
from .test_cli import interrupted, run, start


class TestLibsvm:
    def test_class_weights(self, folder):
        assert run("train", "-w1", "2", "-w2", "0.5", "-c", "1", "iris.svm", "m.kern").exit_code == 0
        assert kernline.load("m.kern").class_weight == {1: 2.0, 2: 0.5}

    def test_a_forgotten_weight_does_not_overwrite_data(self, folder):
        before = (folder / "iris.svm").read_bytes()
        result = run("train", "-w1", "iris.svm", "m.kern")
        assert result.exit_code == 2
        assert "expected a weight after -w1" in result.stderr
        assert run("train", "-w1", "2", "iris.svm").exit_code == 0
        assert (folder / "iris.svm").read_bytes() == before
        assert (folder / "iris.svm.kern").exists()

    @pytest.mark.parametrize(("option", "hint"), [("-m", "-j"), ("-R", "Leave -B out"), ("-d", "-p degree=3")])
    def test_hints(self, folder, option, hint):
        result = run("train", option, "5", "iris.svm")
        assert result.exit_code == 2
        assert f"No such option: {option}" in result.stderr
        assert hint in result.stderr.replace("\n", " ")


class TestLiblinear:
    """train -v, -C and -B, as in LIBLINEAR."""

    @pytest.mark.parametrize("arguments", [(), ("-t", "rbf", "-p", "n_basis=20"), ("-w2", "3")])
    def test_cross_validation_accuracy(self, folder, arguments):
        result = run("train", "-v", "3", "-c", "10", "--seed", "7", "-j", "1", *arguments, "iris.svm")
        assert result.exit_code == 0, result.stderr
        X, y = load_iris(return_X_y=True)
        shared = {"C": 10.0, "random_state": 7, "n_jobs": 1}
        if "rbf" in arguments:
            model = kernline.NystromSVC(n_basis=20, **shared)
        else:
            model = kernline.AdditiveSVC(class_weight={2: 3.0} if arguments else None, **shared)
        correct = 0
        for train, test in StratifiedKFold(3, shuffle=True, random_state=7).split(X, y):
            correct += (model.fit(sp.csr_array(X[train]), y[train]).predict(sp.csr_array(X[test])) == y[test]).sum()
        assert result.stdout == f"Cross Validation Accuracy = {100 * correct / 150:g}%\n"
        assert not (folder / "iris.svm.kern").exists()

    def test_validation_writes_no_model(self, folder):
        (folder / "m.kern").write_bytes(b"")
        result = run("train", "-v", "2", "iris.svm", "m.kern", "--json")
        assert json.loads(result.stdout)["rows"] == 150
        assert (folder / "m.kern").read_bytes() == b""
        assert "no model" in run("train", "-v", "2", "iris.svm", "m.kern").stderr
        assert run("train", "-v", "2", "--keep", "iris.svm").exit_code == 2
        assert run("train", "-v", "1", "iris.svm").exit_code == 2

    def test_best_cost(self, folder):
        result = run("train", "-C", "-v", "3", "-c", "8", "iris.svm")
        assert result.exit_code == 0, result.stderr
        X, y = load_iris(return_X_y=True)
        costs = [8.0 * 2**k for k in range(8)]
        same = kernline.AdditiveSVCCV(Cs=costs, cv=3, random_state=0).fit(sp.csr_array(X), y)
        assert f"Best C = {same.C_:g}  CV accuracy = {100 * same.best_score_:g}%" in result.stdout
        assert {path.name for path in folder.iterdir()} == {"iris.svm", "iris.csv"}

    def test_best_cost_with_a_model(self, folder):
        record = json.loads(run("train", "-C", "iris.svm", "m.kern", "-t", "intersection", "--json").stdout)
        model = kernline.load("m.kern")
        assert (model.C_, model.kernel_, model.cv) == (record["best"]["C"], "intersection", 5)

    @pytest.mark.parametrize("cost", ["0", "-1", "nan", "inf"])
    def test_a_first_cost_that_cannot_be_doubled(self, folder, cost):
        result = run("train", "-C", "-c", cost, "iris.svm")
        assert result.exit_code == 2
        assert "must be a positive number" in result.stderr

    @pytest.mark.parametrize("bias", ["1", "4", "0", "-1"])
    def test_the_intercept_is_a_constant_feature(self, folder, bias):
        """Compared with an SVM without intercept on the kernel plus the square of the bias."""
        assert run("train", "-B", bias, "-t", "linear", "-e", "1e-5", "iris.svm", "m.kern").exit_code == 0
        model = kernline.load("m.kern")
        X, y = load_iris(return_X_y=True)
        gram = model.gamma_ * X @ X.T
        assert np.diagonal(gram).mean() == pytest.approx(1.0)
        constant = max(0.0, float(bias)) ** 2
        svm = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000)
        features = np.hstack([np.sqrt(model.gamma_) * X, np.full((150, 1), np.sqrt(constant))])
        expected = svm.fit(features, y == 0).decision_function(features)
        np.testing.assert_allclose(model.decision_function(X)[:, 0], expected, atol=2e-2)
        assert (model.intercept_ == 0.0).all() == (constant == 0.0)

    def test_all_classes_in_one_problem(self, folder):
        assert run("train", "-s", "4", "iris.svm", "m.kern").exit_code == 0
        model = kernline.load("m.kern")
        assert (model.multi_class, model.loss) == ("crammer-singer", "hinge")
        assert len(model.n_iter_) == 1
        assert run("cv", "-s", "4", "-c", "1", "-c", "2", "-v", "3", "iris.svm", "cv.kern").exit_code == 0
        assert kernline.load("cv.kern").multi_class == "crammer-singer"

    @pytest.mark.parametrize("bias", ["nan", "inf"])
    def test_an_intercept_that_is_not_finite(self, folder, bias):
        assert run("train", "-B", bias, "iris.svm").exit_code == 2

    def test_intercept_of_a_search(self, folder):
        assert run("cv", "-B", "-1", "-c", "1", "iris.svm", "m.kern").exit_code == 0
        assert kernline.load("m.kern").fit_intercept is False


class TestOverwriting:
    def test_other_files_are_not_overwritten(self, folder):
        before = (folder / "iris.svm").read_bytes()
        (folder / "other.svm").write_bytes(before)
        for command in ("train", "cv"):
            result = run(command, "iris.svm", "other.svm")
            assert result.exit_code == 2
            assert "other.svm exists and is not a model file" in result.stderr
        assert (folder / "other.svm").read_bytes() == before
        assert run("train", "iris.svm", "other.svm", "--force").exit_code == 0
        assert kernline.load("other.svm").n_features_in_ == 4

    def test_models_and_empty_files_are_replaced(self, folder):
        (folder / "m.kern").write_bytes(b"")
        for C in (1.0, 2.0):
            assert run("train", "iris.svm", "m.kern", "-c", C).exit_code == 0
            assert kernline.load("m.kern").C == C

    @pytest.mark.parametrize(
        ("arguments", "kept"),
        [
            (("export", "m.kern", "m.kern", "--to", "json"), "m.kern"),
            (("export", "m.kern", "link.json"), "m.kern"),
            (("convert", "iris.svm", "iris.svm", "--to", "csv"), "iris.svm"),
        ],
    )
    def test_export_and_convert_keep_their_input(self, folder, arguments, kept):
        run("train", "iris.svm", "m.kern")
        (folder / "link.json").symlink_to("m.kern")
        before = (folder / kept).read_bytes()
        result = run(*arguments)
        assert result.exit_code == 2
        assert f"OUTPUT would overwrite {kept}" in result.stderr
        assert (folder / kept).read_bytes() == before

    @pytest.mark.parametrize("output", ["m.kern", "iris.svm"])
    def test_predict_keeps_its_input(self, folder, output):
        run("train", "iris.svm", "m.kern")
        before = (folder / output).read_bytes()
        result = run("predict", "m.kern", "iris.svm", "-o", output)
        assert result.exit_code == 2
        assert f"OUTPUT would overwrite {output}" in result.stderr
        assert (folder / output).read_bytes() == before

    @pytest.mark.parametrize(
        "command",
        [
            ("predict", "m.kern", "iris.svm", "-o"),
            ("explain", "m.kern", "iris.svm", "-o"),
            ("report", "m.kern", "iris.svm", "-o"),
            ("convert", "iris.svm"),
        ],
    )
    def test_other_models_are_kept(self, folder, command):
        run("train", "iris.svm", "m.kern")
        run("train", "iris.svm", "other.kern")
        before = (folder / "other.kern").read_bytes()
        result = run(*command, "other.kern")
        assert result.exit_code == 2
        assert "OUTPUT would overwrite other.kern, a model file" in result.stderr
        assert (folder / "other.kern").read_bytes() == before


class TestMessages:
    """Messages of the library name options instead of parameters."""

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (
                ["train", "negative.svm", "m.kern", "-t", "chi2", "--scale", "max"],
                1,
                "Pass --scale minmax or --scale rank, or use --kernel linear.",
            ),
            (["train", "one.svm", "m.kern"], 1, "y holds one class only: 1."),
            (["train", "text.csv", "m.kern", "--columns", "b,a", "--target", "b"], 1, "--columns contains 'b'"),
            (["export", "iris.kern", "2024.h"], 1, "Pass --name with letters"),
            (["export", "iris.kern", "x.json", "--name", "x"], 2, "--name does not apply to format json"),
            (["evaluate", "iris.kern", "zero.svm"], 1, "pass --zero-based"),
            (["train", "iris.svm", "m.kern", "-j", "0"], 2, "0 threads"),
        ],
    )
    def test_name_options(self, folder, arguments, code, message):
        (folder / "negative.svm").write_text("1 1:-1\n2 1:1\n")
        (folder / "one.svm").write_text("1 1:1\n1 1:2\n")
        (folder / "zero.svm").write_text("1 0:1\n")
        (folder / "text.csv").write_text("a,b\n1,x\n2,y\n")
        run("train", "iris.svm", "iris.kern")
        result = run(*arguments)
        assert result.exit_code == code, result.stderr
        assert message in result.stderr

    def test_inspect_and_export_have_the_options_that_messages_name(self, folder):
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
        assert entry["score"] == pytest.approx(cross_val_score(model, sp.csr_array(X), y, cv=3).mean())
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
        monkeypatch.setattr("kernline.estimators.cross_validation._has_fallen", lambda scores: len(scores) == 2)
        arguments = ["cv", "iris.svm", "-c", "1", "-c", "2", "-c", "30", "-c", "40"]
        assert json.loads(run(*arguments, "--json").stdout)["skipped"] == [
            {"kernel": "chi2", "C": 30.0},
            {"kernel": "chi2", "C": 40.0},
        ]
        lines = run(*arguments).stdout.splitlines()
        begin = next(k for k, line in enumerate(lines) if line.startswith("Not tried, because the scores had fallen"))
        assert lines[begin + 1 : begin + 3] == ["  kernel = chi2, C = 30", "  kernel = chi2, C = 40"]


class TestSignals:
    @pytest.fixture
    def hard(self, folder):
        rng = np.random.default_rng(0)
        dump_svmlight_file(rng.random((2000, 5)), rng.integers(4, size=2000), str(folder / "hard.svm"))
        return folder

    def test_keep_reports_how_many_problems_were_cut_short(self, hard):
        process = start("train", *Processes.ENDLESS, "--keep", "-j", "1")
        messages = interrupted(process)
        assert process.returncode == 130
        assert b"4 of 4 problems were cut short" in messages

    @pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
    def test_termination_leaves_no_temporary_file(self, folder, name):
        """The signal arrives while the output is being written."""
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
        _, messages = process.communicate(timeout=60)
        assert process.returncode == -number
        assert b"Traceback" not in messages
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
