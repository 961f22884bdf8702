"""MergeSurfaceDisplay: where BudgetedSVC merges two support vectors, and what that loses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Array, Floats
from ..estimators.budgeted import BudgetedSVC
from ..estimators.pipeline_steps import last_step
from ..landmarks import merging
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_POINTS = 400
_TITLES = ("h, the place between the two points", "√(WD / 2) / m, the loss")


@dataclass
class MergeSurfaceDisplay:
    """The tables h(m, κ) and √(WD(m, κ) / 2) / m that budgeted training reads (landmarks/merging.py).

    Attributes
    ----------
    m, kappa : the points of the axes: the share of the smaller coefficient, and the kernel of the two points.
    h, loss : the tables, (m.size, kappa.size).
    figure_ : the figure; axes_ : two axes.

    Examples
    --------
    >>> from kernline import BudgetedSVC
    >>> from kernline.display import MergeSurfaceDisplay
    >>> display = MergeSurfaceDisplay.from_estimator(BudgetedSVC())
    >>> display.h.shape == (display.m.size, display.kappa.size)
    True
    """

    m: Array
    kappa: Array
    h: Floats
    loss: Floats

    figure_: Figure | None = None
    axes_: list[Axes] | None = None

    @classmethod
    def from_estimator(cls, estimator: object, *, ax: Sequence[Axes] | None = None) -> MergeSurfaceDisplay:
        """Draw the tables of a BudgetedSVC, fitted or not, of its `grid_size`."""
        model = last_step(estimator)
        if not isinstance(model, BudgetedSVC):
            raise TypeError(
                f"MergeSurfaceDisplay takes BudgetedSVC, or a pipeline that ends with it; got {type(model).__name__}."
            )
        return cls.from_size(int(model.grid_size), ax=ax)

    @classmethod
    def from_size(cls, grid_size: int = 400, *, ax: Sequence[Axes] | None = None) -> MergeSurfaceDisplay:
        """Draw tables of so many points per axis; of more than 400, every few."""
        size = min(int(grid_size), _MOST_POINTS)
        h, loss = merging.tables(size)
        return cls(np.linspace(0.0, 0.5, size), np.linspace(0.0, 1.0, size), h, loss).plot(ax)

    def plot(self, ax: Sequence[Axes] | None = None) -> MergeSurfaceDisplay:
        """Draw on `ax`, two axes, or on a new figure."""
        if ax is None:
            self.figure_, self.axes_ = style.grid_of_axes(2, 2, (4.0, 3.2))
        else:
            self.axes_ = style.given_axes(ax, 2, "MergeSurfaceDisplay")
            self.figure_ = style.figure_of(self.axes_[0])
        for axes, table, title in zip(self.axes_, (self.h, self.loss), _TITLES, strict=True):
            extent = (self.kappa[0], self.kappa[-1], self.m[0], self.m[-1])
            picture = axes.imshow(table, extent=extent, origin="lower", aspect="auto", cmap="cividis")
            axes.contour(self.kappa, self.m, table, levels=6, colors="white", linewidths=0.6)
            axes.set_xlabel("κ, the kernel of the two points", fontsize=9)
            axes.set_title(title, fontsize=9.5)
            axes.tick_params(labelsize=8)
            bar = axes.figure.colorbar(picture, ax=axes)
            bar.ax.tick_params(labelsize=8)
        self.axes_[0].set_ylabel("m, share of the smaller coefficient", fontsize=9)
        return self
