"""The parts of a pipeline that ends with one of our estimators: its last step, those before it, and column names."""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import Pipeline

from ..array_types import Labels
from .additive_base import AdditiveBase


def found_estimator(estimator: object) -> object:
    """The estimator itself, or the best one that a search has found."""
    found: object = getattr(estimator, "best_estimator_", estimator)
    return found


def last_step(estimator: object) -> object:
    """The estimator itself, the best one of a search, or the last step of a pipeline."""
    found = found_estimator(estimator)
    return found.steps[-1][1] if isinstance(found, Pipeline) else found


def steps_before(estimator: object) -> Pipeline | None:
    """The steps of a pipeline before its last one; None if there are none."""
    found = found_estimator(estimator)
    return found[:-1] if isinstance(found, Pipeline) and len(found.steps) > 1 else None


def column_names(model: AdditiveBase, before: Pipeline | None) -> Labels | None:
    """The names of the columns that the model reads: its own, or those that the steps before it give."""
    own = model.shapes_.feature_names_in_
    if own is not None or before is None:
        return own
    try:
        names = np.asarray(before.get_feature_names_out(), dtype=object)
    except (AttributeError, ValueError):  # a step that does not name its columns
        return None
    is_numbered = all(name == f"x{j}" for j, name in enumerate(names))
    return None if is_numbered or names.size != model.shapes_.n_features else names
