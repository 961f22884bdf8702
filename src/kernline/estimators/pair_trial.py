"""Which pairs a fit has and, for interactions="auto", whether it has any: they are tried on rows held out.

A table has dozens of unknowns, and the best of hundreds of pairs are chosen by the same rows that they are fitted to,
so pairs can make predictions worse. Neither evidence nor leave-one-out scores see the second reason. So curves alone,
and curves with the pairs chosen at that fit, are fitted to four fifths of the rows, and pairs are kept if they lower
the loss of the other rows by more than two standard errors of the difference.

On small tables other fifths are held out in turn, as few rows tell little. The fit to all rows begins at the last
trial, with its pairs and weights, so that it costs little more. If the first fit, loose and without evidence for the
weights of the pairs, gains more than four standard errors, nothing else is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array, Indices
from ..encoding.pair_axes import STEPS, PairColumn, pair_columns, place_codes
from ..joint_losses import JointLoss
from ..solvers.basis import Basis
from ..solvers.evidence import Evidence
from ..solvers.lbfgs import OnReport, SmoothProblem, SmoothResult
from ..solvers.pair_basis import PairBasis
from ..solvers.pair_selection import best_pairs
from ..training import AdditiveRows

# The weight of a pair before evidence, for one problem and for several: a table tells few of many classes apart, and
# from a small weight the first rounds end before those few have moved.
_PAIR_WEIGHT, _PAIR_WEIGHT_OF_CLASSES = 1.0, 10.0
# interactions="auto": the best pairs with so many unknowns at most, and one for so many rows; no more pairs than this.
_MOST_UNKNOWNS, _ROWS_AN_UNKNOWN, _MOST_PAIRS = 3000, 2, 400
# Parts of the rows, and how many rows to hold out: more than one part if it has fewer.
_PARTS, _HELD_OUT = 5, 600
# How much less precise the fit is at which pairs are chosen. Fits of a trial are not: pairs that hardly move lose.
_LOOSER = 10.0
# Standard errors of a gain that is clear, and of one that needs no closer look.
_CLEAR, _BEYOND_DOUBT = 2.0, 4.0


@dataclass(frozen=True)
class Pairs:
    """The pairs that were asked for, or how many to choose: `asked`.

    `within_budget` leaves out those for which there are too few rows.
    """

    rows: AdditiveRows
    columns: list[PairColumn]
    asked: NDArray[np.int32] | int
    within_budget: bool
    seed: int
    n_threads: int

    @classmethod
    def of(
        cls, rows: AdditiveRows, interactions: int | str | list[tuple[int, int]], seed: int, n_threads: int
    ) -> Pairs | None:
        """None if there is no pair to fit."""
        columns, asked = _candidates(rows, interactions)
        return None if asked is None else cls(rows, columns, asked, isinstance(interactions, str), seed, n_threads)

    def chosen(self, problem: SmoothProblem, result: SmoothResult) -> NDArray[np.int32]:
        """The pairs, as numbers of `columns`, (n_pairs, 2); the best at this fit if only their number was given."""
        chosen = self.asked
        if isinstance(chosen, int):
            codes, steps = place_codes(self.columns, problem.basis.data), _steps(self.columns)
            chosen = best_pairs(codes, steps, problem.loss, result.point.F, chosen, self.seed, self.n_threads)
        return _within_budget(chosen, self.columns, self.rows.data.n_rows) if self.within_budget else chosen

    def added_to(self, basis: Basis, chosen: NDArray[np.int32]) -> Basis:
        """The basis, of all rows or of some, with these pairs."""
        used, axes = np.unique(chosen, return_inverse=True)
        columns, scales = [self.columns[k] for k in used], self.rows.scales
        pairs = PairBasis(
            codes=place_codes(columns, basis.data),
            n_points=np.array([one.axis.size for one in columns], dtype=np.int32),
            steps=_steps(columns),
            is_number=np.array([one.axis.is_number for one in columns]),
            axes=axes.reshape(chosen.shape).astype(np.int32),
            scale=float(scales[scales > 0.0].mean()) if (scales > 0.0).any() else 1.0,
            columns=used.astype(np.int64),
        )
        return replace(basis, pairs=pairs)

    def joined(
        self, problem: SmoothProblem, result: SmoothResult, chosen: NDArray[np.int32]
    ) -> tuple[SmoothProblem, Array]:
        """The problem with these pairs, and where it starts: at a fit without them."""
        basis = self.added_to(problem.basis, chosen)
        assert basis.pairs is not None
        n_problems = result.theta.shape[1]
        weight = _PAIR_WEIGHT if n_problems == 1 else _PAIR_WEIGHT_OF_CLASSES
        weights = np.append(problem.group_weights, np.full(len(chosen), weight))
        tables = np.zeros((int(basis.pairs.sizes.sum()), n_problems))
        start = np.concatenate([result.theta, tables, result.point.theta[-1:]])
        return replace(problem, basis=basis, group_weights=weights), start


# The problem, its solution, and the number of steps to it.
Fitted = tuple[SmoothProblem, SmoothResult, int]


def fit_with_pairs(pairs: Pairs, problem: SmoothProblem, solver: Evidence, on_report: OnReport) -> Fitted:
    """Curves, and with them the pairs chosen at their fit, for which a sample of many rows is enough."""
    sample, result = replace(solver, tol=_LOOSER * solver.tol).solve(solver.sample(problem), on_report)
    is_whole = sample.basis.data is problem.basis.data
    problem = sample if is_whole else solver.weighted_as(sample, problem)
    n_iter = len(result.history)
    if result.stopped:
        return problem, result, n_iter
    joined, start = pairs.joined(problem, result, pairs.chosen(sample, result))
    problem, result = solver.solve(joined, on_report, start)
    return problem, result, n_iter + len(result.history)


def fit_if_better(pairs: Pairs, problem: SmoothProblem, solver: Evidence, on_report: OnReport) -> Fitted:
    """The same, if pairs lower the loss of rows held out; curves alone otherwise."""
    sample = solver.sample(problem)
    trials: list[_Trial] = []
    n_iter = 0
    for held, others in _divided(sample.loss, solver.seed):
        trial = _tried(pairs, sample, held, others, solver, on_report, is_first=not trials)
        n_iter += trial.n_iter
        if trial.result.stopped:
            return trial.problem, trial.result, n_iter
        if not len(trial.chosen):  # too few rows for any
            trials = []
            break
        trials.append(trial)
        if trial.is_quick:
            break
    gains = np.concatenate([trial.gains for trial in trials]) if trials else np.zeros(1)
    if _is_clear(gains, _CLEAR):
        problem = solver.weighted_as(trial.problem, replace(problem, basis=pairs.added_to(problem.basis, trial.chosen)))
        # Evidence was heard on the weights of a whole trial already.
        rounds = solver.rounds if trial.is_quick else min(solver.rounds, 1)
        problem, result = replace(solver, rounds=rounds).solve(problem, on_report, trial.result.scaled)
    else:
        problem, result = solver.solve(problem, on_report)
    return problem, result, n_iter + len(result.history)


@dataclass(frozen=True)
class _Trial:
    """A fit to some rows, with the pairs chosen there, and by how much they lower the loss of each of the others.

    `is_quick` if the weights of the pairs are those they begin with, as the gain was beyond doubt.
    """

    problem: SmoothProblem
    result: SmoothResult
    chosen: NDArray[np.int32]
    gains: Array
    n_iter: int
    is_quick: bool = False


def _tried(
    pairs: Pairs,
    sample: SmoothProblem,
    held: Indices,
    others: Indices,
    solver: Evidence,
    on_report: OnReport,
    *,
    is_first: bool,
) -> _Trial:
    """One trial: curves, then pairs with the weights they begin with and, unless that is enough, by evidence."""
    part, mains = solver.solve(sample.of_rows(others), on_report)
    n_iter = len(mains.history)
    chosen = np.zeros((0, 2), dtype=np.int32) if mains.stopped else pairs.chosen(part, mains)
    if not len(chosen):
        return _Trial(part, mains, chosen, np.zeros(0), n_iter)
    joined, start = pairs.joined(part, mains, chosen)
    out = sample.of_rows(held)
    without, out = _losses(out, mains), replace(out, basis=pairs.added_to(out.basis, chosen))
    for one in (replace(solver, rounds=0, tol=_LOOSER * solver.tol), solver):
        joined, result = one.solve(joined, on_report, start)
        n_iter += len(result.history)
        gains, is_quick = without - _losses(out, result), one is not solver
        if result.stopped or not is_quick or (is_first and _is_clear(gains, _BEYOND_DOUBT)):
            break
        start = result.scaled
    return _Trial(joined, result, chosen, gains, n_iter, is_quick)


def _losses(problem: SmoothProblem, result: SmoothResult) -> Array:
    """The weighted loss of each row of a problem, by the solution for other rows."""
    return problem.loss.cost * problem.loss.of_each(problem.basis.values(result.theta) + result.intercepts)


def _is_clear(gains: Array, n_errors: float) -> bool:
    """Whether the mean is above so many standard errors."""
    return float(gains.mean()) > n_errors * float(gains.std()) / np.sqrt(gains.size)


def _divided(loss: JointLoss, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """The rows to hold out, one part after another, and the others.

    Each part has its share of every class, or of large and small y.
    """
    slope = loss.with_cost(np.ones(loss.cost.size)).gradient(np.zeros((loss.cost.size, loss.n_problems)))
    key = slope[:, 0] if slope.shape[1] == 1 else slope.argmin(axis=1)
    random = np.random.default_rng(seed).random(key.size)
    part = np.empty(key.size, dtype=np.int64)
    part[np.lexsort((random, key))] = np.arange(key.size) % _PARTS
    if key.size < _PARTS:  # the fit would have too few rows, or none
        return
    for number in range(min(_PARTS, -(-_PARTS * _HELD_OUT // key.size))):
        yield np.flatnonzero(part == number), np.flatnonzero(part != number)


def _steps(columns: list[PairColumn]) -> NDArray[np.uint8]:
    """Codes from one place to the next, of each column."""
    return np.array([STEPS if one.axis.is_number else 1 for one in columns], dtype=np.uint8)


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
