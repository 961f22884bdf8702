"""The measurements on one machine.

Memory is the largest anonymous memory (RssAnon), looked at every 10 ms: pages of files that the system can take back do
not count. Seconds are processor time of the process, as the machine may have other work.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import kernline
from kernline import AdditiveSVC, Dataset, io
from kernline.mapped import checkpoint
from kernline.mapped import file as kdata

COLUMNS, BATCH = 50, 200_000
Result = dict[str, Any]


class Generated:
    """Batches of float32 rows, made when they are asked for, and the processor time that this took."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows, self.seconds = n_rows, 0.0
        self.slopes = np.random.default_rng(7).normal(size=10).astype(np.float32)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for begin in range(0, self.n_rows, BATCH):
            start = time.thread_time()
            generator = np.random.default_rng(begin)
            X = generator.random((min(BATCH, self.n_rows - begin), COLUMNS), dtype=np.float32)
            f = np.sin(6.0 * X[:, 0]) + 4.0 * X[:, 1] ** 2 + 0.5 * X[:, 2] + (X[:, 3:13] - 0.5) @ self.slopes - 1.6
            y = (f + generator.normal(size=len(X)) > 0.0).astype(np.int8)
            self.seconds += time.thread_time() - start
            yield X, y


class Peak:
    """The largest anonymous memory of this process, in bytes."""

    def __enter__(self) -> Peak:
        self.largest, self.done = 0, threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        return self

    def _watch(self) -> None:
        while not self.done.wait(0.01):
            self.largest = max(self.largest, anonymous())

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()


def anonymous(process: int | str = "self") -> int:
    """Anonymous memory of a process; 0 if it has ended."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in text.splitlines() if line.startswith("RssAnon")), 0)


def model() -> AdditiveSVC:
    """The model of all measurements."""
    return AdditiveSVC(loss="hinge", C=1.0)


def large(options: argparse.Namespace) -> Result:
    """Rows that are never held, against the same model on 2,000,000 rows in memory, per row."""
    rows = Generated(options.rows)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, Peak() as peak:
        begun, start = time.perf_counter(), time.process_time()
        data = Dataset(rows)
        summarised = time.process_time() - start - rows.seconds
        data.save(f"{folder}/x.kdata")
        encoded = time.process_time() - start - rows.seconds - summarised
        size = os.path.getsize(f"{folder}/x.kdata")
        data = Dataset.load(f"{folder}/x.kdata")
        fit_start = time.process_time()
        fitted = model().fit(data)
        fit_seconds = time.process_time() - fit_start
        total = time.process_time() - start - rows.seconds
        wall = time.perf_counter() - begun
    X, y = (np.concatenate(part) for part in zip(*Generated(options.memory_rows), strict=True))
    start = time.process_time()
    inside = AdditiveSVC("intersection", scale="rank", loss="hinge", C=1.0).fit(X, y)
    in_memory = (time.process_time() - start) / len(X)
    return {
        "rows": options.rows,
        "rows in memory": options.memory_rows,
        "bytes a value": size / options.rows / COLUMNS,
        "parts": len(data.parts),
        "passes": int(fitted.n_iter_[0]),
        "relative gap": float(fitted.dual_gap_[0] / fitted.objective_[0]),
        "summary s": summarised,
        "codes s": encoded,
        "fit s": fit_seconds,
        "wall s, with generating": wall,
        "peak GB": peak.largest / 1e9,
        "in memory µs a row": 1e6 * in_memory,
        "µs a row": 1e6 * total / options.rows,
        "ratio (bar 2)": total / options.rows / in_memory,
        "objective a row, in memory": float(inside.objective_[0] / options.memory_rows),
        "objective a row": float(fitted.objective_[0] / options.rows),
    }


def mapped(options: argparse.Namespace) -> Result:
    """The same rows in memory and in parts, objective and time."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        Dataset(Generated(options.memory_rows)).save(f"{folder}/x.kdata")
        times: dict[str, list[float]] = {"memory": [], "parts": []}
        objectives = {}
        for _ in range(options.rounds):
            for name in times:
                data = Dataset.load(f"{folder}/x.kdata")
                data.part_bytes = kdata.CHUNK_BYTES
                X = data.rows if name == "memory" else data
                y = data.y if name == "memory" else None
                start = time.process_time()
                fitted = model().fit(X, y)
                times[name].append(time.process_time() - start)
                objectives[name] = float(fitted.objective_[0])
    return {
        "rows": options.memory_rows,
        "parts": len(data.parts),
        "memory s": min(times["memory"]),
        "parts s": min(times["parts"]),
        "ratio (bar 1.5)": min(times["parts"]) / min(times["memory"]),
        "objective, parts / memory": objectives["parts"] / objectives["memory"],
    }


def text(options: argparse.Namespace) -> Result:
    """A LIBSVM file through the command line."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder, "big.svm")
        generator = np.random.default_rng(0)
        with path.open("wb") as file:
            while file.tell() < options.gigabytes * 1e9:
                columns = np.sort(generator.integers(1, 100_000, (20_000, 60)), axis=1)
                columns += np.arange(60)  # distinct
                values = generator.integers(1, 1000, columns.shape)
                labels = generator.integers(0, 2, 20_000) | (columns[:, 0] < 1500)
                lines = (
                    f"{label} " + " ".join(f"{j}:0.{v:03d}" for j, v in zip(row, value, strict=True))
                    for label, row, value in zip(labels.tolist(), columns.tolist(), values.tolist(), strict=True)
                )
                file.write(("\n".join(lines) + "\n").encode())
        command = [sys.executable, "-m", "kernline", "train", str(path), f"{folder}/m.kern", "--out-of-core", "-j", "1"]
        start, before = time.perf_counter(), os.times()
        peak, process = 0, subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None:
            peak = max(peak, anonymous(process.pid))
            time.sleep(0.01)
        wall, after = time.perf_counter() - start, os.times()
        left = sorted(os.listdir(folder))
        seconds = {}
        for name, keep in (("read", {}), ("read in blocks", {"on_block": lambda X: None})):
            start = time.process_time()
            io.read(path, **keep)
            seconds[name] = time.process_time() - start
        size = path.stat().st_size
    return {
        "file GB": size / 1e9,
        "exit code": process.returncode,
        "peak GB": peak / 1e9,
        "train s": after.children_user + after.children_system - before.children_user - before.children_system,
        "wall s": wall,
        "io.read s": seconds["read"],
        "io.read in blocks s": seconds["read in blocks"],
        "files at the end": left,
    }


def rounds(options: argparse.Namespace) -> Result:
    """Passes against the number of parts, for the same rows."""
    rows, found = 400_000, {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        before, kdata.CHUNK_BYTES = kdata.CHUNK_BYTES, rows * COLUMNS // 64
        Dataset(Generated(rows)).save(f"{folder}/x.kdata")
        kdata.CHUNK_BYTES = before
        for parts in (2, 4, 8, 16, 32, 64):
            data = Dataset.load(f"{folder}/x.kdata")
            data.part_bytes = rows * COLUMNS // parts + COLUMNS
            start = time.process_time()
            fitted = model().fit(data)
            gap = float(fitted.dual_gap_[0] / fitted.objective_[0])
            found[len(data.parts)] = [int(fitted.n_iter_[0]), gap, time.process_time() - start]
    return {"rows": rows, "passes, gap and seconds by parts": found}


def kills(options: argparse.Namespace) -> Result:
    """SIGKILL at random moments of a conversion and of a fit to parts with checkpoints: files are complete or absent.

    Children are forks of this process, so that they are killed at work, and not while they import.
    """
    wrong = killed = temporary = continued = 0
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        os.chdir(folder)
        generator = np.random.default_rng(0)
        rows = (" ".join(f"{j}:{v:.3f}" for j, v in enumerate(generator.random(20), 1)) for _ in range(20_000))
        Path("a.svm").write_text("".join(f"{k % 2} {row}\n" for k, row in enumerate(rows)))
        kdata.CHUNK_BYTES, checkpoint.SECONDS = 20_000, 0.0
        work = {"x.kdata": _convert, "m.kern": _train}
        names = {"a.svm", "state", *work}
        chance, longest = random.Random(0), {name: _forked(run, None)[1] for name, run in work.items()}
        for number in range(options.kills):
            name = list(work)[number % 2]
            Path(name).unlink(missing_ok=True)
            continued += name == "m.kern" and Path("state").exists()
            status, _ = _forked(work[name], chance.uniform(0.0, longest[name]))
            killed += os.WIFSIGNALED(status)
            wrong += not is_whole(Path(name)) or (os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0)
            temporary = max(temporary, len(set(os.listdir()) - names))
        failed = sum(_forked(run, None)[0] != 0 for run in work.values())
        left = len(set(os.listdir()) - (names - {"state"}))
        os.chdir("/")
    return {
        "children": options.kills,
        "killed": killed,
        "fits that found a checkpoint": continued,
        "wrong files, and runs that failed": wrong + failed,
        "most temporary files after a kill": temporary,
        "files left by the next run": left,
    }


def _convert() -> None:
    Dataset("a.svm").save("x.kdata")


def _train() -> None:
    data = Dataset("a.svm")
    data.spool(".")
    data.part_bytes, data.checkpoint = 100_000, "state"
    kernline.save(AdditiveSVC(C=10.0, tol=1e-3).fit(data), "m.kern")


def _forked(run: Callable[[], None], kill_after: float | None) -> tuple[int, float]:
    """Run in a child; how it ended, as `os.waitpid` has it, and how long it took."""
    begun, child = time.perf_counter(), os.fork()
    if child == 0:
        try:
            run()
            os._exit(0)
        finally:
            os._exit(1)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1], time.perf_counter() - begun


def is_whole(path: Path) -> bool:
    """Whether a file is absent, or complete."""
    if not path.exists():
        return True
    try:
        _ = Dataset.load(path).rows if path.suffix == ".kdata" else kernline.load(path)
    except ValueError:
        return False
    return True


MEASUREMENTS: dict[str, Callable[[argparse.Namespace], Result]] = {
    "mapped": mapped,
    "rounds": rounds,
    "large": large,
    "text": text,
    "kills": kills,
}
