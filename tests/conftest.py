"""Small data of the kinds Kernline is for. Nothing here is read from outside the repository."""

import signal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris

from kernline import kernels

collect_ignore = ["fuzz"]  # programs of their own

KERNELS = [
    kernels.Chi2(),
    kernels.Intersection(),
    kernels.Hellinger(),
    kernels.JensenShannon(),
    kernels.PowerMean(-8.0),
]


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard():
    """A process started in the background may have been told to ignore it, and hands that down."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
