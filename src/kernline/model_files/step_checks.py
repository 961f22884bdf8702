"""Checks of scikit-learn's steps for tables in a model file: ColumnTransformer, the encoders, and SimpleImputer.

These compute in NumPy and SciPy, which check what they index; what they would run or read besides is refused here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator

from ..array_types import Labels, Numbers
from .tensor_file import DamagedFileError

_LARGEST_WEIGHT = 1e300
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
    fits = all(type(value) in (int, float) and abs(value) <= _LARGEST_WEIGHT for value in weights.values())
    require(fits, "transformer_weights must be numbers.")


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
    for group, mapping, known in zip(groups, mappings, categories, strict=True):
        require((group is None) == (mapping is None), "infrequent categories must have a mapping.")
        if group is not None:
            _check_infrequent(group, mapping, known.size)


def check_one_hot(model: BaseEstimator) -> None:
    """The output has as many columns as the categories give: SciPy is handed their numbers, and believes them."""
    check_categories(model)
    sizes = [known.size for known in model.categories_]
    if model._infrequent_enabled:
        groups = model._infrequent_indices
        widths = [size if one is None else size - one.size + 1 for size, one in zip(sizes, groups, strict=True)]
    else:
        widths = sizes
    dropped = _dropped(model._drop_idx_after_grouping, widths)
    _dropped(model.drop_idx_, sizes)
    widths = [width - (place is not None) for width, place in zip(widths, dropped, strict=True)]
    given = model._n_features_outs
    fits = isinstance(given, list) and all(type(width) is int for width in given) and given == widths
    require(fits, "_n_features_outs must be the numbers of columns that the categories give.")


def _dropped(places: Numbers | None, widths: list[int]) -> list[object]:
    """The category that is dropped of each feature, or None."""
    if places is None:
        return [None] * len(widths)
    require(_is_vector(places) and places.size == len(widths), "there must be one dropped category per feature.")
    found = places.tolist()
    fits = all(one is None or (type(one) is int and 0 <= one < width) for one, width in zip(found, widths, strict=True))
    require(fits, "a dropped category must be one of the feature's.")
    return found


def _check_infrequent(group: Numbers, mapping: Numbers, n_known: int) -> None:
    """A group of infrequent categories is mapped to one place, after those of all others."""
    inside = bool(((group >= 0) & (group < n_known)).all()) and np.unique(group).size == group.size > 0
    require(inside, "infrequent categories must be some of the feature's.")
    fits = _are_integers(mapping) and mapping.size == n_known
    require(fits, "a mapping of categories must have one integer per category.")
    n_places = n_known - group.size + 1
    require(bool(((mapping >= 0) & (mapping < n_places)).all()), "a mapping of categories has other places.")


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
    require(model.kw_args is None and model.inv_kw_args is None, "a FunctionTransformer has arguments.")


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


def _are_integers(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "i"


def _is_vector(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1
