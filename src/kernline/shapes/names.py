"""Functions of a model by name and number."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, TypeAlias

from numpy.typing import ArrayLike

from ..suggestions import did_you_mean

if TYPE_CHECKING:
    from .functions import ShapeFunctions

_NAMES_LISTED = 20

# A function by its number or name, or a pair by those of its two features.
FunctionKey: TypeAlias = int | str | tuple[int | str, int | str]


def number_of(shapes: ShapeFunctions, feature: FunctionKey, call: str) -> int:
    """The number of a function that is given by number or name, or as two of them; `call` is named in errors."""
    if isinstance(feature, tuple):
        return _number_of_pair(shapes, feature, call)
    if isinstance(feature, str):
        return _number_of_name(shapes, feature, call)
    try:
        j = operator.index(feature)
    except TypeError:
        raise TypeError(
            f"{call}: feature must be a number or a name, or a pair of them, not {feature!r:.50}."
        ) from None
    if not 0 <= j < shapes.n_functions:
        raise IndexError(f"{call}: no feature {j}. There are {shapes.n_functions}, 0 to {shapes.n_functions - 1}.")
    return j


def _number_of_pair(shapes: ShapeFunctions, pair: tuple[int | str, ...], call: str) -> int:
    if len(pair) != 2:
        raise ValueError(f"{call}: {pair!r:.80} is not a pair of two features.")
    columns = {number_of(shapes, one, call) for one in pair}
    pairs = shapes.functions[shapes.n_features :]
    for k, found in enumerate(pairs, shapes.n_features):
        if columns == set(found):
            return k
    names = [shapes.name_of(k) for k in range(shapes.n_features, shapes.n_functions)][:_NAMES_LISTED]
    raise ValueError(f"{call}: the model has no pair {pair!r:.80}. There are: {', '.join(names) or 'none'}.")


def check_number(n: int, call: str) -> None:
    """Refuse to list fewer than no functions."""
    if n < 0:
        raise ValueError(f"{call}: k must be at least 0; got {n}.")


def _number_of_name(shapes: ShapeFunctions, name: str, call: str) -> int:
    if shapes.feature_names_in_ is None:
        raise ValueError(
            f"{call}: no feature {name!r}. The model was fitted on columns without names: pass a number, 0 to "
            f"{shapes.n_features - 1}."
        )
    names = shapes.function_names
    if name not in names:
        listed = ", ".join(names[:_NAMES_LISTED]) + (", …" if len(names) > _NAMES_LISTED else "")
        hint = did_you_mean(name, names).strip() or f"There are: {listed}."
        raise ValueError(f"{call}: no feature {name!r}. {hint}")
    return names.index(name)


def check_column(shapes: ShapeFunctions, j: int, values: ArrayLike) -> None:
    """Refuse a column of pandas, or of a like library, that has the name of another feature."""
    names = getattr(values, "columns", [getattr(values, "name", None)])
    if shapes.feature_names_in_ is None or len(names) != 1 or names[0] is None:
        return
    given, expected = str(names[0]), str(shapes.feature_names_in_[j])
    if given != expected and given in shapes.feature_names_in_:
        raise ValueError(f"evaluate: the values are those of {given!r}, and feature {j} is {expected!r}.")
