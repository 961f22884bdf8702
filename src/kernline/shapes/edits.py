"""Changes of fitted functions by hand: smooth, clip, make monotone, replace.

Hats have a weight for each knot, so a curve is changed there. Other tables with codes are first written as one weight
per code, which changes no score. A curve is zero at its lowest value, as zeros are not stored: what a change adds there
is added to the intercept instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import scipy.linalg

from ..array_types import Array, Floats
from ..encoding.terms import NumberTerm
from ..tables import PairTable
from .curves import MISSING, level_keys

if TYPE_CHECKING:
    from .functions import ShapeFunctions

# Effects by the names of levels. None stands for gaps, and so does "missing" unless a level has this name.
Levels: TypeAlias = Mapping[str, float] | Mapping[str | None, float]
Replacement: TypeAlias = float | Array | Callable[[Array], Array] | Levels | tuple[Sequence[float], Sequence[float]]
Direction: TypeAlias = Literal["increasing", "decreasing"]
Ends: TypeAlias = tuple[float | None, float | None]

# The least weight of a point, in those of a point with an average number of rows.
_LEAST_WEIGHT = 1e-3
# The least distance of two points, in average ones.
_LEAST_STEP = 1e-3
# The largest magnitude of an effect. Weights and sums of effects are float32, which ends at 3.4e38.
_LARGEST = 1e30


@dataclass(frozen=True)
class Change:
    """What is done to a function, in this order."""

    replace: Replacement | None
    smooth: float | None
    monotone: Direction | None
    clip: Ends | None

    def __post_init__(self) -> None:
        if all(part is None for part in (self.replace, self.smooth, self.monotone, self.clip)):
            raise ValueError("edit: there is nothing to do. Pass smooth, clip, monotone or replace.")
        constant = _as_float(self.replace)
        if constant is not None:
            object.__setattr__(self, "replace", _checked_effect(constant, self.replace))
        if self.smooth is not None and not 0.0 < self.smooth <= 1.0:
            raise ValueError(f"edit: smooth must be a share of the range, in (0, 1]; got {self.smooth!r:.50}.")
        if self.monotone not in (None, "increasing", "decreasing"):
            raise ValueError(f"edit: monotone must be 'increasing' or 'decreasing'; got {self.monotone!r:.50}.")
        if self.clip is not None and not self._has_ends():
            raise ValueError(
                f"edit: clip must be (low, high), in order and of at most {_LARGEST:g} in magnitude, with None for no "
                f"limit; got {self.clip!r:.50}."
            )

    def _has_ends(self) -> bool:
        """Whether clip is two numbers in order, or None, with effects that are allowed between them."""
        if not isinstance(self.clip, tuple | list) or len(self.clip) != 2:
            return False
        if any(end is not None and _as_float(end) is None for end in self.clip):
            return False
        low, high = self._ends
        return low <= high and low <= _LARGEST and high >= -_LARGEST

    @property
    def _ends(self) -> tuple[float, float]:
        low, high = (_as_float(end) for end in self.clip or (None, None))
        return -np.inf if low is None else low, np.inf if high is None else high

    def clipped(self, values: Array) -> Array:
        """The values within the ends."""
        return np.clip(values, *self._ends)

    def refuse_order(self, kind: str) -> None:
        """Refuse what only a curve of a number can be."""
        for name in ("smooth", "monotone"):
            if getattr(self, name) is not None:
                raise ValueError(f"edit: {name} does not apply to a {kind}, only to the curve of a number.")

    def described(self, name: str) -> str:
        """For the history: what was done to a function."""
        done = []
        if self.replace is not None:
            value = self.replace
            done.append(f"replaced by {value:g}" if isinstance(value, float) else "replaced")
        done += [] if self.smooth is None else [f"smoothed over {self.smooth:g} of its range"]
        done += [] if self.monotone is None else [f"made {self.monotone}"]
        done += [] if self.clip is None else [f"clipped to {self._ends[0]:g} to {self._ends[1]:g}"]
        return f"{name}: {', '.join(done)}"


def _as_float(given: object) -> float | None:
    """The value of a real number of Python or NumPy, or of an array of shape (); None for anything else."""
    if isinstance(given, np.ndarray | np.generic) and given.ndim == 0:
        given = given.item()
    if not isinstance(given, Real):
        return None
    try:
        return float(given)
    except OverflowError:  # an integer beyond float64
        return np.inf if given > 0 else -np.inf  # type: ignore[operator]


def _checked_effect(value: float | None, given: object, place: str = "") -> float:
    """Refuse what is not a number, not finite, or too large."""
    if value is None or not abs(value) <= _LARGEST:
        raise ValueError(
            f"edit: replace must give finite numbers of at most {_LARGEST:g} in magnitude; got {given!r:.50}{place}."
        )
    return value


def edited(shapes: ShapeFunctions, k: int, change: Change, problem: int | None) -> ShapeFunctions:
    """The model with one function changed, for one problem or all, and the change in its history."""
    if problem is not None and not 0 <= problem < shapes.n_problems:
        raise IndexError(f"edit: no problem {problem}. There are {shapes.n_problems}, 0 to {shapes.n_problems - 1}.")
    problems = list(range(shapes.n_problems)) if problem is None else [problem]
    n_curves = len(shapes.encoder.functions)
    if k >= n_curves:
        found = _edited_pair(shapes, k, change, problems)
    elif k >= shapes.n_features:
        raise ValueError(f"edit: {shapes.name_of(k)!r} is a pair of a file of format 2, which cannot be changed.")
    else:
        number = shapes.encoder.number(k)
        edit = _edited_category if number is None else _edited_number
        found = edit(shapes, k, change, problems)
    name = shapes.name_of(k)
    if problem is not None and shapes.n_problems > 1:
        name = f"{name} of {shapes.problem_names[problem]}"
    facts = None if shapes.training is None else shapes.training.changed(found.uncentred(), k)
    return found.with_history(facts, (*shapes.edits, change.described(name)))


def _offset(shapes: ShapeFunctions, k: int) -> Array:
    return np.zeros(shapes.n_problems) if shapes.offsets is None else shapes.offsets[k]


def _edited_number(shapes: ShapeFunctions, k: int, change: Change, problems: list[int]) -> ShapeFunctions:
    number = shapes.encoder.number(k)
    assert number is not None
    if shapes.encoder.grid is None and not _is_constant(change):
        raise ValueError(
            f"edit: the curve of {shapes.name_of(k)!r} has no points that could be moved, as the model has "
            f"{'a linear kernel' if not shapes.encoder.clips else 'no codes'}. Fit it with approximation='hats' and "
            "another kernel, or pass replace=0.0 to remove the curve."
        )
    shapes = with_points(shapes)
    weights, base = np.array(shapes.weights), np.zeros(shapes.n_problems)
    offset = _offset(shapes, k)
    for p in problems:
        if shapes.encoder.grid is None:
            weights[p, k], base[p] = 0.0, change.replace + offset[p]
            continue
        values = _changed_curve(shapes, number, change, weights[p, k] - offset[p]) + offset[p]
        base[p] = values[0]
        weights[p, k] = values - values[0]
    _change_gaps(shapes, k, change, problems, weights, base)
    return _rebuilt(shapes, weights, k, base)


def _is_constant(change: Change) -> bool:
    others = (change.smooth, change.monotone, change.clip)
    return isinstance(change.replace, float) and all(part is None for part in others)


def _change_gaps(
    shapes: ShapeFunctions, k: int, change: Change, problems: list[int], weights: Floats, base: Array
) -> None:
    """Clip or replace the effect of gaps too, which have no place on the curve; less what the intercept gains."""
    offset = _offset(shapes, k)
    for number, term in enumerate(shapes.encoder.terms):
        if term.columns == (k,) and term.kind == "missing":
            scores = shapes.term_scores(number) - offset
            for p in problems:
                if isinstance(change.replace, float):
                    scores[:, p] = change.replace
                scores[:, p] = change.clipped(scores[:, p])
            _set_scores(shapes, weights, shapes.encoder.term_start[number], scores + offset - base)


def _set_scores(shapes: ShapeFunctions, weights: Floats, start: int, scores: Array) -> None:
    """Give solver columns from `start` on these scores at u = 1, (n_columns, n_problems)."""
    last = shapes.encoder.quantised(np.ones(1))
    payload = shapes.encoder.payload
    vector = shapes.table.vectors(last if payload is None else payload.compute(last, write=False))[0]
    slot = int(np.argmax(np.abs(vector)))
    columns = slice(start, start + len(scores))
    weights[:, columns] = 0.0
    weights[:, columns, slot] = scores.T / vector[slot]


def _rebuilt(shapes: ShapeFunctions, weights: Floats, k: int, base: Array) -> ShapeFunctions:
    """The model of other weights, and what function k has lost in the intercepts; centred curves stay as they look."""
    if shapes.offsets is None:
        return replace(shapes, weights=weights, intercepts=shapes.intercepts + base)
    offsets = shapes.offsets.copy()
    offsets[k] -= base
    return replace(shapes, weights=weights, offsets=offsets)


def with_points(shapes: ShapeFunctions) -> ShapeFunctions:
    """The same model with a weight for each knot or code of a curve; values without codes stay as they are."""
    grid = shapes.encoder.grid
    if grid is None or isinstance(shapes.table, PairTable):
        return shapes
    vectors = shapes.table.vectors(np.arange(grid.values.size))
    vectors[0] = 0.0  # zeros add nothing
    weights = np.einsum("ck,pjk->pjc", vectors, shapes.weights, optimize=True).astype(np.float32)
    return replace(shapes, table=PairTable(1, grid.values.size), weights=weights)


def _changed_curve(shapes: ShapeFunctions, number: NumberTerm, change: Change, values: Array) -> Array:
    """The values at the knots, changed."""
    assert shapes.encoder.grid is not None
    assert isinstance(shapes.table, PairTable)
    u = shapes.encoder.grid.values[:: shapes.table.steps]
    values = values.astype(np.float64)
    if change.replace is not None:
        values = _replaced_curve(number.values_at(u), change.replace, u.size)
    if change.smooth is not None or change.monotone is not None:
        weight = _rows_at(shapes, number.column, u)
        if change.smooth is not None:
            values = smoothed(u, values, weight, change.smooth)
        if change.monotone is not None:
            from sklearn.isotonic import isotonic_regression  # few models are edited, and each import takes time

            increasing = change.monotone == "increasing"
            values = isotonic_regression(values, sample_weight=weight, increasing=increasing)
    return change.clipped(values)


def _replaced_curve(x: Array, given: Replacement, n: int) -> Array:
    x = np.broadcast_to(x, n)  # a constant column has one value
    if callable(given):
        found = np.asarray(given(x.copy()), dtype=np.float64)
    elif isinstance(given, tuple):
        points, effects = (np.asarray(part, dtype=np.float64) for part in given)
        if points.ndim != 1 or points.shape != effects.shape or not points.size or not (np.diff(points) > 0.0).all():
            raise ValueError("edit: replace must be (x, effect), as many of both, with x that increases.")
        if not np.isfinite(points).all():
            raise ValueError(f"edit: the x of replace must be finite; got {points[~np.isfinite(points)][0]:g}.")
        found = np.interp(x, points, _finite(effects, effects.shape))
    elif isinstance(given, Mapping):
        raise ValueError("edit: replace by names is for categories; the curve of a number takes (x, effect).")
    else:
        found = np.asarray(given, dtype=np.float64)
    return _finite(np.broadcast_to(found, n) if found.ndim == 0 else found, (n,))


def _finite(values: Array, shape: tuple[int, ...]) -> Array:
    if values.shape != shape:
        raise ValueError(f"edit: replace must give numbers of shape {shape}; got shape {values.shape}.")
    allowed = np.abs(values) <= _LARGEST
    if not allowed.all():
        bad = int(np.flatnonzero(~allowed)[0])
        _checked_effect(float(values.flat[bad]), float(values.flat[bad]), f" at place {bad}")
    return np.array(values)


def _rows_at(shapes: ShapeFunctions, j: int, u: Array) -> Array:
    """How many training rows lie at each knot, with an average of 1; equally many if that is not known."""
    if shapes.training is None:
        return np.ones(u.size)
    cells = shapes.training.cells
    assert shapes.encoder.grid is not None
    here = slice(cells.start[j], cells.start[j + 1])
    place = np.interp(shapes.encoder.grid.values[cells.marks[here]], u, np.arange(u.size))
    low = np.minimum(place.astype(np.int64), u.size - 2)
    counts = cells.counts[here].astype(np.float64)
    weight = np.bincount(low, counts * (low + 1 - place), u.size) + np.bincount(low + 1, counts * (place - low), u.size)
    weight[0] += max(0.0, cells.n_rows - counts.sum())
    return np.maximum(weight / max(weight.mean(), 1e-300), _LEAST_WEIGHT)


def smoothed(u: Array, values: Array, weight: Array, length: float) -> Array:
    """The curve g with least Σ w (g − f)² + length⁴ ∫ g″², which has no waves much shorter than the length."""
    if u.size < 3:
        return values
    steps = np.diff(u)
    steps = np.maximum(steps, _LEAST_STEP * steps.mean())  # two codes may stand for one value
    first, second = 1.0 / steps[:-1], 1.0 / steps[1:]
    around = 0.5 * (steps[:-1] + steps[1:])
    bends = np.zeros((u.size - 2, u.size))
    rows = np.arange(u.size - 2)
    bends[rows, rows], bends[rows, rows + 1], bends[rows, rows + 2] = first, -(first + second), second
    share = np.sqrt(weight / weight.sum())
    # As least squares: the normal equations are singular to working precision if knots nearly coincide.
    bends *= (length**2 / np.sqrt(around))[:, None]
    system = np.concatenate([np.diag(share), bends])
    wanted = np.concatenate([share * values, np.zeros(len(bends))])
    return scipy.linalg.lstsq(system, wanted, lapack_driver="gelsy", check_finite=False)[0]


def _edited_category(shapes: ShapeFunctions, k: int, change: Change, problems: list[int]) -> ShapeFunctions:
    change.refuse_order("category")
    weights, offset = np.array(shapes.weights), _offset(shapes, k)
    keys = {
        number: level_keys(shapes, k, term.axes[0])  # type: ignore[attr-defined]
        for number, term in enumerate(shapes.encoder.terms)
        if term.columns == (k,)
    }
    wanted = _wanted_levels(shapes.name_of(k), [key for part in keys.values() for key in part], change.replace)
    for number, part in keys.items():
        scores = shapes.term_scores(number) - offset
        places = [place for place, key in enumerate(part) if key in wanted]
        for p in problems:
            scores[places, p] = [wanted[part[place]] for place in places]
            scores[:, p] = change.clipped(scores[:, p])
        _set_scores(shapes, weights, shapes.encoder.term_start[number], scores + offset)
    return _rebuilt(shapes, weights, k, np.zeros(shapes.n_problems))


def _wanted_levels(name: str, keys: list[str | None], given: Replacement | None) -> dict[str | None, float]:
    """The effects that are given for levels, with None for gaps."""
    if given is None:
        return {}
    if isinstance(given, float):
        return dict.fromkeys(keys, given)
    if not isinstance(given, Mapping):
        raise ValueError("edit: replace of a category must be a number, or a dict from names of levels to numbers.")
    wanted: dict[str | None, float] = {}
    for level, value in given.items():
        key = None if level is None or (level == MISSING and MISSING not in keys) else str(level)
        if key not in keys:
            known = ["None for gaps" if one is None else one for one in keys[:20]]
            raise ValueError(f"edit: {name!r} has no level {level!r}. There are: {', '.join(known)}.")
        if key in wanted:
            raise ValueError(f"edit: replace has two numbers for the level {level!r} of {name!r}; pass one.")
        wanted[key] = _checked_effect(_as_float(value), value, f" for {level!r:.50}")
    return wanted


def _edited_pair(shapes: ShapeFunctions, k: int, change: Change, problems: list[int]) -> ShapeFunctions:
    change.refuse_order("pair")
    number = k - len(shapes.encoder.functions)
    pair, offset = shapes.pairs[number], _offset(shapes, k)
    values = pair.values - offset
    shape = values.shape[:2]
    for p in problems:
        table = values[:, :, p]
        if change.replace is not None:
            if callable(change.replace) or isinstance(change.replace, Mapping | tuple):
                raise ValueError(f"edit: replace of a pair must be a number, or an array of shape {shape}.")
            found = np.asarray(change.replace, dtype=np.float64)
            table = _finite(np.broadcast_to(found, shape) if found.ndim == 0 else found, shape)
        values[:, :, p] = change.clipped(table)
    pairs = list(shapes.pairs)
    pairs[number] = replace(pair, values=values + offset)
    return replace(shapes, pairs=tuple(pairs))
