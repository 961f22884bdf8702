"""Options that several commands share, each written down once."""

from __future__ import annotations

from typing import Annotated

import typer


def _check_threads(threads: int) -> int:
    if threads == 0:
        raise typer.BadParameter("0 threads do no work; give 1 or more, or -1 for all.")
    return threads


DataFile = Annotated[
    str,
    typer.Argument(metavar="DATA", help="LIBSVM, CSV, Parquet, Arrow or NumPy file; - for standard input; @NAME."),
]
Format = Annotated[
    str,
    typer.Option("--format", "-f", help="The file's format, if its name does not tell."),
]
Target = Annotated[
    str | None,
    typer.Option("--target", help="The column of labels in a table: a name, or a number."),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", help="The columns to use, with commas between; all others."),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether line 1 of CSV has names; without: if no number is in it."),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="The character between the fields of CSV, such as ';'; 'tab' for a tab."),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option("--zero-based/--one-based", help="Where LIBSVM indices begin."),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be read.")]
Threads = Annotated[
    int,
    typer.Option("--threads", "-j", callback=_check_threads, help="Threads; -1: all. Results do not depend on it."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite MODEL even if it is no model file.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Results and errors only.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")]
