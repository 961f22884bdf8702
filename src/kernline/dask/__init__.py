"""The additive estimators on a Dask cluster: partitions are encoded and trained on where they are.

from dask.distributed import Client
from kernline.dask import DaskAdditiveSVC

client = Client("tcp://scheduler:8786")
model = DaskAdditiveSVC().fit(X, y)          # dask arrays, data frames, or the names of files
model.predict(X)                             # lazy, per partition
kernline.save(model.to_local(), "m.kern")    # an AdditiveSVC, which needs no Dask
"""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(f"kernline.dask needs Dask ({error.name} is missing): pip install kernline[dask]") from error

from .estimators import DaskAdditiveSVC, DaskAdditiveSVR
from .session import ClusterError, connected

__all__ = ["ClusterError", "DaskAdditiveSVC", "DaskAdditiveSVR", "connected"]
