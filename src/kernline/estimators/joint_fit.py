"""The fit of all problems at once: softmax, two classes with log loss, or regression; with pairs, and by evidence."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Floats, Indices
from ..encoding.pair_axes import NO_PLACE, STEPS, PairColumn, pair_columns, place_codes
from ..encoding.terms import TableTerm
from ..joint_losses import JointLoss
from ..native import weights_in
from ..pair_functions import PairFunction, purified
from ..solvers import SolveResult, evidence
from ..solvers.basis import Basis
from ..solvers.lbfgs import SmoothProblem, SmoothResult
from ..solvers.pair_basis import PairBasis
from ..solvers.pair_selection import best_pairs
from ..threads import one_blas_thread
from ..training import AdditiveRows
from ..validation import Names
from .importances import sampled_rows
from .progress import ProblemProgress

# Rounds of evidence, and the weight of a pair before them: a table has more unknowns than a curve.
_ROUNDS = 2
_PAIR_WEIGHT = 0.3
# How much less precise the fit is at which pairs are chosen.
_LOOSER = 10.0
# interactions="auto": the best pairs with so many unknowns at most, and one for so many rows; no more pairs than this.
_MOST_UNKNOWNS, _ROWS_AN_UNKNOWN, _MOST_PAIRS = 3000, 2, 400

# Pairs of columns of the input, how many to choose, or "auto".
Interactions = int | str | Sequence[tuple[int, int]]


@dataclass(frozen=True)
class JointSettings:
    """How to fit: `by_evidence` weighs each curve, `prior_scale` is τ of evidence.py."""

    tol: float
    max_iter: int
    seed: int
    n_threads: int
    by_evidence: bool
    prior_scale: float
    has_intercept: bool
    interactions: int | str | list[tuple[int, int]]
    recost: evidence.Recost | None = None


@dataclass(frozen=True)
class JointModel:
    """The curves W, (n_problems, n_columns, width), tables of pairs and intercepts of a fit."""

    weights: Floats
    intercepts: Array
    pairs: tuple[PairFunction, ...]
    pair_places: tuple[Array, ...]  # of a sample of the training rows on the axes of each pair, (n_rows, 2)
    column_weights: Array  # v of each input column, 1 without evidence
    result: SmoothResult
    n_iter: int
    C: float  # mean cost


def is_none(interactions: Interactions) -> bool:
    """Whether no pairs are asked for."""
    return not isinstance(interactions, str) and (
        interactions == 0 if isinstance(interactions, int | np.integer) else len(interactions) == 0
    )


def checked_interactions(
    interactions: Interactions, names: Names, rows: AdditiveRows
) -> int | str | list[tuple[int, int]]:
    """Pairs as numbers of columns; a pair of a column with itself, twice the same, or of no such column is refused."""
    if rows.pair.grid is None and not is_none(interactions):
        if isinstance(interactions, str):
            return 0
        raise ValueError(
            f"interactions={interactions!r:.50}: tables of pairs need curves, and the linear kernel has none. Pass "
            "kernel='intersection'; X with negative values must be a dense array for it (X.toarray())."
        )
    if isinstance(interactions, str):
        return interactions
    if isinstance(interactions, bool | np.bool_):
        raise ValueError("interactions=True does not say how many: pass 'auto', a number, or a list of pairs.")
    if isinstance(interactions, int | np.integer):
        return int(interactions)
    if len(interactions) == 2 and all(isinstance(one, str | int | np.integer) for one in interactions):
        raise ValueError(
            f"interactions={interactions!r:.50} is not a list of pairs. For one pair, pass "
            f"[{tuple(interactions)!r:.50}]."
        )
    known = {str(name): j for j, name in enumerate(names.columns)} if names.columns is not None else {}
    pairs: list[tuple[int, int]] = []
    for given in interactions:
        sides = tuple(given) if isinstance(given, tuple | list | np.ndarray) else ()
        _check_names(sides, known)
        pair = tuple(known.get(one, one) if isinstance(one, str) else one for one in sides)
        inside = all(isinstance(j, int | np.integer) and 0 <= j < rows.encoder.n_features for j in pair)
        if len(pair) != 2 or not inside or pair[0] == pair[1]:
            raise ValueError(
                f"interactions: {sides or given!r} is not a pair of two different columns. Pass pairs of names or of "
                f"numbers from 0 to {rows.encoder.n_features - 1}."
            )
        ordered = (int(min(pair)), int(max(pair)))
        if ordered in pairs:
            raise ValueError(f"interactions: the pair {sides!r} is given twice.")
        pairs.append(ordered)
    return pairs


def _check_names(sides: tuple[object, ...], known: dict[str, int]) -> None:
    """Refuse names of columns that are not known."""
    unknown = [one for one in sides if isinstance(one, str) and one not in known]
    if unknown and not known:
        raise ValueError(
            f"interactions: {unknown[0]!r} is a name, and the columns of X have none, so {sides!r} is not a pair of "
            "them. Pass a data frame, or numbers of columns."
        )
    if unknown:
        listed = ", ".join(list(known)[:20]) + (", …" if len(known) > 20 else "")
        raise ValueError(f"interactions: there is no column {unknown[0]!r}. There are: {listed}.")


def solve_results(model: JointModel) -> list[SolveResult]:
    """The solution as one result per problem; they share the objective and the certificate."""
    result = model.result
    return [
        SolveResult(
            beta=np.empty(0),
            weights=weights,
            intercept=float(intercept),
            n_iter=model.n_iter,
            primal=result.primal,
            gap=result.gap,
            converged=result.converged,
            history=result.history,
            stopped=result.stopped,
        )
        for weights, intercept in zip(model.weights, model.intercepts, strict=True)
    ]


@one_blas_thread
def fit(rows: AdditiveRows, loss: JointLoss, settings: JointSettings, watch: ProblemProgress) -> JointModel:
    """Fit curves, then choose pairs at that fit, and fit both together."""
    interrupted = threading.Event()
    levels = _level_groups(rows)
    basis = Basis(rows.data, rows.pair, rows.scales, levels, None, settings.n_threads, interrupted)
    square = 0.0 if rows.free_intercept else rows.intercept_square
    problem = SmoothProblem(basis, loss, np.ones(basis.sizes.size), settings.has_intercept, square)
    solver = evidence.Evidence(
        tol=settings.tol,
        max_iter=settings.max_iter,
        rounds=_ROUNDS if settings.by_evidence else 0,
        prior_scale=settings.prior_scale,
        recost=settings.recost if settings.by_evidence else None,
        seed=settings.seed,
    )
    columns, chosen = _candidates(rows, settings.interactions)
    if chosen is None:
        problem, result = solver.solve(problem, watch)
        return _model(rows, problem, result, [], len(result.history))
    problem, result = replace(solver, tol=_LOOSER * settings.tol).solve(problem, watch)
    n_iter = len(result.history)
    codes = place_codes(columns, rows.data)
    steps = np.array([STEPS if one.axis.is_number else 1 for one in columns], dtype=np.uint8)
    if isinstance(chosen, int):
        chosen = best_pairs(codes, steps, problem.loss, result.point.F, chosen, settings.seed, settings.n_threads)
        if isinstance(settings.interactions, str):
            chosen = _within_budget(chosen, columns, rows.data.n_rows)
    if not result.stopped and len(chosen):
        pairs = _pair_basis(columns, codes, steps, chosen, rows.scales)
        joined, start = _with_pairs(problem, result, pairs)
        problem, result = solver.solve(joined, watch, start)
        n_iter += len(result.history)
    return _model(rows, problem, result, columns, n_iter)


def _level_groups(rows: AdditiveRows) -> list[Indices]:
    """The solver columns of each term whose cells are exact."""
    encoder = rows.encoder
    terms = zip(encoder.terms, encoder.term_start, strict=True)
    return [start + np.arange(term.n_columns) for term, start in terms if isinstance(term, TableTerm)]


def _candidates(
    rows: AdditiveRows, interactions: int | str | list[tuple[int, int]]
) -> tuple[list[PairColumn], NDArray[np.int32] | int | None]:
    """The columns that pairs may use, and the pairs, or how many; None for none."""
    if isinstance(interactions, int) and interactions == 0:
        return [], None
    columns = pair_columns(rows.encoder, rows.pair.width, rows.data)
    possible = len(columns) * (len(columns) - 1) // 2
    if isinstance(interactions, str):
        return columns, min(_MOST_PAIRS, possible) or None
    if isinstance(interactions, int):
        return columns, min(interactions, possible) or None
    number = {one.column: k for k, one in enumerate(columns)}
    usable = [(number[a], number[b]) for a, b in interactions if a in number and b in number]
    return columns, np.array(usable, dtype=np.int32).reshape(-1, 2) if usable else None


def _within_budget(chosen: NDArray[np.int32], columns: list[PairColumn], n_rows: int) -> NDArray[np.int32]:
    """The best of these pairs, with no more unknowns than so many rows can determine; larger ones are left out."""
    n_unknowns = np.array([one.axis.size - one.axis.is_number for one in columns])
    left = min(_MOST_UNKNOWNS, n_rows // _ROWS_AN_UNKNOWN)
    kept = np.zeros(len(chosen), dtype=bool)
    for k, size in enumerate(n_unknowns[chosen].prod(axis=1).tolist()):
        kept[k] = size <= left
        left -= size * kept[k]
    return chosen[kept]


def _pair_basis(
    columns: list[PairColumn],
    codes: NDArray[np.uint8],
    steps: NDArray[np.uint8],
    chosen: NDArray[np.int32],
    scales: Array,
) -> PairBasis:
    used, axes = np.unique(chosen, return_inverse=True)
    return PairBasis(
        codes=np.ascontiguousarray(codes[:, used]),
        n_points=np.array([columns[k].axis.size for k in used], dtype=np.int32),
        steps=steps[used],
        is_number=np.array([columns[k].axis.is_number for k in used]),
        axes=axes.reshape(chosen.shape).astype(np.int32),
        scale=float(scales[scales > 0.0].mean()) if (scales > 0.0).any() else 1.0,
        columns=used.astype(np.int64),
    )


def _with_pairs(problem: SmoothProblem, result: SmoothResult, pairs: PairBasis) -> tuple[SmoothProblem, Array]:
    """The problem with the pairs, and where it starts: at the fit without them."""
    basis = replace(problem.basis, pairs=pairs)
    weights = np.append(problem.group_weights, np.full(len(pairs.axes), _PAIR_WEIGHT))
    tables = np.zeros((int(pairs.sizes.sum()), result.theta.shape[1]))
    start = np.concatenate([result.theta, tables, result.point.theta[-1:]])
    return replace(problem, basis=basis, group_weights=weights), start


def _model(
    rows: AdditiveRows, problem: SmoothProblem, result: SmoothResult, columns: list[PairColumn], n_iter: int
) -> JointModel:
    basis, n_problems = problem.basis, result.theta.shape[1]
    W = np.array(weights_in(basis.weights(result.theta), (n_problems, rows.data.n_columns, rows.pair.width)))
    intercepts, tables, places = result.intercepts.copy(), [], []
    if basis.pairs is not None:
        theta = result.theta[basis.n_row_unknowns :]
        for (a, b), table in zip(basis.pairs.axes, basis.pairs.tables(theta), strict=True):
            sides = columns[basis.pairs.columns[a]], columns[basis.pairs.columns[b]]
            weight = _joint_share(basis.pairs, a, b, problem.loss.cost)
            split = purified(table, weight, (sides[0].axis.is_number, sides[1].axis.is_number))
            for side, effect in zip(sides, split.effects, strict=True):
                _add_effect(W, rows, side, effect)
            intercepts += split.constant
            axes = sides[0].axis, sides[1].axis
            tables.append(PairFunction((sides[0].column, sides[1].column), axes, split.values))
            places.append(_sampled_places(basis.pairs, a, b))
    return JointModel(
        W,
        intercepts,
        tuple(tables),
        tuple(places),
        _column_weights(rows, problem),
        result,
        n_iter,
        float(problem.loss.cost.mean()),
    )


def _joint_share(pairs: PairBasis, a: int, b: int, cost: Array) -> Array:
    """The share of the rows at each two places, to the nearest."""
    places = []
    for axis in (a, b):
        codes = pairs.codes[:, axis].astype(np.int64)
        steps = int(pairs.steps[axis])
        places.append(np.where(codes == NO_PLACE, -1, (codes + steps // 2) // steps))
    known = (places[0] >= 0) & (places[1] >= 0)
    sizes = int(pairs.n_points[a]), int(pairs.n_points[b])
    cell = places[0][known] * sizes[1] + places[1][known]
    share = np.bincount(cell, cost[known], sizes[0] * sizes[1])
    return share.reshape(sizes).astype(np.float64)


def _sampled_places(pairs: PairBasis, a: int, b: int) -> Array:
    """The places of a sample of the rows on two axes; the last one is for all else."""
    found = []
    for axis in (a, b):
        codes = pairs.codes[sampled_rows(len(pairs.codes)), axis]
        found.append(np.where(codes == NO_PLACE, pairs.n_points[axis], codes / pairs.steps[axis]))
    return np.column_stack(found)


def _add_effect(W: Floats, rows: AdditiveRows, side: PairColumn, effect: Array) -> None:
    """Add what a table says of one column alone to its curve, or to the weights of its levels."""
    if not side.axis.is_number:
        W[:, side.solver_columns, -1] += effect.T
        return
    assert rows.pair.grid is not None
    values = rows.pair.grid.values
    knots = values[:: (values.size - 1) // (rows.pair.width - 1)]
    for p, column in enumerate(effect.T):
        W[p, side.column] += np.interp(knots, knots[side.slots], column)


def _column_weights(rows: AdditiveRows, problem: SmoothProblem) -> Array:
    """v of each input column; of a column that is no number, that of its term."""
    out = np.ones(rows.encoder.n_features)
    curves = problem.basis.curves
    numbers = curves[curves < out.size]
    out[numbers] = problem.group_weights[: numbers.size]
    terms = [term for term in rows.encoder.terms if isinstance(term, TableTerm)]
    for term, weight in zip(terms, problem.group_weights[curves.size :], strict=False):
        if term.kind == "category":
            out[term.columns[0]] = weight
    return out
