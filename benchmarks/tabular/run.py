"""Run the contestants on a table: interleaved, fast ones three times, the results of peers from the cache."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from kernline.datasets import Dataset

from ..measure import Run, interleave
from .cache import Cache, fingerprint
from .contestants import Contestant, contestants_for
from .data import Table, limited
from .measures import Result, evaluate, processor_seconds

# A fit that takes longer than this is timed once.
_SECONDS_FOR_MORE_ROUNDS = 2.0
_MORE_ROUNDS = 2
# How the reason begins if the contestant does not exist here, or cannot do this table.
_NOT_AVAILABLE = "not available"
_FAILED = "failed"


@dataclass(frozen=True)
class Options:
    """What to run: these contestants (the others only appear if cached), and the peers among them again or not."""

    names: frozenset[str]
    threads: int
    cache: Cache
    again: bool = False
    most_rows: int | None = 20_000
    quick: bool = False
    former: dict[tuple[str, str], Result] = field(default_factory=dict)  # of an earlier page, by table and name

    def wants(self, name: str, contestant: Contestant) -> bool:
        """Whether to run this contestant if it is not in the cache."""
        return name in self.names and not (self.quick and contestant.slow)


@dataclass(frozen=True)
class Results:
    """All results on one table, by the name of the contestant; `n_rows` counts all rows of the set."""

    table: Table
    n_rows: int
    n_train: int
    n_test: int
    by_name: dict[str, Result]

    def get(self, name: str) -> Result | None:
        """The result of a contestant that did not fail, or None."""
        found = self.by_name.get(name)
        return None if found is None or found.failure else found

    def failed(self, name: str) -> bool:
        """Whether the contestant is available, and failed on this table."""
        found = self.by_name.get(name)
        return found is not None and found.failure.startswith(_FAILED)


class _Failure:
    """Stands for the model of a contestant that could not be fitted."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def run_table(table: Table, options: Options) -> Results:
    """Run all splits, and return the means."""
    found: dict[str, list[Result]] = {}
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for split in range(table.n_splits):
            whole = table.load(split)
            data = limited(whole, options.most_rows, regression=table.regression, seed=split)
            for name, result in _run_split(table, split, data, options):
                found.setdefault(name, []).append(result)
    complete = {name: Result.mean(results) for name, results in found.items() if len(results) == table.n_splits}
    n_test = len(whole.y_test)
    return Results(table, len(whole.y_train) + n_test, len(data.y_train), n_test, complete)


def _run_split(table: Table, split: int, data: Dataset, options: Options) -> Iterator[tuple[str, Result]]:
    rows = fingerprint(data)
    missing: dict[str, Contestant] = {}
    keys: dict[str, str] = {}
    for name, contestant in contestants_for(regression=table.regression).items():
        keys[name] = options.cache.key(table.name, split, rows, name, contestant, options.threads)
        wanted = options.wants(name, contestant)
        cached = None if contestant.ours or (wanted and options.again) else options.cache.get(keys[name])
        cached = cached or options.former.get((table.name, name))
        if cached is not None:
            yield name, cached
        elif wanted:
            missing[name] = contestant
    for name, run in _fit(table, data, missing, options.threads).items():
        result = _result(run, data, table.regression)
        _report(table, split, name, result)
        if not missing[name].ours and not result.failure.startswith(_NOT_AVAILABLE):
            options.cache.put(keys[name], result)
        yield name, result


def _fit(table: Table, data: Dataset, missing: dict[str, Contestant], threads: int) -> dict[str, Run]:
    is_frame = hasattr(data.X_train, "columns")
    models = {name: _made(contestant, threads, is_frame) for name, contestant in missing.items()}
    absent = {name: Run(model=model) for name, model in models.items() if isinstance(model, _Failure)}
    work = {name: partial(_fit_one, model, data) for name, model in models.items() if name not in absent}
    runs = interleave(work, 1, processor_seconds)
    if table.n_splits == 1:  # several splits are several runs already
        for name, run in interleave(_worth_repeating(work, runs), _MORE_ROUNDS, processor_seconds).items():
            runs[name] = min(runs[name], run, key=lambda found: found.seconds)
    return runs | absent


def _worth_repeating(work: dict[str, Callable[[], Any]], runs: dict[str, Run]) -> dict[str, Callable[[], Any]]:
    fast = [name for name, run in runs.items() if run.seconds < _SECONDS_FOR_MORE_ROUNDS]
    return {name: work[name] for name in fast if not isinstance(runs[name].model, _Failure)}


def fit_and_evaluate(contestant: Contestant, data: Dataset, threads: int) -> Result:
    """One fit of one contestant to a DataFrame."""
    with threadpool_limits(threads):
        run = interleave({"": partial(_fit_one, _made(contestant, threads, True), data)}, 1)[""]
        return _result(run, data, False)


def _made(contestant: Contestant, threads: int, is_frame: bool) -> Any:
    try:
        return contestant.make(threads, is_frame)
    except (TypeError, ImportError) as error:
        return _Failure(f"{_NOT_AVAILABLE}: {error}")


def _fit_one(model: Any, data: Dataset) -> Any:
    if isinstance(model, _Failure):
        return model
    return _or_failure(lambda: model.fit(data.X_train, data.y_train))


def _or_failure(work: Callable[[], Any]) -> Any:
    """The value of the work, or what went wrong: one contestant that fails must not end the run of the others."""
    try:
        return work()
    except TypeError as error:  # scikit-learn's error for a value that a parameter cannot have is one, too
        return _Failure(f"{_NOT_AVAILABLE}: {_first_line(error)}")
    except Exception as error:
        return _Failure(f"{_FAILED}: {type(error).__name__}: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0]


def _result(run: Run, data: Dataset, regression: bool) -> Result:
    if isinstance(run.model, _Failure):
        return Result(failure=run.model.reason)
    found = _or_failure(lambda: evaluate(run.model, data, run.seconds, regression=regression))
    return Result(failure=found.reason) if isinstance(found, _Failure) else found


def _report(table: Table, split: int, name: str, result: Result) -> None:
    if split and result.failure.startswith(_NOT_AVAILABLE):
        return
    shown = f"{100 * result.score:.2f} %" if not table.regression else f"RMSE {result.rmse:.4g}"
    text = result.failure or f"{shown}, fit {result.fit_seconds:.3g} s, predict {result.predict_seconds:.3g} s"
    print(f"{table.name}, split {split}, {name}: {text}", flush=True)
