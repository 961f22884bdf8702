"""Choosing C by cross-validation: ``python -m benchmarks.path [--rows 10000] [--jobs 1] [data sets]``.

AdditiveSVCCV against a plain loop: a separate AdditiveSVC for each fold and C, and one more on all rows. The folds, C,
tolerance and threads are the same; runs are interleaved, best of the rounds. `chosen C` and the two accuracies, on the
held-out rows and on the test set, show whether both find the same model.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from kernline import AdditiveSVC, AdditiveSVCCV, datasets
from kernline.datasets import Dataset

from .additive import nonnegative
from .measure import Run, interleave, machine, table

HEADER = ["method", "seconds", "chosen C", "held-out %", "test %", "peak MB", "speed-up"]


def main() -> None:
    """Parse the arguments and print a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=["mnist", "usps", "covtype"])
    parser.add_argument("--rows", type=int, default=10_000, help="training rows, drawn at random")
    parser.add_argument("--kernel", default="chi2")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    for name in options.names:
        data = part(nonnegative(datasets.load(name)), options.rows)
        common = {"kernel": options.kernel, "solver": options.solver, "n_jobs": options.jobs, "random_state": 0}
        compare(name, data, common, options.rounds)


def part(data: Dataset, n_rows: int) -> Dataset:
    """Rows of the training set, drawn at random."""
    rows = np.sort(np.random.default_rng(0).permutation(data.X_train.shape[0])[:n_rows])
    return data._replace(X_train=data.X_train[rows], y_train=data.y_train[rows])


@dataclass
class Loop:
    """The result of the loop, with the attribute names of AdditiveSVCCV."""

    scores_: NDArray[np.float64]
    C_: float
    best_score_: float
    model: AdditiveSVC


def separate_fits(data: Dataset, Cs: NDArray[np.float64], common: dict[str, Any]) -> Loop:
    """A fit for each fold and C, and one on all rows."""
    X, y = data.X_train, data.y_train
    splits = list(StratifiedKFold(5).split(X, y))
    scores = np.empty((Cs.size, len(splits)))
    for k, (train, test) in enumerate(splits):
        for c, C in enumerate(Cs):
            scores[c, k] = AdditiveSVC(C=C, **common).fit(X[train], y[train]).score(X[test], y[test])
    best = int(scores.mean(axis=1).argmax())
    return Loop(scores, float(Cs[best]), float(scores.mean(axis=1)[best]), AdditiveSVC(C=Cs[best], **common).fit(X, y))


def compare(name: str, data: Dataset, common: dict[str, Any], rounds: int) -> None:
    """Measure both on one data set."""
    Cs = np.geomspace(0.01, 100.0, 10)
    shape = f"{data.X_train.shape[0]:,} × {data.X_train.shape[1]:,}, {np.unique(data.y_train).size} classes"
    print(f"\n{name}: {shape}, {Cs.size} C × 5 folds, n_jobs={common['n_jobs']}, best of {rounds}\n", flush=True)
    runs = interleave(
        {
            "AdditiveSVCCV": lambda: AdditiveSVCCV(Cs=Cs, cv=5, **common).fit(data.X_train, data.y_train),
            "separate AdditiveSVC": lambda: separate_fits(data, Cs, common),
        },
        rounds,
    )
    print(table(HEADER, [_row(label, run, runs, data) for label, run in runs.items()]))
    ours, loop = (run.model.scores_.reshape(Cs.size, -1).mean(axis=1) for run in runs.values())
    print("\nheld-out % by C:", " ".join(f"{100 * a:.2f}/{100 * b:.2f}" for a, b in zip(ours, loop, strict=True)))


def _row(label: str, run: Run, runs: dict[str, Run], data: Dataset) -> list[str]:
    fitted = run.model.model if isinstance(run.model, Loop) else run.model
    return [
        label,
        f"{run.seconds:.2f}",
        f"{run.model.C_:.3g}",
        f"{100 * run.model.best_score_:.2f}",
        f"{100 * fitted.score(data.X_test, data.y_test):.2f}",
        f"{run.peak_bytes / 1e6:.0f}",
        f"{runs['separate AdditiveSVC'].seconds / run.seconds:.2f}×",
    ]


if __name__ == "__main__":
    main()
