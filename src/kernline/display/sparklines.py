"""Small curves for notebooks: SVG written here, without matplotlib, since a page shows a model within milliseconds."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Array
from . import panels, style

if TYPE_CHECKING:
    from ..shapes import Curve, ShapeFunctions

TOP = 6
# More classes than this are too much for a small picture: those whose curves vary most are drawn.
_MOST_CLASSES = 5
_MOST_POINTS = 64
_WIDTH, _HEIGHT = 150.0, 64.0
_DASHES = ("", "5 2", "1.5 1.5", "6 2 1.5 2")
# The colours of style.py. Black becomes the colour of the text, which is light on a dark page.
_COLOURS = tuple("currentColor" if colour == "#000000" else colour for colour in style.COLOURS)
_STYLE = (
    "font-family:sans-serif;font-size:11px;line-height:1.3;display:flex;flex-wrap:wrap;gap:10px 18px;margin:6px 0 10px"
)


def curves_html(shapes: ShapeFunctions) -> str:
    """The most important curves of a model as HTML with inline SVG; "" if there is nothing to draw."""
    if shapes.training is None or not shapes.n_functions:
        return ""
    try:
        curves = [shapes.curve(k, centred=True).drawn() for k in shapes.top(TOP)]
    except ValueError:  # a term of another package, which does not list its values
        return ""
    problems = _problems(shapes, curves)
    low, high = _limits(curves, problems)
    if shapes.feature_names_in_ is None:
        curves = [replace(curve, name=f"feature {curve.name}") for curve in curves]
    figures = "".join(_figure(curve, problems, low, high) for curve in curves)
    names = shapes.problem_names
    legend = _legend([names[p] for p in problems], len(names)) if len(names) > 1 else ""
    n = shapes.n_functions
    title = f"The {len(curves)} most important of {n:,} features" if n > len(curves) else "Features"
    outcome = "prediction" if shapes.class_names is None else "score"
    effect = html.escape(style.effect_on(outcome, names))
    note = f"{title}: {effect}, {style.number(low)} to {style.number(high)}, against the value. {legend}"
    head = f'<div style="font:11px sans-serif">{note}</div>'
    body = f'<div style="{_STYLE}">{figures}</div>'
    return f'<div class="kernline-curves" style="flex:1 1 30em;min-width:0">{head}{body}</div>'


def _problems(shapes: ShapeFunctions, curves: Sequence[Curve]) -> list[int]:
    n = shapes.n_problems
    if n <= _MOST_CLASSES:
        return list(range(n))
    return style.varying_most(curves, n, _MOST_CLASSES)


def _limits(curves: Sequence[Curve], problems: Sequence[int]) -> tuple[float, float]:
    effects = [curve.effect[..., problems].ravel() for curve in curves]
    values = np.concatenate([np.zeros(1), *effects])
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def _legend(names: Sequence[str], n_all: int) -> str:
    entries = (
        f'<span style="white-space:nowrap"><svg width="22" height="8" aria-hidden="true">'
        f'<line x1="0" y1="4" x2="22" y2="4" {_stroke(k)}/></svg> {html.escape(label)}</span>'
        for k, label in enumerate(style.labels_of(names, 20))
    )
    more = f" (of {n_all:,} classes)" if n_all > len(names) else ""
    return " &nbsp;".join(entries) + more


def _figure(curve: Curve, problems: Sequence[int], low: float, high: float) -> str:
    """A curve with its name above it."""
    label = html.escape(style.shown(curve.name, 22))
    full = html.escape(style.shown(curve.name, 200), quote=True)
    drawn = "".join(_drawn(curve, problems, low, high))
    zero = f"{_y(np.zeros(1), low, high)[0]:.1f}"
    axis = f'<line x1="0" y1="{zero}" x2="{_WIDTH:g}" y2="{zero}" stroke="currentColor" opacity=".25"/>'
    svg = (
        f'<svg width="{_WIDTH:g}" height="{_HEIGHT:g}" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
        f'aria-label="{_summary(curve, problems)}">{axis}{drawn}</svg>'
    )
    name = f'<div dir="auto" title="{full}"><b>{label}</b></div>'
    return f'<div>{name}{svg}<div style="opacity:.7">{_range(curve)}</div></div>'


def _drawn(curve: Curve, problems: Sequence[int], low: float, high: float) -> Iterator[str]:
    if curve.kind == "pair":
        yield from _cells(curve.effect[..., problems])
    elif curve.kind == "category":
        yield from _bars(curve.effect[panels.frequent_levels(curve)][:, problems], low, high)
    else:
        x, effect = _thinned(np.asarray(curve.x, dtype=np.float64), curve.effect[:, problems])
        at = (x - x[0]) / ((x[-1] - x[0]) or 1.0) * _WIDTH
        if x.size == 1:
            at, effect = np.array([0.0, _WIDTH]), np.repeat(effect, 2, axis=0)
        for k in range(len(problems)):
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(at, _y(effect[:, k], low, high), strict=True))
            yield f'<polyline fill="none" points="{points}" {_stroke(k)}/>'


def _bars(effect: Array, low: float, high: float) -> Iterator[str]:
    """A bar for each level, side by side for several classes."""
    zero = _y(np.zeros(1), low, high)[0]
    step = _WIDTH / len(effect)
    width = 0.8 * step / effect.shape[1]
    for k, column in enumerate(effect.T):
        for i, y in enumerate(_y(column, low, high)):
            top, height = min(y, zero), max(abs(y - zero), 0.5)
            left = i * step + 0.1 * step + k * width
            yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{_colour(k)}"/>'


def _cells(effect: Array) -> Iterator[str]:
    """A heat map of the class that varies most: blue above zero, orange below."""
    values = effect[..., int(np.argmax(np.ptp(effect, axis=(0, 1))))]
    strength = np.abs(values) / (np.abs(values).max(initial=0.0) or 1.0)
    width, height = _WIDTH / values.shape[0], _HEIGHT / values.shape[1]
    for i, j in np.ndindex(values.shape):
        colour = style.FOR if values[i, j] > 0.0 else style.AGAINST
        y = _HEIGHT - (j + 1) * height
        yield (
            f'<rect x="{i * width:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{colour}" opacity="{strength[i, j]:.2f}"/>'
        )


def _thinned(x: Array, effect: Array) -> tuple[Array, Array]:
    """At most so many points as can be seen."""
    if x.size <= _MOST_POINTS:
        return x, effect
    kept = np.unique(np.round(np.linspace(0, x.size - 1, _MOST_POINTS)).astype(np.int64))
    return x[kept], effect[kept]


def _y(effect: Array, low: float, high: float) -> Array:
    return 2.0 + (high - effect) / (high - low) * (_HEIGHT - 4.0)


def _range(curve: Curve) -> str:
    """What the horizontal axis covers."""
    if curve.kind == "number":
        return " … ".join(style.number(float(end)) for end in (curve.x[0], curve.x[-1]))
    if curve.kind == "pair":
        return "both together"
    n = len(curve.x)
    return f"{n} level{'s' if n > 1 else ''}: " + html.escape(style.shown(", ".join(map(str, curve.x[:4])), 20))


def _summary(curve: Curve, problems: Sequence[int]) -> str:
    effect = curve.effect[..., problems]
    text = f"{style.shown(curve.name, 60)}: effects from {style.number(effect.min())} to {style.number(effect.max())}"
    return html.escape(text, quote=True)


def _colour(k: int) -> str:
    return _COLOURS[k % len(_COLOURS)]


def _stroke(k: int) -> str:
    dash = _DASHES[k % len(_DASHES)]
    return f'stroke="{_colour(k)}" stroke-width="1.5"' + (f' stroke-dasharray="{dash}"' if dash else "")
