"""Word counts, and other rows of very different length, from small to very large C, one thread.

Each contestant solves its own problem to 1 %: ours is certified, with a free intercept; LinearSVC gets the loosest
tolerance with which it is within 1 % of the best objective that it reaches with any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.svm import LinearSVC

from kernline import AdditiveSVC, datasets
from kernline.datasets import Dataset

from ..additive import mean_norm, nonnegative, objective
from ..measure import interleave
from .bar import Bar

_TOLERANCES = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3)
# The target ratio by kernel.
_WANTED = {"linear": 1.0, "chi2": 3.0}


def _sets() -> Iterator[tuple[str, Dataset]]:
    yield "generated words", datasets.make_bag_of_words(10_000, 100, 20_000, n_classes=20, words_a_document=120)
    for name in ("r8", "sector"):
        data = datasets.load(name)
        yield f"{name} counts", data
        yield f"{name} tf-idf", data._replace(X_train=TfidfTransformer().fit_transform(data.X_train))
    yield "spambase", datasets.load("spambase")


def against_linear_svc(rounds: int) -> Iterator[Bar]:
    """C times the mean of K(x, x) from 1 to 10,000."""
    for name, data in _sets():
        for kernel, wanted in _WANTED.items():
            features = _features(kernel, data)
            for level in (1.0, 10.0, 100.0, 1e3, 1e4):
                yield _bar(f"{name}, {kernel}, C·K = {level:g}", kernel, data, features, level, rounds, wanted)


def _features(kernel: str, data: Dataset) -> Dataset:
    if kernel == "linear":
        return data
    return data._replace(X_train=AdditiveChi2Sampler().fit_transform(sp.csr_matrix(data.X_train)))


def _bar(work: str, kernel: str, data: Dataset, features: Dataset, level: float, rounds: int, wanted: float) -> Bar:
    ours = AdditiveSVC(kernel, C=level, random_state=0, n_jobs=1)
    peer = _loosest(features, level / mean_norm("linear", features.X_train))

    def peer_with_map() -> Any:
        if kernel != "linear":
            AdditiveChi2Sampler().fit_transform(sp.csr_matrix(data.X_train))
        return peer.fit(features.X_train, features.y_train)

    work_of = {"ours": partial(ours.fit, data.X_train, data.y_train), "peer": peer_with_map}
    runs = interleave(work_of, rounds, time.process_time)
    gap = float((ours.dual_gap_ / ours.objective_).max())
    note = f"{ours.solver_}, gap {100 * gap:.2f} %"
    return Bar(work, f"LinearSVC tol={peer.tol:g}", runs["ours"].seconds, runs["peer"].seconds, wanted, note)


def _loosest(data: Dataset, C: float) -> LinearSVC:
    found = []
    for tol in _TOLERANCES:
        peer = LinearSVC(loss="hinge", C=C, tol=tol, random_state=0, max_iter=3000)
        found.append((objective(peer.fit(data.X_train, data.y_train), data, C), peer))
    best = min(value for value, _ in found)
    return next(peer for value, peer in found if value <= 1.01 * best)


def solvers(rounds: int) -> Iterator[Bar]:
    """solver="auto" against the faster of the two methods alone."""
    others = ("mnist", "usps", "covtype", "skin")
    sets: list[tuple[str, Callable[[], Dataset]]] = [(name, partial(_part, name)) for name in others]
    sets += [(name, lambda data=data: data) for name, data in _sets()]  # type: ignore[misc]
    for name, load in sets:
        data = _one_problem(load())
        for C in (1.0, 100.0, 1e4):
            yield _solver_bar(name, data, C, rounds)


def _part(name: str) -> Dataset:
    data = nonnegative(datasets.load(name))
    rows = np.random.default_rng(0).permutation(data.X_train.shape[0])[:20_000]
    return data._replace(X_train=data.X_train[rows], y_train=data.y_train[rows])


def _one_problem(data: Dataset) -> Dataset:
    """The largest class against the rest if there are many: Newton's method alone would take an hour for all."""
    names, counts = np.unique(data.y_train, return_counts=True)
    return data if names.size <= 10 else data._replace(y_train=data.y_train == names[counts.argmax()])


def _solver_bar(name: str, data: Dataset, C: float, rounds: int) -> Bar:
    models = {
        solver: AdditiveSVC(C=C, solver=solver, loss="hinge", random_state=0)
        for solver in ("auto", "dual-cd", "newton")
    }
    work = {solver: partial(model.fit, data.X_train, data.y_train) for solver, model in models.items()}
    runs = interleave(work, rounds, time.process_time)
    reached = {solver: (run.model.dual_gap_ <= 0.01 * run.model.objective_).all() for solver, run in runs.items()}
    better = min(("dual-cd", "newton"), key=lambda solver: (not reached[solver], runs[solver].seconds))
    note = ", ".join(f"{solver} {run.seconds:.3g} s" for solver, run in runs.items())
    note += "" if reached["auto"] else "; auto NOT CONVERGED"
    return Bar(f"{name}, chi2, C·K = {C:g}", better, runs["auto"].seconds, runs[better].seconds, 1 / 1.2, note)
