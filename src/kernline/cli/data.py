"""Read the data of a command: a file in any format, standard input, or a named data set."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from .errors import UsageError
from .files import check_exists, check_values, is_dataset
from .options import ReadingOptions
from .output import Output

if TYPE_CHECKING:
    from ..array_types import Array, CSRMatrix, Indices, Labels, Matrix
    from ..io import Data
    from ..io.rows import OnBlock
    from ..mapped.dataset import Dataset
    from .models import Model

    LabelSets: TypeAlias = list[tuple[str | float, ...]]
    Score: TypeAlias = Callable[[Any], list[Array]]

_TABS = {"tab": "\t", "\\t": "\t"}  # a tab is hard to type in a shell


class Rows(Protocol):
    """An `io.Data` of values, or of a `LevelTable`, which additive models take as X too.

    With --multilabel, y is a list of tuples; without labels, None.
    """

    X: Matrix
    y: Labels | LabelSets | None
    feature_names: list[str] | None
    qid: Indices | None
    n_skipped: int
    zero_based: bool | None
    target: str | int | None


@dataclass(frozen=True)
class DatasetRows:
    """Encoded rows of a file, as what a command reads: y are the distinct labels only."""

    X: Dataset
    n_skipped: int = 0
    qid: None = None

    @property
    def y(self) -> Labels | None:
        """The labels, each once."""
        return self.X.classes

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns."""
        names = self.X.feature_names
        return None if names is None else [str(name) for name in names]

    @property
    def zero_based(self) -> bool | None:
        """Whether svmlight indices begin at 0."""
        return self.X.origin[0]

    @property
    def target(self) -> str | int | None:
        """The column that became y."""
        return self.X.origin[1]


class LabelledRows(Rows, Protocol):
    """Rows with one label each."""

    y: Labels


@dataclass(frozen=True)
class Reading:
    """Reads data as the options say, and prints notes and warnings to `out`."""

    out: Output
    options: ReadingOptions

    def labelled(self, source: str, model: Model | None = None) -> LabelledRows:
        """Read rows with labels; with a `model`, the columns that it was trained on."""
        check_exists(source)
        check_values(source)
        self._check_target(source, model)
        data = self.rows(source, model, labels=True)
        if data.y is None:
            hint = " Pass --target with its label column." if data.zero_based is None else ""
            raise ValueError(f"{source} has no labels.{hint}")
        return cast("LabelledRows", data)

    def dataset(self, source: str, **settings: Any) -> Dataset:
        """Encode the rows of a file, without holding them all; `settings` are those of `Dataset`."""
        from ..mapped.dataset import Dataset

        check_exists(source)
        check_values(source)
        if source.startswith("@"):
            data = self._named(source[1:])
            return Dataset(data.X, data.y, n_jobs=self.options.threads, **settings)
        columns = self.options.columns.split(",") if self.options.columns is not None else None
        self._check_target(source, None)
        options = self._reading(source, self._target(None), columns, None, labels=True)
        categorical = options.pop("categorical")
        return Dataset(source, categorical="auto" if categorical is None else categorical, **settings, **options)

    def scored(self, source: str, model: Model, score: Score, *, labels: bool = False) -> tuple[Rows, list[Array]]:
        """Call `score` for some rows at a time, which are not kept; X of the result has no rows.

        Returns what the file holds besides its rows, and all that `score` returned for each block, joined.
        """
        import numpy as np

        found: list[list[Array]] = []
        last: list[Any] = []
        width = model.n_features_in_

        def add(X: Any) -> None:
            if X.shape[0]:  # the last block of a file may be empty
                last[:] = [X]
                found.append(score(self._as_wide(X, width, source, warn=False)))

        if is_dataset(source):
            data = self._encoded(source, found, score)
        elif source.startswith("@"):
            whole = self.rows(source, model, labels=labels)
            return whole, score(whole.X)
        else:
            with self._base_hint(model):
                data = self._file(source, model, labels=labels, on_block=add)
            if data.y is not None:
                _check_labels(data.y, source)
            if last:
                self._check_texts(data._replace(X=last[0]), model, source)
            self._as_wide(cast("Matrix", data.X), width, source)
            if not found and labels:
                raise ValueError(f"{source} has no rows to evaluate on.")
            if not found:
                found.append(score(self._as_wide(cast("Matrix", data.X), width, source, warn=False)))
        if labels and data.y is None:
            raise ValueError(f"{source} has no labels. Pass --target with its label column.")
        return cast("Rows", data), [np.concatenate(parts) for parts in zip(*found, strict=True)]

    def opened(self, source: str) -> Dataset:
        """Open a .kdata file. Options that say how to read values are refused: they were for `convert`."""
        from ..mapped.dataset import Dataset

        check_exists(source)
        given = [name for name in self.options.given() if name != "--target"]
        if given:
            raise UsageError(f"{source} is encoded already: {given[0]} applies to kernline convert.")
        dataset = Dataset.load(source, n_jobs=self.options.threads)
        target = dataset.origin[1]
        if self.options.target not in (None, str(target)):
            known = "has no label column" if target is None else f"has the labels of {target!r}"
            raise UsageError(f"{source} is encoded already and {known}: --target applies to kernline convert.")
        return dataset

    def _encoded(self, source: str, found: list[list[Array]], score: Score) -> Data:
        from ..io import Data

        dataset = self.opened(source)
        for part in dataset.read_ahead(dataset.parts, lambda _, part: part):
            found.append(score(part))
        return Data(dataset[:1], dataset.y)

    @contextmanager
    def _base_hint(self, model: Model | None) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            if self.options.zero_based is None and model is not None and "read as one-based" in str(error):
                error.add_note("The model was trained on a file whose indices start at 1.")
            raise

    def labelled_scores(self, source: str, model: Model, score: Score) -> tuple[LabelledRows, list[Array]]:
        """As `scored`, for rows that have labels."""
        check_exists(source)
        if not is_dataset(source):
            self._check_target(source, model)
        data, found = self.scored(source, model, score, labels=True)
        return cast("LabelledRows", data), found

    def rows(self, source: str, model: Model | None = None, *, labels: bool = False) -> Rows:
        """Read rows, with labels if there are any; with `labels`, the label column must exist."""
        check_values(source)
        with self._base_hint(model):
            data = self._named(source[1:]) if source.startswith("@") else self._file(source, model, labels=labels)
        if data.y is not None and (labels or model is not None):
            _check_labels(data.y, source)
        if model is not None:
            self._check_texts(data, model, source)
            data = data._replace(X=self._as_wide(cast("Matrix", data.X), model.n_features_in_, source))
        return cast("Rows", data)

    def _file(self, source: str, model: Model | None, *, labels: bool, on_block: OnBlock | None = None) -> Data:
        from .. import io

        check_exists(source)
        names = getattr(model, "feature_names_in_", None)
        options = self.options
        columns: Sequence[str] | None = options.columns.split(",") if options.columns is not None else None
        if columns is None and names is not None and self._is_table(source):
            columns = [str(name) for name in names]  # the file may have more, in another order
        target = self._target(model if self._is_table(source) else None)
        if options.target is None and isinstance(target, int) and not labels:
            target = None  # a table without labels may have a feature column at this number
        return io.read(source, **self._reading(source, target, columns, model, labels=labels), on_block=on_block)

    def _reading(
        self,
        source: str,
        target: str | int | None,
        columns: Sequence[str] | None,
        model: Model | None,
        *,
        labels: bool,
    ) -> dict[str, Any]:
        """The options of `io.read`."""
        options = self.options
        return {
            "format": self._format(source),
            "target": target,
            "target_required": labels or options.target is not None,
            "labels_required": labels or model is None,
            "columns": columns,
            "categorical": self._text_columns(source, model),
            "header": "auto" if options.header is None else options.header,
            "delimiter": _TABS.get(options.delimiter, options.delimiter) if options.delimiter is not None else None,
            "decimal": options.decimal,
            "multilabel": options.multilabel,
            "zero_based": self._zero_based(source, model),
            "on_error": "skip" if options.skip_bad else "raise",
            "n_jobs": options.threads,
        }

    def _listed_columns(self, source: str) -> str:
        """The names of the columns of a table, to continue a message; "" if it has none."""
        from ..io.table import NoTargetError, listed

        nothing = replace(self.options, target="\0")  # no column has this name
        try:
            replace(self, options=nothing)._file(source, None, labels=True)
        except NoTargetError as error:
            return f": {listed(error.columns)}"
        except (ValueError, OSError):  # reported once the target is given
            return ""
        return ""

    def _text_columns(self, source: str, model: Model | None) -> list[str] | None:
        """Columns to read as text: those given, and those that were text when the model was trained."""
        if self.options.categorical is not None:
            return self.options.categorical.split(",")
        return list(self._trained_texts(source, model)) or None

    def _trained_texts(self, source: str, model: Model | None) -> dict[str, Labels]:
        """The columns of a table that were text when the model was trained, with their levels."""
        names, shapes = getattr(model, "feature_names_in_", None), getattr(model, "shapes_", None)
        if names is None or shapes is None or not self._is_table(source):
            return {}
        columns = shapes.encoder.columns
        return {str(names[j]): levels for j, levels in zip(columns.of_text, columns.levels, strict=True)}

    def _check_texts(self, data: Data, model: Model, source: str) -> None:
        """Raise an error if a column that was text in training now holds only numbers, as for a data frame."""
        from ..encoding import LevelTable
        from ..encoding.columns import check_kind
        from ..encoding.frames import number_of

        if not isinstance(data.X, LevelTable):
            return
        for name, known in self._trained_texts(source, model).items():
            texts = data.X.levels.get(data.X.columns.index(name), ())
            if texts and all(number_of(text) is not None for text in texts):
                check_kind(known, texts[0], repr(name))

    def _kind(self, source: str) -> str:
        """The format of a file; "" for a named data set."""
        from .. import io

        return "" if source.startswith("@") else io.format_of(source, self._format(source), self.options.delimiter)

    def _format(self, source: str) -> str:
        """The format given, or CSV if options or the first line show a table and the file name shows nothing."""
        from ..io.formats import DEFAULT_DELIMITED, looks_delimited, shows_format
        from ..io.streams import first_bytes

        options = self.options
        if options.format != "auto" or shows_format(source):
            return options.format
        of_tables = (options.target, options.columns, options.categorical, options.header)
        is_table = options.decimal != "." or any(given is not None for given in of_tables)
        is_sparse = options.multilabel or options.zero_based is not None
        if is_table or (not is_sparse and looks_delimited(first_bytes(source))):
            return DEFAULT_DELIMITED
        return options.format

    def _is_table(self, source: str) -> bool:
        from .. import io

        kind = self._kind(source)
        return kind in io.FORMATS and io.FORMATS[kind].is_table

    def _target(self, model: Model | None) -> str | int | None:
        """The label column: given by --target, or remembered by the model."""
        named = self.options.target
        if named is not None:
            return int(named) if re.fullmatch(r"-?\d+", named) else named
        remembered = getattr(model, "target_name_", None)
        return remembered if type(remembered) in (str, int) else None

    def _check_target(self, source: str, model: Model | None) -> None:
        """Raise an error if a table has labels, and nothing says in which column."""
        if self._target(model) is None and self._is_table(source):
            raise UsageError(f"{source} is a table. Pass --target with its label column{self._listed_columns(source)}.")

    def _zero_based(self, source: str, model: Model | None) -> bool | Literal["auto"]:
        """Where indices start: as given, or as in the training file, since a few rows may not show it."""
        base = self.options.zero_based
        if base is None and self._kind(source) == "svmlight":
            base = getattr(model, "zero_based_", None)
        return base if isinstance(base, bool) else "auto"

    def _named(self, name: str) -> Data:
        """Read a named data set: usps is the training part, usps.t the test part."""
        from .. import datasets
        from ..io import Data

        test = name not in datasets.CATALOGUE and name.endswith(".t")
        whole = name.removesuffix(".t") if test else name
        if datasets.is_split(whole):
            part, other = ("30 %", f"@{whole} has the rest") if test else ("70 %", f"@{whole}.t has the rest")
            self.out.note(f"@{name}: {part} of the rows, chosen at random with a fixed seed; {other}.")
        return Data(*datasets.load_part(whole, test=test))

    def _as_wide(self, X: Matrix, n_features: int, source: str, *, warn: bool = True) -> Matrix:
        """Make sparse rows as wide as the model; features that it was not trained on are ignored, as in LIBSVM."""
        from ..array_types import is_sparse

        # A named data set is treated as if it had been read from a LIBSVM file.
        is_wide = is_sparse(X) or source.startswith("@") or self._kind(source) == "svmlight"
        if X.shape[1] == n_features or not is_wide:
            return X
        if warn and X.shape[1] > n_features:
            extra = X.shape[1] - n_features
            self.out.warn(f"{source} has {extra} features beyond the {n_features} of the model; they are ignored.")
        return resized(X, n_features)


def resized(X: Matrix, n_features: int) -> CSRMatrix:
    """Sparse rows with this many columns: new ones are zero, surplus ones are dropped."""
    from scipy.sparse import csr_array

    out = csr_array(X)
    out.resize((X.shape[0], n_features))
    return cast("CSRMatrix", out)


def _check_labels(y: Labels | LabelSets, source: str) -> None:
    """Reject labels that cannot be stored in a model file, such as dates, before training starts."""
    from ..model_files.tensor_file import storable

    if isinstance(y, list) or storable(y.dtype) or y.dtype.kind == "U":
        return
    other = next((type(label).__name__ for label in y.tolist() if not isinstance(label, str | None)), None)
    if y.dtype.kind != "O" or other is not None:
        kind = y.dtype if y.dtype.kind != "O" else other
        raise ValueError(
            f"{source}: the labels have type {kind}, but must be numbers or text. Convert the column first."
        )


def labelled_part(predictions: Labels, y: Labels | LabelSets | None) -> tuple[Labels, Labels | None]:
    """The predictions and labels of the rows that have a label; None for the labels if no row has one."""
    import numpy as np

    if y is None or isinstance(y, list) or y.dtype.kind not in "fO" or len(y) != len(predictions):
        return predictions, None if y is None else np.asarray(y)
    present = ~np.isnan(y) if y.dtype.kind == "f" else np.array([label is not None for label in y])
    rows = present.reshape(len(y), -1).all(axis=1)
    return predictions[rows], y[rows] if rows.any() else None
