"""Writing: files read back the same, wide rows are written in blocks, and what would be lost is refused."""

import io
import tracemalloc
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp

from kernline.io import read, write

needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow, of kernline[io]")


def written(name, X, y=None, **options):
    out = io.BytesIO()
    write(out, X, y, name=name, **options)
    return io.BytesIO(out.getvalue())


def test_queries_are_written():
    text = b"1 qid:3 1:1.0\n2 qid:4 2:1.0\n"
    data = read(io.BytesIO(text))
    assert written("x.svm", data.X, data.y, qid=data.qid).getvalue() == text


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.npz", "x.npy"])
def test_what_only_svmlight_stores(name):
    with pytest.raises(ValueError, match=rf"^{name}: format '.*' cannot store qid. Write svmlight"):
        written(name, np.ones((2, 1)), qid=np.array([1, 2]))
    with pytest.raises(ValueError, match=r"cannot store several labels per row. Write svmlight"):
        written(name, np.ones((2, 1)), [(1, 2), ()])


def test_several_labels_per_row():
    text = b"1,3 1:1.0\n 2:1.0\n2\n"
    data = read(io.BytesIO(text), multilabel=True)
    assert data.y == [(1, 3), (), (2,)]
    back = read(written("x.svm", data.X, data.y), multilabel=True)
    assert back.y == data.y
    assert (back.X != data.X).nnz == 0
    assert read(written("x.svm", data.X, data.y, qid=[1, 2, 3]), multilabel=True).y == data.y
    with pytest.raises(ValueError, match=r"row 2 has neither labels nor values"):
        written("x.svm", np.array([[1.0], [0.0]]), [(1,), ()])
    with pytest.raises(ValueError, match=r"the label 'a,b' cannot be stored in a LIBSVM file"):
        written("x.svm", np.ones((1, 1)), [("a,b", "c")])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_svmlight_holds_finite_numbers_only(value, kind):
    X = np.ones((3000, 200))
    X[2500, 1], X[2700, 0] = value, value
    with pytest.raises(ValueError, match=rf"row 2501, column 1 holds {value}, which cannot be stored in a LIBSVM file"):
        written("x.svm", kind(X))


def test_sparse_rows_stay_sparse(tmp_path):
    X = sp.random_array((1000, 10_000_000), density=1e-6, rng=0, format="csr")
    y = np.arange(1000) % 3
    for labels in (y, y.astype(str), None):
        file = written("x.npz", X, labels)
        data = read(file, format="npz")
        assert (data.X != X).nnz == 0
        assert data.y is None if labels is None else data.y.tolist() == labels.tolist()
        file.seek(0)
        assert (sp.load_npz(file) != X).nnz == 0


class Sink(io.RawIOBase):
    """Accepts writes and discards them."""

    n = 0

    def writable(self):
        return True

    def write(self, content):
        self.n += len(content)
        return len(content)

    def tell(self):
        return self.n


@needs_pyarrow
def test_a_wide_table_is_written_a_few_rows_at_a_time():
    X = sp.random_array((2500, 20_000), density=1e-5, rng=0, format="csr")  # 400 MB when dense
    sink = Sink()
    tracemalloc.start()
    write(sink, X, name="x.arrow")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sink.n >= 400e6
    assert peak < 350e6


@needs_pyarrow
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "svmlight"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_in_several_blocks(monkeypatch, kind, make):
    monkeypatch.setattr("kernline.io.table_writing._VALUES", 100)
    monkeypatch.setattr("kernline.io.svmlight._WRITTEN_VALUES", 100)
    X, y = np.random.default_rng(0).integers(5, size=(200, 7)).astype(float), np.arange(200) % 3
    data = read(written("x", make(X), y, format=kind), format=kind, target=None if kind == "svmlight" else "label")
    assert np.array_equal(data.X.toarray() if sp.issparse(data.X) else data.X, X)
    assert np.array_equal(data.y, y)


@needs_pyarrow
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_too_wide_a_table_is_refused(kind):
    X = read(io.BytesIO(b"1 999999999:1\n0 3:1\n")).X
    with pytest.raises(ValueError, match=r"999,999,999 columns, where a table has 100,000 at most.*is 999999999"):
        written(f"x.{kind}", X)
    assert (read(written("x.svm", X)).X != X).nnz == 0
