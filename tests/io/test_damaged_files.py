"""Damaged and malicious files: a ValueError names them, and the memory is bounded."""

import gzip
import io
import json
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from kernline.io import read

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

FUZZER = Path(__file__).parents[1] / "fuzz" / "tables.py"


def run(code, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def archive(members):
    """A .npz file of these arrays, with the right checksums."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content if isinstance(content, bytes) else npy(content))
    return out.getvalue()


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npy_header(text, version=1):
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text


def sparse(**changes):
    """A sparse matrix of 3 rows, 2 columns and 4 entries, with some arrays changed."""
    parts = {"format": np.array(b"csr"), "shape": np.array([3, 2]), "data": np.arange(4.0)}
    parts |= {"indices": np.array([0, 1, 0, 1]), "indptr": np.array([0, 2, 2, 4])}
    return archive({name: np.array(part) for name, part in (parts | changes).items()})


# Any damage


def test_some_mutants_of_every_format():
    """A short run finds most of the errors that a longer one (make fuzz-tables) found."""
    done = subprocess.run([sys.executable, FUZZER, "--mutants", "400"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(r"^400 mutants .* 0 of which broke the rule", done.stdout, re.MULTILINE)


GOOD_HEADER = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.npy", npy_header(GOOD_HEADER) + bytes(31), "has 32 bytes, and 31 bytes follow"),
        ("x.npy", npy_header(GOOD_HEADER[:30]), ""),
        ("x.npy", npy_header(GOOD_HEADER.replace(b"2, 2", b"-1, 2")), "shape"),
        ("x.npy", npy_header(GOOD_HEADER.replace(b"2, 2", b"99999999999, 9999999999")), "bytes follow"),
        ("x.npy", npy_header(GOOD_HEADER.replace(b"<f8", b"<x8")), ""),
        ("x.npy", npy_header(GOOD_HEADER.replace(b"<f8", b"|O")), "holds Python objects"),
        ("x.npy", npy_header(GOOD_HEADER.replace(b"}", b"(")), ""),
        ("x.npy", npy_header(b"[" * 50_000), ""),
        ("x.npy", npy_header(GOOD_HEADER.replace(b"}", b"1: 2}")), ""),  # a TypeError of NumPy, and the next one of ast
        ("x.npy", npy_header(GOOD_HEADER.replace(b"}", b"[]: 2}")), ""),
        ("x.npy", npy_header(GOOD_HEADER.replace(b"(2, 2)", b"2")), ""),
        ("x.npy", npy_header(b"", version=7), "version 7"),
        ("x.npz", archive({"X": b"junk"}), "not an array in NumPy's .npy format"),
        ("x.npz", archive({"X": npy(np.eye(3)) + b"more"}), "bytes follow its values"),
        ("x.npz", archive({"X": np.eye(3)})[:-40], "not a zip file"),
        ("x.npz", archive({"X": np.eye(3)}).replace(b"PK\x01\x02\x14\x03", b"PK\x01\x02\x14\x03\xff", 1)[:-1], ""),
        ("x.npz", sparse(indices=[0, 1, 0, 2]), ""),
        ("x.npz", sparse(format=b"csc", shape=[2, 3], indices=[0, 1, 0, 2**30]), ""),
        ("x.npz", sparse(indptr=[0, 2, 1 << 40, 4]), "do not begin where"),
        ("x.npz", sparse(indptr=[0, 1 << 40, 0, 0]), "do not begin where"),
        ("x.npz", sparse(format=b"bsr", data=np.ones((4, 1, 1)), indptr=[0, 1 << 40, 0, 0]), "do not begin where"),
        ("x.npz", sparse(indices=np.ones(4)), "are not integers"),
        ("x.npz", sparse(format=b"abc"), "of format 'abc'"),
        ("x.npz", sparse(shape=[3]), "the shape of a sparse matrix"),
        ("x.npz", sparse(shape=3), "the shape of a sparse matrix"),
        ("x.npz", sparse(shape=[[3], [2]]), "the shape of a sparse matrix"),
        ("x.npz", sparse(shape=[3j, 2]), "the shape of a sparse matrix"),
        ("x.npz", sparse(data=np.float64(1.0)), ""),
        ("x.npz", sparse(format=b"dia", data=np.float64(1.0), offsets=[0]), ""),
        ("x.npz", sparse(format=b"bsr", data=np.ones(4)), ""),
        ("x.npz", archive({"format": np.array(b"csr"), "shape": [1, 1], "data": [1.0]}), ""),
        ("x.parquet", b"PAR1" + bytes(100) + b"PAR1", ""),
        ("x.arrow", b"ARROW1" + bytes(100) + b"ARROW1", ""),
        ("x.arrow", b"\xff\xff\xff\xff" + bytes(100), ""),
    ],
)
def test_damaged(tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name}: .*damaged or truncated: .*{reason}"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["read_values", "check_size", "check_memory"])
def test_internal_errors_are_not_damage(tmp_path, monkeypatch, name):
    """A wrong type in our own code: users should report it, not blame the file."""
    np.save(tmp_path / "x.npy", np.eye(2))
    monkeypatch.setattr(f"kernline.io.{'arrays' if name == 'read_values' else 'npy'}.{name}", None)
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        read(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("name", "content"),
    [("x.npy", npy_header(GOOD_HEADER[:30])), ("x.npz", archive({"format": b"", "shape": b"", "data": b""}))],
)
def test_damage_is_bad_input_on_the_command_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    done = run("from kernline.cli import main; main()", "inspect", tmp_path / name)
    assert done.returncode == 1, done.stderr
    assert "damaged or truncated" in done.stderr


def test_a_flipped_bit_in_a_compressed_archive(tmp_path):
    rng = np.random.default_rng(0)
    out = io.BytesIO()
    np.savez_compressed(out, X=rng.integers(0, 9, (50, 50)))
    content = out.getvalue()
    for place in range(60, len(content) - 150, 97):
        path = tmp_path / "x.npz"
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(ValueError, match=r"x.npz: .*damaged or truncated"):
            read(path)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "npz", "npy", "csv", "tsv"])
def test_empty(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=rf"x.{suffix}"):
        read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError, match=rf"x.{suffix}"):
        read(path)


def arrow_file(table, kind=pa.ipc.new_file):
    out = io.BytesIO()
    with kind(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


READ_EACH = """
import sys
from kernline.io import read

for path in sys.argv[1:]:
    try:
        print(read(path, target="y").y.tolist(), flush=True)
    except ValueError as error:
        print(error, flush=True)
"""


def test_a_text_that_leads_out_of_its_buffer(tmp_path):
    """Read in a child process: without a check, it crashed, or the label had bytes from other memory."""
    labels = ["one", "two", "six"]
    good = struct.pack("<4i", 0, 3, 6, 9)
    paths = []
    for kind in (pa.ipc.new_file, pa.ipc.new_stream):
        content = arrow_file(pa.table({"a": [1, 2, 3], "y": labels}), kind)
        assert content.count(good) == 1
        for offset in (2**31 - 1, 12, -1):
            paths.append(tmp_path / f"{kind.__name__}{offset}.arrow")
            paths[-1].write_bytes(content.replace(good, struct.pack("<4i", 0, 3, offset, 9)))
        (tmp_path / "x.arrow").write_bytes(content)
        assert read(tmp_path / "x.arrow", target="y").y.tolist() == labels
    done = run(READ_EACH, *paths)
    assert done.returncode == 0, done.stderr
    for path, line in zip(paths, done.stdout.splitlines(), strict=True):
        assert re.search(rf"{re.escape(path.name)}: damaged or truncated: ", line)


def test_codes_that_lead_out_of_their_dictionary(tmp_path):
    codes = pa.array([0, 1, 0], pa.int32())
    table = pa.table({"a": [1, 2, 3], "y": pa.DictionaryArray.from_arrays(codes, ["u", "v"])})
    content = arrow_file(table)
    good = struct.pack("<3i", 0, 1, 0)
    path = tmp_path / "x.arrow"
    path.write_bytes(content.replace(good, struct.pack("<3i", 0, 77, 0)))
    with pytest.raises(ValueError, match=r"x.arrow: damaged or truncated: "):
        read(path, target="y")


def test_text_that_is_not_utf8(tmp_path):
    binary = pa.array([b"ok", b"\xff\xfe"])
    table = pa.table({"a": [1, 2], "y": pa.Array.from_buffers(pa.string(), 2, binary.buffers())})
    parquet.write_table(table, tmp_path / "x.parquet")
    (tmp_path / "x.arrow").write_bytes(arrow_file(table))
    for name in ("x.parquet", "x.arrow"):
        with pytest.raises(ValueError, match=rf"{name}: damaged or truncated: .*[Uu][Tt][Ff]-?8"):
            read(tmp_path / name, target="y")


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_that_shrinks_while_it_is_read(tmp_path, order):
    """If the file were mapped into memory, SIGBUS would end the process."""
    path = tmp_path / "x.npy"
    np.save(path, np.asarray(np.ones((200_000, 10)), order=order))
    code = """
import os, sys
import numpy as np
from kernline import AdditiveSVC
from kernline.io import npy, read
from kernline.io.rows import EncodedRows

npy._BLOCK_VALUES = npy._STEP = 100_000
append = EncodedRows.append

def shrink_and_append(rows, X):
    os.truncate(sys.argv[1], 4096)
    append(rows, X)

EncodedRows.append = shrink_and_append
encoder = AdditiveSVC().fit(np.random.default_rng(0).random((50, 10)), np.arange(50) % 2).shapes_.encoder
print(read(sys.argv[1], encoder=encoder).X.shape)
"""
    done = run(code, path)
    if order == "F":  # read as a whole before
        assert done.stdout.strip() == "(200000, 10)", done.stderr
    else:
        assert done.returncode == 1
        assert re.search(r"ValueError: .*x.npy: damaged or truncated: the values of an array end after", done.stderr)


# Odd tables


@pytest.mark.parametrize("write", [parquet.write_table, lambda table, path: path.write_bytes(arrow_file(table))])
@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ([], {}, "no column is left to be read"),
        ([("a", [1, 2]), ("a", [3, 4])], {}, "two columns are called 'a'"),
        ([("a", [[1], [2]]), ("y", [1, 2])], {"target": "y"}, "column 'a' is of type list.*, not of numbers"),
        ([("a", [[1], [2]]), ("y", [1, 2])], {"target": "a"}, "target column 'a' is of type list.*; labels must be"),
        ([("a", [1, 2]), ("y", [None, "u"])], {"target": "y"}, "target column 'y' lacks 1 of its values"),
    ],
)
def test_columns_that_cannot_be_read(tmp_path, write, columns, options, message):
    write(pa.table([part for _, part in columns], names=[name for name, _ in columns]), tmp_path / "x.parquet")
    kind = "parquet" if write is parquet.write_table else "arrow"
    with pytest.raises(ValueError, match=rf"x.parquet: .*{message}"):
        read(tmp_path / "x.parquet", format=kind, **options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n".encode("utf-16"), "stream:1: .*found UTF-16 or binary data"),
        ("a,b\n1,2\n".encode("utf-16-le"), "stream:1: .*found UTF-16 or binary data"),
        (b"a,b\r1,2\r3,4\r", r"stream:1: a line ends in \\r alone"),
        (b"a,b\n1,2\n1,2\0\n", "stream:3: column 'b' holds '2\\\\x00', not a number"),
        (b"a,b\n1,2\n1," + b"9" * (1 << 27), "stream:3: line of more than 64 MB"),
        (b"a" * (1 << 27), "stream:1: line of more than 64 MB"),
        (b"a,b\n" + b"1,2\n" * 3 + b"4," + b"x" * (1 << 23) + b"\n", "stream:5: column 'b' holds 'xxx"),
    ],
)
def test_odd_text(content, message):
    with pytest.raises(ValueError, match=message):
        read(io.BytesIO(content), format="csv")


def test_text_that_is_not_utf8_in_csv():
    good = "a,y\n1,caf\xe9\n2,tea\n".encode("latin-1")
    with pytest.raises(ValueError, match=r"stream:2: column 'y' holds bytes that are not UTF-8"):
        read(io.BytesIO(good), format="csv", target="y")
    assert read(io.BytesIO(good), format="csv", columns=["a"]).X.tolist() == [[1], [2]]
    with pytest.warns(UserWarning, match=r"Skipped 2 lines of stream. The first: stream:2: column 'y' holds 'caf"):
        data = read(io.BytesIO(good + b"3,4,caf\xe9\n"), format="csv", target="y", on_error="skip")
    assert data.y.tolist() == ["tea"]


# Quotes


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (['1,"2', "3,4", "5,6"], 2),
        (["1,2", '"3,4', "5,6", '7",8'], 3),
        (["1,2", "3,4", '5,"6'], 4),
        (['1,"2"', "", '"3,""4', "5,6"], 4),
        (['x"y,"2', "3,4"], 2),
        (['1,"2\r', "3,4\r"], 2),
    ],
)
def test_a_quote_that_is_not_closed(rows, line):
    """RFC 4180 allows line breaks in quoted fields; here a stray quote would swallow rows."""
    content = "\n".join(["a,y", *rows, "9,9"]).encode()
    with pytest.raises(ValueError, match=rf"^stream:{line}: a quoted field is not closed on its line"):
        read(io.BytesIO(content), format="csv", target="y")
    with pytest.warns(UserWarning, match=rf"stream:{line}: a quoted field is not closed on its line"):
        data = read(io.BytesIO(content), format="csv", target="y", on_error="skip")
    assert data.X[-1].tolist() == [9]
    n_rows = sum(row.strip() != "" for row in rows) + 1
    assert data.X.shape[0] + data.n_skipped == n_rows


def test_quotes_that_are_closed():
    rows = ['1,"a, b"', '2,"say ""hi"""', '3,5" pipe', '"4",""""', '5,"x"y', '6,"a"" b"', '7, "q', '"8","""a"""']
    for end in ("\n", "\r\n"):
        data = read(io.BytesIO(end.join(["a,y", *rows]).encode()), format="csv", target="y")
        assert data.X[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
        assert data.y.tolist() == ["a, b", 'say "hi"', '5" pipe', '"', "xy", 'a" b', ' "q', '"a"']
    tabs = b'a\ty\n1\t"x\ty"\n2\tu,"v\n'
    assert read(io.BytesIO(tabs), format="tsv", target="y").y.tolist() == ["x\ty", 'u,"v']


@pytest.mark.parametrize("n_after", [0, 1, 3])
def test_a_quote_where_a_block_ends(n_after):
    """The stray quote is the last byte of a block, or near the end."""
    row, place = b"1,2,3\n", (1 << 22) - 1 - n_after
    n_rows = (place - 10) // len(row)
    data = row * n_rows
    data += b"1".rjust(place - len(data) - 1, b"0") + b',"2,3\n' + row * 1000
    assert data.index(b'"') == place
    with pytest.raises(ValueError, match=rf"^stream:{n_rows + 2}: a quoted field is not closed on its line"):
        read(io.BytesIO(b"a,b,c\n" + data), format="csv")


# Memory

# Reads all files of a folder, each with so much more memory than is used before.
LIMITED = """
import json, resource, sys
import kernline.io, pyarrow.csv, pyarrow.compute, pyarrow.parquet, scipy.sparse
from pathlib import Path

found = {}
for path in Path(sys.argv[1]).iterdir():
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[2]) * 2**20, resource.RLIM_INFINITY))
    try:
        found[path.name] = str(kernline.io.read(path).X.shape)
    except (ValueError, MemoryError) as error:
        found[path.name] = str(error)
print(json.dumps(found))
"""
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")


def read_in_little_memory(folder, files, megabytes):
    """Read files with limited memory: the shape or the message, by file."""
    for name, content in files.items():
        assert len(content) < 1 << 25
        (folder / name).write_bytes(content)
    done = run(LIMITED, folder, megabytes)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


MEGABYTE = 1 << 20


def repeated(start, piece, n):
    """A gzip file that expands to `start` and n copies of a piece."""
    return gzip.compress(start) + gzip.compress(piece) * n


def huge_npy(shape, dtype="<f8"):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue()


def huge_npz():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file, file.open("X.npy", "w") as member:
        member.write(huge_npy((MEGABYTE, 64)))
        for _ in range(512):
            member.write(bytes(MEGABYTE))
    return out.getvalue()


def empty_sparse(n_rows):
    entries = {"data": np.empty(0), "row": np.empty(0, np.int64), "col": np.empty(0, np.int64)}
    return archive({"format": np.array(b"coo"), "shape": np.array([n_rows, 2]), **entries})


@pytest.fixture
def bombs():
    """Small files that expand, and what is said about them. To compress half a gigabyte takes a second."""
    zeros = bytes(MEGABYTE)
    return {
        "zeros.parquet.gz": (repeated(b"", zeros, 400), "is not a Parquet file: it begins with"),
        "zeros.arrow.gz": (repeated(b"", zeros, 400), "is not an Arrow file: it begins with"),
        "zeros.npz.gz": (repeated(b"", zeros, 400), "is not a .npz file of NumPy: it begins with"),
        "zeros.npy.gz": (repeated(b"", zeros, 400), "not an array in NumPy's .npy format"),
        "magic.parquet.gz": (repeated(b"PAR1", zeros, 400), "half of the available memory. Decompress it"),
        "magic.arrow.gz": (repeated(b"ARROW1\0\0", zeros, 400), "half of the available memory. Decompress it"),
        "magic.npz.gz": (repeated(b"PK\x03\x04", zeros, 400), "half of the available memory. Decompress it"),
        "values.npy.gz": (
            repeated(huge_npy((MEGABYTE, 64)), zeros, 400),
            r"would take about 0.5 GB, and 0.\d+ GB of memory",
        ),
        "header.npy.gz": (repeated(b"\x93NUMPY\x02\0\0\0\0\x20", zeros, 400), "a header of 536,870,912 bytes"),
        "values.npz": (huge_npz(), r"would take about 0.5 GB, and 0.\d+ GB of memory are available"),
        "rows.npz": (empty_sparse(10**9), "A sparse matrix of 1,000,000,000 rows would take about"),
        "rows.csv.gz": (repeated(b"a\n", b"1\n" * MEGABYTE, 200), "memory"),
        "rows.svm.gz": (repeated(b"", b"1\n" * MEGABYTE, 200), "memory"),
        "columns.csv": (b"," * 30_000_000, "Reading 30,000,001 columns of text would take about"),
    }


@on_linux
def test_small_files_that_expand(tmp_path, bombs):
    found = read_in_little_memory(tmp_path, {name: content for name, (content, _) in bombs.items()}, 300)
    for name, (_, message) in bombs.items():
        assert re.search(rf"{re.escape(name)}.*{message}", found[name])


@on_linux
def test_large_files_of_little_content(tmp_path):
    """A list of line numbers once took gigabytes for blank lines, and 9 KB per column took 600 MB."""
    files = {
        "blank.csv.gz": repeated(b"a,b\n1,2\n", b"\n" * MEGABYTE, 64),
        "blank.svm.gz": repeated(b"1 2:1\n", b"\n" * MEGABYTE, 64),
        "gaps.csv.gz": repeated(b"a\n", b"1\n\n" * (MEGABYTE // 4), 8),
        "wide.csv": b"\n".join([b",".join(b"c%d" % j for j in range(60_000)), b"1" + b",1" * 59_999]),
    }
    shapes = {"blank.csv.gz": (1, 2), "blank.svm.gz": (1, 2), "gaps.csv.gz": (1 << 21, 1), "wide.csv": (1, 60_000)}
    assert read_in_little_memory(tmp_path, files, 450) == {name: str(shape) for name, shape in shapes.items()}


def test_wide_tables_are_read_in_groups_of_columns(monkeypatch):
    monkeypatch.setattr("kernline.io.delimited._COLUMNS_AT_ONCE", 3)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (20, 10))
    lines = [",".join(f"c{j}" for j in range(10)), *(",".join(map(str, row)) for row in X)]
    content = "\n".join(lines).encode()
    data = read(io.BytesIO(content), format="csv", target="c4")
    assert np.array_equal(data.X, np.delete(X, 4, axis=1))
    assert np.array_equal(data.y, X[:, 4])
    lines[5:5] = ["1,2", ",".join(["7"] * 9 + ["x"]), ",".join(["x"] * 10)]
    with pytest.warns(
        UserWarning, match=r"Skipped 3 lines of stream. The first: stream:6: expected 10 columns, found 2"
    ):
        data = read(io.BytesIO("\n".join(lines).encode()), format="csv", on_error="skip")
    assert np.array_equal(data.X, X)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_every_sparse_format(tmp_path, form):
    X = sp.random_array((12, 8), density=0.3, rng=np.random.default_rng(0), format="csr")
    sp.save_npz(tmp_path / "x.npz", X.asformat(form))
    assert np.array_equal(read(tmp_path / "x.npz").X.toarray(), X.toarray())
