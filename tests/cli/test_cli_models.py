"""The command line with all kinds of models, and with files that do not show where indices start."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import kernline
from kernline.encoding import TermSpec
from kernline.feature_maps import AdditiveKernelMap, NystromMap

from ..encoding.mixed_data import with_terms
from .test_cli import run


class TestWhereIndicesStart:
    @pytest.fixture
    def zero_based(self, folder):
        """Digits with indices from 0, and a test file that does not show it. Returns the accuracy on its rows."""
        X, y = load_digits(return_X_y=True)
        X = X + 1.0
        dump_svmlight_file(X[:600], y[:600], "train.svm", zero_based=True)
        X[:, 0] = 0.0
        dump_svmlight_file(X[600:900], y[600:900], "test.svm", zero_based=True)
        assert run("train", "train.svm", "m.kern").exit_code == 0
        return kernline.load("m.kern").score(X[600:900], y[600:900])

    def test_read_reports_it(self, folder):
        (folder / "zero.svm").write_text("1 0:2 3:1\n")
        assert kernline.io.read("zero.svm").zero_based is True
        assert kernline.io.read("iris.svm").zero_based is False
        assert kernline.io.read("iris.svm", zero_based=True).zero_based is True
        np.save("x.npy", np.eye(2))
        assert kernline.io.read("x.npy").zero_based is None

    def test_the_model_remembers_it(self, zero_based):
        assert zero_based > 0.8
        assert json.loads(run("evaluate", "m.kern", "test.svm", "--json").stdout)["accuracy"] == zero_based
        assert f"({round(300 * zero_based)}/300)" in run("predict", "m.kern", "test.svm").stderr
        shifted = json.loads(run("evaluate", "m.kern", "test.svm", "--one-based", "--json").stdout)
        assert shifted["accuracy"] < zero_based

    def test_inspect_numbers_features_from_0_in_either_case(self, zero_based):
        run("train", "iris.svm", "one.kern")
        for model, data, n in (("m.kern", "test.svm", 64), ("one.kern", "iris.svm", 4)):
            result = run("inspect", model, "--data", data, "--top", n, "--json")
            listed = json.loads(result.stdout)["importance"]
            assert sorted(entry["feature"] for entry in listed) == list(range(n))
            run("export", model, "curves.json")
            exported = json.loads(Path("curves.json").read_text())["features"]
            assert [feature["name"] for feature in exported] == [str(j) for j in range(n)]

    def test_bench_reads_both_files_the_same_way(self, zero_based):
        results = json.loads(run("bench", "train.svm", "test.svm", "--json").stdout)["results"]
        chi2 = next(result for result in results if result["model"] == "kernline chi2")
        assert chi2["accuracy"] > 0.8

    def test_a_contradiction_is_an_error(self, folder):
        assert run("train", "iris.svm", "m.kern").exit_code == 0
        (folder / "zero.svm").write_text("1 1:2\n1 0:2 3:1\n")
        result = run("evaluate", "m.kern", "zero.svm")
        assert result.exit_code == 1
        assert "zero.svm:2: index 0 in a file that is read as one-based" in result.stderr
        assert "trained on a file whose indices start at 1" in result.stderr
        assert run("evaluate", "m.kern", "zero.svm", "--zero-based").exit_code == 0

    def test_does_not_apply_to_arrays(self, folder):
        np.save("x.npy", load_iris().data)
        run("train", "iris.svm", "m.kern")
        assert run("predict", "m.kern", "x.npy").exit_code == 0


class TestPipelines:
    @pytest.mark.parametrize("scaler", [MinMaxScaler(), StandardScaler(), StandardScaler(with_mean=False)], ids=str)
    def test_predict_and_evaluate(self, folder, scaler, monkeypatch):
        X, y = load_iris(return_X_y=True)
        model = make_pipeline(scaler, kernline.NystromSVC(n_basis=20, random_state=0)).fit(X, y)
        kernline.save(model, "pipe.kern")
        monkeypatch.setattr("kernline.cli.models._DENSE_VALUES", 40)  # blocks of ten rows
        result = run("predict", "pipe.kern", "iris.svm", "--scores", "--json")
        assert result.exit_code == 0, result.stderr
        found = json.loads(result.stdout)
        assert found["labels"] == model.predict(X).tolist()
        np.testing.assert_allclose(found["scores"], model.decision_function(X))
        assert json.loads(run("evaluate", "pipe.kern", "iris.svm", "--json").stdout)["accuracy"] == model.score(X, y)

    def test_sparse_rows_of_a_model_that_needs_dense_ones(self, folder):
        """If columns have negative values, rows of sparse files are made dense."""
        X, y = load_iris(return_X_y=True)
        X = (X - X.mean(axis=0)).round(3)
        model = kernline.AdditiveSVC(scale="minmax").fit(X, y)
        kernline.save(model, "m.kern")
        dump_svmlight_file(X, y, "centred.svm", zero_based=False)
        result = run("predict", "m.kern", "centred.svm", "--json")
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["labels"] == model.predict(X).tolist()

    def test_inspect_names_pairs_of_features(self, folder):
        X, y = load_iris(return_X_y=True)
        model = with_terms(kernline.AdditiveSVC(), TermSpec("pair", (2, 3), {"bins": (3, 3)})).fit(X, y)
        kernline.save(model, "m.kern")
        record = json.loads(run("inspect", "m.kern", "--data", "iris.svm", "--json").stdout)
        expected = dict(zip([0, 1, 2, 3, "2 × 3"], model.shapes_.importance(X).sum(axis=1), strict=True))
        found = {entry["feature"]: entry["importance"] for entry in record["importance"]}
        assert found.keys() == expected.keys()
        assert found == pytest.approx(expected)

    def test_inspect(self, folder):
        X, y = load_iris(return_X_y=True)
        model = make_pipeline(MinMaxScaler(), kernline.AdditiveSVC("chi2", C=7.0)).fit(X, y)
        kernline.save(model, "pipe.kern")
        record = json.loads(run("inspect", "pipe.kern", "--data", "iris.svm", "--json").stdout)
        assert record["estimator"] == "Pipeline of MinMaxScaler, AdditiveSVC"
        assert record["features"] == 4
        assert record["classes"] == [0, 1, 2]
        assert record["parameters"].items() >= {"C": 7.0, "kernel": "chi2", "loss": "hinge", "scale": "max"}.items()
        expected = model[-1].shapes_.importance(model[0].transform(X)).sum(axis=1)
        np.testing.assert_allclose(
            [entry["importance"] for entry in record["importance"]], np.sort(expected)[::-1], rtol=1e-12
        )


@pytest.mark.parametrize("model", [NystromMap(n_basis=10), AdditiveKernelMap()], ids=lambda model: type(model).__name__)
def test_maps_can_be_inspected_but_do_not_predict(folder, model):
    X = load_iris().data
    for saved, name in ((model, type(model).__name__), (make_pipeline(MinMaxScaler(), model), "Pipeline")):
        kernline.save(saved.fit(X), "map.kern")
        record = json.loads(run("inspect", "map.kern", "--json").stdout)
        assert record["estimator"].startswith(name)
        assert record["classes"] is None
        for command in ("predict", "evaluate"):
            result = run(command, "map.kern", "iris.svm")
            assert result.exit_code == 2
            assert "predicts no labels" in result.stderr
        assert run("inspect", "map.kern", "--data", "iris.svm").exit_code == 2


class TestInspect:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ((), {"kernel": "chi2", "C": 1.0, "loss": "hinge", "scale": "max"}),
            (("-t", "linear", "-c", "3"), {"kernel": "linear", "C": 3.0}),
            (("-t", "rbf", "-p", "n_basis=20"), {"kernel": "rbf", "C": 10.0, "n_basis": 20, "basis": "kmeans"}),
            (("--estimator", "budgeted"), {"C": 10.0, "budget": 500}),
        ],
    )
    def test_shows_defaults_too(self, folder, arguments, expected):
        run("train", "iris.svm", "m.kern", *arguments)
        assert json.loads(run("inspect", "m.kern", "--json").stdout)["parameters"].items() >= expected.items()
        shown = run("inspect", "m.kern").stdout
        assert all(f"{name}: {value}" in shown for name, value in expected.items())

    def test_shows_what_a_search_chose(self, folder):
        best = json.loads(run("cv", "iris.svm", "m.kern", "-c", "1", "-c", "5", "-t", "chi2", "--json").stdout)["best"]
        parameters = json.loads(run("inspect", "m.kern", "--json").stdout)["parameters"]
        assert (parameters["kernel"], parameters["C"]) == ("chi2", best["C"])


class TestInternalErrors:
    @pytest.fixture
    def failing(self, folder, monkeypatch):
        def fail(*_, **__):
            raise TypeError("no such\nthing")

        monkeypatch.setattr("kernline.cli.data.Reading.rows", fail)

    def test_are_one_line(self, failing):
        result = run("inspect", "iris.svm")
        assert result.exit_code == 4
        assert result.stderr.count("\n") == 1
        assert "internal error: TypeError: no such thing" in result.stderr
        assert "KERNLINE_DEBUG" in result.stderr

    def test_are_json(self, failing):
        record = json.loads(run("inspect", "iris.svm", "--json").stdout)
        assert record["exit_code"] == 4

    def test_show_a_traceback_with_debug(self, failing, monkeypatch):
        monkeypatch.setenv("KERNLINE_DEBUG", "1")
        assert isinstance(run("inspect", "iris.svm").exception, TypeError)
