"""Measurements. Run a module by name, ``python -m benchmarks.additive``, to print its results.

Data sets come from `kernline.datasets`. If KERNLINE_DATA is not set, a folder ``shared/data`` next to the checkout is
used, if it exists.
"""

import os
from pathlib import Path

_beside = Path(__file__).resolve().parents[2] / "shared" / "data"
if _beside.is_dir():
    os.environ.setdefault("KERNLINE_DATA", str(_beside))
# One thread for the peers too: BLAS and OpenMP read these when they are loaded.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
