"""Tables are read in the calling thread: a thread of Arrow that needs the interpreter at exit aborts it."""

import csv
import io
import subprocess
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("pyarrow")
from kernline.io import lines as line_blocks
from kernline.io import read, write


class Watched(io.RawIOBase):
    """A stream that records the threads that read it."""

    def __init__(self, content):
        self.content = io.BytesIO(content)
        self.readers = set()

    def readable(self):
        return True

    def readinto(self, buffer):
        self.readers.add(threading.get_ident())
        return self.content.readinto(buffer)


def written(kind):
    rng = np.random.default_rng(0)
    stream = io.BytesIO()
    write(stream, rng.random((1000, 3)), rng.integers(2, size=1000), format=kind, target="y", name=f"x.{kind}")
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "arrow"])
def test_streams_are_read_by_the_caller(kind):
    stream = Watched(written(kind))
    assert read(stream, format=kind, target="y").X.shape == (1000, 3)
    assert stream.readers == {threading.get_ident()}


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_so_are_bad_ones(on_error, monkeypatch):
    monkeypatch.setattr(line_blocks, "_BLOCK", 1 << 12)
    lines = written("csv").splitlines(keepends=True)
    stream = Watched(b"".join([*lines[:10], b"1,2\n", b"x,1,1,0\n", *lines[10:]]))
    if on_error == "raise":
        with pytest.raises(ValueError, match=r"stream:11: expected 4 columns, found 2"):
            read(stream, format="csv", target="y")
    else:
        with pytest.warns(UserWarning, match=r"Skipped 2 lines of stream. The first: stream:11"):
            assert read(stream, format="csv", target="y", on_error="skip").X.shape == (1000, 3)
    assert stream.readers == {threading.get_ident()}


def test_a_process_ends_well_while_more_could_be_read():
    """An error in the first block ends the program; no thread is still waiting for the next block."""
    code = (
        "import io, sys, time, kernline.io\n"
        "class Slow(io.RawIOBase):\n"
        "    n_given = 0\n"
        "    def readable(self):\n"
        "        return True\n"
        "    def readinto(self, buffer):\n"
        "        text = b',,2\\n' if self.n_given else b'a,b\\n'\n"
        "        if self.n_given > 20_000_000:\n"
        "            time.sleep(1)\n"
        "        text *= len(buffer) // 4\n"
        "        buffer[:len(text)] = text\n"
        "        self.n_given += len(text)\n"
        "        return len(text)\n"
        "try:\n"
        "    kernline.io.read(Slow(), format='csv', target='b')\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert "expected 2 columns, found 3" in ended.stdout


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "unended"])
def test_lines_across_blocks(monkeypatch, end, last):
    """Blocks of any size give the same rows; the referee is Python's csv module."""
    rng = np.random.default_rng(1)
    lines = ["a,b,y", *(f"{a},{b},t{a % 5}" for a, b in rng.integers(10**9, size=(200, 2)).tolist())]
    lines[50] = f"{'0' * 500}1,2,t1"  # longer than some blocks
    if end == "\n":
        lines[100:100] = ["", ""]
    text = end.join(lines) + (end if last else "")
    if end == "\r":  # the header is found by its line feed
        text = text.replace("\r", "\n", 1)
    expected = [row for row in csv.reader(io.StringIO(text, newline="")) if row][1:]
    for block in (64, 100, 257, 4096):
        monkeypatch.setattr(line_blocks, "_BLOCK", block)
        X, y, *_ = read(io.BytesIO(text.encode()), format="csv", target="y")
        np.testing.assert_array_equal(X, [[float(field) for field in row[:2]] for row in expected])
        assert y.tolist() == [row[2] for row in expected]


def test_a_line_without_end(monkeypatch):
    monkeypatch.setattr(line_blocks, "_LONGEST_LINE", 1 << 20)
    with pytest.raises(ValueError, match="stream:3: line of more than 1 MB"):
        read(io.BytesIO(b"a,b\n1,2\n" + b"1" * (6 << 20)), format="csv")
