"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import typer

from .completion import among, data_sets
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
        autocompletion=data_sets,
    ),
]
FORMAT_NAMES = among("svmlight", "csv", "tsv", "parquet", "arrow", "npy", "npz")
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
            metavar="FORMAT",
            autocompletion=FORMAT_NAMES,
            help="Format of the data if the file name does not show it: svmlight (LIBSVM), csv, tsv, parquet, arrow, "
            "npy or npz.",
        ),
    ] = "auto"
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COLUMN",
            help="Label column of a table: its name, or its number (0 is the first, -1 the last).",
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="COLUMNS",
            help="Feature columns to use, separated by commas. Default: all except the target.",
        ),
    ] = None
    categorical: Annotated[
        str | None,
        typer.Option(
            "--categorical",
            metavar="COLUMNS",
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
        typer.Option(
            "--delimiter",
            metavar="CHARACTER",
            help="Field delimiter of a CSV file, such as ';', or 'tab'. Default: detected.",
        ),
    ] = None
    decimal: Annotated[
        str,
        typer.Option("--decimal", metavar="CHARACTER", help="Decimal point of the numbers in a CSV file: '.' or ','."),
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
            metavar="N",
            callback=_check_threads,
            help="Number of threads; -1: all cores. Results do not depend on it.",
        ),
    ] = -1

    def given(self) -> list[str]:
        """The options that say how to read a file, as far as they were given."""
        off = {"header": "--no-header", "zero_based": "--one-based"}
        return [
            off[field.name] if getattr(self, field.name) is False else f"--{field.name.replace('_', '-')}"
            for field in fields(self)
            if field.name != "threads" and getattr(self, field.name) != field.default
        ]


SingleLabelled = Annotated[ReadingOptions, Fixed(multilabel=False)]
ForModel = Annotated[ReadingOptions, Fixed(multilabel=False, columns=None, categorical=None)]
"""Without --columns and --categorical: a model uses the columns that it was trained on."""
