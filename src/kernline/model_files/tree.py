"""Fitted estimators as JSON and arrays, and back: plain values, arrays, and objects of the classes listed here.

A value that JSON cannot represent becomes an object {"kind": …}. Names in a file are looked up in the lists below, and
nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .. import kernels, tables
from ..array_types import CSRMatrix, Labels, Numbers, SparseMatrix
from ..caching import cached_property
from ..encoding import TERMS, Axis, Columns, Encoder, Term
from ..encoding.pair_axes import PairAxis
from ..estimators.additive_base import AdditiveBase
from ..landmarks.nystrom_map import LandmarkMap
from ..landmarks.pairwise import PairKernel, ScikitLearn
from ..landmarks.points import Points
from ..landmarks.scaling import Scaling
from ..native import empty_slots, weights_in
from ..pair_functions import PairFunction
from ..shapes import CellCounts, ShapeFunctions, TrainingFacts
from ..solvers import EpochReport
from ..solvers.budgeted_sgd import PassReport
from ..tables.pmsvm import NodePayload
from .stored_classes import STEPS_OF_3, estimator_named, estimators, resolved_transformers
from .tensor_file import JSON, DamagedFileError, TensorFile, as_object, storable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Node = dict[str, JSON]
    Report = EpochReport | PassReport

RECORDS: list[type[Report]] = [EpochReport, PassReport]
# Types of numbers in parameters of these steps.
_DTYPES = ("bool", "float64", "float32", "float16", "int64", "int32", "int16", "int8", "object")


# Frozen dataclasses, by their names in files.
_OBJECTS: list[type[DataclassInstance]] = [
    *kernels.BY_NAME.values(),
    *(tables.Hats, tables.Plame, tables.PmSVM, tables.PolynomialGradient),
    *(tables.HomogeneousMap, tables.ChebyshevMap, tables.LowDimensionalMap, tables.QuantisedIntersection),
    *(tables.DenseTable, tables.PairTable, tables.ValueTable, tables.PowersTable, tables.CodeGrid),
    *(NodePayload, Encoder, Columns, Axis, PairAxis, PairFunction, TrainingFacts, CellCounts),
    *(PairKernel, ScikitLearn, Points, LandmarkMap, Scaling),
]
_BY_NAME = {cls.__name__: cls for cls in _OBJECTS}
_RECORD_BY_NAME = {cls.__name__: cls for cls in RECORDS}

# Bytes that all values of a file may take: a constant, plus this much per byte of the file.
_ROOM, _ROOM_PER_BYTE = 1 << 28, 16
_RECORD_BYTES = 64  # about, per number in a record
_RANDOM_WORDS = 624  # of the Mersenne Twister
# Values of parameters of additive models that readers of formats 1 and 2 refuse as if the file were damaged.
_VALUES_OF_3 = {"kernel": ("auto",), "scale": ("auto",), "C": ("auto",), "loss": ("auto", "log")}


class TreeWriter:
    """Converts values to JSON, and collects arrays in `arrays`."""

    def __init__(self) -> None:
        self.arrays: dict[str, Numbers] = {}
        self.major = 1  # the lowest major version whose readers know all that they must not ignore
        self._names: dict[int, str] = {}
        self._kept: list[Numbers] = []  # keeps the ids in `_names` valid

    def value(self, value: object, where: str) -> JSON:
        """Convert a value; `where` is its name in messages."""
        if value is None or (isinstance(value, bool | int | str) and type(value) in (bool, int, str)):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"kind": "float", "text": repr(value)}
        for condition, write in _WRITERS:
            if condition(value):
                return write(self, value, where)
        name = type(value).__name__
        raise ValueError(
            f"save: {where} is a {name}. A model file cannot contain code: only plain values, arrays, and the kernels, "
            "tables and estimators of this library, and scikit-learn's scalers, encoders, SimpleImputer and Column"
            "Transformer before them. If predictions do not depend on it, replace it by set_params, or use joblib."
        )

    def tensor(self, array: Numbers, where: str) -> JSON:
        """An array of numbers, which is stored once even if it occurs several times."""
        if id(array) not in self._names:
            name = where if where not in self.arrays else f"{where}~{len(self.arrays)}"
            self._names[id(array)] = name
            self._kept.append(array)
            self.arrays[name] = array
        return {"kind": "tensor", "name": self._names[id(array)]}

    def estimator(self, value: BaseEstimator, where: str) -> JSON:
        """The parameters and learnt attributes of an estimator."""
        known = estimator_named(type(value).__name__)
        if known is None or known[0] is not type(value):
            raise ValueError(
                f"save: {where} is a {type(value).__name__}, which a model file cannot contain. Supported are "
                f"{', '.join(sorted(estimators()))}. Save a fitted model without that step, or use joblib."
            )
        if getattr(value, "multilabel_", False):
            self._needs(2)
        params = value.get_params(deep=False)
        if type(value).__name__ in STEPS_OF_3:
            self._needs(3)
        if "transformers" in params:
            params["transformers"] = resolved_transformers(value, where)
        if isinstance(value, AdditiveBase) and _is_of_3(params):
            self._needs(3)
        steps = params.pop("steps", None)
        if params.get("memory") is not None:
            raise ValueError(
                f"save: {where} has memory={params['memory']!r:.50}, a folder of pickles, which a model file cannot "
                "refer to. Call set_params(memory=None) first."
            )
        dot = "" if where == "model" else f"{where}."
        stored = {name: self.value(item, f"{dot}{name}") for name, item in params.items()}
        if steps is not None:
            stored["steps"] = [[name, self.value(step, f"step {name!r}")] for name, step in steps]
        hasattr(value, "feature_importances_")  # computed now if not yet
        attributes = {
            name: self.value(item, f"{dot}{name}")
            for name, item in vars(value).items()
            if name in known[1] or is_learnt(name)
        }
        return {"kind": "estimator", "of": type(value).__name__, "params": stored, "attributes": attributes}

    def _scalar(self, value: np.generic, where: str) -> JSON:
        if isinstance(value, np.str_):
            return str(value)
        return {"kind": "scalar", "dtype": value.dtype.name, "value": self.value(value.item(), where)}

    def _array(self, value: Numbers | Labels, where: str) -> JSON:
        if storable(value.dtype):
            return self.tensor(value, where)
        kind = {"U": "texts", "O": "objects"}.get(value.dtype.kind)
        if kind is None or value.ndim != 1:
            raise ValueError(
                f"save: {where} is an array of {value.dtype} and {value.ndim} dimensions, which cannot be stored."
            )
        return {"kind": kind, "items": [self.value(item, where) for item in value.tolist()]}

    def _sparse(self, value: SparseMatrix, where: str) -> JSON:
        csr = value if value.format == "csr" else value.tocsr()
        parts = {part: self.tensor(getattr(csr, part), f"{where}.{part}") for part in ("data", "indices", "indptr")}
        shape: list[JSON] = list(csr.shape)
        return {"kind": "csr", "shape": shape, "array": isinstance(value, sp.sparray), **parts}

    def _list(self, value: list[object], where: str) -> JSON:
        records = [item for part in value if type(part) is list for item in part]
        if records and type(records[0]) in RECORDS:  # a history: a list of records for each problem
            records = [record._replace(seconds=math.nan) for record in records]  # the same fit gives the same file
            columns = [
                self.tensor(np.array(column), f"{where}.{k}") for k, column in enumerate(zip(*records, strict=True))
            ]
            sizes: list[JSON] = [len(part) for part in value if type(part) is list]
            return {"kind": "history", "of": type(records[0]).__name__, "sizes": sizes, "columns": columns}
        return [self.value(item, f"{where}.{k}") for k, item in enumerate(value)]

    def _tuple(self, value: tuple[object, ...], where: str) -> JSON:
        return {"kind": "tuple", "items": self._list(list(value), where)}

    def _dict(self, value: dict[object, object], where: str) -> JSON:
        items: list[JSON] = [
            [self.value(key, where), self.value(item, f"{where}.{key}")] for key, item in value.items()
        ]
        return {"kind": "dict", "items": items}

    def _slice(self, value: slice, where: str) -> JSON:
        return {"kind": "slice", "items": [self.value(part, where) for part in (value.start, value.stop, value.step)]}

    def _dtype(self, value: np.dtype[Any] | type, where: str) -> JSON:
        name = np.dtype(value).name
        if name not in _DTYPES:
            raise ValueError(f"save: {where} is the type {name}, which cannot be stored. Use one of {_DTYPES}.")
        return {"kind": "dtype", "name": name, "class": isinstance(value, type)}

    def _random(self, value: np.random.RandomState, where: str) -> JSON:
        return {"kind": "RandomState", "state": self.value(value.get_state(), where)}

    def _object(self, value: DataclassInstance, where: str) -> JSON:
        if isinstance(value, Scaling) and value.name is not None:
            self._needs(2)
        return {"kind": "object", "of": type(value).__name__, "fields": self._fields(value, where)}

    def _term(self, value: Term, where: str) -> JSON:
        """A term of a registered class other than numbers. Older versions cannot read such a model."""
        if TERMS.get(value.kind) is not type(value):
            raise ValueError(
                f"save: {where} is a {type(value).__name__}, which is not registered as a term of kind {value.kind!r}. "
                "Call kernline.encoding.register with the class."
            )
        self._needs(2)
        return {"kind": "term", "of": value.kind, "fields": self._fields(value, where)}  # type: ignore[arg-type]

    def _fields(self, value: DataclassInstance, where: str) -> JSON:
        return {f.name: self.value(getattr(value, f.name), f"{where}.{f.name}") for f in fields(value) if f.init}

    def _shapes(self, value: ShapeFunctions, where: str) -> JSON:
        """The weights in the order of the core, [column][slot][problem], so that `load` reads them without a copy."""
        weights = self.tensor(value.weights.transpose(1, 2, 0), f"{where}.weights")
        parts = {
            name: self.value(getattr(value, name), f"{where}.{name}") for name in ("encoder", "table", "intercepts")
        }
        if value.pairs:
            self._needs(3)
            parts["pairs"] = self.value(value.pairs, f"{where}.pairs")
        # Older versions ignore these.
        if value.training is not None:
            parts["training"] = self.value(value.training.stored(value), f"{where}.training")
        if value.edits:
            parts["edits"] = self.value(value.edits, f"{where}.edits")
        return {"kind": "shapes", "weights": weights} | parts

    def _needs(self, major: int) -> None:
        self.major = max(self.major, major)


# The first condition that holds decides, so the type of the value is that of the method.
_WRITERS: list[tuple[Callable[[object], bool], Callable[[TreeWriter, Any, str], JSON]]] = [
    (lambda value: isinstance(value, np.generic) and value.dtype.kind in "biufU", TreeWriter._scalar),
    (lambda value: isinstance(value, np.ndarray), TreeWriter._array),
    (sp.issparse, TreeWriter._sparse),
    (lambda value: type(value) is list, TreeWriter._list),
    (lambda value: type(value) is tuple, TreeWriter._tuple),
    (lambda value: type(value) is dict, TreeWriter._dict),
    (lambda value: type(value) is slice, TreeWriter._slice),
    (
        lambda value: isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)),
        TreeWriter._dtype,
    ),
    (lambda value: isinstance(value, np.random.RandomState), TreeWriter._random),
    (lambda value: type(value) is ShapeFunctions, TreeWriter._shapes),
    (lambda value: type(value) in _OBJECTS, TreeWriter._object),
    (lambda value: isinstance(value, Term), TreeWriter._term),
    (lambda value: isinstance(value, BaseEstimator), TreeWriter.estimator),
]


def _is_of_3(params: dict[str, object]) -> bool:
    return any(type(params.get(name)) is str and params[name] in values for name, values in _VALUES_OF_3.items())


def is_learnt(name: str) -> bool:
    """Whether an attribute is named like a learnt one."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


class TreeReader:
    """Converts a tree to values; with `lenient`, unknown parameters and fields are ignored."""

    def __init__(self, file: TensorFile, lenient: bool) -> None:
        self.file = file
        self.lenient = lenient
        self._read: dict[str, Numbers] = {}
        self._room = _ROOM + _ROOM_PER_BYTE * file.size

    def value(self, node: JSON) -> object:
        """The value of a node."""
        if isinstance(node, list):
            return [self.value(item) for item in node]
        if not isinstance(node, dict):
            return node
        read = _READERS.get(_text(node["kind"]))
        if read is None:
            raise DamagedFileError(f"a value of kind {node['kind']!r:.50} is not known.")
        return read(self, node)

    def estimator(self, node: Node) -> BaseEstimator:
        """An estimator with its parameters and learnt attributes."""
        found = estimator_named(_text(node["of"]))
        if found is None:
            raise DamagedFileError(f"an estimator of class {node['of']!r:.50} is not known.")
        cls, private = found
        params = self._known(node["params"], set(cls._get_param_names()))
        if "steps" in params:
            params["steps"] = [(str(name), step) for name, step in _list(params["steps"])]
        model = cls(**params)
        for name, item in as_object(node["attributes"], "the attributes").items():
            if name in private or (is_learnt(name) and isinstance(getattr(cls, name, None), cached_property | None)):
                setattr(model, name, self.value(item))
        if isinstance(shapes := getattr(model, "shapes_", None), ShapeFunctions):  # names are stored once
            named = shapes.with_names(getattr(model, "feature_names_in_", None))
            model.shapes_ = named.with_classes(getattr(model, "classes_", None))
        return model

    def _tensor(self, node: Node) -> Numbers:
        name = _text(node["name"])
        if name not in self._read:
            self._read[name] = self.file.read(name)
        return self._read[name]

    def _array(self, node: JSON) -> Numbers:
        value = self.value(node)
        if not isinstance(value, np.ndarray):
            raise DamagedFileError(f"expected an array, found {type(value).__name__}.")
        return value

    def _float(self, node: Node) -> float:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[_text(node["text"])]

    def _scalar(self, node: Node) -> np.generic:
        dtype = np.dtype(_text(node["dtype"]))
        if dtype.kind not in "biuf":
            raise DamagedFileError(f"a number of type {dtype} is not known.")
        value = self.value(node["value"])
        if type(value) not in (bool, int, float):
            raise DamagedFileError(f"a number is {value!r:.50}.")
        return dtype.type(value)

    def _texts(self, node: Node) -> Labels:
        items = [_text(item) for item in _list(node["items"])]
        self._take(4 * len(items) * max(map(len, items), default=0))
        return np.array(items, dtype=np.str_)

    def _objects(self, node: Node) -> Labels:
        items = self._items(node)
        out = np.empty(len(items), dtype=object)
        out[:] = items
        return out

    def _csr(self, node: Node) -> CSRMatrix:
        data, indices, indptr = parts = [self._array(node[part]) for part in ("data", "indices", "indptr")]
        if any(part.ndim != 1 for part in parts) or {indices.dtype.kind, indptr.dtype.kind} != {"i"}:
            raise DamagedFileError("the parts of a sparse matrix do not fit together.")
        self._take(sum(part.nbytes for part in parts))
        shape = tuple(_list(node["shape"]))
        csr = (sp.csr_array if node["array"] else sp.csr_matrix)((data, indices, indptr), shape=shape)
        csr.check_format(full_check=True)
        return csr

    def _history(self, node: Node) -> list[list[Report]]:
        arrays = [self._array(column) for column in _list(node["columns"])]
        self._take(_RECORD_BYTES * sum(array.size for array in arrays))
        columns = [array.tolist() for array in arrays]
        record = _RECORD_BY_NAME[_text(node["of"])]
        rows = iter([record(*row) for row in zip(*columns, strict=True)])
        return [list(islice(rows, _integer(size))) for size in _list(node["sizes"])]

    def _tuple(self, node: Node) -> tuple[object, ...]:
        return tuple(self._items(node))

    def _items(self, node: Node) -> list[object]:
        return _list(self.value(node["items"]))

    def _dict(self, node: Node) -> dict[object, object]:
        pairs = [_list(pair) for pair in _list(node["items"])]
        return {self.value(key): self.value(item) for key, item in pairs}

    def _slice(self, node: Node) -> slice:
        start, stop, step = self._items(node)
        return slice(start, stop, step)

    def _dtype(self, node: Node) -> np.dtype[Any] | type:
        name = _text(node["name"])
        if name not in _DTYPES:
            raise DamagedFileError(f"a type {name!r:.50} is not known.")
        return np.dtype(name).type if node["class"] else np.dtype(name)

    def _random(self, node: Node) -> np.random.RandomState:
        state = self.value(node["state"])
        if not isinstance(state, tuple):
            raise DamagedFileError("a random state is not a tuple.")
        name, key, position, *gauss = state
        # NumPy does not check the position, and would read outside its memory.
        if key.shape != (_RANDOM_WORDS,) or type(position) is not int or not 0 <= position <= _RANDOM_WORDS:
            raise DamagedFileError(f"a random state of {key.size} words, at position {position!r:.50}.")
        random = np.random.RandomState(0)
        random.set_state((name, key, position, *gauss))
        return random

    def _object(self, node: Node) -> object:
        cls = _BY_NAME.get(_text(node["of"]))
        if cls is None:
            raise DamagedFileError(f"an object of class {node['of']!r:.50} is not known.")
        return self._made(cls, node)

    def _term(self, node: Node) -> object:
        cls = TERMS.get(_text(node["of"]))
        if cls is None:
            raise DamagedFileError(
                f"a term of kind {node['of']!r:.50} is not registered. If a package defines it, import that first."
            )
        return self._made(cls, node)  # type: ignore[arg-type]

    def _made(self, cls: type[DataclassInstance], node: Node) -> object:
        make: Callable[..., object] = cls
        return make(**self._known(node["fields"], {f.name for f in fields(cls) if f.init}))

    def _shapes(self, node: Node) -> ShapeFunctions:
        encoder, table, intercepts = (self.value(node[name]) for name in ("encoder", "table", "intercepts"))
        name = _text(as_object(node["weights"], "the weights")["name"])
        n_columns, width, n_problems = self.file.shape(name)
        if not n_columns * width * n_problems:
            raise DamagedFileError("a model without weights.")
        shape = (n_problems, n_columns, width)
        self._take(4 * n_columns * width * max(4, n_problems))
        slots = empty_slots(shape)
        self.file.read(name, weights_in(slots, shape).transpose(1, 2, 0), finite=True)
        pairs = self.value(node["pairs"]) if "pairs" in node else ()
        for pair in pairs if isinstance(pairs, tuple) else ():
            self._take(getattr(getattr(pair, "values", None), "nbytes", 0))
        # `check_estimator` checks the types of the parts.
        shapes = ShapeFunctions.of_slots(encoder, table, slots, shape, intercepts, pairs)  # type: ignore[arg-type]
        kept = {name: self.value(node[name]) for name in ("training", "edits") if name in node}
        return shapes.with_history(**kept)  # type: ignore[arg-type]

    def _take(self, n_bytes: int) -> None:
        """Count the memory of a node: many small nodes could each refer to the same large array."""
        self._room -= n_bytes
        if self._room < 0:
            raise DamagedFileError(f"its values take more memory than a file of {self.file.size:,} bytes can need.")

    def _known(self, node: JSON, known: set[str]) -> dict[str, object]:
        """The values of the known names."""
        items = as_object(node, "a list of parameters or fields")
        unknown = set(items) - known
        if unknown and not self.lenient:
            raise DamagedFileError(f"{sorted(unknown)[0]!r:.50} is not known.")
        return {name: self.value(item) for name, item in items.items() if name in known}


_READERS: dict[str, Callable[[TreeReader, Node], object]] = {
    "tensor": TreeReader._tensor,
    "float": TreeReader._float,
    "scalar": TreeReader._scalar,
    "texts": TreeReader._texts,
    "objects": TreeReader._objects,
    "csr": TreeReader._csr,
    "history": TreeReader._history,
    "tuple": TreeReader._tuple,
    "dict": TreeReader._dict,
    "slice": TreeReader._slice,
    "dtype": TreeReader._dtype,
    "RandomState": TreeReader._random,
    "object": TreeReader._object,
    "term": TreeReader._term,
    "shapes": TreeReader._shapes,
    "estimator": TreeReader.estimator,
}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise DamagedFileError(f"expected text, found {type(value).__name__}.")
    return value


def _integer(value: object) -> int:
    if type(value) is not int:
        raise DamagedFileError(f"expected an integer, found {type(value).__name__}.")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise DamagedFileError(f"expected a list, found {type(value).__name__}.")
    return value
