"""The data a command works on: a file in any format, standard input, or a named data set."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UsageError
from .options import ReadingOptions
from .output import Output

_TABS = {"tab": "\t", "\\t": "\t"}  # what shells make hard to type


@dataclass(frozen=True)
class Reading:
    """Reads files as the options say, and reports what is unusual about them."""

    out: Output
    options: ReadingOptions

    def labelled(self, source: str, model: Any = None) -> Any:
        """Rows with labels; `model`: with the columns it was trained on."""
        check_exists(source)
        if self._target(model) is None and self._is_table(source):
            raise UsageError(f"{source} is a table: name its column of labels by --target.")
        data = self.rows(source, model, labels=True)
        if data.y is None:
            raise ValueError(f"{source} has no labels.")
        return data

    def rows(self, source: str, model: Any = None, *, labels: bool = False) -> Any:
        """Rows, with labels if there are any; `labels`: the column of them that the model remembers must exist."""
        try:
            data = self._named(source[1:]) if source.startswith("@") else self._file(source, model, labels=labels)
        except ValueError as error:
            if self.options.zero_based is None and model is not None and "read as one-based" in str(error):
                error.add_note("The model was trained on a file whose indices begin at 1.")
            raise
        if data.y is not None and (labels or model is not None):
            _check_labels(data.y, source)
        return data if model is None else data._replace(X=self._as_wide(data.X, model.n_features_in_, source))

    def _file(self, source: str, model: Any, *, labels: bool) -> Any:
        from .. import io

        check_exists(source)
        names = getattr(model, "feature_names_in_", None)
        options = self.options
        columns: Sequence[str] | None = options.columns.split(",") if options.columns is not None else None
        if columns is None and names is not None and self._is_table(source):
            columns = [str(name) for name in names]  # a file may hold more, in another order
        target = self._target(model if self._is_table(source) else None)
        if options.target is None and isinstance(target, int) and not labels:
            target = None  # in a table without names and without labels, another column has this number
        return io.read(
            source,
            format=options.format,
            target=target,
            target_required=labels or options.target is not None,
            columns=columns,
            header="auto" if options.header is None else options.header,
            delimiter=_TABS.get(options.delimiter, options.delimiter) if options.delimiter is not None else None,
            multilabel=options.multilabel,
            zero_based=self._zero_based(source, model),
            on_error="skip" if options.skip_bad else "raise",
            n_jobs=options.threads,
        )

    def _kind(self, source: str) -> str:
        """The format of a file; "" for a named data set."""
        from .. import io

        return "" if source.startswith("@") else io.format_of(source, self.options.format, self.options.delimiter)

    def _is_table(self, source: str) -> bool:
        from .. import io

        return self._kind(source) in io.TABLES

    def _target(self, model: Any) -> str | int | None:
        """The column of labels: as named by the user, or as the model remembers it from its training."""
        named = self.options.target
        if named is not None:
            return int(named) if re.fullmatch(r"-?\d+", named) else named
        remembered = getattr(model, "target_name_", None)
        return remembered if type(remembered) in (str, int) else None

    def _zero_based(self, source: str, model: Any) -> Any:
        """Where indices begin: as said, or as in the file the model was trained on, for few rows may not show it."""
        base = self.options.zero_based
        if base is None and self._kind(source) == "svmlight":
            base = getattr(model, "zero_based_", None)
        return base if isinstance(base, bool) else "auto"

    def _named(self, name: str) -> Any:
        """@usps is the training part, @usps.t the test part."""
        from .. import datasets
        from ..io import Data

        test = name not in datasets.CATALOGUE and name.endswith(".t")
        whole = name.removesuffix(".t") if test else name
        if datasets.is_split(whole):
            part, other = ("30 %", f"@{whole} is the rest") if test else ("70 %", f"@{whole}.t is the rest")
            self.out.note(f"@{name}: {part} of its rows, chosen at random with a fixed seed; {other}.")
        return Data(*datasets.load_part(whole, test=test))

    def _as_wide(self, X: Any, n_features: int, source: str) -> Any:
        """Rows of a sparse file may end early, or have features that the model never saw, as in LIBSVM."""
        if X.shape[1] == n_features:
            return X
        if source.startswith("@") and not hasattr(X, "indptr"):  # its LIBSVM file would be as narrow as its rows
            from scipy.sparse import csr_array

            X = csr_array(X)
        if not hasattr(X, "indptr"):
            return X
        if X.shape[1] > n_features:
            extra = X.shape[1] - n_features
            self.out.warn(f"{source} has {extra} features beyond the {n_features} of the model; they are left out.")
        X.resize((X.shape[0], n_features))
        return X


def _check_labels(y: Any, source: str) -> None:
    """Refuse labels that no model file holds, such as dates, before hours go into training."""
    from ..model_files.tensor_file import storable

    if isinstance(y, list) or storable(y.dtype) or y.dtype.kind == "U":
        return
    other = next((type(label).__name__ for label in y.tolist() if not isinstance(label, str)), None)
    if y.dtype.kind != "O" or other is not None:
        kind = y.dtype if y.dtype.kind != "O" else other
        raise ValueError(
            f"{source}: the labels are of type {kind}, and must be numbers or text. Convert the column first."
        )


def check_not_input(path: Path, *inputs: str) -> None:
    """Refuse to overwrite a file that the command reads."""
    for given in inputs:
        if path.is_file() and Path(given).exists() and path.samefile(given):
            raise UsageError(f"OUTPUT would overwrite {given}. Name another file.")


def check_exists(source: str) -> None:
    """Refuse a path that leads nowhere, before anything else is said of it."""
    if source != "-" and not source.startswith("@") and not Path(source).exists():
        raise FileNotFoundError(f"{source}: no such file. Named data sets begin with @ (kernline datasets list).")


def is_model(path: str) -> bool:
    """Whether this is a model file, by how it begins: the length of a header, and its brace."""
    if not os.path.isfile(path):  # what is read from a pipe to find out would be lost to who reads the data
        return False
    try:
        with open(path, "rb") as stream:
            start = stream.read(9)
    except OSError:
        return False
    return len(start) == 9 and start[8:] == b"{" and int.from_bytes(start[:8], "little") < 1 << 32


def model_and_data(first: str, second: str) -> tuple[str, str]:
    """Which is which: ours is model before data, LIBSVM's is data before model."""
    if not is_model(first) and is_model(second):
        return second, first
    return first, second


def load_model(path: str) -> Any:
    """A model from its file."""
    import kernline

    return kernline.load(path)
