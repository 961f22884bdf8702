"""``python -m tests.hard``: one or more rounds, the steps of ``MODULES``, then all tests once. Environment variables:

HARD_ROUNDS  number of rounds (1)
HARD_RUNS    how often a round runs each command (200)
HARD_SCALE   factor of the number of cases of the steps of ``MODULES`` (1)
HARD_SEED    the order of tests in the first round (by the clock)
HARD_ONLY    run only the steps with this in their title
HARD_EACH    1: one step after the other, each with one condition, to find out which one a failure needs

A round runs every command in a loop, and meanwhile two times the tests that depend on the outside world (files,
signals, threads, processes, the environment), under hostile conditions. docs/reliability.md is written after every
step, and a table of all steps is printed at the end.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .command_loop import jobs, make_files, run_fresh
from .conditions import EDGE, IGNORING, PARALLEL, Condition, Copy, read_only_folder, shuffled
from .steps import CORES, Report, Work

# Modules of this folder whose STEPS are run, one after the other, or on all cores if they say AT_ONCE.
MODULES = ("faults", "interrupts", "exits", "races", "load", "fuzzing")


def main() -> int:
    """Run all; returns the exit code."""
    report = Report(only=os.environ.get("HARD_ONLY", ""))
    rounds = int(os.environ.get("HARD_ROUNDS", "1"))
    seed = int(os.environ.get("HARD_SEED", int(time.time()) % 100_000))
    loops = _loops(int(os.environ.get("HARD_RUNS", "200")))
    each = os.environ.get("HARD_EACH", "") not in ("", "0")
    with tempfile.TemporaryDirectory(prefix="kernline-hard-") as folder, read_only_folder() as read_only:
        copy = Copy(Path(folder))
        for number in range(seed, seed + rounds):
            print(f"round {number - seed + 1} of {rounds}, seed {number}", flush=True)
            if each:
                for name, work in (loops | _each(copy, read_only, number)).items():
                    report.step(name, work)
            else:
                report.at_once(loops | _together(copy, read_only, number))
        for name in MODULES:
            module = importlib.import_module(f"{__package__}.{name}")
            report.at_once(module.STEPS, CORES if getattr(module, "AT_ONCE", False) else 1)
        everything = Condition(
            options=(*PARALLEL, *shuffled(seed)),
            umask=0o077,
            copy=copy,
            stranger=_is_root(),
            environment={"KERNLINE_EVERY_SETTING": "1"},
        )
        report.step("all tests, in random order, as a stranger, in a path with spaces", everything.run)
    return report.end()


def _loops(n_runs: int) -> dict[str, Work]:
    n_fresh = max(8, n_runs // 20)

    def forked(log: Path) -> tuple[int, int]:
        command = [sys.executable, "-m", "tests.hard.command_loop", str(n_runs), str(CORES)]
        with tempfile.TemporaryDirectory() as folder, log.open("wb") as stream:
            make_files(Path(folder))
            environment = os.environ | {"PYTHONPATH": os.getcwd(), "KERNLINE_CACHE": folder}
            subprocess.run(command, cwd=folder, stdout=stream, stderr=stream, env=environment, check=True)
        return len(jobs(n_runs)), sum(int(line.split()[0]) for line in log.read_text().splitlines())

    def fresh(log: Path) -> tuple[int, int]:
        with tempfile.TemporaryDirectory() as folder:
            make_files(Path(folder))
            faults = run_fresh(Path(folder), n_fresh, CORES)
        log.write_text("\n".join(faults))
        return len(jobs(n_fresh)), len(faults)

    return {"commands in forks": forked, "commands from nothing": fresh}


def _together(copy: Copy, read_only: Path, seed: int) -> dict[str, Work]:
    """All conditions in two runs of the tests that depend on the outside world, each a load to the other."""
    first = Condition(options=(*EDGE, *shuffled(seed)), prefix=IGNORING, umask=0o077, environment={"HOME": None})
    second = Condition(
        options=(*EDGE, *shuffled(seed + 1)),
        environment=_SETTINGS | {"HOME": str(read_only)},
        copy=copy,
        stranger=_is_root(),
    )
    return {
        "under nohup, in random order, umask 077, without HOME": first.run,
        "as a stranger, HOME read-only, path with spaces, settings of the user's": second.run,
    }


def _each(copy: Copy, read_only: Path, seed: int) -> dict[str, Work]:
    conditions = {
        "under load": Condition(busy=True),
        "under nohup": Condition(prefix=IGNORING),
        "in random order": Condition(options=(*EDGE, *PARALLEL, *shuffled(seed))),
        "two processes at once": Condition(options=EDGE, n_processes=2),
        "as a stranger": Condition(copy=copy, stranger=True),
        "umask 077": Condition(umask=0o077),
        "without HOME": Condition(environment={"HOME": None}),
        "HOME read-only": Condition(
            environment={"HOME": str(read_only)}, copy=copy if _is_root() else None, stranger=_is_root()
        ),
        "path with spaces": Condition(copy=copy),
        "settings of the user's": Condition(environment=_SETTINGS),
    }
    return {name: condition.run for name, condition in conditions.items()}


_SETTINGS: dict[str, str | None] = {
    "KERNLINE_OFFLINE": "1",
    "KERNLINE_DEBUG": "1",
    "COLUMNS": "30",
    "NO_COLOR": "1",
}


def _is_root() -> bool:
    return os.getuid() == 0


if __name__ == "__main__":
    sys.exit(main())
