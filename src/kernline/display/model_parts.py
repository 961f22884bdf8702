"""What a display needs of an estimator: its curves, the names of features and classes, and rows of its input."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..array_types import Labels, MatrixLike
from ..estimators.additive_base import AdditiveBase
from ..estimators.pipeline_steps import column_names, last_step, steps_before
from ..shapes import ShapeFunctions


@dataclass(frozen=True)
class ModelParts:
    """A fitted additive model, at the end of a pipeline or alone."""

    model: AdditiveBase
    before: Pipeline | None
    feature_names: Labels | None

    @cached_property
    def shapes(self) -> ShapeFunctions:
        """The fitted curves, with the names that the steps before the model give to its columns."""
        return self.model.shapes_.with_names(self.feature_names)

    def rows(self, X: MatrixLike) -> MatrixLike:
        """X as the additive model gets it: after the steps of the pipeline before it."""
        return X if self.before is None else self.before.transform(X)

    @property
    def problem_names(self) -> list[str]:
        """What each sum of curves is: the score of a class (of two, the second), or a prediction."""
        return self.shapes.problem_names

    @property
    def outcome(self) -> str:
        """What effects add up to: the score of a class, or the prediction of a regression."""
        return "prediction" if self.shapes.class_names is None else "score"

    def top(self, n: int) -> list[int]:
        """The functions of the highest importance; those of an older model file, by `feature_importances_`."""
        if self.shapes.training is not None:
            return self.shapes.top(n)
        order = np.argsort(-self.model.feature_importances_, kind="stable")[:n]
        return [int(k) for k in order]

    def columns(self, function: int) -> tuple[str, ...]:
        """The names of the columns that a function reads, or "feature 3" where they have none."""
        shapes = self.shapes
        numbers = (function,) if function < shapes.n_features else shapes.functions[function]
        names = shapes.feature_names_in_
        return tuple(f"feature {j}" if names is None else str(names[j]) for j in numbers)

    def names(self, functions: list[int]) -> list[str]:
        """The names of some functions: columns, or two columns with a cross between them."""
        return [" × ".join(self.columns(k)) for k in functions]

    def problem(self, name: object) -> int:
        """The number of the problem of a class or an output."""
        names = self.problem_names
        if str(name) not in names:
            known = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
            raise ValueError(f"{name!r:.80} is not a class with a score of its own. There are: {known}.")
        return names.index(str(name))


def model_parts(estimator: object, display: str) -> ModelParts:
    """Find the additive model in an estimator, or raise."""
    model, before = last_step(estimator), steps_before(estimator)
    if not isinstance(model, AdditiveBase):
        raise TypeError(
            f"{display} takes AdditiveSVC, AdditiveSVR, their CV versions, and pipelines that end with one; got "
            f"{type(model).__name__}. sklearn.inspection.PartialDependenceDisplay draws any estimator."
        )
    check_is_fitted(model)
    return ModelParts(model, before, column_names(model, before))
