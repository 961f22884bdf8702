"""``cv``: choose C, gamma or the kernel by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    from .estimators import SVM
    from .searching import Search


def cv(
    data: opt.DataFile,
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Where to save the best model, refitted to all rows. Default: nowhere."),
    ] = None,
    folds: Annotated[int, typer.Option("-v", "--folds", metavar="N", min=2, help="Number of folds.")] = 5,
    cost: Annotated[
        list[float] | None,
        mod.cost_option("A value of C to try. Can be repeated. Default: auto, a range of values."),
    ] = None,
    kernel: Annotated[list[str] | None, mod.KernelOption] = None,
    *,
    options: mod.ModelOptions,
    scoring: Annotated[
        str | None,
        typer.Option("--scoring", metavar="SCORER", help="Name of a scikit-learn scorer. Default: accuracy, or R²."),
    ] = None,
    seed: mod.Seed = 0,
    force: opt.Force = False,
    reading: opt.SingleLabelled,
    out: Output,
) -> None:
    """Choose C and the kernel by cross-validation.

    \b
    kernline cv data.svm
    kernline cv -v 5 -c 1 data.svm
    kernline cv data.svm best.kern -t chi2 -t intersection -c 0.1 -c 1 -c 10
    kernline cv data.svm best.kern -t rbf
    kernline cv houses.csv best.kern --target price --task regression --scale rank
    """
    with out.working():
        path = model_file(out, data, model, force) if model is not None else None
        names = [estimators.kernel_name(name) for name in kernel or []]
        if len(names) > 1 and None in names:
            raise UsageError("-t auto chooses the kernel. Pass it alone, or name the kernels to compare.")
        if cost and None in cost:
            if len(cost) > 1:
                raise UsageError("-c auto tries a range of values. Pass it alone, or only numbers.")
            cost = None
        task = estimators.task_of(options)
        classes = {estimators.estimator_class(options.estimator, name, task) for name in names or [None]}
        if len(classes) > 1:
            raise UsageError(
                f"-t {' -t '.join(map(str, names))}: compare additive kernels, or give one landmark kernel, not both."
            )
        given = estimators.parameters(options, seed, reading.threads)
        searched = searcher(classes.pop(), names, cost, folds, scoring, given, options.param or [])
        search(out, searched, Reading(out, reading), data, options.class_weight or [], path)


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
    lines += searched.options_of_train(found)
    if best_C:
        score = float(found.best["score"])
        measure = f"R² = {score:.4f}" if searched.is_regression else f"accuracy = {100.0 * score:g}%"
        C = found.best["C"]
        lines.append(f"Best C = {C if isinstance(C, str) else f'{C:g}'}  CV {measure}")
    if path is not None:
        save_model(searched.model, content, path)
        record["model"] = str(path)
        lines.append(f"{path}: refitted to all rows")
    out.result(record | {"seconds": time.perf_counter() - begun}, lines)


def searcher(
    cls: type[SVM],
    names: Sequence[str | None],
    costs: list[float] | None,
    folds: int,
    scoring: str | None,
    given: dict[str, object],
    extra: list[str],
) -> Search:
    """The search of an estimator."""
    import kernline

    from .searching import Search

    Cs = sorted(set(costs)) if costs else None
    kernel = names if len(names) > 1 else names[0] if names else None
    if cls in (kernline.AdditiveSVC, kernline.AdditiveSVR):
        given = given | {"kernel": kernel, "Cs": Cs, "cv": folds, "scoring": scoring}
        searching = kernline.AdditiveSVCCV if cls is kernline.AdditiveSVC else kernline.AdditiveSVRCV
        return Search(estimators.build(searching, given, extra), Cs, folds, scoring)
    if len(names) > 1:
        raise UsageError("cv takes one landmark kernel at a time.")
    return Search(estimators.build(cls, given | {"kernel": kernel}, extra), Cs, folds, scoring)
