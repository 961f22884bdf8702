"""Kernline against scikit-learn on additive kernels: ``python -m benchmarks.additive [--quick] [data sets]``.

Each pair has the same objective: gamma = 1, the same C, and a constant feature of value 1 as in LinearSVC. LinearSVC
stops at tol = 0.1, LIBLINEAR's default for the dual and the loosest in use; Kernline stops at its default gap of 1 %.
The table shows how far apart the objectives end. The chi2 peer, AdditiveChi2Sampler, approximates the kernel, so its
objective is close to ours but not the same.

One thread, interleaved runs, best of three rounds. An epoch is a pass of the solver over the active rows. Time per
non-zero and epoch is divided by all rows, so resting rows make it smaller.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from kernline import AdditiveSVC, datasets
from kernline.datasets import Dataset

from .measure import Run, interleave, machine, table

METHODS = [
    ("linear", "hats"),
    ("chi2", "hats"),
    ("intersection", "hats"),
    ("chi2", "plame"),
    ("chi2", "pmsvm-lut"),
]
LINEAR_PEER = "LinearSVC"
CHI2_PEER = "Chi2Sampler + LinearSVC"
HEADER = ["method", "fit s", "epochs", "ns/nz/epoch", "accuracy %", "objective", "peak MB", "speed-up"]


def main() -> None:
    """Parse the arguments and print a table for each data set and C."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "names", nargs="*", default=["mnist", "covtype"], help=f"data sets: {', '.join(datasets.names())}"
    )
    parser.add_argument("--quick", action="store_true", help="generated data only, one round")
    parser.add_argument("-C", type=float, nargs="+", default=[0.01, 0.1])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    if options.quick:
        compare("generated bag of words", datasets.make_bag_of_words(20_000, 5_000), 0.01, rounds=1)
        return
    for name in options.names:
        data = nonnegative(datasets.load(name))
        for C in options.C:
            compare(name, data, C, options.rounds)


def nonnegative(data: Dataset) -> Dataset:
    """Shift columns with negative values to start at zero, and scale all to [0, 1], for every contestant."""
    if sp.issparse(data.X_train) or (data.X_train.min() >= 0.0 and data.X_train.max() <= 1.0):
        return data
    low, high = data.X_train.min(axis=0), data.X_train.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    return data._replace(X_train=(data.X_train - low) / span, X_test=np.clip((data.X_test - low) / span, 0.0, 1.0))


def compare(name: str, data: Dataset, C: float, rounds: int) -> None:
    """Measure all contestants on one data set at one C."""
    n_nonzero = data.X_train.nnz if sp.issparse(data.X_train) else np.count_nonzero(data.X_train)
    n_classes = np.unique(data.y_train).size
    shape = f"{data.X_train.shape[0]:,} × {data.X_train.shape[1]:,}, {n_nonzero:,} non-zeros, {n_classes} classes"
    print(f"\n{name}: {shape}, C = {C:g}, gamma = 1, best of {rounds}\n", flush=True)
    contestants = _contestants(data, C)
    runs = interleave(contestants, rounds)
    rows = [_row(label, run, runs, data, C, n_nonzero) for label, run in runs.items()]
    print(table(HEADER, rows))
    _print_bars(runs, n_nonzero)


def _contestants(data: Dataset, C: float) -> dict[str, Callable[[], Any]]:
    # The sampler skips zeros in sparse input only, which makes it faster on data such as MNIST.
    for_sampler = data.X_train if sp.issparse(data.X_train) else sp.csr_matrix(data.X_train)
    peer = partial(LinearSVC, loss="hinge", C=C, tol=0.1, random_state=0)
    contestants: dict[str, Callable[[], Any]] = {
        LINEAR_PEER: lambda: peer().fit(data.X_train, data.y_train),
        CHI2_PEER: lambda: make_pipeline(AdditiveChi2Sampler(), peer()).fit(for_sampler, data.y_train),
    }
    for kernel, approximation in METHODS:
        model = AdditiveSVC(
            kernel,
            approximation,
            C=C,
            gamma=1.0,
            intercept_scaling=1.0 / np.sqrt(mean_norm(kernel, data.X_train)),
            random_state=0,
        )
        label = f"kernline {kernel}" + (f" {approximation}" if kernel != "linear" else "")
        contestants[label] = partial(model.fit, data.X_train, data.y_train)
    return contestants


def mean_norm(kernel: str, X: Any) -> float:
    """Mean of K(x_i, x_i), used to give the intercept the constant 1 as in LinearSVC."""
    powers = X.power(2) if sp.issparse(X) else X**2
    return float((powers if kernel == "linear" else X).sum() / X.shape[0])


def _row(label: str, run: Run, runs: dict[str, Run], data: Dataset, C: float, n_nonzero: int) -> list[str]:
    ours = isinstance(run.model, AdditiveSVC)
    peer = runs[LINEAR_PEER if label in (LINEAR_PEER, "kernline linear") else CHI2_PEER]
    epochs = int(run.model.n_iter_.sum()) if ours else 0
    return [
        label,
        f"{run.seconds:.2f}",
        f"{epochs / run.model.n_iter_.size:.0f}" if ours else "",
        f"{1e9 * run.seconds / (n_nonzero * epochs):.2f}" if ours else "",
        f"{100 * run.model.score(data.X_test, data.y_test):.2f}",
        f"{objective(run.model, data, C):.4g}",
        f"{run.peak_bytes / 1e6:.0f}",
        f"{peer.seconds / run.seconds:.1f}×" if ours else "",
    ]


def objective(model: Any, data: Dataset, C: float) -> float:
    """Sum over the problems of ½‖f‖² + C Σ hinge, intercept penalised."""
    if isinstance(model, AdditiveSVC):
        return float(model.objective_.sum())
    linear = model if isinstance(model, LinearSVC) else model[-1]
    scores = model.decision_function(data.X_train).reshape(data.X_train.shape[0], -1)
    classes = linear.classes_ if scores.shape[1] > 1 else linear.classes_[1:]
    signs = np.where(data.y_train[:, None] == classes[None, :], 1.0, -1.0)
    penalty = 0.5 * float((linear.coef_**2).sum() + (linear.intercept_**2).sum())
    return penalty + C * float(np.maximum(0.0, 1.0 - signs * scores).sum())


def _print_bars(runs: dict[str, Run], n_nonzero: int) -> None:
    """The cost of an epoch of hats compared with the linear kernel, on the same rows."""
    linear, hats = runs["kernline linear"].model, runs["kernline chi2 hats"].model
    cost = [_seconds_a_first_epoch(model) for model in (linear, hats)]
    print(
        f"\nA first epoch, all rows active: linear {1e9 * cost[0] / n_nonzero:.2f} ns per non-zero, "
        f"chi2 hats {1e9 * cost[1] / n_nonzero:.2f} ({cost[1] / cost[0]:.2f}×)"
    )


def _seconds_a_first_epoch(model: AdditiveSVC) -> float:
    return float(np.mean([history[0].seconds for history in model.history_]))


if __name__ == "__main__":
    main()
