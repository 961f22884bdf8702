"""Solvers: each takes a problem and settings, and returns a model and its convergence history."""

from .block_problems import BlockProblems, Targets
from .blockwise import Blockwise
from .budgeted_sgd import BudgetedModel, BudgetedSGD, PassReport
from .dual_cd import DualCD
from .epochs import EPOCHS_A_PASS
from .joint import JointCD
from .parts import MOST_PARTS
from .problem import EpochReport, JointProblem, JointResult, Outcome, Problem, SolveResult

__all__ = [
    "EPOCHS_A_PASS",
    "MOST_PARTS",
    "BlockProblems",
    "Blockwise",
    "BudgetedModel",
    "BudgetedSGD",
    "DualCD",
    "EpochReport",
    "JointCD",
    "JointProblem",
    "JointResult",
    "Outcome",
    "PassReport",
    "Problem",
    "SolveResult",
    "Targets",
]
