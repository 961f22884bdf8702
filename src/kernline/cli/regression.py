"""What ``predict``, ``evaluate`` and cross-validation report of numbers that a regression predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..array_types import Array, Labels
    from .data import LabelSets


def measured(predictions: Array, y: Labels | LabelSets | None) -> tuple[dict[str, object], str]:
    """R², root mean squared error and mean absolute error, and a line of these; only the rows if y has no numbers."""
    import numpy as np

    record: dict[str, object] = {"rows": len(predictions)}
    true = np.asarray(y if y is not None else [])
    if true.shape != predictions.shape or true.dtype.kind not in "biuf" or not len(true):
        return record, ""
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

    r2 = r2_score(true, predictions) if len(true) > 1 else None  # not defined for one row
    rmse, mae = root_mean_squared_error(true, predictions), mean_absolute_error(true, predictions)
    line = f"RMSE = {rmse:.6g}, MAE = {mae:.6g} ({len(true)} rows)"
    return record | {"r2": r2, "rmse": rmse, "mae": mae}, line if r2 is None else f"R² = {r2:.4f}, {line}"


def prediction_lines(predictions: Array, *, csv: bool) -> str:
    """One line per row; a CSV file has a header."""
    rows = predictions.reshape(len(predictions), -1)
    delimiter = "," if csv else " "
    names = ["prediction"] if rows.shape[1] == 1 else [f"prediction_{k}" for k in range(rows.shape[1])]
    lines = [delimiter.join(map(repr, row)) for row in rows.tolist()]
    return "".join(f"{line}\n" for line in ([delimiter.join(names), *lines] if csv else lines))
