"""ConvergenceDisplay: how a fit approached the optimum, by epochs and by seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..array_types import Array
from ..estimators.pipeline_steps import last_step
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

_GAP, _LOSS = "duality gap / objective", "mean loss of a pass"


@dataclass
class ConvergenceDisplay:
    """The duality gap of each problem as a share of its objective; for BudgetedSVC, the mean loss.

    Attributes
    ----------
    epochs, seconds, values : for each problem an array, one entry per epoch, step or pass. `seconds` are NaN for a
        model that was loaded from a file: these do not store them.
    names : the names of the problems; quantity : what `values` are; tol : where the fit stops, or None.
    figure_ : the figure; axes_ : one axes by epochs and, if they are known, one by seconds; legend_ : or None.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kernline import AdditiveSVC
    >>> wine = load_wine(as_frame=True)
    >>> model = AdditiveSVC().fit(wine.data, wine.target)
    >>> from kernline.display import ConvergenceDisplay
    >>> display = ConvergenceDisplay.from_estimator(AdditiveSVC("chi2").fit(wine.data, wine.target))
    >>> len(display.names)
    3
    """

    epochs: list[Array]
    seconds: list[Array]
    values: list[Array]
    names: Sequence[str]
    quantity: str
    tol: float | None

    figure_: Figure | None = None
    axes_: list[Axes] | None = None
    legend_: Legend | None = None

    @classmethod
    def from_estimator(cls, estimator: object, *, ax: Axes | Sequence[Axes] | None = None) -> ConvergenceDisplay:
        """Draw the `history_` of a fitted model, or of the last step of a pipeline."""
        model = last_step(estimator)
        check_is_fitted(model)
        if not getattr(model, "history_", None):
            raise ValueError(f"ConvergenceDisplay: this {type(model).__name__} has no history_. Call fit first.")
        histories = model.history_  # type: ignore[attr-defined]
        is_gap = hasattr(histories[0][0], "gap") if histories[0] else True
        reports = [np.array([_point(report) for report in history]).reshape(-1, 3) for history in histories]
        display = cls(
            epochs=[report[:, 0] for report in reports],
            seconds=[report[:, 1] for report in reports],
            values=[report[:, 2] for report in reports],
            names=_names(model, len(histories)),
            quantity=_GAP if is_gap else _LOSS,
            tol=float(model.tol) if is_gap else None,  # type: ignore[attr-defined]
        )
        return display.plot(ax)

    @property
    def has_seconds(self) -> bool:
        """Whether the times are known."""
        return bool(np.isfinite(np.concatenate(self.seconds)).any())

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> ConvergenceDisplay:
        """Draw on `ax`, one axes by epochs and, if they are known, one by seconds; or on a new figure.

        With a single axes, only epochs are drawn.
        """
        panels = [("epoch" if self.quantity == _GAP else "pass", self.epochs)]
        if self.has_seconds and (ax is None or np.size(np.asarray(ax, dtype=object)) > 1):
            panels.append(("seconds", self.seconds))
        n = len(panels)
        if ax is None:
            room = style.LEGEND_WIDTH if len(self.values) > 1 else 0.0
            self.figure_, self.axes_ = style.grid_of_axes(n, n, (3.8, 3.0), room)
        else:
            self.axes_ = style.given_axes(ax, n, "ConvergenceDisplay")
            self.figure_ = style.figure_of(self.axes_[0])
        drawn = self._drawn()
        for axes, (label, x) in zip(self.axes_, panels, strict=True):
            for look, problem in enumerate(drawn):
                marker = "." if len(x[problem]) < 30 else ""
                axes.plot(x[problem], self.values[problem], linewidth=1.4, marker=marker, **style.line_look(look))
            if self.tol is not None:
                axes.axhline(self.tol, color="0.5", linewidth=0.8, linestyle=":")
            axes.set_yscale("log", nonpositive="mask")
            axes.set_xlabel(label, fontsize=9)
            axes.tick_params(labelsize=8)
            style.few_ticks(axes.xaxis, whole=label != "seconds")
        self.axes_[0].set_ylabel(self.quantity, fontsize=9)
        self.legend_ = self._legend(drawn, on_figure=ax is None)
        return self

    def _drawn(self) -> list[int]:
        """The problems to draw: all, or those that took most epochs."""
        order = np.argsort([-len(epochs) for epochs in self.epochs], kind="stable")
        return sorted(order[: style.MOST_CLASSES].tolist())

    def _legend(self, drawn: list[int], *, on_figure: bool) -> Legend | None:
        if len(self.values) == 1:
            return None
        assert self.axes_ is not None
        lines = self.axes_[0].lines[: len(drawn)]
        names = [self.names[k] for k in drawn]
        return style.class_legend(self.axes_[0], lines, names, on_figure=on_figure)


def _point(report: object) -> tuple[float, float, float]:
    """The epoch, the seconds and the value of a report."""
    if hasattr(report, "gap"):
        objective = report.dual + report.gap  # type: ignore[attr-defined]
        value = report.gap / objective if objective > 0.0 else np.nan
        return report.epoch, report.seconds, value  # type: ignore[attr-defined]
    return report.epoch, report.seconds, report.loss  # type: ignore[attr-defined]


def _names(model: object, n: int) -> list[str]:
    classes = getattr(model, "classes_", None)
    if n == 1 or classes is None:
        return ["all"] if n == 1 else [f"output {k}" for k in range(n)]
    return [str(name) for name in classes[-n:]]
