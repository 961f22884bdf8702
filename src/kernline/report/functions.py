"""The functions of an additive model as data of a page, from which its script computes decision values exactly.

A number x becomes u and then a code as in the core, and f(x) = φ(code) · W with the model's own float32 weights, so
that the page repeats what the model does instead of interpolating what it gave. Tables of categories, missing values
and pairs are those that the exporters write.
"""

from __future__ import annotations

import numpy as np

from ..array_types import Indices
from ..encoding import Axis
from ..encoding.pair_axes import PairAxis
from ..export.common import gap_values, level_names, rows_of, terms_of
from ..shapes import ShapeFunctions
from ..tables import DenseTable, PairTable, PowersTable
from ..tables.pmsvm import LOG_SHIFT
from .embedding import Packed, packed
from .listing import Listing, curve_points, drawn_units
from .markup import shortened

Described = dict[str, object]
_TYPE_OF_WEIGHTS = ("<f4",)
# Densities and limits of the most important functions only, so that they do not take the place of curves.
_DENSITIES = 2000


def described_functions(shapes: ShapeFunctions, chosen: Listing, names: list[str] | None) -> Described:
    """All data of functions, in the order of the list."""
    listed, encoder = chosen.functions, shapes.encoder
    columns = listed[listed < shapes.n_features]
    return {
        "nFeatures": shapes.n_features,
        "nFunctions": shapes.n_functions,
        "numbers": packed(listed),
        "names": None if names is None else [names[k] for k in listed],
        "exact": packed(chosen.exact),
        "importance": packed(chosen.importance.overall[listed].astype(np.float32)),
        "measure": chosen.importance.measure,
        "offsets": _offsets(shapes, chosen),
        "strongest": packed(chosen.importance.values[listed].argmax(axis=1)),
        "isNumber": packed([bool(k < shapes.n_features and encoder.is_number[k]) for k in listed]),
        "read": _read_table(shapes),
        "codes": _codes(shapes),
        "clips": encoder.clips,
        "scaling": _scaling(shapes, columns),
        "gaps": _gaps(shapes, columns),
        "weights": _weights(shapes, chosen),
        "drawn": _drawn(shapes, chosen),
        "terms": _terms(shapes, chosen),
        "pairs": _pairs(shapes, chosen),
        "density": _density(shapes, columns),
        "limits": _limits(shapes, columns),
        "booleans": _booleans(shapes, columns),
    }


def _read_table(shapes: ShapeFunctions) -> Described:
    """φ: hat weights, a table with a row for each code, powers of a logarithm, or the value itself."""
    table = shapes.table
    if isinstance(table, PairTable):
        return {"kind": "hats", "width": table.width, "steps": table.steps}
    if isinstance(table, DenseTable):
        return {"kind": "rows", "width": table.width, "rows": packed(rows_of(table))}
    if isinstance(table, PowersTable):
        return {"kind": "powers", "width": table.width, "shift": LOG_SHIFT}
    return {"kind": "value", "width": 1}


def _codes(shapes: ShapeFunctions) -> Described | None:
    if shapes.encoder.grid is None:
        return None
    return {"thresholds": packed(shapes.encoder.thresholds), "units": packed(shapes.encoder.grid.values)}


def _scaling(shapes: ShapeFunctions, columns: Indices) -> Described:
    """How the numbers in these columns become u."""
    encoder = shapes.encoder
    if encoder.numbers != "rank":
        offsets = encoder.offsets[columns]
        return {"offsets": packed(offsets) if offsets.any() else None, "factors": packed(encoder.factors[columns])}
    counts = np.diff(encoder.edge_start)[columns]
    start = np.append(0, np.cumsum(counts))
    at = np.repeat(encoder.edge_start[columns] - start[:-1], counts) + np.arange(start[-1])
    levels, steps = encoder.levels[at], 1
    for n in (15, 255, 31, 63, 127, shapes.weights.shape[2] - 1):
        if np.array_equal(np.rint(levels * n) / n, levels):
            levels, steps = np.rint(levels * n), n
            break
    return {"counts": packed(counts), "edges": packed(encoder.edges[at]), "levels": packed(levels), "steps": steps}


def _gaps(shapes: ShapeFunctions, columns: Indices) -> Described:
    """What NaN counts as: an error, zero, or a value of each column."""
    values = gap_values(shapes.encoder)
    return {"kind": shapes.encoder.columns.gaps, "values": None if values is None else packed(values[columns])}


def _weights(shapes: ShapeFunctions, chosen: Listing) -> Packed:
    """W of the exact numbers, (n_numbers, n_problems, width)."""
    exact = chosen.functions[chosen.exact]
    numbers = exact[exact < shapes.n_features]
    numbers = numbers[shapes.encoder.is_number[numbers]]
    return packed(shapes.weights[:, numbers].transpose(1, 0, 2), _TYPE_OF_WEIGHTS)


def _offsets(shapes: ShapeFunctions, chosen: Listing) -> Packed | None:
    """What is subtracted from the exact functions to centre them, (n_exact, n_problems); None if they are not."""
    return None if shapes.offsets is None else packed(shapes.offsets[chosen.functions[chosen.exact]])


def _drawn(shapes: ShapeFunctions, chosen: Listing) -> Described | None:
    """The strongest curves of the other numbers: which, their range, and their points in 256 steps of it."""
    others = chosen.functions[~chosen.exact]
    numbers = others[others < shapes.n_features]
    numbers = numbers[shapes.encoder.is_number[numbers]]
    if not numbers.size or not chosen.n_drawn:
        return None
    strength = chosen.importance.values[numbers]
    problems = np.argsort(-strength, axis=1, kind="stable")[:, : chosen.n_drawn]
    points = curve_points(shapes, numbers, problems).transpose(1, 0, 2)
    if shapes.offsets is not None:
        points -= np.take_along_axis(shapes.offsets[numbers], problems, axis=1)[:, :, None]
    low, high = points.min(axis=2), points.max(axis=2)
    span = np.where(high > low, high - low, 1.0)
    steps = np.rint((points - low[:, :, None]) / span[:, :, None] * 255.0)
    return {
        "perFunction": chosen.n_drawn,
        "units": packed(drawn_units(shapes)),
        "problems": packed(problems),
        "low": packed(low, _TYPE_OF_WEIGHTS),
        "high": packed(high, _TYPE_OF_WEIGHTS),
        "points": packed(steps, ("u1",)),
    }


def _terms(shapes: ShapeFunctions, chosen: Listing) -> list[Described]:
    """Tables of categories, missing values, and pairs of older files."""
    positions, found = chosen.positions, []
    numbers = {columns: k for k, columns in enumerate(shapes.functions)}
    for (term, scores), start in zip(terms_of(shapes, "report"), shapes.encoder.term_start, strict=True):
        place = positions.get(numbers[term.columns])
        if place is None or not chosen.exact[place]:
            continue
        axes = [_axis(shapes, j, axis) for j, axis in zip(term.columns, term.axes, strict=True)]
        columns = [positions[j] for j in term.columns]
        counts = _counts(shapes, start, term.n_columns)
        found.append({"place": place, "columns": columns, "axes": axes, "scores": packed(scores), "counts": counts})
    return found


def _axis(shapes: ShapeFunctions, j: int, axis: Axis) -> Described:
    names = level_names(shapes, j, axis)
    shown = None if names is None else [shortened(name) for name in names]
    return {"kind": axis.kind, "points": packed(axis.points), "names": shown}


def _pairs(shapes: ShapeFunctions, chosen: Listing) -> list[Described]:
    positions, found = chosen.positions, []
    for number, pair in enumerate(shapes.pairs, shapes.n_functions - len(shapes.pairs)):
        place = positions.get(number)
        if place is None or not chosen.exact[place]:
            continue
        axes = [_pair_axis(shapes, j, axis) for j, axis in zip(pair.columns, pair.axes, strict=True)]
        columns = [positions[j] for j in pair.columns]
        found.append({"place": place, "columns": columns, "axes": axes, "values": packed(pair.values)})
    return found


def _pair_axis(shapes: ShapeFunctions, j: int, axis: PairAxis) -> Described:
    names = shapes.encoder.columns.names(j)
    return {
        "isNumber": axis.is_number,
        "points": packed(axis.points),
        "places": packed(axis.places),
        "size": axis.size,
        "names": None if names is None else [shortened(names[int(point)]) for point in axis.points],
    }


def _density(shapes: ShapeFunctions, columns: Indices) -> Described | None:
    """Where the training rows lie: u and counts of the numbers."""
    if shapes.training is None:
        return None
    cells = shapes.training.cells
    shown = columns[:_DENSITIES]
    n_entries = np.diff(cells.start)[shown]
    begin = np.append(0, np.cumsum(n_entries))
    at = np.repeat(cells.start[shown] - begin[:-1], n_entries) + np.arange(begin[-1])
    return {
        "rows": cells.n_rows,
        "entries": packed(n_entries),
        "units": packed(cells.values(shapes.encoder)[at], _TYPE_OF_WEIGHTS),
        "counts": packed(cells.counts[at]),
    }


def _limits(shapes: ShapeFunctions, columns: Indices) -> Packed | None:
    """The least and the largest training value of each column; None if they are not known."""
    if shapes.training is None or not shapes.training.limits.size:
        return None
    return packed(shapes.training.limits[columns[:_DENSITIES]])


def _booleans(shapes: ShapeFunctions, columns: Indices) -> Packed | None:
    """Which columns have only the values 0 and 1 in the training rows; None if that is not known."""
    if shapes.training is None or not shapes.training.booleans.size:
        return None
    return packed(shapes.training.booleans[columns])


def _counts(shapes: ShapeFunctions, start: int, n_columns: int) -> Packed | None:
    """Training rows in each solver column of a term."""
    if shapes.training is None:
        return None
    return packed([shapes.training.cells.total(column) for column in range(start, start + n_columns)])
