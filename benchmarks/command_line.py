"""The command line, in separate processes, for ``python -m benchmarks.io``.

Times ``kernline --help``, and ``kernline train`` from MNIST's file to a model file in one thread. Training is compared
with LIBLINEAR's official package (``pip install liblinear-official``) or its ``train`` program (``--liblinear train``),
each with its defaults. The targets: 0.3 s for the help, and no longer than LIBLINEAR for a model.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import kernline
from kernline import datasets

from .measure import interleave

HELP_BAR = 0.3

# LIBLINEAR's train, using its package: read, train, save, and report the time of training alone.
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
    """Measure the start-up, and training from file to file."""
    kernline_train = [sys.executable, "-m", "kernline", "train", "-j", "1", "-q", str(mnist)]
    peer = [liblinear, "-q"] if liblinear else [sys.executable, "-c", LIBLINEAR]
    missing = _missing(liblinear)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "model.kern", Path(folder) / "model.txt"
        start = interleave({"help": lambda: _run([sys.executable, "-m", "kernline", "--help"])}, rounds)["help"]
        contestants = {"kernline": lambda: _run([*kernline_train, str(ours)])}
        if not missing:
            contestants["LIBLINEAR"] = lambda: _run([*peer, str(mnist), str(theirs)])
        runs = interleave(contestants, rounds)
        accuracies = {"kernline": _accuracy(kernline.load(ours))}
        if not missing:
            accuracies["LIBLINEAR"] = _liblinear_accuracy(theirs)
    print(f"\nkernline --help: {start.seconds:.2f} s (target: {HELP_BAR} s {_verdict(start.seconds <= HELP_BAR)})")
    print("\nMNIST, from LIBSVM file to model file")
    for name, run in runs.items():
        alone = f", of which training {float(run.model):.2f} s" if name == "LIBLINEAR" and run.model.strip() else ""
        print(f"{name:10} {run.seconds:7.2f} s  {100.0 * accuracies[name]:.2f} %{alone}", flush=True)
    if missing:
        print(f"LIBLINEAR  not measured: {missing}")
        return
    ratio = runs["LIBLINEAR"].seconds / runs["kernline"].seconds
    print(f"LIBLINEAR takes {ratio:.2f} times as long (target: 1× {_verdict(ratio >= 1.0)})")


def _missing(liblinear: str | None) -> str:
    """Why LIBLINEAR cannot be run; empty if it can."""
    if liblinear:
        return "" if shutil.which(liblinear) else f"--liblinear {liblinear}: program not found."
    if importlib.util.find_spec("liblinear") is None:
        return "its package is missing. Run pip install liblinear-official, or pass --liblinear PROGRAM."
    return ""


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _accuracy(model: Any) -> float:
    data = datasets.load("mnist")
    X = data.X_test[:, : model.n_features_in_]  # the last pixels are empty in all training images
    return float((model.predict(X) == data.y_test).mean())


def _liblinear_accuracy(path: Path) -> float:
    """Parse the model's text: a header with the labels and the bias, then one line of weights per feature."""
    header, _, weights = path.read_text().partition("\nw\n")
    labels = next(line for line in header.splitlines() if line.startswith("label ")).split()[1:]
    W = np.array([line.split() for line in weights.splitlines()], dtype=np.float64)
    data = datasets.load("mnist")
    found = np.array(labels, dtype=np.int64)[(data.X_test[:, : len(W)] @ W).argmax(axis=1)]
    return float((found == data.y_test).mean())
