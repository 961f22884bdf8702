"""Results of the peers, kept in a JSON file: EBM takes minutes per table, and its results do not change with ours."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from kernline.datasets import Dataset
from kernline.io.atomic import replacing

from .contestants import Contestant
from .measures import Result


def fingerprint(data: Dataset) -> str:
    """A hash of all rows of both parts: another split, or another number of rows, is another result."""
    digest = hashlib.sha256()
    for part in data:
        frame = part if isinstance(part, pd.DataFrame) else pd.DataFrame(np.asarray(part))
        digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
    return digest.hexdigest()[:12]


class Cache:
    """Results by table, data, contestant, version and threads. A file that does not exist yet is empty."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def key(table: str, split: int, data: str, name: str, contestant: Contestant, threads: int) -> str:
        """What must be equal for a result to be used again."""
        return f"{table} {split} {data} | {name} | {contestant.version()} | {threads} threads"

    def get(self, key: str) -> Result | None:
        """The result, if there is one."""
        found = self._read().get(key)
        return None if found is None else Result(**found)

    def put(self, key: str, result: Result) -> None:
        """Store a result. The file is read again first: another run may have added to it."""
        entries = self._read() | {key: asdict(result)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as file:
            file.write(json.dumps(entries, indent=1).encode())

    def _read(self) -> dict[str, dict[str, object]]:
        return json.loads(self.path.read_text()) if self.path.exists() else {}
