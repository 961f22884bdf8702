"""What all displays share: matplotlib itself, colours, and names that fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, cast

import numpy as np

from ..array_types import Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    from ..shapes import Curve

LineStyle: TypeAlias = Literal["-", ""] | tuple[float, Sequence[float]]


class Look(TypedDict):
    """What distinguishes the line of a class."""

    color: str
    linestyle: LineStyle


# Okabe and Ito's colours without the yellow, which is too light for lines on white: people with any kind of colour
# blindness can distinguish them. Line styles and markers have other periods, so that even 80 classes differ.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
LINE_STYLES: tuple[LineStyle, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1, 1.5)),
)
MARKERS = "osD^vP*X<>h"
# What speaks for a class, and what against it.
FOR, AGAINST = COLOURS[0], COLOURS[1]
GREY = "0.6"
_AGAINST_TO_FOR = ("#7a3600", AGAINST, "#f7f7f7", FOR, "#00304d")
# More classes than this cannot be distinguished by a legend: those whose curves vary most are drawn.
MOST_CLASSES = 10
LEGEND_WIDTH = 1.6  # inches
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


def figure_of(ax: Axes) -> Figure:
    """The figure of axes."""
    return cast("Figure", ax.figure)


def given_axes(ax: Axes | Sequence[Axes], n: int, name: str) -> list[Axes]:
    """The axes that a user passed, which must be `n`."""
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != n:
        raise ValueError(f"{name}: ax must be {n} axes, one for each panel; got {len(axes)}.")
    return axes


def grid_of_axes(
    n: int, columns: int, size: tuple[float, float], legend_width: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """Create a figure with `n` axes, at most `columns` in a row, each of this `size`, and room for a legend."""
    columns = max(1, min(columns, n))
    rows = -(-n // columns)
    figure = pyplot().figure(figsize=(size[0] * columns + legend_width, size[1] * rows), layout="constrained")
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
    """Labels of several names, which differ where the names do."""
    labels = [shown(name, width) for name in names]
    groups: dict[str, list[int]] = {}
    for k, label in enumerate(labels):
        groups.setdefault(label, []).append(k)
    for equal in groups.values():
        if len(equal) > 1:
            # What they have in common is left out; if the rest is too long too, or nothing, they are numbered.
            whole = [shown(names[k], len(str(names[k])) * 2 + 1) for k in equal]
            common = _common_prefix(whole)
            rests = ["…" + shown(text[common:], width - 1) for text in whole]
            if len(set(rests)) < len(equal):
                rests = [f"{shown(text, max(4, width - 5))} #{number}" for number, text in enumerate(whole, 1)]
            for k, rest in zip(equal, rests, strict=True):
                labels[k] = rest
    return labels


def _common_prefix(texts: Sequence[str]) -> int:
    """How many characters all texts begin with."""
    first, last = min(texts), max(texts)
    return next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))


def varying_most(curves: Sequence[Curve], n_problems: int, n: int) -> list[int]:
    """The `n` problems whose curves vary most, in their order."""
    spread = np.zeros(n_problems)
    for curve in curves:
        spread += np.ptp(curve.effect.reshape(-1, n_problems), axis=0)
    return sorted(np.argsort(-spread, kind="stable")[:n].tolist())


def line_look(k: int) -> Look:
    """Colour and line style of the k-th class."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": LINE_STYLES[k % len(LINE_STYLES)]}


def marker(k: int) -> str:
    """Marker of the k-th class."""
    return MARKERS[k % len(MARKERS)]


def effect_on(outcome: str, class_names: Sequence[object]) -> str:
    """The name of an axis of effects, with the class whose score it is if there is only one."""
    of_class = f" of {shown(class_names[0], 16)}" if outcome == "score" and len(class_names) == 1 else ""
    return f"effect on the {outcome}{of_class}"


def diverging() -> Colormap:
    """Colours of effects, from strongly against over none, at the middle, to strongly for."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("against_to_for", _AGAINST_TO_FOR)


def few_ticks(axis: Axis, n: int = 4, *, whole: bool = False) -> None:
    """Place few ticks, `n` + 1 at most, with short labels, so that these do not overlap; at `whole` numbers or any."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(n, min_n_ticks=2, integer=whole))
    axis.set_major_formatter(lambda value, _: tick_label(value))


def tick_label(value: float) -> str:
    """A short text for a number: 25k for 25,000."""
    size = abs(value)
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if 10.0 * factor <= size < 1e13:
            return _signed(f"{value / factor:g}{suffix}")
    return _signed(f"{value:g}")


def number(value: float) -> str:
    """A number in a sentence, with few digits: 48,900 or 0.3257."""
    return _signed(f"{value:,.0f}" if 1e4 <= abs(value) < 1e13 else f"{value:.4g}")


def _signed(text: str) -> str:
    return text.replace("-", "−")


def name_ticks(axis: Axis, names: Sequence[object] | Labels, width: int, fontsize: float, *, slant: int = 0) -> None:
    """One tick for each name, at 0, 1, …; a dollar sign in a name does not begin a formula."""
    axis.set_ticks(range(len(names)), labels=labels_of(names, width), parse_math=False, fontsize=fontsize)
    if slant:
        for label in axis.get_ticklabels():
            label.set(rotation=slant, ha="right", va="center" if slant == 90 else "baseline", rotation_mode="anchor")


def name_legend(legend: Legend, names: Sequence[object] | Labels, width: int = 22) -> None:
    """Set the texts of a legend; handles are given, so that names that begin with an underscore are shown."""
    for text, label in zip(legend.get_texts(), labels_of(names, width), strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def class_legend(axes: Axes, handles: Sequence[Line2D], names: Sequence[object] | Labels, *, on_figure: bool) -> Legend:
    """One entry for each class: to the right of all axes of the figure, or inside these axes."""
    placeholders = [str(k) for k in range(len(handles))]
    look = {"handlelength": 3.2, "fontsize": 8.5}
    if on_figure:
        legend = figure_of(axes).legend(handles, placeholders, loc="outside right upper", frameon=False, **look)
    else:
        legend = axes.legend(handles, placeholders, loc="best", framealpha=0.8, edgecolor="none", **look)
    name_legend(legend, names)
    return legend
