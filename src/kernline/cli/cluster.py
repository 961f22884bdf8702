"""``train --dask``: train on the workers of a Dask cluster, which read the files."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .models import relative_gap
from .output import Output

if TYPE_CHECKING:
    from .estimators import SVM


def cluster_class(cls: type[SVM]) -> type[SVM]:
    """The Dask estimator of this class."""
    from .. import dask as cluster  # says which extra is missing
    from ..estimators.additive import AdditiveSVC
    from ..estimators.additive_svr import AdditiveSVR

    named: dict[type, type] = {AdditiveSVC: cluster.DaskAdditiveSVC, AdditiveSVR: cluster.DaskAdditiveSVR}
    if cls not in named:
        raise UsageError(f"--dask trains additive models; {cls.__name__} has no Dask version. Leave out --dask.")
    return named[cls]


def fit_on_cluster(out: Output, address: str, model: Any, data: str, target: str | None, path: Path) -> None:
    """Fit a Dask estimator to the files that match `data`, and save the model."""
    from ..dask import connected
    from ..model_files.files import save

    if not glob.glob(data):
        raise FileNotFoundError(f"{data}: no such file. Workers read it by the same name.")
    with out.status(f"Connecting to {address}"):
        client = connected(address)
    with client:
        out.note(f"Training {type(model).__name__} on {len(client.nthreads())} workers")
        model.set_params(client=client)
        model.fit(data, target)
    local = model.to_local()
    save(local, path)
    name = type(local).__name__
    record = {
        "model": str(path),
        "estimator": name,
        "kernel": model.kernel_,
        "scale": model.scale_,
        "loss": model.loss_,
        "C": model.C_,
        "rows": model.shapes_.training.n_rows,
        "features": model.n_features_in_,
        "classes": getattr(model, "classes_", None),
        "rounds": model.n_iter_,
        "relative_gap": relative_gap(model),
        "seconds": {"total": out.seconds},
    }
    line = f"{path}: {name}, {model.n_iter_.max()} rounds, {out.seconds:.2f} s"
    out.result(record, [] if out.quiet else [line])
