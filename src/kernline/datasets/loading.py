"""Read the data sets of the catalogue, and split those without a test part."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..array_types import Labels, Matrix, is_sparse
from ..io import read
from ..io.arrays import open_npz
from ..io.streams import open_source
from ..memory import check_memory
from ..suggestions import did_you_mean
from .catalogue import CATALOGUE, Dataset, Entry, RemoteFile
from .download import OnBytes
from .fetching import path
from .generated import make_bag_of_words

# Data sets that have a test part, but no test file.
_IN_TWO_PARTS = ("bag_of_words", "scene15_bow")


class UnknownDatasetError(ValueError):
    """A name that is not in the catalogue."""


def load(name: str) -> Dataset:
    """Return a data set by name; `names()` lists them. Data sets without a test part have a fixed 70/30 split.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    Dataset
        Its training and test part.

    Examples
    --------
    >>> from kernline import datasets
    >>> datasets.load("digits").X_train.shape
    (1257, 64)
    """
    from sklearn.datasets import load_digits  # slow to import, and not needed for the list
    from sklearn.model_selection import train_test_split

    entry = CATALOGUE[check_name(name)]
    if name == "bag_of_words":
        return make_bag_of_words()
    if name == "scene15_bow":
        return _scene15(path(entry.train[0]))
    X, y = load_digits(return_X_y=True) if name == "digits" else _part(entry, entry.train)
    if entry.test:
        return Dataset(X, y, *_part(entry, entry.test))
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    return Dataset(X_train, y_train, X_test, y_test)


def load_part(name: str, *, test: bool = False) -> tuple[Matrix, Labels]:
    """X and y of the training part, or of the test part, split like `load` does; files of the other are not read."""
    entry = CATALOGUE[check_name(name)]
    if entry.test:
        return _part(entry, entry.test if test else entry.train)
    data = load(name)
    return (data.X_test, data.y_test) if test else (data.X_train, data.y_train)


def is_split(name: str) -> bool:
    """Whether `load` splits the data set into a training part of 70 % and a test part of 30 %."""
    return not CATALOGUE[check_name(name)].test and name not in _IN_TWO_PARTS


def names() -> list[str]:
    """Return the names that `load` knows.

    Returns
    -------
    list of str
        The names, in order.

    Examples
    --------
    >>> from kernline import datasets
    >>> "digits" in datasets.names()
    True
    """
    return sorted(CATALOGUE)


def check_name(name: str) -> str:
    """Return the name, or raise UnknownDatasetError."""
    if name in CATALOGUE:
        return name
    hint = did_you_mean(name, CATALOGUE).strip() or f"There are: {', '.join(names())}."
    raise UnknownDatasetError(f"no data set is called {name!r}. {hint}")


def fetch(name: str, on_bytes: OnBytes | None = None) -> list[Path]:
    """Download all files of a data set, unless they are on this machine.

    Parameters
    ----------
    name : str
        One of `names()`.
    on_bytes : callable or None, default=None
        Called with the bytes so far and the bytes of the file, or 0 if these are not known.

    Returns
    -------
    list of Path
        The files; none for data that comes with scikit-learn or is generated.

    Examples
    --------
    >>> from kernline import datasets
    >>> datasets.fetch("digits")
    []
    """
    return [path(file, on_bytes) for file in CATALOGUE[check_name(name)].files]


def _part(entry: Entry, files: tuple[RemoteFile, ...]) -> tuple[Matrix, Labels]:
    if entry.kind == "idx":
        images, labels = (_idx(path(file)) for file in files)
        return images.reshape(images.shape[0], -1) / 255.0, labels  # fractions in [0, 1], flattened
    data = read(path(files[0]), format="svmlight", n_features=entry.n_features)
    X = data.matrix
    return X.toarray() if entry.dense and is_sparse(X) else X, np.asarray(data.y)


def _idx(file: Path) -> NDArray[np.uint8]:
    """Read the MNIST format: two zeros, 8 (bytes), the number of dimensions; these, big-endian; the values."""
    with open_source(file) as source:
        start = source.stream.read(4)
        n_sizes = start[3] if start[:3] == b"\0\0\x08" and len(start) == 4 else 0
        sizes = source.stream.read(4 * n_sizes)
        shape = np.frombuffer(sizes, ">u4").tolist() if len(sizes) == 4 * n_sizes else []
        size = math.prod(shape)
        check_memory(f"{file}: reading it", size)
        content = source.stream.read(size + 1)
    if not shape or size != len(content):
        raise ValueError(f"{file} is not an MNIST file of bytes, or is cut off or damaged. Fetch it again.")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _scene15(file: Path) -> Dataset:
    """Scenes of 15 kinds, as counts of 2,000 visual words (with a 2 × 2 pyramid)."""
    with open_source(file) as source, open_npz(source) as archive:
        train, X, y = (archive.read(name) for name in ("is_train", "X", "y"))
    train, X = train.astype(bool), X.astype(np.float32)
    return Dataset(X[train], y[train], X[~train], y[~train])
