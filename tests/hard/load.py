"""Load: many small models in few processes, many predictions of one row from several threads, and their latency.

A small model takes 6 ms of a processor, half of it in the fit. On a disk it takes 20 ms more, the time of two fsyncs,
so that files go to memory where there is a file system for that.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .steps import CORES, Work, scaled

_N_THREADS = 8
# What a process may grow by after its first models: the pages of one arena of the allocator, and a few of its own.
_MOST_GROWTH_MB = 16.0


def _resident_mb() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def many_models(n_models: int, folder: Path) -> list[str]:
    """Fit, predict, save and load; prints the memory now and then. Returns what is wrong."""
    import kernline
    from kernline import AdditiveSVC, AdditiveSVR, BudgetedSVC, NystromSVC

    random = np.random.default_rng(0)
    X, y = random.random((30, 3)), np.arange(30) % 2
    usual = [AdditiveSVC("chi2", loss="hinge"), BudgetedSVC(budget=4, passes=1, grid_size=20)]
    others = [AdditiveSVC(), AdditiveSVR("chi2"), NystromSVC(n_basis=4), AdditiveSVC(multi_class="crammer-singer")]
    wrong: list[str] = []
    sizes: list[float] = []
    for k in range(n_models):
        model = usual[k % 2] if k % 20 else others[k // 20 % len(others)]
        scores = model.fit(X, y).predict(X)
        path = folder / f"{k % 50}.kern"
        kernline.save(model, path)
        if not np.array_equal(kernline.load(path, n_jobs=1).predict(X), scores):
            wrong.append(f"model {k} predicts something else after it is loaded")
        if k % max(1, n_models // 20) == max(1, n_models // 20) - 1:
            sizes.append(_resident_mb())
            print(f"{k + 1:,} models, {sizes[-1]:.1f} MB", flush=True)
    if sizes[-1] - sizes[0] > _MOST_GROWTH_MB:
        wrong.append(f"memory grew from {sizes[0]:.1f} to {sizes[-1]:.1f} MB")
    return wrong


def many_rows(n_calls: int) -> list[str]:
    """One-row predictions of one model from several threads; returns what is wrong."""
    from kernline import AdditiveSVC

    X, y = _data()
    model = AdditiveSVC("chi2", loss="hinge").fit(X, y)
    expected = model.predict(X)
    wrong: list[str] = []

    def work(first: int) -> None:
        for k in range(first, n_calls, _N_THREADS):
            row = k % len(X)
            if model.predict(X[row : row + 1])[0] != expected[row]:
                wrong.append(f"row {row} of thread {first}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(_N_THREADS)]
    before = _resident_mb()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    grown = _resident_mb() - before
    print(f"{n_calls:,} calls, {grown:+.1f} MB")
    if grown > _MOST_GROWTH_MB:
        wrong.append(f"memory grew by {grown:.1f} MB")
    return wrong


def _data() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).random((2000, 50))
    return X, (X[:, :5].sum(axis=1) > 2.5).astype(int)


def latencies(n_calls: int) -> list[str]:
    """Microseconds of a call, (median, 99 %), of methods on one row; contestants in turn. Printed, not judged."""
    from sklearn.svm import LinearSVC

    from kernline import AdditiveSVC

    X, y = _data()
    row, narrow = X[:1], X[:1, :20]
    linear, chi2 = LinearSVC().fit(X, y), AdditiveSVC("chi2", loss="hinge").fit(X, y)
    table = AdditiveSVC().fit(X[:, :20], y)
    calls: dict[str, Callable[[], object]] = {
        "LinearSVC.predict": lambda: linear.predict(row),
        "LinearSVC.decision_function": lambda: linear.decision_function(row),
        "AdditiveSVC(chi2).predict": lambda: chi2.predict(row),
        "AdditiveSVC(chi2).decision_function": lambda: chi2.decision_function(row),
        "AdditiveSVC().predict": lambda: table.predict(narrow),
        "AdditiveSVC().predict_proba": lambda: table.predict_proba(narrow),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(n_calls):
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            times[name].append(1e6 * (time.perf_counter() - begun))
    for name, seen in times.items():
        print(f"{name}: p50 {np.percentile(seen, 50):.0f} µs, p99 {np.percentile(seen, 99):.0f} µs")
    return []


def _step(call: str, n_cases: int, n_processes: int = 1) -> Work:
    """The call in processes that share the cases."""

    def work(log: Path) -> tuple[int, int]:
        counts = [scaled(n_cases) // n_processes] * n_processes
        begin = "import sys\nfrom pathlib import Path\nfrom tests.hard import load\n"
        with tempfile.TemporaryDirectory(dir=_memory()) as folder:
            processes = []
            for k, count in enumerate(counts):
                code = f"{begin}sys.exit('\\n'.join(load.{call.format(count)}) or 0)"
                Path(folder, str(k)).mkdir()
                command = [sys.executable, "-c", code, f"{folder}/{k}"]
                pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
                processes.append(subprocess.Popen(command, text=True, **pipes))
            ends = [process.communicate() for process in processes]
        log.write_text("".join(map("".join, ends)))
        print(*(out.strip() for out, _ in ends), sep="\n", flush=True)
        wrong = sum(
            max(len(errors.splitlines()), process.returncode != 0)
            for process, (_, errors) in zip(processes, ends, strict=True)
        )
        return sum(counts), wrong

    return work


def _memory() -> str | None:
    """A folder in memory, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


STEPS: dict[str, Work] = {
    "small models fitted, saved and loaded, memory flat": _step(
        "many_models({}, Path(sys.argv[1]))", 100_000, n_processes=CORES
    ),
    "predict of one row from 8 threads, memory flat": _step("many_rows({})", 1_000_000),
    "latency of one row": _step("latencies({})", 3000),
}
