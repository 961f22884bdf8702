"""Reading tables and arrays. Referees: pandas for tables, NumPy and SciPy for their own files."""

import gzip
import io
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernline import AdditiveSVC
from kernline.io import read

# Rows whose second column is numbers beyond doubt.
MANY = "".join(f"1,{k}\n" for k in range(60))
needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow, of kernline[io]")

QUICK_XZ = {"method": "xz", "preset": 0}
WRITERS = {
    "data.csv": lambda frame, path: frame.to_csv(path, index=False),
    "data.CSV.gz": lambda frame, path: frame.to_csv(path, index=False, compression="gzip"),
    "data.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "data.tsv.xz": lambda frame, path: frame.to_csv(path, index=False, sep="\t", compression=QUICK_XZ),
    "data.parquet": lambda frame, path: frame.to_parquet(path, engine="pyarrow"),
    "data.feather": lambda frame, path: frame.to_feather(path),
    "data.arrow": lambda frame, path: write_stream(frame, path),
}


def write_stream(frame, path):
    import pyarrow as pa

    table = pa.Table.from_pandas(frame)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)


@pytest.fixture(scope="module")
def frame():
    """More rows than a batch has; integers, fractions, missing values, text."""
    rng = np.random.default_rng(0)
    n = 70_000
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, n),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n)),
            "hours, a week": rng.random(n) * 1e-8,
            "class": rng.choice(["<=50K", ">50K"], n),
        }
    )


@needs_pyarrow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", WRITERS)
def test_like_pandas(tmp_path, frame, name, dtype):
    WRITERS[name](frame, tmp_path / name)
    data = read(tmp_path / name, target="class", dtype=dtype)
    assert data.X.dtype == dtype
    assert np.array_equal(data.X, frame.drop(columns="class").to_numpy(np.float64).astype(dtype), equal_nan=True)
    assert data.y.tolist() == frame["class"].tolist()
    assert data.y.dtype.kind == "U"
    assert data.feature_names == ["age", "income", "hours, a week"]


@needs_pyarrow
@pytest.mark.parametrize("name", WRITERS)
def test_columns_and_whole_targets(tmp_path, frame, name):
    WRITERS[name](frame, tmp_path / name)
    data = read(tmp_path / name, target="age", columns=["hours, a week"])
    assert np.array_equal(data.X[:, 0], frame["hours, a week"])
    assert np.array_equal(data.y, frame["age"])
    assert data.y.dtype == np.int64
    assert read(tmp_path / name, columns=["age"]).y is None


@needs_pyarrow
@pytest.mark.parametrize("name", WRITERS)
def test_streams_and_mistakes(tmp_path, frame, name):
    path = tmp_path / name
    WRITERS[name](frame[:100], path)
    kind = "csv" if "csv" in name.lower() else "tsv" if "tsv" in name else path.suffix[1:]
    data = read(io.BytesIO(path.read_bytes()), format=kind, target=-1)
    assert data.X.shape == (100, 3)
    with pytest.raises(
        ValueError, match=r"no column 'x' to be the target. There are: age, income, hours, a week, class"
    ):
        read(path, target="x")
    with pytest.raises(ValueError, match=r"no column 'x'. There are"):
        read(path, columns=["x"])
    with pytest.raises(ValueError, match=r"columns= contains 'age', which is the target"):
        read(path, columns=["age"], target="age")
    assert read(path).X["class"].tolist() == frame["class"][:100].tolist()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    if not name.endswith((".csv", ".tsv")):
        with pytest.raises(ValueError, match=r"data"):
            read(path, target="class")


@needs_pyarrow
def test_dictionaries_truth_and_row_names(tmp_path):
    frame = pd.DataFrame(
        {"a": [True, False, True], "b": pd.array([1, None, 3], dtype="Int64"), "c": pd.Categorical(["x", "y", "x"])},
        index=[5, 3, 4],
    )
    frame.to_parquet(tmp_path / "data.parquet")
    data = read(tmp_path / "data.parquet", target="c")
    assert np.array_equal(data.X, [[1, 1], [0, np.nan], [1, 3]], equal_nan=True)
    assert data.y.tolist() == ["x", "y", "x"]


@needs_pyarrow
@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n3\n", {}, "stream:3: expected 2 columns, found 1"),
        ("1,2\n3,4,5\n", {}, "stream:2: expected 2 columns, found 3"),
        (f"a,b\n{MANY}3,x\n", {}, "stream:62: column 'b' holds 'x', not a number"),
        (f"a,b\n{MANY}3,x\n", {"columns": ["b"]}, "stream:62: column 'b' holds 'x', not a number"),
        ("a,b\n1,\n", {"target": "b"}, "stream: the target column 'b' lacks 1 of its values"),
        ("a,a\n1,2\n", {}, "stream: two columns are called 'a'"),
        ("", {}, "stream:1: expected the names of columns, found nothing"),
        (b"\xff\xfe\n", {}, "stream:1: expected names or numbers of columns"),
        ('"a,b\n1,2', {}, "stream:1: expected names or numbers of columns"),
        (f"a,b\n{MANY}\n\r\n\n2,x\n", {}, "stream:65: column 'b' holds 'x', not a number"),
        (f"{MANY}\n\n2,x\n", {}, "stream:63: column '1' holds 'x', not a number"),
        ("a,b\n\n\n1,2,3\n", {}, "stream:4: expected 2 columns, found 3"),
        ("a,b\n\n1,2\n\n3,inf\n", {}, "stream:5: column 'b' holds inf, not a finite number"),
        ("a,b\n1,2\n1e400,4\n", {}, "stream:3: column 'a' holds inf, not a finite number"),
        ("a,b\n1,-1e39\n", {"dtype": np.float32}, r"stream:2: column 'b' holds -1e\+39, too large for float32"),
    ],
)
def test_errors_in_csv(text, options, message):
    with pytest.raises(ValueError, match="^" + message):
        read(io.BytesIO(text if isinstance(text, bytes) else text.encode()), format="csv", **options)


@needs_pyarrow
def test_lines_are_counted_across_blocks():
    """Blank lines at the start, at the end and in the middle of a block."""
    text = b"a,b\n" + (b"1,2\n\r\n" + b"3,4\n" * 7 + b"\n") * 200_000 + b"5,x\n"
    with pytest.raises(ValueError, match=rf"^stream:{text.count(10)}: column 'b' holds 'x'"):
        read(io.BytesIO(text), format="csv")
    with pytest.warns(UserWarning, match=rf"Skipped a line of stream. The first: stream:{text.count(10)}: column 'b'"):
        assert read(io.BytesIO(text), format="csv", on_error="skip").X.shape == (1_600_000, 2)


@needs_pyarrow
def test_the_first_bad_line_is_reported():
    """Line numbers include blank lines, and rows that the parser drops before it converts numbers."""
    text = b"a,b\n1,2\n\n1\n1,2,3\n5,x\n6,y\n7,3\n"
    with pytest.warns(
        UserWarning, match=r"Skipped 4 lines of stream. The first: stream:4: expected 2 columns, found 1"
    ):
        read(io.BytesIO(text), format="csv", on_error="skip")
    with pytest.warns(UserWarning, match=r"Skipped 3 lines of stream. The first: stream:3: column 'a' holds 'z'"):
        read(io.BytesIO(b"a,b\n\nz,2\n1\n5,x\n7,8\n"), format="csv", on_error="skip")
    with pytest.warns(UserWarning, match=r"Skipped a line of stream. The first: stream:7: column 'b' holds 'x'"):
        read(io.BytesIO(b"a,b\n\n1,2\n\n3,4\n\n5,x\n"), format="csv", on_error="skip")


@needs_pyarrow
def test_infinite_values_are_bad_rows_too():
    text = b"a,b\n1,2\ninf,3\n4,1e400\n1e39,5\n"
    for dtype, n_skipped in ((np.float64, 2), (np.float32, 3)):
        with pytest.warns(UserWarning, match=rf"Skipped {n_skipped} lines of stream. The first: stream:3: column 'a'"):
            data = read(io.BytesIO(text), format="csv", on_error="skip", dtype=dtype)
        assert np.isfinite(data.X).all()
        assert data.n_skipped == n_skipped


@needs_pyarrow
def test_bad_rows_are_skipped_and_counted():
    text = b"a,b,c\n1,2,x\n1,2\n3,oops,y\n5,,y\n6,7,\n 8 ,1e-3,z\nNA,9,z\n"
    with pytest.warns(UserWarning, match="Skipped 3 lines of stream. The first: stream:3: expected 3 columns, found 2"):
        data = read(io.BytesIO(text), format="csv", target="c", on_error="skip")
    assert data.n_skipped == 3
    assert np.array_equal(data.X, [[1, 2], [5, np.nan], [8, 1e-3], [np.nan, 9]], equal_nan=True)
    assert data.y.tolist() == ["x", "y", "z", "z"]


@needs_pyarrow
@pytest.mark.parametrize(
    ("text", "names", "y"),
    [
        ("1,2,3\n4,5,6\n", None, [3, 6]),
        ("\ufeffa,b,c\n1,2,3.5\n4,5,6", ["a", "b"], [3.5, 6.0]),
        ("a,b,c\r\n1,2,no\r\n4,5,6\r\n", ["a", "b"], ["no", "6"]),
        ("a,b,c\n", ["a", "b"], []),
    ],
)
def test_names_are_distinguished_from_numbers(text, names, y):
    data = read(io.BytesIO(text.encode()), format="csv", target=2)
    assert data.feature_names == names
    assert data.X.shape == (len(y), 2)
    assert data.y.tolist() == y


@needs_pyarrow
@pytest.mark.parametrize(
    ("text", "X", "y"),
    [
        ("5.1,3.5,setosa\n4.9,3,virginica\n", [[5.1, 3.5], [4.9, 3]], ["setosa", "virginica"]),
        ("5.1,,0\n1,2,1\n", [[5.1, np.nan], [1, 2]], [0, 1]),
        ("5.1,nan,0\n1,2,1\n", [[5.1, np.nan], [1, 2]], [0, 1]),
        ("NA,7,a\n1,2,b\n", [[np.nan, 7], [1, 2]], ["a", "b"]),
    ],
)
def test_a_first_line_with_numbers_is_a_row(text, X, y):
    data = read(io.BytesIO(text.encode()), format="csv", target=-1)
    assert data.feature_names is None
    assert np.array_equal(data.X, X, equal_nan=True)
    assert data.y.tolist() == y


@needs_pyarrow
def test_names_that_are_numbers():
    text = b"2019,2020,label\n1,2,a\n3,4,b\n"
    for options in ({"header": True, "target": -1}, {"target": "label"}, {"target": -1, "header": True}):
        data = read(io.BytesIO(text), format="csv", **options)
        assert data.feature_names == ["2019", "2020"]
        assert np.array_equal(data.X, [[1, 2], [3, 4]])
    for content, options in ((b"2019,2020,x\n1,2,3\n4,5,6\n", {}), (text, {"target": "class"})):
        with pytest.raises(ValueError, match="stream") as caught:
            read(io.BytesIO(content), format="csv", **options)
        assert "Pass header=True (--header) if it has names" in caught.value.__notes__[0]


@needs_pyarrow
def test_a_header_by_parameter():
    assert np.array_equal(read(io.BytesIO(b"1,2\n3,4\n"), format="csv", header=True).X, [[3, 4]])
    assert read(io.BytesIO(b"x\ty\nx\tz\n"), format="tsv", header=False, target=1, columns=[]).y.tolist() == ["y", "z"]
    with pytest.raises(ValueError, match=r"header must be True, False or 'auto', not 'yes'"):
        read(io.BytesIO(b"1,2\n"), format="csv", header="yes")
    with pytest.raises(ValueError, match=r"header= does not apply to format 'svmlight'"):
        read(io.BytesIO(b"1 1:2\n"), header=True)


@needs_pyarrow
@pytest.mark.parametrize(
    "labels",
    [
        ["1_0", "10"],
        ["9007199254740993", "9007199254740992"],
        ["-9007199254740993", "1"],
        ["\u0661", "1"],  # another script's digit, which Python takes for 1
        ["1e400", "1"],
        ["9" * 5000, "1"],
    ],
)
def test_labels_that_would_become_one_stay_text(labels):
    text = "a,y\n" + "".join(f"1,{label}\n" for label in labels)
    assert read(io.BytesIO(text.encode()), format="csv", target="y").y.tolist() == labels


@needs_pyarrow
@pytest.mark.parametrize("name", WRITERS)
def test_straight_into_codes(tmp_path, frame, name):
    """Several batches; the columns have negative values, so that zeros have codes."""
    full = frame.fillna({"income": 0.0})
    X = full.drop(columns="class").to_numpy(np.float64)
    model = AdditiveSVC(scale="rank", missing="error", max_iter=1, tol=1e9)
    encoder = model.fit(X[:500], full["class"][:500]).shapes_.encoder
    WRITERS[name](full, tmp_path / name)
    data = read(tmp_path / name, target="class", encoder=encoder)
    assert np.array_equal(data.X.cells, encoder.transform(X).cells)
    with pytest.raises(ValueError, match=r"data.* has 1 columns of features, and the encoder was fitted on 3"):
        read(tmp_path / name, target="class", columns=["age"], encoder=encoder)
    WRITERS[name](frame, tmp_path / name)
    with pytest.raises(ValueError, match="NaN"):
        read(tmp_path / name, target="class", encoder=encoder)


def test_without_pyarrow(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ImportError, match=r"Reading CSV needs pyarrow: pip install 'kernline\[io\]'"):
        read(path)


# Arrays


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_npy(tmp_path, compress):
    X = np.arange(12, dtype=np.int16).reshape(4, 3)
    buffer = io.BytesIO()
    np.save(buffer, X)
    path = tmp_path / ("data.npy.gz" if compress is gzip.compress else "data.npy")
    path.write_bytes(compress(buffer.getvalue()))
    data = read(path)
    assert data.X.dtype == np.float64
    assert np.array_equal(data.X, X)
    assert data.y is None


def test_npz(tmp_path):
    path = tmp_path / "data.npz"
    X, y = np.eye(3), np.array(["a", "b", "c"])
    np.savez_compressed(path, X=X, y=y, other=np.arange(3))
    data = read(path)
    assert np.array_equal(data.X, X)
    assert data.y.tolist() == ["a", "b", "c"]
    assert read(path, target="other").y.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"has no array 'z'. There are: X, y, other"):
        read(path, target="z")
    np.savez(path, X)
    assert np.array_equal(read(path).X, X)
    np.savez(path, X=X, y=y[:2])
    with pytest.raises(ValueError, match=r"'y' has shape \(2,\), where X has 3 rows"):
        read(path)
    np.savez(path, a=X, b=X)
    with pytest.raises(ValueError, match=r"has no array 'X'. There are: a, b"):
        read(path)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_npz(tmp_path, histograms, form):
    X, _ = histograms
    sp.save_npz(tmp_path / "data.npz", X.asformat(form))
    data = read(tmp_path / "data.npz", dtype=np.float32)
    assert data.X.format == "csr"
    assert np.array_equal(data.X.toarray(), X.toarray().astype(np.float32))


def test_sparse_npz_with_labels(tmp_path, histograms):
    X, y = histograms
    parts = {"indptr": X.indptr, "indices": X.indices, "data": X.data, "shape": X.shape}
    path = tmp_path / "data.npz"
    np.savez(path, format=b"csr", y=y, other=y[::-1], short=y[1:], **parts)
    for place in (path, io.BytesIO(path.read_bytes())):
        data = read(place, format="npz")
        assert (data.X != X).nnz == 0
        assert np.array_equal(data.y, y)
    assert np.array_equal(read(path, target="other").y, y[::-1])
    with pytest.raises(ValueError, match=r"'short' has shape \(299,\), where X has 300 rows"):
        read(path, target="short")
    with pytest.raises(ValueError, match=r"has no array 'z'. There are: format, y"):
        read(path, target="z")


@pytest.mark.parametrize("name", ["data.npy", "data.npz", "sparse.npz"])
def test_codes_of_arrays(tmp_path, histograms, name):
    X, y = histograms
    path = tmp_path / name
    if name == "data.npy":
        np.save(path, X.toarray())
    elif name == "data.npz":
        np.savez(path, X=X.toarray())
    else:
        sp.save_npz(path, X)
    encoder = AdditiveSVC().fit(X, y).shapes_.encoder
    assert np.array_equal(read(path, encoder=encoder).X.cells, encoder.transform(X).cells)
    with pytest.raises(ValueError, match="has 40 columns of features, and the encoder was fitted on 39"):
        read(path, encoder=AdditiveSVC().fit(X[:, :39], y).shapes_.encoder)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b"junk"), "data.npy: damaged or truncated: not an array"),
        (lambda path: np.save(path, np.array([{}, []], dtype=object)), "data.npy.*it holds Python objects"),
        (lambda path: np.save(path, np.arange(3)), r"expected a matrix of numbers, found shape \(3,\) of int64"),
        (lambda path: np.save(path, np.array([["a"]])), r"expected a matrix of numbers, found shape \(1, 1\) of <U1"),
    ],
)
def test_files_that_are_not_arrays(tmp_path, write, message):
    path = tmp_path / "data.npy"
    write(path)
    with pytest.raises(ValueError, match=message):
        read(path)


@pytest.mark.parametrize("name", ["data.npy", "data.npz"])
def test_arrays_cut_off(tmp_path, name):
    path = tmp_path / name
    np.save(path, np.ones((100, 100))) if name == "data.npy" else np.savez(path, X=np.ones((100, 100)))
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"data.np"):
        read(path)


@needs_pyarrow
class TestDelimiter:
    @pytest.mark.parametrize(("name", "delimiter"), [("x.csv", ";"), ("x.data", "|"), ("x.tsv", ","), ("x.csv", "\t")])
    def test_of_any_kind(self, tmp_path, name, delimiter):
        (tmp_path / name).write_text("a,b,c\n1,2,x\n3,4,y\n".replace(",", delimiter))
        found = read(tmp_path / name, target="c", delimiter=delimiter)
        np.testing.assert_array_equal(found.X, [[1, 2], [3, 4]])
        assert (found.y.tolist(), found.feature_names) == (["x", "y"], ["a", "b"])

    @pytest.mark.parametrize("delimiter", ["", ";;", "é", '"', "\n"])
    def test_is_one_character(self, tmp_path, delimiter):
        (tmp_path / "x.csv").write_text("a\n1\n")
        with pytest.raises(ValueError, match="delimiter must be one ASCII character"):
            read(tmp_path / "x.csv", delimiter=delimiter)

    @pytest.mark.parametrize("name", ["x.svm", "x.npz", "x.parquet"])
    def test_is_for_text_tables(self, tmp_path, name):
        (tmp_path / name).write_text("1 1:1\n")
        with pytest.raises(ValueError, match="delimiter= does not apply to format"):
            read(tmp_path / name, delimiter=";")


@needs_pyarrow
class TestTarget:
    def test_its_name_is_returned(self, tmp_path):
        (tmp_path / "x.csv").write_text("a,b\n1,x\n2,y\n")
        for target in ("b", 1, -1):
            assert read(tmp_path / "x.csv", target=target).target == "b"
        assert read(tmp_path / "x.csv", columns=["a"]).target is None

    def test_its_number_is_returned_where_columns_have_no_names(self, tmp_path):
        (tmp_path / "x.csv").write_text("1,x\n2,y\n")
        assert read(tmp_path / "x.csv", target=-1).target == 1

    def test_one_that_is_not_required_may_be_missing(self, tmp_path):
        (tmp_path / "x.csv").write_text("a,b\n1,2\n")
        found = read(tmp_path / "x.csv", target="y", target_required=False)
        assert (found.X.tolist(), found.y, found.target) == ([[1.0, 2.0]], None, None)
        found = read(tmp_path / "x.csv", target="b", target_required=False)
        assert (found.X.tolist(), found.y.tolist()) == ([[1.0]], [2])
