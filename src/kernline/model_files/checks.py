"""Checks of a loaded model before it computes anything: the core relies on shapes and orders.

A file may have the right digests and still be forged.
"""

from __future__ import annotations

from dataclasses import fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator

from .. import kernels
from ..array_types import Labels, Numbers, is_sparse
from ..encoding import TERMS, Columns, Encoder, Term
from ..encoding.terms import check_columns
from ..kernels import AdditiveKernel
from ..landmarks import pairwise
from ..landmarks.nystrom_map import LandmarkMap
from ..landmarks.pairwise import PairKernel
from ..landmarks.points import Points
from ..landmarks.scaling import Scaling
from ..pair_functions import PairFunction
from ..shapes import CellCounts, ShapeFunctions, TrainingFacts
from ..solvers.budgeted_sgd import BudgetedModel
from ..tables import CodeGrid, DenseTable, PairTable, PowersTable, ValueTable
from ..tables.pmsvm import NodePayload
from ..validation import LARGEST_VALUE
from .step_checks import (
    check_column_transformer,
    check_function,
    check_imputer,
    check_one_hot,
    check_ordinal,
    check_output,
)
from .step_checks import require as _require
from .tensor_file import DamagedFileError

if TYPE_CHECKING:
    from collections.abc import Callable

_ANY = -1
_T = TypeVar("_T")


def check_estimator(model: BaseEstimator) -> None:
    """Refuse a model that `fit` cannot have produced, as far as prediction depends on it."""
    model._validate_params()
    for check in _CHECKS[type(model).__name__]:
        check(model)
    for name in ("dual_gap_", "n_iter_", "objective_"):  # reports compute with these
        value = vars(model).get(name)
        _require(value is None or np.asarray(value).dtype.kind in "iuf", f"{name} must be numbers.")


def _check_pipeline(model: BaseEstimator) -> None:
    _require(bool(model.steps), "a pipeline without steps.")
    for k, (name, step) in enumerate(model.steps, start=1):
        if step is None or (isinstance(step, str) and step == "passthrough"):
            continue
        _require(isinstance(step, BaseEstimator), f"step {name!r:.50} is a {type(step).__name__}, not an estimator.")
        check_estimator(step)
        _require(k == len(model.steps) or hasattr(step, "transform"), f"step {name!r:.50} has no transform.")
    # joblib would read pickles from a folder.
    _require(model.memory is None, "a pipeline has memory= other than None.")


def _instance(value: object, cls: type[_T], what: str) -> _T:
    """The value, if it is an instance of the class."""
    if not isinstance(value, cls):
        raise DamagedFileError(f"{what}: expected {cls.__name__}, found {type(value).__name__}.")
    return value


def _array(value: object, shape: tuple[int, ...], what: str, dtype: DTypeLike = np.float64) -> Numbers:
    """The value, if it is a finite array of this type and shape; _ANY allows every length."""
    if not isinstance(value, np.ndarray) or value.dtype != dtype:
        raise DamagedFileError(f"{what} must be an array of {np.dtype(dtype)}.")
    fits = len(value.shape) == len(shape) and all(n in (_ANY, m) for n, m in zip(shape, value.shape, strict=True))
    _require(fits, f"{what} has shape {value.shape}, not {shape}.")
    _require(value.dtype.kind != "f" or bool(np.isfinite(value).all()), f"{what} has values that are not finite.")
    return value


def _number(value: object, what: str, *, positive: bool = False) -> None:
    valid = (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and bool(np.isfinite(value))
        and bool(value > 0 or not positive)
    )
    _require(valid, f"{what} is {value!r:.50}, which is not valid.")


def _check_features(model: BaseEstimator) -> None:
    n = model.n_features_in_
    _require(type(n) is int and n > 0, "n_features_in_ must be a positive integer.")
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        _require(
            isinstance(names, np.ndarray) and names.shape == (n,), "feature_names_in_ must have one name per feature."
        )
        _require(all(isinstance(name, str) for name in names), "feature_names_in_ must be text.")


def _check_classes(model: BaseEstimator) -> None:
    classes = model.classes_
    _require(
        isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size > 1,
        "classes_ must have at least two classes.",
    )
    _require(bool((classes[1:] > classes[:-1]).all()), "classes_ must increase.")
    multilabel = getattr(model, "multilabel_", False)
    _require(isinstance(multilabel, bool), "multilabel_ must be True or False.")
    _array(model.intercept_, (classes.size if multilabel else n_problems(classes),), "intercept_")


def _check_outputs(model: BaseEstimator) -> None:
    intercepts = _array(model.intercept_, (_ANY,), "intercept_")
    _require(intercepts.size > 0, "a regression must have an output.")
    units = _array(model.target_unit_, intercepts.shape, "target_unit_")
    _require(bool((units > 0.0).all()), "target_unit_ must be positive.")


def n_problems(classes: Labels) -> int:
    """Number of binary problems of these classes."""
    return classes.size if classes.size > 2 else 1


def check_encoder(value: object, n_features: int, n_columns: int) -> None:
    """Check an encoder of so many columns of the input, and of the solver."""
    encoder = _instance(value, Encoder, "the encoder")
    _check_terms(encoder.terms, n_features, n_columns)
    for name in ("offsets", "factors"):
        _array(getattr(encoder, name), (n_features,), name)
    _check_level_names(_instance(encoder.columns, Columns, "the columns"), encoder)
    _array(encoder.scales, (n_columns,), "scales")
    edges, start = _array(encoder.edges, (_ANY,), "edges"), _array(encoder.edge_start, (_ANY,), "edge_start", np.int64)
    _array(encoder.levels, edges.shape, "levels")
    divides = (
        start.size == n_features + 1 and start[0] == 0 and start[-1] == edges.size and bool((np.diff(start) > 0).all())
    )
    _require(encoder.numbers in ("affine", "rank"), f"numbers of kind {encoder.numbers!r:.50} are not known.")
    _require(
        divides if encoder.numbers == "rank" else not (start.size or edges.size),
        "edge_start must divide the edges among the features.",
    )
    flags = (encoder.packed, encoder.clips)
    _require(
        all(isinstance(flag, bool) for flag in flags) and isinstance(encoder.nonnegative_for, str),
        "the flags of the encoder must be True or False.",
    )
    if encoder.grid is not None:
        grid = _instance(encoder.grid, CodeGrid, "the grid")
        _require(encoder.payload is None, "an encoder cannot have a grid and a payload.")
        values = _array(grid.values, (_ANY,), "grid.values")
        thresholds = _array(grid.thresholds, (values.size - 1,), "grid.thresholds")
        _require(2 <= values.size <= 65536, "a grid has 2 to 65536 codes.")
        within = thresholds[0] > 0.0 and thresholds[-1] <= 1.0 and bool((np.diff(thresholds) >= 0.0).all())
        _require(within, "thresholds must be increasing and within (0, 1].")
    elif encoder.payload is not None:
        _check_payload(encoder.payload)


def _check_terms(value: object, n_features: int, n_columns: int) -> None:
    """Terms are of registered classes, read columns of the input and own all solver columns after those of numbers."""
    terms: list[Term] = []
    for term in _instance(value, tuple, "the terms"):
        if not isinstance(term, Term):
            raise DamagedFileError(f"a term: expected Term, found {type(term).__name__}.")
        terms.append(term)
        _require(TERMS.get(term.kind) is type(term), f"a term of kind {term.kind!r:.50} is not registered.")
        columns = term.columns
        _require(
            isinstance(columns, tuple) and all(type(j) is int for j in columns),
            "the columns of a term must be a tuple of integers.",
        )
        term.check()
    check_columns(terms, n_features)
    owned = [term.n_columns for term in terms]
    _require(all(type(n) is int and n > 0 for n in owned), "a term must have weights.")
    _require(
        n_features + sum(owned) == n_columns,
        f"weights of {n_columns} columns, not {n_features + sum(owned)}.",
    )


def _check_level_names(columns: Columns, encoder: Encoder) -> None:
    """Columns of text have names for all of their levels."""
    columns.check(encoder.offsets.size)
    for term in encoder.terms:
        for j, axis in zip(term.columns, getattr(term, "axes", ()), strict=False):
            names = columns.names(j)
            if names is not None and axis.kind == "levels":
                _require(_are_named(axis.points, names), f"a level of column {j} has no name.")


def _are_named(levels: Numbers, names: list[str]) -> bool:
    return bool(((levels == np.rint(levels)) & (levels >= 0) & (levels < len(names))).all())


def _check_payload(value: object) -> None:
    payload = _instance(value, NodePayload, "the payload")
    check_kernel(payload.kernel)
    for node in _instance(payload.nodes, tuple, "the payload's nodes"):
        _number(node, "a node")


def _check_shapes(model: BaseEstimator) -> None:
    shapes = _instance(model.shapes_, ShapeFunctions, "shapes_")
    problems, n_columns, _ = shapes.weights.shape
    n_intercepts = model.intercept_.size
    _require(problems == n_intercepts, f"weights of {problems} problems, and {n_intercepts} intercepts.")
    _array(shapes.intercepts, (problems,), "intercepts")
    check_encoder(shapes.encoder, model.n_features_in_, n_columns)
    _check_pairs(shapes, model.n_features_in_)
    encoder, table = shapes.encoder, shapes.table
    width = getattr(table, "width", None)
    _require(
        type(width) is int and width == shapes.weights.shape[2], "the table and the weights must have the same width."
    )
    if encoder.grid is None:
        _require(
            isinstance(table, PowersTable if encoder.payload is not None else ValueTable),
            "the table does not fit the encoder.",
        )
        _require(encoder.payload is not None or width == 1, f"values have a width of 1, not {width}.")
    elif isinstance(table, DenseTable):
        _array(table.rows, (encoder.grid.values.size, table.width), "the table", np.float32)
    else:
        pairs = _instance(table, PairTable, "the table")
        steps = pairs.steps
        _require(type(steps) is int and steps > 0, "the steps of the table must be a positive integer.")
        fits = steps & (steps - 1) == 0 and steps * (pairs.width - 1) + 1 == encoder.grid.values.size
        _require(fits, "the steps of the table do not fit its codes.")


def _check_pairs(shapes: ShapeFunctions, n_features: int) -> None:
    """Tables of pairs read two columns of the input, and have values for every problem."""
    for value in _instance(shapes.pairs, tuple, "the pairs"):
        pair = _instance(value, PairFunction, "the table of a pair")
        columns = pair.columns
        _require(
            isinstance(columns, tuple) and all(type(j) is int and 0 <= j < n_features for j in columns),
            f"the columns of a pair must be two of {n_features}, numbered from 0.",
        )
        pair.check()
        _require(len(set(columns)) == 2, "the columns of a pair must differ.")
        _array(pair.values, (*pair.values.shape[:2], shapes.n_problems), "the table of a pair")
        for j, axis in zip(columns, pair.axes, strict=True):
            names = shapes.encoder.columns.names(j)
            _require(names is None or not axis.is_number, f"column {j} is text, and a pair reads it as a number.")
            _require(names is None or _are_named(axis.points, names), f"a level of column {j} has no name.")


def _check_history(model: BaseEstimator) -> None:
    """Facts of the training rows fit the functions; those that files leave out are added. Older formats have none."""
    shapes = model.shapes_
    edits = shapes.edits
    _require(isinstance(edits, tuple) and all(type(one) is str for one in edits), "edits must be texts.")
    if shapes.training is not None:
        facts = _instance(shapes.training, TrainingFacts, "the training facts")
        _instance(facts.cells, CellCounts, "the counts of cells")
        facts.check(shapes)
        model.shapes_ = shapes.with_history(facts.completed(shapes), edits)


def _check_choice(model: BaseEstimator) -> None:
    """What a fit chose decides whether scores are probabilities. Files of older formats do not say it."""
    for name in ("loss_", "solver_"):
        _require(isinstance(getattr(model, name, ""), str), f"{name} must be a name.")


def _check_points(value: object, n_features: int) -> None:
    points = _instance(value, Points, "the landmarks")
    X = points.X
    if is_sparse(X):
        _require(X.shape[1] == n_features and X.shape[0] > 0, "the landmarks do not have the columns of the model.")
        _require(X.dtype.kind in "biuf" and bool(np.isfinite(X.data).all()), "the landmarks must be finite numbers.")
        _require(bool(sp.csr_array(X).has_canonical_format), "the columns of the landmarks are out of order.")
    else:
        _require(isinstance(X, np.ndarray) and X.dtype.kind in "biuf", "the landmarks must be numbers.")
        _require(_array(X, (_ANY, n_features), "the landmarks", X.dtype).shape[0] > 0, "there are no landmarks.")
    if points.center is not None:
        _array(points.center, (n_features,), "center")
    for name in ("unit", "size"):  # both are squared
        _number(getattr(points, name), name, positive=True)
        _require(
            getattr(points, name) <= 4.0 * LARGEST_VALUE, f"{name} is larger than the values that can be compared."
        )


def check_kernel(value: object) -> None:
    """Raise DamagedFileError unless this is an additive kernel with parameters of its own types."""
    kernel = _instance(value, AdditiveKernel, "the kernel's function")
    _require(isinstance(kernel.n_jobs, Integral | None), "the kernel's n_jobs must be an integer or None.")
    if isinstance(kernel, kernels.PowerMean):
        _require(isinstance(kernel.p, Real), "the kernel's p must be a number.")


def _check_pair_kernel(value: object) -> None:
    kernel = _instance(value, PairKernel, "the kernel")
    _require(kernel.kind in pairwise.FORMS, f"a kernel of kind {kernel.kind!r:.50} is not known.")
    for number in (kernel.gamma, kernel.degree, kernel.coef0):
        _number(number, "a parameter of the kernel")
    _require(isinstance(kernel.nonnegative_for, str), "nonnegative_for must be a kernel's name.")
    function = kernel.function
    if kernel.kind != "factor":
        _require(function is None, "a kernel that is not a factor has no function.")
    elif isinstance(function, pairwise.ScikitLearn):
        _require(function.name in pairwise.SCIKIT_LEARN_NAMES, "the kernel's function is not one of scikit-learn.")
    else:
        check_kernel(function)


def _check_scaling(model: BaseEstimator) -> None:
    if not hasattr(model, "scale_"):  # before format 1.2
        return
    scaling = _instance(model.scale_, Scaling, "scale_")
    _require(scaling.name in (None, "standard"), f"a scaling of the name {scaling.name!r:.50} is not known.")
    _require(isinstance(scaling.reason, str), "the reason of a scaling must be text.")
    shape = (0 if scaling.name is None else model.n_features_in_,)
    low, high = (_array(getattr(scaling, name), shape, name) for name in ("low", "high"))
    _require(bool((low <= high).all()), "the lower end of a column's range must not be above the upper one.")
    for name in ("center", "factor"):
        _array(getattr(scaling, name), shape, name)


def _check_landmarks(model: BaseEstimator) -> None:
    _check_pair_kernel(model._kernel)
    _check_points(model._points, model.n_features_in_)
    _array(model.dual_coef_, (n_problems(model.classes_), len(model._points)), "dual_coef_")


def _check_nystrom_map(model: BaseEstimator) -> None:
    landmarks = _instance(model._map, LandmarkMap, "the map")
    _check_pair_kernel(landmarks.kernel)
    _check_points(landmarks.points, model.n_features_in_)
    _array(landmarks.root, (landmarks.width, landmarks.width), "root_")


def _check_additive_map(model: BaseEstimator) -> None:
    check_encoder(model._encoder, model.n_features_in_, model.n_features_in_)
    _require(model._encoder.grid is not None, "the encoder of a map must have codes.")
    n_components = model.n_components_
    _require(type(n_components) is int and n_components > 0, "n_components_ must be a positive integer.")
    _array(model._features, (model._encoder.grid.values.size, n_components), "the table")


def _check_budgeted(model: BaseEstimator) -> None:
    vectors = _array(model.support_vectors_, (_ANY, model.n_features_in_), "support_vectors_", np.float32)
    counts = _array(model.n_support_, (n_problems(model.classes_),), "n_support_", np.int64)
    _require(
        bool((counts >= 0).all()) and int(counts.sum()) == len(vectors), "n_support_ must divide the support vectors."
    )
    _array(model.dual_coef_, (len(vectors),), "dual_coef_")
    _number(model.gamma_, "gamma_", positive=True)
    _require(
        isinstance(model._last, list) and len(model._last) == counts.size, "there must be one last state per problem."
    )
    for last, n in zip(model._last, counts.tolist(), strict=True):
        _require(set(last) == {field.name for field in fields(BudgetedModel)}, "a last state has other parts.")
        _array(last["counts"], (n,), "counts", np.float32)
        _array(last["pasts"], (n,), "pasts")
        for name in ("bias", "bias_past", "weight_sum", "average_norm", "n_seen", "scale"):
            _number(last[name], name)
        _require(type(last["n_steps"]) is int and 0 <= last["n_steps"] < 2**53, "n_steps must be a number of rows.")
        _require(last["n_seen"] >= 1 or last["n_steps"] == 0, "n_seen must be at least 1 after a step.")


def _check_columns(model: BaseEstimator) -> None:
    check_column_transformer(model, check_estimator)


def _check_scaler(model: BaseEstimator) -> None:
    """scikit-learn's scalers compute in NumPy, with one number per feature: NaN for columns that were all NaN."""
    for name in _LEARNT[type(model).__name__]:
        value = getattr(model, name)
        fits = isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.shape == (model.n_features_in_,)
        unused = value is None and getattr(model, _NEEDED_BY[name], True) is False
        _require(fits or unused, f"{name} must have one float per feature.")
    for bound in getattr(model, "feature_range", ()):
        _number(bound, "an end of feature_range")
    _require(len(getattr(model, "feature_range", (0, 1))) == 2, "feature_range must have two ends.")


# What scikit-learn's scalers need for each feature, and the parameter that makes them use it.
_LEARNT: dict[str, tuple[str, ...]] = {
    "StandardScaler": ("mean_", "scale_"),
    "MinMaxScaler": ("min_", "scale_"),
    "MaxAbsScaler": ("scale_",),
    "Normalizer": (),
}
_NEEDED_BY = {"mean_": "with_mean", "scale_": "with_std"}

_CHECKS: dict[str, list[Callable[[BaseEstimator], None]]] = {
    "AdditiveSVC": [_check_features, _check_classes, _check_shapes, _check_history, _check_choice],
    "AdditiveSVCCV": [_check_features, _check_classes, _check_shapes, _check_history, _check_choice],
    "AdditiveSVR": [_check_features, _check_outputs, _check_shapes, _check_history],
    "AdditiveSVRCV": [_check_features, _check_outputs, _check_shapes, _check_history],
    "NystromSVC": [_check_features, _check_classes, _check_scaling, _check_landmarks],
    "NystromMap": [_check_features, _check_nystrom_map],
    "AdditiveKernelMap": [_check_features, _check_additive_map],
    "BudgetedSVC": [_check_features, _check_classes, _check_scaling, _check_budgeted],
    "Pipeline": [_check_pipeline],
    "ColumnTransformer": [_check_features, check_output, _check_columns],
    "OneHotEncoder": [_check_features, check_output, check_one_hot],
    "OrdinalEncoder": [_check_features, check_output, check_ordinal],
    "SimpleImputer": [_check_features, check_output, check_imputer],
    "FunctionTransformer": [check_output, check_function],
} | {name: [_check_features, check_output, _check_scaler] for name in _LEARNT}
