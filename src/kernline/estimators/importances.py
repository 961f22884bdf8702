"""feature_importances_: how much each feature moves the score over the training rows.

The importance of a feature is the standard deviation of its f_j(x_j), averaged over the problems; that of a pair is
shared by its two features. All add up to 1. A sample of the rows is enough, which the fit has encoded already: equal
cells of a column are evaluated once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..array_types import Array, Indices
from ..encoding import EncodedData, Encoder
from ..shapes import ShapeFunctions

# Rows looked at, evenly spread: the error of a standard deviation is about a sixtieth.
_ROWS = 2000
# Values of cells computed at once.
_BLOCK_VALUES = 100_000
# Room for every code in a word of a column and a code.
_CODE_BITS = np.uint64(16)


def importances(shapes: ShapeFunctions, data: EncodedData, of_pairs: Array) -> Array:
    """Return one number per feature, for rows that the model's encoder has encoded.

    `of_pairs` are the standard deviations of ``shapes.pairs``, averaged over the problems.
    """
    sample = data[:: -(-data.n_rows // _ROWS)]
    cells, columns, counts = _distinct(sample, shapes.encoder)
    function = _functions_of_columns(shapes.encoder)[columns]
    n_functions = len(shapes.encoder.functions)
    sums, squares = (np.zeros((shapes.n_problems, n_functions)) for _ in range(2))
    step = max(1, _BLOCK_VALUES // shapes.n_problems)
    for begin in range(0, columns.size, step):
        here = slice(begin, begin + step)
        values = (shapes.sum_of_curves(cells[here]) - shapes.intercepts).T
        # A row has at most one cell of a function's columns, so that its value is that of the cell, or zero.
        for k, of_problem in enumerate(values):
            sums[k] += np.bincount(function[here], counts[here] * of_problem, n_functions)
            squares[k] += np.bincount(function[here], counts[here] * np.square(of_problem), n_functions)
    mean = sums / sample.n_rows
    spread = np.sqrt(np.maximum(squares / sample.n_rows - np.square(mean), 0.0)).mean(axis=0)
    found = spread[: shapes.n_features].copy()
    extents = np.append(spread[shapes.n_features :], of_pairs)
    for pair, extent in zip(shapes.functions[shapes.n_features :], extents, strict=True):
        found[list(pair)] += extent / len(pair)
    return found / (found.sum() or 1.0)


def _distinct(sample: EncodedData, encoder: Encoder) -> tuple[EncodedData, Indices, Array]:
    """The cells of the rows, equal ones once, each as a row of its own; their columns, and how often they occur."""
    _, columns, cells = replace(sample, payload=None).entries()
    if encoder.grid is None:  # values are rarely equal
        rows = EncodedData((columns.size, sample.n_columns), cells, np.arange(columns.size + 1), columns)
        return rows, columns.astype(np.int64), np.ones(columns.size)
    words, counts = np.unique(columns.astype(np.uint64) << _CODE_BITS | cells.astype(np.uint64), return_counts=True)
    rows = EncodedData((words.size, sample.n_columns), words, np.arange(words.size + 1), code_bits=int(_CODE_BITS))
    return rows, (words >> _CODE_BITS).astype(np.int64), counts.astype(np.float64)


def _functions_of_columns(encoder: Encoder) -> Indices:
    """The number of the function that each solver column belongs to."""
    numbers = {columns: k for k, columns in enumerate(encoder.functions)}
    widths = [term.n_columns for term in encoder.terms]
    of_terms = np.repeat([numbers[term.columns] for term in encoder.terms], widths).astype(np.int64)
    return np.append(np.arange(encoder.n_features), of_terms)
