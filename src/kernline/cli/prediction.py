"""``predict`` and ``evaluate``: predict labels or numbers, and measure how good they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from . import options as opt
from .data import Reading, labelled_part
from .errors import UsageError
from .files import check_output, model_and_data
from .models import Classifier, is_classifier, load_predictor
from .models import probabilities as probabilities_of
from .models import scores as scores_of
from .output import Output, table
from .regression import measured, prediction_lines

if TYPE_CHECKING:
    from ..array_types import Array, Labels
    from .data import LabelSets

_MANY_CLASSES = 50


def predict(
    model: opt.ModelFile,
    data: opt.DataFile,
    result: Annotated[str | None, typer.Argument(metavar="OUTPUT", help="Same as -o.")] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write the predictions, one per line; .csv files get a header. Default: standard output.",
        ),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Write scores after the labels.")] = False,
    probability: Annotated[
        int,
        typer.Option(
            "-b",
            "--probability",
            metavar="0|1",
            min=0,
            max=1,
            help="1: write the probability of each class after the labels.",
        ),
    ] = 0,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="The same as -b 1.")] = False,
    *,
    reading: opt.ForModel,
    out: Output,
) -> None:
    """Predict labels, or numbers with a regression.

    MODEL and DATA can be given in either order: model files are recognised by their content. Before scores or
    probabilities, labels that contain spaces are quoted.

    \b
    kernline predict model.kern test.svm -o out.csv
    kernline predict test.svm model.kern out.txt
    cat test.svm | kernline predict model.kern - --scores > out.txt
    kernline predict -b 1 test.svm model.kern out.txt
    """
    with out.working():
        path = _output_path(result, output)
        probability = probability or int(probabilities)
        if scores and probability:
            raise UsageError(
                "--scores and -b 1 (--probabilities) both write numbers after the labels. Pass one of them."
            )
        model, data = model_and_data(model, data)
        if path is not None:
            check_output(path, model, data)
            out.claim(path)
        svm = load_predictor(model, reading.threads)
        if scores and not is_classifier(svm):
            raise UsageError(f"--scores: {model} is a regression, which has no scores besides its predictions.")

        def score(X: Any) -> list[Array]:
            return [scores_of(svm, X), *([probabilities_of(svm, X, model)] if probability else [])]

        content, (values, *more) = Reading(out, reading).scored(data, svm, score)
        chances = more[0] if more else None
        csv = path is not None and path.suffix.lower() == ".csv"
        if is_classifier(svm):
            labels = _labels(svm, values)
            record, line = _counted(*labelled_part(labels, content.y))
            predicted = {"labels": labels} | ({"scores": values} if scores else {})
            predicted |= {} if chances is None else {"probabilities": chances}
            lines = _lines(svm, labels, values if scores else None, chances, csv=csv)
        else:
            record, line = measured(*labelled_part(values, content.y))
            predicted, lines = {"predictions": values}, prediction_lines(values, csv=csv)
        record["rows"] = len(values)  # including those without a label
        if path is not None:
            _write(path, lines)
            out.result(record | {"output": str(path)}, [] if out.quiet or not line else [line])
        elif out.json:
            out.result(record | predicted, [])
        else:
            with out.stdout() as stream:
                stream.write(lines)
            if line:
                out.note(line)


def evaluate(
    model: opt.ModelFile,
    data: opt.DataFile,
    *,
    reading: opt.ForModel,
    out: Output,
) -> None:
    """Evaluate a model on labelled data.

    Prints the accuracy, and the precision and recall of each class; of a regression, R² and the errors. A model that
    was trained on a table remembers the label column.

    \b
    kernline evaluate model.kern test.svm
    kernline evaluate model.kern table.csv
    kernline evaluate model.kern table.parquet --target species --json
    """
    with out.working():
        model, data = model_and_data(model, data)
        svm = load_predictor(model, reading.threads)
        content, (values,) = Reading(out, reading).labelled_scores(data, svm, lambda X: [scores_of(svm, X)])
        if not len(content.y):
            raise ValueError(f"{data} has no rows to evaluate on.")
        if is_classifier(svm):
            _report_labels(out, svm, _labels(svm, values), content.y)
            return
        record, line = measured(values, content.y)
        if not line:
            raise ValueError(
                f"{data}: the target must have a number per row, as the model predicts "
                f"{values.reshape(len(values), -1).shape[1]}. Choose another --target."
            )
        out.result(record, [line])


def _report_labels(out: Output, svm: Classifier, labels: Labels, y: Labels) -> None:
    """The accuracy, and how well each class is found."""
    record, line = _counted(labels, y)
    classes = _by_class(svm, labels, y)
    unknown = sum(entry["rows"] for entry in classes if not entry["known"])
    if unknown:
        out.warn(f"{unknown} rows have labels that the model was not trained on; they count as errors.")
    lines = [line]
    if not out.quiet and len(classes) <= _MANY_CLASSES:
        rows = [
            [entry["label"], entry["rows"], _percent(entry["precision"]), _percent(entry["recall"])]
            for entry in classes
        ]
        lines += ["", *table(["class", "rows", "precision", "recall"], rows)]
    out.result(record | {"classes": classes}, lines)


def _output_path(argument: str | None, option: str | None) -> Path | None:
    """Where the labels go; None is standard output."""
    if argument is not None and option is not None:
        raise UsageError(f"two outputs: {argument} and -o {option}. Pass one of them.")
    output = option or argument
    return None if output is None or output == "-" else Path(output)


def _write(path: Path, lines: str) -> None:
    from ..io.atomic import replacing

    with replacing(path) as file:
        file.write(lines.encode())


def _labels(svm: Classifier, values: Array) -> Labels:
    from ..estimators.one_vs_rest import labels

    return labels(svm.classes_, values)


def _as_kind_of(labels: Labels, y: Labels) -> tuple[Labels, Labels]:
    """Both as text if one is, because a number never equals text."""
    if (labels.dtype.kind in "OUS") != (y.dtype.kind in "OUS"):
        return labels.astype(str), y.astype(str)
    return labels, y


def _counted(labels: Labels, y: Labels | LabelSets | None) -> tuple[dict[str, object], str]:
    """The number of correct labels, worded as in LIBSVM."""
    import numpy as np

    record: dict[str, object] = {"rows": len(labels)}
    if y is None or not len(y):
        return record, ""
    found, true = _as_kind_of(labels, np.asarray(y))
    correct = int((found == true).sum())
    record |= {"accuracy": correct / len(y), "correct": correct}
    return record, f"Accuracy = {100.0 * correct / len(y):.4g}% ({correct}/{len(y)})"


class _ClassResult(TypedDict):
    label: str | float
    rows: int
    precision: float | None
    recall: float | None
    known: bool


def _by_class(svm: Classifier, labels: Labels, y: Labels) -> list[_ClassResult]:
    import numpy as np

    found, true = _as_kind_of(labels, y)
    known = {str(label) for label in svm.classes_.tolist()}
    names, number = np.unique(np.concatenate([found, true]), return_inverse=True)
    said_as, truly = number[: len(found)], number[len(found) :]
    said, rows, right = (
        np.bincount(k, minlength=names.size).tolist() for k in (said_as, truly, truly[said_as == truly])
    )
    is_known = np.isin(names, _as_kind_of(svm.classes_, y)[0])
    return [
        {
            "label": label,
            "rows": rows[k],
            "precision": right[k] / said[k] if said[k] else None,
            "recall": right[k] / rows[k] if rows[k] else None,
            "known": bool(is_known[k]) or str(label) in known,
        }
        for k, label in enumerate(names.tolist())
    ]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100.0 * share:.2f}"


def _lines(svm: Classifier, labels: Labels, scores: Array | None, chances: Array | None, *, csv: bool) -> str:
    """One line per row. There is one score per class; with two classes, only that of the second.

    Above probabilities is a line with the labels, as in LIBSVM. Labels with spaces are quoted if numbers follow.
    """
    import csv as table_of_text
    import io

    text = io.StringIO()
    names = [str(label) for label in svm.classes_.tolist()]
    rows: list[list[object]] = [[label] for label in labels.tolist()]
    values = scores if chances is None else chances
    if values is not None:
        columns = values.reshape(len(rows), -1).tolist()
        rows = [[*row, *numbers] for row, numbers in zip(rows, columns, strict=True)]
        kind = "score" if chances is None else "probability"
        heads = [f"{kind}_{name}" for name in (names[1:] if chances is None and len(names) == 2 else names)]
    writer = table_of_text.writer(text, delimiter="," if csv else " ", lineterminator="\n")
    if csv:
        writer.writerow(["label", *(heads if values is not None else [])])
        writer.writerows(rows)
    elif values is not None:
        writer.writerows([] if chances is None else [["labels", *names]])
        writer.writerows(rows)
    else:
        text.writelines(f"{label}\n" for (label,) in rows)
    return text.getvalue()
