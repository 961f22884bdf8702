"""LevelTable: a table of numbers and text without a data frame library, such as `kernline.io.read` returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..array_types import Indices, Labels, Numbers
from ..suggestions import did_you_mean


def text_refused(name: str) -> str:
    """The message of an estimator that takes only numbers."""
    return (
        f"Column {name} holds text, which this estimator does not take. Use AdditiveSVC, leave the column out, or "
        "convert it to numbers first."
    )


@dataclass(frozen=True, eq=False)
class LevelTable:
    """A matrix in which columns of text hold the number of each text, NaN where it is missing.

    `levels` are the texts of these columns, by the number of the column; `names` the names of all columns, if they have
    any. ``table["name"]`` is a column, and ``table[rows]`` the table of some rows.

    Examples
    --------
    >>> table = LevelTable(np.array([[1.5, 0.0], [2.5, np.nan]]), {1: ["red"]}, ["size", "colour"])
    >>> table["colour"]
    array(['red', None], dtype=object)
    >>> table[:1].shape
    (1, 2)
    """

    values: Numbers
    levels: Mapping[int, Sequence[str]] = field(default_factory=dict)
    names: list[str] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def columns(self) -> list[str]:
        """The names of the columns, "0", "1", … if they have none."""
        return self.names if self.names is not None else [str(j) for j in range(self.shape[1])]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, key: Any) -> LevelTable | Labels:
        """A column by its name; or some rows, as an index, a slice or a mask, also in the form ``table[rows, ...]``."""
        if isinstance(key, str):
            return self._column(self._place(key))
        if isinstance(key, tuple):
            key = key[0]
        return LevelTable(self.values[key], self.levels, self.names)

    def codes(self, j: int) -> Indices:
        """The number of the text in each row of a column of text, -1 where it is missing."""
        return np.nan_to_num(self.values[:, j], nan=-1.0).astype(np.int64)

    def select(self, names: Sequence[str]) -> LevelTable:
        """Return the table of these columns, in this order."""
        if list(names) == self.columns:
            return self
        places = [self._place(name) for name in names]
        levels = {k: self.levels[j] for k, j in enumerate(places) if j in self.levels}
        return LevelTable(self.values[:, places], levels, list(names))

    def _place(self, name: str) -> int:
        if name not in self.columns:
            near, listed = did_you_mean(name, self.columns), ", ".join(self.columns[:20])
            raise ValueError(f"There is no column {name!r}. {near}There are: {listed}.")
        return self.columns.index(name)

    def _column(self, j: int) -> Labels:
        if j not in self.levels:
            return self.values[:, j]
        return np.array([*self.levels[j], None], dtype=object)[self.codes(j)]

    def __array__(self, *_: object, **__: object) -> Numbers:
        """Return the matrix if all columns are numbers; those of texts would mean nothing to a model of numbers."""
        if not self.levels:
            return self.values
        name = self.columns[min(self.levels)]
        raise ValueError(text_refused(repr(name)))
