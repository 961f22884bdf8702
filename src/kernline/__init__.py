"""Kernel SVMs at the cost of linear ones, with a model you can look at."""

import importlib
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
    from .model_files.files import load, save
    from .report.writing import report
    from .shapes import ShapeFunctions

__version__ = "0.1.0"

__all__ = [
    "AdditiveSVC",
    "AdditiveSVCCV",
    "AdditiveSVR",
    "AdditiveSVRCV",
    "BudgetedSVC",
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
    "NystromMap": "feature_maps",
    "NystromSVC": "estimators.nystrom",
    "ShapeFunctions": "shapes",
    "load": "model_files.files",
    "save": "model_files.files",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    elif name in __all__:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
