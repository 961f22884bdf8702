"""AdditiveSVCCV: an AdditiveSVC that chooses its C, and its kernel, by cross-validation.

The data is encoded once for each kernel; held-out rows are scored from their codes (cross_validation.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import ClassVar

from numpy.typing import ArrayLike

from .. import kernels, tables, validation
from ..array_types import MatrixLike
from ..class_signs import ClassWeight
from ..encoding import EncodedData, Scale
from ..randomness import RandomState, random_of, seed_from
from ..sklearn_compat import Constraints, Interval, fit_context
from ..threads import thread_count
from .additive import AdditiveSVC
from .additive_base import Kernel
from .cross_validation import Scorer, ScorerName, grid_of
from .fitting import in_one_step
from .progress import FitProgress, runs_callbacks
from .search import Search


class AdditiveSVCCV(AdditiveSVC):
    """AdditiveSVC with C chosen by cross-validation, and the kernel too where several are given.

    The model is refitted to all rows with the C and the kernel of the highest mean score; the folds are solved to three
    times its tol, at most 0.03, unless that is looser already. The encoder, and with it
    gamma="scale", sees all rows once: the columns' largest values (with scale="rank" their quantiles) are those of the
    held-out rows too. Their labels are not seen, except the counts for class_weight="balanced".

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
    gamma, p, loss, multi_class, scale, fit_intercept, intercept_scaling, tol, max_iter, solver, class_weight : as for
        AdditiveSVC
    n_jobs : int or None, default=None
        Threads, for folds and classes. The result does not depend on it.
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

    _parameter_constraints: ClassVar[Constraints] = {
        **{name: rules for name, rules in AdditiveSVC._parameter_constraints.items() if name != "C"},
        "kernel": [*AdditiveSVC._parameter_constraints["kernel"], list, tuple],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [ScorerName(), callable, None],
    }

    def __init__(
        self,
        kernel: Kernel | Sequence[Kernel] = "chi2",
        approximation: str | tables.Approximation = "hats",
        *,
        Cs: int | ArrayLike = 10,
        cv: object = 5,
        scoring: Scorer = None,
        gamma: float | str = "scale",
        p: float = -8.0,
        loss: str = "hinge",
        multi_class: str = "auto",
        scale: Scale = "max",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = "auto",
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.approximation = approximation
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.gamma = gamma
        self.p = p
        self.loss = loss
        self.multi_class = multi_class
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

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(self, X: MatrixLike | EncodedData, y: ArrayLike, sample_weight: ArrayLike | None = None) -> AdditiveSVCCV:
        """Choose C and kernel, and fit to X and labels y, as AdditiveSVC does; `sample_weight` is a factor of C."""
        with validation.kernel_hint(self.kernel, "NystromSVC(kernel).choose(X, y)"):
            Cs, choices = grid_of(self.Cs), self._checked_kernels()
        data = self._labelled(X, y, sample_weight)
        search = Search(data, y, sample_weight, Cs, self.cv, self.scoring, joint=self._is_joint(data))
        seed, n_threads = seed_from(random_of(self.random_state)), thread_count(self.n_jobs)
        solver = self._solver(seed)
        tasks = search.tasks(kernel if isinstance(kernel, str) else kernel.name for kernel in choices)
        progress = FitProgress(self, tasks + self._names(data), self.max_iter, int(self.verbose))
        found, rows = search.run(choices, lambda kernel: self._rows(data, kernel, seed), solver, n_threads, progress)
        self.Cs_, self.scores_, self.best_score_ = found.Cs, found.scores, found.best_score
        self.kernel_, self.C_ = found.best_value, found.best_C
        results = self._solve(rows, data, self.C_ * data.weights, solver, n_threads, progress, first=len(tasks))
        progress.end(self.tol)
        self._keep(results, rows)
        self.classes_ = data.classes
        return self

    def _checked_kernels(self) -> Sequence[Kernel]:
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
