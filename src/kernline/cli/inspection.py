"""``inspect``: show the contents of a model or data file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .data import Reading, Rows
from .errors import UsageError
from .files import is_model
from .models import Model, before_final_step, described, final_step, load_model, named_curves
from .output import Output, printable, table

if TYPE_CHECKING:
    from ..array_types import Array, Labels, Matrix
    from ..encoding import LevelTable
    from ..shapes import ShapeFunctions
    from .data import LabelSets

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
