"""Tables read by pyarrow, a batch of rows at a time: named columns, one of which may be the target."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Labels, Matrix, Numbers
from ..encoding import EncodedData, LevelTable
from ..suggestions import did_you_mean
from .damage import parsing
from .formats import Data, ReadSettings
from .labels import text_labels, with_gaps
from .rows import PassedRows
from .text_columns import Levels

if TYPE_CHECKING:
    import pyarrow as pa

    from .arrow_types import Column, DataType, Schema

_TEXT_TYPES = ("string", "large_string", "string_view")
REMEDY = (
    "Leave it out with columns=, read it as text with categorical=, make it the target=, or convert it to numbers "
    "first."
)


def pyarrow(what: str, module: str = "pyarrow", action: str = "Reading") -> ModuleType:
    """Return the module, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{action} {what} needs pyarrow: pip install 'kernline[io]'.") from error


class NoTargetError(ValueError):
    """None of the `columns` is the target."""

    def __init__(self, message: str, columns: list[str]) -> None:
        super().__init__(message)
        self.columns = columns


class Table:
    """An open table. Its batches are columns of some rows at a time, first the features, then the target."""

    named = True  # whether the columns have names of their own

    def __init__(self, name: str, columns: list[str], settings: ReadSettings) -> None:
        if len(set(columns)) < len(columns):
            (repeated, _), *_ = Counter(columns).most_common(1)
            raise ValueError(f"{name}: two columns are called {repeated!r}.")
        self.name = name
        self.target = _target(name, columns, settings)
        self.features = _features(name, columns, self.target, settings.columns)
        self.wanted = [*self.features, *([self.target] if self.target is not None else [])]
        if not self.wanted:
            raise ValueError(f"{name}: no column is left to be read. There are: {listed(columns) or 'none'}.")
        self.labels: list[Column] = []
        self.text: dict[str, Levels] = {}  # features that are text
        self.forced = set(settings.categorical or ())
        self.encoder, self.labels_required = settings.encoder, settings.labels_required
        if unknown := sorted(self.forced - set(self.features)):
            near = did_you_mean(unknown[0], self.features)
            raise ValueError(
                f"{name}: no column {unknown[0]!r} to be a category. {near}There are: {listed(self.features)}."
            )

    def blocks(self, batches: Iterator[Sequence[Column]], dtype: np.dtype[np.generic]) -> Iterator[Numbers]:
        """Features as dense blocks, in which missing values are NaN; labels are kept for `y`."""
        for columns in batches:
            double = pyarrow("a table").float64()
            if self.target is not None:
                self.labels.append(columns[-1])
            block = np.empty((len(columns[0]) if columns else 0, len(self.features)), dtype=dtype)
            with parsing(self.name):
                for j, feature in enumerate(self.features):
                    levels = self.text.get(feature)
                    block[:, j] = _numbers(columns[j], double) if levels is None else levels.numbers(columns[j])
            yield block

    def y(self) -> Labels | None:
        """The target column, in the type of its values, once all blocks have been read."""
        if self.target is None:
            return None
        pa = pyarrow("a table")
        with parsing(self.name):
            column = pa.chunked_array(self.labels) if self.labels else pa.chunked_array([[]], type=pa.int64())
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            found = column.drop_null()
            y = text_labels(found.to_pylist()) if str(column.type) in _TEXT_TYPES else found.to_numpy()
        self.check_labelled(column.null_count)
        return with_gaps(y, column.is_valid().to_numpy()) if column.null_count else y

    def check_labelled(self, n_missing: int) -> None:
        """Raise an error if rows have no label but must have one."""
        if n_missing and self.labels_required:
            raise ValueError(f"{self.name}: the target column {self.target!r} lacks {n_missing} of its values.")

    def check_types(self, schema: Schema) -> None:
        """Refuse features that are neither numbers nor text, and a target of a nested type, before a value is read."""
        for feature in self.features:
            if self._is_text(feature, schema.field(feature).type):
                self.add_text(feature)
        if self.target is not None and pyarrow("a table").types.is_nested(schema.field(self.target).type):
            kind = schema.field(self.target).type
            raise ValueError(
                f"{self.name}: the target column {self.target!r} is of type {kind}; labels must be numbers or text."
            )

    def add_text(self, feature: str, missing: Sequence[str] = ("",)) -> None:
        """Read a feature as text."""
        known = None
        if self.encoder is not None:
            known = self.encoder.columns.names(self.features.index(feature))
            if known is None:
                raise ValueError(
                    f"{self.name}: column {feature!r} holds text, and the encoder was fitted on numbers there."
                )
        self.text[feature] = Levels(known, missing)

    def _is_text(self, feature: str, kind: DataType) -> bool:
        """Whether a column is read as text; an error if it is neither that nor numbers."""
        types = pyarrow("a table").types
        if feature in self.forced or types.is_dictionary(kind) or str(kind) in _TEXT_TYPES:
            return True
        numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
        if not any(is_kind(kind) for is_kind in numeric):
            raise ValueError(f"{self.name}: column {feature!r} is of type {kind}, not of numbers or text. {REMEDY}")
        return False


def read_table(table: Table, batches: Iterator[Sequence[Column]], settings: ReadSettings) -> Data:
    """Read all batches of a table."""
    rows = settings.rows(table.name, len(table.features))
    for block in table.blocks(batches, settings.dtype):
        if isinstance(rows, PassedRows) and table.text:
            rows.append(LevelTable(block, _levels_of(table), table.features if table.named else None))
        else:
            rows.append(block)
    y = table.y()
    target = table.target if table.named or table.target is None else int(table.target)
    names = table.features if table.named else None
    X: Matrix | EncodedData | LevelTable = rows.result()
    if table.text and isinstance(X, np.ndarray):
        X = LevelTable(X, _levels_of(table), names)
    return Data(X, y, names, target=target)


def _levels_of(table: Table) -> dict[int, list[str]]:
    """The texts found so far in the columns of text."""
    return {table.features.index(name): [*of.number] for name, of in table.text.items()}


def _numbers(column: Column, double: DataType) -> Numbers:
    """The values of a column as float64, with NaN for missing values."""
    values = column if column.type == double else column.cast(double, safe=False)
    return values.to_numpy(zero_copy_only=False)


def arrow_buffer(content: bytes | memoryview) -> pa.Buffer:
    """A copy in memory that Arrow allocated, to pass to Arrow's readers.

    Their threads may outlive the call, and a thread that releases the last reference to a Python object while the
    process exits aborts it.
    """
    buffer = pyarrow("Arrow").allocate_buffer(len(content))
    memoryview(buffer).cast("B")[:] = content
    return buffer


def _target(name: str, names: list[str], settings: ReadSettings) -> str | None:
    target = settings.target
    if target is None or (target not in names and isinstance(target, str) and not settings.target_required):
        return None
    if isinstance(target, str) and target in names:
        return target
    if not isinstance(target, str) and -len(names) <= target < len(names):
        return names[target]
    raise NoTargetError(
        f"{name}: no column {target!r} to be the target. {did_you_mean(target, names)}There are: {listed(names)}.",
        names,
    )


def _features(name: str, names: list[str], target: str | None, columns: Sequence[str] | None) -> list[str]:
    if columns is None:
        return [column for column in names if column != target]
    known = set(names)
    unknown = [column for column in columns if column not in known]
    if unknown:
        raise ValueError(
            f"{name}: no column {unknown[0]!r}. {did_you_mean(unknown[0], names)}There are: {listed(names)}."
        )
    if target in columns:
        raise ValueError(f"columns= contains {target!r}, which is the target.")
    return list(columns)


def listed(names: list[str]) -> str:
    """Names for a message: the first ones, and how many more there are."""
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
