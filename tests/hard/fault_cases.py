"""What is done while an allocation or a system call fails: fits, predictions, and files read and written.

A case is prepared, run under a fault, and looked at afterwards: its state must be the one before or the one after, and
the one after if no error was raised.
"""

from __future__ import annotations

import copy
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import kernline
from kernline import AdditiveSVC, BudgetedSVC, Dataset, NystromSVC, io
from kernline.io.atomic import replacing
from kernline.mapped import file as chunks

_RANDOM = np.random.default_rng(0)
_OLD_X, _OLD_Y = _RANDOM.random((40, 6)), np.arange(40) % 3
_NEW_X, _NEW_Y = _RANDOM.random((90, 5)), np.arange(90) % 3


class Case:
    """Overridden: `run` does the work."""

    def prepare(self) -> None:
        """Go back to the state before."""

    def run(self) -> None:
        raise NotImplementedError

    def state(self) -> bytes:
        raise NotImplementedError


class Fit(Case):
    """A model of old rows is fitted to new ones."""

    def __init__(self, model: AdditiveSVC | NystromSVC | BudgetedSVC) -> None:
        self.old = clone(model).fit(_OLD_X, _OLD_Y)

    def prepare(self) -> None:
        self.model = copy.deepcopy(self.old)

    def run(self) -> None:
        self.model.fit(_NEW_X, _NEW_Y)

    def state(self) -> bytes:
        X = _OLD_X if self.model.n_features_in_ == _OLD_X.shape[1] else _NEW_X
        return self.model.decision_function(X).tobytes()


class Returned(Case):
    """A function that returns arrays and changes nothing."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work

    def prepare(self) -> None:
        self.value: object = ()

    def run(self) -> None:
        self.value = self.work()

    def state(self) -> bytes:
        return b"".join(_as_bytes(part) for part in self.value)  # type: ignore[attr-defined]


class Written(Case):
    """A function that writes a file, over an old one."""

    def __init__(self, path: Path, work: Callable[[], object]) -> None:
        self.path, self.work = path, work

    def prepare(self) -> None:
        self.path.write_bytes(b"old")

    def run(self) -> None:
        self.work()

    def state(self) -> bytes:
        return self.path.read_bytes()


class RowsInFile(Case):
    """A Dataset writes its rows to a file, which it uses from there on."""

    def __init__(self, path: Path, new: Path | None) -> None:
        self.path, self.new = path, new

    def prepare(self) -> None:
        self.data = Dataset.load(self.path)
        if self.new is not None:
            self.new.write_bytes(b"old")

    def run(self) -> None:
        self.data.save(self.new) if self.new is not None else self.data.spool(self.path.parent)

    def state(self) -> bytes:
        file = b"" if self.new is None else self.new.read_bytes()
        return self.data[:].cells.tobytes() + file


def _as_bytes(part: object) -> bytes:
    if sp.issparse(part):
        return part.toarray().tobytes()
    array = np.asarray(part)
    return repr(array.tolist()).encode() if array.dtype == object else array.tobytes()


def _fits() -> dict[str, Case]:
    models = {
        "dual-cd": AdditiveSVC("chi2", loss="hinge", solver="dual-cd", n_jobs=2),
        "newton": AdditiveSVC("chi2", loss="squared_hinge", solver="newton"),
        "joint": AdditiveSVC("chi2", multi_class="crammer-singer"),
        "lbfgs": AdditiveSVC(),
        "pairs": AdditiveSVC(interactions=1),
        "nystrom": NystromSVC(n_basis=8),
        "budgeted": BudgetedSVC(budget=8, passes=2, grid_size=20),
    }
    return {f"fit {name}": Fit(model) for name, model in models.items()}


def cases(folder: Path) -> dict[str, Case]:
    """All cases, with their files in this folder."""
    hinge, table = AdditiveSVC("chi2", loss="hinge").fit(_NEW_X, _NEW_Y), AdditiveSVC().fit(_NEW_X, _NEW_Y)
    sparse = sp.csr_array(_NEW_X * (_NEW_X > 0.5))
    svm, csv, npz, kdata = (folder / f"data.{suffix}" for suffix in ("svm", "csv", "npz", "kdata"))
    for path in (svm, csv, npz):
        _write(path)
    zipped = folder / "data.svm.gz"
    zipped.write_bytes(gzip.compress(svm.read_bytes()))
    chunks.CHUNK_BYTES = 200
    Dataset(_NEW_X, _NEW_Y).save(kdata)
    kernline.save(table, folder / "model.kern")
    model, converted, out = folder / "new.kern", folder / "new.kdata", folder / "new.svm"

    def read(path: Path, **options: object) -> Case:
        def work() -> tuple[object, object]:
            found = io.read(path, **options)
            return found.X, found.y

        return Returned(work)

    return _fits() | {
        "predict": Returned(lambda: [hinge.decision_function(sparse), table.predict_proba(_NEW_X)]),
        "encode": Returned(lambda: [Dataset(sparse, _NEW_Y, kernel="chi2", n_jobs=2).encoder.transform(sparse).cells]),
        "read svmlight": read(svm, n_jobs=2),
        "read svmlight.gz": read(zipped, n_jobs=2),
        "read CSV": read(csv, target="label"),
        "read npz": read(npz),
        "load": Returned(lambda: [kernline.load(folder / "model.kern").decision_function(_NEW_X)]),
        "save": Written(model, lambda: kernline.save(table, model)),
        "save rows again": RowsInFile(kdata, folder / "again.kdata"),
        "spool": RowsInFile(kdata, None),
        "write svmlight": Written(out, lambda: _write(out)),
        "convert to .kdata": Written(converted, lambda: Dataset(svm, kernel="chi2").save(converted)),
        "fit .kdata": Returned(lambda: [AdditiveSVC().fit(Dataset.load(kdata)).decision_function(_NEW_X)]),
        "fit mapped": Returned(lambda: [_fit_in_parts(kdata).decision_function(_NEW_X)]),
    }


def _write(path: Path) -> None:
    with replacing(path) as file:
        io.write(file, _NEW_X, _NEW_Y, name=path.name)


def _fit_in_parts(path: Path) -> AdditiveSVC:
    data = Dataset.load(path)
    data.part_bytes = 100
    return AdditiveSVC(max_iter=20).fit(data)
