"""One problem on many cores: when its rows are worked on in parts (native/host/parts.hpp)."""

from __future__ import annotations

import math

from .problem import Problem

# Most parts at the same time.
MOST_PARTS = 16
# A part works for about 10 µs between two waits for the others, which take a microsecond or two. A row takes 40 ns,
# most of it waiting for memory, and 2 ns for each cell.
_LEAST_SECONDS, _ROW_SECONDS, _CELL_SECONDS = 1e-5, 4e-8, 2e-9
# A problem has parts if it has this many times the fewest rows: below, it takes a fraction of a second anyway.
_ROUNDS = 1024


def least_rows(problem: Problem) -> int:
    """Fewest rows of a part of this problem; 0 if it should not be worked on in parts.

    A part copies the weights and returns them, which must cost less than its visits.
    """
    data = problem.data
    cells = max(1, data.n_cells // max(1, data.n_rows))
    visits = math.ceil(_LEAST_SECONDS / (_ROW_SECONDS + _CELL_SECONDS * cells))
    rows = max(visits, data.n_columns * problem.pair.width // cells)
    return rows if problem.pair.symmetric and problem.n_rows >= _ROUNDS * rows else 0
