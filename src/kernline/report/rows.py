"""Rows of the page: those with the largest errors, and some others, whose values can be changed under "What if"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..array_types import Array, Indices, Matrix, is_sparse
from ..shapes import ShapeFunctions
from ..shapes.contributions import explain
from .embedding import packed
from .listing import Listing
from .markup import shortened
from .outcome import Classified, Outcome

N_WRONG, _N_OTHERS = 10, 10
_N_REASONS = 3
# Values of all rows of the page together.
_MOST_VALUES = 20_000


class Chosen(NamedTuple):
    """Numbers of rows, from 0: those with the largest errors, the worst first, and all rows of the page."""

    wrong: list[int]
    rows: list[int]


def chosen_rows(outcome: Outcome, values_per_row: int) -> Chosen:
    """Choose rows; the others are spread evenly over the data."""
    wrong = worst_rows(outcome)
    even = np.unique(np.linspace(0, outcome.n_rows - 1, _N_OTHERS).astype(np.int64)).tolist()
    rows = list(dict.fromkeys([*wrong, *even]))
    return Chosen(wrong, rows[: max(1, _MOST_VALUES // max(1, values_per_row))])


def worst_rows(outcome: Outcome) -> list[int]:
    """Wrong labels whose scores are the farthest from right; of a regression, the largest errors."""
    if isinstance(outcome, Classified):
        wrong = np.flatnonzero(outcome.true != outcome.found)
        size = -outcome.margins[wrong]
    else:
        wrong, size = np.arange(outcome.n_rows), np.abs(outcome.errors).max(axis=1)
    order = np.argsort(-np.nan_to_num(size, nan=-np.inf), kind="stable")
    return [int(row) for row in wrong[order[:N_WRONG]]]


def reasons(
    shapes: ShapeFunctions, matrix: Matrix, outcome: Outcome, row: int, units: Sequence[float]
) -> list[tuple[str, float]]:
    """The functions that pushed a row most towards its wrong label, or in the direction of its error, and how far.

    Of several classes, that is what they add to the score of the predicted class above that of the true one. Of several
    outputs, it is the one with the largest error in standard deviations; `units` are those of the predictions.
    """
    parts = explain(shapes, matrix[row : row + 1], 1)
    if not isinstance(outcome, Classified):
        output = outcome.worst_output(row)
        push = parts.row(0, output) * np.sign(outcome.errors[row, output]) * units[output]
    elif shapes.n_problems == 1:
        push = parts.row(0) * (1.0 if outcome.found[row] else -1.0)
    else:
        push = parts.row(0, int(outcome.found[row]))
        if outcome.true[row] < outcome.n_classes:
            push = push - parts.row(0, int(outcome.true[row]))
    order = np.argsort(-push, kind="stable")[:_N_REASONS]
    return [(shortened(shapes.name_of(int(k))), float(push[k])) for k in order if push[k] > 0.0]


def label_of(outcome: Outcome, row: int) -> str:
    """What the list of rows calls a row. Rows are counted from 1."""
    if isinstance(outcome, Classified):
        true, found = (outcome.names[labels[row]] for labels in (outcome.true, outcome.found))
        said = f"{found}, as predicted" if true == found else f"{true}, predicted {found}"
        return f"Row {row + 1}: {said}"
    true, found = (", ".join(f"{value:.5g}" for value in values[row]) for values in (outcome.true, outcome.found))
    return f"Row {row + 1}: {true}, predicted {found}"


def used_columns(shapes: ShapeFunctions, matrix: Matrix, row: int) -> Indices:
    """Columns of a row that may add something: all, or, if zeros add nothing, those that are not zero."""
    if is_sparse(matrix):
        here = slice(matrix.indptr[row], matrix.indptr[row + 1])
        return np.sort(matrix.indices[here][matrix.data[here] != 0.0]).astype(np.int64)
    if not shapes.encoder.keeps_zeros:
        return np.arange(shapes.n_features)
    return np.flatnonzero(matrix[row] != 0.0)


def used_functions(shapes: ShapeFunctions, columns: Indices) -> Indices:
    """The functions that a row with values in these columns uses: those of the columns, and all pairs."""
    return np.append(columns, np.arange(shapes.n_features, shapes.n_functions))


def described_rows(
    shapes: ShapeFunctions, matrix: Matrix, rows: list[int], listed: Listing, outcome: Outcome, scores: Array
) -> list[dict[str, object]]:
    """Values and scores of these rows for "What if"."""
    positions = listed.positions
    found: list[dict[str, object]] = []
    for row in rows:
        columns = [j for j in used_columns(shapes, matrix, row).tolist() if j in positions]
        values = _values(matrix, row, columns)
        found.append(
            {
                "label": label_of(outcome, row),
                "columns": packed([positions[j] for j in columns], ("u1", "<u2", "<f8")),
                "values": [None if np.isnan(value) else value for value in values.tolist()],
                "scores": scores[row].tolist(),
            }
        )
    return found


def _values(matrix: Matrix, row: int, columns: list[int]) -> Array:
    if is_sparse(matrix):
        return np.asarray(matrix[row : row + 1].toarray(), dtype=np.float64)[0, columns]
    return np.asarray(matrix[row], dtype=np.float64)[columns]
