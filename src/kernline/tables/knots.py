"""Knots on [0, 1], and the codes between them. Shared by hats and PLAME."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .table import CodeGrid, PairTable

Array = NDArray[np.float64]

# Spacing of the knots: crowded near zero like histogram values, or even. See docs/approximation.md.
CROWDED, EVEN = 2.0, 1.0

# A power of an even spacing, "quantile" for quantiles of the training values, or the knots themselves.
Spacing = float | Literal["quantile"] | Sequence[float]


@dataclass(frozen=True)
class Knots:
    """Increasing positions c_0 = 0 to c_last = 1, with as many codes between two as fit into one or two bytes."""

    positions: Array

    @classmethod
    def spaced(cls, count: int, spacing: Spacing) -> Knots:
        """Return `count` knots: (q / (count − 1))^spacing, or the knots given."""
        if not 2 <= count <= 4096:
            raise ValueError(f"the number of knots must be between 2 and 4096; got {count}.")
        if isinstance(spacing, str):
            if spacing == "quantile":
                raise ValueError(
                    "spacing='quantile' needs training values: use it in AdditiveSVC, or call fitted_to(values)."
                )
            raise ValueError(f"spacing must be a power, 'quantile' or the knots themselves; got {spacing!r}.")
        if isinstance(spacing, Sequence):
            positions = np.asarray(spacing, dtype=np.float64)
            ends = positions.size == count and positions[0] == 0.0 and positions[-1] == 1.0
            if not ends or not (np.diff(positions) > 0.0).all():
                raise ValueError(f"spacing must be {count} knots that increase from 0 to 1; got {list(spacing)}.")
            return cls(positions)
        if not 0.0 < spacing < np.inf:
            raise ValueError(f"spacing must be a positive power; got {spacing}.")
        return cls(np.linspace(0.0, 1.0, count) ** spacing)

    @property
    def count(self) -> int:
        """Number of knots."""
        return self.positions.size

    @property
    def steps(self) -> int:
        """Codes per interval, S: the largest power of two for which all codes fit into one byte, or two."""
        codes = 256 if self.count <= 129 else 65536
        return 1 << ((codes - 1) // (self.count - 1)).bit_length() - 1

    def hats(self) -> PairTable:
        """Return the hat weights of every code."""
        return PairTable(self.steps, self.count)

    def grid(self) -> CodeGrid:
        """Return the codes: evenly spaced between two knots; each knot is a code."""
        codes = np.arange(self.steps * (self.count - 1) + 1) / self.steps
        return CodeGrid.nearest(np.interp(codes, np.arange(self.count), self.positions))


def quantile_knots(values: Array, count: int) -> tuple[float, ...]:
    """Knots at the quantiles of `values` in (0, 1]; if values repeat, the remaining knots go into the widest gaps."""
    inner = np.unique(np.quantile(values, np.arange(1, count - 1) / (count - 1))) if values.size else np.zeros(0)
    positions = np.concatenate([[0.0], inner[(inner > 0.0) & (inner < 1.0)], [1.0]])
    while positions.size < count:
        widest = int(np.diff(positions).argmax())
        positions = np.insert(positions, widest + 1, positions[widest : widest + 2].mean())
    return tuple(positions.tolist())
