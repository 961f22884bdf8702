"""Deprecated: pictures are in kernline.display."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .analysis import GradientCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def gradient_curves(curves: Mapping[str, GradientCurve], ax: Axes | None = None) -> Axes:
    """Draw curves and approximations. Deprecated since 0.2: use ``display.ApproximationDisplay(curves).plot(ax)``."""
    from .display import ApproximationDisplay

    warnings.warn(
        "kernline.plot.gradient_curves is deprecated and raises an error from 0.4 on. Use "
        "kernline.display.ApproximationDisplay(curves).plot(ax), whose axes_ are the axes.",
        FutureWarning,
        stacklevel=2,
    )
    axes = ApproximationDisplay(curves).plot(ax).axes_
    assert axes is not None
    return axes
