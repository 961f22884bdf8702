"""Options of ``train`` and ``cv`` that describe the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

import typer

from .completion import among

if TYPE_CHECKING:
    from typer.models import OptionInfo

KernelOption = typer.Option(
    "--kernel",
    "-t",
    metavar="KERNEL",
    help="Additive: auto (default: chosen from the data), chi2, intersection, hellinger, js, power_mean, linear. "
    "Approximated with landmarks: rbf, poly, sigmoid, laplacian, exp-chi2. LIBSVM's numbers 0 to 3 work too.",
    autocompletion=among(
        *("auto", "chi2", "intersection", "hellinger", "js", "power_mean", "linear"),
        *("rbf", "poly", "sigmoid", "laplacian", "exp-chi2"),
    ),
)


def _cost(text: str) -> float | None:
    """C; None for auto, as if it were not given."""
    try:
        return None if text == "auto" else float(text)
    except ValueError:
        raise typer.BadParameter(f"expected a number or auto, not {text!r}.") from None


def cost_option(help: str) -> OptionInfo:
    """The option -c with this help."""
    return cast("OptionInfo", typer.Option("-c", "--cost", parser=_cost, metavar="C", help=help))


Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Random seed.")]


@dataclass(frozen=True)
class ModelOptions:
    """The estimator and its parameters, except the kernel and C, because ``cv`` takes several of each."""

    estimator: Annotated[
        str | None,
        typer.Option(
            "--estimator",
            metavar="NAME",
            autocompletion=among("additive", "nystrom", "budgeted"),
            help="additive, nystrom or budgeted. Default: additive or nystrom, whichever has the kernel.",
        ),
    ] = None
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            metavar="TASK",
            autocompletion=among("classification", "regression"),
            help="classification (default), or regression: the target is a number to predict, by curves.",
        ),
    ] = None
    gamma: Annotated[
        str | None,
        typer.Option(
            "--gamma",
            "-g",
            metavar="GAMMA",
            help="Factor or width of the kernel: a number, or 'scale' (default) to fit it to the data.",
        ),
    ] = None
    solver: Annotated[
        str | None,
        typer.Option(
            "-s",
            "--solver",
            metavar="SOLVER",
            autocompletion=among("auto", "dual-cd", "newton"),
            help="auto (default), dual-cd or newton. Or LIBLINEAR's numbers: 0 logistic regression; 1 squared hinge, "
            "dual; 2 squared hinge, primal; 3 hinge, dual; 4 all classes in one problem (Crammer-Singer); 7 logistic "
            "regression, dual. For regression: 11 squared epsilon-insensitive, primal; 12 the same, dual; 13 "
            "epsilon-insensitive, dual.",
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            metavar="LOSS",
            autocompletion=among(
                *("auto", "hinge", "squared_hinge", "log", "squared_error"),
                *("epsilon_insensitive", "squared_epsilon_insensitive"),
            ),
            help="auto, hinge, squared_hinge or log, which has probabilities. Default: auto, which is log for tables "
            "if no kernel is given, else hinge. For regression: squared_error (default), epsilon_insensitive or "
            "squared_epsilon_insensitive.",
        ),
    ] = None
    probability: Annotated[
        int,
        typer.Option(
            "-b", "--probability", metavar="0|1", min=0, max=1, help="1: train for probabilities, as with --loss log."
        ),
    ] = 0
    multi_class: Annotated[
        str | None,
        typer.Option(
            "--multi-class",
            metavar="METHOD",
            autocompletion=among("auto", "ovr", "crammer-singer"),
            help="How to train on several classes: auto (default), ovr (each against the rest) or crammer-singer (all "
            "in one problem, with the hinge loss).",
        ),
    ] = None
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale",
            metavar="SCALE",
            autocompletion=among("auto", "max", "minmax", "rank", "standard"),
            help="How to scale columns: auto (default: chosen from the data), max, or minmax or rank for negative or "
            "skewed values. With landmarks: auto (default) or standard; -p scale=None leaves them as they are.",
        ),
    ] = None
    tol: Annotated[
        float | None,
        typer.Option(
            "-e", "--tol", metavar="TOL", help="Stop when the relative duality gap is below this. Default: 0.01."
        ),
    ] = None
    bias: Annotated[
        float | None,
        typer.Option(
            "-B",
            "--bias",
            metavar="BIAS",
            help="Penalise the intercept as LIBLINEAR does: the square of BIAS is added to the kernel, scaled so that "
            "the mean of K(x, x) is 1. Default: an intercept that is not penalised. 0 or less: no intercept.",
        ),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            "-w", "--class-weight", metavar="LABEL:WEIGHT", help="LABEL:WEIGHT, or balanced. Can be repeated."
        ),
    ] = None
    param: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            "--param",
            metavar="NAME=VALUE",
            help="NAME=VALUE: any other parameter of the estimator. Can be repeated. A number alone is epsilon, as in "
            "LIBLINEAR.",
        ),
    ] = None
