"""This checkout against another: ``python -m benchmarks.side_by_side OTHER [--rounds 5] [lines]``.

Every line of benchmarks.speed and benchmarks.io is run by a waiting process of each checkout in turn, one thread each,
and then again by new processes: where a process's memory lies changes its speed by several percent. A line's ratio is
that of the best processor times, new to old: above 1, this checkout is slower. OTHER needs an environment of its own
(``make install`` there). The work is the same in both: it is that of this file, so it can only use what both have.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV, datasets, kernels, tables
from kernline.encoding import Encoder

from .additive import nonnegative
from .io import generate, write_mnist
from .measure import machine, table
from .path import part, separate_fits
from .speed.mnist import ours_at
from .speed.scale import generated, labels

# What a process runs when asked, and what it needs for that.
Task = Callable[[], object]
HEADER = ["line", "old s", "new s", "new / old", "median"]


def main() -> None:
    """Compare, or with --line be one of the two processes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("other", type=Path, help="another checkout, installed")
    parser.add_argument("lines", nargs="*", help=f"lines: {', '.join(LINES)}")
    parser.add_argument("--rounds", type=int, default=5, help="runs of a process (5)")
    parser.add_argument("--processes", type=int, default=3, help="processes of each checkout, one after the other (3)")
    parser.add_argument("--core", help="the core to run on (default: any)")
    parser.add_argument("--line", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.line:
        return _serve(LINES[options.line])
    print(machine(), flush=True)
    pythons = {"old": options.other.resolve() / ".venv/bin/python", "new": Path(sys.executable)}
    rows = []
    for line in options.lines or LINES:
        rows.append(_compare(line, pythons, options))
        print("  ".join(rows[-1]), flush=True)
    print("\n" + table(HEADER, rows))
    return None


def _serve(make: Callable[[], Task]) -> None:
    """Print the processor time of the task for every line of standard input."""
    warnings.simplefilter("ignore")
    task = make()
    print("ready", flush=True)
    for _ in sys.stdin:
        begun = _processor_seconds()
        task()
        print(_processor_seconds() - begun, flush=True)


def _processor_seconds() -> float:
    """Of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _compare(line: str, pythons: dict[str, Path], options: argparse.Namespace) -> list[str]:
    seconds: dict[str, list[float]] = {key: [] for key in pythons}
    for _ in range(options.processes):
        processes = {key: _start(line, python, options.core) for key, python in pythons.items()}
        for process in processes.values():
            if _line_of(process) != "ready\n":
                raise RuntimeError(f"{line}: a process ended; its message is above")
        for number in range(options.rounds + 1):
            for key in list(processes)[:: 1 if number % 2 else -1]:
                assert processes[key].stdin is not None
                print(file=processes[key].stdin, flush=True)
                found = float(_line_of(processes[key]))
                if number:  # the first is a warm-up
                    seconds[key].append(found)
        for process in processes.values():
            process.communicate()
    old, new = seconds["old"], seconds["new"]
    medians = np.median(new) / np.median(old)
    return [line, f"{min(old):.4f}", f"{min(new):.4f}", f"{min(new) / min(old):.3f}", f"{medians:.3f}"]


def _start(line: str, python: Path, core: str | None) -> subprocess.Popen[str]:
    prefix = ["taskset", "-c", core] if core else []
    command = [*prefix, str(python), "-m", "benchmarks.side_by_side", ".", "--line", line]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def _line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def _fit(model: Any, X: Any, y: Any) -> Task:
    return partial(model.fit, X, y)


def _dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def _mnist(kernel: str, C: float) -> Task:
    data = datasets.load("mnist")
    return _fit(ours_at(kernel, data, C), data.X_train, data.y_train)


def _scaled(C: float) -> Task:
    data = datasets.load("mnist")
    return _fit(AdditiveSVC("chi2", C=C, random_state=0, n_jobs=1), data.X_train, data.y_train)


def _binary(C: float) -> Task:
    data = datasets.load("mnist")
    return _fit(AdditiveSVC("chi2", C=C, random_state=0, n_jobs=1), data.X_train, data.y_train % 2)


def _predict(layout: Callable[[Any], Any]) -> Task:
    data = datasets.load("mnist")
    model = AdditiveSVC("chi2", random_state=0, max_iter=5).fit(data.X_train, data.y_train)
    X = layout(data.X_test)
    return lambda: [model.predict(X) for _ in range(5)]


def _encode(layout: Callable[[Any], Any]) -> Task:
    X = layout(datasets.load("mnist").X_train)
    kernel = kernels.Chi2()
    pair = tables.build(kernel, "hats")
    return lambda: Encoder.fit(X, pair, kernel=kernel).transform(X)


def _covtype(n_rows: int | None) -> Task:
    data = datasets.load("covtype")
    X, y = _dense(data.X_train), data.y_train
    if n_rows is not None:
        rows = np.random.default_rng(0).choice(len(X), n_rows, replace=False)
        X, y = X[rows], y[rows]
    return _fit(AdditiveSVC("intersection", scale="rank", random_state=0, n_jobs=1), X, y)


def _skin(loss: str) -> Task:
    data = datasets.load("skin")
    model = AdditiveSVC("intersection", tol=1e-3, loss=loss, random_state=0, n_jobs=1)
    return _fit(model, _dense(data.X_train), data.y_train)


def _sparse(kernel: str, n_rows: int) -> Task:
    X = generated(n_rows)
    X.data = X.data.astype(np.float64)
    y = labels(X)
    return _fit(ours_at(kernel, datasets.Dataset(X, y, X[:10], y[:10]), 0.01), X, y)


def _growth() -> Task:
    X = generated(100_000)
    return _fit(AdditiveSVC("chi2", C=0.1, random_state=0, n_jobs=1), X, labels(X))


def _classes() -> Task:
    X = generated(40_000)
    rng = np.random.default_rng(0)
    y = np.argmax(X @ rng.normal(size=(X.shape[1], 100)).astype(np.float32), axis=1)
    return _fit(AdditiveSVC("chi2", random_state=0, n_jobs=1), X, y)


def _path(name: str) -> Task:
    data = part(nonnegative(datasets.load(name)), 10_000)
    model = AdditiveSVCCV(Cs=np.geomspace(0.01, 100.0, 10), cv=5, random_state=0, n_jobs=1)
    return _fit(model, data.X_train, data.y_train)


def _loop(name: str) -> Task:
    data = part(nonnegative(datasets.load(name)), 10_000)
    return lambda: separate_fits(data, np.geomspace(0.01, 100.0, 10), {"random_state": 0, "n_jobs": 1})


def _read(write: Callable[[Path], None]) -> Task:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "data.svm"
    write(path)

    def read() -> None:
        assert folder.name  # keeps the folder
        kernline.io.read(path, n_jobs=1)

    return read


def _load() -> Task:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "model.kern"
    X = sp.random(2000, 10_000, 0.01, format="csr", random_state=0)
    kernline.save(AdditiveSVC("chi2", random_state=0, max_iter=2).fit(X, np.arange(2000) % 100), path)

    def load() -> None:
        assert folder.name
        for _ in range(5):
            kernline.load(path)

    return load


def _command(*arguments: str) -> Task:
    command = [sys.executable, *arguments]

    def run() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return run


LINES: dict[str, Callable[[], Task]] = {
    "encode dense": partial(_encode, _dense),
    "encode sparse": partial(_encode, sp.csr_matrix),
    "predict dense": partial(_predict, _dense),
    "predict sparse": partial(_predict, sp.csr_matrix),
    "mnist linear 0.01": partial(_mnist, "linear", 0.01),
    "mnist linear 1": partial(_mnist, "linear", 1.0),
    "mnist chi2 0.1": partial(_mnist, "chi2", 0.1),
    "mnist chi2 0.3": partial(_mnist, "chi2", 0.3),
    "mnist chi2 1": partial(_mnist, "chi2", 1.0),
    "mnist chi2 scale 10": partial(_scaled, 10.0),
    "mnist chi2 scale 100": partial(_scaled, 100.0),
    "covtype": partial(_covtype, None),
    "covtype 20,000": partial(_covtype, 20_000),
    "skin hinge": partial(_skin, "hinge"),
    "skin squared hinge": partial(_skin, "squared_hinge"),
    "sparse linear 10⁶": partial(_sparse, "linear", 1_000_000),
    "sparse chi2 3·10⁵": partial(_sparse, "chi2", 300_000),
    "100 classes": _classes,
    "binary 1": partial(_binary, 1.0),
    "binary 100": partial(_binary, 100.0),
    "path mnist": partial(_path, "mnist"),
    "path usps": partial(_path, "usps"),
    "path covtype": partial(_path, "covtype"),
    "loop mnist": partial(_loop, "mnist"),
    "growth 10⁵": _growth,
    "read mnist": partial(_read, write_mnist),
    "read generated": partial(_read, partial(generate, megabytes=100)),
    "load model": _load,
    "import": partial(_command, "-c", "import kernline"),
    "import AdditiveSVC": partial(_command, "-c", "from kernline import AdditiveSVC"),
    "help": partial(_command, "-m", "kernline", "--help"),
}


if __name__ == "__main__":
    main()
