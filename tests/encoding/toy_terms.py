"""Terms from outside the package: a file each, or one for both, and a line that registers them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernline.encoding import Axis, TableTerm, Term, register


@register
@dataclass(frozen=True)
class Compass(Term):
    """A direction in degrees: the nearest of some sectors, and u = 1 in its middle to 1/2 at its ends."""

    kind: ClassVar[str] = "compass"

    columns: tuple[int, ...]
    n_sectors: int

    @classmethod
    def fit(cls, columns, values, n_sectors=8):
        return cls(columns, n_sectors)

    @property
    def n_columns(self):
        return self.n_sectors

    def cells(self, values):
        turns = values[:, 0] / 360.0 * self.n_sectors
        sector = np.round(turns)
        return sector.astype(np.int64) % self.n_sectors, 1.0 - np.abs(turns - sector)

    def check(self):
        if type(self.n_sectors) is not int or not 1 <= self.n_sectors <= 360:
            raise ValueError(f"a compass of {self.n_sectors!r:.50} sectors.")


@register
class Sign(TableTerm):
    """A weight below zero, and one from zero on. As it is a table, it is exported without further code."""

    kind = "sign"
    axis_kinds = (("bins",),)

    @classmethod
    def fit(cls, columns, values):
        return cls(columns, (Axis("bins", np.zeros(1)),))
