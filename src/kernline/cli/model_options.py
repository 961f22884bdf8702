"""Options of ``train`` and ``cv`` that describe the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

KernelOption = typer.Option(
    "--kernel",
    "-t",
    help="chi2 (default), intersection, hellinger, js, power_mean, linear; rbf, poly, sigmoid, laplacian, exp-chi2 "
    "by landmarks. LIBSVM's 0 to 3 too.",
)
Seed = Annotated[int, typer.Option("--seed", help="Seed of what is random.")]


@dataclass(frozen=True)
class ModelOptions:
    """The estimator and its parameters, except for the kernel and C, of which ``cv`` takes several."""

    estimator: Annotated[
        str | None,
        typer.Option("--estimator", help="additive, nystrom or budgeted; without, what has the kernel."),
    ] = None
    gamma: Annotated[
        str | None,
        typer.Option("--gamma", "-g", help="The kernel's factor or width: a number or 'scale'."),
    ] = None
    solver: Annotated[
        str | None,
        typer.Option(
            "-s",
            "--solver",
            help="As LIBLINEAR: 1 squared hinge, dual; 2 the same, primal; 3 hinge, dual. Or auto, dual-cd, newton.",
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option("--loss", help="hinge or squared_hinge."),
    ] = None
    scale: Annotated[
        str | None,
        typer.Option("--scale", help="max; minmax or rank for negative or skewed columns."),
    ] = None
    tol: Annotated[
        float | None,
        typer.Option("-e", "--tol", help="Stop at this duality gap, relative."),
    ] = None
    bias: Annotated[
        float | None,
        typer.Option(
            "-B",
            "--bias",
            help="The intercept as LIBLINEAR has it: BIAS squared is added to the kernel, on the scale where the mean "
            "of K(x, x) is 1. Default 1; 0 or less: no intercept.",
        ),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        typer.Option("-w", "--class-weight", help="LABEL:WEIGHT, or balanced. Repeatable."),
    ] = None
    param: Annotated[
        list[str] | None,
        typer.Option("-p", "--param", help="NAME=VALUE: any other parameter. Repeatable."),
    ] = None
