"""The parts of pyarrow's objects that this package uses, for type checkers: pyarrow has no type hints."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from ..array_types import Numbers


class DataType(Protocol):
    """A type of values, such as ``pyarrow.float64()``."""


class Scalar(Protocol):
    """One value of a column."""

    def as_py(self) -> str | float:
        """The value as an object of Python."""


class Column(Protocol):
    """A ``pyarrow.Array``."""

    type: DataType

    def __len__(self) -> int: ...

    def __getitem__(self, row: int) -> Scalar: ...

    def cast(self, target_type: DataType, safe: bool = ...) -> Column:
        """The values in another type."""

    def filter(self, mask: Column) -> Column:
        """The values where `mask` is true."""

    def slice(self, offset: int) -> Column:
        """The values from a row on."""

    def dictionary_encode(self) -> DictionaryColumn:
        """The distinct values, and the number of each row's."""

    def fill_null(self, value: float) -> Column:
        """The values, with one in place of nulls."""

    def to_numpy(self, zero_copy_only: bool = ...) -> Numbers:
        """The values as an array."""

    def to_pylist(self) -> list[str]:
        """The values of a column of text."""


class DictionaryColumn(Column, Protocol):
    """A ``pyarrow.DictionaryArray``."""

    indices: Column
    dictionary: Column


class Field(Protocol):
    """A column's name and type."""

    type: DataType


class Schema(Protocol):
    """The names and types of all columns."""

    names: list[str]

    def field(self, name: str) -> Field:
        """A column's name and type."""


class RecordBatch(Protocol):
    """Some rows of a table."""

    columns: list[Column]
    num_rows: int

    def select(self, columns: Sequence[str]) -> RecordBatch:
        """Some columns."""

    def slice(self, offset: int, length: int) -> RecordBatch:
        """Some rows."""

    def validate(self, *, full: bool) -> None:
        """Check that offsets and texts are valid."""


class BatchWriter(Protocol):
    """A writer of a table, as a context manager."""

    def __enter__(self) -> BatchWriter: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def write_batch(self, batch: RecordBatch) -> None:
        """Write some rows."""


class InvalidRow(Protocol):
    """A row of a CSV file with too few or too many fields."""

    expected_columns: int
    actual_columns: int
    number: int
