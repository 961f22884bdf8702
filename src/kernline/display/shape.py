"""ShapeDisplay: the curves of a model, the most important ones first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..shapes.names import FunctionKey, number_of
from . import panels, style
from .model_parts import ModelParts, model_parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

    from ..shapes import Curve

_PANEL = (3.1, 2.5)  # inches


@dataclass
class ShapeDisplay:
    """Curves of an additive model, one panel for each: lines for numbers, bars for categories, heat maps for pairs.

    A number's panel has a strip below it with the distribution of the training rows, and a marker at its right for
    missing values. With several classes a panel has a line for each; a heat map shows one class, which its title names.
    If only one class is drawn, of two the second, the axes of effects name it.

    Attributes
    ----------
    curves : list of `kernline.shapes.Curve`, in the order of the panels.
    column_names : for each curve the names of the columns that it reads, one or two.
    class_names : the classes (or outputs) that are drawn.
    problems : the positions of these in the last axis of ``curve.effect``.
    outcome : what effects add up to, "score" or "prediction".
    figure_, axes_ : the figure, and one axes per curve; legend_ : the legend, or None for one class.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kernline import AdditiveSVC
    >>> wine = load_wine(as_frame=True)
    >>> model = AdditiveSVC().fit(wine.data, wine.target)
    >>> from kernline.display import ShapeDisplay
    >>> display = ShapeDisplay.from_estimator(model, ["alcohol", "hue"])
    >>> len(display.axes_)
    2
    """

    curves: Sequence[Curve]
    column_names: Sequence[tuple[str, ...]]
    class_names: Sequence[str]
    problems: Sequence[int]
    outcome: str = "score"

    figure_: Figure | None = None
    axes_: list[Axes] | None = None
    legend_: Legend | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        features: int | str | Sequence[FunctionKey] | None = None,
        *,
        top: int = 9,
        classes: Sequence[object] | None = None,
        centred: bool = True,
        ax: Axes | Sequence[Axes] | None = None,
        columns: int = 3,
        shared_scale: bool | None = None,
    ) -> ShapeDisplay:
        """Draw the curves of a fitted model.

        Parameters
        ----------
        estimator : AdditiveSVC, AdditiveSVR, one of their CV versions, or a pipeline that ends with one.
        features : the features to draw, by number or name; pairs as ("a", "b"), or by their numbers, which come after
            those of the features. By default the `top` most important ones.
        classes : the classes to draw; by default all, or the ten that vary most.
        centred : whether each curve is shifted to a mean of zero over the training rows, so that "above zero" means
            "more than average". A model without facts about its training rows is drawn as it is.
        ax : axes to draw on, one for each curve; by default those of a new figure.
        columns : panels in a row of a new figure.
        shared_scale : whether all panels have the same scale of effects, so that their sizes can be compared. None: if
            no curve has more than four times the range of the one in the middle, which would make the others flat.
        """
        parts = model_parts(estimator, cls.__name__)
        functions = _functions(parts, features, top)
        centred = centred and parts.shapes.training is not None
        curves = [parts.shapes.curve(k, centred=centred).drawn() for k in functions]
        problems = _problems(parts, curves, classes)
        names = parts.problem_names
        display = cls(
            curves=curves,
            column_names=[parts.columns(k) for k in functions],
            class_names=[names[p] for p in problems],
            problems=problems,
            outcome=parts.outcome,
        )
        return display.plot(ax, columns=columns, shared_scale=shared_scale)

    def plot(
        self, ax: Axes | Sequence[Axes] | None = None, *, columns: int = 3, shared_scale: bool | None = None
    ) -> ShapeDisplay:
        """Draw on `ax`, one axes for each curve, or on a new figure."""
        n = len(self.curves)
        if ax is None:
            room = style.LEGEND_WIDTH if self._has_legend else 0.0
            self.figure_, self.axes_ = style.grid_of_axes(n, columns, _PANEL, room)
        else:
            self.axes_ = style.given_axes(ax, n, "ShapeDisplay")
            self.figure_ = style.figure_of(self.axes_[0])
        limits = [panels.effect_limits([curve], self.problems) for curve in self.curves]
        singles = [limit for limit, curve in zip(limits, self.curves, strict=True) if curve.kind != "pair"]
        if shared_scale or (shared_scale is None and panels.are_similar(singles)):
            limits = [panels.effect_limits(self.curves, self.problems)] * n
        for k, (axes, curve, names) in enumerate(zip(self.axes_, self.curves, self.column_names, strict=True)):
            panel = panels.Panel(axes, curve, names, self.problems, self.class_names, limits[k], self.outcome)
            panel.draw(has_label=ax is not None or k % columns == 0)
        self.legend_ = self._legend(on_figure=ax is None)
        return self

    @property
    def _has_legend(self) -> bool:
        return len(self.problems) > 1 and any(curve.kind != "pair" for curve in self.curves)

    def _legend(self, *, on_figure: bool) -> Legend | None:
        if not self._has_legend:
            return None
        assert self.axes_ is not None
        handles = panels.legend_handles(self.curves, len(self.problems))
        return style.class_legend(self.axes_[0], handles, self.class_names, on_figure=on_figure)


def _functions(parts: ModelParts, features: int | str | Sequence[FunctionKey] | None, top: int) -> list[int]:
    if features is None:
        if top < 1:
            raise ValueError(f"ShapeDisplay: top must be at least 1; got {top}.")
        return parts.top(top)
    asked = [features] if isinstance(features, int | str | np.integer) else list(features)
    if not asked:
        raise ValueError("ShapeDisplay: features is empty. Pass names or numbers, or None for the most important ones.")
    return [number_of(parts.shapes, feature, "ShapeDisplay") for feature in asked]


def _problems(parts: ModelParts, curves: Sequence[Curve], classes: Sequence[object] | None) -> list[int]:
    """The classes to draw: those that were asked for, all, or those whose curves vary most."""
    if classes is not None:
        return [parts.problem(name) for name in classes]
    n = parts.shapes.n_problems
    if n <= style.MOST_CLASSES:
        return list(range(n))
    return style.varying_most(curves, n, style.MOST_CLASSES)
