"""Kernel × approximation → TablePair. One file per method; pure NumPy.

To add a method, write a frozen dataclass with ``build(kernel) -> TablePair``, and add an entry to `BY_NAME`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ..array_types import Array
from ..kernels import AdditiveKernel, Linear
from .explicit import ChebyshevMap, HomogeneousMap, LowDimensionalMap, QuantisedIntersection
from .hats import Hats
from .knots import CROWDED, EVEN, Knots, quantile_knots
from .linear import linear_pair
from .plame import Plame
from .pmsvm import PmSVM
from .polynomial import PolynomialGradient, chebyshev_nodes
from .table import CodeGrid, DenseTable, NodesTable, PairTable, PowersTable, Table, TablePair, ValueTable

__all__ = [
    "CROWDED",
    "EVEN",
    "Approximation",
    "ChebyshevMap",
    "CodeGrid",
    "DenseTable",
    "Hats",
    "HomogeneousMap",
    "Knots",
    "LowDimensionalMap",
    "NodesTable",
    "PairTable",
    "Plame",
    "PmSVM",
    "PolynomialGradient",
    "PowersTable",
    "QuantisedIntersection",
    "Table",
    "TablePair",
    "ValueTable",
    "build",
    "chebyshev_nodes",
    "get",
    "linear_pair",
    "quantile_knots",
]


@runtime_checkable
class Approximation(Protocol):
    """A method that turns a kernel into tables.

    A method whose knots depend on the training data also has ``fitted_to(values)``, which returns the method with its
    knots set.
    """

    def build(self, kernel: AdditiveKernel) -> TablePair:
        """Return the tables for `kernel`."""


# Name → constructor. `spacing` is that of the knots, if the method has any.
BY_NAME: dict[str, Callable[[float], Approximation]] = {
    "hats": lambda spacing: Hats(spacing=spacing),
    "plame": lambda spacing: Plame(spacing=spacing),
    "pmsvm": lambda _: PmSVM(),
    "pmsvm-lut": lambda _: PolynomialGradient(),
    "feature-map": lambda _: HomogeneousMap(),
    "chebyshev": lambda _: ChebyshevMap(),
    "low-dim": lambda spacing: LowDimensionalMap(spacing=spacing),
    "hik": lambda _: QuantisedIntersection(),
}


def get(approximation: str | Approximation, spacing: float = CROWDED) -> Approximation:
    """Return the method of a name; objects pass through."""
    if isinstance(approximation, str) and approximation in BY_NAME:
        return BY_NAME[approximation](spacing)
    if isinstance(approximation, Approximation) and not isinstance(approximation, type):
        return approximation
    raise ValueError(
        f"approximation={approximation!r} is not known. Choose one of {sorted(BY_NAME)}, or pass an object of "
        "kernline.tables such as tables.Hats(knots=32)."
    )


def build(kernel: AdditiveKernel, approximation: str | Approximation, *, values: Array | None = None) -> TablePair:
    """Return the tables of a method. The linear kernel is exact with every method.

    `values`, the non-zero u of the training data, is used by methods whose knots depend on it.
    """
    if isinstance(kernel, Linear):
        return linear_pair()
    method = get(approximation)
    if values is not None and hasattr(method, "fitted_to"):
        method = method.fitted_to(values)
    return method.build(kernel)
