"""Codes of all partitions on each worker, and a task per problem: for data whose codes one process can hold.

A worker that is given a problem fetches the codes once, and solves it as the plain estimator does, with the seed of the
problem. So the result is that of the plain estimator on these codes, bit for bit, whatever the number of workers. What
is one problem, such as the log loss by evidence, pairs, or Crammer and Singer's, is one task. All tasks have recipes:
Dask computes again what a dead worker had.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from distributed import Future
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..array_types import Array
from ..caching import cached_property
from ..class_signs import costs
from ..encoding import EncodedData
from ..encoding.summaries import ColumnSummary
from ..estimators.additive import AdditiveSVC
from ..estimators.additive_svr import AdditiveSVR
from ..estimators.choices import JOINT_LOSSES, Choice
from ..estimators.importances import sampled_rows
from ..estimators.progress import FitProgress
from ..estimators.solving import solve_one
from ..estimators.training_data import AnyTrainingData
from ..mapped.dataset import Dataset
from ..mapped.file import Description
from ..solvers import DualCD, SolveResult
from ..threads import run_tasks
from ..training import AdditiveRows
from ..validation import level_of_caller
from .session import Session
from .tasks import Codes, joined_codes

# The most bytes of codes that every worker is sent. It does not depend on the workers: results would, too.
MOST_BYTES = 1 << 30

Local = AdditiveSVC | AdditiveSVR


class Stated(NamedTuple):
    """Problems, ready to be solved, and the estimator that they are of."""

    model: Any
    data: AnyTrainingData
    choice: Choice
    rows: AdditiveRows
    cost: Array
    solver: DualCD


@dataclass(frozen=True)
class Gathered:
    """All rows, and an estimator to be fitted to them."""

    dataset: Dataset
    model: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return Gathered, (self.dataset, self.model)  # not what is derived from them

    @cached_property
    def stated(self) -> Stated:
        """The problems: computed once on each worker."""
        model = clone(self.model)
        data = model._training_data(self.dataset, None, None)
        choice = model._choice(data, model.C)
        rows = model._rows(data, choice, model._seed)
        cost = costs(1.0 if choice.C is None else choice.C, data.weights)
        return Stated(model, data, choice, rows, cost, model._solver(model._seed))


def gathered(codes: list[Codes], described: Description, model: Local) -> Gathered:
    """All partitions as one Dataset in memory."""
    whole = joined_codes(codes) if len(codes) > 1 else codes[0]
    y: Any = whole.y
    if described.classes is not None:
        y = np.searchsorted(described.classes, y).astype(np.min_scalar_type(described.classes.size))
    rows: EncodedData = replace(whole.data, encoder=described.encoder)
    return Gathered(Dataset._of_codes(described, rows, y, whole.weight), model)


def solved(rows: Gathered, number: int) -> SolveResult:
    """The solution of one problem."""
    _, data, _, encoded, cost, solver = rows.stated
    stop = threading.Event()

    def solve(_: int) -> SolveResult:
        return solve_one(encoded, data, cost, solver, number, None, stop)

    return run_tasks(solve, 1, 1, stop)[0]


def outlined(rows: Gathered) -> Stated:
    """What the driver needs to make a model of solutions: a sample of the rows, and y without its rows."""
    stated = rows.stated
    encoded, n_rows = stated.rows, stated.rows.data.n_rows
    none = stated.cost[:0]
    limits, booleans = rows.dataset.limits
    sample = replace(
        encoded,
        data=encoded.data[sampled_rows(n_rows)],
        norms=none,
        mean=None,
        limits=limits,
        booleans=booleans,
        sample_of=n_rows,
    )
    return stated._replace(data=stated.data.without_rows(), rows=sample, cost=none)


def finished(outline: Stated, solutions: list[SolveResult]) -> Local:
    """The estimator with the curves of these solutions."""
    model, data, choice, rows = outline[:4]
    model._keep_choice(choice)
    model._keep(data.in_units(solutions), rows, may_wait=True)
    model._keep_targets(data)
    if data.is_classification:
        model.n_samples_seen_ = rows.n_all
    found: Local = model
    return found


def fitted(rows: Gathered) -> tuple[Local, list[str]]:
    """The estimator, fitted to one problem, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model: Local = clone(rows.model).fit(rows.dataset)
    return model, [str(one.message) for one in caught if one.category is ConvergenceWarning]


def is_gathered(known: ColumnSummary, n_terms: int) -> bool:
    """Whether the codes of rows like these are few enough."""
    n_bytes = 4 * int(known.n_nonzero.sum()) if known.sparse else known.n_rows * known.n_features
    return n_bytes + 4 * known.n_rows * n_terms <= MOST_BYTES


def problems_apart(model: Any, choice: Choice, names: list[str], *, is_joint: bool) -> bool:
    """Whether there are several problems, each of which is solved by itself."""
    is_one = is_joint and choice.loss in JOINT_LOSSES
    return len(names) > 1 and not is_one and getattr(model, "multi_class", "") != "crammer-singer"


def fit_gathered(
    model: Any, session: Session, codes: Sequence[Future], described: Description, local: Local, names: list[str]
) -> Local:
    """The fitted estimator, from the codes of all partitions; `names` are those of the problems, if each is solved."""
    rows = session.submit(gathered, list(codes), session.given(described), local)
    session.drop(codes)
    progress = FitProgress(model, names, model.max_iter, int(model.verbose))
    if len(names) == 1:
        return _fit_one(session, rows, progress, described)
    return _fit_each(session, rows, progress, model.tol)


def _fit_each(session: Session, rows: Future, progress: FitProgress, tol: float) -> Local:
    """A task per problem. Curves come here while others are found, and the model is made here."""
    outline = session.submit(outlined, rows, keep=False)
    tasks = [session.submit(solved, rows, number, keep=False) for number in range(len(progress.names))]
    solutions: list[SolveResult] = []
    for number in range(len(tasks)):
        solutions.append(session.result(tasks[number]))
        progress.problem(number).end(solutions[-1])
    progress.end(tol)
    return finished(session.result(outline), solutions)


def _fit_one(session: Session, rows: Future, progress: FitProgress, described: Description) -> Local:
    """One task."""
    watch = progress.problem(0)
    model, messages = session.result(session.submit(fitted, rows, keep=False))
    facts = replace(model.shapes_.training, limits=described.limits, booleans=described.booleans)
    model.shapes_ = model.shapes_.with_history(facts)
    relative = float((model.dual_gap_ / model.objective_.clip(1e-300)).max())
    watch.close(f"{model.n_iter_.max()} epochs, relative gap {relative:.2g}")
    progress.end(model.tol)
    for message in messages:
        warnings.warn(message, ConvergenceWarning, stacklevel=level_of_caller())
    found: Local = model
    return found
