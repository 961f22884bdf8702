"""``explain``: why a model predicts what it does, row by row."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from . import options as opt
from .data import Reading
from .errors import UsageError
from .files import check_output, model_and_data
from .models import (
    Classifier,
    Regressor,
    before_final_step,
    described,
    final_step,
    is_classifier,
    load_predictor,
    named_curves,
)
from .output import Output, encodable

if TYPE_CHECKING:
    from rich.text import Text

    from ..array_types import Array, Matrix
    from ..shapes import ShapeFunctions
    from .text_curves import Painter

_FORMATS = ("text", "csv", "json")
# Contributions that are computed at once.
_BLOCK_VALUES = 10_000_000


class _Part(TypedDict):
    feature: str
    value: str | float | None
    contribution: float


class _Row(TypedDict):
    row: int
    prediction: str | int | float
    score_of: str
    score: float
    intercept: float
    contributions: list[_Part]
    others: float


def explain(
    model: opt.ModelFile,
    data: opt.DataFile,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Where to write the explanations. Default: standard output."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="FORMAT", help="text, csv or json. Default: by the suffix of the output, else text."
        ),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=1, help="Contributions to show per row, the largest first.")
    ] = 5,
    *,
    reading: opt.ForModel,
    out: Output,
) -> None:
    """Explain predictions row by row.

    Shows what each feature adds to the score of the predicted class, or, with two classes, to that of the second; of a
    regression, to the prediction. Each of several outputs is explained. The intercept, the contributions
    shown and the sum of the others add up to the score. Effects are centred: a feature adds nothing where it has its
    average effect. Those of sparse rows are not: there a zero adds nothing.

    \b
    kernline explain model.kern rows.csv
    kernline explain model.kern rows.csv --top 3 -o why.csv
    kernline explain model.kern rows.csv --to json | head
    """
    with out.working():
        path = None if output in (None, "-") else Path(str(output))
        form = _form(to, path, json=out.json)
        model, data = model_and_data(model, data)
        if path is not None:
            check_output(path, model, data)
            out.claim(path)
        svm = load_predictor(model, reading.threads)
        shapes = _shapes(svm, model)
        X = Reading(out, reading).rows(data, svm).X
        rows = Explainer(svm, shapes, top, reading.threads).rows(X)
        if path is None and form == "text":
            with out.stdout():
                _show(rows)
            return
        text = {"text": _plain_text, "csv": _csv, "json": _json}[form](rows)
        if path is None:
            with out.stdout() as stream:
                stream.write(encodable(text, stream))
            return
        from ..io.atomic import replacing

        with replacing(path) as file:
            file.write(text.encode("utf-8", "replace"))
        out.result({"output": str(path), "rows": X.shape[0]}, [] if out.quiet else [f"{path}: {X.shape[0]} rows"])


def _form(to: str | None, path: Path | None, *, json: bool) -> str:
    if to is not None and to not in _FORMATS:
        raise UsageError(f"--to {to} is not known. Choose {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}.")
    by_suffix = path.suffix.lower().removeprefix(".") if path is not None else ""
    if json and to not in (None, "json") and path is None:
        raise UsageError(f"--json and --to {to} contradict each other. Pass one of them.")
    return to or ("json" if json and path is None else by_suffix if by_suffix in _FORMATS else "text")


def _shapes(svm: Classifier | Regressor, path: str) -> ShapeFunctions:
    shapes = named_curves(svm)
    if shapes is None:
        raise UsageError(
            f"{path} is a {described(svm)}, whose score is not a sum over features. Train an additive model, such as "
            "AdditiveSVC, to have its predictions explained."
        )
    return shapes


class Explainer:
    """Explains rows with the `top` largest contributions of each."""

    def __init__(self, svm: Classifier | Regressor, shapes: ShapeFunctions, top: int, threads: int) -> None:
        from ..threads import thread_count

        self.svm, self.top, self.n_threads = svm, top, thread_count(threads)
        self.shapes, self.functions, self.names = shapes, shapes.functions, shapes.function_names
        read, given = shapes.feature_names_in_, getattr(svm, "feature_names_in_", None)
        # Steps that only scale keep the columns: then the values are shown as they were read.
        self.keeps_columns = svm is final_step(svm) or (
            shapes.n_features == svm.n_features_in_ and (read is None or given is None or list(read) == list(given))
        )
        self.units = getattr(final_step(svm), "target_unit_", None)

    def rows(self, X: Matrix) -> Iterator[_Row]:
        """The explanations of the rows of X, computed in blocks."""
        step = max(1, _BLOCK_VALUES // (len(self.names) * self.shapes.n_problems))
        for begin in range(0, X.shape[0], step):
            block = X[begin : begin + step]
            yield from self._block(block, begin)

    def _block(self, X: Matrix, begin: int) -> Iterator[_Row]:
        import numpy as np

        received = before_final_step(self.svm, X)
        shapes = self.shapes.centred() if self.shapes.is_centred_for(received) else self.shapes
        found = shapes.explain(received, self.n_threads)
        X = X if self.keeps_columns else received
        units = np.ones(self.shapes.n_problems) if self.units is None else self.units
        scores = found.decision() * units
        for i, p, prediction in self._predictions(scores):
            parts = found.row(i, p) * units[p]
            shown = found.top(i, self.top, p)
            yield {
                "row": begin + i + 1,
                "prediction": prediction,
                "score_of": self.shapes.problem_names[p],
                "score": float(scores[i, p]),
                "intercept": float(found.intercepts[p] * units[p]),
                "contributions": [
                    {"feature": self.names[k], "value": self._value(X, i, k), "contribution": float(parts[k])}
                    for k in shown
                ],
                "others": float(parts.sum() - parts[shown].sum()),
            }

    def _predictions(self, scores: Array) -> Iterator[tuple[int, int, str | int | float]]:
        """Rows, the problems to explain, and what is predicted: each of several outputs."""
        if not is_classifier(self.svm):
            yield from ((i, p, float(scores[i, p])) for i, p in product(range(len(scores)), range(scores.shape[1])))
            return
        from ..estimators.one_vs_rest import labels

        values = scores[:, 0] if scores.shape[1] == 1 else scores
        problems = [0] * len(scores) if scores.shape[1] == 1 else scores.argmax(axis=1).tolist()
        found = labels(self.svm.classes_, values).tolist()
        yield from zip(range(len(scores)), problems, found, strict=True)

    def _value(self, X: Matrix, i: int, k: int) -> str | float | None:
        """The value of a feature in a row, as it was read; of a pair, both as text. None is a missing value."""
        values = [_cell(X, i, j) for j in self.functions[k]]
        if len(values) == 1:
            return values[0]
        return ", ".join(_worded(value) for value in values)


def _cell(X: Matrix, i: int, j: int) -> str | float | None:
    from ..encoding import LevelTable

    if isinstance(X, LevelTable):
        value = float(X.values[i, j])
        if value != value:
            return None
        return X.levels[j][int(value)] if j in X.levels else value
    number = float(X[i, j])  # type: ignore[arg-type, index]
    return None if number != number else number


def _show(rows: Iterator[_Row]) -> None:
    """Print explanations as they are found, in colour if standard output is a terminal."""
    from rich.console import Console

    from .text_curves import Painter

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:  # rich would end with exit code 1
            raise BrokenPipeError

    console = PlainConsole(file=sys.stdout, highlight=False, soft_wrap=True)
    painter = Painter(console)
    for row in rows:
        for line in _lines(row, painter):
            console.print(line, overflow="ignore", crop=False)


def _plain_text(rows: Iterator[_Row]) -> str:
    """Explanations as text for a file, in UTF-8."""
    from rich.console import Console

    from .text_curves import Painter

    file = io.StringIO()
    painter = Painter(Console(file=file, width=100, no_color=True))
    return "".join(f"{line.plain}\n" for row in rows for line in _lines(row, painter))


def _lines(row: _Row, painter: Painter) -> list[Text]:
    from rich.cells import cell_len

    from ..number_text import aligned, short
    from .text_curves import DOWN, UP

    of, prediction = painter.shown(row["score_of"]), row["prediction"]
    if isinstance(prediction, float):
        name = "" if of == "prediction" else f"{of} = "
        lines = [painter.text(f"row {row['row']}: {name}{short(prediction)}", "bold")]
    else:
        lines = [painter.text(f"row {row['row']}: {painter.shown(str(prediction))}", "bold")]
        lines[0].append(f" (score of {of} {row['score']:+.4g})")
    parts = [(_described(part, painter), part["contribution"]) for part in row["contributions"]]
    parts = [("intercept", row["intercept"]), *parts, ("all others", row["others"])]
    room = max(cell_len(name) for name, _ in parts)
    largest = max(abs(value) for _, value in parts) or 1.0
    width = max(8, min(30, painter.width - room - 16))
    for (name, value), text in zip(parts, aligned([value for _, value in parts]), strict=True):
        line = painter.text(f"  {name}{' ' * (room - cell_len(name))} {text} ")
        line.append_text(painter.bar(abs(value) / largest, width, UP if value > 0.0 else DOWN))
        line.rstrip()
        lines.append(line)
    return lines


def _described(part: _Part, painter: Painter) -> str:
    return f"{painter.shown(part['feature'], 40)} = {painter.shown(_worded(part['value']))}"


def _worded(value: str | float | None) -> str:
    return "missing" if value is None else value if isinstance(value, str) else f"{value:.6g}"


def _csv(rows: Iterator[_Row]) -> str:
    """One line per contribution; those of a row add up to its score."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "prediction", "score_of", "score", "feature", "value", "contribution"])
    for row in rows:
        head = [row["row"], row["prediction"], row["score_of"], row["score"]]
        writer.writerow([*head, "(intercept)", "", row["intercept"]])
        for part in row["contributions"]:
            value = "" if part["value"] is None else part["value"]
            writer.writerow([*head, part["feature"], value, part["contribution"]])
        writer.writerow([*head, "(others)", "", row["others"]])
    return text.getvalue()


def _json(rows: Iterator[_Row]) -> str:
    """A list of rows."""
    from ..json_text import json_text

    return json_text({"rows": list(rows)}) + "\n"
