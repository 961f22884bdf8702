"""Measuring: interleaved contestants, best of several rounds, peak memory above that before the run."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import kernline
from kernline import _core


@dataclass
class Run:
    """The best of several runs of one contestant: seconds and peak bytes, with the model the fastest run fitted."""

    seconds: float = np.inf
    peak_bytes: int = 0
    model: Any = None


def interleave(
    contestants: dict[str, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Run]:
    """Run each contestant once per round, so that a noisy neighbour disturbs all equally, and keep each one's best."""
    best = {name: Run() for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            before = _reset_peak()
            start = clock()
            model = work()
            seconds = clock() - start
            peak = _peak() - before
            if seconds < best[name].seconds:
                best[name] = Run(seconds, peak, model)
            del model
    return best


def _reset_peak() -> int:
    """Reset the peak memory use and return the current one. Linux only; elsewhere memory is reported as 0."""
    gc.collect()
    try:
        # Return freed memory to the system first, or a run that reuses it would seem to need none.
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return 0
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM") if Path("/proc/self/status").exists() else 0


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def machine() -> str:
    """One line that describes the machine and the versions."""
    names = [line.split(":")[1].strip() for line in _cpu_info() if line.startswith("model name")]
    processor = names[0] if names else platform.processor()
    return (
        f"{processor}, {os.cpu_count()} cores, {platform.system()}; kernline {kernline.__version__} "
        f"({_core.target()}), scikit-learn {sklearn.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    )


def _cpu_info() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table: the first column left-aligned, the others right-aligned."""
    widths = [max(len(str(row[k])) for row in [header, *rows]) for k in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            str(cell).ljust(width) if k == 0 else str(cell).rjust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = (
        "|" + "|".join("-" * (width + 2) if k == 0 else "-" * (width + 1) + ":" for k, width in enumerate(widths)) + "|"
    )
    return "\n".join([line(header), rule, *(line(row) for row in rows)])
