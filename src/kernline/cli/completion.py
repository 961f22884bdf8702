"""Values that a shell completes. Names of files are completed by the shell itself."""

from __future__ import annotations

from collections.abc import Callable


def among(*values: str) -> Callable[[str], list[str]]:
    """Complete one of these values."""

    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def data_sets(incomplete: str) -> list[str]:
    """Complete @NAME, a named data set."""
    if not incomplete.startswith("@"):
        return []
    from ..datasets.catalogue import CATALOGUE

    return [f"@{name}" for name in sorted(CATALOGUE) if name.startswith(incomplete[1:])]
