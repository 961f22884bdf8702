"""The tables, each with fixed splits: every contestant gets the same rows, in the same order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets as bundled
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from kernline import datasets, io
from kernline.datasets import Dataset, RemoteFile

from . import adult, generated

# Tables below 2,000 rows are split this often, and the mean is reported.
SPLITS = 5


@dataclass(frozen=True)
class Table:
    """A named table. `load` takes the number of a split."""

    name: str
    load: Callable[[int], Dataset]
    n_splits: int = 1
    regression: bool = False
    is_shape: bool = False  # a generated shape, judged apart from the sets of the bars
    quick: bool = False


def limited(data: Dataset, most_rows: int | None, *, regression: bool, seed: int) -> Dataset:
    """At most so many training rows, in the proportions of the classes."""
    n_rows = data.X_train.shape[0]
    if most_rows is None or n_rows <= most_rows:
        return data
    labels = None if regression else data.y_train
    rows, _ = train_test_split(np.arange(n_rows), train_size=most_rows, random_state=seed, stratify=labels)
    return data._replace(X_train=_take(data.X_train, rows), y_train=data.y_train[rows])


def _take(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def _split(X: Any, y: np.ndarray, seed: int, *, train: float | int = 0.7, stratify: bool = True) -> Dataset:
    rows = train_test_split(np.arange(len(y)), train_size=train, random_state=seed, stratify=y if stratify else None)
    return _parts(X, y, *rows)


def _parts(X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Dataset:
    return Dataset(_take(X, train), y[train], _take(X, test), y[test])


def _named(name: str, seed: int) -> Dataset:
    """A set of the catalogue, dense, split as `datasets.load` does."""
    data = datasets.load(name)
    X_train, X_test = (X.toarray() if sp.issparse(X) else X for X in (data.X_train, data.X_test))
    return data._replace(X_train=X_train, X_test=X_test)


def _covtype_binary(seed: int) -> Dataset:
    data = _named("covtype", seed)
    return data._replace(y_train=data.y_train == 2, y_test=data.y_test == 2)


def _file(name: str) -> tuple[np.ndarray, np.ndarray]:
    data = io.read(datasets.path(RemoteFile(name, "")), format="svmlight")
    return data.matrix.toarray() if sp.issparse(data.matrix) else data.matrix, np.asarray(data.y)


def _satimage(seed: int) -> Dataset:
    return Dataset(*_file("satimage.bz2"), *_file("satimage.t.bz2"))


def _optdigits(seed: int) -> Dataset:
    return _split(*_file("optdigits.bz2"), seed)


def _adult(seed: int) -> Dataset:
    return _split(*adult.load(), seed)


def _wisdm(seed: int, *, by_person: bool) -> Dataset:
    """Activities from a phone's accelerometer. By person: nobody is in both parts."""
    with np.load(datasets.path(RemoteFile("wisdm.npz", ""))) as file:
        X, y, users = file["X"].astype(np.float64), file["classes"][file["y"]], file["users"]
    if not by_person:
        return _split(X, y, seed)
    return _parts(X, y, *next(GroupShuffleSplit(1, train_size=0.7, random_state=seed).split(X, y, users)))


def _bundled(load: Callable[..., Any], seed: int, *, stratify: bool = True) -> Dataset:
    """A set that comes with scikit-learn, as a DataFrame; classes by name where they have one."""
    found = load(as_frame=True)
    y = found.target.to_numpy()
    names = getattr(found, "target_names", None)
    return _split(found.data, np.asarray(names)[y] if names is not None else y, seed, stratify=stratify)


def _made(make: Callable[[int], generated.Sample], seed: int, **options: Any) -> Dataset:
    return _split(*make(seed), seed, **options)


def _catalogue(name: str, *, quick: bool = False) -> Table:
    return Table(name, partial(_named, name), quick=quick)


def _small(name: str, load: Callable[..., Any]) -> Table:
    return Table(name, partial(_bundled, load), SPLITS, quick=True)


def _shape(name: str, make: Callable[[int], generated.Sample], n_splits: int = SPLITS, **options: Any) -> Table:
    return Table(name, partial(_made, make, **options), n_splits, is_shape=True, quick=True)


def _regression(name: str, make: Callable[[int], generated.Sample], *, quick: bool = False) -> Table:
    return Table(name, partial(_made, make, stratify=False), regression=True, quick=quick)


_TABLES = [
    _small("iris", bundled.load_iris),
    _small("wine", bundled.load_wine),
    _small("breast-cancer", bundled.load_breast_cancer),
    _small("digits", bundled.load_digits),
    _catalogue("spambase", quick=True),
    _catalogue("mushrooms", quick=True),
    _catalogue("phishing"),
    Table("satimage", _satimage, quick=True),
    _catalogue("pendigits"),
    Table("optdigits", _optdigits),
    Table("wisdm", partial(_wisdm, by_person=False), quick=True),
    Table("wisdm-person", partial(_wisdm, by_person=True), SPLITS),
    _catalogue("ijcnn1"),
    _catalogue("skin"),
    Table("adult", _adult, quick=True),
    _catalogue("a9a"),
    Table("covtype-binary", _covtype_binary),
    _catalogue("covtype"),
    _catalogue("letter"),
    _shape("3-per-class", generated.three_per_class, train=30),
    _shape("one-feature", generated.one_feature),
    _shape("noise-columns", generated.noise_columns),
    _shape("lognormal", generated.lognormal),
    _shape("counts", generated.counts),
    _shape("1000-levels", generated.thousand_levels, 1),
    _shape("half-missing", generated.half_missing, 1),
    Table("diabetes", partial(_bundled, bundled.load_diabetes, stratify=False), SPLITS, regression=True, quick=True),
    _regression("friedman1", generated.friedman1, quick=True),
    _regression("friedman2", generated.friedman2, quick=True),
    _regression("friedman3", generated.friedman3, quick=True),
    _regression("houses", generated.houses),
]
TABLES = {table.name: table for table in _TABLES}
