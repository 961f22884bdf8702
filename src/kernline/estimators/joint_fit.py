"""The fit of all problems at once: softmax, two classes with log loss, or regression; with pairs, and by evidence."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..array_types import Array, Floats, Indices
from ..encoding.pair_axes import NO_PLACE, PairColumn
from ..encoding.terms import TableTerm
from ..joint_losses import JointLoss
from ..native import weights_in
from ..pair_functions import PairFunction, purified
from ..solvers import SolveResult, evidence
from ..solvers.basis import Basis
from ..solvers.lbfgs import SmoothProblem, SmoothResult
from ..solvers.pair_basis import PairBasis
from ..solvers.straight_lines import lines_of_ranks
from ..suggestions import did_you_mean
from ..threads import one_blas_thread
from ..training import AdditiveRows
from ..validation import Names
from .importances import sampled_rows
from .pair_trial import Pairs, fit_if_better, fit_with_pairs
from .progress import ProblemProgress

_ROUNDS = 2  # of evidence

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
        raise ValueError(
            f"interactions: there is no column {unknown[0]!r}. {did_you_mean(unknown[0], known)}There are: {listed}."
        )


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
    """Fit curves, then choose pairs at that fit, and fit both together; "auto" only if that is better."""
    interrupted = threading.Event()
    levels = _level_groups(rows)
    lines = lines_of_ranks(rows.encoder, rows.pair) if settings.by_evidence else None
    basis = Basis(rows.data, rows.pair, rows.scales, levels, None, settings.n_threads, interrupted, lines)
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
    pairs = Pairs.of(rows, settings.interactions, settings.seed, settings.n_threads)
    if pairs is None:
        problem, result = solver.solve(problem, watch)
        return _model(rows, problem, result, [], len(result.history))
    how = fit_if_better if isinstance(settings.interactions, str) else fit_with_pairs
    problem, result, n_iter = how(pairs, problem, solver, watch)
    return _model(rows, problem, result, pairs.columns, n_iter)


def _level_groups(rows: AdditiveRows) -> list[Indices]:
    """The solver columns of each term whose cells are exact."""
    encoder = rows.encoder
    terms = zip(encoder.terms, encoder.term_start, strict=True)
    return [start + np.arange(term.n_columns) for term, start in terms if isinstance(term, TableTerm)]


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
    for j, weight in reversed(list(zip(curves.tolist(), problem.group_weights, strict=False))):
        if j < out.size:
            out[j] = weight  # a curve comes before its straight line
    terms = [term for term in rows.encoder.terms if isinstance(term, TableTerm)]
    for term, weight in zip(terms, problem.group_weights[curves.size :], strict=False):
        if term.kind == "category":
            out[term.columns[0]] = weight
    return out
