"""``report``: an HTML page about a model and how it does on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as opt
from .data import Reading
from .files import check_output, model_and_data
from .models import load_predictor, readable
from .output import Output


def report(
    model: opt.ModelFile,
    data: opt.DataFile,
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Where to write the page; - is standard output.", show_default=True
        ),
    ] = "report.html",
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TEXT", help="Heading of the page. Default: the names of both files."),
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
        path = None if output == "-" else Path(output)
        if path is None:
            out.take_stdout()
        else:
            check_output(path, model, data)
            out.claim(path)
        svm = load_predictor(model, reading.threads)
        with out.status(f"Reading {data}"):
            content = Reading(out, reading).labelled(data, svm)
        if not len(content.y):
            raise ValueError(f"{data} has no rows to report on.")
        from ..io.atomic import replacing
        from ..report.writing import page_of

        name = title if title is not None else f"{Path(model).name}, evaluated on {Path(data).name}"
        with out.status("Writing the report"):
            page = page_of(svm, readable(svm, content.X), content.y, title=name, source=data)
            if path is None:
                with out.stdout() as stream:
                    stream.buffer.write(page)
            else:
                with replacing(path) as file:
                    file.write(page)
        record = {"output": output, "rows": len(content.y), "bytes": len(page), "seconds": out.seconds}
        out.result(record, [] if path is None else [f"{path}: open it in a browser"])
