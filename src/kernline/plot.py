"""Pictures, with matplotlib (``pip install kernline[plot]``). Each function draws on an axes and returns it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .analysis import GradientCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def gradient_curves(curves: Mapping[str, GradientCurve], ax: Axes | None = None) -> Axes:
    """Draw g_j and its approximations, labelled by name."""
    ax = ax if ax is not None else _new_axes()
    first = next(iter(curves.values()))
    ax.plot(first.x, first.exact, color="0.75", linewidth=6, label="exact", solid_capstyle="round")
    for style, (name, curve) in zip(_STYLES * len(curves), curves.items(), strict=False):
        ax.plot(curve.x, curve.approximate, style, label=name)
    ax.set_xlabel("feature value")
    ax.set_ylabel("g")
    ax.legend(frameon=False)
    return ax


_STYLES = ("k--", "C0-", "C3:", "C2-.")


def _new_axes() -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("kernline.plot needs matplotlib: pip install 'kernline[plot]'.") from error
    return plt.subplots(figsize=(5.0, 3.5), layout="constrained")[1]
