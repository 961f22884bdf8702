"""Fuzzers for a while, and the properties of tests/properties on more data.

FUZZ_SECONDS (60) is the time of each fuzzer. The native ones need clang, and resume from build/fuzz.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from .steps import CORES, SkipStepError, Work, scaled

SECONDS = os.environ.get("FUZZ_SECONDS", "60")
NATIVE = ("svmlight", "encode", "products", "descent", "budgeted")
AT_ONCE = True  # as many steps as there are cores
_BUILDING = threading.Lock()


def _native(target: str) -> Work:
    def work(log: Path) -> tuple[int, int]:
        if shutil.which("clang++") is None:
            raise SkipStepError("needs clang")
        with _BUILDING:  # by the first, for all
            if _run(["make", "-j", str(CORES), "fuzz-build"], log)[0]:
                return 1, 1
        failed, text = _run(["make", f"fuzz-{target}", f"FUZZ_SECONDS={SECONDS}"], log)
        found = re.search(r"stat::number_of_executed_units: (\d+)", text)
        return int(found[1]) if found else 1, failed

    return work


def _program(name: str) -> Work:
    def work(log: Path) -> tuple[int, int]:
        failed, text = _run([sys.executable, f"tests/fuzz/{name}.py", "--seconds", SECONDS], log)
        found = re.search(r"^(\d+) .*?(\d+) of which broke the rule", text, re.MULTILINE)
        return (int(found[1]), int(found[2])) if found else (1, failed)

    return work


def _properties(log: Path) -> tuple[int, int]:
    examples = scaled(300)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/properties"]
    _, text = _run(command, log, {"KERNLINE_EXAMPLES": str(examples)})
    counts = {verdict: int(n) for n, verdict in re.findall(r"(\d+) (passed|failed|error)", text)}
    passed, failed = counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)
    return (passed + failed) * examples, failed if passed + failed else 1


def _run(command: list[str], log: Path, variables: dict[str, str] | None = None) -> tuple[int, str]:
    with log.open("wb") as stream:
        environment = os.environ | (variables or {})
        done = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, env=environment, check=False)
    return int(done.returncode != 0), log.read_text(errors="replace")


STEPS: dict[str, Work] = {
    **{f"fuzzing of the core: {target}": _native(target) for target in NATIVE},
    "fuzzing of tables and encoded rows": _program("tables"),
    "fuzzing of command lines": _program("commands"),
    "fuzzing of exported models on hostile rows": _program("exports"),
    "properties of any data": _properties,
}
