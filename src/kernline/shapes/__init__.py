"""The fitted form of every additive model: curves, their training facts, explanations of rows, and edits."""

from .comparison import compare
from .contributions import Contributions
from .curves import Curve, Density
from .functions import ShapeFunctions
from .training_facts import CellCounts, TrainingFacts

__all__ = ["CellCounts", "Contributions", "Curve", "Density", "ShapeFunctions", "TrainingFacts", "compare"]
