"""One model in several threads, processes and interpreters. Forks while a thread fits: test_threads.py."""

import multiprocessing
import shutil
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest

from kernline import AdditiveSVC

X = np.random.default_rng(0).random((120, 5))
Y = np.arange(120) % 3


def predictions(model, rows):
    return model.predict(rows)


@pytest.mark.parametrize("method", [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()])
def test_a_model_in_other_processes(method):
    model = AdditiveSVC("chi2", n_jobs=2).fit(X, Y)
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.starmap(predictions, [(model, X)] * 4)
    for labels in found:
        np.testing.assert_array_equal(labels, model.predict(X))


def test_a_model_in_workers_of_joblib():
    model = AdditiveSVC("chi2", n_jobs=2).fit(X, Y)
    found = joblib.Parallel(2, backend="loky")(joblib.delayed(predictions)(model, X) for _ in range(4))
    for labels in found:
        np.testing.assert_array_equal(labels, model.predict(X))


def test_two_threads_fit_the_same_estimator():
    """The model is one of the two, and not a mixture: rows of the two fits differ even in their columns."""
    data = [(X, Y), (X[:60, :3], np.arange(60) % 2)]
    expected = [AdditiveSVC("chi2").fit(*rows).decision_function(rows[0]) for rows in data]
    model, begin = AdditiveSVC("chi2"), threading.Barrier(2)

    def fit(rows):
        begin.wait(30.0)
        model.fit(*rows)

    for _ in range(20):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(fit, data))
        k = [5, 3].index(model.n_features_in_)
        np.testing.assert_array_equal(model.decision_function(data[k][0]), expected[k])


THREAD = """
import threading
import numpy as np
from kernline import AdditiveSVC
X, y = np.random.default_rng(0).random((300, 5)), np.arange(300) % 3
for _ in range(3):
    threading.Thread(target=lambda: AdditiveSVC("chi2").fit(X, y).predict(X)).start()
"""


def test_the_program_ends_while_threads_fit():
    ended = subprocess.run([sys.executable, "-c", THREAD], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")


INTERPRETER = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
program = '''
try:
    import kernline
except ImportError as error:
    print(error)
'''
interpreters.run_string(interpreters.create(), program)
"""


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="a module of CPython")
def test_a_subinterpreter_is_refused_by_name():
    ended = subprocess.run([sys.executable, "-c", INTERPRETER], capture_output=True, text=True, timeout=120)
    assert ended.stdout.startswith("kernline does not support subinterpreters"), ended.stderr


def test_free_threaded_python_is_refused_by_name():
    program = "import sys; sys._is_gil_enabled = lambda: False; import kernline"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "ImportError: kernline does not support free-threaded Python" in ended.stderr


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_the_core_is_not_compiled_for_free_threaded_python():
    nanobind = pytest.importorskip("nanobind")
    root = Path(__file__).parents[1]
    folders = [root / "native", nanobind.include_dir(), sysconfig.get_path("include")]
    command = ["c++", "-std=c++20", "-E", "-DPy_GIL_DISABLED", *(f"-I{folder}" for folder in folders)]
    command += [root / "native/bindings/bindings.cpp", "-o", "/dev/null"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "Kernline does not support free-threaded Python" in ended.stderr
