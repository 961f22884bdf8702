"""The command line, as processes of their own, for ``python -m benchmarks.io``.

The start of ``kernline --help``, and ``kernline train`` from MNIST's file to a model file, in one thread, against
LIBLINEAR's official package (``pip install liblinear-official``) doing the same, or against its ``train`` program
(``--liblinear train``), each with its defaults.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import kernline
from kernline import datasets

from .measure import interleave

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
    X = data.X_test[:, : model.n_features_in_]  # the last pixels are empty in all training images
    return float((model.predict(X) == data.y_test).mean())


def _liblinear_accuracy(path: Path) -> float:
    """From the model's text: a header, whose lines name the labels and the bias, then a line of weights a feature."""
    header, _, weights = path.read_text().partition("\nw\n")
    labels = next(line for line in header.splitlines() if line.startswith("label ")).split()[1:]
    W = np.array([line.split() for line in weights.splitlines()], dtype=np.float64)
    data = datasets.load("mnist")
    found = np.array(labels, dtype=np.int64)[(data.X_test[:, : len(W)] @ W).argmax(axis=1)]
    return float((found == data.y_test).mean())
