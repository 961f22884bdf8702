"""Fitted estimators as JSON and arrays, and back: plain values, arrays, and objects of the classes named here.

A value that JSON has no form for is an object {"kind": …}. What a file names is looked up in the lists below, and
nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .. import kernels, tables
from ..additive import AdditiveSVC
from ..additive_cv import AdditiveSVCCV
from ..budgeted import BudgetedSVC
from ..encoding import Encoder
from ..feature_maps import AdditiveKernelMap, NystromMap
from ..landmarks import LandmarkMap
from ..native import empty_slots, weights_in
from ..nystrom import NystromSVC
from ..pairwise import PairKernel, ScikitLearn
from ..points import Points
from ..shapes import ShapeFunctions
from ..solvers import EpochReport
from ..solvers.budgeted_sgd import PassReport
from ..tables.pmsvm import NodePayload
from .tensor_file import DamagedFileError, TensorFile, storable

# Estimators, with the attributes beyond params and names that end in "_".
ESTIMATORS: dict[type, tuple[str, ...]] = {
    AdditiveSVC: (),
    AdditiveSVCCV: (),
    NystromSVC: ("_kernel", "_points"),
    BudgetedSVC: ("_last",),
    NystromMap: ("_map",),
    AdditiveKernelMap: ("_features", "_encoder"),
}
RECORDS: list[type] = [EpochReport, PassReport]


# Frozen dataclasses, by what files call them.
_OBJECTS = [
    *kernels.BY_NAME.values(),
    *(tables.Hats, tables.Plame, tables.PmSVM, tables.PolynomialGradient),
    *(tables.HomogeneousMap, tables.ChebyshevMap, tables.LowDimensionalMap, tables.QuantisedIntersection),
    *(tables.DenseTable, tables.PairTable, tables.ValueTable, tables.PowersTable, tables.CodeGrid),
    *(NodePayload, Encoder, PairKernel, ScikitLearn, Points, LandmarkMap),
]
_BY_NAME: dict[str, type] = {cls.__name__: cls for cls in _OBJECTS}
_RECORD_BY_NAME: dict[str, Any] = {cls.__name__: cls for cls in RECORDS}

# Bytes that all values of a file may take: so many, and these for every byte of the file.
_ROOM, _ROOM_A_BYTE = 1 << 28, 16
_RECORD_BYTES = 64  # a number in a record, about
_RANDOM_WORDS = 624  # of the Mersenne Twister


@cache
def estimators() -> dict[str, tuple[Any, tuple[str, ...]]]:
    """Classes of estimators by name, ours and the steps of scikit-learn's that go before them."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

    theirs: dict[type, tuple[str, ...]] = dict.fromkeys(
        (Pipeline, StandardScaler, MinMaxScaler, MaxAbsScaler, Normalizer), ()
    )
    return {cls.__name__: (cls, private) for cls, private in (ESTIMATORS | theirs).items()}


class TreeWriter:
    """Turns values into what JSON holds, and puts arrays aside in `arrays`."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []  # so that no other object takes the place of one seen

    def value(self, value: Any, where: str) -> Any:
        """`where` is what messages call it."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"kind": "float", "text": repr(value)}
        for condition, write in _WRITERS:
            if condition(value):
                return write(self, value, where)
        name = type(value).__name__
        raise ValueError(
            f"save: {where} is a {name}, and a model file holds no code: only plain values, arrays, and the kernels, "
            "tables and estimators of this library, with scikit-learn's StandardScaler, MinMaxScaler, MaxAbsScaler and "
            "Normalizer before them. Where predictions do not depend on it, replace it by set_params; or use joblib."
        )

    def tensor(self, array: Any, where: str) -> Any:
        """An array of numbers, stored once however often it comes."""
        if id(array) not in self._names:
            name = where if where not in self.arrays else f"{where}~{len(self.arrays)}"
            self._names[id(array)] = name
            self._kept.append(array)
            self.arrays[name] = array
        return {"kind": "tensor", "name": self._names[id(array)]}

    def _scalar(self, value: Any, where: str) -> Any:
        if isinstance(value, np.str_):
            return str(value)
        return {"kind": "scalar", "dtype": value.dtype.name, "value": self.value(value.item(), where)}

    def _array(self, value: Any, where: str) -> Any:
        if storable(value.dtype):
            return self.tensor(value, where)
        kind = {"U": "texts", "O": "objects"}.get(value.dtype.kind)
        if kind is None or value.ndim != 1:
            raise ValueError(
                f"save: {where} is an array of {value.dtype} and {value.ndim} dimensions, which no file holds."
            )
        return {"kind": kind, "items": [self.value(item, where) for item in value.tolist()]}

    def _sparse(self, value: Any, where: str) -> Any:
        csr = value if value.format == "csr" else value.tocsr()
        parts = {part: self.tensor(getattr(csr, part), f"{where}.{part}") for part in ("data", "indices", "indptr")}
        return {"kind": "csr", "shape": list(csr.shape), "array": isinstance(value, sp.sparray)} | parts

    def _list(self, value: Any, where: str) -> Any:
        flat = [item for part in value if type(part) is list for item in part]
        if flat and type(flat[0]) in RECORDS:  # a history: for each problem a list of records
            flat = [record._replace(seconds=math.nan) for record in flat]  # the same fit gives the same file
            columns = [
                self.tensor(np.array(column), f"{where}.{k}") for k, column in enumerate(zip(*flat, strict=True))
            ]
            sizes = [len(part) for part in value]
            return {"kind": "history", "of": type(flat[0]).__name__, "sizes": sizes, "columns": columns}
        return [self.value(item, f"{where}.{k}") for k, item in enumerate(value)]

    def _tuple(self, value: Any, where: str) -> Any:
        return {"kind": "tuple", "items": self._list(list(value), where)}

    def _dict(self, value: Any, where: str) -> Any:
        items = [[self.value(key, where), self.value(item, f"{where}.{key}")] for key, item in value.items()]
        return {"kind": "dict", "items": items}

    def _random(self, value: Any, where: str) -> Any:
        return {"kind": "RandomState", "state": self.value(value.get_state(), where)}

    def _object(self, value: Any, where: str) -> Any:
        stored = {f.name: self.value(getattr(value, f.name), f"{where}.{f.name}") for f in fields(value) if f.init}
        return {"kind": "object", "of": type(value).__name__, "fields": stored}

    def _shapes(self, value: ShapeFunctions, where: str) -> Any:
        """The weights as the core reads them, [feature][slot][problem]: a load then reads them into place."""
        weights = self.tensor(value.weights.transpose(1, 2, 0), f"{where}.weights")
        parts = {
            name: self.value(getattr(value, name), f"{where}.{name}") for name in ("encoder", "table", "intercepts")
        }
        return {"kind": "shapes", "weights": weights} | parts

    def _estimator(self, value: Any, where: str) -> Any:
        known = estimators().get(type(value).__name__)
        if known is None or known[0] is not type(value):
            raise ValueError(
                f"save: {where} is a {type(value).__name__}, which a model file cannot hold. It takes "
                f"{', '.join(sorted(estimators()))}. Save a fitted model without that step, or the whole by joblib."
            )
        params = value.get_params(deep=False)
        steps = params.pop("steps", None)
        if params.get("memory") is not None:
            raise ValueError(
                f"save: {where} has memory={params['memory']!r:.50}, a folder of pickles, and a model file names none. "
                "Pass set_params(memory=None) first."
            )
        dot = "" if where == "model" else f"{where}."
        stored = {name: self.value(item, f"{dot}{name}") for name, item in params.items()}
        if steps is not None:
            stored["steps"] = [[name, self.value(step, f"step {name!r}")] for name, step in steps]
        attributes = {
            name: self.value(item, f"{dot}{name}")
            for name, item in vars(value).items()
            if name in known[1] or is_learnt(name)
        }
        return {"kind": "estimator", "of": type(value).__name__, "params": stored, "attributes": attributes}


_WRITERS: list[tuple[Callable[[Any], bool], Callable[[TreeWriter, Any, str], Any]]] = [
    (lambda value: isinstance(value, np.generic) and value.dtype.kind in "biufU", TreeWriter._scalar),
    (lambda value: isinstance(value, np.ndarray), TreeWriter._array),
    (sp.issparse, TreeWriter._sparse),
    (lambda value: type(value) is list, TreeWriter._list),
    (lambda value: type(value) is tuple, TreeWriter._tuple),
    (lambda value: type(value) is dict, TreeWriter._dict),
    (lambda value: isinstance(value, np.random.RandomState), TreeWriter._random),
    (lambda value: type(value) is ShapeFunctions, TreeWriter._shapes),
    (lambda value: type(value) in _OBJECTS, TreeWriter._object),
    (lambda value: isinstance(value, BaseEstimator), TreeWriter._estimator),
]


def is_learnt(name: str) -> bool:
    """Whether an attribute has a learnt one's name."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


class TreeReader:
    """Makes values of a tree again; `lenient` passes over parameters and fields that are not known."""

    def __init__(self, file: TensorFile, lenient: bool) -> None:
        self.file = file
        self.lenient = lenient
        self._read: dict[str, Any] = {}
        self._room = _ROOM + _ROOM_A_BYTE * file.size

    def value(self, node: Any) -> Any:
        """The value of a node."""
        if isinstance(node, list):
            return [self.value(item) for item in node]
        if not isinstance(node, dict):
            return node
        read = _READERS.get(node["kind"])
        if read is None:
            raise DamagedFileError(f"a value of kind {node['kind']!r:.50} is not known.")
        return read(self, node)

    def _tensor(self, node: Any) -> Any:
        name = node["name"]
        if name not in self._read:
            self._read[name] = self.file.read(name)
        return self._read[name]

    def _float(self, node: Any) -> float:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[node["text"]]

    def _scalar(self, node: Any) -> Any:
        dtype = np.dtype(str(node["dtype"]))
        if dtype.kind not in "biuf":
            raise DamagedFileError(f"a number of type {dtype} is not known.")
        value = self.value(node["value"])
        if type(value) not in (bool, int, float):
            raise DamagedFileError(f"a number is {value!r:.50}.")
        return dtype.type(value)

    def _texts(self, node: Any) -> Any:
        items = _texts_of(node["items"])
        self._take(4 * len(items) * max(map(len, items), default=0))
        return np.array(items, dtype=np.str_)

    def _objects(self, node: Any) -> Any:
        items = self._items(node)
        out = np.empty(len(items), dtype=object)
        out[:] = items
        return out

    def _csr(self, node: Any) -> Any:
        data, indices, indptr = (self.value(node[part]) for part in ("data", "indices", "indptr"))
        shape = tuple(node["shape"])
        if any(part.ndim != 1 for part in (data, indices, indptr)) or not {indices.dtype.kind, indptr.dtype.kind} == {
            "i"
        }:
            raise DamagedFileError("a sparse matrix of parts that do not fit together.")
        self._take(data.nbytes + indices.nbytes + indptr.nbytes)
        csr = (sp.csr_array if node["array"] else sp.csr_matrix)((data, indices, indptr), shape=shape)
        csr.check_format(full_check=True)
        return csr

    def _history(self, node: Any) -> Any:
        arrays = [self.value(column) for column in node["columns"]]
        self._take(_RECORD_BYTES * sum(array.size for array in arrays))
        columns = [array.tolist() for array in arrays]
        rows = iter([_RECORD_BY_NAME[node["of"]](*row) for row in zip(*columns, strict=True)])
        return [list(islice(rows, size)) for size in node["sizes"]]

    def _tuple(self, node: Any) -> Any:
        return tuple(self._items(node))

    def _items(self, node: Any) -> list[Any]:
        items = self.value(node["items"])
        if not isinstance(items, list):
            raise DamagedFileError(f"items of a {type(items).__name__}, where a list is needed.")
        return items

    def _dict(self, node: Any) -> Any:
        return {self.value(key): self.value(item) for key, item in node["items"]}

    def _random(self, node: Any) -> Any:
        name, key, position, *gauss = self.value(node["state"])
        # NumPy takes any position for granted, and reads what lies there.
        if key.shape != (_RANDOM_WORDS,) or type(position) is not int or not 0 <= position <= _RANDOM_WORDS:
            raise DamagedFileError(f"a random state of {key.size} words, at position {position!r:.50}.")
        random = np.random.RandomState(0)
        random.set_state((name, key, position, *gauss))
        return random

    def _object(self, node: Any) -> Any:
        cls = _BY_NAME.get(node["of"])
        if cls is None:
            raise DamagedFileError(f"an object of class {node['of']!r:.50} is not known.")
        known = {f.name for f in fields(cls) if f.init}
        return cls(**{name: self.value(item) for name, item in self._known(node["fields"], known)})

    def _shapes(self, node: Any) -> Any:
        encoder, table, intercepts = (self.value(node[name]) for name in ("encoder", "table", "intercepts"))
        name = node["weights"]["name"]
        n_features, width, n_problems = self.file.shape(name)
        if not n_features * width * n_problems:
            raise DamagedFileError("a model without weights.")
        shape = (n_problems, n_features, width)
        self._take(4 * n_features * width * max(4, n_problems))
        slots = empty_slots(shape)
        self.file.read(name, weights_in(slots, shape).transpose(1, 2, 0), finite=True)
        return ShapeFunctions.of_slots(encoder, table, slots, shape, intercepts)

    def _estimator(self, node: Any) -> Any:
        found = estimators().get(node["of"])
        if found is None:
            raise DamagedFileError(f"an estimator of class {node['of']!r:.50} is not known.")
        cls, private = found
        known = set(cls._get_param_names())
        params = {name: self.value(item) for name, item in self._known(node["params"], known)}
        if "steps" in params:
            params["steps"] = [(str(name), step) for name, step in params["steps"]]
        model = cls(**params)
        for name, item in node["attributes"].items():
            if name in private or (is_learnt(name) and not hasattr(cls, name)):
                setattr(model, name, self.value(item))
        return model

    def _take(self, n_bytes: int) -> None:
        """Count what a node takes: many small ones could name one large array again and again."""
        self._room -= n_bytes
        if self._room < 0:
            raise DamagedFileError(f"its values take more memory than a file of {self.file.size:,} bytes can need.")

    def _known(self, items: dict[str, Any], known: set[str]) -> list[tuple[str, Any]]:
        unknown = set(items) - known
        if unknown and not self.lenient:
            raise DamagedFileError(f"{sorted(unknown)[0]!r:.50} is not known.")
        return [(name, item) for name, item in items.items() if name in known]


_READERS: dict[str, Callable[[TreeReader, Any], Any]] = {
    "tensor": TreeReader._tensor,
    "float": TreeReader._float,
    "scalar": TreeReader._scalar,
    "texts": TreeReader._texts,
    "objects": TreeReader._objects,
    "csr": TreeReader._csr,
    "history": TreeReader._history,
    "tuple": TreeReader._tuple,
    "dict": TreeReader._dict,
    "RandomState": TreeReader._random,
    "object": TreeReader._object,
    "shapes": TreeReader._shapes,
    "estimator": TreeReader._estimator,
}


def _texts_of(items: Any) -> list[str]:
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise DamagedFileError("a list of text that holds something else.")
    return items
