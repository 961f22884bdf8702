"""``train`` and ``cv``: from data to a model."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from . import estimators
from . import options as opt
from .data import Reading, is_model
from .errors import ExitCode, UsageError
from .output import Output, check_writable
from .watch import can_watch, watched

KernelOption = typer.Option(
    "--kernel",
    "-t",
    help="chi2 (default), intersection, hellinger, js, power_mean, linear; rbf, poly, sigmoid, laplacian, exp-chi2 "
    "by landmarks. LIBSVM's 0 to 3 too.",
)
Estimator = Annotated[
    str | None,
    typer.Option("--estimator", help="additive, nystrom or budgeted; without, what has the kernel."),
]
Gamma = Annotated[
    str | None,
    typer.Option("--gamma", "-g", help="The kernel's factor or width: a number or 'scale'."),
]
Solver = Annotated[
    str | None,
    typer.Option(
        "-s",
        "--solver",
        help="As LIBLINEAR: 1 squared hinge, dual; 2 the same, primal; 3 hinge, dual. Or auto, dual-cd, newton.",
    ),
]
Loss = Annotated[
    str | None,
    typer.Option("--loss", help="hinge or squared_hinge."),
]
Scale = Annotated[
    str | None,
    typer.Option("--scale", help="max; minmax or rank for negative or skewed columns."),
]
Tol = Annotated[
    float | None,
    typer.Option("-e", "--tol", help="Stop at this duality gap, relative."),
]
Weights = Annotated[
    list[str] | None,
    typer.Option("-w", "--class-weight", help="LABEL:WEIGHT, or balanced. Repeatable."),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("-p", "--param", help="NAME=VALUE: any other parameter. Repeatable."),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of what is random.")]


def train(
    data: opt.DataFile,
    model: Annotated[str | None, typer.Argument(metavar="MODEL", help="Default: DATA.kern, here.")] = None,
    cost: Annotated[
        float | None,
        typer.Option("-c", "--cost", help="C, the cost of an error (default 1)."),
    ] = None,
    kernel: Annotated[str | None, KernelOption] = None,
    estimator: Estimator = None,
    gamma: Gamma = None,
    solver: Solver = None,
    loss: Loss = None,
    scale: Scale = None,
    tol: Tol = None,
    class_weight: Weights = None,
    param: Parameters = None,
    seed: Seed = 0,
    force: opt.Force = False,
    keep: Annotated[bool, typer.Option("--keep", help="On Ctrl-C, save the model as far as it got.")] = False,
    format: opt.Format = "auto",
    target: opt.Target = None,
    columns: opt.Columns = None,
    header: opt.Header = None,
    zero_based: opt.ZeroBased = None,
    skip_bad: opt.SkipBad = False,
    threads: opt.Threads = -1,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Train a model and save it.

    \b
    kernline train -c 1 data.svm model.kern
    kernline train table.csv model.kern --target species --kernel intersection --scale rank
    kernline train data.svm model.kern --kernel rbf -c 10 -p n_basis=1000
    zcat data.gz | kernline train - model.kern
    """
    out, begun = Output(quiet=quiet, json=json), time.perf_counter()
    with out.working():
        target_file = _model_file(data, model, force)
        name = estimators.kernel_name(kernel)
        cls = estimators.estimator_class(estimator, name)
        loss, solver = estimators.loss_and_solver(solver, loss)
        given = {"kernel": name, "C": cost, "gamma": estimators.gamma_value(gamma), "loss": loss, "solver": solver}
        given |= {"scale": scale, "tol": tol, "n_jobs": threads, "random_state": seed}
        svm = estimators.build(cls, given, param or [])
        if keep and not can_watch(svm):
            raise ImportError("--keep needs the callbacks of scikit-learn 1.9 or later.")
        reading = Reading(out, format, target, columns, zero_based, skip_bad, threads, header)
        with out.status(f"Reading {data}"):
            content = reading.labelled(data)
        svm.set_params(**({"class_weight": estimators.class_weights(class_weight, content.y)} if class_weight else {}))
        read_seconds = time.perf_counter() - begun
        out.note(f"Training {cls.__name__} on {content.X.shape[0]:,} × {content.X.shape[1]:,}")
        with watched(out, svm, keep=keep) as watch:
            _fit(svm, content)
            _save(svm, content, target_file)  # here, so that --keep holds to the end
        total = time.perf_counter() - begun
        record = {
            "model": str(target_file),
            **_description(svm, content),
            "interrupted": watch.stopping,
            "cut_short": watch.n_cut,
            "seconds": {"read": read_seconds, "total": total},
        }
        line = f"{target_file}: {cls.__name__}, {len(svm.classes_)} classes, {total:.2f} s"
        out.result(record, [] if quiet else [line])
    if watch.stopping:
        out.note(
            f"Interrupted: {watch.n_cut} of {watch.n_problems} problems were cut short, those not yet begun after an "
            "epoch. Their classes are told worse than after a fit to the end."
        )
        raise typer.Exit(ExitCode.INTERRUPTED)


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
    kernel: Annotated[list[str] | None, KernelOption] = None,
    estimator: Estimator = None,
    gamma: Gamma = None,
    solver: Solver = None,
    loss: Loss = None,
    scale: Scale = None,
    tol: Tol = None,
    class_weight: Weights = None,
    param: Parameters = None,
    scoring: Annotated[str | None, typer.Option("--scoring", help="A scorer of scikit-learn's.")] = None,
    seed: Seed = 0,
    force: opt.Force = False,
    format: opt.Format = "auto",
    target: opt.Target = None,
    columns: opt.Columns = None,
    header: opt.Header = None,
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
    out, begun = Output(quiet=quiet, json=json), time.perf_counter()
    with out.working():
        target_file = _model_file(data, model, force) if model is not None else None
        names = [estimators.kernel_name(name) for name in kernel or []]
        classes = {estimators.estimator_class(estimator, name) for name in names or [None]}
        if len(classes) > 1:
            raise UsageError(f"-t {' -t '.join(map(str, names))}: additive kernels, or one by landmarks, not both.")
        cls = classes.pop()
        loss, solver = estimators.loss_and_solver(solver, loss)
        given = {"gamma": estimators.gamma_value(gamma), "loss": loss, "solver": solver, "scale": scale, "tol": tol}
        given |= {"n_jobs": threads, "random_state": seed}
        searched = _searcher(cls, names, cost, folds, scoring, given, param or [])
        reading = Reading(out, format, target, columns, zero_based, skip_bad, threads, header)
        with out.status(f"Reading {data}"):
            content = reading.labelled(data)
        if class_weight:
            searched.model.set_params(class_weight=estimators.class_weights(class_weight, content.y))
        with watched(out, searched.model, keep=False):
            record, lines = searched.run(content)
        if target_file is not None:
            _save(searched.model, content, target_file)
            record["model"] = str(target_file)
            lines.append(f"{target_file}: refitted to all rows")
        out.result(record | {"seconds": time.perf_counter() - begun}, lines)


def _searcher(
    cls: Any, names: list[Any], Cs: Any, folds: int, scoring: str | None, given: dict[str, Any], extra: list[str]
) -> Any:
    from .searching import AdditiveSearch, BudgetSearch, LandmarkSearch

    Cs = sorted(set(Cs)) if Cs else None
    if cls.__name__ == "BudgetedSVC":
        return BudgetSearch(estimators.build(cls, given, extra), Cs or [0.1, 1.0, 10.0, 100.0], folds, scoring)
    if cls.__name__ == "NystromSVC":
        if len(names) > 1:
            raise UsageError("cv takes one kernel by landmarks at a time.")
        kernel = names[0] if names else None
        return LandmarkSearch(estimators.build(cls, given | {"kernel": kernel}, extra), Cs, folds, scoring)
    import kernline

    given |= {"kernel": names if len(names) > 1 else names[0] if names else None, "Cs": Cs, "cv": folds}
    return AdditiveSearch(estimators.build(kernline.AdditiveSVCCV, given | {"scoring": scoring}, extra))


def _model_file(data: str, model: str | None, force: bool) -> Path:
    if model is None and data == "-":
        raise UsageError("data from standard input has no name to call the model by: give MODEL.")
    path = Path(model if model is not None else f"{Path(data.removeprefix('@')).name}.kern")
    if data != "-" and path.exists() and Path(data).exists() and path.samefile(data):
        raise UsageError(f"MODEL would overwrite the data, {data}.")
    if not force and path.is_file() and path.stat().st_size and not is_model(str(path)):
        raise UsageError(
            f"{path} exists and is no model file; MODEL is where the model goes. Name another file, or pass --force."
        )
    check_writable(path)
    return path


def _fit(svm: Any, content: Any) -> None:
    """Fit, and show each warning, also one that was shown before."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        svm.fit(content.X, content.y)


def _save(svm: Any, content: Any, path: Path) -> None:
    """Save with the names of the columns and the base of indices, which the file had and the array has not."""
    import numpy as np

    import kernline

    if content.feature_names is not None:
        svm.feature_names_in_ = np.array(content.feature_names, dtype=object)
    if content.zero_based is not None:
        svm.zero_based_ = content.zero_based
    kernline.save(svm, path)


def _description(svm: Any, content: Any) -> dict[str, Any]:
    rows, features = content.X.shape
    gap = getattr(svm, "dual_gap_", None)
    relative = None if gap is None else float((gap / svm.objective_.clip(1e-300)).max())
    return {
        "estimator": type(svm).__name__,
        "kernel": getattr(svm, "kernel", "rbf"),
        "C": svm.C,
        "gamma": svm.gamma_,
        "rows": rows,
        "features": features,
        "classes": svm.classes_,
        "epochs": svm.n_iter_,
        "relative_gap": relative,
        "skipped_lines": content.n_skipped,
    }
