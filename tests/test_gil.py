"""The core allocates no memory of Python's while the GIL is released. From 3.12 on, that would crash."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from kernline import AdditiveSVC, AdditiveSVR, BudgetedSVC, NystromSVC, kernels

X, y = load_digits(return_X_y=True)
X, y = X[:200], y[:200]
models = [
    AdditiveSVC(interactions=2), AdditiveSVC("chi2"), AdditiveSVC("chi2", solver="newton"),
    AdditiveSVC("intersection", multi_class="crammer-singer"), AdditiveSVC("chi2", "pmsvm"), AdditiveSVR(),
    NystromSVC(n_basis=20), BudgetedSVC(budget=20),
]
for model in models:
    model.fit(X, y).predict(X)
models[1].shapes_.explain(X[:5]).values
AdditiveSVC("chi2").fit(sp.csr_array(X), y).predict(sp.csr_array(X))
AdditiveSVC("chi2").partial_fit(X, y, classes=range(10))
kernels.Chi2()(X, X)
kernels.Chi2()(sp.csr_array(X), sp.csr_array(X))
"""


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="an option of CPython")
def test_no_memory_of_python_without_the_gil():
    environment = {**os.environ, "PYTHONMALLOC": "debug"}  # its allocators abort if the caller does not hold the GIL
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[:2000]
