"""ContributionDisplay: what each feature of one row adds to its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import Array, MatrixLike, is_sparse
from ..encoding import LevelTable
from . import style
from .model_parts import ModelParts, model_parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure


@dataclass
class ContributionDisplay:
    """The features of one row that push its score up (blue) and down (orange), the strongest on top.

    Attributes
    ----------
    labels : the features that are drawn, with their values in this row.
    values : what each adds to the score.
    other : what all other features add, `n_other` of them.
    start : where the sum begins: the mean score of the training rows if curves are centred, else the intercept.
    score : the score of the row, ``start + values.sum() + other``.
    class_name : whose score it is; outcome : "score", or "prediction" of a regression.
    figure_, axes_ : the figure and the axes; bars_ : the container of the bars.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kernline import AdditiveSVC
    >>> wine = load_wine(as_frame=True)
    >>> model = AdditiveSVC().fit(wine.data, wine.target)
    >>> from kernline.display import ContributionDisplay
    >>> display = ContributionDisplay.from_estimator(model, wine.data, row=3, top=4)
    >>> len(display.values)
    4
    """

    labels: Sequence[str]
    values: Array
    other: float
    n_other: int
    start: float
    score: float
    class_name: str
    outcome: str = "score"
    centred: bool = True

    figure_: Figure | None = None
    axes_: Axes | None = None
    bars_: BarContainer | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: MatrixLike,
        row: int = 0,
        *,
        class_name: object = None,
        top: int = 10,
        centred: bool | None = None,
        ax: Axes | None = None,
    ) -> ContributionDisplay:
        """Draw the contributions to the score of row `row` of X.

        Parameters
        ----------
        class_name : whose score is explained; by default that of the class with the highest score.
        top : features to draw; the others are one bar.
        centred : whether a feature's contribution is compared with its mean over the training rows. By default it is,
            unless X is sparse: then a zero adds nothing, and only words that occur count.
        """
        parts = model_parts(estimator, cls.__name__)
        rows = _one_row(parts, X, row)
        if centred is None:
            centred = parts.shapes.is_centred_for(rows)
        values, starts = _contributions(parts, rows, centred=centred)
        scores = starts + values.sum(axis=0)
        problem = int(np.argmax(scores)) if class_name is None else parts.problem(class_name)
        values = values[:, problem]
        order = np.argsort(-np.abs(values), kind="stable")[:top]
        drawn = order[values[order] != 0.0]
        display = cls(
            labels=_labels(parts, rows, drawn.tolist()),
            values=values[drawn],
            other=float(np.delete(values, drawn).sum()),
            n_other=values.size - drawn.size,
            start=float(starts[problem]),
            score=float(scores[problem]),
            class_name=parts.problem_names[problem],
            outcome=parts.outcome,
            centred=centred,
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> ContributionDisplay:
        """Draw on `ax`, or on a new figure."""
        values, labels = [*self.values], [*self.labels]
        if self.n_other:
            values.append(self.other)
            labels.append(f"{self.n_other:,} other features")
        n = len(values)
        self.axes_ = axes = style.axes_for(ax, (6.0, 1.1 + 0.27 * n))
        self.figure_ = style.figure_of(axes)
        colours = [style.FOR if value >= 0.0 else style.AGAINST for value in values]
        self.bars_ = axes.barh(np.arange(n), values, 0.72, color=colours)
        axes.bar_label(self.bars_, [_signed(value) for value in values], padding=3, fontsize=8)
        axes.axvline(0.0, color="0.4", linewidth=0.8)
        style.name_ticks(axes.yaxis, labels, 60, 8.5)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(n - 0.4, -0.6)
        low, high = min(0.0, *values), max(0.0, *values)
        room = 0.2 * (high - low)  # for the numbers at the ends of bars
        if room > 0.0:
            axes.set_xlim(low - room * (low < 0.0), high + room * (high > 0.0))
        style.few_ticks(axes.xaxis, 5)
        axes.tick_params(axis="x", labelsize=8)
        start = f"mean {self.outcome}" if self.centred else "intercept"
        axes.set_xlabel(f"added to the {start}, {style.number(self.start)}", fontsize=9)
        what = f"{self.outcome} of {style.shown(self.class_name)}" if self.outcome == "score" else self.class_name
        axes.set_title(f"{what}: {style.number(self.score)}", fontsize=9.5, loc="left", parse_math=False)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        return self


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def _one_row(parts: ModelParts, X: Any, row: int) -> MatrixLike:
    """Row `row` of X as a table of one row; the first step of a pipeline may take a list, of texts for example."""
    table = np.asarray(X) if parts.before is None and isinstance(X, list | tuple) else X
    if parts.before is None and getattr(table, "ndim", 2) == 1:
        raise ValueError("ContributionDisplay: X must be a table of rows; got one row. Pass X[i : i + 1].")
    n = table.shape[0] if hasattr(table, "shape") else len(table)
    if not -n <= row < n:
        raise IndexError(f"ContributionDisplay: no row {row}; X has {n} rows.")
    sliced = table.tocsr() if is_sparse(table) else table
    return parts.rows(sliced[row % n : row % n + 1])


def _contributions(parts: ModelParts, rows: MatrixLike, *, centred: bool) -> tuple[Array, Array]:
    """What each function adds to each problem, (n_functions, n_problems), and where the sums begin."""
    shapes = parts.model.shapes_
    found = (shapes.centred() if centred else shapes).explain(rows)
    values = np.stack([found.row(0, problem) for problem in range(shapes.n_problems)], axis=1)
    return values, np.asarray(found.intercepts, dtype=np.float64)


def _labels(parts: ModelParts, rows: MatrixLike, functions: list[int]) -> list[str]:
    """ "name = value" for the functions, "a × b" for pairs."""
    labels = []
    for k in functions:
        names = parts.columns(k)
        label = " × ".join(style.shown(name, 24 if len(names) == 1 else 15) for name in names)
        labels.append(label if len(names) > 1 else f"{label} = {_value(rows, k)}")
    return labels


def _value(rows: MatrixLike, column: int) -> str:
    """The value of the one row in a column, as text."""
    cell = _cell(rows, column)
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    if isinstance(cell, int | float | np.number):
        return "missing" if np.isnan(cell) else style.number(float(cell))
    is_missing = cell is None or str(cell) in ("", "<NA>", "nan")
    return "missing" if is_missing else style.shown(cell, 16)


def _cell(rows: Any, column: int) -> object:
    """The value itself, of an array, a sparse matrix, or a table of any library."""
    if is_sparse(rows):
        return rows.tocsr()[:, [column]].toarray()[0, 0]
    if isinstance(rows, LevelTable):
        return rows[rows.columns[column]][0]
    if hasattr(rows, "iloc"):
        return rows.iloc[0, column]
    if hasattr(rows, "column"):  # pyarrow
        return rows.column(column)[0].as_py()
    if hasattr(rows, "row"):  # polars
        return rows.row(0)[column]
    return np.asarray(rows)[0, column]
