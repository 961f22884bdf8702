"""Named data sets, for benchmarks and examples.

``load("mnist")`` looks for the files in the folder that the environment variable KERNLINE_DATA names, then in the cache
(KERNLINE_CACHE, or ``~/.cache/kernline``), then fetches them from their public home and checks their SHA-256.
``make_bag_of_words`` generates data of the same kind, of any size.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from .io import read

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
_FASHION = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"


class Dataset(NamedTuple):
    """A split into training and test part."""

    X_train: Any
    y_train: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]


@dataclass(frozen=True)
class RemoteFile:
    """A file by its name in the data folder, and where it is published (no URL: nowhere that we know)."""

    name: str
    url: str
    sha256: str


def load(name: str) -> Dataset:
    """Return a data set by name; `names()` lists them."""
    if name not in _LOADERS:
        raise ValueError(f"no data set is called {name!r}. There are: {', '.join(names())}.")
    return _LOADERS[name]()


def names() -> list[str]:
    """Return the names that `load` knows."""
    return sorted(_LOADERS)


def path(file: RemoteFile) -> Path:
    """Return where the file is, fetching it if need be."""
    folder = os.environ.get("KERNLINE_DATA")
    if folder and (Path(folder) / file.name).exists():
        return Path(folder) / file.name
    cached = Path(os.environ.get("KERNLINE_CACHE", "~/.cache/kernline")).expanduser() / file.name
    if not cached.exists() and not file.url:
        raise OSError(f"{file.name} is not at hand. Put it into a folder and name that in KERNLINE_DATA.")
    if not cached.exists():
        _fetch(file, cached)
    return cached


def _fetch(file: RemoteFile, target: Path) -> None:
    """Download beside the target, check, and only then give it its name: a broken download leaves nothing behind."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as part:
        try:
            with urllib.request.urlopen(file.url, timeout=30) as response:
                shutil.copyfileobj(response, part)
            part.close()
            digest = hashlib.sha256(Path(part.name).read_bytes()).hexdigest()
            if digest != file.sha256:
                raise ValueError(
                    f"{file.url} has SHA-256 {digest}, not {file.sha256}: not the file that was published."
                )
            Path(part.name).replace(target)
        except urllib.error.URLError as error:
            raise OSError(
                f"{file.name} is not at hand and {file.url} cannot be reached ({error.reason}). Put the file into a "
                "folder and name it in the environment variable KERNLINE_DATA."
            ) from error
        finally:
            Path(part.name).unlink(missing_ok=True)


def _idx(file: RemoteFile) -> NDArray[np.uint8]:
    """Read the MNIST format: a header of big-endian sizes, then bytes."""
    with gzip.open(path(file)) as stream:
        content = stream.read()
    n_dimensions = content[3]
    shape = np.frombuffer(content, ">i4", n_dimensions, 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


def _load_idx(folder: str, url: str, hashes: tuple[str, str, str, str]) -> Dataset:
    """Images as fractions in [0, 1], flattened."""
    files = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    parts = [
        _idx(RemoteFile(f"{folder}/{file}-ubyte.gz", f"{url}/{file}-ubyte.gz", digest))
        for file, digest in zip(files, hashes, strict=True)
    ]
    images = [part.reshape(part.shape[0], -1) / 255.0 for part in parts[::2]]
    return Dataset(images[0], parts[1], images[1], parts[3])


def _load_libsvm(train: RemoteFile, test: RemoteFile | None = None, *, n_features: int, dense: bool) -> Dataset:
    """A file of the LIBSVM collection; without a test file a fixed 70/30 split."""
    X, y, *_ = read(path(train), n_features=n_features)
    if test is None:
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    else:
        X_train, y_train = X, y
        X_test, y_test, *_ = read(path(test), n_features=n_features)
    if dense:
        X_train, X_test = X_train.toarray(), X_test.toarray()
    return Dataset(X_train, y_train, X_test, y_test)


def _load_scene15() -> Dataset:
    """15 kinds of scenes as counts of 2,000 visual words (with a pyramid of 2 × 2)."""
    content = np.load(path(RemoteFile("scene15_bow.npz", "", "")), allow_pickle=False)
    train = content["is_train"].astype(bool)
    X, y = content["X"].astype(np.float32), content["y"]
    return Dataset(X[train], y[train], X[~train], y[~train])


def _load_digits() -> Dataset:
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    return Dataset(X_train, y_train, X_test, y_test)


_LOADERS: dict[str, Callable[[], Dataset]] = {
    "digits": _load_digits,
    "bag_of_words": lambda: make_bag_of_words(),
    "mnist": lambda: _load_idx(
        "mnist",
        _MNIST,
        (
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
    "fashion_mnist": lambda: _load_idx(
        "fashion_mnist",
        _FASHION,
        (
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    ),
    "usps": lambda: _load_libsvm(
        RemoteFile(
            "usps.bz2",
            f"{_LIBSVM}/multiclass/usps.bz2",
            "244904b7317bebde6fe8211874b1423d5a71e95a83fed5463ba9c238bc196b8a",
        ),
        RemoteFile(
            "usps.t.bz2",
            f"{_LIBSVM}/multiclass/usps.t.bz2",
            "c4b4004e802dd5c1892efc977fc37438fc66b6b0616c98e81d5943c48641504a",
        ),
        n_features=256,
        dense=True,
    ),
    "scene15_bow": _load_scene15,
    "r8": lambda: _load_libsvm(
        RemoteFile("r8.bz2", "", ""), RemoteFile("r8.t.bz2", "", ""), n_features=10_417, dense=False
    ),
    "sector": lambda: _load_libsvm(
        RemoteFile(
            "sector.scale.bz2",
            f"{_LIBSVM}/multiclass/sector/sector.scale.bz2",
            "cba3d66eed97803665eeb76379fe9d9955712ea0e5c61d7003f644713ed842b5",
        ),
        RemoteFile(
            "sector.t.scale.bz2",
            f"{_LIBSVM}/multiclass/sector/sector.t.scale.bz2",
            "c8c26e073abd92dda9e2a7903546fbe3c783a8d6141ec3fad360de4c0a572cbc",
        ),
        n_features=55_197,
        dense=False,
    ),
    "skin": lambda: _load_libsvm(RemoteFile("skin_nonskin.bz2", "", ""), n_features=3, dense=True),
    "covtype": lambda: _load_libsvm(
        RemoteFile(
            "covtype.bz2",
            f"{_LIBSVM}/multiclass/covtype.bz2",
            "695d94f57cfebd4cd222cbf3c1eb9deabeaa96a7ddac5f448496b57c17f813e6",
        ),
        n_features=54,
        dense=True,
    ),
}


def make_bag_of_words(
    n_train: int = 100_000,
    n_test: int = 20_000,
    n_features: int = 2_000,
    *,
    n_classes: int = 4,
    words_a_document: int = 60,
    random_state: int = 0,
) -> Dataset:
    """Word counts of documents, sparse.

    Words follow Zipf's law; a class prefers some of them by a random factor. Counts are bursty, as in real text: a word
    that appears once appears again, so that whether it appears tells more than how often. That is where chi2 and the
    intersection gain on a linear model.
    """
    rng = np.random.default_rng(random_state)
    zipf = 1.0 / np.arange(1, n_features + 1)
    preferences = zipf * np.exp(0.6 * rng.standard_normal((n_classes, n_features)))
    cumulative = np.cumsum(preferences / preferences.sum(axis=1, keepdims=True), axis=1)
    n_documents = n_train + n_test
    y = rng.integers(n_classes, size=n_documents)
    length = rng.poisson(words_a_document, size=n_documents)
    row = np.repeat(np.arange(n_documents, dtype=np.int32), length)
    word = np.empty(row.size, dtype=np.int32)
    draw = rng.random(row.size)
    for label in range(n_classes):
        mine = y[row] == label
        word[mine] = np.searchsorted(cumulative[label, :-1], draw[mine])
    burst = rng.geometric(rng.choice([0.15, 0.6, 0.95], size=row.size))
    counts = sp.coo_array((burst.astype(np.float64), (row, word)), (n_documents, n_features))
    X = counts.tocsr()
    return Dataset(X[:n_train], y[:n_train], X[n_train:], y[n_train:])
