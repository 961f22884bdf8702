"""``cv``: choose C, gamma or the kernel by cross-validation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import estimators
from . import model_options as mod
from . import options as opt
from .data import Reading
from .errors import UsageError
from .model_output import model_file, save_model
from .output import Output
from .watch import watched

if TYPE_CHECKING:
    from .searching import Search


def cv(
    data: opt.DataFile,
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Where to save the best, refitted to all rows."),
    ] = None,
    folds: Annotated[int, typer.Option("-v", "--folds", min=2, help="Number of folds.")] = 5,
    cost: Annotated[
        list[float] | None,
        typer.Option("-c", "--cost", help="A C to try. Repeatable; default: ten."),
    ] = None,
    kernel: Annotated[list[str] | None, mod.KernelOption] = None,
    estimator: mod.Estimator = None,
    gamma: mod.Gamma = None,
    solver: mod.Solver = None,
    loss: mod.Loss = None,
    scale: mod.Scale = None,
    tol: mod.Tol = None,
    bias: mod.Bias = None,
    class_weight: mod.Weights = None,
    param: mod.Parameters = None,
    scoring: Annotated[str | None, typer.Option("--scoring", help="A scorer of scikit-learn's.")] = None,
    seed: mod.Seed = 0,
    force: opt.Force = False,
    format: opt.Format = "auto",
    target: opt.Target = None,
    columns: opt.Columns = None,
    header: opt.Header = None,
    delimiter: opt.Delimiter = None,
    zero_based: opt.ZeroBased = None,
    skip_bad: opt.SkipBad = False,
    threads: opt.Threads = -1,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Choose C, and the kernel of several, by cross-validation.

    \b
    kernline cv data.svm
    kernline cv -v 5 -c 1 data.svm
    kernline cv data.svm best.kern -t chi2 -t intersection -c 0.1 -c 1 -c 10
    kernline cv data.svm best.kern -t rbf
    """
    out = Output(quiet=quiet, json=json)
    with out.working():
        path = model_file(out, data, model, force) if model is not None else None
        names = [estimators.kernel_name(name) for name in kernel or []]
        classes = {estimators.estimator_class(estimator, name) for name in names or [None]}
        if len(classes) > 1:
            raise UsageError(f"-t {' -t '.join(map(str, names))}: additive kernels, or one by landmarks, not both.")
        loss, solver = estimators.loss_and_solver(solver, loss)
        given = {"gamma": estimators.gamma_value(gamma), "loss": loss, "solver": solver, "scale": scale, "tol": tol}
        given |= {"n_jobs": threads, "random_state": seed} | estimators.intercept(bias)
        searched = searcher(classes.pop(), names, cost, folds, scoring, given, param or [])
        reading = Reading(out, format, target, columns, zero_based, skip_bad, threads, header, delimiter)
        search(out, searched, reading, data, class_weight or [], path)


def search(
    out: Output,
    searched: Search,
    reading: Reading,
    data: str,
    weights: list[str],
    path: Path | None,
    *,
    best_C: bool = False,
) -> None:
    """Search, print what was found, and save the best model where there is a `path`; `best_C` adds LIBLINEAR's line."""
    begun = time.perf_counter()
    with out.status(f"Reading {data}"):
        content = reading.labelled(data)
    if weights:
        searched.model.set_params(class_weight=estimators.class_weights(weights, content.y))
    with watched(out, searched.model, keep=False):
        found = searched.run(content)
    record, lines = found.record, found.lines
    if best_C:
        percent = 100.0 * float(found.best["score"])
        lines.append(f"Best C = {found.best['C']:g}  CV accuracy = {percent:g}%")
    if path is not None:
        save_model(searched.model, content, path)
        record["model"] = str(path)
        lines.append(f"{path}: refitted to all rows")
    out.result(record | {"seconds": time.perf_counter() - begun}, lines)


def searcher(
    cls: Any, names: list[Any], Cs: Any, folds: int, scoring: str | None, given: dict[str, Any], extra: list[str]
) -> Search:
    """The search of an estimator."""
    import kernline

    from .searching import Search

    Cs = sorted(set(Cs)) if Cs else None
    kernel = names if len(names) > 1 else names[0] if names else None
    if cls is kernline.AdditiveSVC:
        cls, given = kernline.AdditiveSVCCV, given | {"Cs": Cs, "cv": folds, "scoring": scoring}
    elif len(names) > 1:
        raise UsageError("cv takes one kernel by landmarks at a time.")
    return Search(estimators.build(cls, given | {"kernel": kernel}, extra), Cs, folds, scoring)
