"""A curve as it is drawn: over the values that training rows have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..shapes import Curve, ShapeFunctions


def drawn_curve(shapes: ShapeFunctions, k: int, *, centred: bool) -> Curve:
    """Function k, with the first edge of its density moved to about the least value of the training rows.

    The lowest code stands for zero, so that the curve of an age begins at zero too. Where no row has this code, the
    rows begin somewhere in the first bin: about half a step before the mean of its rows, a step being that to the next
    bin, or less if the first bin has fewer rows than that.
    """
    curve = shapes.curve(k, centred=centred)
    density, training, grid = curve.density, shapes.training, shapes.encoder.grid
    if curve.kind != "number" or density is None or density.edges is None or training is None or grid is None:
        return curve
    cells, number = training.cells, shapes.encoder.number(k)
    here = slice(cells.start[k], cells.start[k + 1])
    held = np.flatnonzero(density.counts)
    if number is None or not held.size or density.counts.sum() > cells.counts[here].sum():  # some rows are zero
        return curve
    means = number.values_at(grid.values[cells.marks[here][:2]])
    counts = cells.counts[here][:2].astype(np.float64)
    low = means[0] - 0.5 * (means[-1] - means[0]) * min(1.0, counts[0] / counts[-1])
    edges = density.edges.copy()
    edges[: held[0] + 1] = np.maximum(edges[: held[0] + 1], low)
    return replace(curve, density=replace(density, edges=edges))
