"""Where a trained model is saved, and what is saved with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .data import LabelledRows
from .errors import UsageError
from .files import is_model
from .output import Output

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def model_file(out: Output, data: str, model: str | None, force: bool) -> Path:
    """The path of the model, checked before any data is read. Neither the data nor other files are overwritten."""
    if model is None and data == "-":
        raise UsageError("standard input has no name from which to name the model. Pass MODEL.")
    path = Path(model if model is not None else f"{Path(data.removeprefix('@')).name}.kern")
    if data != "-" and path.exists() and Path(data).exists() and path.samefile(data):
        raise UsageError(f"MODEL would overwrite the data, {data}. Choose another file.")
    if not force and path.is_file() and path.stat().st_size and not is_model(str(path)):
        raise UsageError(f"{path} exists and is not a model file. Choose another file for the model, or pass --force.")
    out.claim(path)
    return path


def save_model(svm: BaseEstimator, content: LabelledRows, path: Path) -> None:
    """Save the model with what prediction needs to know about files: column names, target, and where indices start."""
    import numpy as np

    import kernline

    if content.feature_names is not None:
        svm.feature_names_in_ = np.array(content.feature_names, dtype=object)
    if content.zero_based is not None:
        svm.zero_based_ = content.zero_based
    if content.target is not None:
        svm.target_name_ = content.target
    kernline.save(svm, path)
