"""Numbers for people: in messages, and below each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

_LARGE, _HUGE, _TINY = 1e4, 1e9, 1e-5


def short(value: float) -> str:
    """Four digits; more in front of the decimal point, as 906,800 is easier to read than 9.068e+05."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if _LARGE <= abs(rounded) < _HUGE else f"{rounded:.4g}"


def aligned(values: Sequence[float]) -> list[str]:
    """Signed numbers with the same number of decimals, four digits of the largest, filled up to the same width."""
    largest = max(map(abs, values), default=0.0)
    if largest != 0.0 and not _TINY <= largest < _HUGE:
        texts = [f"{value:+.3g}" for value in values]
    else:
        decimals = max(0, 3 - math.floor(math.log10(largest))) if largest else 0
        texts = [f"{value:+.{decimals}f}" for value in values]
    width = max(map(len, texts), default=0)
    return [text.rjust(width) for text in texts]
