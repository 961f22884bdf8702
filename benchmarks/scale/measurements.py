"""All measurements of docs/scale.md by name, each in a process of its own."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
from pathlib import Path
from typing import Any

from . import cluster, one_machine

MEASUREMENTS = one_machine.MEASUREMENTS | cluster.MEASUREMENTS


def measured(name: str, options: argparse.Namespace) -> Any:
    """The result of a measurement."""
    with tempfile.NamedTemporaryFile() as file:
        process = multiprocessing.get_context("spawn").Process(target=_measure, args=(name, options, file.name))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(f"{name} failed.")
        return json.loads(Path(file.name).read_text())


def _measure(name: str, options: argparse.Namespace, path: str) -> None:
    Path(path).write_text(json.dumps(MEASUREMENTS[name](options)))
