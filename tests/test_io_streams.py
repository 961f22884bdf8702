"""Where bytes come from and go to: pipes, compressed streams of several members, files that take another's place."""

import io
import os
import stat
import threading
from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp

import kernline
from kernline.io import read
from kernline.io.atomic import replacing

needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow, of kernline[io]")
needs_fifo = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


@contextmanager
def read_from(path):
    """A named pipe that somebody reads to the end; what arrived is put into the list."""
    os.mkfifo(path)
    arrived = []
    thread = threading.Thread(target=lambda: arrived.append(path.read_bytes()), daemon=True)
    thread.start()
    yield arrived
    thread.join(timeout=20)


@contextmanager
def written_to(path, content):
    """A named pipe into which somebody writes once."""
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_bytes, args=[content], daemon=True)
    thread.start()
    yield path
    thread.join(timeout=20)


# Writing


@needs_fifo
def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    with read_from(tmp_path / "pipe") as arrived, replacing(tmp_path / "pipe") as file:
        file.write(b"content")
    assert arrived == [b"content"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


@needs_fifo
def test_a_model_goes_into_a_pipe(tmp_path, histograms):
    model = kernline.AdditiveSVC(random_state=0).fit(*histograms)
    kernline.save(model, tmp_path / "model.kern")
    with read_from(tmp_path / "pipe") as arrived:
        kernline.save(model, tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert arrived == [(tmp_path / "model.kern").read_bytes()]


def test_a_link_stays_one(tmp_path):
    (tmp_path / "link").symlink_to("file")
    with replacing(tmp_path / "link") as file:
        file.write(b"content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"content"


# Pipes by their path

X = np.arange(60_000, dtype=np.float64).reshape(20_000, 3)


def numpy_file(X):
    out = io.BytesIO()
    np.save(out, X)
    return out.getvalue()


def sparse_file(X):
    out = io.BytesIO()
    sp.save_npz(out, sp.csr_array(X))
    return out.getvalue()


def arrow_file(kind, X):
    out = io.BytesIO()
    kernline.io.write(out, X, name=f"data.{kind}")
    return out.getvalue()


@needs_fifo
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("data.npy", numpy_file),
        ("data.npz", sparse_file),
        pytest.param("data.parquet", lambda X: arrow_file("parquet", X), marks=needs_pyarrow),
        pytest.param("data.arrow", lambda X: arrow_file("arrow", X), marks=needs_pyarrow),
        pytest.param("data.csv", lambda X: arrow_file("csv", X), marks=needs_pyarrow),
        ("data.svm", lambda X: arrow_file("svm", X)),
    ],
)
def test_all_of_a_named_pipe_is_read(tmp_path, name, make):
    with written_to(tmp_path / name, make(X)) as pipe:
        found = read(pipe).X
    assert np.array_equal(found.toarray() if sp.issparse(found) else found, X)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.svm")
