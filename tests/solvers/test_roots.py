import numpy as np
import pytest
from scipy.optimize import brentq

from kernline.solvers.roots import zero_of_increasing


@pytest.mark.parametrize("seed", range(20))
def test_as_brentq_on_slopes_with_steps(seed):
    rng = np.random.default_rng(seed)
    at, height = rng.normal(size=50) * 10.0 ** rng.uniform(-3, 3), rng.random(50)

    def slope(x):
        return float(height @ (x > at)) - 0.3 * height.sum()

    low, high = at.min() - 1.0, at.max() + 1.0
    tol = 1e-9 * (high - low)
    found = zero_of_increasing(slope, low, high, tol)
    assert slope(found - 2.0 * tol) <= 0.0 <= slope(found + 2.0 * tol)
    assert found == pytest.approx(brentq(slope, low, high, xtol=tol), abs=4.0 * tol)


@pytest.mark.parametrize("power", [1, 3, 9])
def test_flat_and_straight(power):
    assert zero_of_increasing(lambda x: (x - 0.3) ** power, -5.0, 400.0, 1e-6) == pytest.approx(0.3, abs=1e-6)


def test_ends_where_the_slope_is_small_enough():
    """A steep slope: an interval that looks short may be long, as seen from its zero."""
    found = zero_of_increasing(lambda x: 1e6 * (x - 1e-4), 0.0, 1.0, 1e-9, enough=10.0)
    assert abs(1e6 * (found - 1e-4)) <= 10.0
