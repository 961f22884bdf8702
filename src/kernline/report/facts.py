"""Facts of a report: the model, its parameters, its training, the data, and versions."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import scipy
import sklearn

from ..array_types import MatrixLike, is_sparse
from ..shapes import ShapeFunctions
from .markup import number, shortened
from .outcome import Classified, Outcome, Predictor

_MOST_EDITS = 100
# Fitted values that stand beside the parameters they come from.
_FITTED = ("kernel_", "C_", "gamma_", "loss_", "scale_", "solver_")

Rows = list[tuple[str, object]]


def steps_of(model: Predictor) -> list[Predictor]:
    """The steps of a pipeline, without those that pass the rows through; or the model alone."""
    if not hasattr(model, "steps"):
        return [model]
    return [step for _, step in model.steps if step is not None and not isinstance(step, str)]


def described(model: Predictor) -> str:
    """The class of a model, with the steps of a pipeline."""
    return shortened(" → ".join(type(step).__name__ for step in steps_of(model)))


def relative_gap(model: Predictor) -> float | None:
    """The largest duality gap of all problems, relative to its objective; None without a certificate."""
    gap, objective = (getattr(model, name, None) for name in ("dual_gap_", "objective_"))
    if gap is None or objective is None:
        return None
    value = float((np.asarray(gap) / np.maximum(np.asarray(objective), 1e-300)).max(initial=0.0))
    return value if np.isfinite(value) else None


def training_rows(model: Predictor, problems: Sequence[str]) -> tuple[list[list[object]], list[str]]:
    """A row for each problem, and the heading: epochs, and the objective and gap if there is a certificate."""
    epochs = np.atleast_1d(np.asarray(getattr(model, "n_iter_", []))).tolist()
    names = (
        list(problems)
        if len(problems) == len(epochs)
        else ["all" if len(epochs) == 1 else str(k) for k in range(len(epochs))]
    )
    rows: list[list[object]] = [[name, epoch] for name, epoch in zip(names, epochs, strict=True)]
    head = ["Problem", "Epochs"]
    for attribute, title in (("objective_", "Objective"), ("dual_gap_", "Duality gap")):
        values = np.atleast_1d(np.asarray(getattr(model, attribute, []), dtype=np.float64)).tolist()
        if len(values) == len(rows) and rows:
            head.append(title)
            for row, value in zip(rows, values, strict=True):
                row.append(number(value))
    return rows, head


def model_facts(model: Predictor, shapes: ShapeFunctions | None) -> Rows:
    """What the model is."""
    final = steps_of(model)[-1]
    rows: Rows = [("Model", described(model)), ("Features", _features(model, final))]
    rows += [(f"{name.rstrip('_')} used", _short(getattr(final, name))) for name in _FITTED if hasattr(final, name)]
    if shapes is not None:
        rows += [("Pairs of features", f"{len(shapes.pairs):,}"), ("Size in memory", f"{shapes.nbytes / 1024:,.0f} KB")]
        rows += [("Edited", shortened(edit)) for edit in shapes.edits[:_MOST_EDITS]]
        n_more = len(shapes.edits) - _MOST_EDITS
        rows += [("Edited", f"and {n_more:,} more")] if n_more > 0 else []
    return rows


def _features(model: Predictor, final: Predictor) -> str:
    """The number of columns of the data, and of those that the steps of a pipeline make of them."""
    given, made = (getattr(step, "n_features_in_", None) for step in (model, final))
    text = "–" if given is None else f"{given:,}"
    return text if given == made or made is None else f"{text}, from which the steps before the model make {made:,}"


def parameters(model: Predictor) -> Rows:
    """The parameters of all steps."""
    found: Rows = []
    for step in steps_of(model):
        prefix = f"{type(step).__name__}: " if hasattr(model, "steps") else ""
        found += [(prefix + name, _short(value)) for name, value in step.get_params(deep=False).items()]
    return found


def data_facts(X: MatrixLike, outcome: Outcome, source: str | None) -> Rows:
    """What the rows of the report are."""
    rows: Rows = [] if source is None else [("File", shortened(source))]
    rows.append(("Rows", f"{outcome.n_rows:,}"))
    if is_sparse(X):
        rows.append(("Stored values", f"{X.nnz:,}"))
    if isinstance(outcome, Classified):
        counts = np.bincount(outcome.true, minlength=len(outcome.names))
        for name, at in (("Most frequent class", counts.argmax()), ("Rarest class", counts.argmin())):
            rows.append((name, f"{outcome.names[int(at)]}, {counts[at]:,} rows"))
        unknown = int(counts[outcome.n_classes :].sum())
        rows += [("Rows with a label that the model does not know", f"{unknown:,}")] if unknown else []
    else:
        for k, values in enumerate(outcome.true.T):
            suffix = "" if outcome.true.shape[1] == 1 else f" of output {k}"
            spread = f"{number(float(values.mean()))} ± {number(float(values.std()))}"
            rows.append((f"Mean and standard deviation of y{suffix}", spread))
    return rows


def versions(bokeh_version: str) -> Rows:
    """The versions of what made the report, and when."""
    from .. import __version__

    return [
        ("kernline", __version__),
        ("Python", platform.python_version()),
        ("NumPy", np.__version__),
        ("SciPy", scipy.__version__),
        ("scikit-learn", sklearn.__version__),
        ("Bokeh", bokeh_version),
        ("Written", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
    ]


def _short(value: object) -> str:
    text = np.array2string(value, threshold=20) if isinstance(value, np.ndarray) else str(value)
    return shortened(text)
