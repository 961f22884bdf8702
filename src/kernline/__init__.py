"""Kernel SVMs at the cost of linear ones, with a model you can look at."""

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import analysis, datasets, display, export, feature_maps, io, kernels, losses, solvers, tables, training
    from .estimators.additive import AdditiveSVC
    from .estimators.additive_cv import AdditiveSVCCV
    from .estimators.additive_svr import AdditiveSVR
    from .estimators.additive_svr_cv import AdditiveSVRCV
    from .estimators.budgeted import BudgetedSVC
    from .estimators.nystrom import NystromSVC
    from .feature_maps import NystromMap
    from .mapped.dataset import Dataset
    from .model_files.files import load, save
    from .report.writing import report
    from .shapes import ShapeFunctions

__version__ = "0.2.0"


def _refuse_free_threads() -> None:
    """The core is built and tested with Python's lock only; it does not compile without it."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():  # from Python 3.13 on
        raise ImportError("kernline does not support free-threaded Python. Use python3.13, not python3.13t.")


def _refuse_subinterpreters() -> None:
    """NumPy does not support them, and a fit in one did not end (Python 3.11)."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # from Python 3.13 on; before
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError("kernline does not support subinterpreters. Use processes, or threads.")
        return


_refuse_free_threads()
_refuse_subinterpreters()

__all__ = [
    "AdditiveSVC",
    "AdditiveSVCCV",
    "AdditiveSVR",
    "AdditiveSVRCV",
    "BudgetedSVC",
    "Dataset",
    "NystromMap",
    "NystromSVC",
    "ShapeFunctions",
    "__version__",
    "analysis",
    "datasets",
    "display",
    "export",
    "feature_maps",
    "io",
    "kernels",
    "load",
    "losses",
    "report",
    "save",
    "solvers",
    "tables",
    "training",
]

# Where a public name lives; one that is not here is a module, and `report` one that can be called. Loaded on first use,
# so that the command line starts without NumPy and scikit-learn.
_HOMES = {
    "AdditiveSVC": "estimators.additive",
    "AdditiveSVCCV": "estimators.additive_cv",
    "AdditiveSVR": "estimators.additive_svr",
    "AdditiveSVRCV": "estimators.additive_svr_cv",
    "BudgetedSVC": "estimators.budgeted",
    "Dataset": "mapped.dataset",
    "NystromMap": "feature_maps",
    "NystromSVC": "estimators.nystrom",
    "ShapeFunctions": "shapes",
    "load": "model_files.files",
    "save": "model_files.files",
}

_DEPRECATED = ("plot",)  # modules that warn when they are used


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    elif name in __all__ or name in _DEPRECATED:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
