"""Every command many times, several at once: exit codes, and standard error to the very end of the process.

A thread that outlives the interpreter aborts some runs only, after the command has done its work. Most of the time of a
short command goes into imports, so all but a few runs are forks of a process that has imported everything; a fork ends
as any process does.

Run as a program, this is that process: ``python -m tests.hard.command_loop RUNS AT_ONCE``, in a folder of `make_files`.
"""

from __future__ import annotations

import gc
import importlib
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import kernline
from kernline.cli import main
from kernline.cli.light_imports import skip_heavy_imports

TARGET = ["--target", "species"]

# By name, the first word of which is the command: arguments, and the exit code. OUT is a name of the run's own.
COMMANDS: dict[str, tuple[list[str], int]] = {
    "train svm": (["train", "iris.svm", "OUT.kern", "-q"], 0),
    "train csv": (["train", "iris.csv", "OUT.kern", "-q", *TARGET], 0),
    "train npz": (["train", "iris.npz", "OUT.kern", "-q"], 0),
    "train parquet": (["train", "iris.parquet", "OUT.kern", "-q", *TARGET], 0),
    "train rbf": (["train", "iris.svm", "OUT.kern", "-q", "-t", "rbf", "-p", "n_basis=20"], 0),
    "predict svm": (["predict", "svm.kern", "iris.svm", "-q"], 0),
    "predict csv": (["predict", "csv.kern", "iris.csv", "-q"], 0),
    "predict parquet": (["predict", "csv.kern", "iris.parquet", "-q", "-o", "OUT.txt"], 0),
    "evaluate svm": (["evaluate", "svm.kern", "iris.svm", "-q"], 0),
    "evaluate csv": (["evaluate", "csv.kern", "iris.csv", "-q", *TARGET], 0),
    "report csv": (["report", "csv.kern", "iris.csv", "-q", "-o", "OUT.html", *TARGET], 0),
    "inspect model": (["inspect", "csv.kern", "-q"], 0),
    "inspect svm": (["inspect", "iris.svm", "-q"], 0),
    "inspect csv": (["inspect", "iris.csv", "-q", *TARGET], 0),
    "inspect bad svm": (["inspect", "bad.svm", "-q"], 1),
    "inspect short csv": (["inspect", "short.csv", "-q", *TARGET], 1),
    "inspect parquet": (["inspect", "iris.parquet", "-q", *TARGET], 0),
    "inspect arrow": (["inspect", "iris.arrow", "-q", *TARGET], 0),
    "inspect npz": (["inspect", "iris.npz", "-q"], 0),
    "inspect compressed": (["inspect", "iris.csv.gz", "-q", *TARGET], 0),
    "cv": (["cv", "iris.csv", "-q", "-v", "3", "-c", "1", *TARGET], 0),
    "convert csv": (["convert", "iris.csv", "OUT.svm", "-q", *TARGET], 0),
    "convert svm": (["convert", "iris.svm", "OUT.parquet", "-q"], 0),
    "convert npz": (["convert", "iris.npz", "OUT.csv", "-q"], 0),
    "export json": (["export", "svm.kern", "OUT.json", "-q"], 0),
    "export c": (["export", "svm.kern", "OUT.h", "-q"], 0),
    "datasets list": (["datasets", "list", "-q"], 0),
    "bench": (["bench", "iris.svm", "-q"], 0),
}

_PRELOADED = (
    *("kernline.cli.app", "kernline.report", "pyarrow.csv", "pyarrow.parquet", "pyarrow.ipc"),
    *("bokeh.resources", "sklearn.model_selection"),
)


def make_files(folder: Path) -> None:
    """Iris in every format, two damaged files, and models."""
    import numpy as np
    import pandas as pd
    from sklearn.datasets import dump_svmlight_file, load_iris

    iris = load_iris()
    frame = pd.DataFrame(iris.data, columns=list("abcd"))
    frame["species"] = iris.target_names[iris.target]
    dump_svmlight_file(iris.data, iris.target, str(folder / "iris.svm"), zero_based=False)
    np.savez(folder / "iris.npz", X=iris.data, y=iris.target)
    frame.to_csv(folder / "iris.csv", index=False)
    frame.to_csv(folder / "iris.csv.gz", index=False)
    frame.to_parquet(folder / "iris.parquet")
    frame.to_feather(folder / "iris.arrow")
    lines = (folder / "iris.csv").read_text().splitlines()
    (folder / "bad.svm").write_text((folder / "iris.svm").read_text() + "1 x:1\n")
    (folder / "short.csv").write_text("\n".join([*lines[:50], "1,1", *lines[50:]]) + "\n")
    X, y = iris.data, iris.target
    kernline.save(kernline.AdditiveSVC(random_state=0).fit(X, y), folder / "svm.kern")
    kernline.save(kernline.AdditiveSVC(random_state=0).fit(frame[list("abcd")], frame["species"]), folder / "csv.kern")


def jobs(n_runs: int) -> list[str]:
    """Each command so many times, with its inputs in turn."""
    variants: dict[str, list[str]] = {}
    for name in COMMANDS:
        variants.setdefault(name.split()[0], []).append(name)
    return [names[k % len(names)] for k in range(n_runs) for names in variants.values()]


def fault(name: str, code: int, stderr: bytes) -> str:
    """What is wrong with a run that ended with this; nothing if it is as expected."""
    lines = stderr.decode(errors="replace").splitlines()
    expected = COMMANDS[name][1]
    if code != expected:
        return f"{name}: exit code {code}, expected {expected}: {lines[-3:]}"
    clean = len(lines) == 1 and lines[0].startswith("kernline: ") if expected else not lines
    return "" if clean else f"{name}: unexpected on standard error: {lines[-3:]}"


def run_fresh(folder: Path, n_runs: int, at_once: int) -> list[str]:
    """Run every command by processes that start from nothing; returns what went wrong."""

    def run(job: tuple[int, str]) -> str:
        k, name = job
        arguments = [argument.replace("OUT", f"fresh{k}") for argument in COMMANDS[name][0]]
        command = [sys.executable, "-m", "kernline", *arguments]
        ended = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        return fault(name, ended.returncode, ended.stderr)

    with ThreadPoolExecutor(at_once) as pool:
        return [text for text in pool.map(run, enumerate(jobs(n_runs))) if text]


def preload() -> None:
    """Import what commands import, before any fork."""
    skip_heavy_imports()
    for module in _PRELOADED:
        importlib.import_module(module)
    for name in ("AdditiveSVC", "datasets", "export", "load"):  # imported at first use
        getattr(kernline, name)
    with suppress(ImportError):  # some versions of typer import half of pydantic when they parse the first option
        importlib.import_module("typer._adapters")
    gc.freeze()  # or each child would go through all objects of the parent before it exits


def run_forks(n_runs: int, at_once: int) -> None:
    """Fork for each run of a command. In the child this returns too, once the command has ended."""
    preload()
    names = jobs(n_runs)
    alive: dict[int, tuple[str, Path]] = {}
    faults: Counter[str] = Counter()
    for number in range(len(names) + at_once):
        if number >= at_once:
            pid, status = os.wait()
            name, log = alive.pop(pid)
            faults[fault(name, os.waitstatus_to_exitcode(status), log.read_bytes())] += 1
            for path in Path().glob(f"{log.stem}.*"):
                path.unlink()
        if number < len(names):
            log = Path(f"run{number}.stderr")
            pid = os.fork()
            if not pid:
                return _become(names[number], log)
            alive[pid] = names[number], log
    del faults[""]
    for text, count in faults.items():
        print(f"{count} × {text}")
    return None


def _become(name: str, log: Path) -> None:
    for number, path in ((0, os.devnull), (1, os.devnull), (2, log)):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.argv = ["kernline", *(argument.replace("OUT", log.stem) for argument in COMMANDS[name][0])]
    main()


if __name__ == "__main__":
    run_forks(int(sys.argv[1]), int(sys.argv[2]))
