"""Where bytes come from and go to: pipes, compressed streams of several members, files that take another's place."""

import os
import stat
import threading
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

import kernline
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
