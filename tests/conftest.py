"""Small data of the kinds Kernline is for. Nothing here is read from outside the repository."""

import inspect
import os
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris

from benchmarks.browser import browser, missing
from kernline import kernels

collect_ignore = ["fuzz", "hard"]  # programs of their own
# Tests that depend on processes, files, signals or the environment use one of these fixtures and modules.
_EDGE_NAMES = {"tmp_path", "tmp_path_factory", "folder", "subprocess", "signal", "threading", "multiprocessing", "fork"}
_OTHER_SETTINGS = (
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "TTY_COMPATIBLE",
    "TERM",
    "PYTHONWARNINGS",
)

KERNELS = [
    kernels.Chi2(),
    kernels.Intersection(),
    kernels.Hellinger(),
    kernels.JensenShannon(),
    kernels.PowerMean(-8.0),
]


def pytest_collection_modifyitems(items):
    for item in items:
        code = getattr(inspect.unwrap(getattr(item, "function", None) or str), "__code__", None)
        names = {*getattr(item, "fixturenames", ()), *(code.co_names if code else ())}
        if names & _EDGE_NAMES:
            item.add_marker("edge")


@pytest.fixture(autouse=True)
def default_signals():
    """Signals that nohup, or a shell that starts a job in the background, has set to be ignored.

    Tests raise SIGINT, so it gets Python's handler. SIGHUP gets one that does nothing: the tests go on after a hangup,
    and the programs they start get the default action, as any handler is reset by exec.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM) if hasattr(signal, "SIGHUP") else ():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """Without the user's settings, here and in the programs that tests start; a test sets what it needs.

    KERNLINE_TARGET stays: it chooses the instruction set that is tested.
    """
    for name in os.environ:
        if (name.startswith("KERNLINE_") and name != "KERNLINE_TARGET") or name in _OTHER_SETTINGS:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def chromium():
    """One browser per process: playwright does not start a second one beside it."""
    lacking = missing()
    if lacking is not None:
        pytest.skip(lacking)
    with browser() as context:
        yield context


@pytest.fixture(params=KERNELS, ids=lambda kernel: kernel.name)
def kernel(request):
    return request.param


@pytest.fixture(scope="session")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="session")
def histograms():
    """300 sparse non-negative rows of 40 features with crowded small values, and two classes that differ in them."""
    rng = np.random.default_rng(7)
    X = rng.gamma(0.5, 1.0, (300, 40)) * (rng.random((300, 40)) < 0.5)
    y = np.sqrt(X) @ rng.standard_normal(40) + 0.3 * rng.standard_normal(300) > 0
    return sp.csr_array(X), np.where(y, "spam", "ham")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with iris as LIBSVM and as CSV, and no data sets but those that come with scikit-learn."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KERNLINE_OFFLINE", "1")
    monkeypatch.delenv("KERNLINE_DATA", raising=False)
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, "iris.svm", zero_based=False)
    names = load_iris().target_names[y]
    rows = [",".join([*map(str, row), name]) for row, name in zip(X.tolist(), names, strict=True)]
    (tmp_path / "iris.csv").write_text("\n".join(["a,b,c,d,species", *rows]) + "\n")
    return tmp_path
