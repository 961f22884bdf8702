"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from .option_groups import Fixed


def _check_threads(threads: int) -> int:
    if threads == 0:
        raise typer.BadParameter("0 threads cannot work. Pass 1 or more, or -1 for all cores.")
    return threads


DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A LIBSVM, CSV, Parquet, Arrow or NumPy file; - for standard input; @NAME for a named data set.",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite MODEL even if it is not a model file.")]


@dataclass(frozen=True)
class ReadingOptions:
    """How to read a data file, and how many threads to use."""

    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="Format of the data if the file name does not show it: svmlight (LIBSVM), csv, tsv, parquet, arrow, "
            "npy or npz.",
        ),
    ] = "auto"
    target: Annotated[
        str | None,
        typer.Option(
            "--target", help="Label column of a table: its name, or its number (0 is the first, -1 the last)."
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option("--columns", help="Feature columns to use, separated by commas. Default: all except the target."),
    ] = None
    categorical: Annotated[
        str | None,
        typer.Option(
            "--categorical",
            help="Feature columns to read as text even if they hold numbers, separated by commas. Others are text if "
            "they hold text.",
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a CSV file has column names. Default: yes if it contains no number.",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", help="Field delimiter of a CSV file, such as ';', or 'tab'. Default: found."),
    ] = None
    decimal: Annotated[
        str, typer.Option("--decimal", help="Decimal point of the numbers in a CSV file: '.' or ','.")
    ] = "."
    zero_based: Annotated[
        bool | None,
        typer.Option(
            "--zero-based/--one-based",
            help="Whether LIBSVM indices start at 0 or 1. Default: as for the model, else detected.",
        ),
    ] = None
    multilabel: Annotated[
        bool,
        typer.Option("--multilabel", help="Rows of a LIBSVM file may have several labels, such as 1,3,7."),
    ] = False
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip lines that cannot be parsed.")] = False
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            "-j",
            callback=_check_threads,
            help="Number of threads; -1: all cores. Results do not depend on it.",
        ),
    ] = -1


SingleLabelled = Annotated[ReadingOptions, Fixed(multilabel=False)]
ForModel = Annotated[ReadingOptions, Fixed(multilabel=False, columns=None, categorical=None)]
"""Without --columns and --categorical: a model uses the columns that it was trained on."""
