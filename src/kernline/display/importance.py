"""ImportanceDisplay: how much each feature moves the score, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Array, MatrixLike
from . import style
from .model_parts import ModelParts, model_parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure


@dataclass
class ImportanceDisplay:
    """The most important features of an additive model, the first on top.

    Attributes
    ----------
    feature_names : the names of the features that are drawn.
    values : their importance.
    measure : what `values` are, the label of the axis.
    n_functions : how many features and pairs the model has.
    class_name : the class that the importance is for, None if it is the mean over all.
    figure_, axes_ : the figure and the axes; bars_ : the container of the bars.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kernline import AdditiveSVC
    >>> wine = load_wine(as_frame=True)
    >>> model = AdditiveSVC().fit(wine.data, wine.target)
    >>> from kernline.display import ImportanceDisplay
    >>> display = ImportanceDisplay.from_estimator(model, top=5)
    >>> len(display.values)
    5
    """

    feature_names: Sequence[str]
    values: Array
    measure: str
    n_functions: int
    class_name: str | None = None

    figure_: Figure | None = None
    axes_: Axes | None = None
    bars_: BarContainer | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: MatrixLike | None = None,
        *,
        top: int = 20,
        class_name: object = None,
        ax: Axes | None = None,
    ) -> ImportanceDisplay:
        """Draw the `top` most important features of a fitted model.

        The importance is the mean distance of the effect from its mean, over the training rows, of which the model
        keeps a summary, or over the rows of X. It is that of one class, or the mean over all classes.
        """
        if top < 1:
            raise ValueError(f"ImportanceDisplay: top must be at least 1; got {top}.")
        parts = model_parts(estimator, cls.__name__)
        values, measure = _importance(parts, X)
        values = values.mean(axis=1) if class_name is None else values[:, parts.problem(class_name)]
        order = np.argsort(-values, kind="stable")[:top]
        display = cls(
            feature_names=parts.names(order.tolist()),
            values=np.asarray(values[order], dtype=np.float64),
            measure=measure,
            n_functions=parts.shapes.n_functions,
            class_name=None if class_name is None else str(class_name),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> ImportanceDisplay:
        """Draw on `ax`, or on a new figure."""
        n = len(self.values)
        self.axes_ = axes = style.axes_for(ax, (5.5, 0.9 + 0.24 * n))
        self.figure_ = style.figure_of(axes)
        self.bars_ = axes.barh(np.arange(n), self.values, 0.72, color=style.FOR)
        style.name_ticks(axes.yaxis, self.feature_names, 28, 8.5)
        axes.set_ylim(n - 0.4, -0.6)
        axes.set_xlim(left=0.0)
        style.few_ticks(axes.xaxis, 5)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_xlabel(self.measure, fontsize=9)
        title = [] if self.class_name is None else [style.shown(self.class_name)]
        if n < self.n_functions:
            title.append(f"{n} of {self.n_functions:,} features")
        axes.set_title(", ".join(title), fontsize=9.5, loc="left", parse_math=False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return self


def _importance(parts: ModelParts, X: MatrixLike | None) -> tuple[Array, str]:
    """The importance of each function and problem, and what it is called."""
    measure = f"mean |effect on the {parts.outcome}|"
    if X is not None:
        return parts.model.shapes_.importance(parts.rows(X)), measure
    return parts.shapes.importance(), measure
