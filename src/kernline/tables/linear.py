"""The linear kernel, exact: no codes, the values themselves."""

from __future__ import annotations

from .table import TablePair, ValueTable


def linear_pair() -> TablePair:
    """φ(u) = ψ(u) = u."""
    return TablePair(read=ValueTable(), write=ValueTable(), symmetric=True)
