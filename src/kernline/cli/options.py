"""Options that several commands share, each written down once."""

from __future__ import annotations

from typing import Annotated

import typer

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
ZeroBased = Annotated[
    bool | None,
    typer.Option("--zero-based/--one-based", help="Where LIBSVM indices begin."),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be read.")]
Threads = Annotated[int, typer.Option("--threads", "-j", help="Threads; -1: all. Results do not depend on it.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Results and errors only.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")]
