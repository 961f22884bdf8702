"""`Dataset`: rows that are encoded once, in memory or in a file, with their labels, weights, names and encoder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import tables, training
from ..array_types import Array, Labels, Numbers
from ..encoding import SCALES, EncodedData, Encoder, Scale
from ..io.rows import EncodedRows
from ..kernels import AdditiveKernel
from ..memory import check_memory
from ..randomness import RandomState, seed_of
from ..table_input import TableRules
from ..table_summary import TableSummary
from ..threads import thread_count
from ..validation import Names
from . import building
from .sources import source_of

if TYPE_CHECKING:
    from .file import ChunkFile, Description

# Codes that are trained on together, if there are more.
PART_BYTES = 1 << 26

_MISSING = ("own", "error")

T = TypeVar("T")


class Dataset:
    """Rows that are encoded once, a byte per value or less, for any number of fits.

    Parameters
    ----------
    data : array, sparse matrix, data frame, path, or iterable of batches
        A path is that of a file which ``kernline.io.read`` reads. Batches are X, (X, y) or (X, y, weight), each like
        `data`, and have the same columns. They are read twice, first for the ranges, ranks and categories of the
        columns, then for the codes: pass a list, or an object whose ``__iter__`` starts again. All batches are never
        in memory at once.
    y, sample_weight : array, default=None
        Labels or numbers to predict, and weights, for arrays and data frames.
    kernel, approximation, scale, p, categorical, missing : as in AdditiveSVC
        The encoder must suit the model, so pass those of the model. "auto" chooses as a fit to the values would, and a
        model that leaves them at "auto" takes those of its Dataset.
    batches : bool, default=None
        Whether `data` is an iterable of batches. None: a list, tuple or other object without a shape is, unless it is a
        list of numbers.
    random_state : int, RandomState or None, default=0
        Seed of the sample of rows that ranks are computed from (encoding/summaries.py states their error).
    n_jobs : int or None, default=None
        Threads that encode. None is one, -1 all.
    **options
        Of ``kernline.io.read``, such as ``target="species"``, for a file.

    Attributes
    ----------
    checkpoint : path or None
        Set it, and a fit that reads the rows part by part writes its state to this file, at the end of a pass and at
        most once a minute. Should it be killed, the same fit continues from there, with the same result. The file is
        removed when the fit is done.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from kernline import AdditiveSVC, Dataset
    >>> class Batches:
    ...     def __iter__(self):
    ...         for seed in range(10):
    ...             X = np.random.default_rng(seed).random((100, 3))
    ...             yield X, X[:, 0] > X[:, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Dataset(Batches()).save(os.path.join(folder, "rows.kdata"))
    ...     data = Dataset.load(os.path.join(folder, "rows.kdata"))
    ...     model = AdditiveSVC().fit(data)
    ...     accuracy = np.mean(model.predict(data) == data.y)
    >>> data.shape, bool(accuracy > 0.9)
    ((1000, 3), True)
    """

    def __init__(
        self,
        data: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        kernel: str | AdditiveKernel = "auto",
        approximation: str | tables.Approximation = "hats",
        scale: Scale | Literal["auto"] = "auto",
        p: float = -8.0,
        categorical: Any = "auto",
        missing: Literal["own", "error"] = "own",
        batches: bool | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        **options: Any,
    ) -> None:
        for name, given, known in (("scale", scale, ("auto", *SCALES)), ("missing", missing, _MISSING)):
            if given not in known:
                raise ValueError(f"{name}={given!r}: choose one of {', '.join(map(repr, known))}.")
        n_threads, seed = thread_count(n_jobs), seed_of(random_state)
        if isinstance(data, str | os.PathLike) and isinstance(categorical, list | tuple):
            # A file is read with these columns as text, which makes them categories.
            options, categorical = options | {"categorical": list(categorical)}, "auto"
        in_batches = _are_batches(data) if batches is None else batches
        self._source = source_of(data, y, sample_weight, options, in_batches=in_batches)
        ranks = scale in ("auto", "rank") or getattr(approximation, "spacing", None) == "quantile"
        table = TableSummary(TableRules(categorical, missing), ranks=ranks, seed=seed)
        self._found = building.summarise(self._source, table, n_threads)
        settings = building.settings_of(self._found, kernel, approximation, scale, p, seed, n_threads)
        encoder = training.encoder_of(table, settings, Names(None, table.names))
        if encoder.payload is not None:
            raise ValueError("approximation='pmsvm' has no codes. Pass the values to fit.")
        self._begin(self._description(encoder, settings), n_threads)

    def _begin(self, described: Description, n_threads: int) -> None:
        """Set what every Dataset has."""
        self._described, self._n_threads = described, n_threads
        self._rows: EncodedData | None = None
        self._file: ChunkFile | None = None
        self.part_bytes = PART_BYTES
        self.checkpoint: str | os.PathLike[str] | None = None

    def _description(self, encoder: Encoder, settings: training.AdditiveSettings) -> Description:
        from .file import CHUNK_BYTES, Description, chunk_rows_of

        found = self._found
        known = found.table.known
        n_cells = int(known.n_nonzero.sum()) + known.n_rows * len(encoder.terms)
        dense = not known.sparse
        limits = np.column_stack([known.minimum, known.maximum]) if dense and encoder.clips else np.zeros((0, 2))
        return Description(
            encoder=encoder,
            kernel=settings.kernel,
            scale=settings.scale,
            n_rows=known.n_rows,
            chunk_rows=chunk_rows_of(encoder, known.n_rows, n_cells, CHUNK_BYTES),
            names=found.table.names,
            classes=found.classes,
            has_labels=bool(found.has_labels),
            has_weights=known.is_weighted,
            limits=limits,
            booleans=known.booleans if dense else np.zeros(0, dtype=np.bool_),
            zero_based=found.tail.zero_based,
            target=found.tail.target,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, n_jobs: int | None = None) -> Dataset:
        """Open a file that `save` wrote. Rows are read when they are needed, and checked then.

        A truncated or damaged file, or one of another version, raises ValueError: here if its header shows it, else
        when the damaged rows are read.
        """
        from .file import ChunkFile

        n_threads = thread_count(n_jobs)
        file = ChunkFile(path, n_threads)
        dataset = cls.__new__(cls)
        dataset._begin(file.described, n_threads)
        dataset._file = file
        return dataset

    @classmethod
    def _of_codes(cls, described: Description, rows: EncodedData, y: Numbers, weight: Array | None) -> Dataset:
        """Codes in memory, with labels as they are stored."""
        dataset = cls.__new__(cls)
        dataset._begin(described, n_threads=1)
        dataset._rows = rows
        dataset._vectors = {"y": y} if weight is None else {"y": y, "weight": weight}
        return dataset

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the codes to a file, atomically, and use that from here on. The source is read a second time for it.

        Memory is bounded by a batch and a chunk of 16 MB. No space on the disk raises OSError and leaves no file.
        """
        from ..io.atomic import replacing

        with replacing(path) as file:
            if not file.seekable():
                raise OSError(f"{os.fspath(path)} is not a regular file, and encoded rows need one.")
            self._write(file)
        self._open(path)

    def spool(self, folder: str | os.PathLike[str] | None = None) -> None:
        """Write the codes to a file without a name, in this folder, which disappears with the process."""
        from ..io.atomic import errors_of

        with errors_of(folder or tempfile.gettempdir()), tempfile.TemporaryFile(dir=folder) as file:
            self._write(cast(BinaryIO, file))
            file.flush()
            self._open(os.dup(file.fileno()))

    def _open(self, path: str | os.PathLike[str] | int) -> None:
        """Use this file from here on."""
        from .file import ChunkFile

        before, opened = self._file, ChunkFile(path, self._n_threads)  # after an error, the former file is used
        self._file, self._rows, self._described = opened, None, opened.described
        if before is not None:
            before.close()

    def _write(self, file: BinaryIO) -> None:
        from .file import ChunkWriter

        encoder = self.encoder
        n_cells = self.n_rows * encoder.n_columns
        if encoder.packed and self._file is None:
            n_cells = int(self._found.table.known.n_nonzero.sum()) + self.n_rows * len(encoder.terms)
        elif encoder.packed and self._file is not None:
            n_cells = sum(map(self._file.n_cells, range(self._described.n_chunks)))
        writer = ChunkWriter(file, self._described, n_cells)
        self._encode(writer.add)
        writer.finish()

    def _encode(self, on_codes: building.OnCodes) -> None:
        """Pass on all rows."""
        if self._file is None:
            building.encode(self._source, self._found, self.encoder, on_codes, self._n_threads)
            return
        for k in range(self._described.n_chunks):
            y = self._file.labels(k) if self._described.has_labels else None
            on_codes(self._file.chunk(k), y, self._file.weight(k) if self._described.has_weights else None)

    @property
    def encoder(self) -> Encoder:
        """The encoder of the rows, for ``io.read(encoder=)``."""
        return self._described.encoder

    @property
    def kernel(self) -> AdditiveKernel:
        """The kernel that the rows were encoded for."""
        return self._described.kernel

    @property
    def scale(self) -> str:
        """How values reach [0, 1]."""
        return self._described.scale

    @property
    def n_rows(self) -> int:
        """Rows."""
        return self._described.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns of the data before it was encoded."""
        return self.n_rows, self.encoder.n_features

    def __len__(self) -> int:
        return self.n_rows

    __iter__ = None  # rows are not values, and not single

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError("a Dataset holds codes; this estimator or method needs values.")

    @property
    def feature_names(self) -> Labels | None:
        """The names of the columns, if they have any."""
        return self._described.names

    @property
    def y(self) -> Labels | None:
        """Labels, or numbers to predict, as they were given."""
        stored, classes = self.stored_y, self._described.classes
        return stored if stored is None or classes is None else classes[stored]

    @property
    def classes(self) -> Labels | None:
        """The distinct labels in order; None if y are numbers of more than 65,536 values, or if there is none."""
        return self._described.classes

    @property
    def stored_y(self) -> Numbers | None:
        """The number of each row's label among `classes`, one or two bytes each; or y itself without `classes`."""
        if not self._described.has_labels:
            return None
        return self._collected("y", lambda file, k: file.labels(k))

    @property
    def sample_weight(self) -> Array | None:
        """The weights, if there are any."""
        return self._collected("weight", lambda file, k: file.weight(k)) if self._described.has_weights else None

    def _collected(self, name: str, read: Callable[[ChunkFile, int], Numbers]) -> Numbers:
        """Labels or weights of all rows."""
        if self._file is not None:
            return np.concatenate([read(self._file, k) for k in range(self._described.n_chunks)])
        self.hold()
        return self._vectors[name]

    @property
    def rows(self) -> EncodedData:
        """All codes in memory; estimators take them as X."""
        return self.hold()

    def hold(self) -> EncodedData:
        """Read all codes into memory, and keep them: fits are then no longer part by part."""
        if self._rows is None and self._file is not None:
            check_memory(f"The codes of {self.n_rows:,} rows", self.n_rows * self.bytes_per_row)
            self._rows = self[:]
        elif self._rows is None:
            self._rows, self._vectors = self._encoded()
        return self._rows

    def _encoded(self) -> tuple[EncodedData, dict[str, Numbers]]:
        """The codes of the source, its weights, and its labels if it has any."""
        collected, y, weight = EncodedRows(self.encoder, self._n_threads), [], []

        def add(data: EncodedData, labels: Numbers | None, weights: Array | None) -> None:
            collected.append_codes(data)
            y.append(labels)
            weight.append(np.ones(data.n_rows) if weights is None else weights)

        self._encode(add)
        vectors = {"weight": np.concatenate(weight)}
        if self._described.has_labels:
            vectors["y"] = np.concatenate(y)  # type: ignore[arg-type]
        return collected.result(), vectors

    def __getitem__(self, rows: Any) -> EncodedData:
        """Consecutive rows, read from the file."""
        if isinstance(rows, int | np.integer):
            raise TypeError("a Dataset has no single rows. Pass a slice, such as dataset[3:4].")
        if self._rows is not None or self._file is None:
            return self.rows[rows]
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise ValueError("a Dataset in a file has slices of consecutive rows only.")
        begin, end, _ = rows.indices(self.n_rows)
        size = self._described.chunk_rows
        first, last = begin // size, max(begin // size, (end - 1) // size)
        found, offset = self._file.chunks(first, last), first * size
        return found if (begin - offset, end - begin) == (0, found.n_rows) else found[begin - offset : end - offset]

    @property
    def bytes_per_row(self) -> float:
        """About what the codes of a row take."""
        from .file import CHUNK_BYTES

        if not self.encoder.packed:
            return float(self.encoder.n_columns * np.dtype(self.encoder.cell_type).itemsize)
        return CHUNK_BYTES / self._described.chunk_rows

    @property
    def is_in_parts(self) -> bool:
        """Whether a fit reads the rows part by part: they are in a file, and more than a part."""
        return self._file is not None and self._rows is None and len(self.parts) > 1

    @property
    def digest(self) -> str:
        """A SHA-256 that is that of another file only if its rows, labels and encoder are the same."""
        assert self._file is not None
        return self._file.file.metadata["sha256"]

    @property
    def parts(self) -> list[slice]:
        """The rows in parts of about `part_bytes` of codes, a multiple of the chunks of the file."""
        chunk = self._described.chunk_rows
        size = chunk * max(1, int(self.part_bytes / max(1.0, chunk * self.bytes_per_row)))
        return [slice(begin, min(begin + size, self.n_rows)) for begin in range(0, self.n_rows, size)]

    def read_ahead(self, parts: Sequence[slice], prepare: Callable[[slice, EncodedData], T]) -> Iterator[T]:
        """Parts one after another; the next one is read, and prepared, while the caller works on one."""
        if not parts:
            return
        with ThreadPoolExecutor(1) as pool:
            ahead = pool.submit(lambda rows: prepare(rows, self[rows]), parts[0])
            for k in range(len(parts)):
                found = ahead.result()
                if k + 1 < len(parts):
                    ahead = pool.submit(lambda rows: prepare(rows, self[rows]), parts[k + 1])
                yield found
                del found

    @property
    def origin(self) -> tuple[bool | None, str | int | None]:
        """Of a file: whether svmlight indices begin at 0, and which column of a table became y."""
        return self._described.zero_based, self._described.target

    @property
    def limits(self) -> tuple[Array, NDArray[np.bool_]]:
        """The least and the largest value of each column, and which columns have only 0 and 1; empty if not known."""
        return self._described.limits, self._described.booleans

    def __repr__(self) -> str:
        labels = "" if not self._described.has_labels else ", y"
        size = f"{self.n_rows:,} × {self.encoder.n_features:,}"
        return f"Dataset({size}, kernel={self.kernel.name}, scale={self.scale}{labels})"


def _are_batches(data: Any) -> bool:
    if isinstance(data, str | os.PathLike) or hasattr(data, "shape"):
        return False
    if isinstance(data, list | tuple):
        return bool(data) and (hasattr(data[0], "shape") or isinstance(data[0], tuple))
    return hasattr(data, "__iter__")
