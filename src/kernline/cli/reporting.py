"""``report``: an HTML page about a model and how it does on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as opt
from .data import Reading, check_not_input, model_and_data
from .models import load_predictor, readable
from .output import Output


def report(
    model: opt.ModelFile,
    data: opt.DataFile,
    output: Annotated[
        str, typer.Option("-o", "--output", help="Where to write the page.", show_default=True)
    ] = "report.html",
    title: Annotated[
        str | None, typer.Option("--title", help="Heading of the page. Default: the names of both files.")
    ] = None,
    *,
    reading: opt.ForModel,
    out: Output,
) -> None:
    """Write an HTML page about a model, evaluated on labelled data.

    The page has scores with intervals, the confusion matrix, the curve of every feature, and rows whose values can be
    changed to see the decision follow. It is one file of at most 5 MB that needs no network.

    \b
    kernline report model.kern test.csv -o report.html
    kernline report model.kern test.svm --title "Spam, May"
    """
    with out.working():
        model, data = model_and_data(model, data)
        path = Path(output)
        check_not_input(path, model, data)
        out.claim(path)
        svm = load_predictor(model, reading.threads)
        with out.status(f"Reading {data}"):
            content = Reading(out, reading).labelled(data, svm)
        if not len(content.y):
            raise ValueError(f"{data} has no rows to report on.")
        from ..report.writing import report as write

        name = title if title is not None else f"{Path(model).name}, evaluated on {Path(data).name}"
        with out.status("Writing the report"):
            write(svm, readable(svm, content.X), content.y, path, title=name, source=data)
        size = path.stat().st_size if path.is_file() else None
        record = {"output": str(path), "rows": len(content.y), "bytes": size, "seconds": out.seconds}
        out.result(record, [f"{path}: open it in a browser"])
