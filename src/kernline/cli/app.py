"""The application: all commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .. import __version__
from .bench import bench
from .cv import cv
from .explanation import explain
from .habits import Habitual
from .inspection import convert, export, inspect
from .named import app as named
from .option_groups import expand_groups
from .prediction import evaluate, predict
from .reporting import report
from .training import train

app = typer.Typer(
    name="kernline",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich would take longer than everything else in --help
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (train, predict, evaluate, explain, report, inspect, cv, convert, export, bench):
    app.command(cls=Habitual)(expand_groups(command))
app.add_typer(named, name="datasets")


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"kernline {__version__}\n")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Kernel SVMs at the cost of linear ones.

    \b
    kernline train -c 10 train.svm model.kern
    kernline evaluate model.kern test.svm
    kernline predict model.kern test.svm -o labels.txt
    kernline report model.kern test.svm -o report.html
    kernline export model.kern model.onnx

    See kernline COMMAND --help for the options of a command, with examples.

    Exit codes: 0 success; 1 unusable data, model or file; 2 wrong usage; 3 missing package or data set; 4 internal
    error; 130 interrupted; 141 output pipe closed.
    """
