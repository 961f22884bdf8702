"""Options that several commands share, each written down once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from .option_groups import Fixed


def _check_threads(threads: int) -> int:
    if threads == 0:
        raise typer.BadParameter("0 threads do no work; give 1 or more, or -1 for all.")
    return threads


DataFile = Annotated[
    str,
    typer.Argument(metavar="DATA", help="LIBSVM, CSV, Parquet, Arrow or NumPy file; - for standard input; @NAME."),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite MODEL even if it is no model file.")]


@dataclass(frozen=True)
class ReadingOptions:
    """How to read a data file, and with how many threads to work on it."""

    format: Annotated[
        str,
        typer.Option("--format", "-f", help="The file's format, if its name does not tell."),
    ] = "auto"
    target: Annotated[
        str | None,
        typer.Option("--target", help="The column of labels in a table: a name, or a number."),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option("--columns", help="The columns to use, with commas between; all others."),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether line 1 of CSV has names; without: if no number is in it."),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", help="The character between the fields of CSV, such as ';'; 'tab' for a tab."),
    ] = None
    zero_based: Annotated[
        bool | None,
        typer.Option("--zero-based/--one-based", help="Where LIBSVM indices begin."),
    ] = None
    multilabel: Annotated[
        bool,
        typer.Option("--multilabel", help="LIBSVM rows have several labels, as 1,3,7."),
    ] = False
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be read.")] = False
    threads: Annotated[
        int,
        typer.Option("--threads", "-j", callback=_check_threads, help="Threads; -1: all. Results do not depend on it."),
    ] = -1


SingleLabelled = Annotated[ReadingOptions, Fixed(multilabel=False)]
ForModel = Annotated[ReadingOptions, Fixed(multilabel=False, columns=None)]
"""The model knows which columns it was trained on."""
