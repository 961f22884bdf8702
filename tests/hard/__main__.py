"""``python -m tests.hard``: one or more rounds of all steps. Environment variables choose what:

HARD_ROUNDS  how often all steps are run (1)
HARD_RUNS    how often each command is run (200)
HARD_SEED    the order of tests in the first round (by the clock)
HARD_ONLY    run only the steps with this in their name
HARD_EACH    1: every condition in a step of its own, to find out which one a failure needs; otherwise several at a time
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .command_loop import jobs, make_files, run_fresh
from .conditions import CORES, EDGE, IGNORING, PARALLEL, Condition, Copy, read_only_folder, shuffled
from .steps import Report


def main() -> int:
    """Run all; returns the exit code."""
    report = Report(only=os.environ.get("HARD_ONLY", ""))
    rounds = int(os.environ.get("HARD_ROUNDS", "1"))
    seed = int(os.environ.get("HARD_SEED", int(time.time()) % 100_000))
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}, seed {seed + number}", flush=True)
        _loops(report, int(os.environ.get("HARD_RUNS", "200")))
        with tempfile.TemporaryDirectory(prefix="kernline-hard-") as folder, read_only_folder() as read_only:
            _conditions(report, Copy(Path(folder)), read_only, seed + number)
    return report.end()


def _loops(report: Report, n_runs: int) -> None:
    n_fresh = max(8, n_runs // 20)

    def forked(log: Path) -> tuple[bool, str]:
        command = [sys.executable, "-m", "tests.hard.command_loop", str(n_runs), str(CORES)]
        with tempfile.TemporaryDirectory() as folder, log.open("wb") as stream:
            make_files(Path(folder))
            environment = os.environ | {"PYTHONPATH": os.getcwd(), "KERNLINE_CACHE": folder}
            code = subprocess.run(command, cwd=folder, stdout=stream, stderr=stream, env=environment, check=False)
        return not (code.returncode or log.stat().st_size), f"{len(jobs(n_runs))} runs, {n_runs} of each command"

    def fresh(log: Path) -> tuple[bool, str]:
        with tempfile.TemporaryDirectory() as folder:
            make_files(Path(folder))
            faults = run_fresh(Path(folder), n_fresh, CORES)
        log.write_text("\n".join(faults))
        return not faults, f"{len(jobs(n_fresh))} runs, {n_fresh} of each command"

    report.step("commands in forks", forked)
    report.step("commands from nothing", fresh)


def _conditions(report: Report, copy: Copy, read_only: Path, seed: int) -> None:
    """Tests that depend on the outside world under all conditions, and all tests under some of them."""
    each = os.environ.get("HARD_EACH", "") not in ("", "0")
    for name, condition in (_each if each else _together)(copy, read_only, seed).items():
        report.step(name, condition.run)
    everything = Condition(options=(*PARALLEL, *shuffled(seed)), umask=0o077, copy=copy, stranger=_is_root())
    report.step("all tests, in random order, as a stranger, in a path with spaces", everything.run)


def _together(copy: Copy, read_only: Path, seed: int) -> dict[str, Condition]:
    return {
        "under load, under nohup, in random order, umask 077": Condition(
            options=(*EDGE, *PARALLEL, *shuffled(seed)), busy=True, prefix=IGNORING, umask=0o077
        ),
        "two processes at once, without HOME": Condition(options=EDGE, n_processes=2, environment={"HOME": None}),
        "as a stranger, HOME read-only, path with spaces, settings of the user's": Condition(
            environment=_SETTINGS | {"HOME": str(read_only)}, copy=copy, stranger=_is_root()
        ),
    }


def _each(copy: Copy, read_only: Path, seed: int) -> dict[str, Condition]:
    return {
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
