"""Data of the tests of BudgetedSGD."""

import numpy as np
import pytest
from sklearn.datasets import make_moons


@pytest.fixture(scope="module")
def clouds():
    """400 rows of 5 features, float32 values, and labels ±1 that a line does not part."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 5)).astype(np.float32).astype(np.float64)
    return X, np.where((X[:, :2] ** 2).sum(axis=1) + 0.3 * rng.standard_normal(400) > 1.5, 1.0, -1.0)


@pytest.fixture(scope="module")
def moons():
    return make_moons(3000, noise=0.25, random_state=0)
