"""Two threads against one: a hundred classes side by side, and one binary problem."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from kernline import AdditiveSVC, datasets

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


def _two_threads(work: str, model: AdditiveSVC, X: object, y: np.ndarray, rounds: int, wanted: float) -> Bar:
    contestants = {n: partial(AdditiveSVC(**{**model.get_params(), "n_jobs": n}).fit, X, y) for n in (1, 2)}
    runs = interleave({str(n): work for n, work in contestants.items()}, rounds)
    one, two = runs["1"].model, runs["2"].model
    same = np.array_equal(one.shapes_.weights, two.shapes_.weights)
    gaps = [float((model.dual_gap_ / model.objective_).max()) for model in (one, two)]
    note = f"{one.solver_}; gap {gaps[0]:.4f} / {gaps[1]:.4f}; weights {'identical' if same else 'DIFFER'}"
    return Bar(work, "ours, 1 thread", runs["2"].seconds, runs["1"].seconds, wanted, note)
