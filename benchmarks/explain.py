"""What it takes to look at a model: ``python -m benchmarks.explain``. One function per bar.

- Contributions sum to the decision value to 1e-6 of the largest one, for every approximation.
- `explain` of 10,000 rows × 784, ten classes, within three times the time of `decision_function`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

import kernline
from kernline import datasets

from . import report
from .measure import interleave

APPROXIMATIONS = [
    ("chi2", "hats"),
    ("js", "plame"),
    ("chi2", "pmsvm"),
    ("chi2", "pmsvm-lut"),
    ("chi2", "feature-map"),
    ("chi2", "chebyshev"),
    ("intersection", "low-dim"),
    ("intersection", "hik"),
    ("linear", "hats"),
]
SUM_ERROR, TIME_RATIO = 1e-6, 3.0
_TRAINING_ROWS, _ROWS = 10_000, 10_000


def sums(train: tuple[np.ndarray, np.ndarray], test: np.ndarray) -> Iterator[str]:
    """How far the sums of contributions are from the decision values."""
    for kernel, approximation in APPROXIMATIONS:
        model = kernline.AdditiveSVC(kernel, approximation, scale="max", loss="hinge", C=1.0, random_state=0)
        model.fit(*train)
        scores = model.decision_function(test)
        parts = {"dense": test, "sparse": sp.csr_array(test)}
        errors = {
            name: float(np.abs(model.shapes_.explain(X).decision() - scores).max() / np.abs(scores).max())
            for name, X in parts.items()
        }
        met = "yes" if max(errors.values()) <= SUM_ERROR else "NO"
        shown = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
        yield f"sum of contributions, {kernel} {approximation}: {shown}; at most {SUM_ERROR:g}: {met}"


def times(train: tuple[np.ndarray, np.ndarray], test: np.ndarray, rounds: int) -> Iterator[str]:
    """The time of `explain` against that of `decision_function`."""
    model = kernline.AdditiveSVC("chi2", scale="max", loss="hinge", C=1.0, random_state=0).fit(*train)
    for name, X in {"dense": test, "sparse": sp.csr_array(test)}.items():
        work: dict[str, Callable[[], object]] = {
            "decision": lambda X=X: model.decision_function(X),
            "explain": lambda X=X: model.shapes_.explain(X),
            "values": lambda X=X: model.shapes_.explain(X).values,
        }
        best = interleave(work, rounds)
        explain, decision, values = (best[name].seconds for name in ("explain", "decision", "values"))
        met = "yes" if explain <= TIME_RATIO * decision else "NO"
        yield (
            f"explain {len(test):,} × {test.shape[1]} {name}, {len(model.classes_)} classes: {1e3 * explain:.0f} ms, "
            f"decision_function {1e3 * decision:.0f} ms, {explain / decision:.2f}×; at most {TIME_RATIO:g}×: {met} "
            f"(with values as arrays {1e3 * values:.0f} ms)"
        )


def main() -> None:
    """Print a line for each bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="runs of which the best counts")
    rounds = parser.parse_args().rounds
    begin = time.perf_counter()
    data = datasets.load("mnist")
    X_train, X_test = (X.toarray() if sp.issparse(X) else X for X in (data.X_train, data.X_test))
    train, test = (X_train[:_TRAINING_ROWS], data.y_train[:_TRAINING_ROWS]), X_test[:_ROWS]
    for line in [*sums(train, test[:1000]), *times(train, test, rounds)]:
        print(line)
    report.print_bars()
    print(f"{time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
