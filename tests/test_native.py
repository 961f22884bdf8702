import numpy as np
import pytest

from kernline import _core

COLUMNS = 3


def column_range(columns):
    """The maxima of one row with the values 1, 2, …"""
    values = np.arange(1.0, columns.size + 1.0)
    row_start = np.array([0, columns.size], dtype=columns.dtype)
    minimum, maximum = np.zeros(COLUMNS), np.zeros(COLUMNS)
    counts, row_counts = np.zeros(COLUMNS, dtype=np.int64), np.zeros(1, dtype=np.int64)
    source = _core.Source.csr(row_start, columns, values, COLUMNS)
    _core.column_range(source, minimum, maximum, counts, row_counts, 1)
    return maximum


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("place", [0, 4, 8])
def test_column_numbers_are_checked(index, place):
    columns = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2], dtype=index)
    np.testing.assert_array_equal(column_range(columns), [7.0, 8.0, 9.0])
    limits = np.iinfo(index)
    for outside in (-1, COLUMNS, limits.min, limits.min + COLUMNS, limits.max):
        columns[place] = outside
        with pytest.raises(ValueError, match="a column index lies outside its shape"):
            column_range(columns)
