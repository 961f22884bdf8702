"""Steps of the run: each prints a line with its verdict, and writes what it saw to a log."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

LOGS = Path("build/hard")

# Gets the file to log to; returns whether all is well, and a summary.
Work = Callable[[Path], tuple[bool, str]]


class SkipStepError(Exception):
    """The step cannot be run here, for the reason given."""


@dataclass
class Report:
    """Verdicts so far."""

    only: str = ""  # run the steps whose name holds this
    counts: dict[str, int] = field(default_factory=lambda: {"ok": 0, "FAILED": 0, "skipped": 0})
    failed: list[str] = field(default_factory=list)

    def at_once(self, steps: Mapping[str, Work]) -> None:
        """Run several steps at the same time, so that each runs under the load of the others."""
        with ThreadPoolExecutor(len(steps)) as pool:
            list(pool.map(self.step, steps, steps.values()))

    def step(self, name: str, work: Work) -> None:
        """Run a step."""
        if self.only not in name:
            return
        log = LOGS / f"{re.sub(r'[^a-zA-Z0-9]+', '-', name)}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        try:
            good, summary = work(log)
            verdict = "ok" if good else "FAILED"
        except SkipStepError as reason:
            verdict, summary = "skipped", str(reason)
        self.counts[verdict] += 1
        seconds = time.monotonic() - begun
        print(f"{verdict:8}{seconds:5.0f} s  {name}: {summary}", flush=True)
        if verdict == "FAILED":
            kept = log.rename(log.with_name(f"failed-{self.counts['FAILED']}-{log.name}"))
            self.failed.append(f"{name}: see {kept}")

    def end(self) -> int:
        """Print the summary; returns the exit code."""
        print(", ".join(f"{count} {verdict}" for verdict, count in self.counts.items()))
        for line in self.failed:
            print(line)
        return 1 if self.failed else 0
