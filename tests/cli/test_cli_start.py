"""Imports of the command line, which take most of the time of training a small model."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("typer")

HEAVY = {
    *("pandas", "scipy.stats._stats_py", "scipy.optimize", "scipy.interpolate", "pyarrow"),
    *("sklearn.metrics", "sklearn.cluster", "sklearn.svm", "sklearn.preprocessing", "sklearn.model_selection"),
}


def modules_after(arguments):
    """Names of the modules that a command has loaded when it ends."""
    code = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr))\n"
        "import kernline.cli\n"
        f"sys.argv = ['kernline', *{arguments!r}]\n"
        "kernline.cli.main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(ended.stderr.splitlines()[-1]))


def test_train_and_predict_import_nothing_heavy(folder):
    assert not modules_after(["train", "iris.svm", "m.kern"]) & HEAVY
    assert not modules_after(["predict", "m.kern", "iris.svm", "-q"]) & HEAVY


def test_the_list_of_data_sets_imports_nothing_heavy(folder):
    assert not modules_after(["datasets", "list", "-q"]) & HEAVY


def test_tables_import_only_pyarrow(folder):
    pytest.importorskip("pyarrow")
    assert modules_after(["train", "iris.csv", "m.kern", "--target", "species"]) & HEAVY == {"pyarrow"}


def test_lazily_loaded_modules_work(folder):
    """A scorer needs the metrics of scikit-learn, which need scipy.stats."""
    command = [sys.executable, "-m", "kernline", "cv", "iris.svm", "-c", "1", "--scoring", "f1_macro", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["best"]["C"] == 1.0
