"""Options of ``train`` and ``cv`` that describe the model."""

from __future__ import annotations

from typing import Annotated

import typer

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
Bias = Annotated[
    float | None,
    typer.Option(
        "-B",
        "--bias",
        help="The intercept as LIBLINEAR has it: BIAS squared is added to the kernel, on the scale where the mean of "
        "K(x, x) is 1. Default 1; 0 or less: no intercept.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of what is random.")]
