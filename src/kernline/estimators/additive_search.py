"""The choice of C, and of the kernel, by cross-validation, for estimators of additive models.

The data is encoded once for each kernel; held-out rows are scored from their codes (cross_validation.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import ClassVar

from numpy.typing import ArrayLike

from .. import kernels, validation
from ..array_types import Array
from ..randomness import random_of, seed_from
from ..sklearn_compat import Constraints, Interval
from ..threads import thread_count
from ..training import AdditiveRows
from .additive_base import AdditiveBase, Kernel
from .choices import Choice
from .cross_validation import Scorer, ScorerName, grid_of
from .progress import FitProgress
from .search import Search
from .training_data import AnyTrainingData


class AdditiveSearch(AdditiveBase):
    """An additive estimator that chooses its C, and its kernel if there are several; see AdditiveSVCCV."""

    Cs: int | ArrayLike
    cv: object
    scoring: Scorer

    # Those of the search, and the kernel.
    _search_constraints: ClassVar[Constraints] = {
        "kernel": [*AdditiveBase._parameter_constraints["kernel"], list, tuple],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [ScorerName(), callable, None],
    }

    def _grid(self) -> tuple[Array, Sequence[Kernel]]:
        """The C and the kernels to try, checked before the data."""
        with validation.kernel_hint(self.kernel, "NystromSVC(kernel).choose(X, y)"):
            return grid_of(self.Cs), self._checked_kernels()

    def _choose(
        self,
        grid: tuple[Array, Sequence[Kernel]],
        data: AnyTrainingData,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
    ) -> None:
        """Choose among these C and kernels, solve all problems with the best, and keep their curves."""
        Cs, asked_for = grid
        if isinstance(self.Cs, Integral) and data.weight is not None:
            Cs = Cs / data.weight.mean()  # the weights are factors of C, in any unit
        choices = [self._choice_apart(data, 1.0, kernel) for kernel in asked_for]
        search = Search(data, y, sample_weight, Cs, self.cv, self.scoring, joint=self._is_joint(data))
        seed, n_threads = seed_from(random_of(self.random_state)), thread_count(self.n_jobs)
        solver = self._solver(seed)
        tasks = search.tasks(choice.kernel_name for choice in choices)
        progress = FitProgress(self, tasks + self._names(data), self.max_iter, int(self.verbose))

        def encoded(choice: Choice) -> AdditiveRows:
            return self._rows(data, choice, seed)

        found, rows = search.run(choices, encoded, solver, n_threads, progress)
        self.Cs_, self.scores_, self.best_score_ = found.Cs, found.scores, found.best_score
        self._keep_choice(replace(found.best_value, C=found.best_C))
        cost = found.best_C * data.weights
        results = self._solve(rows, data, cost, solver, n_threads, progress, first=len(tasks))
        progress.end(self.tol)
        self._keep(results, rows)

    def _checked_kernels(self) -> Sequence[Kernel]:
        choices = self._kernels()
        known = sorted(kernels.BY_NAME)
        for kernel in choices:
            if not isinstance(kernel, kernels.AdditiveKernel) and kernel not in ("auto", *known):
                raise ValueError(
                    f"kernel: {kernel!r} in the list is not known. Use one of {known} or a kernels object."
                )
        if not choices:
            raise ValueError("kernel: the list is empty. Pass a kernel, or a list of those to choose from.")
        return choices
