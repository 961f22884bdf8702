"""The choice of C, and of the kernel, by cross-validation, for estimators of additive models.

The data is encoded once for each kernel; held-out rows are scored from their codes (cross_validation.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels, validation
from ..array_types import Array
from ..mapped.dataset import Dataset
from ..randomness import seed_of
from ..sklearn_compat import Constraints, Interval
from ..threads import thread_count
from ..training import AdditiveRows
from .additive_base import AdditiveBase, Kernel
from .choices import Choice
from .cross_validation import Scorer, ScorerName, grid_of
from .paths import JointPath, Path, SmoothPath
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
        seed, n_threads = seed_of(self.random_state), thread_count(self.n_jobs)
        path, together = self._path(data, choices, seed)
        by_evidence = isinstance(path, partial) and isinstance(self.Cs, Integral)
        tried = np.append(Cs, np.nan) if by_evidence else Cs
        search = Search(data, y, sample_weight, tried, self.cv, self.scoring, path=path, together=together)
        solver = self._solver(seed)
        tasks = search.tasks(choice.kernel_name for choice in choices)
        names = search.names if together else self._names(data)
        progress = FitProgress(self, tasks + names, self.max_iter, int(self.verbose))

        def encoded(choice: Choice) -> AdditiveRows:
            return self._rows(data, choice, seed)

        found, rows = search.run(choices, encoded, solver, n_threads, progress)
        self.Cs_, self.best_score_ = Cs, found.best_score
        self.scores_ = found.scores[:, : Cs.size]
        if by_evidence:
            self.evidence_scores_ = found.scores[:, -1]
        choice = replace(found.best_value, C=None if np.isnan(found.best_C) else found.best_C)
        self._keep_choice(choice)
        if isinstance(path, partial):
            self._fit_jointly(data, rows, choice, seed, progress, len(tasks))
            return
        cost = found.best_C * data.weights
        results = self._solve(rows, data, cost, solver, n_threads, progress, first=len(tasks))
        progress.end(self.tol)
        self._keep(results, rows)

    def _path(self, data: AnyTrainingData, choices: Sequence[Choice], seed: int) -> tuple[Callable[..., Path], bool]:
        """What makes the problems of a kernel, and whether there is one for all classes."""
        if self._is_joint(data):
            return JointPath, True
        if data.is_classification and all(self._is_smooth(choice, data) for choice in choices):
            return partial(SmoothPath, settings=self._joint_settings(data, choices[0], seed)), True
        return Path, False

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


def in_memory(X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[Any, Any, ArrayLike | None]:
    """The arguments of `fit`, with all codes of a Dataset in memory: folds take their rows from everywhere."""
    if not isinstance(X, Dataset):
        return X, y, sample_weight
    X.hold()
    return X, X.y if y is None else y, X.sample_weight if sample_weight is None else sample_weight
