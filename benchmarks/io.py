"""Reading svmlight files and models: ``python -m benchmarks.io [--rounds 3] [--megabytes 500] [--folder …]``.

First, kernline.io.read with one and two threads against scikit-learn's load_svmlight_file, in interleaved runs, best of
the rounds. The files are MNIST (fractions of 16 digits, as scikit-learn writes them: 200 MB) and generated rows of 100
of a million features, with values of six digits. The files are in the page cache, so the parser is measured. The two
matrices are compared bit by bit first. "to codes" encodes rows for a chi2 model instead of returning values.

Second, kernline.load against joblib.load on a model of 10,000 features and 100 classes, 64 MB of weights. The target is
50 ms.

Third, the command line (benchmarks/command_line.py).
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import kernline
from kernline import datasets, kernels, tables
from kernline.encoding import Encoder

from .command_line import command_line
from .measure import Run, interleave, machine, table

PEER = "scikit-learn load_svmlight_file"
BARS = {"kernline, one thread": 15.0, "kernline, two threads": 25.0}
LOAD_BAR = 0.05
HEADER = ["reader", "seconds", "processor s", "MB/s", "peak MB", "speed-up", "target"]


def main() -> None:
    """Parse the arguments and print a table for each file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=500, help="size of the generated file")
    parser.add_argument("--folder", type=Path, help="folder to keep the files in (default: a temporary one)")
    parser.add_argument("--liblinear", help="LIBLINEAR's train program, instead of its Python package")
    parser.add_argument("--only", choices=["reading", "models", "command-line"])
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        mnist = folder / "mnist.svm"
        if options.only in (None, "reading"):
            compare("MNIST", _written(mnist, write_mnist), options.rounds)
            path = folder / f"generated{options.megabytes}.svm"
            compare("generated", _written(path, lambda path: generate(path, options.megabytes)), options.rounds)
        if options.only in (None, "models"):
            load_models(max(options.rounds, 5))
        if options.only in (None, "command-line"):
            command_line(_written(mnist, write_mnist), options.rounds, options.liblinear)


def _written(path: Path, write: Callable[[Path], None]) -> Path:
    if not path.exists():
        write(path)
    return path


def write_mnist(path: Path) -> None:
    """Write the training images as scikit-learn does."""
    data = datasets.load("mnist")
    dump_svmlight_file(data.X_train, data.y_train, str(path), zero_based=False)


def generate(path: Path, megabytes: int) -> None:
    """Write 20 copies of a twentieth of the size, which exceeds every cache and branch predictor."""
    rng = np.random.default_rng(0)
    rows, size = [], 0
    while size < megabytes * 50_000:
        indices = np.sort(rng.choice(1_000_000, 100, replace=False)) + 1
        entries = (
            f"{j}:{value:.6g}" for j, value in zip(indices.tolist(), rng.gamma(0.5, 1.0, 100).tolist(), strict=True)
        )
        rows.append(f"{rng.integers(10)} {' '.join(entries)}\n")
        size += len(rows[-1])
    with path.open("w") as file:
        for _ in range(20):
            file.writelines(rows)


def compare(name: str, path: Path, rounds: int) -> None:
    """Check that both read the same, then measure."""
    megabytes = path.stat().st_size / 1e6
    (X, y, *_), (X_peer, y_peer) = kernline.io.read(path), load_svmlight_file(str(path))
    parts = [
        (X.data.view(np.int64), X_peer.data.view(np.int64)),
        (X.indices, X_peer.indices),
        (X.indptr, X_peer.indptr),
    ]
    same = X.shape == X_peer.shape and all(np.array_equal(a, b) for a, b in [*parts, (y, y_peer)])
    print(
        f"\n{name}: {megabytes:.0f} MB, {X.shape[0]:,} × {X.shape[1]:,}, {X.nnz:,} non-zeros, best of {rounds}; ",
        end="",
    )
    print("equal bit by bit\n" if same else "THE MATRICES DIFFER\n", flush=True)
    encoder = Encoder.fit(X, tables.Hats().build(kernels.Chi2()), kernel=kernels.Chi2())
    del X, X_peer, parts
    contestants = {
        PEER: lambda: processor_seconds(lambda: load_svmlight_file(str(path))),
        "kernline, one thread": lambda: processor_seconds(lambda: kernline.io.read(path, n_jobs=1)),
        "kernline, two threads": lambda: processor_seconds(lambda: kernline.io.read(path, n_jobs=2)),
        "kernline, one thread, to codes": lambda: processor_seconds(lambda: kernline.io.read(path, encoder=encoder)),
    }
    runs = interleave(contestants, rounds)
    print(table(HEADER, [_row(label, run, runs[PEER], megabytes) for label, run in runs.items()]), flush=True)


def load_models(rounds: int) -> None:
    """Save a large model, and load it."""
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 10_000)), np.arange(200) % 100
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one epoch is not a solution, but the model has the same size
        model = kernline.AdditiveSVC(max_iter=1).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path, peer = Path(folder) / "model.kern", Path(folder) / "model.joblib"
        kernline.save(model, path)
        joblib.dump(model, peer)
        contestants: dict[str, Callable[[], Any]] = {
            "joblib.load": lambda: processor_seconds(lambda: joblib.load(peer)),
            "kernline.load": lambda: processor_seconds(lambda: kernline.load(path)),
            "kernline.load, one thread": lambda: processor_seconds(lambda: kernline.load(path, n_jobs=1)),
        }
        runs = interleave(contestants, rounds)
        sizes = [peer.stat().st_size, path.stat().st_size, path.stat().st_size]
    print(f"\nA model of 10,000 features and 100 classes, best of {rounds}\n")
    rows = []
    for (label, run), size in zip(runs.items(), sizes, strict=True):
        bar = f"{1e3 * LOAD_BAR:.0f} ms {'met' if run.seconds <= LOAD_BAR else 'MISSED'}"
        verdict = bar if label == "kernline.load" else ""
        rows.append([label, f"{1e3 * run.seconds:.1f}", f"{1e3 * run.model:.1f}", f"{size / 1e6:.1f}", verdict])
    print(table(["load", "ms", "processor ms", "MB", "target"], rows), flush=True)


def processor_seconds(work: Callable[[], Any]) -> float:
    """Processor time of all threads, which other processes disturb less. The result is dropped at once."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _row(label: str, run: Run, peer: Run, megabytes: float) -> list[str]:
    ratio = peer.seconds / run.seconds
    bar = BARS.get(label)
    verdict = "" if bar is None else f"{bar:.0f}× {'met' if ratio >= bar else 'MISSED'}"
    return [
        label,
        f"{run.seconds:.3f}",
        f"{run.model:.3f}",
        f"{megabytes / run.seconds:.0f}",
        f"{run.peak_bytes / 1e6:.0f}",
        f"{ratio:.1f}×",
        verdict,
    ]


if __name__ == "__main__":
    main()
