"""The command line: every command, every exit code, pipes and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("typer")
from sklearn.datasets import dump_svmlight_file, load_iris, load_svmlight_file
from typer.testing import CliRunner

import kernline
from kernline.cli.app import app

COMMANDS = [
    "train",
    "predict",
    "evaluate",
    "explain",
    "report",
    "inspect",
    "cv",
    "convert",
    "export",
    "bench",
    "datasets",
]


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def start(*arguments, **options):
    command = [sys.executable, "-m", "kernline", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.fixture
def trained(folder):
    X, y = load_iris(return_X_y=True)
    model = kernline.AdditiveSVC(C=10.0, random_state=0).fit(X, y)
    kernline.save(model, folder / "model.kern")
    return model


class TestHelp:
    def test_lists_all_commands(self):
        result = run("--help")
        assert result.exit_code == 0
        assert all(f"  {command}" in result.stdout for command in COMMANDS)

    @pytest.mark.parametrize("command", [*COMMANDS[:-1], "datasets list", "datasets fetch", "datasets path"])
    def test_shows_examples(self, command):
        result = run(*command.split(), "--help")
        assert result.exit_code == 0
        assert f"  kernline {command.split()[0]}" in result.stdout or "$(kernline" in result.stdout

    @pytest.mark.parametrize("command", ["train", "convert"])
    def test_lists_all_formats(self, command):
        shown = run(command, "--help").stdout
        assert all(name in shown for name in kernline.io.FORMATS)

    def test_version(self):
        assert run("--version").stdout == f"kernline {kernline.__version__}\n"

    def test_imports_nothing_heavy(self):
        code = "import sys, kernline.cli.app; print({'numpy', 'sklearn', 'rich', 'kernline._core'} & set(sys.modules))"
        assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"

    def test_without_typer_says_what_to_install(self):
        code = "import sys; sys.modules['typer'] = None; import kernline.cli; kernline.cli.main()"
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert ended.returncode == 3
        assert "pip install 'kernline[cli]'" in ended.stderr


class TestTrain:
    def test_options_of_liblinear(self, folder):
        result = run("train", "-c", 10, "-s", 3, "iris.svm", "model.kern")
        assert result.exit_code == 0, result.stderr
        model = kernline.load("model.kern")
        assert (model.C, model.loss, model.solver) == (10.0, "hinge", "dual-cd")
        X, y = load_iris(return_X_y=True)
        reference = kernline.AdditiveSVC(C=10.0, loss="hinge", solver="dual-cd").fit(sp.csr_array(X), y)
        np.testing.assert_array_equal(model.predict(X), reference.predict(X))

    def test_the_model_is_named_after_the_data(self, folder):
        assert run("train", "iris.svm").exit_code == 0
        assert (folder / "iris.svm.kern").exists()

    def test_a_table_keeps_its_names(self, folder):
        result = run("train", "iris.csv", "m.kern", "--target", "species", "--columns", "d,a", "-c", "100", "--json")
        record = json.loads(result.stdout)
        assert record["classes"] == ["setosa", "versicolor", "virginica"]
        assert record["features"] == 2
        assert record["interrupted"] is False
        assert list(kernline.load("m.kern").feature_names_in_) == ["d", "a"]
        result = run("evaluate", "m.kern", "iris.csv", "--target", "species", "--json")
        assert json.loads(result.stdout)["accuracy"] > 0.9

    @pytest.mark.parametrize("kernel", ["rbf", "2"])
    def test_landmark_kernel(self, folder, kernel):
        assert run("train", "iris.svm", "m.kern", "-t", kernel, "-p", "n_basis=20", "-g", "0.5").exit_code == 0
        model = kernline.load("m.kern")
        assert isinstance(model, kernline.NystromSVC)
        assert (model.kernel, model.n_basis, model.gamma) == ("rbf", 20, 0.5)

    def test_landmark_models_tell_how_columns_are_scaled(self, folder):
        result = run("train", "iris.csv", "m.kern", "--target", "species", "-t", "rbf", "-p", "n_basis=20")
        assert "Scale: columns standardised: only 0% of the values are zero" in result.stderr
        assert kernline.load("m.kern").scale_.name == "standard"

    @pytest.mark.skipif(not hasattr(kernline, "BudgetedSVC"), reason="BudgetedSVC is not in this build")
    def test_budgeted(self, folder):
        assert run("train", "iris.svm", "m.kern", "--estimator", "budgeted", "-p", "budget=20").exit_code == 0
        assert type(kernline.load("m.kern")).__name__ == "BudgetedSVC"

    def test_class_weights(self, folder):
        assert run("train", "iris.csv", "m.kern", "--target", "-1", "-w", "setosa:2").exit_code == 0
        assert kernline.load("m.kern").class_weight == {"setosa": 2.0}
        assert run("train", "iris.svm", "m.kern", "-w", "balanced").exit_code == 0
        result = run("train", "iris.svm", "m.kern", "-w", "7:2")
        assert result.exit_code == 2
        assert "a label of 0, 1, 2" in result.stderr

    def test_from_standard_input(self, folder):
        result = run("train", "-", "m.kern", stdin=(folder / "iris.svm").read_bytes())
        assert result.exit_code == 0, result.stderr
        assert kernline.load("m.kern").n_features_in_ == 4

    def test_no_convergence_is_reported_and_saved(self, folder):
        result = run("train", "iris.svm", "m.kern", "-c", "1000", "-e", "1e-6", "-p", "max_iter=2", "-q")
        assert result.exit_code == 0
        assert "warning" in result.stderr
        assert "max_iter=2" in result.stderr
        assert result.stdout == ""

    def test_named_data_set(self, folder):
        assert run("train", "@digits", "-q").exit_code == 0
        result = run("evaluate", "digits.kern", "@digits.t", "--json")
        assert json.loads(result.stdout)["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train"], 2, "Missing argument"),
        (["train", "iris.svm", "--cots", "1"], 2, "No such option"),
        (["train", "iris.svm", "-c", "0"], 2, "-c must be auto or a float"),
        (["train", "iris.svm", "-t", "chi3"], 2, "unknown kernel 'chi3'"),
        (["train", "iris.svm", "-s", "5"], 2, "-s 5 is not supported"),
        (["train", "iris.svm", "-g", "wide"], 2, "'wide'"),
        (["train", "iris.svm", "-p", "budget=3"], 2, "no parameter 'budget'"),
        (["train", "iris.svm", "-p", "budget"], 2, "NAME=VALUE"),
        (["train", "iris.svm", "--estimator", "svm"], 2, "must be one of additive, nystrom, budgeted"),
        (["train", "iris.svm", "--estimator", "budgeted", "-t", "chi2"], 2, "supports only the rbf kernel"),
        (["train", "iris.svm", "iris.svm"], 2, "would overwrite the data"),
        (["train", "-"], 2, "Pass MODEL"),
        (["train", "iris.csv"], 2, "--target"),
        (["train", "none.svm"], 1, "none.svm: no such file"),
        (["train", "none.csv"], 1, "none.csv: no such file"),
        (["train", "iris.svm", "none/m.kern"], 1, "the folder none does not exist"),
        (["train", "iris.svm", "."], 1, "is a folder"),
        (["train", "bad.svm"], 1, "bad.svm:2: expected index:value"),
        (["train", "one.svm"], 1, "at least two classes"),
        (["train", "@iriss"], 3, "no data set is called 'iriss'"),
        (["train", "@usps"], 3, "KERNLINE_OFFLINE"),
        (["train", "iris.csv", "--target", "kind"], 1, "no column 'kind'"),
        (["predict", "iris.svm", "iris.svm"], 1, "iris.svm"),
        (["predict", "model.kern", "iris.svm", "a", "-o", "b"], 2, "two outputs"),
        (["evaluate", "model.kern", "empty.svm"], 1, "empty.svm"),
        (["evaluate", "cut.kern", "iris.svm"], 1, "cut.kern"),
        (["inspect", "none"], 1, "no such file"),
        (["cv", "iris.svm", "-t", "chi2", "-t", "rbf"], 2, "not both"),
        (["cv", "iris.svm", "-v", "1"], 2, "-v"),
        (["cv", "iris.svm", "--estimator", "nystrom", "-t", "rbf", "-t", "poly"], 2, "one landmark kernel"),
        (["convert", "iris.svm", "out.csv", "--to", "excel"], 1, "'excel'"),
        (["convert", "iris.svm", "out.npy"], 1, "lose the labels"),
        (["convert", "iris.svm", "out.svm.zst"], 1, ".zst"),
        (["export", "model.kern", "out.pdf"], 2, "--to onnx, c, json or csv"),
        (["datasets", "fetch", "usps"], 3, "KERNLINE_OFFLINE"),
        (["datasets", "fetch", "r8"], 3, "published nowhere"),
        (["datasets", "path", "usps"], 3, "kernline datasets fetch usps"),
        (["datasets", "path", "digits"], 2, "no training file"),
        (["datasets", "path", "mnits"], 3, "Did you mean 'mnist'"),
        (["bench", "iris.csv"], 2, "--target"),
    ],
)
def test_errors_have_a_message_and_an_exit_code(trained, folder, arguments, code, message):
    (folder / "bad.svm").write_text("1 1:2\n2 1\n")
    (folder / "one.svm").write_text("1 1:2\n1 1:3\n")
    (folder / "empty.svm").write_text("")
    (folder / "cut.kern").write_bytes((folder / "model.kern").read_bytes()[:-50])
    before = sorted(folder.iterdir())
    result = run(*arguments)
    assert result.exit_code == code, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(folder.iterdir()) == before


def test_errors_in_json(folder):
    result = run("train", "none.svm", "--json")
    assert json.loads(result.stdout) == {
        "error": "none.svm: no such file. Named data sets start with @ (see kernline datasets list).",
        "exit_code": 1,
    }


class TestPredict:
    @pytest.mark.parametrize(
        "arguments", [("model.kern", "iris.svm", "-o", "out.txt"), ("iris.svm", "model.kern", "out.txt")]
    )
    def test_arguments_in_either_order(self, trained, folder, arguments):
        result = run("predict", *arguments)
        assert result.exit_code == 0, result.stderr
        X, y = load_iris(return_X_y=True)
        np.testing.assert_array_equal(np.loadtxt("out.txt"), trained.predict(X))
        correct = int((trained.predict(X) == y).sum())
        assert f"({correct}/150)" in result.stdout

    def test_csv_with_scores(self, trained, folder):
        assert run("predict", "model.kern", "iris.svm", "-o", "out.csv", "--scores").exit_code == 0
        assert (folder / "out.csv").read_text().startswith("label,score_0,score_1,score_2\n")
        scores = np.loadtxt("out.csv", delimiter=",", skiprows=1)[:, 1:]
        np.testing.assert_allclose(scores, trained.decision_function(load_iris().data))

    def test_two_classes_have_one_score(self, folder):
        run("train", "iris.svm", "m.kern")
        X, y = load_iris(return_X_y=True)
        kernline.save(kernline.AdditiveSVC().fit(X, y == 2), "m.kern")
        result = run("predict", "m.kern", "iris.svm", "--scores", "--json")
        assert np.shape(json.loads(result.stdout)["scores"]) == (150,)

    def test_standard_output_has_only_labels(self, trained, folder):
        result = run("predict", "model.kern", "-", stdin=(folder / "iris.svm").read_bytes())
        assert [int(line) for line in result.stdout.split()] == trained.predict(load_iris().data).tolist()
        assert "Accuracy" in result.stderr
        assert run("predict", "model.kern", "iris.svm", "-q").stderr == ""

    def test_sparse_rows_may_be_short_or_long(self, trained, folder):
        (folder / "short.svm").write_text("0 1:5\n")
        (folder / "long.svm").write_text("0 1:5 9:1\n")
        short, long = run("predict", "model.kern", "short.svm"), run("predict", "model.kern", "long.svm")
        assert short.stdout == long.stdout == f"{trained.predict([[5.0, 0, 0, 0]])[0]}\n"
        assert "5 features beyond the 4 of the model" in long.stderr

    def test_rows_of_a_named_data_set_may_be_long(self, trained):
        result = run("predict", "model.kern", "@digits.t", "-q")
        assert result.exit_code == 0
        assert "60 features beyond the 4 of the model" in result.stderr

    def test_columns_are_found_by_name(self, folder):
        run("train", "iris.csv", "m.kern", "--target", "species", "-q")
        lines = (folder / "iris.csv").read_text().splitlines()
        shuffled = [",".join([*line.split(",")[3::-1], "x" if k else "more"]) for k, line in enumerate(lines)]
        (folder / "other.csv").write_text("\n".join(shuffled))
        assert run("predict", "m.kern", "other.csv").stdout == run("predict", "m.kern", "iris.csv").stdout

    def test_labels_that_the_model_was_not_trained_on(self, trained, folder):
        (folder / "new.svm").write_text("7 1:5\n0 1:5\n")
        result = run("evaluate", "model.kern", "new.svm")
        assert "1 rows have labels that the model was not trained on" in result.stderr

    def test_devices_are_not_replaced(self, trained):
        assert run("predict", "model.kern", "iris.svm", "-o", os.devnull).exit_code == 0
        assert not os.path.isfile(os.devnull)


def test_evaluate_agrees_with_scikit_learn(trained):
    from sklearn.metrics import precision_recall_fscore_support

    X, y = load_iris(return_X_y=True)
    record = json.loads(run("evaluate", "model.kern", "iris.svm", "--json").stdout)
    assert record["accuracy"] == trained.score(X, y)
    precision, recall, _, rows = precision_recall_fscore_support(y, trained.predict(X))
    for k, entry in enumerate(record["classes"]):
        assert (entry["precision"], entry["recall"], entry["rows"]) == (precision[k], recall[k], rows[k])
    assert "precision" in run("evaluate", "model.kern", "iris.svm").stdout
    assert run("evaluate", "model.kern", "iris.svm", "-q").stdout.count("\n") == 1


class TestInspect:
    def test_model(self, trained):
        result = run("inspect", "model.kern", "--data", "iris.svm", "--top", 2)
        assert "estimator: AdditiveSVC" in result.stdout
        assert "C: 10.0" in result.stdout
        best = trained.shapes_.importance(load_iris().data).sum(axis=1).argmax()
        lines = result.stdout.splitlines()
        ranking = next(k for k, line in enumerate(lines) if line.split() == ["feature", "importance"])
        assert lines[ranking + 1].split()[0] == str(best)

    def test_data(self, folder):
        record = json.loads(run("inspect", "iris.csv", "--target", "species", "--json").stdout)
        assert (record["rows"], record["features"]) == (150, 4)
        assert record["labels"] == {"setosa": 50, "versicolor": 50, "virginica": 50}


class TestCrossValidation:
    def test_chooses_c_and_kernel(self, folder):
        arguments = ["-t", "chi2", "-t", "linear", "-c", "10", "-c", "0.1", "-v", "3"]
        record = json.loads(run("cv", "iris.svm", "best.kern", *arguments, "--json").stdout)
        X, y = load_iris(return_X_y=True)
        same = kernline.AdditiveSVCCV(["chi2", "linear"], Cs=[0.1, 10.0], cv=3, random_state=0).fit(X, y)
        assert record["best"] == {"kernel": same.kernel_, "C": same.C_, "score": same.best_score_}
        assert kernline.load("best.kern").C_ == same.C_

    def test_landmarks(self, folder):
        result = run("cv", "iris.svm", "-t", "rbf", "-c", "1", "-g", "0.1", "-v", "3")
        assert result.exit_code == 0, result.stderr
        assert "Cross Validation Score" in result.stdout


class TestConvert:
    @pytest.mark.parametrize(
        "name", ["x.svm", "x.svm.gz", "x.csv", "x.tsv.bz2", "x.parquet", "x.arrow", "x.npz", "x.csv.xz"]
    )
    def test_round_trip(self, folder, name):
        if not name.startswith(("x.svm", "x.npz")):
            pytest.importorskip("pyarrow")
        assert run("convert", "iris.svm", name).exit_code == 0
        target = [] if name.startswith(("x.svm", "x.npz")) else ["--target", "label"]
        result = run("convert", name, "back.svm", *target)
        assert result.exit_code == 0, result.stderr
        (X, y), (X_back, y_back) = load_svmlight_file("iris.svm"), load_svmlight_file("back.svm")
        assert (X_back != X).nnz == 0
        np.testing.assert_array_equal(y, y_back)

    def test_without_labels(self, folder):
        pytest.importorskip("pyarrow")
        assert run("convert", "iris.csv", "x.npy", "--columns", "a,b").exit_code == 0
        np.testing.assert_array_equal(np.load("x.npy"), load_iris().data[:, :2])
        assert run("convert", "x.npy", "x.csv").exit_code == 0
        assert (folder / "x.csv").read_text().splitlines()[0].replace('"', "") == "f1,f2"

    def test_text_labels_that_libsvm_cannot_store(self, folder):
        (folder / "blank.csv").write_text("a,b\n1,x y\n")
        result = run("convert", "blank.csv", "x.svm", "--target", "b")
        assert result.exit_code == 1
        assert "'x y' cannot be stored in a LIBSVM file" in result.stderr

    def test_to_standard_output(self, folder):
        assert run("convert", "iris.svm", "-").stdout.splitlines()[0] == "0 1:5.1 2:3.5 3:1.4 4:0.2"

    def test_skip_bad(self, folder):
        (folder / "bad.svm").write_text("1 1:2\n2 1\n")
        result = run("convert", "bad.svm", "x.svm", "--skip-bad")
        assert result.exit_code == 0
        assert "Skipped a line of bad.svm" in result.stderr
        assert (folder / "x.svm").read_text() == "1 1:2.0\n"


@pytest.mark.skipif(not hasattr(kernline, "export"), reason="kernline.export is not in this build")
@pytest.mark.parametrize("name", ["out.h", "out.json", "out.csv", "out.onnx"])
def test_export(trained, folder, name):
    if name.endswith(".onnx"):
        pytest.importorskip("onnx")
    result = run("export", "model.kern", name, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["bytes"] == (folder / name).stat().st_size > 100


class TestDatasets:
    def test_list(self, folder):
        record = json.loads(run("datasets", "list", "--json").stdout)["datasets"]
        assert {"mnist", "fashion_mnist", "usps", "a9a", "digits"} <= {entry["name"] for entry in record}
        assert {entry["name"]: entry["checksum"] for entry in record}["mnist"] == "yes"
        assert "unverified" in run("datasets", "list").stdout

    def test_path_and_fetch_of_local_files(self, folder, monkeypatch):
        monkeypatch.setenv("KERNLINE_DATA", str(folder))
        for name in ("heart.bz2", "a9a", "a9a.t"):
            (folder / name).write_bytes(b"")
        assert run("datasets", "path", "heart").stdout == f"{folder / 'heart.bz2'}\n"
        assert run("datasets", "path", "a9a", "--test").stdout == f"{folder / 'a9a.t'}\n"
        assert run("datasets", "fetch", "a9a").stdout == f"{folder / 'a9a'}\n{folder / 'a9a.t'}\n"


def test_bench(folder):
    record = json.loads(run("bench", "iris.svm", "--json").stdout)
    assert [record["results"][k]["model"] for k in (0, 4)] == ["scikit-learn LinearSVC", "kernline auto"]
    assert all(result["accuracy"] > 0.5 for result in record["results"])


def interrupted(process):
    """Interrupt a fit by Ctrl-C once it has started; returns its messages."""
    ended = threading.Timer(120, process.kill)
    ended.start()
    while b"problems fitted" not in (line := process.stderr.readline()):
        assert line, "the fit ended"
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate()
    ended.cancel()
    return messages


class TestProcesses:
    """Tests that need a process of their own."""

    ENDLESS = ("hard.svm", "m.kern", "-c", "1e6", "-e", "1e-12", "-s", "dual-cd", "-p", "max_iter=100000000")

    @pytest.fixture
    def hard(self, folder):
        rng = np.random.default_rng(0)
        X, y = rng.random((2000, 5)), rng.integers(2, size=2000)
        dump_svmlight_file(X, y, str(folder / "hard.svm"))
        return folder

    @pytest.mark.parametrize("keep", [False, True])
    def test_interrupt(self, hard, keep):
        process = start("train", *self.ENDLESS, *(["--keep"] if keep else []))
        messages = interrupted(process)
        assert process.returncode == 130, messages
        assert b"Traceback" not in messages
        left = {path.name for path in hard.iterdir()} - {"iris.svm", "iris.csv", "hard.svm"}
        assert left == ({"m.kern"} if keep else set())
        if keep:
            assert kernline.load(hard / "m.kern").predict([[0.5] * 5]).size == 1

    @pytest.mark.parametrize("command", ["predict", "explain"])
    def test_closed_output_pipe(self, trained, folder, command):
        process = start(command, "model.kern", "-", stdin=(folder / "iris.svm").open("rb"))
        process.stdout.close()
        messages = process.stderr.read()
        process.wait()
        assert process.returncode == 141
        assert b"Traceback" not in messages
        assert b"Exception" not in messages
