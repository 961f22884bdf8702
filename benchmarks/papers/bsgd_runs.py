"""The measurements behind the page on budgeted SGD. Each returns numbers that JSON can hold."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from kernline import BudgetedSVC, _core
from kernline.solvers import BudgetedModel, BudgetedSGD
from kernline.solvers.budgeted_sgd import as_model, values_of

from ..measure import interleave
from .bsgd_data import SEARCHES, Problem
from .bsgd_step import Arithmetic
from .store import Results

Numbers = dict[str, Any]


def settings_of(problem: Problem, budget: int, **options: Any) -> BudgetedSGD:
    """Without an intercept, as in the paper's tables, and with all passes."""
    return BudgetedSGD(
        gamma=problem.gamma, C=problem.C, budget=budget, passes=problem.passes, intercept=False, tol=0.0, **options
    )


class Scored:
    """A problem as the core takes it, and the accuracy of a model on its test rows."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.train = values_of(problem.X_train, problem.gamma)
        self.test = values_of(problem.X_test, problem.gamma)

    def accuracy(self, model: BudgetedModel) -> float:
        """In %."""
        scores: NDArray[np.float64] = np.empty(self.problem.y_test.size)
        coefficients = model.coefficients.astype(np.float32)
        _core.budgeted_decision(self.test, model.vectors, coefficients, self.problem.gamma, scores, 1)
        return 100.0 * float(np.mean((scores + model.intercept > 0.0) == (self.problem.y_test > 0.0)))

    def fit(self, settings: BudgetedSGD) -> Numbers:
        """Accuracy, seconds of processor time and merging frequency in % of one run."""
        start = time.process_time()
        model, history = settings.fit(self.train, self.problem.y_train)
        seconds = time.process_time() - start
        merged = sum(report.n_maintained for report in history) / (len(history) * self.problem.y_train.size)
        return {"accuracy": self.accuracy(model), "seconds": seconds, "frequency": 100.0 * merged}


def as_published(problem: Problem, budget: int, run: int) -> Numbers:
    """Every search once, one after the other, so that a noisy neighbour disturbs all of them equally."""
    scored = Scored(problem)
    settings = settings_of(problem, budget, seed=run, published=True, average=False)
    return {search: scored.fit(replace(settings, search=search)) for search in SEARCHES}


def ours(problem: Problem, budget: int, run: int) -> Numbers:
    """What BudgetedSVC does, every search once."""
    scored = Scored(problem)
    settings = settings_of(problem, budget, seed=run)
    return {search: scored.fit(replace(settings, search=search)) for search in SEARCHES}


def golden_sections(problem: Problem, budget: int, run: int) -> Numbers:
    """gss with and without the refined h of the merged pair: the average, and the last iterate of Algorithm 1."""
    scored = Scored(problem)
    settings = settings_of(problem, budget, seed=run, search="gss")
    published = replace(settings, published=True, average=False)
    return {
        "average, to 0.01": scored.fit(replace(settings, refine=False)),
        "average, to 0.001": scored.fit(settings),
        "last, to 0.01": scored.fit(replace(published, refine=False)),
        "last, to 0.001": scored.fit(published),
    }


def whatever_the_label(problem: Problem) -> Numbers:
    """gss as published, with partners of either label."""
    settings = settings_of(problem, 100, search="gss", published=True, average=False, any_label=True)
    return Scored(problem).fit(settings)


def merging_frequency(problem: Problem, budget: int) -> float:
    """In % of the steps, of lookup-wd as published."""
    settings = settings_of(problem, budget, published=True, average=False)
    return float(Scored(problem).fit(settings)["frequency"])


def decisions(problem: Problem) -> Numbers:
    """Table 3's comparison of gss and lookup-wd with gss-precise at every merge of all passes."""
    train = values_of(problem.X_train, problem.gamma)
    core = settings_of(problem, 100, published=True).core(train, problem.y_train)
    core.compare_searches()
    for _ in range(problem.passes):
        while not core.run(1.0):
            pass
    n, equal, least, gss, lookup, n_factors, gss_factors, lookup_factors = core.compared
    return {
        "equal": 100.0 * equal / n,
        "gss": gss / least,
        "lookup": lookup / least,
        "gss, mean": gss_factors / n_factors,
        "lookup, mean": lookup_factors / n_factors,
        "counted": 100.0 * n_factors / n,
    }


def times(problem: Problem, budget: int, rounds: int = 1, passes: int | None = None, **options: Any) -> list[float]:
    """Seconds of a fit, of its budget maintenance, and of the search within; one maintenance in 16 is timed."""
    train = values_of(problem.X_train, problem.gamma)
    best = [np.inf, 0.0, 0.0]
    for _ in range(rounds):
        core = settings_of(problem, budget, **options).core(train, problem.y_train)
        core.sample_times(16)
        if not options.get("published"):
            core.go_on_averaging()
        start = time.process_time()
        for _ in range(min(passes or problem.passes, problem.passes)):
            while not core.run(1.0):
                pass
        best = min(best, [time.process_time() - start, core.maintenance_seconds, core.search_seconds])
    return best


def several_at_once(problem: Problem, budget: int, at_once: int, seeds: int, rounds: int) -> Numbers:
    """Multi-merge: accuracy of some runs, and the share of maintenance."""
    scored = Scored(problem)
    settings = settings_of(problem, budget, merged_at_once=at_once)
    runs = [scored.fit(replace(settings, seed=seed)) for seed in range(seeds)]
    total, maintenance, _ = times(problem, budget, rounds, passes=5, merged_at_once=at_once)
    accuracies = [run["accuracy"] for run in runs]
    return {"accuracies": accuracies, "frequency": runs[0]["frequency"], "total": total, "maintenance": maintenance}


def last_pass(problem: Problem, budget: int, n_points: int) -> Numbers:
    """Accuracy of the iterates and of the average along the last pass, which is continued in parts."""
    scored = Scored(problem)
    settings = settings_of(problem, budget)
    model, _ = replace(settings, passes=problem.passes - 1).fit(scored.train, problem.y_train)
    order = np.random.default_rng(0).permutation(problem.y_train.size)
    shares, last, average = [], [], []
    for k, part in enumerate(np.array_split(order, n_points)):
        core = settings.core(values_of(problem.X_train[part], problem.gamma), problem.y_train[part])
        core.resume(
            vectors=model.vectors,
            counts=model.counts,
            pasts=model.pasts,
            bias=model.bias,
            bias_past=model.bias_past,
            weight_sum=model.weight_sum,
            average_norm=model.average_norm,
            n_seen=model.n_seen,
            n_steps=model.n_steps,
        )
        core.go_on_averaging()
        while not core.run(1.0):
            pass
        model = as_model(core)
        shares.append((k + 1) / n_points)
        last.append(scored.accuracy(model.without_average()))
        average.append(scored.accuracy(model))
    return {"share": shares, "last": last, "average": average}


def exact(problem: Problem, rows: int | None = None) -> Numbers:
    """SVC's accuracy and seconds; on so many rows, drawn at random, if their number is given, and tested on as many."""
    rng = np.random.default_rng(0)
    train, test = (rng.permutation(y.size)[:rows] for y in (problem.y_train, problem.y_test))
    start = time.process_time()
    model = SVC(C=problem.C, gamma=problem.gamma, cache_size=500).fit(problem.X_train[train], problem.y_train[train])
    seconds = time.process_time() - start
    return {"accuracy": 100.0 * model.score(problem.X_test[test], problem.y_test[test]), "seconds": seconds}


def step(problem: Problem, budget: int, rounds: int) -> list[float]:
    """Microseconds of a step, including averaging and maintenance, and of its minimum arithmetic."""
    X = problem.X_train[:20_000]
    dense = np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float32)
    train = values_of(problem.X_train, problem.gamma)
    arithmetic = Arithmetic(dense, np.resize(dense, (budget, dense.shape[1])))
    settings = replace(settings_of(problem, budget), passes=1)
    best = interleave(
        {"step": lambda: settings.fit(train, problem.y_train), "arithmetic": arithmetic.run},
        rounds,
        clock=time.process_time,
    )
    return [1e6 * best["step"].seconds / problem.y_train.size, 1e6 * best["arithmetic"].seconds / len(dense)]


def stream(problem: Problem, n_chunks: int, run: int) -> Numbers:
    """Accuracy of `partial_fit` in chunks and of `fit`, and bytes of the model after a tenth of the chunks and all."""
    settings = {"gamma": problem.gamma, "C": problem.C, "budget": 100, "random_state": run}
    model, sizes = BudgetedSVC(**settings), []
    order = np.random.default_rng(run).permutation(problem.y_train.size)
    for k, part in enumerate(np.array_split(order, n_chunks), start=1):
        model.partial_fit(problem.X_train[part], problem.y_train[part], classes=[-1.0, 1.0])
        if k in (n_chunks // 10, n_chunks):
            sizes.append(len(pickle.dumps(model)))
    fits = [
        BudgetedSVC(**settings, passes=passes).fit(problem.X_train, problem.y_train) for passes in (1, problem.passes)
    ]
    scores = [100 * fitted.score(problem.X_test, problem.y_test) for fitted in (model, *fits)]
    return {"scores": scores, "bytes": sizes}


class Runs:
    """All measurements of the page, taken from the store where they are there."""

    def __init__(self, results: Results, problems: dict[str, Callable[[int], Problem]], *, quick: bool) -> None:
        self.results = results
        self.make = problems
        self.seeds = range(2 if quick else 5)
        self.rounds = 1 if quick else 3
        self.chunks = 20 if quick else 1000
        self.points = 10 if quick else 60

    def problem(self, name: str, seed: int = 0) -> Problem:
        """The split of a seed."""
        return self.make[name](seed)

    def once(self, measure: Callable[..., Any], name: str, *arguments: Any, seed: int = 0, **options: Any) -> Any:
        """One measurement of a data set; its name in the store has all arguments."""
        shown = [*map(str, arguments), *(f"{key}={value}" for key, value in options.items()), f"split {seed}"]
        key = f"{measure.__name__} {name} {' '.join(shown)}"
        return self.results.get(key, lambda: measure(self.problem(name, seed), *arguments, **options))

    def repeated(self, measure: Callable[..., Any], name: str, *arguments: Any, most: int = 5) -> list[Any]:
        """The same for every seed, which is that of the split and of the run, `most` at most."""
        return [self.once(measure, name, *arguments, seed=k, run=k) for k in self.seeds[:most]]
