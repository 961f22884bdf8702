"""The application: all commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .. import __version__
from .bench import bench
from .conversion import convert, export
from .cv import cv
from .explanation import explain
from .habits import Habitual
from .help_pages import SHORT_HELP, GroupedCommands
from .inspection import inspect
from .named import app as named
from .option_groups import expand_groups
from .prediction import evaluate, predict
from .reporting import report
from .training import train

app = typer.Typer(
    name="kernline",
    cls=GroupedCommands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich would take longer than everything else in --help
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = {
    "Train": (train, cv),
    "Use": (predict, evaluate, export),
    "Look": (report, explain, inspect),
    "Data and measurements": (convert, bench),
}
for heading, commands in _COMMANDS.items():
    for command in commands:
        app.command(cls=Habitual, rich_help_panel=heading)(expand_groups(command))
app.add_typer(named, name="datasets", rich_help_panel=heading)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"kernline {__version__}\n")
        raise typer.Exit


@app.callback()
def about(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Kernel SVMs at the cost of linear ones.

    \b
    kernline train train.csv model.kern --target label
    kernline evaluate model.kern test.csv
    kernline predict model.kern rows.csv -o labels.csv
    kernline report model.kern test.csv

    See kernline COMMAND --help for the options of a command, with examples.

    Exit codes: 0 success; 1 unusable data, model or file; 2 wrong usage; 3 missing package or data set; 4 internal
    error; 130 interrupted; 141 output pipe closed.
    """
    if ctx.invoked_subcommand is None:
        sys.stdout.write(SHORT_HELP)
