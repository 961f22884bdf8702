"""What is asked of any bytes: a ValueError that names the file, or a model that scores rows or refuses them so."""

import contextlib
import itertools
import os
from typing import Any

import numpy as np
import scipy.sparse as sp

import kernline

METHODS = ("decision_function", "predict", "predict_proba", "transform")
# Rows of a wider model would show how much memory rows take.
WIDEST = 1000


def rows(n_features: int) -> list[Any]:
    """Three rows in each of the forms that the core reads in its own way."""
    values = np.resize([0.0, 1.0, 0.3, 5.0, 1e6, 2.0, 0.0], (3, n_features))
    return [values, -values, sp.csr_array(values), np.asfortranarray(values, dtype=np.float32), values.astype(np.uint8)]


def width(model: Any) -> Any:
    """Columns that a model asks for; a pipeline tells those of its first step, or fails to."""
    try:
        return model.n_features_in_
    except AttributeError:
        return 3


def takes_dense_rows(model: Any) -> bool:
    """scikit-learn refuses sparse rows by a TypeError."""
    if hasattr(model, "steps"):
        return any(takes_dense_rows(step) for _, step in model.steps)
    return type(model).__name__ == "MinMaxScaler" or has_encoders(model)


def has_encoders(model: Any) -> bool:
    """Whether a step is an encoder of scikit-learn, or may contain one."""
    if hasattr(model, "steps"):
        return any(has_encoders(step) for _, step in model.steps)
    return type(model).__name__ in ("ColumnTransformer", "OneHotEncoder", "OrdinalEncoder")


def use(model: Any) -> None:
    """Let the model do all that it can with rows."""
    n_features = width(model)
    if n_features > WIDEST:
        return
    for X, method in itertools.product(rows(n_features), METHODS):
        if hasattr(model, method) and not (sp.issparse(X) and takes_dense_rows(model)):
            # scikit-learn's encoders of text raise TypeError for numbers.
            with contextlib.suppress(ValueError, TypeError if has_encoders(model) else ValueError):
                assert getattr(model, method)(X).shape[0] == 3
    if isinstance(getattr(model, "random_state", None), np.random.RandomState):
        model.random_state.randint(2, size=700)
    if hasattr(model, "shapes_"):
        model.shapes_.evaluate(n_features - 1, [0.0, 0.5, 100.0])
        look_at(model.shapes_, rows(n_features)[0])
        with contextlib.suppress(ValueError):
            edited = model.with_shapes(model.shapes_.edit(0, replace=0.0))
            assert edited.predict(rows(n_features)[0]).shape[0] == 3
    if isinstance(model, kernline.BudgetedSVC) and max(model.budget, model.grid_size) < 1000:
        with contextlib.suppress(ValueError):
            model.partial_fit(rows(n_features)[0], model.classes_[[0, 1, 0]])


def look_at(shapes: Any, X: np.ndarray) -> None:
    """Ask for all that the functions show of themselves."""
    with contextlib.suppress(ValueError):
        assert shapes.explain(X).decision().shape == (3, shapes.n_problems)
    for k in {0, shapes.n_functions - 1}:
        for centred in {False, shapes.training is not None}:
            shapes.curve(k, centred=centred)
        with contextlib.suppress(ValueError):
            shapes.edit(k, clip=(-1.0, 1.0))
    with contextlib.suppress(ValueError):
        shapes.explain(sp.csr_array(X)).top(0, 3)
    with contextlib.suppress(ValueError):
        assert shapes.importance(X).shape == (shapes.n_functions, shapes.n_problems)
    with contextlib.suppress(ValueError):
        assert len(shapes.compare(shapes)) == shapes.n_functions * shapes.n_problems
    shapes.frame([0])
    if shapes.training is not None:
        assert len(shapes.top(3)) == min(3, shapes.n_functions)
        assert shapes.importance().shape == (shapes.n_functions, shapes.n_problems)
        with contextlib.suppress(ValueError):
            assert shapes.centred().explain(X).decision().shape == (3, shapes.n_problems)


def load_and_use(path: str | os.PathLike[str]) -> bool:
    """Load the file, and use what comes of it: whether it was a model."""
    try:
        model = kernline.load(path, n_jobs=1)
    except ValueError as error:
        if not str(error).startswith(os.fspath(path)):
            raise RuntimeError("the file is not named") from error
        return False
    use(model)
    return True
