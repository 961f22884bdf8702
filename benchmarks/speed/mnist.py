"""MNIST, ten classes, one thread: training and prediction against LinearSVC, alone and behind AdditiveChi2Sampler."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from kernline import AdditiveSVC, datasets
from kernline.datasets import Dataset

from ..additive import mean_norm, objective
from ..measure import interleave
from .bar import Bar


def linear(rounds: int) -> Iterator[Bar]:
    """The linear kernel at the objective of LinearSVC, which gets the loosest tolerance that comes within 1 %."""
    data = datasets.load("mnist")
    for C in (0.01, 1.0):
        yield against_linear_svc(data, C, rounds, "MNIST", 2.0)


def against_linear_svc(data: Dataset, C: float, rounds: int, name: str, wanted: float) -> Bar:
    """Equal objectives: each within 1 % of the optimum."""
    ours = ours_at("linear", data, C)
    reached = ours.fit(data.X_train, data.y_train)
    optimum = float((reached.objective_ - reached.dual_gap_).sum())  # a lower bound
    tol = loosest_tolerance(data, C, 1.01 * optimum)
    peer = LinearSVC(loss="hinge", C=C, tol=tol, random_state=0, max_iter=3000)
    runs = interleave(
        {"ours": partial(ours.fit, data.X_train, data.y_train), "peer": partial(peer.fit, data.X_train, data.y_train)},
        rounds,
    )
    objectives = [objective(runs[key].model, data, C) / optimum for key in ("ours", "peer")]
    accuracies = [100 * runs[key].model.score(data.X_test, data.y_test) for key in ("ours", "peer")]
    note = (
        f"objective {100 * objectives[0] - 100:+.1f} / {100 * objectives[1] - 100:+.1f} % of the dual bound, "
        f"accuracy {accuracies[0]:.2f} / {accuracies[1]:.2f} %"
    )
    return Bar(
        f"{name} linear C={C:g}", f"LinearSVC tol={tol:g}", runs["ours"].seconds, runs["peer"].seconds, wanted, note
    )


def loosest_tolerance(data: Dataset, C: float, goal: float) -> float:
    """The first of a decreasing series of tolerances at which LinearSVC's objective is good enough."""
    tol = 1.0
    while True:
        model = LinearSVC(loss="hinge", C=C, tol=tol, random_state=0, max_iter=3000).fit(data.X_train, data.y_train)
        if objective(model, data, C) <= goal or tol < 1e-3:
            return tol
        tol /= 3.0 if tol > 0.2 else 2.0


def ours_at(kernel: str, data: Dataset, C: float, **settings: Any) -> AdditiveSVC:
    """The peers' problem: gamma = 1 and a constant feature of 1."""
    scaling = 1.0 / np.sqrt(mean_norm(kernel, data.X_train))
    return AdditiveSVC(kernel, C=C, gamma=1.0, intercept_scaling=scaling, random_state=0, **settings)


def chi2(rounds: int) -> Iterator[Bar]:
    """The chi2 kernel, and prediction of the test set after the first C."""
    data = datasets.load("mnist")
    # The sampler skips zeros in sparse input only, which makes it faster.
    sparse_train, sparse_test = sp.csr_matrix(data.X_train), sp.csr_matrix(data.X_test)
    for C in (0.1, 0.3, 1.0):
        peer = make_pipeline(AdditiveChi2Sampler(), LinearSVC(loss="hinge", C=C, tol=0.1, random_state=0))
        ours = ours_at("chi2", data, C)
        runs = interleave(
            {
                "ours": partial(ours.fit, data.X_train, data.y_train),
                "peer": partial(peer.fit, sparse_train, data.y_train),
            },
            rounds,
        )
        score, peer_score = 100 * ours.score(data.X_test, data.y_test), 100 * peer.score(sparse_test, data.y_test)
        note = f"accuracy {score:.2f} / {peer_score:.2f} %"
        yield Bar(
            f"MNIST chi2 C={C:g}", "Chi2Sampler + LinearSVC", runs["ours"].seconds, runs["peer"].seconds, 8.0, note
        )
        if C == 0.1:
            yield _prediction(ours, peer, data, sparse_test)


def _prediction(ours: AdditiveSVC, peer: Any, data: Dataset, sparse_test: Any) -> Bar:
    """Each predicts from the layout on which it is faster."""
    runs = interleave(
        {
            "ours": lambda: ours.predict(data.X_test),
            "ours sparse": lambda: ours.predict(sparse_test),
            "peer": lambda: peer.predict(data.X_test),
            "peer sparse": lambda: peer.predict(sparse_test),
        },
        rounds=10,
    )
    seconds = {name: run.seconds for name, run in runs.items()}
    note = ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in seconds.items())
    best = min(seconds["peer"], seconds["peer sparse"])
    return Bar(
        "predict MNIST test", "Chi2Sampler + LinearSVC", min(seconds["ours"], seconds["ours sparse"]), best, 10.0, note
    )
