"""Checks of scikit-learn's steps for tables in a model file: ColumnTransformer, the encoders, and SimpleImputer.

These compute in NumPy and SciPy, which check what they index; what they would run or read besides is refused here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator

from ..array_types import Labels
from .tensor_file import DamagedFileError

_OUTPUTS = ("default", "pandas", "polars", None)


def require(condition: bool, what: str) -> None:
    """Raise DamagedFileError unless the condition holds."""
    if not condition:
        raise DamagedFileError(what)


def check_output(model: BaseEstimator) -> None:
    """The container that `set_output` asked for."""
    asked = getattr(model, "_sklearn_output_config", {})
    require(isinstance(asked, dict) and set(asked) <= {"transform"}, "the output of a step is something else.")
    require(all(value in _OUTPUTS for value in asked.values()), "the output of a step is not known.")


def check_column_transformer(model: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    """Steps are known estimators, which are checked by `check`, and read columns of the input."""
    n = model.n_features_in_
    require(model.n_jobs is None, "a ColumnTransformer has n_jobs= other than None.")
    require(type(model.sparse_output_) is bool, "sparse_output_ must be True or False.")
    places = model._transformer_to_input_indices
    require(isinstance(places, dict), "the columns of steps must be a dict.")
    require(isinstance(model.transformers_, list), "transformers_ must be a list.")
    for item in model.transformers_:
        require(isinstance(item, tuple) and len(item) == 3 and type(item[0]) is str, "a step must have three parts.")
        name, step, chosen = item
        columns = places.get(name)
        inside = isinstance(columns, list) and all(type(j) is int and 0 <= j < n for j in columns)
        fits = inside and _are_columns(chosen, n, getattr(model, "feature_names_in_", None))
        require(fits, f"the columns of step {name!r:.50} are not those of the input.")
        if isinstance(step, str) and step in ("drop", "passthrough"):
            continue
        require(isinstance(step, BaseEstimator), f"step {name!r:.50} is a {type(step).__name__}, not an estimator.")
        check(step)
        require(hasattr(step, "transform"), f"step {name!r:.50} has no transform.")
    weights = model.transformer_weights or {}
    require(isinstance(weights, dict), "transformer_weights must be a dict.")
    require(all(type(value) in (int, float) for value in weights.values()), "transformer_weights must be numbers.")


def check_categories(model: BaseEstimator) -> None:
    """An encoder has one list of categories per column, and mappings for infrequent ones, if these are enabled."""
    n, categories = model.n_features_in_, model.categories_
    fits = isinstance(categories, list) and len(categories) == n
    require(fits and all(map(_is_vector, categories)), "categories_ must have one list per feature.")
    require(all(map(_are_categories, categories)), "categories must be numbers or text, one at least.")
    _check_dtype(model.dtype)
    require(type(model._infrequent_enabled) is bool, "_infrequent_enabled must be True or False.")
    if not model._infrequent_enabled:
        return
    groups = model._infrequent_indices
    fits = isinstance(groups, list) and len(groups) == n and all(one is None or _are_integers(one) for one in groups)
    require(fits, "there must be one group of infrequent categories per feature.")
    mappings = model._default_to_infrequent_mappings
    require(isinstance(mappings, list) and len(mappings) == n, "there must be one mapping of categories per feature.")
    for mapping, known in zip(mappings, categories, strict=True):
        fits = mapping is None or (_are_integers(mapping) and mapping.size == known.size)
        require(fits, "a mapping of categories must have one integer per category.")
        require(mapping is None or bool(((mapping >= 0) & (mapping < known.size)).all()), "a mapping has other places.")


def check_one_hot(model: BaseEstimator) -> None:
    """The output has as many columns as the categories give."""
    check_categories(model)
    widths = model._n_features_outs
    fits = isinstance(widths, list) and len(widths) == model.n_features_in_
    require(fits and all(type(width) is int for width in widths), "_n_features_outs must have one number per feature.")
    most = [known.size + 1 for known in model.categories_]
    require(all(0 <= width <= limit for width, limit in zip(widths, most, strict=True)), "an encoder is too wide.")
    for dropped in (model._drop_idx_after_grouping, model.drop_idx_):
        fits = dropped is None or (_is_vector(dropped) and dropped.size == model.n_features_in_)
        require(fits and (dropped is None or all(_is_place(place) for place in dropped)), "a dropped category is none.")


def check_ordinal(model: BaseEstimator) -> None:
    """Missing values have a code, by the number of their feature."""
    check_categories(model)
    missing = model._missing_indices
    fits = isinstance(missing, dict) and all(type(item) is int for pair in missing.items() for item in pair)
    require(fits, "_missing_indices must be a dict of integers.")
    sizes = [known.size for known in model.categories_]
    require(all(0 <= j < len(sizes) and 0 <= k < sizes[j] for j, k in missing.items()), "a missing value has no code.")


def check_imputer(model: BaseEstimator) -> None:
    """There is one value per feature."""
    statistics = model.statistics_
    require(
        _is_vector(statistics) and statistics.size == model.n_features_in_, "statistics_ must have one per feature."
    )
    require(statistics.dtype.kind in "fiuOb", "statistics_ must be numbers or text.")
    for name in ("_fit_dtype", "_fill_dtype"):
        require(isinstance(getattr(model, name), np.dtype), f"{name} must be a type.")
    require(not model.add_indicator, "an imputer has add_indicator= other than False.")


def check_function(model: BaseEstimator) -> None:
    """A FunctionTransformer stands for columns that are passed through: it has no function."""
    require(model.func is None and model.inverse_func is None, "a FunctionTransformer has a function.")


def _are_columns(chosen: object, n: int, names: Labels | None) -> bool:
    """Whether these are columns as a ColumnTransformer takes them: names, numbers, a mask or a slice."""
    if isinstance(chosen, slice):
        return all(part is None or _is_column(part, n + 1, names) for part in (chosen.start, chosen.stop, chosen.step))
    if isinstance(chosen, np.ndarray):
        is_mask = chosen.dtype == bool and chosen.shape == (n,)
        return is_mask or (_is_vector(chosen) and all(_is_column(one, n, names) for one in chosen.tolist()))
    if isinstance(chosen, list):
        is_mask = len(chosen) == n and all(type(one) is bool for one in chosen)
        return is_mask or all(_is_column(one, n, names) for one in chosen)
    return _is_column(chosen, n, names)


def _is_column(one: object, n: int, names: Labels | None) -> bool:
    if isinstance(one, str):
        return names is not None and one in names
    return type(one) is int and -n <= one < n


def _are_categories(known: Labels) -> bool:
    """Text, with None and NaN for missing values, or numbers."""
    if known.size == 0 or known.dtype.kind != "O":
        return known.size > 0 and known.dtype.kind in "biufU"
    present = [value for value in known if value is not None and value == value]
    return all(type(value) is str for value in present) or all(type(value) in (bool, int, float) for value in present)


def _check_dtype(dtype: object) -> None:
    require(isinstance(dtype, type) and issubclass(dtype, np.number), "the type of an encoder must be one of numbers.")


def _is_place(place: object) -> bool:
    return place is None or (isinstance(place, int | np.integer) and bool(place >= 0))


def _are_integers(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "i"


def _is_vector(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1
