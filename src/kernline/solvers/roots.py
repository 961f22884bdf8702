"""The zero of an increasing function.

As scipy.optimize.brentq, which takes longer to import than many a fit.
"""

from __future__ import annotations

from collections.abc import Callable

_MOST_STEPS = 200


def zero_of_increasing(
    slope: Callable[[float], float], low: float, high: float, tol: float, enough: float = 0.0
) -> float:
    """x between `low` and `high`, where the slope is below and above zero, with the zero within `tol` of it.

    Or where the slope is at most `enough` away from zero. If it has the same sign at both, the end that is nearer to a
    zero.

    False position (the Illinois variant), and bisection where that is slow: slopes of a loss with kinks have steps.
    """
    below, above = slope(low), slope(high)
    if below >= 0.0 or above <= 0.0:
        return low if below >= 0.0 else high
    side = 0
    for step in range(_MOST_STEPS):
        width = high - low
        if width <= tol:
            break
        middle = 0.5 * (low + high)
        x = middle if step % 3 == 2 else low - below * width / (above - below)
        if not low < x < high:
            x = middle
        value = slope(x)
        if abs(value) <= enough:
            return x
        if value < 0.0:
            low, below = x, value
            above *= 0.5 if side < 0 else 1.0
            side = -1
        else:
            high, above = x, value
            below *= 0.5 if side > 0 else 1.0
            side = 1
    return 0.5 * (low + high)
