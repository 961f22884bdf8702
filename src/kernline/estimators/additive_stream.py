"""partial_fit of AdditiveSVC: the curves follow a stream of batches (solvers/online.py)."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import validation
from ..array_types import Array, Floats, Matrix
from ..class_signs import costs
from ..encoding import ColumnRange
from ..joint_losses import Shifted
from ..pair_functions import PairFunction
from ..randomness import seed_of
from ..shapes import ShapeFunctions
from ..shapes.pair_statistics import places_of_rows
from ..solvers import SolveResult
from ..solvers.online import move, share_of_average
from ..threads import run_tasks, thread_count
from ..training import AdditiveRows, Intercept, encode, with_ranges
from .choices import JOINT_LOSSES, Choice, knots_of
from .joint_fit import JointSettings, fit, solve_results
from .labelled import Labelled
from .progress import FitProgress

if TYPE_CHECKING:
    from .additive import AdditiveSVC


class LastStep(NamedTuple):
    """f after the last batch: W, (n_problems, n_columns, width), and the intercepts. The model averages such f."""

    weights: Floats
    intercepts: Array


def follow(model: AdditiveSVC, data: Labelled[Matrix], *, first: bool) -> None:
    """Move the model by a batch, and keep the average and the last step."""
    seed = seed_of(model.random_state)
    choice = _choice(model, data, first=first)
    rows = _rows(model, data, choice, seed, first=first)
    last, n_before = _start(model, rows, data.n_problems, first=first)
    pairs = () if first else model.shapes_.pairs
    together = model._may_be_smooth(data) and choice.loss in JOINT_LOSSES
    edits = () if first else model.shapes_.edits
    if not first:
        _check_same_way(model, data.n_problems, together=together)
        _check_same_tables(model, rows)
    step = _Step(model, data, rows, costs(choice.C or 1.0, data.weights), last, pairs, seed + n_before)
    results = step.together() if together else step.one_by_one()
    moved = LastStep(
        np.stack([result.weights for result in results]), np.array([result.intercept for result in results])
    )
    share = share_of_average(n_before, data.weights.size)
    before = (model.shapes_.weights, model.intercept_) if not first else last
    averages = [
        replace(
            result,
            weights=(before[0][k] + share * (moved.weights[k] - before[0][k])).astype(np.float32),
            intercept=float(before[1][k] + share * (moved.intercepts[k] - before[1][k])),
        )
        for k, result in enumerate(results)
    ]
    former = None if first else model.shapes_.training
    places = places_of_rows(pairs, data.X) if former is None else ()
    model._keep(averages, rows, pairs, places, former)
    model.shapes_ = model.shapes_.with_history(model.shapes_.training, edits)
    if together:
        model._keep_as_one()
    model._last_step = moved
    model.n_samples_seen_ = n_before + data.weights.size


class _Step(NamedTuple):
    """A batch, and the model before it, of which tables of pairs stay as they are."""

    model: AdditiveSVC
    data: Labelled[Matrix]
    rows: AdditiveRows
    cost: Array
    last: LastStep
    pairs: tuple[PairFunction, ...]
    seed: int

    def one_by_one(self) -> list[SolveResult]:
        """The solutions of one problem per class."""
        model, data, last = self.model, self.data, self.last
        progress = FitProgress(model, data.names, model.max_iter, int(model.verbose))
        settings, interrupted = model._solver(self.seed), threading.Event()

        def solve(index: int) -> SolveResult:
            watch, problem = progress.problem(index), data.problem(index, self.rows, self.cost)
            at_seed = replace(settings, seed=settings.seed + index)
            result = move(at_seed, problem, last.weights[index], float(last.intercepts[index]), watch, interrupted)
            watch.end(result)
            return replace(result, beta=np.empty(0))

        results = run_tasks(solve, data.n_problems, thread_count(model.n_jobs), interrupted)
        progress.end(model.tol)
        return results

    def together(self) -> list[SolveResult]:
        """The solution for all classes: what is added to f has the loss of the values of both."""
        model, data, last = self.model, self.data, self.last
        progress = FitProgress(model, [model._name_of_all(data)], model.max_iter, int(model.verbose))
        settings = JointSettings(
            tol=model.tol,
            max_iter=model.max_iter,
            seed=self.seed,
            n_threads=thread_count(model.n_jobs),
            by_evidence=False,
            prior_scale=1.0,
            has_intercept=model.fit_intercept,
            interactions=0,
        )
        before = ShapeFunctions(self.rows.encoder, self.rows.pair.read, *last, None, self.pairs)
        loss = Shifted(data.joint_loss(self.cost), before.decision(data.X, settings.n_threads))
        watch = progress.problem(0)
        results = solve_results(fit(self.rows, loss, settings, watch))
        watch.end(results[0])
        progress.end(model.tol)
        return [
            replace(result, weights=weights + result.weights, intercept=float(intercept + result.intercept))
            for result, weights, intercept in zip(results, *last, strict=True)
        ]


def _choice(model: AdditiveSVC, data: Labelled[Matrix], *, first: bool) -> Choice:
    """What the first batch, or a fit, made of "auto"."""
    if first:
        choice = model._choice_apart(data, model.C)
        model._keep_choice(choice)
        return choice
    # A model of a file of an earlier version has no such attributes, and no "auto".
    names = ("kernel", "scale", "loss", "C")
    kernel, scale, loss, C = (getattr(model, f"{name}_", getattr(model, name)) for name in names)
    return Choice(kernel, scale, loss, C, "as before", knots_of(model.shapes_.encoder))


def _check_same_way(model: AdditiveSVC, n_problems: int, *, together: bool) -> None:
    """Refuse to go on with scores of another kind: those of classes together compare them, others do not."""
    were_together = len(model.objective_) < n_problems
    if n_problems > 1 and together != were_together:
        raise ValueError(
            f"partial_fit cannot go on from a fit of all classes {'together' if were_together else 'one by one'} with "
            f"multi_class={model.multi_class!r}, loss={model.loss!r} and solver={model.solver!r}. Set these as they "
            "were, or call fit."
        )


def _check_same_tables(model: AdditiveSVC, rows: AdditiveRows) -> None:
    """Refuse to go on from curves that were edited, if their method has no weights for them."""
    if model.shapes_.weights.shape[2] != rows.pair.width:
        raise ValueError(
            f"partial_fit cannot go on from edited curves with approximation={model.approximation!r:.50}. Edit them "
            "after the last batch, or use approximation='hats'."
        )


def _rows(model: AdditiveSVC, data: Labelled[Matrix], choice: Choice, seed: int, *, first: bool) -> AdditiveRows:
    """The batch, encoded as the first one was. The intercept is penalised: no batch should set it alone."""
    settings = model._settings(data, choice, seed)
    scaling = settings.intercept.scaling
    settings = replace(settings, intercept=Intercept(settings.intercept.fit, 1.0 if scaling is None else scaling))
    names = validation.Names.of(model)
    if first:
        return encode(data.X, settings, data.weight, names)
    encoder = model.shapes_.encoder
    codes = encoder.transform(data.X, n_threads=settings.n_threads)
    rows = encode(codes, replace(settings, gamma=model.gamma_), data.weight, names)
    return with_ranges(rows, ColumnRange.of(data.X, settings.n_threads), data.X)


def _start(model: AdditiveSVC, rows: AdditiveRows, n_problems: int, *, first: bool) -> tuple[LastStep, int]:
    """f before the batch, and the number of rows it has seen."""
    if first:
        shape = (n_problems, rows.data.n_columns, rows.pair.width)
        return LastStep(np.zeros(shape, dtype=np.float32), np.zeros(n_problems)), 0
    # A model that `fit` has left, or a file, goes on from its curves.
    fitted = LastStep(model.shapes_.weights, model.intercept_)
    return getattr(model, "_last_step", fitted), int(getattr(model, "n_samples_seen_", 0))
