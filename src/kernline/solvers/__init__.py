"""Solvers: each takes an encoded problem and its settings, and returns a SolveResult."""

from .dual_cd import DualCD
from .problem import BinaryProblem, EpochReport, SolveResult

__all__ = ["BinaryProblem", "DualCD", "EpochReport", "SolveResult"]
