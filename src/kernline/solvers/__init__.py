"""Solvers: each takes a problem and its settings, and returns a model with how it was reached."""

from .blockwise import BlockProblems, Blockwise
from .budgeted_sgd import BudgetedModel, BudgetedSGD, PassReport
from .dual_cd import DualCD
from .problem import BinaryProblem, EpochReport, SolveResult

__all__ = [
    "BinaryProblem",
    "BlockProblems",
    "Blockwise",
    "BudgetedModel",
    "BudgetedSGD",
    "DualCD",
    "EpochReport",
    "PassReport",
    "SolveResult",
]
