"""Solvers: each takes an encoded problem and its settings, and returns a SolveResult."""

from .blockwise import BlockProblems, Blockwise
from .dual_cd import DualCD
from .problem import BinaryProblem, EpochReport, SolveResult

__all__ = ["BinaryProblem", "BlockProblems", "Blockwise", "DualCD", "EpochReport", "SolveResult"]
