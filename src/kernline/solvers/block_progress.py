"""The state of one problem of blockwise.py: β, their sums, and estimates of the objective.

Balancing Σβ = 0 changes the β of the rows on the margin, and may make those of all rows of one sign smaller. The latter
are not stored until they are final, but computed when they are read: a copy of β would take 4 bytes per row.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..array_types import Array, Numbers
from ..native import native_table
from .block_problems import Block, BlockProblems, Rows
from .descent import core_solver
from .intercept import Centring
from .problem import EpochReport, Problem

# What a snapshot has of a problem besides its arrays, its centring and its history.
_NUMBERS = ("centre", "total", "mean_total", "factor", "dual", "gap", "primal", "estimate", "n_active", "converged")


class Shrink(NamedTuple):
    """β of one sign, made smaller by a factor."""

    sign: float
    share: float

    def of(self, beta: Array) -> Array:
        """The β after it."""
        return np.where(self.sign * beta > 0.0, self.share * beta, beta)


class Point(NamedTuple):
    """Where a problem is. β is that of the rows on the margin: balancing stores no others."""

    beta: Numbers
    sums: Array
    centre: float
    total: float
    mean_total: float
    dual: float


@dataclass
class Progress:
    """The state of one problem: β, their sums, and estimates of the objective."""

    problems: BlockProblems
    number: int
    beta: Numbers
    sums: Array  # Σ_i β_i φ(x_i)
    centring: Centring | None
    centre: float = 0.0  # b0 of a free intercept
    total: float = 0.0  # Σ_i β_i
    mean_total: float = 0.0  # Σ_i β_i m(x_i)
    factor: float = 1.0  # of the costs, while they grow
    shrink: Shrink | None = None  # of the β that are stored
    dual: float = 0.0
    gap: float = np.inf
    primal: float = 0.0
    estimate: float = 0.0  # of the gap, in this pass
    n_active: int = 0
    converged: bool = False
    stopped: bool = False  # a callback asked for it
    history: list[EpochReport] = field(default_factory=list)

    @property
    def intercept(self) -> float:
        """What f(x) has besides φ(x) · W − S m(x)."""
        square = 0.0 if self.problems.mean is None else self.problems.mean.square
        return self.centre + (self.problems.square + square) * self.total - self.mean_total

    @property
    def weights(self) -> Array:
        """W."""
        return self.problems.weights(self.sums)

    def beta_of(self, rows: Rows) -> Array:
        """β of some rows."""
        beta = self.beta[rows].astype(np.float64)
        return beta if self.shrink is None else self._as_stored(self.shrink.of(beta))

    def _as_stored(self, beta: Array) -> Array:
        return beta.astype(self.beta.dtype).astype(np.float64)

    def resume(self, problem: Problem, rows: Rows, seed: int) -> _core.DualSolver:
        """The core's solver for a block, starting from the current β and weights."""
        core = core_solver(problem, seed, shuffle=True)
        core.set_beta(np.clip(self.beta_of(rows), *problem.bounds))
        W = self.weights
        if self.problems.mean is not None:
            W = W - self.total * self.problems.mean.weights[:-1].astype(np.float64)
        core.set_weights(W.astype(np.float32), self.intercept)
        return core

    def take_over(self, core: _core.DualSolver, problem: Problem, block: Block) -> None:
        """Take the core's β of a block, and add the sum of its changes.

        The core's own float32 weights are not used: many small changes make them drift.
        """
        beta = np.empty(problem.n_rows)
        core.copy_beta(beta)
        self.set(block, beta)
        self.dual += core.dual

    def set(self, block: Block, beta: Array) -> None:
        """Set the β of a block."""
        before = self.beta_of(block.rows)
        self.beta[block.rows] = beta.astype(self.beta.dtype)
        self._add(block, self.beta_of(block.rows) - before)

    def _add(self, block: Block, change: Array) -> None:
        """Add changes of β to the sums."""
        moved = np.flatnonzero(change).astype(np.int32)
        table = native_table(self.problems.pair.read)
        _core.add_members(block.data.native, table, change[moved], moved, self.sums, 1)
        self.total += float(change.sum())
        if block.mean is not None:
            self.mean_total += float(change @ block.mean.products)

    def shrink_all(self, shrink: Shrink) -> None:
        """Make the β of one sign smaller; those that are stored stay as they are."""
        for block in self.problems.visits(self.problems.blocks):
            before = self.beta_of(block.rows)
            self._add(block, self._as_stored(shrink.of(before)) - before)
        self.shrink = shrink

    def store(self) -> None:
        """Store the β that were made smaller."""
        if self.shrink is not None:
            for rows in self.problems.blocks:
                self.beta[rows] = self.beta_of(rows)
        self.shrink = None

    def point(self, kept: Block | None) -> Point:
        """Where the problem is; `kept` are the rows whose β balancing may change."""
        beta = self.beta[:0] if kept is None else self.beta[kept.rows].copy()
        return Point(beta, self.sums.copy(), self.centre, self.total, self.mean_total, self.dual)

    def go_back(self, point: Point, kept: Block | None) -> None:
        """Undo a balance."""
        if kept is not None:
            self.beta[kept.rows] = point.beta
        self.shrink = None
        _, self.sums, self.centre, self.total, self.mean_total, self.dual = point

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Numbers]]:
        """The state at the end of a pass: numbers, and arrays."""
        content: dict[str, Any] = {name: getattr(self, name) for name in _NUMBERS}
        content["centring"] = None if self.centring is None else asdict(self.centring)
        content["history"] = [list(report) for report in self.history]
        return content, {"beta": self.beta, "sums": self.sums}

    def restore(self, content: dict[str, Any], arrays: dict[str, Numbers]) -> None:
        """Continue from a snapshot."""
        for name in _NUMBERS:
            setattr(self, name, content[name])
        if self.centring is not None:
            self.centring = Centring(**content["centring"])
            if self.centring.last is not None:  # JSON has lists
                self.centring.last = self.centring.last[0], self.centring.last[1]
        self.history = [EpochReport(*report) for report in content["history"]]
        self.beta, self.sums = arrays["beta"], arrays["sums"]

    def grow(self, factor: float) -> None:
        """Multiply costs, β and f."""
        self.factor *= factor
        self.beta *= self.beta.dtype.type(factor)
        for name in ("sums", "centre", "total", "mean_total", "dual"):
            setattr(self, name, factor * getattr(self, name))
        if self.centring is not None:
            self.centring.restart()

    @property
    def objective(self) -> float:
        """Report the last pass."""
        return self.history[-1].dual + self.history[-1].gap if self.history else 0.0
