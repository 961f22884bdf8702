"""Faster start: skip modules that scikit-learn imports and no command needs.

``import sklearn.base`` imports pandas, to recognise data frames, and scipy.stats, which few estimators use. Together
they took more than half the time of training on a hundred rows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType


class _HeavyModules:
    """An import finder that hides pandas, and loads scipy.stats on first use."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("the command line does not use pandas", name=name)
        if name != "scipy.stats":
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def skip_heavy_imports() -> None:
    """Install the finder; for the process of the command line only."""
    sys.meta_path.insert(0, _HeavyModules())
