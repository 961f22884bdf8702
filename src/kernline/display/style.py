"""What all displays share: matplotlib itself, colours, and names that fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    from ..shapes import Curve

# Okabe and Ito's colours without the yellow, which is too light for lines on white: people with any kind of colour
# blindness can distinguish them. Line styles and markers have other periods, so that even 80 classes differ.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
LINE_STYLES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1, 1.5)),
)
MARKERS = "osD^vP*X<>h"
# What speaks for a class, and what against it.
FOR, AGAINST = COLOURS[0], COLOURS[1]
GREY = "0.6"
# From against over nothing, at the middle, to for: orange, white, blue, distinguishable by everyone.
DIVERGING = "PuOr"
# More classes than this cannot be distinguished by a legend: those whose curves vary most are drawn.
MOST_CLASSES = 10
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"


def pyplot() -> ModuleType:
    """Return matplotlib.pyplot, or raise an ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("kernline.display needs matplotlib: pip install 'kernline[plot]'.") from error
    return plt


def axes_for(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """Return `ax`, or the axes of a new figure."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=figsize, layout="constrained")[1]


def row_of_axes(ax: Axes | Sequence[Axes] | None, n: int, size: tuple[float, float], name: str) -> list[Axes]:
    """Return `ax` as a list of `n` axes, or those of a new figure, side by side and each of this `size`."""
    if ax is None:
        figure = pyplot().figure(figsize=(size[0] * n, size[1]), layout="constrained")
        return list(figure.subplots(1, n, squeeze=False)[0])
    return given_axes(ax, n, name)


def given_axes(ax: Axes | Sequence[Axes], n: int, name: str) -> list[Axes]:
    """The axes that a user passed, which must be `n`."""
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != n:
        raise ValueError(f"{name}: ax must be {n} axes, one for each panel; got {len(axes)}.")
    return axes


def grid_of_axes(n: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """Create a figure with `n` axes, at most `columns` in a row, each of this `size`."""
    columns = max(1, min(columns, n))
    rows = -(-n // columns)
    figure = pyplot().figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    grid = figure.add_gridspec(rows, columns)
    return figure, [figure.add_subplot(grid[k // columns, k % columns]) for k in range(n)]


def shown(name: object, width: int = 24) -> str:
    """Return a name as a label of at most `width` columns: one line, without control characters."""
    joined = " ".join(str(name).split())
    text = "".join(c for c in joined if c in _JOINERS or unicodedata.category(c) not in _HIDDEN)
    if _columns(text) <= width:
        return text or "(no name)"
    # The end is kept too: names often differ in it.
    tail = width // 3
    return _head(text, width - tail - 1).rstrip() + "…" + _head(text[::-1], tail)[::-1].lstrip()


def _columns(text: str) -> int:
    """How wide a text is: East Asian characters and emoji take two columns, accents none."""
    return sum(_column(c) for c in text)


def _column(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _head(text: str, width: int) -> str:
    total = 0
    for k, character in enumerate(text):
        total += _column(character)
        if total > width:
            return text[:k]
    return text


def labels_of(names: Sequence[object] | Labels, width: int = 24) -> list[str]:
    """Labels of several names, which differ where the names do: equal ones get their number."""
    labels = [shown(name, width) for name in names]
    seen: dict[str, int] = {}
    for k, label in enumerate(labels):
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            labels[k] = f"{shown(names[k], max(4, width - 4))} #{seen[label]}"
    return labels


def number(value: float) -> str:
    """A number in a label, with at most four digits."""
    return f"{value:.4g}"


def varying_most(curves: Sequence[Curve], n_problems: int, n: int) -> list[int]:
    """The `n` problems whose curves vary most, in their order."""
    spread = np.zeros(n_problems)
    for curve in curves:
        spread += np.ptp(curve.effect.reshape(-1, n_problems), axis=0)
    return sorted(np.argsort(-spread, kind="stable")[:n].tolist())


def line_look(k: int) -> dict[str, object]:
    """Colour and line style of the k-th line."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": LINE_STYLES[k % len(LINE_STYLES)]}


def few_ticks(axis: Axis, n: int = 4) -> None:
    """Place at most `n` + 1 ticks, so that their labels do not overlap."""
    pyplot()
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    axis.set_major_locator(MaxNLocator(n, min_n_ticks=2))
    formatter = ScalarFormatter(useMathText=True)
    formatter.set_powerlimits((-3, 5))
    axis.set_major_formatter(formatter)


def name_ticks(axis: Axis, names: Sequence[object] | Labels, width: int = 16, **look: object) -> None:
    """One tick for each name, at 0, 1, …; a dollar sign in a name does not begin a formula."""
    labels = labels_of(names, width)
    axis.set_ticks(range(len(labels)), labels=labels, **{"parse_math": False, **look})


def name_legend(legend: Legend, names: Sequence[object] | Labels, width: int = 18) -> None:
    """Set the texts of a legend; handles are given, so that names that begin with an underscore are shown."""
    for text, label in zip(legend.get_texts(), labels_of(names, width), strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def class_legend(owner: Axes | Figure, handles: Sequence[Line2D], names: Sequence[object] | Labels) -> Legend:
    """One entry for each class: to the right of a figure, or inside axes."""
    place = "best" if hasattr(owner, "set_xlabel") else "outside right upper"
    placeholders = [str(k) for k in range(len(handles))]
    legend = owner.legend(handles, placeholders, loc=place, frameon=False, handlelength=3.2, fontsize=8.5)
    name_legend(legend, names)
    return legend
