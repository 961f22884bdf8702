"""Print the table of speed and memory: every line is measured in this run, interleaved, best of three."""

from __future__ import annotations

import argparse
import warnings

from sklearn.exceptions import ConvergenceWarning

from ..measure import machine, table
from . import mnist, path, scale, tabular, text, threads
from .bar import HEADER, Bar, Measurement

MEASUREMENTS: dict[str, Measurement] = {
    "mnist-linear": mnist.linear,
    "mnist-chi2": mnist.chi2,
    "covtype": tabular.covtype,
    "skin": tabular.skin,
    "sparse": scale.sparse_million,
    "classes": threads.hundred_classes,
    "binary": threads.binary,
    "narrow": threads.narrow,
    "parts": threads.parts,
    "path": path.cross_validation,
    "growth": scale.growth,
    "text": text.against_linear_svc,
    "solvers": text.solvers,
}


def main() -> None:
    """Run the measurements named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MEASUREMENTS), help=f"measurements: {', '.join(MEASUREMENTS)}")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine(), flush=True)
    bars: list[Bar] = []
    for name in options.names:
        for bar in MEASUREMENTS[name](options.rounds):
            print("  ".join(bar.row()), flush=True)
            bars.append(bar)
    print("\n" + table(HEADER, [bar.row() for bar in bars]))


if __name__ == "__main__":
    main()
