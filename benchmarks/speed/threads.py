"""Two threads against one: a hundred classes side by side, and one binary problem, in parts if it has many rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import scipy.sparse as sp

from kernline import AdditiveSVC, datasets, kernels, training
from kernline.solvers import DualCD

from ..measure import interleave
from .bar import Bar
from .scale import generated


def hundred_classes(rounds: int) -> Iterator[Bar]:
    """Generated data: each class prefers some columns."""
    X = generated(40_000)
    rng = np.random.default_rng(0)
    y = np.argmax(X @ rng.normal(size=(X.shape[1], 100)).astype(np.float32), axis=1)
    yield _two_threads("100 classes, 40,000 × 2,000 sparse", AdditiveSVC("chi2", random_state=0), X, y, rounds, 1.8)


def binary(rounds: int) -> Iterator[Bar]:
    """One problem that coordinate descent solves quickly, and one that Newton's method finishes."""
    data = datasets.load("mnist")
    for C in (1.0, 100.0):
        model = AdditiveSVC("chi2", C=C, random_state=0)
        yield _two_threads(f"MNIST odd or even, chi2 C={C:g}", model, data.X_train, data.y_train % 2, rounds, 1.5)


def narrow(rounds: int) -> Iterator[Bar]:
    """One problem of many rows and few features, small C and large."""
    for name, (X, y) in _narrow_sets():
        for C in (1.0, 100.0):
            model = AdditiveSVC("intersection", scale="rank", C=C, random_state=0)
            yield _two_threads(f"{name}, intersection C={C:g}", model, X, y, rounds, 1.5)


def parts(rounds: int) -> Iterator[Bar]:
    """Visits of all rows in up to so many parts, against one row after the other."""
    for name, (X, y) in _narrow_sets():
        rows = training.encode(X, training.AdditiveSettings(kernels.Intersection(), scale="rank", n_threads=2))
        targets = np.where(y, 1.0, -1.0)
        for C in (1.0, 100.0):
            problem = rows.problem(targets, np.full(targets.size, C))
            passes = {}
            for n_parts in (1, 2, 4, 8, 16, 32):
                result = DualCD(0.01, solver="dual-cd", n_parts=n_parts, n_threads=2).solve(problem)
                passes[n_parts] = sum(report.n_active for report in result.history) / problem.n_rows
            note = "; ".join(f"{n_parts}: {found:.1f}" for n_parts, found in passes.items())
            yield Bar(f"{name}, C={C:g}, 16 parts", "one part", passes[16], passes[1], 1 / 2.5, note, "passes")


def _narrow_sets() -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    data = datasets.load("covtype")
    X = data.X_train.toarray() if sp.issparse(data.X_train) else data.X_train
    yield "covtype, class 2 against the rest", (X, data.y_train == 2)
    rng = np.random.default_rng(0)
    X = rng.random((2_000_000, 50), dtype=np.float32)
    score = X @ rng.normal(size=50) + np.sin(5.0 * X[:, 0]) + 0.5 * rng.standard_normal(len(X))
    yield "generated 2,000,000 × 50", (X, score > np.median(score))


def _two_threads(work: str, model: AdditiveSVC, X: object, y: np.ndarray, rounds: int, wanted: float) -> Bar:
    contestants = {n: partial(AdditiveSVC(**{**model.get_params(), "n_jobs": n}).fit, X, y) for n in (1, 2)}
    runs = interleave({str(n): work for n, work in contestants.items()}, rounds)
    one, two = runs["1"].model, runs["2"].model
    same = np.array_equal(one.shapes_.weights, two.shapes_.weights)
    gaps = [float((model.dual_gap_ / model.objective_).max()) for model in (one, two)]
    note = f"{one.solver_}; gap {gaps[0]:.4f} / {gaps[1]:.4f}; weights {'identical' if same else 'DIFFER'}"
    return Bar(work, "ours, 1 thread", runs["2"].seconds, runs["1"].seconds, wanted, note)
