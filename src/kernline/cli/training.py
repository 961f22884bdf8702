"""``train``: train a model, measure it by cross-validation (-v), or find the best C (-C)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from . import estimators
from . import model_options as mod
from . import options as opt
from .cv import search, searcher
from .data import DatasetRows, LabelledRows, Reading
from .errors import ExitCode, UsageError
from .files import is_dataset
from .model_output import model_file, save_model
from .models import relative_gap
from .output import Output
from .watch import can_watch, watched

if TYPE_CHECKING:
    from .estimators import SVM

# Parameters of a model that its codes depend on.
_OF_CODES = ("kernel", "approximation", "scale", "p", "missing")
_FOLDS = 5


@dataclass(frozen=True)
class Goal:
    """What to find: a model for one C, how good it is by cross-validation (-v), or the best C (-C)."""

    cost: Annotated[
        float | None,
        mod.cost_option(
            "C, the cost of an error. Default: auto, which finds a weight for each column of a table from the data, "
            "and else is a number that suits the scale; with landmarks, 10. With -C, the first C to try."
        ),
    ] = None
    folds: Annotated[
        int | None,
        typer.Option(
            "-v",
            "--folds",
            metavar="N",
            min=2,
            help="Print the accuracy, or R², by cross-validation with this many folds. Writes no model.",
        ),
    ] = None
    find_cost: Annotated[
        bool,
        typer.Option(
            "-C", "--find-cost", help="Find the best C by cross-validation. Writes a model only if MODEL is given."
        ),
    ] = False


@dataclass(frozen=True)
class Run:
    """How to train: from codes in a file, with checkpoints, on a cluster; and what Ctrl-C leaves."""

    out_of_core: Annotated[
        bool,
        typer.Option(
            "--out-of-core",
            help="Read DATA twice and train on codes in a temporary file beside MODEL, for data larger than memory.",
        ),
    ] = False
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="Write the state of training to FILE, at most once a minute, and continue from it after a kill. For "
            "--out-of-core and .kdata files of more than 64 MB. Default: none.",
        ),
    ] = None
    keep: Annotated[bool, typer.Option("--keep", help="On Ctrl-C, save the partly trained model.")] = False
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Train on the Dask cluster whose scheduler has this address. DATA may be a pattern, such as "
            "'part-*.parquet'; workers read the files. Default: this process.",
        ),
    ] = None


def train(
    data: opt.DataFile,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="Where to save the model. Default: the name of DATA with .kern added, in the current folder.",
        ),
    ] = None,
    *,
    goal: Goal,
    kernel: Annotated[str | None, mod.KernelOption] = None,
    options: mod.ModelOptions,
    interactions: Annotated[
        str | None,
        typer.Option(
            "--interactions",
            metavar="PAIRS",
            help="Tables of pairs of columns: auto, a number of pairs to choose, or pairs such as age:hours,0:3.",
        ),
    ] = None,
    seed: mod.Seed = 0,
    force: opt.Force = False,
    run: Run,
    reading: opt.SingleLabelled,
    out: Output,
) -> None:
    """Train a model and save it.

    \b
    kernline train -c 1 data.svm model.kern
    kernline train table.csv model.kern --target species --kernel intersection --scale rank
    kernline train data.svm model.kern --kernel rbf -c 10 -p n_basis=1000
    kernline train houses.csv model.kern --target price --task regression --scale rank
    kernline train table.csv model.kern --target species --interactions auto -b 1
    kernline train 'part-*.parquet' model.kern --target species --dask tcp://scheduler:8786
    kernline train -v 5 -c 10 data.svm
    kernline train -C data.svm
    zcat data.gz | kernline train - model.kern
    kernline train huge.svm model.kern --out-of-core
    kernline train huge.kdata model.kern --checkpoint training.state
    """
    with out.working():
        path = _output_file(out, data, model, goal, force=force, keep=run.keep)
        name = estimators.kernel_name(kernel)
        cls = estimators.estimator_class(options.estimator, name, estimators.task_of(options))
        given, extra = estimators.parameters(options, seed, reading.threads), options.param or []
        settings = {"kernel": name, "C": goal.cost} | given
        if interactions is not None:
            _check_interactions(interactions, cls, goal)
        if run.dask is not None:
            from .cluster import cluster_class, fit_on_cluster

            _check_for_cluster(run, goal, options, interactions, reading)
            assert path is not None  # as there is neither -v nor -C
            fit_on_cluster(
                out, run.dask, estimators.build(cluster_class(cls), settings, extra), data, reading.target, path
            )
            return
        source = Reading(out, reading)
        encodes = run.out_of_core or is_dataset(data)
        if encodes:
            _check_encoded(cls, goal, data)
        elif run.checkpoint is not None:
            raise UsageError("--checkpoint is for data larger than memory: pass a .kdata file, or --out-of-core.")
        if goal.find_cost:
            searched = searcher(cls, [name], estimators.costs_from(goal.cost), goal.folds or _FOLDS, None, given, extra)
            search(out, searched, source, data, options.class_weight or [], path, best_C=True)
            return
        svm = estimators.build(cls, settings, extra)
        if run.keep and not can_watch(svm):
            raise ImportError("--keep needs the callbacks of scikit-learn 1.9 or later.")
        with out.status(f"Reading {data}"):
            content = _encoded(svm, source, data, path, run.checkpoint) if encodes else source.labelled(data)
        if not len(content.y):
            raise ValueError(f"{data} has no rows to train on.")
        _ask_about_index(out, content)
        if options.class_weight:
            svm.set_params(class_weight=estimators.class_weights(options.class_weight, content.y))
        if interactions is not None:
            svm.set_params(interactions=estimators.interactions(interactions, _names(content)))
        if path is None:
            _validate(out, svm, content, goal.folds or _FOLDS, seed)
        else:
            _fit_and_save(out, svm, content, path, keep=run.keep)


def _check_for_cluster(
    run: Run, goal: Goal, options: mod.ModelOptions, interactions: str | None, reading: opt.ReadingOptions
) -> None:
    """Refuse what a cluster does not do, before it is asked."""
    others = (goal.folds, goal.find_cost, run.keep, interactions, run.checkpoint, run.out_of_core, options.class_weight)
    if any(others):
        raise UsageError(
            "--dask trains one model, and cannot be combined with -v, -C, --keep, --interactions, --checkpoint, "
            "--out-of-core or -w."
        )
    ignored = [name for name in reading.given() if name != "--target"]
    if ignored:
        raise UsageError(f"--dask: {ignored[0]} does not apply; workers detect the format of their files.")


def _check_encoded(cls: type[SVM], goal: Goal, data: str) -> None:
    """Refuse what cannot be done with codes, before any data is read."""
    if "approximation" not in cls().get_params():
        raise UsageError(f"{cls.__name__} needs values, not codes. Pass an additive kernel, or {data} in another form.")
    if goal.folds is not None or goal.find_cost:
        raise UsageError("-v and -C need the values. In Python, AdditiveSVCCV takes a kernline.Dataset.")


def _encoded(svm: SVM, source: Reading, data: str, path: Path | None, checkpoint: Path | None) -> LabelledRows:
    """The rows of a file as codes: those of a .kdata file, or of a temporary file that is made of another."""
    if is_dataset(data):
        dataset = source.opened(data)
    else:
        params = {name: value for name, value in svm.get_params().items() if name in _OF_CODES}
        dataset = source.dataset(data, **params)
        dataset.spool(path.parent if path is not None else None)
    dataset.checkpoint = checkpoint
    return cast("LabelledRows", DatasetRows(dataset))


def _check_interactions(text: str, cls: type[SVM], goal: Goal) -> None:
    """Refuse what cannot be, before any data is read."""
    estimators.interactions(text)
    if "interactions" not in cls().get_params():
        raise UsageError(f"--interactions needs an additive model; {cls.__name__} has no tables of pairs.")
    if goal.find_cost:
        raise UsageError("--interactions does not apply to -C: without -c, the data itself decides C.")


def _names(content: LabelledRows) -> list[str]:
    """The names of the columns; their numbers, if they have none."""
    return content.feature_names or [str(j) for j in range(content.X.shape[1])]


def _ask_about_index(out: Output, content: LabelledRows) -> None:
    """Warn if the first column looks like an index. An estimator that is given names does so itself."""
    import numpy as np

    from ..table_input import index_doubt

    if isinstance(content.X, np.ndarray):
        for doubt in index_doubt(content.X, content.feature_names).values():
            out.warn(f"Column '' {doubt}")


def _output_file(out: Output, data: str, model: str | None, goal: Goal, *, force: bool, keep: bool) -> Path | None:
    """The path of the model, or None if no model is written. Checked before any data is read."""
    if keep and (goal.folds is not None or goal.find_cost):
        raise UsageError("--keep saves the model when training is interrupted. It does not apply to -v and -C.")
    if model is not None if goal.find_cost else goal.folds is None:
        return model_file(out, data, model, force)
    if model is not None:
        out.note(f"-v writes no model; {model} is not changed.")
    return None


def _fit_and_save(out: Output, svm: SVM, content: LabelledRows, path: Path, *, keep: bool) -> None:
    read_seconds = out.seconds
    name, shape = type(svm).__name__, content.X.shape
    out.note(f"Training {name} on {shape[0]:,} × {shape[1]:,}")
    with watched(out, svm, keep=keep) as watch:
        _fit(svm, content)
        if hasattr(svm, "scale_"):
            out.note(_chosen(svm))
        save_model(svm, content, path)  # inside, so that --keep also covers Ctrl-C while saving
    total = out.seconds
    record = {
        "model": str(path),
        **_description(svm, content),
        "interrupted": watch.stopping,
        "cut_short": watch.n_cut,
        "seconds": {"read": read_seconds, "total": total},
    }
    kind = f"{len(svm.classes_)} classes" if hasattr(svm, "classes_") else "regression"
    out.result(record, [] if out.quiet else [f"{path}: {name}, {kind}, {total:.2f} s"])
    if watch.stopping:
        out.note(
            f"Interrupted: {watch.n_cut} of {watch.n_problems} problems were cut short; those that had not started "
            "were trained for one epoch. Predictions of their classes are less accurate than after a full fit."
        )
        raise typer.Exit(ExitCode.INTERRUPTED)


def _chosen(svm: SVM) -> str:
    """What the fit chose, and why."""
    if not hasattr(svm, "kernel_"):
        return f"Scale: {svm.scale_}"
    pairs = f", {len(svm.shapes_.pairs)} pairs" if svm.shapes_.pairs else ""
    return f"Kernel {svm.kernel_}, scale {svm.scale_}, loss {svm.loss_}, C {svm.C_:.3g}{pairs}: {svm._reason}"


def _validate(out: Output, svm: SVM, content: LabelledRows, folds: int, seed: int) -> None:
    """Print the accuracy, or R², by cross-validation."""
    from .searching import validated

    with out.status(f"Training {type(svm).__name__} on {folds} folds"), warnings.catch_warnings():
        warnings.simplefilter("default")
        record, lines = validated(svm, content, folds, seed)
    out.result(record, lines)


def _fit(svm: SVM, content: LabelledRows) -> None:
    """Fit, and show every warning, even if it was shown before."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        svm.fit(content.X, None if isinstance(content, DatasetRows) else content.y)


def _description(svm: SVM, content: LabelledRows) -> dict[str, object]:
    rows, features = content.X.shape
    return {
        "estimator": type(svm).__name__,
        "kernel": getattr(svm, "kernel_", getattr(svm, "kernel", "rbf")),
        "C": getattr(svm, "C_", svm.C),
        "loss": getattr(svm, "loss_", None),
        "scale": getattr(svm, "scale_", None),
        "pairs": [list(pair.columns) for pair in svm.shapes_.pairs] if hasattr(svm, "shapes_") else None,
        "gamma": svm.gamma_,
        "rows": rows,
        "features": features,
        "classes": getattr(svm, "classes_", None),
        "epochs": svm.n_iter_,
        "relative_gap": relative_gap(svm),
        "skipped_lines": content.n_skipped,
    }
