"""Sources and targets of bytes: pipes, compressed streams of several members, links."""

import bz2
import gzip
import io
import lzma
import os
import signal
import stat
import subprocess
import sys
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
    """A named pipe that a thread reads to the end; the content is appended to the list."""
    os.mkfifo(path)
    arrived = []
    thread = threading.Thread(target=lambda: arrived.append(path.read_bytes()), daemon=True)
    thread.start()
    yield arrived
    thread.join(timeout=20)


@contextmanager
def written_to(path, content):
    """A named pipe to which a thread writes once."""
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


# Compressed

TEXT = b"1 1:0.5\n2 3:0.25\n" * 20_000
COMPRESSIONS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def compressed(suffix):
    if suffix == ".zst":
        pa = pytest.importorskip("pyarrow")
        return pa.Codec("zstd").compress(TEXT, asbytes=True)
    return COMPRESSIONS[suffix](TEXT)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("suffix", [*COMPRESSIONS, ".zst"])
def test_compressed(tmp_path, suffix, n_jobs):
    path = tmp_path / f"data.svm{suffix}"
    path.write_bytes(compressed(suffix))
    for place in (path, str(path), io.BytesIO(path.read_bytes())):
        X, y, *_ = read(place, n_jobs=n_jobs)
        assert X.shape == (40_000, 3)
        assert y[:3].tolist() == [1, 2, 1]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("suffix", [*COMPRESSIONS, ".zst"])
def test_cut_off(tmp_path, suffix, n_jobs):
    path = tmp_path / f"data.svm{suffix}"
    content = compressed(suffix)
    n_threads = threading.active_count()
    for n in (12, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:n])
        with pytest.raises(ValueError, match=r"data.svm.*stream is cut off or damaged"):
            read(path, n_jobs=n_jobs)
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"data.svm"):
        read(path, n_jobs=n_jobs)
    assert threading.active_count() == n_threads


def test_a_name_that_promises_too_much(tmp_path):
    path = tmp_path / "data.svm.gz"
    for content in (b"", TEXT, bz2.compress(TEXT)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"data.svm.gz is not compressed by gzip, although its name says so"):
            read(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.svm")


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_standard_input(compress):
    code = "from kernline.io import read; X, y, *_ = read('-'); print(X.shape, y.sum())"
    run = subprocess.run([sys.executable, "-c", code], input=compress(TEXT), capture_output=True, check=True)
    assert run.stdout.decode().split() == ["(40000,", "3)", "60000"]


def test_errors_name_standard_input():
    code = "from kernline.io import read; read('-')"
    bad = subprocess.run([sys.executable, "-c", code], input=b"1 x", capture_output=True, check=False)
    assert b"standard input:1: expected index:value, found 'x'" in bad.stderr


def test_the_callers_stream_stays_open():
    stream = io.BytesIO(b"1 1:1\n")
    read(stream)
    assert not stream.closed


def test_interrupted():
    """Ctrl-C interrupts reading an endless stream."""

    class Forever(io.RawIOBase):
        def readinto(self, buffer):
            block = TEXT[: len(buffer) // 8 * 8] if len(buffer) < len(TEXT) else TEXT
            buffer[: len(block)] = block
            return len(block)

    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            read(Forever(), on_error="skip", n_jobs=2)
    finally:
        timer.join()


MEMBERS = {".bz2": bz2.compress(TEXT), ".xz": lzma.compress(TEXT)}


@pytest.mark.parametrize("suffix", MEMBERS)
@pytest.mark.parametrize("n_members", [2, 3])
def test_members_one_after_another(tmp_path, suffix, n_members):
    (tmp_path / f"data{suffix}").write_bytes(MEMBERS[suffix] * n_members)
    assert read(tmp_path / f"data{suffix}").X.shape == (40_000 * n_members, 3)


@pytest.mark.parametrize("suffix", MEMBERS)
@pytest.mark.parametrize(
    "follows",
    [
        lambda member: bytes([member[0] ^ 0x10]) + member[1:],
        lambda member: member[:5] + bytes([member[5] ^ 0x10]) + member[6:],
        lambda member: member[:-1],
        lambda member: member[:2],
        lambda member: member + b"X",
        lambda _: b"garbage" * 100_000,
        lambda _: b"\0\0\0",
        lambda _: b"\n",
    ],
    ids=["flipped magic", "flipped header", "cut off", "cut in its magic", "one byte", "garbage", "zeros", "line end"],
)
def test_what_follows_a_member_is_one_or_an_error(tmp_path, suffix, follows):
    path = tmp_path / f"data.svm{suffix}"
    path.write_bytes(MEMBERS[suffix] + follows(MEMBERS[suffix]))
    with pytest.raises(ValueError, match=r"data.svm.*stream is cut off or damaged"):
        read(path)


def test_xz_may_be_padded_by_words_of_zeros(tmp_path):
    path, member = tmp_path / "data.svm.xz", MEMBERS[".xz"]
    path.write_bytes(member + bytes(8) + member + bytes(1 << 18))
    assert read(path).X.shape == (80_000, 3)
    path.write_bytes(member + bytes(7) + member)
    with pytest.raises(ValueError, match=r"7 zero bytes follow a member, which is not a multiple of four"):
        read(path)


def test_a_closed_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(OSError, match="standard input is closed"):
        kernline.io.read("-")
