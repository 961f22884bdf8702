"""Work with any model that `kernline.save` wrote, including pipelines and maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast

from .errors import UsageError

if TYPE_CHECKING:
    from ..array_types import Array, Labels, Matrix
    from ..estimators.additive_base import AdditiveBase
    from ..shapes import ShapeFunctions

# Number of values in a block of rows that is made dense.
_DENSE_VALUES = 4_000_000


class Model(Protocol):
    """A fitted estimator, map or pipeline."""

    n_features_in_: int

    def get_params(self) -> dict[str, object]:
        """The parameters by name."""

    def set_params(self, **parameters: object) -> object:
        """Change parameters."""


class Classifier(Model, Protocol):
    """A model that predicts labels."""

    classes_: Labels

    def decision_function(self, X: Matrix) -> Array:
        """One score per class, or one in all for two classes."""


class Regressor(Model, Protocol):
    """A model that predicts numbers."""

    def predict(self, X: Matrix) -> Array:
        """The numbers."""


class _Map(Protocol):
    def transform(self, X: Matrix) -> Matrix: ...


class _Pipeline(Model, Protocol):
    steps: list[tuple[str, Model]]

    def __getitem__(self, steps: slice) -> _Map: ...


def _is_pipeline(model: Model) -> TypeGuard[_Pipeline]:
    return hasattr(model, "steps")


def is_classifier(model: Model) -> TypeGuard[Classifier]:
    """Whether the model predicts labels."""
    return hasattr(model, "decision_function")


def _is_regressor(model: Model) -> TypeGuard[Regressor]:
    return hasattr(model, "predict") and not is_classifier(model)


def load_model(path: str) -> Model:
    """Load a model file."""
    import kernline

    model: Model = kernline.load(path)
    return model


def load_predictor(path: str, threads: int) -> Classifier | Regressor:
    """Load a model file that predicts, to be used with a number of threads. Other models are a UsageError."""
    model = load_model(path)
    last = final_step(model)
    if getattr(last, "multilabel_", False):
        raise UsageError(f"{path} predicts several labels per row. Use it in Python: kernline.load(...).predict(X).")
    if "n_jobs" in last.get_params():
        last.set_params(n_jobs=threads)
    if is_classifier(model) or _is_regressor(model):
        return model
    raise UsageError(
        f"{path} contains a {described(model)}, which maps rows but predicts no labels or numbers. Pass a model that "
        "does, or use the map in Python: kernline.load(...).transform(X)."
    )


def final_step(model: Model) -> Model:
    """The last step of a pipeline, or the model itself."""
    return _steps(model)[-1]


def described(model: Model) -> str:
    """The class name, with the steps of a pipeline."""
    names = ", ".join(type(step).__name__ for step in _steps(model))
    return f"Pipeline of {names}" if _is_pipeline(model) else names


def relative_gap(model: Any) -> float | None:
    """The largest duality gap of a fitted model, relative to the objective; None if it has no certificate."""
    if not hasattr(model, "dual_gap_"):
        return None
    return float((model.dual_gap_ / model.objective_.clip(1e-300)).max())


def scores(model: Classifier | Regressor, X: Matrix) -> Array:
    """The decision function, or the numbers that a regression predicts."""
    return _in_blocks(model, model.decision_function if is_classifier(model) else cast("Regressor", model).predict, X)


def probabilities(model: Classifier | Regressor, X: Matrix, path: str) -> Array:
    """The probability of each class. A UsageError if the model in the file has none."""
    if not hasattr(model, "predict_proba"):
        if not is_classifier(model):
            raise UsageError(f"-b 1: {path} is a regression, which has no probabilities.")
        last = final_step(model)
        loss = getattr(last, "loss_", getattr(last, "loss", None))
        how = f"with the loss {loss}" if loss is not None else f"as {described(model)}"
        raise UsageError(
            f"-b 1: {path} has no probabilities, as it was trained {how}. Train it with -b 1, which needs an additive "
            "kernel, or pass --scores."
        )
    return _in_blocks(model, model.predict_proba, X)


def _in_blocks(model: Model, values: Callable[[Matrix], Array], X: Matrix) -> Array:
    """What a method says of all rows. If a step does not accept sparse rows, they are made dense block by block."""
    import numpy as np

    from ..array_types import is_sparse

    if not is_sparse(X) or not _needs_dense(model) or not X.shape[0]:
        return values(readable(model, X))
    n = max(1, _DENSE_VALUES // max(1, X.shape[1]))
    blocks = range(0, X.shape[0], n)
    return np.concatenate([values(X[begin : begin + n].toarray()) for begin in blocks])


def before_final_step(model: Model, X: Matrix) -> Matrix:
    """The rows that the last step of a pipeline receives."""
    X = readable(model, X)
    return model[:-1].transform(X) if _is_pipeline(model) and len(model.steps) > 1 else X


def readable(model: Model, X: Matrix) -> Matrix:
    """The rows as the first step takes them: dense, or a data frame if it chooses columns by name."""
    from ..array_types import is_sparse

    X = X.toarray() if is_sparse(X) and _needs_dense(model) else X
    return _frame(model, X) if type(_steps(model)[0]).__name__ == "ColumnTransformer" else X


def _frame(model: Model, X: Matrix) -> Matrix:
    """The rows as a data frame with the names of the fit, NaN where text is missing."""
    import numpy as np

    from ..encoding import LevelTable

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return X
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise UsageError("the model chooses columns by name, which needs pandas: pip install pandas.") from None
    columns = [np.asarray(X[name]) for name in names] if isinstance(X, LevelTable) else list(np.asarray(X).T)
    return pd.DataFrame(dict(zip(names, columns, strict=True))).fillna(np.nan)


def named_curves(model: Model) -> ShapeFunctions | None:
    """The curves of an additive model, with the names that steps before it give to their columns; None without any."""
    from ..estimators.pipeline_steps import column_names, steps_before

    last = final_step(model)
    shapes: ShapeFunctions | None = getattr(last, "shapes_", None)
    if shapes is None or not _is_pipeline(model):
        return shapes
    return shapes.with_names(column_names(cast("AdditiveBase", last), steps_before(model)))


def _steps(model: Model) -> list[Model]:
    return [step for _, step in model.steps] if _is_pipeline(model) else [model]


def _needs_dense(model: Model) -> bool:
    from sklearn.utils import get_tags

    steps = _steps(model)
    if not all(get_tags(step).input_tags.sparse for step in steps if hasattr(step, "get_params")):
        return True
    shapes = getattr(steps[-1], "shapes_", None)
    return shapes is not None and not shapes.encoder.keeps_zeros
