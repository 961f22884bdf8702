"""Work with any model that `kernline.save` wrote, including pipelines and maps."""

from __future__ import annotations

from typing import Any

from .errors import UsageError

# Number of values in a block of rows that is made dense.
_DENSE_VALUES = 4_000_000


def final_step(model: Any) -> Any:
    """The last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def check_classifier(model: Any, file: str) -> None:
    """Raise an error for a model that is not a classifier, before any data is read."""
    if not hasattr(model, "decision_function"):
        raise UsageError(
            f"{file} contains a {described(model)}, which maps rows but predicts no labels. Pass a classifier, or use "
            "the map in Python: kernline.load(...).transform(X)."
        )


def described(model: Any) -> str:
    """The class name, with the steps of a pipeline."""
    if not hasattr(model, "steps"):
        return type(model).__name__
    return f"Pipeline of {', '.join(type(step).__name__ for _, step in model.steps)}"


def scores(model: Any, X: Any) -> Any:
    """The decision function. If a step does not accept sparse rows, they are made dense block by block."""
    import numpy as np

    if not hasattr(X, "indptr") or not _needs_dense(model) or not X.shape[0]:
        return model.decision_function(X)
    n = max(1, _DENSE_VALUES // max(1, X.shape[1]))
    blocks = range(0, X.shape[0], n)
    return np.concatenate([model.decision_function(X[begin : begin + n].toarray()) for begin in blocks])


def before_final_step(model: Any, X: Any) -> Any:
    """The rows that the last step of a pipeline receives."""
    X = X.toarray() if hasattr(X, "indptr") and _needs_dense(model) else X
    return model[:-1].transform(X) if hasattr(model, "steps") and len(model.steps) > 1 else X


def _needs_dense(model: Any) -> bool:
    from sklearn.utils import get_tags

    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    if not all(get_tags(step).input_tags.sparse for step in steps if hasattr(step, "get_params")):
        return True
    shapes = getattr(steps[-1], "shapes_", None)
    return shapes is not None and not shapes.encoder.keeps_zeros
