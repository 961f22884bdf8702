"""The table of the run, and docs/reliability.md, which keeps the last result of every step."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from ..fuzz import native

PAGE = Path("docs/reliability.md")

_HEADER = ["| step | tried | failed | time | load | date |", "|---|--:|--:|--:|--:|---|"]
_TEXT = """# Reliability

For those who must rely on Kernline. `make test-hard` breaks things on purpose: it lets allocations and system calls
fail, interrupts and kills commands at random times, uses estimators from many threads and processes, feeds damaged
files, and runs the tests under hostile conditions. What untrusted files can and cannot do is in `SECURITY.md`.

The table holds the last run of each step: how many cases were tried, how many failed, minutes by the clock on {cores}
cores, the load average at the end (over {cores}: other programs were running as well), and the date. The run writes
this page.

The native fuzzers have run the core of version {version} {executions:,} times, under AddressSanitizer and UBSan,
without a finding: {by_target}.

Files of version 0.1: `tests/golden` holds models of every format version and estimator, those that 0.1 wrote among
them (84); `make test` loads each, and compares its predictions with those of the version that wrote it.

What is not supported: subinterpreters, which raise ImportError; and free-threaded Python, for which no wheel is built
and the core refuses to compile, with a message. Daemon threads that are in the core when the interpreter ends stay
there until the process ends. Before Python 3.14 the process can abort then: in `np.unique` of NumPy 2.3 and later,
which fits call, or in a fit of NystromSVC with "free(): invalid pointer", seen in 5 of about 150 exits. Wait for
threads before the program ends.

"""


@dataclass(frozen=True)
class Row:
    """The result of a step."""

    title: str
    tried: int
    failed: int
    seconds: float
    load: float
    day: str = ""

    def line(self) -> str:
        """A row of the table in Markdown."""
        minutes, seconds = divmod(round(self.seconds), 60)
        day = self.day or date.today().isoformat()
        return f"| {self.title} | {self.tried:,} | {self.failed:,} | {minutes}:{seconds:02} | {self.load:.1f} | {day} |"


def table(rows: Iterable[Row]) -> list[str]:
    """The rows in Markdown."""
    return [*_HEADER, *(row.line() for row in rows)]


def write_page(new: Iterable[Row]) -> None:
    """Write the page: new results replace older ones of the same title, the others stay.

    Of several rounds the worst counts.
    """
    rows = {row.title: row for row in _read_page()}
    for row in sorted(new, key=lambda row: row.failed):
        rows[row.title] = row
    counted = native.counts()
    text = _TEXT.format(
        cores=len(os.sched_getaffinity(0)),
        version=native.version(),
        executions=sum(counted.values()),
        by_target=", ".join(f"{name} {count:,}" for name, count in counted.items()),
    )
    PAGE.write_text(text + "\n".join(table(rows.values())) + "\n")


def _read_page() -> list[Row]:
    found = re.findall(
        r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \| (\d+):(\d\d) \| ([\d.]+) \| ([\d-]+) \|$",
        PAGE.read_text() if PAGE.exists() else "",
        re.M,
    )
    return [
        Row(title, _count(tried), _count(failed), 60 * int(minutes) + int(seconds), float(load), day)
        for title, tried, failed, minutes, seconds, load, day in found
    ]


def _count(text: str) -> int:
    return int(text.replace(",", ""))
