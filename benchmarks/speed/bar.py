"""One line of the table: what was measured, against what, and the target ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """`ours` and `theirs` are in seconds or `unit`; the ratio theirs / ours should be at least `wanted`."""

    work: str
    against: str
    ours: float
    theirs: float
    wanted: float
    note: str = ""
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """theirs / ours."""
        return self.theirs / self.ours

    def row(self) -> list[str]:
        """Cells of the printed table."""
        verdict = "yes" if self.ratio >= self.wanted else "NO"
        return [
            self.work,
            self.against,
            f"{self.ours:.3g} {self.unit}",
            f"{self.theirs:.3g} {self.unit}",
            f"{self.ratio:.2f}×",
            f"≥ {self.wanted:g}×",
            verdict,
            self.note,
        ]


HEADER = ["work", "against", "ours", "theirs", "ratio", "bar", "met", "note"]

# A measurement takes the number of rounds and yields its lines.
Measurement = Callable[[int], Iterator[Bar]]
