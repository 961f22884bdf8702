"""The linear problems on the features of landmarks, z(x) = K(x, B) T, with all features stored or block by block."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from ..array_types import Array, Floats, Matrix
from ..class_signs import LARGEST
from ..landmarks.nystrom_map import LandmarkMap, blocks, run_blocks
from ..landmarks.pairwise import PairKernel
from ..landmarks.points import Points
from ..landmarks.settings import sample_of
from ..losses import Loss
from ..solvers import BlockProblems, Blockwise, DualCD, SolveResult
from ..tables import linear_pair
from ..training import Intercept, TrainingRows
from .labelled import Labelled
from .progress import FitProgress
from .solving import solve_all

# Feature values per block if they are not stored: 16 MB.
_BLOCK_VALUES = 4_000_000


@dataclass(frozen=True)
class LandmarkProblems:
    """One problem per class against the rest, on the features that a map gives."""

    landmarks: LandmarkMap
    data: Labelled[Matrix]
    intercept: Intercept
    loss: Loss
    n_threads: int

    def solve(self, cost: Array, solver: DualCD, progress: FitProgress, first: int) -> list[SolveResult]:
        """Solve them on stored features; `first` is the number of the first problem in `progress`."""
        mean = self._mean_norm()  # first: it refuses features too large for float32
        rows = self._rows(self.landmarks.features(self.data.X, self.n_threads), mean)
        return solve_all(rows, self.data, cost, solver, self.n_threads, progress, first)

    def solve_blockwise(self, cost: Array, solver: DualCD, progress: FitProgress, first: int) -> list[SolveResult]:
        """Solve them on features that are computed again in every pass, one block of rows at a time."""
        X, width, mean = self.data.X, self.landmarks.width, self._mean_norm()
        problems = BlockProblems.of_features(
            features=lambda rows: self.landmarks.features(X[rows], self.n_threads),
            blocks=blocks(X.shape[0], width, _BLOCK_VALUES),
            width=width,
            targets=self.data.targets,
            cost=cost,
            intercept_square=self.intercept.constant(linear_pair(), mean),
            free_intercept=self.intercept.is_free(linear_pair()),
            mean_norm=mean,
            loss=self.loss,
        )
        watches = [progress.problem(first + index) for index in range(self.data.n_problems)]
        settings = Blockwise(solver.tol, solver.max_iter, solver.seed, self.n_threads)
        results = settings.solve(problems, watches, threading.Event())
        for watch, result in zip(watches, results, strict=True):
            watch.end(result)
        return results

    def rows_of_base(self, base: Floats) -> TrainingRows:
        """The rows for a search, from the kernel's base between all rows and landmarks."""
        return self._rows(self.landmarks.features_of_base(base, self.n_threads), self._mean_norm())

    def _rows(self, features: Floats, mean: float) -> TrainingRows:
        return TrainingRows.of_features(features, self.loss, self.intercept, mean, self.n_threads)

    def _mean_norm(self) -> float:
        """The mean of z(x)·z(x) over some rows, which is not negative for any kernel."""
        sample = self.landmarks.features(sample_of(self.data.X), 1, np.float64)
        mean = float(np.square(sample).sum(axis=1).mean())
        if not mean < LARGEST:
            raise ValueError(
                f"K(x, x) is {mean:.3g} on average, too large for float32. Scale the data, or lower gamma or degree."
            )
        return mean or 1.0


def base_of(kernel: PairKernel, points: Points, X: Matrix, n_threads: int) -> Floats:
    """The kernel's base between all rows and landmarks, which does not depend on γ but in its precision."""
    base = np.empty((X.shape[0], len(points)), dtype=np.float32)
    precision = kernel.precision(points)

    def fill(rows: slice) -> None:
        base[rows] = kernel.base(X[rows], points, precision)

    run_blocks(fill, X.shape[0], max(X.shape[1], len(points)), n_threads)
    return base
