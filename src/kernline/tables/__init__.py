"""Kernel × approximation → TablePair. One file a method; pure NumPy.

To add a method, write a frozen dataclass with ``build(kernel) -> TablePair`` and, to give it a name, an entry below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ..kernels import AdditiveKernel, Linear
from .hats import CROWDED, EVEN, Hats, Knots
from .linear import linear_pair
from .plame import Plame
from .polynomial import PolynomialGradient, chebyshev_nodes
from .table import CodeGrid, DenseTable, PairTable, Table, TablePair, ValueTable

__all__ = [
    "CROWDED",
    "EVEN",
    "Approximation",
    "CodeGrid",
    "DenseTable",
    "Hats",
    "Knots",
    "PairTable",
    "Plame",
    "PolynomialGradient",
    "Table",
    "TablePair",
    "ValueTable",
    "build",
    "chebyshev_nodes",
    "linear_pair",
]


@runtime_checkable
class Approximation(Protocol):
    """Whatever turns a kernel into tables."""

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables for `kernel`."""


# Each name builds its method; `power` spaces the knots, where it has any.
BY_NAME: dict[str, Callable[[float], Approximation]] = {
    "hats": lambda power: Hats(power=power),
    "plame": lambda power: Plame(power=power),
    "pmsvm-lut": lambda _: PolynomialGradient(),
}


def build(kernel: AdditiveKernel, approximation: str | Approximation, *, power: float = CROWDED) -> TablePair:
    """Return the tables of a method; `power` spaces the knots of a named one (1: evenly, for ranked values)."""
    if isinstance(kernel, Linear):
        return linear_pair()
    if not isinstance(approximation, str):
        if isinstance(approximation, Approximation):
            return approximation.build(kernel)
    elif approximation in BY_NAME:
        return BY_NAME[approximation](power).build(kernel)
    raise ValueError(
        f"approximation={approximation!r} is not known. Choose one of {sorted(BY_NAME)}, or pass an object of "
        "kernline.tables such as tables.Hats(knots=32)."
    )
