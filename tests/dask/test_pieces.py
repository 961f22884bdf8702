"""Pieces of files, without a cluster."""

import numpy as np

from kernline.dask.pieces import pieces_of


class Here:
    """A session whose tasks run at once."""

    def submit(self, function, *args, keep=True):
        return function(*args)

    def result(self, value):
        return value

    def drop(self, values):
        list(values)


def test_indices_begin_at_the_same_number_in_all_files(tmp_path):
    (tmp_path / "part-0.svm").write_text("1 1:1 3:5\n")  # has no index 0
    (tmp_path / "part-1.svm").write_text("0 0:2 1:1\n")
    pieces = pieces_of(Here(), str(tmp_path / "part-*.svm"), None, None)
    assert pieces.zero_based is True
    found = np.vstack([piece.X.toarray() for piece in pieces.parts])
    np.testing.assert_array_equal(found, [[0.0, 1.0, 0.0, 5.0], [2.0, 1.0, 0.0, 0.0]])
    (tmp_path / "part-1.svm").write_text("0 1:2 2:1\n")
    pieces = pieces_of(Here(), str(tmp_path / "part-*.svm"), None, None)
    assert pieces.zero_based is False
    found = np.vstack([piece.X.toarray() for piece in pieces.parts])
    np.testing.assert_array_equal(found, [[1.0, 0.0, 5.0], [2.0, 1.0, 0.0]])
