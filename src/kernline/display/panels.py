"""One panel of a ShapeDisplay: the curve of a number, the bars of a category, or the heat map of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Array, Labels
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from ..shapes import Curve

TITLE, SMALL = 9.5, 8.0  # font sizes
_MOST_LEVELS = 12
# With more classes than this, bars of a category are too thin, and markers are drawn.
_MOST_BARS = 4
# Names along the horizontal axis of a heat map that fit at an angle of 45 degrees; more of them are upright.
_MOST_SLANTED = 8
_MARGIN = 0.06
_BINS = 40
# Of a curve on a shared scale, in ranges of the curve in the middle.
_MOST_SPAN = 4.0
_STRIP = 0.13  # height of the strip of a density, or its width, as a share of the panel


def effect_limits(curves: Sequence[Curve], problems: Sequence[int]) -> tuple[float, float]:
    """The range of effects of curves and bars, with a margin, and with zero in it."""
    low = high = 0.0
    for curve in curves:
        if curve.kind == "pair":
            continue
        values = curve.effect[..., problems]
        if curve.missing_effect is not None:
            values = np.append(values, curve.missing_effect[list(problems)])
        low, high = min(low, float(values.min(initial=0.0))), max(high, float(values.max(initial=0.0)))
    margin = _MARGIN * (high - low) or 0.01
    return low - margin, high + margin


def are_similar(limits: Sequence[tuple[float, float]]) -> bool:
    """Whether panels of these limits can have the same scale without one making the others flat."""
    spans = [high - low for low, high in limits]
    return not spans or max(spans) <= _MOST_SPAN * float(np.median(spans))


def legend_handles(curves: Sequence[Curve], n: int) -> list[Line2D]:
    """Lines that look like those of the panels."""
    from matplotlib.lines import Line2D

    kinds = {curve.kind for curve in curves}
    has_lines, has_markers = "number" in kinds, "category" in kinds and n > _MOST_BARS
    found = []
    for k in range(n):
        look = style.line_look(k)
        if has_markers and not has_lines:
            look["linestyle"] = ""
        found.append(Line2D([], [], marker=style.marker(k) if has_markers else "", markersize=4, **look))
    return found


@dataclass(frozen=True)
class Panel:
    """The axes of one curve, with the names of its columns, the classes to draw and the limits of effects."""

    ax: Axes
    curve: Curve
    names: tuple[str, ...]
    problems: Sequence[int]
    class_names: Sequence[str]
    limits: tuple[float, float]
    outcome: str

    def draw(self, *, has_label: bool) -> None:
        """Draw the curve; `has_label` is whether the axis of effects is named."""
        self.ax.tick_params(labelsize=SMALL)
        title = " × ".join(style.shown(name, 30 if len(self.names) == 1 else 14) for name in self.names)
        if self.curve.kind == "pair":
            title += self._pair()
        elif self.curve.kind == "category":
            self._category()
        else:
            self._number()
            if has_label:
                self.ax.set_ylabel(self._effect, fontsize=SMALL, parse_math=False)
        self.ax.set_title(title, fontsize=TITLE, parse_math=False)

    @property
    def _effect(self) -> str:
        """What is drawn: the effect on a score, with the class if there is only one, which no legend names."""
        return style.effect_on(self.outcome, self.class_names)

    def _number(self) -> None:
        ax, curve = self.ax, self.curve
        x, effect = np.asarray(curve.x, dtype=np.float64), curve.effect[:, self.problems]
        ax.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
        marker, looks = "o" if x.size == 1 else "", self._looks()
        for k, look in enumerate(looks):
            ax.plot(x, effect[:, k], linewidth=1.6, marker=marker, **look)
        ax.set_ylim(self.limits)
        if x.size > 1:
            ax.set_xlim(x[0], x[-1])
        style.few_ticks(ax.yaxis)
        if curve.missing_effect is not None:
            self._missing()
        if curve.density is not None:
            self._strip()
        else:
            style.few_ticks(ax.xaxis, whole=_is_whole(x))

    def _looks(self) -> list[style.Look]:
        return [style.line_look(k) for k in range(len(self.problems))]

    def _missing(self) -> None:
        """Markers to the right of the panel, at the effect of a missing value."""
        ax, curve = self.ax, self.curve
        assert curve.missing_effect is not None
        for k, problem in enumerate(self.problems):
            ax.plot(
                [1.05],
                [curve.missing_effect[problem]],
                marker=style.marker(k),
                markersize=5,
                linestyle="",
                color=style.line_look(k)["color"],
                transform=ax.get_yaxis_transform(),
                clip_on=False,
            )
        ax.text(
            1.05, -0.03, "missing", transform=ax.transAxes, rotation=90, ha="center", va="top", fontsize=SMALL - 1.5
        )

    def _strip(self) -> None:
        """The distribution of the training rows, below the curve and on the same axis of values."""
        ax = self.ax
        assert self.curve.density is not None
        strip = ax.inset_axes((0.0, -_STRIP - 0.03, 1.0, _STRIP), sharex=ax)
        strip.stairs(*_histogram(self.curve), fill=True, color=style.GREY)
        strip.set_ylim(bottom=0.0)
        strip.set_yticks([])
        for side in ("top", "left", "right"):
            strip.spines[side].set_visible(False)
        ax.tick_params(axis="x", bottom=False, labelbottom=False)
        strip.tick_params(labelsize=SMALL)
        style.few_ticks(strip.xaxis, whole=_is_whole(self.curve.x))

    def _category(self) -> None:
        ax, curve = self.ax, self.curve
        kept = frequent_levels(curve)
        effect = curve.effect[kept][:, self.problems]
        place, looks, n = np.arange(len(kept)), self._looks(), len(self.problems)
        ax.axvline(0.0, color="0.8", linewidth=0.8, zorder=0)
        if n <= _MOST_BARS:
            height = 0.8 / n
            for k, look in enumerate(looks):
                ax.barh(place + (k - (n - 1) / 2) * height, effect[:, k], height, color=look["color"])
        else:
            for k, look in enumerate(looks):
                marker = style.marker(k)
                ax.plot(effect[:, k], place, marker=marker, markersize=4, linestyle="", color=look["color"])
        names = [curve.x[k] for k in kept]
        style.name_ticks(ax.yaxis, names, 13, SMALL - 0.5 if len(names) <= 8 else SMALL - 2)
        ax.set_ylim(len(kept) - 0.5, -0.5)
        ax.set_xlim(self.limits)
        style.few_ticks(ax.xaxis)
        hidden = len(curve.x) - len(kept)
        space = " " if len(self._effect) <= 20 else "\n"
        more = f"{space}({hidden} more levels)" if hidden else ""
        ax.set_xlabel(self._effect + more, fontsize=SMALL, parse_math=False)
        if curve.density is not None:
            self._shares(curve.density.counts[kept])

    def _shares(self, counts: Array) -> None:
        """How many training rows have each level, beside the bars."""
        strip = self.ax.inset_axes((1.03, 0.0, _STRIP, 1.0), sharey=self.ax)
        strip.barh(np.arange(counts.size), counts, 0.8, color=style.GREY)
        strip.set_xticks([])
        strip.tick_params(axis="y", left=False, labelleft=False)
        for side in ("top", "bottom", "right"):
            strip.spines[side].set_visible(False)

    def _pair(self) -> str:
        """A heat map of the class that varies most; return its name, for the title."""
        ax, curve = self.ax, self.curve
        assert curve.y is not None
        chosen = int(np.argmax([np.ptp(curve.effect[..., problem]) for problem in self.problems]))
        effect = curve.effect[..., self.problems[chosen]]
        largest = float(np.abs(effect).max(initial=0.0)) or 1.0
        x, y = _positions(curve.x), _positions(curve.y)
        is_smooth = all(_is_number(values) and len(values) > 2 for values in (curve.x, curve.y))
        mesh = ax.pcolormesh(
            x,
            y,
            effect.T,
            cmap=style.diverging(),
            vmin=-largest,
            vmax=largest,
            shading="gouraud" if is_smooth else "nearest",
            rasterized=True,
        )
        for axis, values in ((ax.xaxis, curve.x), (ax.yaxis, curve.y)):
            if _is_number(values):
                style.few_ticks(axis, whole=_is_whole(values))
            else:
                is_long = len(values) > _MOST_SLANTED
                slant = 0 if axis is ax.yaxis else 90 if is_long else 45
                style.name_ticks(axis, values, 10, SMALL - (2.5 if is_long else 1), slant=slant)
        ax.set_xlabel(style.shown(self.names[0], 22), fontsize=SMALL, parse_math=False)
        ax.set_ylabel(style.shown(self.names[1], 18), fontsize=SMALL, parse_math=False)
        bar = ax.figure.colorbar(mesh, ax=ax, pad=0.03, aspect=15)
        bar.ax.tick_params(labelsize=SMALL - 1)
        if len(self.problems) == 1:
            bar.set_label(self._effect, fontsize=SMALL - 1, parse_math=False)
        style.few_ticks(bar.ax.yaxis)
        return "" if len(self.problems) == 1 else f" → {style.labels_of(self.class_names, 16)[chosen]}"


def _histogram(curve: Curve) -> tuple[Array, Array]:
    """The training rows in bins of equal width: the model's own may be quantiles, some of no width."""
    density = curve.density
    assert density is not None
    assert density.edges is not None
    edges, counts = density.edges, density.counts
    low, high = float(curve.x[0]), float(curve.x[-1])
    bins = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    is_point = np.diff(edges) <= 0.0
    at_points = np.histogram(edges[:-1][is_point], bins, weights=counts[is_point])[0]
    below = np.append(0.0, np.cumsum(np.where(is_point, 0.0, counts)))
    return at_points + np.diff(np.interp(bins, edges, below)), bins


def frequent_levels(curve: Curve) -> list[int]:
    """The levels of a category to draw, in their order: the most frequent ones, or those of the largest effects."""
    weight = np.abs(curve.effect).max(axis=1) if curve.density is None else curve.density.counts
    return sorted(np.argsort(-weight, kind="stable")[:_MOST_LEVELS].tolist())


def _is_number(values: object) -> bool:
    return np.issubdtype(np.asarray(values).dtype, np.number)


def _is_whole(values: Array | Labels) -> bool:
    """Whether all points are whole numbers, such as counts."""
    return bool(np.all(values == np.round(values)))


def _positions(values: object) -> Array:
    found = np.asarray(values)
    return found.astype(np.float64) if _is_number(found) else np.arange(found.size, dtype=np.float64)
