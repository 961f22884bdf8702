"""Kernel SVMs at the cost of linear ones, with a model you can look at."""

from . import analysis, datasets, export, feature_maps, io, kernels, tables
from .additive import AdditiveSVC
from .additive_cv import AdditiveSVCCV
from .budgeted import BudgetedSVC
from .feature_maps import NystromMap
from .io.model_files import load, save
from .nystrom import NystromSVC
from .shapes import ShapeFunctions

__version__ = "0.1.0"

__all__ = [
    "AdditiveSVC",
    "AdditiveSVCCV",
    "BudgetedSVC",
    "NystromMap",
    "NystromSVC",
    "ShapeFunctions",
    "__version__",
    "analysis",
    "datasets",
    "export",
    "feature_maps",
    "io",
    "kernels",
    "load",
    "save",
    "tables",
]
