"""``train --dask``: train on the workers of a Dask cluster, which read the files."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .output import Output

if TYPE_CHECKING:
    from .estimators import SVM


def train_on_cluster(
    out: Output,
    address: str,
    data: str,
    target: str | None,
    cls: type[SVM],
    given: dict[str, object],
    param: list[str],
    path: Path,
) -> None:
    """Fit the Dask estimator of this class to the files that match `data`, and save the model."""
    from .. import dask as cluster  # says which extra is missing
    from ..estimators.additive import AdditiveSVC
    from ..estimators.additive_svr import AdditiveSVR
    from ..model_files.files import save
    from . import estimators

    named: dict[type, type] = {AdditiveSVC: cluster.DaskAdditiveSVC, AdditiveSVR: cluster.DaskAdditiveSVR}
    if cls not in named:
        raise UsageError(f"--dask trains additive models; {cls.__name__} has none on a cluster. Leave out --dask.")
    if not glob.glob(data):
        raise FileNotFoundError(f"{data}: no such file. Workers read it by the same name.")
    model: Any = estimators.build(named[cls], given, param)
    with out.status(f"Connecting to {address}"):
        client = cluster.connected(address)
    with client:
        out.note(f"Training {cls.__name__} on {len(client.nthreads())} workers")
        model.set_params(client=client)
        model.fit(data, target)
    save(model.to_local(), path)
    record = {
        "model": str(path),
        "estimator": cls.__name__,
        "kernel": model.kernel_,
        "scale": model.scale_,
        "loss": model.loss_,
        "C": model.C_,
        "rows": model.shapes_.training.n_rows,
        "features": model.n_features_in_,
        "classes": getattr(model, "classes_", None),
        "rounds": model.n_iter_,
        "relative_gap": float((model.dual_gap_ / model.objective_.clip(1e-300)).max()),
        "seconds": {"total": out.seconds},
    }
    out.result(
        record, [] if out.quiet else [f"{path}: {cls.__name__}, {model.n_iter_.max()} rounds, {out.seconds:.2f} s"]
    )
