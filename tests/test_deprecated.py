"""What is deprecated works, and warns with the replacement, as docs/project/versions.md says."""

from pathlib import Path

import numpy as np
import pytest

import kernline
from kernline import analysis, kernels

POLICY = Path(__file__).parents[1] / "docs" / "project" / "versions.md"


def test_gradient_curves():
    pytest.importorskip("matplotlib").use("agg")
    rng = np.random.default_rng(0)
    curve = analysis.gradient_curve(kernels.Chi2(), "hats", rng.random(30), rng.choice([-1.0, 1.0], 30))
    with pytest.warns(FutureWarning, match=r"from 0\.4 on.*ApproximationDisplay"):
        axes = kernline.plot.gradient_curves({"hats": curve})
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), curve.exact)
    assert "`kernline.plot.gradient_curves(curves, ax)` | 0.2 | 0.4 |" in POLICY.read_text()


def test_deprecated_names_are_not_listed():
    assert "plot" not in kernline.__all__
