"""Allocations, threads and system calls that fail: an error that names the file, and everything as before.

`make test-hard` lets each of them fail; here it is some. Below, faults that need no library to be preloaded.
"""

import errno
import gzip
import io
import os

import numpy as np
import pytest

import kernline
from kernline import Dataset
from kernline.mapped import file as chunks

from .hard import faults
from .hard.steps import SkipStepError

_UNREADABLE = "/proc/self/mem"  # opens, and cannot be read at its beginning: EIO
needs_unreadable = pytest.mark.skipif(not os.path.exists(_UNREADABLE), reason=f"there is no {_UNREADABLE}")


def test_some_of_all_faults(tmp_path):
    some = [faults.Job(name, faults.ALLOCATIONS) for name in ("fit dual-cd", "fit lbfgs", "predict", "read svmlight")]
    some += [faults.Job("read svmlight", faults.THREADS)]
    some += [faults.Job(name, faults.CALLS, errno.EIO) for name in ("load", "save", "spool", "fit mapped")]
    some += [
        faults.Job("convert to .kdata", faults.CALLS, errno.ENOSPC),
        faults.Job("save", faults.CALLS, faults.SHORT),
    ]
    try:
        tried, wrong = faults.run_jobs(some, limit=6)
    except SkipStepError as reason:
        pytest.skip(str(reason))
    assert wrong == []
    assert tried >= 3 * len(some)


@needs_unreadable
@pytest.mark.parametrize("read", [lambda path: kernline.io.read(path, format="svmlight"), kernline.load, Dataset.load])
def test_errors_of_the_disk_name_the_file(read):
    with pytest.raises(OSError, match=_UNREADABLE) as caught:
        read(_UNREADABLE)
    assert caught.value.errno == errno.EIO


class FailingDisk(io.RawIOBase):
    """Reads some bytes, and then no more."""

    def __init__(self, content):
        self.content = content

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self.content:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        n = min(len(buffer), len(self.content))
        buffer[:n], self.content = self.content[:n], self.content[n:]
        return n


def test_an_error_of_the_disk_is_not_damage():
    stream = FailingDisk(gzip.compress(os.urandom(1000))[:500])
    with pytest.raises(OSError, match="Input/output error"):
        kernline.io.read(stream, format="svmlight")


@pytest.mark.parametrize("write", [lambda data, path: data.save(path), lambda data, path: data.spool(path.parent)])
def test_rows_stay_when_their_new_file_cannot_be_opened(tmp_path, monkeypatch, write):
    def fail(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    X = np.random.default_rng(0).random((50, 3))
    Dataset(X, np.arange(50) % 2).save(tmp_path / "rows.kdata")
    data = Dataset.load(tmp_path / "rows.kdata")
    expected = data[:].cells
    with monkeypatch.context() as patch:
        patch.setattr(chunks, "ChunkFile", fail)
        with pytest.raises(OSError, match="Too many open files"):
            write(data, tmp_path / "new.kdata")
    np.testing.assert_array_equal(data[:].cells, expected)


def test_labels_after_a_failed_hold(monkeypatch):
    """Out of memory for the labels, when the codes are in memory already."""

    def fail(*_, **__):
        raise MemoryError

    data = Dataset(np.random.default_rng(0).random((50, 3)), np.arange(50) % 2)
    with monkeypatch.context() as patch:
        patch.setattr(np, "concatenate", fail)
        with pytest.raises(MemoryError):
            data.hold()
    np.testing.assert_array_equal(data.y, np.arange(50) % 2)
