"""The choice of C by cross-validation, shared by the estimators that make one.

The rows are made ready for the solver once. A fold is a list of them, and its problems run along the path of increasing
C (paths.py). The path ends early when the scores have risen and then stayed below the best for three C in a row: the
largest C are the most expensive. A single fall says little, especially at the small end, where all scores are low.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..array_types import Array, Floats, Labels
from ..memory import check_memory
from ..sklearn_compat import StrOptions
from ..solvers import DualCD
from ..solvers.problem import Outcome
from ..threads import run_tasks
from .held_out import HeldOutClassifier, HeldOutRegressor
from .paths import Fold, Path, Rows
from .probabilities import FromScores
from .progress import FitProgress, ProblemProgress, logger
from .starts import Start
from .training_data import AnyTrainingData

# Ends of the grid of an integer `Cs`. With gamma="scale", MNIST and USPS are best near 10. Parts of covtype are best at
# the upper end; ten times as far they gained 0.1 points on one split, and the last fit took ten times as long.
_LOWEST_C, _HIGHEST_C = 1e-2, 1e2
# Folds are solved to a gap this many times looser, up to the loosest: enough to rank the C.
_LOOSER, _LOOSEST = 3.0, 0.03
# A large C is solved to a still looser gap first (paths.py), and to the one above only if its scores are not below the
# best by this many standard errors.
_FAR = 4.0
# So many C in a row must score below the best before larger ones are left out.
_FALLS = 3


# The name of a scorer of scikit-learn, or a function (model, X, y) → score; None: accuracy or R².
Scorer: TypeAlias = str | Callable[..., float] | None


class ScorerName(StrOptions):
    """A parameter that names a scorer of scikit-learn. The metrics are imported only when it is checked."""

    def __init__(self) -> None:
        super().__init__(set())

    def is_satisfied_by(self, val: object) -> bool:
        """Whether `val` is such a name."""
        return isinstance(val, str) and val in self._names()

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, self._names()))}}}"

    def _names(self) -> list[str]:
        from sklearn.metrics import get_scorer_names

        return get_scorer_names()


def follow(path: Path, scoring: Scoring, solver: DualCD, n_threads: int, progress: FitProgress, first: int) -> Array:
    """Run every fold and problem along the path; returns the scores, (n_Cs, n_folds), NaN where C was not tried.

    `first` is the number of the first problem in `progress`.
    """
    interrupted = threading.Event()
    n_tasks = len(path.folds) * path.n_problems
    _check_memory(path)
    tol = min(_LOOSER * solver.tol, max(solver.tol, _LOOSEST))
    solver = replace(solver, tol=tol, n_threads=max(1, n_threads // n_tasks))
    starts: list[Start | None] = [None] * n_tasks
    scores = np.full((path.Cs.size, len(path.folds)), np.nan)
    by_evidence = path.Cs.size - 1 if np.isnan(path.Cs[-1]) else path.Cs.size
    fallen = is_far = False
    for c in range(path.Cs.size):
        if fallen and c != by_evidence:
            continue
        values = [np.empty((fold.test.size, path.data.n_problems), dtype=np.float32) for fold in path.folds]
        watches = [progress.problem(first + task * path.Cs.size + c) for task in range(n_tasks)]
        outcomes: list[Outcome | None] = [None] * n_tasks

        def solve(
            task: int,
            tol: float,
            c: int = c,
            values: list[Floats] = values,
            watches: list[ProblemProgress] = watches,
            outcomes: list[Outcome | None] = outcomes,
        ) -> None:
            fold, number = divmod(task, path.n_problems)
            at_seed = replace(solver, seed=solver.seed + task, tol=tol)
            result, starts[task] = path.solve(fold, number, c, at_seed, starts[task], watches[task], interrupted)
            values[fold][:, path.scores_of(number)] = path.values(fold, result)
            outcomes[task] = result.outcome

        # With one fold no score is known to be far below; a caller's function expects every C once.
        looser = 1.0 if len(path.folds) == 1 or callable(scoring.scoring) else path.looser(c)
        # After a C whose scores are far below, those of a larger one are likely to be, too.
        factors = [looser * looser] if is_far else []
        for tol in [factor * solver.tol for factor in (*factors, looser, 1.0)] if looser > 1.0 else [solver.tol]:
            run_tasks(partial(solve, tol=tol), n_tasks, n_threads, interrupted)
            scores[c] = [
                scoring(fold.test, at_C, path.probabilities) for fold, at_C in zip(path.folds, values, strict=True)
            ]
            # Scores that are far below the best need not be exact.
            is_far = is_below(scores[c], _best(scores[: c + 1]), _FAR)
            if is_far:
                break
        for watch, outcome in zip(watches, outcomes, strict=True):
            if outcome is not None:
                watch.end(outcome)
        fallen = fallen or (c < by_evidence and _has_fallen(scores[: c + 1]))
    if progress.verbose:
        _log_skipped(path.Cs[:by_evidence], scores[:by_evidence])
    return scores


def _log_skipped(Cs: Array, scores: Array) -> None:
    n_tried = int(np.count_nonzero(~np.isnan(scores[:, 0])))
    if n_tried < Cs.size:
        logger.info(
            "not tried: C = %s; the last %d scores lie below that of C = %.4g",
            ", ".join(f"{C:.4g}" for C in Cs[n_tried:]),
            _FALLS,
            Cs[int(np.nanargmax(scores.mean(axis=1)))],
        )


def _check_memory(path: Path) -> None:
    """Refuse what memory does not hold: a score per row and problem, and per fold as well a start for the next C."""
    n_rows, n_problems, n_folds = path.data.weights.size, path.data.n_problems, len(path.folds)
    problems = "classes" if path.data.is_classification else "outputs"
    check_memory(
        f"Cross-validation of {n_problems:,} {problems} × {n_rows:,} rows on {n_folds} folds",
        n_rows * n_problems * (4.0 + 12.0 * n_folds),
        f"Lower the number of folds, or of {problems}.",
    )


@dataclass(frozen=True)
class Scoring:
    """Score of held-out rows by their values f(x), (n_test, n_problems)."""

    scoring: Scorer
    data: AnyTrainingData

    def __call__(self, rows: Rows, values: Floats, probabilities: FromScores | None = None) -> float:
        """The score of these rows, of values f(x), which may become probabilities."""
        model = self.data.held_out(values)
        if probabilities is not None and isinstance(model, HeldOutClassifier):
            model = model.with_probabilities(probabilities)
        weight = None if self.data.weight is None else self.data.weight[rows]
        if self.scoring is None:
            score = float(model.score(values, self.data.y[rows], weight))
        else:
            score = self._by_scorer(model, rows, weight)
        if not np.isfinite(score):
            raise ValueError("scoring: a score of held-out rows is not a finite number, so no C can be chosen by it.")
        return score

    def _by_scorer(self, model: HeldOutClassifier | HeldOutRegressor, rows: Rows, weight: Array | None) -> float:
        from sklearn.metrics import get_scorer

        scorer = self.scoring if callable(self.scoring) else get_scorer(self.scoring)
        options = {"sample_weight": weight} if scorer is not self.scoring and weight is not None else {}
        try:
            return float(scorer(model, self.data.X[rows], self.data.y[rows], **options))
        except AttributeError as error:
            if "predict_proba" not in str(error) or hasattr(model, "predict_proba"):
                raise
            raise ValueError(
                f"scoring={self.scoring!r:.80} needs probabilities, which scores of this loss are not. Pass loss='log'."
            ) from error


def _has_fallen(scores: Array) -> bool:
    """Whether the scores along the path have risen, from the first, and stayed below the best at the end."""
    best = _best(scores)
    return len(scores) > _FALLS and all(is_below(row, best) for row in (scores[0], *scores[-_FALLS:]))


def _best(scores: Array) -> Array:
    return np.asarray(scores[scores.mean(axis=1).argmax()])


def is_below(scores: Array, best: Array, errors: float = 2.0) -> bool:
    """Whether they lie below, fold by fold, by more than chance: twice the standard error of the difference."""
    difference = best - scores
    if difference.size < 2:
        return False
    error = difference.std(ddof=1) / np.sqrt(difference.size)
    return bool(difference.mean() > errors * error)


def grid_of(Cs: int | ArrayLike) -> Array:
    """The C of an integer, or those given, checked."""
    if isinstance(Cs, Integral):
        return np.geomspace(_LOWEST_C, _HIGHEST_C, int(Cs)) if int(Cs) > 1 else np.ones(1)
    return increasing(Cs, "Cs", "an integer or a list")


def increasing(values: ArrayLike, name: str, allowed: str = "a list") -> Array:
    """Positive numbers in increasing order, checked."""
    grid = np.asarray(values, dtype=np.float64)
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(f"{name}: {allowed} of at least one number; got an array of shape {grid.shape}.")
    if not (np.isfinite(grid).all() and grid.min() > 0.0):
        raise ValueError(f"{name}: every {name.removesuffix('s')} must be positive and finite; got {grid.tolist()}.")
    if not (np.diff(grid) > 0.0).all():
        raise ValueError(f"{name}: values must increase, each once; got {grid.tolist()}. Pass np.unique({name}).")
    return grid


def folds_of(cv: object, y: Labels, sample_weight: ArrayLike | None, data: AnyTrainingData) -> list[Fold]:
    """The folds, as rows of the data that has rows of weight zero left out; the split is of the data as given."""
    from sklearn.model_selection import check_cv

    kept = np.ones(len(y), dtype=bool)
    if data.weights.size < len(y):
        kept = np.asarray(sample_weight, dtype=np.float64) > 0.0
    place = np.cumsum(kept) - 1
    folds: list[Fold] = []
    for train, test in check_cv(cv, y, classifier=data.is_classification).split(np.zeros((len(y), 1)), y):
        rows = [np.arange(len(y))[part] for part in (train, test)]
        fold = Fold(*(np.ascontiguousarray(place[part[kept[part]]], dtype=np.int32) for part in rows))
        data.check_fold(len(folds), fold.train)
        if fold.test.size == 0:
            raise ValueError(f"cv: fold {len(folds)} holds out no sample.")
        folds.append(fold)
    if not folds:
        raise ValueError("cv: there are no folds.")
    return folds
