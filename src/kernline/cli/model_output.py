"""Where a trained model goes, and what is saved with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .data import is_model
from .errors import UsageError
from .output import Output


def model_file(out: Output, data: str, model: str | None, force: bool) -> Path:
    """Where the model goes, checked before anything is read: it overwrites neither the data nor what is no model."""
    if model is None and data == "-":
        raise UsageError("data from standard input has no name to call the model by: give MODEL.")
    path = Path(model if model is not None else f"{Path(data.removeprefix('@')).name}.kern")
    if data != "-" and path.exists() and Path(data).exists() and path.samefile(data):
        raise UsageError(f"MODEL would overwrite the data, {data}.")
    if not force and path.is_file() and path.stat().st_size and not is_model(str(path)):
        raise UsageError(
            f"{path} exists and is no model file; MODEL is where the model goes. Name another file, or pass --force."
        )
    out.claim(path)
    return path


def save_model(svm: Any, content: Any, path: Path) -> None:
    """Save with what the file says and the array does not: names of columns, the target, the base of indices."""
    import numpy as np

    import kernline

    if content.feature_names is not None:
        svm.feature_names_in_ = np.array(content.feature_names, dtype=object)
    if content.zero_based is not None:
        svm.zero_based_ = content.zero_based
    if content.target is not None:
        svm.target_name_ = content.target
    kernline.save(svm, path)
