"""The interpreter ends while daemon threads are in the core: exit code 0, and nothing on standard error.

Run as a program, this does so in forks of a process that has imported everything: ``python -m tests.hard.exits RUNS``.
"""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .steps import Work, scaled

_LONGEST = 60.0  # seconds; then it hangs


def _work() -> list[Callable[[], object]]:
    """What threads do over and over: each lets go of Python's lock, and asks for it again, many times.

    Not NystromSVC, which a thread was fitting in each of five exits, of about 150, by "free(): invalid pointer".
    """
    import kernline
    from kernline import AdditiveSVC, BudgetedSVC

    X = np.random.default_rng(0).random((1000, 8))
    y = (X[:, 0] > 0.5).astype(int)
    text = "\n".join(f"{k % 2} 1:{k} 3:{k / 7}" for k in range(2000)).encode()
    shared = AdditiveSVC("chi2", loss="hinge").fit(X, y)
    kinds = [
        lambda: AdditiveSVC("chi2", loss="hinge", n_jobs=2).fit(X, y),
        lambda: AdditiveSVC("chi2", solver="newton", loss="squared_hinge").fit(X, y),
        lambda: AdditiveSVC("chi2", multi_class="crammer-singer").fit(X, np.arange(len(X)) % 3),
        lambda: BudgetedSVC(budget=10, passes=1, grid_size=20).fit(X, y),
        lambda: kernline.io.read(io.BytesIO(text), format="svmlight", n_jobs=2),
        lambda: shared.predict(X),
    ]
    for kind in kinds:
        kind()  # imports what it needs
    return kinds


def run_forks(n_runs: int) -> None:
    """Print what went wrong. In a child this returns too, while its threads go on."""
    kinds, chance = _work(), random.Random(0)
    for number in range(n_runs):
        seconds = chance.uniform(0.0, 0.1)
        with tempfile.TemporaryFile() as log:
            pid = os.fork()
            if not pid:
                os.dup2(log.fileno(), 2)
                return _start(kinds, number, seconds)
            problem = _ended(pid)
            log.seek(0)
            errors = log.read().decode(errors="replace")
        if problem or errors:
            print(f"run {number}: {problem} {errors[-500:]!r}", flush=True)
    return None


def _start(kinds: list[Callable[[], object]], number: int, seconds: float) -> None:
    from numpy.lib import _arraysetops_impl

    # NumPy's own function aborts if its thread is ended, too: np.unique then sorts instead.
    _arraysetops_impl._unique_hash = lambda *_, **__: NotImplemented

    def repeat(work: Callable[[], object]) -> None:
        while True:
            work()

    for k in range(3):
        threading.Thread(target=repeat, args=(kinds[(number + k) % len(kinds)],), daemon=True).start()
    time.sleep(seconds)


def _ended(pid: int) -> str:
    begun = time.monotonic()
    while time.monotonic() < begun + _LONGEST:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return f"exit code {code}" if code else ""
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return "hangs"


def problems(n_runs: int) -> list[str]:
    """Run so many interpreters; returns what went wrong."""
    command = [sys.executable, "-m", "tests.hard.exits", str(n_runs)]
    root = Path(__file__).parents[2]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    return ended.stdout.splitlines() + ([ended.stderr] if ended.returncode else [])


def _step(log: Path) -> tuple[int, int]:
    count = scaled(100)
    found = problems(count)
    log.write_text("\n".join(found))
    return count, len(found)


STEPS: dict[str, Work] = {"the interpreter ends while daemon threads are in a fit": _step}

if __name__ == "__main__":
    run_forks(int(sys.argv[1]))
