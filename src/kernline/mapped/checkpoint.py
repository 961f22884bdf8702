"""The state of a fit part by part in a file, so that the same fit can continue should it be killed.

A safetensors file with the checksums of model files, written atomically: β and its sums, and JSON with the rest. It
names the fit that it is of, by all that the result depends on. That of another fit is refused, and not replaced.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ..io.atomic import check_writable, replacing
from ..model_files.tensor_file import TensorFile, damage, write_tensors
from ..solvers.blockwise import Snapshot

# Seconds between two checkpoints, at least: a pass over few rows takes less time than to write β.
SECONDS = 60.0
_KEY, _FORMAT = "kernline-checkpoint", 1


class CheckpointFile:
    """The checkpoint of the fit that `fit` describes."""

    def __init__(self, path: str | os.PathLike[str], fit: dict[str, Any]) -> None:
        self.path, self.fit = os.fspath(path), {"format": _FORMAT, **fit}
        check_writable(path)  # which also removes what a killed writer has left
        self.written = time.monotonic()

    def load(self) -> Snapshot | None:
        """The state to continue from, if there is one."""
        if not os.path.exists(self.path):
            return None
        try:
            with TensorFile(self.path) as file:
                content = json.loads(file.metadata[_KEY])
                self._check(content.pop("fit"))
                return Snapshot(content, {name: file.read(name) for name in file.entries})
        except _OtherFitError as error:
            raise ValueError(f"{self.path}: {error}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{self.path}: not a checkpoint of kernline, or a damaged one ({damage(error)}). Remove it, or name "
                "another file."
            ) from error

    def _check(self, fit: dict[str, Any]) -> None:
        for name, now in self.fit.items():
            if fit.get(name) != now:
                raise _OtherFitError(
                    f"the checkpoint of another fit: its {name} is {fit.get(name)!s:.50}, and now it is {now!s:.50}. "
                    "Fit to the same data with the same parameters, or remove the file."
                )

    def save(self, snapshot: Snapshot) -> None:
        """Write the state, unless the last one was written a moment ago."""
        if time.monotonic() < self.written + SECONDS:
            return
        metadata = {_KEY: json.dumps(snapshot.content | {"fit": self.fit}, separators=(",", ":"))}
        with replacing(self.path) as file:
            write_tensors(file, snapshot.arrays, metadata)
        self.written = time.monotonic()

    def remove(self) -> None:
        """Remove the file, if one was written."""
        if os.path.exists(self.path):
            os.unlink(self.path)


class _OtherFitError(Exception):
    pass
