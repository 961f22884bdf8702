"""Writing: what is written reads back the same, a few rows at a time if they are wide, or is refused."""

import io
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
