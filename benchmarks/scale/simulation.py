"""Rounds on parts in one process: what a cluster of so many workers would do, without the time it takes."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from kernline import kernels, losses, training
from kernline.datasets.loading import load_part
from kernline.solvers import part, rounds
from kernline.solvers.intercept import centred_norms, first_intercept_of_labels, free_square
from kernline.solvers.problem import KernelMean, Problem


def simulated(name: str, n_rows: int, kernel: str, scale: str, C: float, n_parts: int) -> dict[str, float]:
    """Rounds, visits in units of all rows, and what a visit takes, for the largest class."""
    problem = _problem(name, n_rows, kernel, scale, C)
    members = np.array_split(np.random.default_rng(0).permutation(problem.n_rows), n_parts)
    square = free_square(centred_norms(problem))
    parts = Counting([part.PartRows([_some(problem, np.sort(rows))], square) for rows in members])
    cost = np.array([problem.cost[problem.targets == label].sum() for label in (1.0, -1.0)])
    outline = rounds.Outline(
        pair=problem.pair,
        scales=problem.scales,
        losses=[problem.loss],
        n_rows=problem.n_rows,
        n_cells=problem.data.n_cells,
        square=square,
        mean_square=0.0 if problem.mean is None else problem.mean.square,
        free_intercept=True,
        norm=float(centred_norms(problem).mean()),
        cost=C,
        firsts=[first_intercept_of_labels(problem.loss, cost)],
        reach=[1.0],
    )
    start = time.process_time()
    result = rounds.Rounds(0.01).solve(parts, outline, [lambda report: False])[0]
    seconds = time.process_time() - start
    in_all = (parts.visits + parts.margin) / problem.n_rows
    return {
        "rounds": result.n_iter,
        "visits": in_all,
        "on the margin": parts.margin / problem.n_rows,
        "relative gap": result.gap / result.primal,
        "ns per visit of a value": 1e9 * seconds / (in_all * problem.n_rows * problem.data.n_columns),
    }


class Counting(rounds.LocalParts):
    """Parts that count visits of rows."""

    visits = margin = 0.0

    def work(self, steps, orders):  # type: ignore[no-untyped-def]
        """See Parts."""
        sums = super().work(steps, orders)
        self.visits += sum(one.numbers[part.N_VISITS] for one in sums)
        return sums

    def settled(self, steps, orders):  # type: ignore[no-untyped-def]
        """See Parts."""
        sums = super().settled(steps, orders)
        self.margin += sum(one.numbers[part.N_VISITS] for one in sums)
        return sums


def _problem(name: str, n_rows: int, kernel: str, scale: str, C: float) -> Problem:
    X, y = load_part(name)
    chosen = np.sort(np.random.default_rng(1).permutation(len(y))[:n_rows])
    X, y = X[chosen], np.asarray(y)[chosen]
    X = X.toarray() if sp.issparse(X) and scale == "rank" else X
    settings = training.AdditiveSettings(kernels.get(kernel, -8.0), scale=scale, loss=losses.get("hinge"))
    classes, counts = np.unique(y, return_counts=True)
    targets = np.where(y == classes[counts.argmax()], 1.0, -1.0)
    return training.encode(X, settings).problem(targets, np.full(y.size, C))


def _some(problem: Problem, rows: np.ndarray) -> Problem:
    mean = problem.mean
    return replace(
        problem,
        data=problem.data[rows],
        targets=problem.targets[rows],
        cost=problem.cost[rows],
        curvature=problem.curvature[rows],
        mean=None if mean is None else KernelMean(mean.products[rows], mean.square),
    )
