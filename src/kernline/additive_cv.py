"""AdditiveSVCCV: an AdditiveSVC that chooses its C, and its kernel, by cross-validation.

The data is encoded once for each kernel. A fold is a list of rows of it, and each class of a fold runs along the path
of increasing C, the α of one C giving the start of the next:

    α ← t α,   t = min(C_new / C_old, t*),   t* = Σ α_i / (2 (Σ α_i − dual(α)))

C_new / C_old keeps rows at the bound there; t* is where dual(t α) is highest (for the squared hinge, at C_old), near 1
for classes that are separated, whose α no longer grow with C. Held-out rows are scored from their codes. The path ends
when the scores fall: the largest C are the dearest.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from . import _core, kernels, tables, validation
from .additive import AdditiveSVC
from .encoding import Scale
from .native import native_table
from .progress import FitProgress, runs_callbacks
from .solvers import DualCD, SolveResult
from .threads import run_tasks, thread_count
from .training import Prepared, costs, one_against_rest, prepare, row_weights

Array = NDArray[np.float64]
Rows = NDArray[np.int32]

# Ends of the grid of an integer `Cs`. With gamma="scale", MNIST and USPS are best near 10. Parts of covtype are best at
# the upper end; ten times as far they gained 0.1 points on one split, and the last fit took ten times as long.
_LOWEST_C, _HIGHEST_C = 1e-2, 1e2
# Folds are solved to a gap so many times looser, up to the loosest: enough to rank the C.
_LOOSER, _LOOSEST = 3.0, 0.03


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
    scores_ : the scores of the held-out rows, (n_kernels, n_Cs, n_folds). Once they have fallen from the best by more
        than twice the standard error of the difference, larger C are not tried, and theirs are NaN.
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
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
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
        random_state: Any = None,
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
    @runs_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdditiveSVCCV:
        """Choose C and kernel, and fit to X, dense or sparse, and labels y; `sample_weight` is a factor of C."""
        Cs, choices = _grid(self.Cs), self._checked_kernels()
        labels = np.ravel(np.asarray(y))
        X, y, weight = validation.check_training_data(self, X, y, sample_weight)
        classes, number = validation.check_classes(self, y)
        folds = _folds(self.cv, labels, sample_weight, classes, number)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        weights = row_weights(self.class_weight, classes, number, weight)
        names, signs = one_against_rest(classes, number)
        _ = costs(Cs[0], weights), costs(Cs[-1], weights)  # refuses what float32 cannot hold

        tasks = _names_of_tasks(choices, folds, names, Cs)
        progress = FitProgress(self, tasks + names, self.max_iter, int(self.verbose))
        scoring = _Scoring(self.scoring, X, y, classes, weight)
        scores = np.full((len(choices), Cs.size, len(folds)), np.nan)
        best: tuple[float, int] = (-np.inf, 0)  # mean score, and minus the number of its C
        for k, kernel in enumerate(choices):
            candidate = prepare(self, kernel, X, weight, seed)
            path = _Path(candidate, folds, signs, weights, Cs)
            scores[k] = self._follow(path, scoring, progress, seed, k * len(tasks) // len(choices))
            found = _highest(scores[k])
            if found > best:
                best, self.kernel_, prepared = found, kernel, candidate
        self.Cs_, self.scores_ = Cs, scores
        self.best_score_, self.C_ = best[0], float(Cs[-best[1]])
        problems = [prepared.problem(sign, self.C_ * weights) for sign in signs]
        results = self._solve(problems, progress, seed, first=len(tasks))
        progress.end(self.tol)
        self._keep(results, classes, prepared)
        return self

    def _follow(self, path: _Path, scoring: _Scoring, progress: FitProgress, seed: int, first: int) -> Array:
        """Run every fold and class along the path, until the scores fall; returns them, (n_Cs, n_folds)."""
        n_classes, interrupted = len(path.signs), threading.Event()
        n_tasks = len(path.folds) * n_classes
        available = thread_count(self.n_jobs)
        tol = min(_LOOSER * self.tol, max(self.tol, _LOOSEST))
        settings = DualCD(tol, self.max_iter, solver=self.solver, n_threads=max(1, available // n_tasks))
        starts: list[_Start | None] = [None] * n_tasks
        scores = np.full((path.Cs.size, len(path.folds)), np.nan)
        for c, C in enumerate(path.Cs):
            values = [np.empty((fold.test.size, n_classes), dtype=np.float32) for fold in path.folds]

            def solve(task: int, c: int = c, C: float = C, values: list[NDArray[np.float32]] = values) -> None:
                fold, label = divmod(task, n_classes)
                watch = progress.problem(first + task * path.Cs.size + c)
                problem, start = path.problem(fold, label, c), starts[task]
                alpha = start.at(C, problem.n_rows) if start else None
                result = replace(settings, seed=seed + task).solve(problem, watch, interrupted, start=alpha)
                watch.end(result)
                values[fold][:, label] = path.values(fold, result)
                starts[task] = _Start.of(result, C)

            run_tasks(solve, n_tasks, available, interrupted)
            scores[c] = [scoring(fold.test, at_C) for fold, at_C in zip(path.folds, values, strict=True)]
            if _fall(scores[: c + 1]):
                break
        return scores

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


@dataclass(frozen=True)
class _Fold:
    train: Rows
    test: Rows


@dataclass(frozen=True)
class _Path:
    """The problems of one kernel: a fold's rows, a class against the rest, one of the C."""

    prepared: Prepared
    folds: list[_Fold]
    signs: list[Array]
    weights: Array
    Cs: Array

    def problem(self, fold: int, label: int, c: int) -> Any:
        return self.prepared.problem(self.signs[label], self.Cs[c] * self.weights, self.folds[fold].train)

    def values(self, fold: int, result: SolveResult) -> Array:
        """f(x_i) of the fold's held-out rows."""
        rows = self.folds[fold].test
        out = np.empty(rows.size)
        table = native_table(self.prepared.pair.read)
        weights = np.append(result.weights, np.float32(0.0))  # the float more that a pair table may touch
        _core.read_members(self.prepared.data.native, table, weights, rows, out, 1)
        return out + result.intercept


class _HeldOut(ClassifierMixin, BaseEstimator):
    """A fitted model as a scorer sees it: it knows its scores of the held-out rows, and nothing else."""

    def __init__(self, classes: NDArray[Any], values: NDArray[np.float32]) -> None:
        self.classes_ = classes
        self.values = values

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        if X.shape[0] != self.values.shape[0]:
            raise ValueError(
                f"scoring: while C is chosen, the model scores its {self.values.shape[0]} held-out rows together; it "
                f"was asked for {X.shape[0]} rows."
            )
        return self.values[:, 0] if self.values.shape[1] == 1 else self.values

    def predict(self, X: Any) -> NDArray[Any]:
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


@dataclass(frozen=True)
class _Scoring:
    """Score of held-out rows by their values f(x), (n_test, n_problems)."""

    scoring: Any
    X: Any
    y: NDArray[Any]
    classes: NDArray[Any]
    weight: Array | None

    def __call__(self, rows: Rows, values: NDArray[np.float32]) -> float:
        model = _HeldOut(self.classes, values)
        weight = None if self.weight is None else self.weight[rows]
        if self.scoring is None:
            return float(np.average(model.predict(values) == self.y[rows], weights=weight))
        score = self._by_scorer(model, rows, weight)
        if not np.isfinite(score):
            raise ValueError("scoring: a score of held-out rows is not a finite number, so no C can be chosen by it.")
        return score

    def _by_scorer(self, model: _HeldOut, rows: Rows, weight: Array | None) -> float:
        named = isinstance(self.scoring, str)
        scorer = get_scorer(self.scoring) if named else self.scoring
        options = {"sample_weight": weight} if named and weight is not None else {}
        return float(scorer(model, self.X[rows], self.y[rows], **options))


@dataclass(frozen=True)
class _Start:
    """A solution as the start of the next C: its α that are not zero."""

    C: float
    support: NDArray[np.int64]
    alpha: NDArray[np.float32]
    highest: float  # t*

    @classmethod
    def of(cls, result: SolveResult, C: float) -> _Start:
        support = np.flatnonzero(result.alpha)
        total = float(result.alpha.sum())
        curvature = 2.0 * (total - result.dual)
        highest = total / curvature if curvature > 0.0 else np.inf
        return cls(C, support, result.alpha[support].astype(np.float32), highest)

    def at(self, C: float, n_rows: int) -> Array:
        """α for a larger C."""
        alpha = np.zeros(n_rows)
        alpha[self.support] = min(C / self.C, self.highest) * self.alpha
        return alpha


def _fall(scores: Array) -> bool:
    """Whether the last scores lie below the best ones, fold by fold, by more than chance: twice the standard error."""
    difference = scores[scores.mean(axis=1).argmax()] - scores[-1]
    if difference.size < 2:
        return False
    error = difference.std(ddof=1) / np.sqrt(difference.size)
    return bool(difference.mean() > 2.0 * error)


def _grid(Cs: Any) -> Array:
    if isinstance(Cs, Integral):
        return np.geomspace(_LOWEST_C, _HIGHEST_C, int(Cs)) if int(Cs) > 1 else np.ones(1)
    grid = np.asarray(Cs, dtype=np.float64)
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(f"Cs: an integer or a list of at least one number; got an array of shape {grid.shape}.")
    if not (np.isfinite(grid).all() and grid.min() > 0.0):
        raise ValueError(f"Cs: every C must be positive and finite; got {grid.tolist()}.")
    if not (np.diff(grid) > 0.0).all():
        raise ValueError(f"Cs: values must increase, each once; got {grid.tolist()}. Pass np.unique(Cs).")
    return grid


def _folds(
    cv: Any, labels: NDArray[Any], sample_weight: Any, classes: NDArray[Any], number: NDArray[np.int64]
) -> list[_Fold]:
    """The folds, as rows of the data that has rows of weight zero left out; the split is of the data as given."""
    kept = np.ones(labels.size, dtype=bool)
    if number.size < labels.size:
        kept = np.asarray(sample_weight, dtype=np.float64) > 0.0
    place = np.cumsum(kept) - 1
    folds: list[_Fold] = []
    for train, test in check_cv(cv, labels, classifier=True).split(np.zeros((labels.size, 1)), labels):
        rows = [np.arange(labels.size)[part] for part in (train, test)]
        fold = _Fold(*(np.ascontiguousarray(place[part[kept[part]]], dtype=np.int32) for part in rows))
        missing = np.setdiff1d(np.arange(classes.size), number[fold.train])
        if missing.size:
            raise ValueError(
                f"cv: fold {len(folds)} trains without a sample of class {classes[missing[0]]}, of which there are "
                f"{np.count_nonzero(number == missing[0])}. Every fold needs all classes: lower cv, leave the class "
                "out, or pass splits of your own."
            )
        if fold.test.size == 0:
            raise ValueError(f"cv: fold {len(folds)} holds out no sample.")
        folds.append(fold)
    if not folds:
        raise ValueError("cv: there are no folds.")
    return folds


def _names_of_tasks(choices: list[Any], folds: list[_Fold], names: list[str], Cs: Array) -> list[str]:
    return [
        f"{kernel if isinstance(kernel, str) else kernel.name}, fold {fold}, {name}, C={C:.3g}"
        for kernel in choices
        for fold in range(len(folds))
        for name in names
        for C in Cs
    ]


def _highest(scores: Array) -> tuple[float, int]:
    """The highest mean over the folds and minus the number of the first C that has it: larger is better."""
    means = np.round(scores.mean(axis=1), 12)  # equal scores stay equal whatever the order of their sum
    return float(np.nanmax(means)), -int(np.nanargmax(means))
