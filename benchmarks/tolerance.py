"""Accuracy by tolerance: ``python -m benchmarks.tolerance [data sets]``. The default of tol is based on it.

For each data set and C: the mean test accuracy over chi2 and intersection and three seeds, by tolerance, and the time
of a fit.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernline import AdditiveSVC, datasets

from .additive import nonnegative
from .measure import machine, table

TOLERANCES = (0.3, 0.1, 0.05, 0.02, 0.01, 0.001)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=["digits", "usps", "bag_of_words", "mnist"])
    parser.add_argument("-C", type=float, nargs="+", default=[1.0, 10.0])
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine() + "\n")
    rows = []
    for name in options.names:
        data = nonnegative(datasets.load(name))
        for C in options.C:
            cells = [_cell(data, C, tol) for tol in TOLERANCES]
            rows.append([name, f"{C:g}", *(f"{accuracy:.2f} % {seconds:.2f} s" for accuracy, seconds in cells)])
            print(" ".join(rows[-1]), flush=True)
    print("\n" + table(["data", "C", *(f"tol {tol:g}" for tol in TOLERANCES)], rows))


def _cell(data: datasets.Dataset, C: float, tol: float) -> tuple[float, float]:
    accuracies, times = [], []
    for kernel in ("chi2", "intersection"):
        for seed in range(3):
            start = time.perf_counter()
            model = AdditiveSVC(kernel, C=C, tol=tol, random_state=seed).fit(data.X_train, data.y_train)
            times.append(time.perf_counter() - start)
            accuracies.append(100 * model.score(data.X_test, data.y_test))
    return float(np.mean(accuracies)), float(np.mean(times))


if __name__ == "__main__":
    main()
