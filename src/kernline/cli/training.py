"""``train``: from data to a model, to its accuracy by cross-validation (-v), or to the best C (-C)."""

from __future__ import annotations

import time
import warnings
from typing import Annotated, Any

import typer

from . import estimators
from . import model_options as mod
from . import options as opt
from .choosing import search, searcher
from .data import Reading
from .errors import ExitCode, UsageError
from .model_output import model_file, save_model
from .output import Output
from .watch import can_watch, watched


def train(
    data: opt.DataFile,
    model: Annotated[str | None, typer.Argument(metavar="MODEL", help="Default: DATA.kern, here.")] = None,
    cost: Annotated[
        float | None,
        typer.Option("-c", "--cost", help="C, the cost of an error (default 1); with -C, the first one to try."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option("-v", "--folds", min=2, help="Print the accuracy by cross-validation; writes no model."),
    ] = None,
    find_cost: Annotated[
        bool,
        typer.Option(
            "-C", "--find-cost", help="Find the best C by cross-validation; writes a model if MODEL is given."
        ),
    ] = False,
    kernel: Annotated[str | None, mod.KernelOption] = None,
    estimator: mod.Estimator = None,
    gamma: mod.Gamma = None,
    solver: mod.Solver = None,
    loss: mod.Loss = None,
    scale: mod.Scale = None,
    tol: mod.Tol = None,
    bias: mod.Bias = None,
    class_weight: mod.Weights = None,
    param: mod.Parameters = None,
    seed: mod.Seed = 0,
    force: opt.Force = False,
    keep: Annotated[bool, typer.Option("--keep", help="On Ctrl-C, save the model as far as it got.")] = False,
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
    """Train a model and save it.

    \b
    kernline train -c 1 data.svm model.kern
    kernline train table.csv model.kern --target species --kernel intersection --scale rank
    kernline train data.svm model.kern --kernel rbf -c 10 -p n_basis=1000
    kernline train -v 5 -c 10 data.svm
    kernline train -C data.svm
    zcat data.gz | kernline train - model.kern
    """
    out, begun = Output(quiet=quiet, json=json), time.perf_counter()
    with out.working():
        if keep and (folds is not None or find_cost):
            raise UsageError("--keep saves the model of a training that is interrupted; -v and -C have none to save.")
        writes = model is not None if find_cost else folds is None
        path = model_file(out, data, model, force) if writes else None
        if model is not None and not writes:
            out.note(f"-v writes no model; {model} stays as it is.")
        name = estimators.kernel_name(kernel)
        cls = estimators.estimator_class(estimator, name)
        loss, solver = estimators.loss_and_solver(solver, loss)
        given = {"gamma": estimators.gamma_value(gamma), "loss": loss, "solver": solver, "scale": scale, "tol": tol}
        given |= {"n_jobs": threads, "random_state": seed} | estimators.intercept(bias)
        reading = Reading(out, format, target, columns, zero_based, skip_bad, threads, header, delimiter)
        if find_cost:
            searched = searcher(cls, [name], estimators.costs_from(cost), folds or 5, None, given, param or [])
            search(out, searched, reading, data, class_weight or [], path, best_C=True)
            return
        svm = estimators.build(cls, {"kernel": name, "C": cost} | given, param or [])
        if keep and not can_watch(svm):
            raise ImportError("--keep needs the callbacks of scikit-learn 1.9 or later.")
        with out.status(f"Reading {data}"):
            content = reading.labelled(data)
        svm.set_params(**({"class_weight": estimators.class_weights(class_weight, content.y)} if class_weight else {}))
        if path is None:
            _validate(out, svm, content, folds or 5, seed)
            return
        read_seconds = time.perf_counter() - begun
        out.note(f"Training {cls.__name__} on {content.X.shape[0]:,} × {content.X.shape[1]:,}")
        with watched(out, svm, keep=keep) as watch:
            _fit(svm, content)
            save_model(svm, content, path)  # here, so that --keep holds to the end
        total = time.perf_counter() - begun
        record = {
            "model": str(path),
            **_description(svm, content),
            "interrupted": watch.stopping,
            "cut_short": watch.n_cut,
            "seconds": {"read": read_seconds, "total": total},
        }
        line = f"{path}: {cls.__name__}, {len(svm.classes_)} classes, {total:.2f} s"
        out.result(record, [] if quiet else [line])
    if watch.stopping:
        out.note(
            f"Interrupted: {watch.n_cut} of {watch.n_problems} problems were cut short, those not yet begun after an "
            "epoch. Their classes are predicted less well than after a full fit."
        )
        raise typer.Exit(ExitCode.INTERRUPTED)


def _validate(out: Output, svm: Any, content: Any, folds: int, seed: int) -> None:
    """Print the accuracy by cross-validation."""
    from .searching import validated

    with out.status(f"Training {type(svm).__name__} on {folds} folds"), warnings.catch_warnings():
        warnings.simplefilter("default")
        record, lines = validated(svm, content, folds, seed)
    out.result(record, lines)


def _fit(svm: Any, content: Any) -> None:
    """Fit, and show each warning, also one that was shown before."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        svm.fit(content.X, content.y)


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
