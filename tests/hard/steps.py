"""Steps of the run: each counts what it tried and what failed, and writes what went wrong to a log.

To add one, write ``STEPS``, functions by title, in a module of this folder, and the module's name into ``MODULES`` of
``__main__.py``.
"""

from __future__ import annotations

import os
import re
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from .page import Row, table, write_page

LOGS = Path("build/hard")
CORES = len(os.sched_getaffinity(0))

# Gets the file to log to; returns how many cases were tried, and how many of them failed.
Work = Callable[[Path], tuple[int, int]]


class SkipStepError(Exception):
    """The step cannot be run here, for the reason given."""


def scaled(count: int) -> int:
    """A number of cases, times HARD_SCALE (1)."""
    return max(1, round(count * float(os.environ.get("HARD_SCALE", "1"))))


def _processor_seconds() -> float:
    """Of this process and its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@dataclass
class Report:
    """Results so far."""

    only: str = ""  # run the steps whose title contains this
    rows: list[Row] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def at_once(self, steps: Mapping[str, Work], n: int = 0) -> None:
        """Run n steps at the same time, by default all of them, so that each runs under the load of the others."""
        with ThreadPoolExecutor(n or len(steps)) as pool:
            list(pool.map(self.step, steps, steps.values()))

    def step(self, title: str, work: Work) -> None:
        """Run a step. An exception is a failure."""
        if self.only not in title:
            return
        log = LOGS / f"{re.sub(r'[^a-zA-Z0-9]+', '-', title)}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"")
        begun, used = time.monotonic(), _processor_seconds()
        try:
            tried, failed = work(log)
        except SkipStepError as reason:
            self.skipped.append(f"skipped: {title}: {reason}")
            print(self.skipped[-1], flush=True)
            return
        except Exception:
            tried, failed = 1, 1
            with log.open("a") as stream:
                traceback.print_exc(file=stream)
        row = Row(title, tried, failed, time.monotonic() - begun, os.getloadavg()[0])
        with self.lock:
            self.rows.append(row)
            write_page(self.rows)  # now, so that a run that is interrupted has not been in vain
        print(
            f"{'FAILED' if failed else 'ok':8}{row.seconds:5.0f} s  {title}: {tried:,} tried, {failed:,} failed; "
            f"{_processor_seconds() - used:.0f} s of a processor, with what ran at the same time",
            flush=True,
        )
        if failed:
            kept = log.rename(log.with_name(f"failed-{len(self.failed) + 1}-{log.name}"))
            self.failed.append(f"{title}: see {kept}")

    def end(self) -> int:
        """Print the table; returns the exit code."""
        print("", *table(self.rows), "", *self.skipped, *self.failed, sep="\n")
        return 1 if self.failed else 0
