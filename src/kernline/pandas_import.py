"""pandas, which only functions that return data frames need."""

from __future__ import annotations

from typing import Any


def pandas_for(call: str) -> Any:
    """The module pandas, or an error that says how to install it."""
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(f"{call} returns a data frame of pandas: pip install pandas.") from None
    return pandas
