"""The claims of SECURITY.md that no other test shows, and that the tests it names exist."""

import os
import pickle
import re
import socket
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

import numpy as np
import pytest

import kernline
from kernline import AdditiveSVC, Dataset, datasets
from kernline.datasets.download import _SafeRedirects
from kernline.io import read

ROOT = Path(__file__).parents[1]
CLAIMS = re.findall(r"`(tests/[a-z_/]+\.py)::(test_\w+)`", (ROOT / "SECURITY.md").read_text())


def test_claims_name_tests():
    assert len(CLAIMS) >= 20
    for file, name in CLAIMS:
        assert f"\ndef {name}(" in (ROOT / file).read_text(), f"{file} has no {name}"


class Trap:
    """Leaves a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_pickles_are_not_executed(tmp_path):
    trap = tmp_path / "executed"
    rows = np.array([[Trap(trap)]], dtype=object)
    np.save(tmp_path / "x.npy", rows, allow_pickle=True)
    np.savez(tmp_path / "x.npz", X=rows, y=np.ones(1))
    for suffix in ("kern", "kdata", "svm", "csv", "parquet", "arrow"):
        (tmp_path / f"x.{suffix}").write_bytes(pickle.dumps(Trap(trap)))
    for suffix in ("npy", "npz", "svm", "csv", "parquet", "arrow"):
        with pytest.raises(ValueError, match=rf"x\.{suffix}"):
            read(tmp_path / f"x.{suffix}")
    with pytest.raises(ValueError, match=r"x\.kern"):
        kernline.load(tmp_path / "x.kern")
    with pytest.raises(ValueError, match=r"x\.kdata"):
        Dataset.load(tmp_path / "x.kdata")
    assert not trap.exists()
    pickle.loads(pickle.dumps(Trap(trap)))
    assert trap.exists()  # it works


@pytest.mark.parametrize(
    "name", ["../mnist", "/etc/passwd", "mnist/../../x", "http://127.0.0.1/x", "file:///etc/passwd", "", ".", "mnist\0"]
)
def test_names_of_data_sets_are_not_paths(name, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KERNLINE_DATA", str(tmp_path / "data"))
    with pytest.raises(ValueError, match="no data set is called"):
        datasets.load(name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/x"])
def test_redirects_to_other_protocols_are_refused(url):
    request = urllib.request.Request("https://example.org/data")
    with pytest.raises(urllib.error.URLError, match="redirects to"):
        _SafeRedirects().redirect_request(request, None, 302, "Found", Message(), url)


def test_nothing_else_opens_a_connection(tmp_path, monkeypatch):
    def refuse(*args):
        raise AssertionError("a connection")

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 3)), np.arange(60) % 2
    model = AdditiveSVC(random_state=0).fit(X, y)
    kernline.save(model, tmp_path / "m.kern")
    kernline.load(tmp_path / "m.kern").predict(X)
    np.savez(tmp_path / "x.npz", X=X, y=y)
    read(tmp_path / "x.npz")
    kernline.export.to_json(model, tmp_path / "m.json")
    pytest.importorskip("bokeh", reason="reports need bokeh")
    kernline.report(model, X, y, tmp_path / "m.html")
