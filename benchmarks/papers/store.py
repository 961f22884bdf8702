"""Results on disk, so that a page can be written again, or an interrupted run continued, without measuring again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from kernline.io.atomic import replacing

DATES = "measured on"
FOLDER = Path(__file__).resolve().parents[2] / "build" / "papers"


class Results:
    """Measurements by name, as JSON; kept in memory only if `folder` is None."""

    def __init__(self, page: str, folder: Path | None = FOLDER) -> None:
        self.path = None if folder is None else folder / f"{page}.json"
        self.dates: Counter[str] = Counter()  # on which the results asked for were measured
        self.found: dict[str, Any] = json.loads(self.path.read_text()) if self.path and self.path.exists() else {}

    def get(self, name: str, measure: Callable[[], Any]) -> Any:
        """The measurement of this name, made now if it is not there yet."""
        if name not in self.found:
            found = json.loads(json.dumps(measure()))  # the same types whether it was stored or not
            if self.path is not None:
                self.found = json.loads(self.path.read_text()) if self.path.exists() else {}
            self.found[name] = found
            self.found.setdefault(DATES, {})[name] = date.today().isoformat()
            self._write()
        self.dates[self.found.get(DATES, {}).get(name, "an unknown day")] += 1
        return self.found[name]

    def clear(self) -> None:
        """Forget everything."""
        self.found = {}
        self._write()

    def _write(self) -> None:
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as stream:
            stream.write(json.dumps(self.found, indent=1).encode())
