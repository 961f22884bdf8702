"""``inspect``, ``convert`` and ``export``: show the contents of a file, or write them in another format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from . import options as opt
from .data import Reading, Rows, check_not_input, check_output, is_dataset, is_model
from .errors import UsageError
from .models import Model, before_final_step, described, final_step, load_model, named_curves
from .output import Output, printable, table

if TYPE_CHECKING:
    from ..array_types import Array, Labels, Matrix
    from ..encoding import LevelTable
    from ..shapes import ShapeFunctions
    from .data import LabelSets

_EXPORTS = {".onnx": "onnx", ".h": "c", ".c": "c", ".json": "json", ".csv": "csv"}
# How files start that `export` wrote: C, JSON, CSV with its line of intercepts, ONNX with the name of its producer.
_EXPORTED = re.compile(
    rb'/\* Written by kernline|\{\s*"classes": |feature,(value|from),[^\n]*\n,,|.{0,8}kernline', re.DOTALL
)
_MANY = 20
_MAIN_PARAMETERS = ("kernel", "approximation", "C", "loss", "scale", "basis", "n_basis", "budget", "tol")


def inspect(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A model file, a data file, or @NAME for a named data set.")
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="FILE", help="Data used to rank the features. Default: as they mattered in training."
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Number of features to list and draw.")] = 10,
    *,
    reading: opt.SingleLabelled,
    out: Output,
) -> None:
    """Show what a model or data file contains.

    Of an additive model, the most important features are listed, and their curves are drawn: the effect on the score
    from the lowest to the highest value, for the classes in which it matters most.

    \b
    kernline inspect model.kern
    kernline inspect model.kern --data train.svm --top 20
    kernline inspect train.csv --target species

    Features without names are numbered from 0, so index 1 of a LIBSVM file is feature 0.
    """
    with out.working():
        source = Reading(out, reading)
        if not is_model(file):
            record = _of_data(source.rows(file))
            out.result(record, _listed(record))
            return
        svm = load_model(file)
        record = _of_model(svm, file)
        lines = _listed(record)
        shapes = _curves(svm) if data is not None else _ranked_curves(svm)  # checked before the data is read
        if shapes is not None:
            total = shapes.importance(None if data is None else before_final_step(svm, source.rows(data, svm).X))
            lines += _ranking(record, svm, shapes, total.sum(axis=1), top, draw=not out.json)
        out.result(record, lines)


def convert(
    source: opt.DataFile,
    output: Annotated[
        str, typer.Argument(metavar="OUTPUT", help="Output file, in the format of its suffix; - for standard output.")
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT",
            autocompletion=opt.FORMAT_NAMES,
            help="Output format, if the file name does not show it.",
        ),
    ] = "auto",
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="KERNEL", help="Of the models to train on a .kdata file. Default: auto."),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option("--scale", metavar="SCALE", help="Of the models to train on a .kdata file. Default: auto."),
    ] = None,
    *,
    reading: opt.ReadingOptions,
    out: Output,
) -> None:
    """Convert data to another format.

    Formats are svmlight (LIBSVM), csv, tsv, parquet, arrow, npy and npz. With the suffix .gz, .bz2 or .xz the output is
    compressed. A .kdata file holds the rows as codes, a byte per value or less, for `kernline train`; DATA is read
    twice for it, and is never in memory as a whole.

    \b
    kernline convert data.svm data.kdata
    kernline convert table.csv table.svm --target species
    kernline convert data.svm.bz2 data.parquet
    kernline convert @digits digits.svm
    """
    with out.working():
        from .. import io
        from ..io.atomic import replacing

        if is_dataset(output) and to == "auto":
            _convert_to_codes(Reading(out, reading), source, output, kernel, scale)
            return
        if kernel is not None or scale is not None:
            raise UsageError("--kernel and --scale apply to .kdata files, which hold codes.")
        kind = io.FORMATS[io.format_of(output, to)]
        path = Path(output)
        if output != "-":
            check_output(path, source)
            out.claim(path)
        content = Reading(out, reading).rows(source)
        qid = content.qid
        if qid is not None and "qid" not in kind.stores:
            out.warn(f"{source} has query numbers (qid), which {kind.name} cannot store; they are left out.")
            qid = None
        target = reading.target
        label = target if target is not None and not target.lstrip("-").isdigit() else "label"

        def write(stream: BinaryIO) -> None:
            names, y = content.feature_names, cast("Labels | None", content.y)
            io.write(stream, content.X, y, name=output, format=to, feature_names=names, target=label, qid=qid)

        if output == "-":
            with out.stdout() as text:
                write(text.buffer)
            return
        with replacing(path) as stream:
            write(stream)
        rows, features = content.X.shape
        record = {"output": output, "rows": rows, "features": features, "skipped_lines": content.n_skipped}
        out.result(record, [] if out.quiet else [f"{output}: {rows:,} × {features:,}"])


def _convert_to_codes(reading: Reading, source: str, output: str, kernel: str | None, scale: str | None) -> None:
    """Encode the rows of a file."""
    out, path = reading.out, Path(output)
    check_output(path, source)
    out.claim(path)
    with out.status(f"Reading {source}"):
        dataset = reading.dataset(source, kernel=kernel or "auto", scale=scale or "auto")
        dataset.save(path)
    rows, features = dataset.shape
    record = {"output": output, "rows": rows, "features": features, "bytes": path.stat().st_size}
    out.result(record, [] if out.quiet else [f"{output}: {rows:,} × {features:,}, {path.stat().st_size:,} bytes"])


def export(
    model: opt.ModelFile,
    output: Annotated[
        str,
        typer.Argument(metavar="OUTPUT", help="Output file; its suffix selects the format: .onnx, .h, .json or .csv."),
    ],
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="onnx, c, json or csv, if the suffix does not show it.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Prefix of the names in C. Default: the file name.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite OUTPUT even if it is not an exported model.")
    ] = False,
    *,
    out: Output,
) -> None:
    """Export a model to ONNX, C, JSON or CSV.

    The C header has no dependencies. JSON and CSV contain the curves of an additive model.

    \b
    kernline export model.kern model.onnx
    kernline export model.kern model.h
    """
    with out.working():
        path = Path(output)
        form = to or _EXPORTS.get(path.suffix.lower())
        if form not in _EXPORTS.values():
            raise UsageError(f"{output}: the suffix does not show the format. Pass --to onnx, c, json or csv.")
        if name is not None and form != "c":
            raise UsageError(f"--name does not apply to format {form}, only to c.")
        check_not_input(path, model)
        if not force and not _is_replaceable(path):
            raise UsageError(f"{path} exists and is not an exported model. Choose another file, or pass --force.")
        out.claim(path)
        svm = load_model(model)
        from .. import export as forms

        getattr(forms, f"to_{form}")(svm, path, **({"name": name} if name is not None else {}))
        size = path.stat().st_size if path.is_file() else None
        line = f"{output}: {size:,} bytes" if size is not None else output
        out.result({"output": output, "form": form, "bytes": size}, [] if out.quiet else [line])


def _is_replaceable(path: Path) -> bool:
    """Whether an export may take the place of this file: it is an export, empty, or not a regular file."""
    if not path.is_file():
        return True
    with path.open("rb") as file:
        start = file.read(1 << 16)
    return not start or _EXPORTED.match(start) is not None


def _of_model(svm: Model, file: str) -> dict[str, object]:
    record: dict[str, object] = {
        "estimator": described(svm),
        "features": svm.n_features_in_,
        "classes": svm.classes_.tolist() if hasattr(svm, "classes_") else None,
        "outputs": len(units) if (units := getattr(final_step(svm), "target_unit_", None)) is not None else None,
        "bytes": Path(file).stat().st_size,
    }
    last = final_step(svm)
    for name in ("basis_", "support_vectors_"):
        if hasattr(last, name):
            record["landmarks"] = getattr(last, name).shape[0]
    names = getattr(svm, "feature_names_in_", None)
    record |= {"feature_names": None if names is None else [str(name) for name in names]}
    record["target"] = getattr(svm, "target_name_", None)
    shapes = named_curves(svm)
    if shapes is not None and shapes.pairs:
        record["pairs"] = [_named(shapes, pair.columns) for pair in shapes.pairs]
    if shapes is not None and shapes.edits:
        record["edits"] = list(shapes.edits)
    return record | {"gamma": getattr(last, "gamma_", None), "parameters": _parameters(last)}


def _parameters(svm: Model) -> dict[str, object]:
    """The main parameters, as the fit chose them, and all that differ from their defaults."""
    defaults, given = type(svm)().get_params(), svm.get_params()
    chosen = ("kernel", "C", "scale", "loss")
    given |= {name: getattr(svm, f"{name}_") for name in chosen if hasattr(svm, f"{name}_")}
    main = {name: given[name] for name in _MAIN_PARAMETERS if name in given}
    return main | {name: value for name, value in given.items() if str(value) != str(defaults.get(name))}


def _of_data(content: Rows) -> dict[str, object]:
    import numpy as np

    from ..array_types import is_sparse
    from ..encoding import LevelTable

    X, y = content.X, content.y
    texts: dict[str, object] = {}
    numbers = X
    if isinstance(X, LevelTable):
        numbers, texts = _of_text(X)
    values = numbers.data if is_sparse(numbers) else numbers
    filled = np.count_nonzero(values) / max(1, numbers.shape[0] * numbers.shape[1])
    record: dict[str, object] = {"rows": X.shape[0], "features": X.shape[1], "filled": round(float(filled), 6)}
    record |= texts
    if values.size and not np.isnan(values).all():
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        record |= {"lowest": min(low, 0.0) if is_sparse(X) and filled < 1.0 else low, "highest": high}
        record["missing"] = int(np.isnan(values).sum())
    record["feature_names"] = content.feature_names
    if y is not None:
        record |= _of_target(y)
    return record | {"skipped_lines": content.n_skipped}


def _of_target(y: Labels | LabelSets) -> dict[str, object]:
    """The labels and their counts; of many numbers with fractions, which are to be predicted, where they lie."""
    import numpy as np

    try:
        labels, counts = np.unique(y, return_counts=True)
    except (TypeError, ValueError):  # lists, or values of several types
        raise ValueError(f"labels of type {type(y[0]).__name__} cannot be counted. Choose another --target.") from None
    if labels.dtype.kind == "f" and labels.size > _MANY:
        low, high, mean = float(labels[0]), float(labels[-1]), float(np.average(labels, weights=counts))
        return {"target": {"distinct": labels.size, "lowest": low, "highest": high, "mean": mean}}
    return {"labels": dict(zip(labels.tolist(), counts.tolist(), strict=True))}


def _of_text(table: LevelTable) -> tuple[Matrix, dict[str, object]]:
    """The columns of numbers, and what there is to say about those of text."""
    import numpy as np

    columns = list(table.levels)
    levels = {table.columns[j]: len(table.levels[j]) for j in columns}
    missing = int(np.isnan(table.values[:, columns]).sum())
    return np.delete(table.values, columns, axis=1), {"levels": levels, "missing_texts": missing}


def _curves(svm: Model) -> ShapeFunctions:
    """The curves of an additive model. A UsageError if it has none, or not one per feature."""
    shapes = named_curves(svm)
    if shapes is None:
        raise UsageError(
            f"--data ranks features by their curves, which {described(svm)} does not have. Use an additive model."
        )
    return shapes


def _ranked_curves(svm: Model) -> ShapeFunctions | None:
    """The curves of an additive model that knows their importance; None if there are none."""
    shapes = named_curves(svm)
    return shapes if shapes is not None and shapes.training is not None else None


def _ranking(
    record: dict[str, object], svm: Model, shapes: ShapeFunctions, total: Array, top: int, *, draw: bool
) -> list[str]:
    """List the functions that change the scores most, summed over all classes, in the record and as lines."""
    functions = shapes.functions
    order = total.argsort(kind="stable")[::-1][:top].tolist()
    names = [_named(shapes, functions[k]) for k in order]
    record["importance"] = [
        {"feature": name, "importance": float(total[k])} for k, name in zip(order, names, strict=True)
    ]
    rows = [[name, f"{total[k]:.4g}"] for k, name in zip(order, names, strict=True)]
    lines = ["", *table(["feature", "importance"], rows)]
    record["scores_of"] = shapes.problem_names
    if draw:
        from .text_curves import drawn

        lines += ["", _meaning(svm, shapes), "", *drawn(shapes, order, [str(name) for name in names])]
    return lines


def _meaning(svm: Model, shapes: ShapeFunctions) -> str:
    """What an effect above or below zero speaks for."""
    classes = getattr(svm, "classes_", None)
    if classes is None:
        return "Effects on the prediction."
    if shapes.n_problems == 1 and len(classes) == 2:
        names = [printable(str(name)) for name in classes]
        return f"Effects on the score: above 0 speaks for {names[1]}, below 0 for {names[0]}."
    return "Effects on the score of each class: above 0 speaks for the class, below 0 against it."


def _named(shapes: ShapeFunctions, columns: tuple[int, ...]) -> str | int:
    """A feature by its name or number, or a pair of features."""
    names = shapes.feature_names_in_
    parts = [str(names[j]) if names is not None else j for j in columns]
    return parts[0] if len(parts) == 1 else " × ".join(map(str, parts))


def _listed(record: dict[str, object]) -> list[str]:
    """One line per entry; long lists are shortened."""
    lines = []
    for name, value in record.items():
        if value is None or value == {} or (name == "skipped_lines" and not value):
            continue
        if isinstance(value, dict):
            text = ", ".join(f"{key}: {item}" for key, item in list(value.items())[:_MANY])
        elif isinstance(value, list):
            text = ", ".join(map(str, value[:_MANY]))
        else:
            text = (
                f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
            )
        more = len(value) - _MANY if isinstance(value, (dict, list)) else 0
        lines.append(f"{name.replace('_', ' ')}: {printable(text)}" + (f" and {more} more" if more > 0 else ""))
    return lines
