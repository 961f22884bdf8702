"""Reading svmlight files: ``python -m benchmarks.io [--rounds 3] [--megabytes 500] [--folder …]``.

kernline.io.read with one thread and with two against scikit-learn's load_svmlight_file, interleaved, best of the
rounds: on MNIST (fractions of 16 digits, as scikit-learn writes them: 200 MB) and on generated rows of 100 of a million
features, values of six digits. The files lie in the page cache, so that what is measured is the parser. Before that,
the matrices of both are compared bit by bit. "to codes" gives the encoder of a chi2 model instead of values.

Then the command line, as processes of their own: the start of ``kernline --help``, and ``kernline train`` from MNIST's
file to a model file, in one thread, against LIBLINEAR's official package (``pip install liblinear-official``) doing the
same, or against its ``train`` program (``--liblinear train``), each with its defaults.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import kernline
from kernline import datasets, kernels, tables
from kernline.encoding import Encoder

from .measure import Run, interleave, machine, table

PEER = "scikit-learn load_svmlight_file"
BARS = {"kernline, one thread": 15.0, "kernline, two threads": 25.0}
HEADER = ["reader", "seconds", "processor s", "MB/s", "peak MB", "speed-up", "bar"]


def main() -> None:
    """Parse the arguments and print a table for each file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=500, help="size of the generated file")
    parser.add_argument(
        "--folder", type=Path, help="where the files are kept; without, they are written anew and removed"
    )
    parser.add_argument("--liblinear", help="LIBLINEAR's train program, instead of its Python package")
    parser.add_argument("--only", choices=["reading", "command-line"])
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        mnist = _written(folder / "mnist.svm", write_mnist)
        if options.only != "command-line":
            compare("MNIST", mnist, options.rounds)
            path = folder / f"generated{options.megabytes}.svm"
            compare("generated", _written(path, lambda path: generate(path, options.megabytes)), options.rounds)
        if options.only != "reading":
            command_line(mnist, options.rounds, options.liblinear)


def _written(path: Path, write: Callable[[Path], None]) -> Path:
    if not path.exists():
        write(path)
    return path


def write_mnist(path: Path) -> None:
    """Write the training images as scikit-learn does."""
    data = datasets.load("mnist")
    dump_svmlight_file(data.X_train, data.y_train, str(path), zero_based=False)


def generate(path: Path, megabytes: int) -> None:
    """Write 20 copies of a twentieth of the size, which no cache and no branch predictor holds."""
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


def processor_seconds(work: Callable[[], Any]) -> float:
    """What all threads took, which other processes disturb less. What was read is let go at once."""
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


# What LIBLINEAR's train does, by its package: read, train, save, and tell what training alone took.
LIBLINEAR = """
import sys, time
from liblinear.liblinearutil import save_model, svm_read_problem, train
y, x = svm_read_problem(sys.argv[1], return_scipy=True)
begun = time.perf_counter()
model = train(y, x, "-q")
print(time.perf_counter() - begun)
save_model(sys.argv[2], model)
"""


def command_line(mnist: Path, rounds: int, liblinear: str | None) -> None:
    """Measure the start, and training from file to file."""
    kernline_train = [sys.executable, "-m", "kernline", "train", "-j", "1", "-q", str(mnist)]
    peer = [liblinear, "-q"] if liblinear else [sys.executable, "-c", LIBLINEAR]
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "model.kern", Path(folder) / "model.txt"
        start = interleave({"help": lambda: _run([sys.executable, "-m", "kernline", "--help"])}, rounds)["help"]
        runs = interleave(
            {
                "kernline": lambda: _run([*kernline_train, str(ours)]),
                "LIBLINEAR": lambda: _run([*peer, str(mnist), str(theirs)]),
            },
            rounds,
        )
        accuracies = {"kernline": _accuracy(kernline.load(ours)), "LIBLINEAR": _liblinear_accuracy(theirs)}
    print(f"\nkernline --help: {start.seconds:.2f} s (bar: 0.3)\n\nMNIST, from LIBSVM file to model file")
    for name, run in runs.items():
        alone = f", of which training {float(run.model):.2f} s" if name == "LIBLINEAR" and run.model.strip() else ""
        print(f"{name:10} {run.seconds:7.2f} s  {100.0 * accuracies[name]:.2f} %{alone}", flush=True)


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _accuracy(model: Any) -> float:
    data = datasets.load("mnist")
    return float((model.predict(data.X_test) == data.y_test).mean())


def _liblinear_accuracy(path: Path) -> float:
    """From the model's text: a header, whose lines name the labels and the bias, then a line of weights a feature."""
    header, _, weights = path.read_text().partition("\nw\n")
    labels = next(line for line in header.splitlines() if line.startswith("label ")).split()[1:]
    W = np.array([line.split() for line in weights.splitlines()], dtype=np.float64)
    data = datasets.load("mnist")
    found = np.array(labels, dtype=np.int64)[(data.X_test[:, : len(W)] @ W).argmax(axis=1)]
    return float((found == data.y_test).mean())


if __name__ == "__main__":
    main()
