"""Every build of the loops gives the same answers."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernline import kernels

from .conftest import KERNELS


@pytest.mark.parametrize("kernel", [*KERNELS, kernels.Linear()], ids=lambda kernel: kernel.name)
def test_instruction_sets_agree(kernel):
    """The baseline build of the loops, in a process of its own, gives what the dispatched one gives."""
    program = (
        "from sklearn.datasets import load_digits; from kernline import AdditiveSVC, kernels, _core;"
        f"X, y = load_digits(return_X_y=True); m = AdditiveSVC(kernels.{kernel!r}, random_state=0).fit(X, y);"
        "print(_core.target(), m.objective_.sum(), m.score(X, y), m.kernel(X[:50] ** 1.5).sum())"
    )
    outputs = {}
    for target in ("baseline", "avx2"):
        done = _run(program, KERNLINE_TARGET=target)
        name, *numbers = done.split()
        outputs[name] = np.array(numbers, dtype=float)
    assert "baseline" in outputs
    for numbers in outputs.values():
        assert_allclose(numbers[0], outputs["baseline"][0], rtol=0.01)
        assert_allclose(numbers[1], outputs["baseline"][1], atol=0.01)
        assert_allclose(numbers[2], outputs["baseline"][2], rtol=1e-12)


def _run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, check=True
    ).stdout
