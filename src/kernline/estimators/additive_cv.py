"""AdditiveSVCCV: an AdditiveSVC that chooses its C, and its kernel, by cross-validation.

The data is encoded once for each kernel; held-out rows are scored from their codes (cross_validation.py).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from .. import kernels, tables, validation
from ..encoding import Scale
from .additive import AdditiveSVC
from .cross_validation import Fold, Path, ScorerName, Scoring, folds_of, follow, grid_of, highest
from .fitting import in_one_step
from .progress import FitProgress, runs_callbacks
from .training import Labelled, costs, prepare, random_of, seed_from


class AdditiveSVCCV(AdditiveSVC):
    """AdditiveSVC with C chosen by cross-validation, and the kernel too where several are given.

    The model is refitted to all rows with the C and the kernel of the highest mean score; the folds are solved to three
    times its tol, at most 0.03, unless that is looser already. The encoder, and with it
    gamma="scale", sees all rows once: the columns' largest values (with scale="rank" their quantiles) are those of the
    held-out rows too. Their labels are not seen, but for the counts that class_weight="balanced" takes.

    Parameters
    ----------
    kernel : str, a kernels object, or a list of these, default="chi2"
        As for AdditiveSVC. Of a list, the best is chosen.
    approximation : str or a tables object, default="hats"
    Cs : int or increasing array of float, default=10
        So many values from 0.01 to 100, evenly spread by their logarithms (1.0 for one), or the values.
    cv : int, splitter or iterable of (train, test) rows, default=5
        An integer is the number of stratified folds, in the order of the rows, as in scikit-learn.
    scoring : str, callable or None, default=None
        None is accuracy, weighted by `sample_weight`. A name is one of scikit-learn's scorers, given the weights too; a
        callable is called as scoring(model, X, y) for the held-out rows, and may ask the model for `predict` and
        `decision_function` of all of these.
    gamma, p, loss, scale, fit_intercept, intercept_scaling, tol, max_iter, solver, class_weight : as for AdditiveSVC
    n_jobs : int or None, default=None
        Threads: folds and classes run side by side. The result does not depend on it.
    random_state, verbose : as for AdditiveSVC. verbose=1 logs a line for each fold, class and C.

    Attributes
    ----------
    C_, kernel_ : the chosen ones. Of equal scores, the smaller C is taken, then the first kernel.
    Cs_ : the C tried.
    scores_ : the scores of the held-out rows, (n_kernels, n_Cs, n_folds). Where they have risen along C, and then
        three C in a row score below the best by more than twice the standard error of the difference, larger C are not
        tried, and their scores are NaN. verbose=1 logs which.
    best_score_ : the mean score of the chosen ones over the folds.
    classes_, shapes_, intercept_, gamma_, n_iter_, objective_, dual_gap_, history_, solver_ : of the model refitted to
        all rows, as for AdditiveSVC.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVCCV
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVCCV(["chi2", "intersection"], Cs=[0.1, 1.0], cv=3, random_state=0).fit(X, y)
    >>> model.scores_.shape
    (2, 2, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: rules for name, rules in AdditiveSVC._parameter_constraints.items() if name != "C"},
        "kernel": [*AdditiveSVC._parameter_constraints["kernel"], list, tuple],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [ScorerName(), callable, None],
    }

    def __init__(
        self,
        kernel: str | kernels.AdditiveKernel | list[str | kernels.AdditiveKernel] = "chi2",
        approximation: str | tables.Approximation = "hats",
        *,
        Cs: int | ArrayLike = 10,
        cv: Any = 5,
        scoring: Any = None,
        gamma: float | str = "scale",
        p: float = -8.0,
        loss: str = "hinge",
        scale: Scale = "max",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel  # type: ignore[assignment]
        self.approximation = approximation
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.gamma = gamma
        self.p = p
        self.loss = loss
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdditiveSVCCV:
        """Choose C and kernel, and fit to X, dense or sparse, and labels y; `sample_weight` is a factor of C."""
        with validation.kernel_hint(self.kernel, "NystromSVC(kernel).choose(X, y)"):
            Cs, choices = grid_of(self.Cs), self._checked_kernels()
        labels = np.ravel(np.asarray(y))
        data = Labelled.of(self, X, y, sample_weight)
        folds = folds_of(self.cv, labels, sample_weight, data)
        seed = seed_from(random_of(self))
        _ = costs(Cs[0], data.weights), costs(Cs[-1], data.weights)  # refuses what float32 cannot hold

        tasks = _names_of_tasks(choices, folds, data.names, Cs)
        progress = FitProgress(self, tasks + data.names, self.max_iter, int(self.verbose))
        scoring = Scoring(self.scoring, data)
        scores = np.full((len(choices), Cs.size, len(folds)), np.nan)
        best: tuple[float, int] = (-np.inf, 0)  # mean score, and minus the number of its C
        for k, kernel in enumerate(choices):
            candidate = prepare(self, kernel, data.X, data.weight, seed, len(data.signs))
            path = Path(candidate, folds, data, Cs)
            scores[k] = follow(self, path, scoring, progress, seed, k * len(tasks) // len(choices))
            found = highest(scores[k])
            if found > best:
                best, self.kernel_, prepared = found, kernel, candidate
        self.Cs_, self.scores_ = Cs, scores
        self.best_score_, self.C_ = best[0], float(Cs[-best[1]])
        results = self._solve(prepared, data, self.C_ * data.weights, progress, seed, first=len(tasks))
        progress.end(self.tol)
        self._keep(results, data.classes, prepared)
        return self

    def _kernels(self) -> list[Any]:
        return list(self.kernel) if isinstance(self.kernel, (list, tuple)) else [self.kernel]

    def _checked_kernels(self) -> list[Any]:
        choices = self._kernels()
        known = sorted(kernels.BY_NAME)
        for kernel in choices:
            if not isinstance(kernel, kernels.AdditiveKernel) and kernel not in known:
                raise ValueError(
                    f"kernel: {kernel!r} in the list is not known. Use one of {known} or a kernels object."
                )
        if not choices:
            raise ValueError("kernel: the list is empty. Pass a kernel, or a list of those to choose from.")
        return choices


def _names_of_tasks(choices: list[Any], folds: list[Fold], names: list[str], Cs: NDArray[np.float64]) -> list[str]:
    return [
        f"{kernel if isinstance(kernel, str) else kernel.name}, fold {fold}, {name}, C={C:.3g}"
        for kernel in choices
        for fold in range(len(folds))
        for name in names
        for C in Cs
    ]
