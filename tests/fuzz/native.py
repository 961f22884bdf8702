"""Run native fuzz targets, and count their executions: ``python tests/fuzz/native.py [TARGET ...] --seconds 60``.

The targets are built by ``make fuzz-build``. With ``--total 100000000`` they run in turn until all executions on this
version are so many, however often that is stopped and begun again. Counts are kept in executions.json, by version and
target; inputs found go to build/fuzz. Stops at the first finding.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

TARGETS = ("svmlight", "encode", "products", "descent", "budgeted")
FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
COUNTS = FOLDER / "executions.json"
_SLICE = 120  # seconds that a target has before it is the turn of the next one
_INTERRUPTED = 72  # libFuzzer's exit code

# Few bytes are enough: after them a generator goes on. Freed memory is kept for longer than an execution lasts, and no
# longer, since fresh memory is slow. Entropic scheduling took a tenth of the time.
_OPTIONS = ("-max_len=128", "-entropic=0", "-timeout=20", "-rss_limit_mb=1024", "-print_final_stats=1")
_SANITIZER = "quarantine_size_mb=8:max_malloc_fill_size=256:malloc_context_size=2"


def version() -> str:
    """The version of the package, which need not be installed."""
    found = re.search(r'^__version__ = "(.+)"', (ROOT / "src/kernline/__init__.py").read_text(), re.MULTILINE)
    assert found
    return found[1]


def counts() -> dict[str, int]:
    """Executions on this version, by target."""
    known = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    return {target: known.get(version(), {}).get(target, 0) for target in TARGETS}


def add(target: str, n: int) -> None:
    """Add executions. Other processes may do so at the same time."""
    with (ROOT / "build" / "fuzz" / "counts.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
        of_version = known.setdefault(version(), dict.fromkeys(TARGETS, 0))
        of_version[target] = of_version.get(target, 0) + n
        fresh = COUNTS.with_suffix(".part")
        fresh.write_text(json.dumps(known, indent=2) + "\n")
        os.replace(fresh, COUNTS)


def run(target: str, seconds: int) -> tuple[int, int]:
    """Run a target; returns its exit code and how many executions there were, which are counted if all were clean."""
    build = ROOT / "build" / "fuzz"
    (build / f"found_{target}").mkdir(parents=True, exist_ok=True)
    dictionary = FOLDER / f"{target}.dict"
    words = [f"-dict={dictionary}"] if dictionary.exists() else []
    command = [build / target, f"-max_total_time={seconds}", f"-artifact_prefix={build}/", *_OPTIONS, *words]
    command += [build / f"found_{target}", FOLDER / target]
    environment = os.environ | {"ASAN_OPTIONS": _SANITIZER}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace", env=environment) as process:
        previous = signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGINT))
        try:
            last = _show(process)
        except KeyboardInterrupt:  # the target got it too
            last = _show(process)
        signal.signal(signal.SIGTERM, previous)
    found = re.search(r"stat::number_of_executed_units: +(\d+)", last)
    n = int(found[1]) if found else 0
    if process.returncode in (0, _INTERRUPTED):
        add(target, n)
    return process.returncode, n


def _show(process: subprocess.Popen[str]) -> str:
    assert process.stderr
    text = ""
    for line in process.stderr:
        if not re.match(r"#\d+\s+(NEW|REDUCE|pulse|RELOAD)", line):
            print(line, end="", file=sys.stderr, flush=True)
        text = (text + line)[-10_000:]
    return text


def main() -> int:
    """Run; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--total", type=int, default=0)
    options = parser.parse_args()
    turn = 0
    while options.total or turn < len(options.targets):
        target = options.targets[turn % len(options.targets)]
        code, n = run(target, _SLICE if options.total else options.seconds)
        done = counts()
        print(f"{target}: {n:,} executions; {sum(done.values()):,} on version {version()}", flush=True)
        if code:
            return code
        if options.total and sum(done.values()) >= options.total:
            return 0
        turn += 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
