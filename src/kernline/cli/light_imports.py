"""Faster start: skip modules that scikit-learn imports and no command needs.

``import sklearn.base`` imports pandas, to recognise data frames, and scipy.stats, which few estimators use. Together
they took more than half the time of training on a hundred rows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import LazyLoader
from types import ModuleType


class _Interruptible(SourceFileLoader):
    """Notes Ctrl-C while a module is loaded on first use: CPython drops exceptions there, and fails to import later."""

    was_interrupted = False

    def exec_module(self, module: ModuleType) -> None:
        try:
            super().exec_module(module)
        except KeyboardInterrupt:
            _Interruptible.was_interrupted = True
            raise


def was_interrupted() -> bool:
    """Whether Ctrl-C ended the import of a module that is loaded on first use."""
    return _Interruptible.was_interrupted


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
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = LazyLoader(_Interruptible(spec.loader.name, spec.loader.path))
        return spec


def skip_heavy_imports() -> None:
    """Install the finder; for the process of the command line only."""
    sys.meta_path.insert(0, _HeavyModules())
