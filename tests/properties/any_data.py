"""Small data of any kind, and how far two solutions of one problem may be apart."""

import os

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from kernline import AdditiveSVC

checked = settings(
    max_examples=int(os.environ.get("KERNLINE_EXAMPLES", "12")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
LOSSES = ("hinge", "squared_hinge")


@st.composite
def tables(draw, least_rows=6, most_rows=40):
    """Whole numbers 0 to 15, some columns constant, and labels ±1 of both kinds."""
    n, d, seed = draw(st.integers(least_rows, most_rows)), draw(st.integers(1, 4)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.integers(0, draw(st.sampled_from([2, 4, 16])), (n, d)).astype(np.float64)
    X[0] = 15.0  # every column has the same largest value, and so the same scale
    y = rng.choice([-1, 1], n)
    y[:2] = [-1, 1]
    return X, y


def fitted(X, y, weight=None, *, loss="hinge", **parameters):
    """A fit without intercept, whose gap is small."""
    parameters = {"kernel": "chi2", "scale": "max", "C": 1.0, "tol": 1e-5, "fit_intercept": False} | parameters
    model = AdditiveSVC(loss=loss, random_state=0, max_iter=10_000, **parameters)
    return model.fit(X, y, sample_weight=weight)


def assert_same_solution(one, other, X, of_other=None):
    """Two models solve one problem: their objectives and scores are as close as their certificates say.

    The optimum P* lies in [P − gap, P] for both, so the objectives differ by the larger gap at most. The objective is
    strongly convex, ½‖f − f*‖² ≤ P(f) − P* ≤ gap, and |f(x)| ≤ √K(x, x) ‖f‖, with K(x, x) = Σ_j x_j for the χ² kernel
    at its knots, between which hats are below it. What is left is the rounding of float32.
    """
    gaps = [np.asarray(model.dual_gap_, dtype=np.float64).max() for model in (one, other)]
    objectives = [np.asarray(model.objective_, dtype=np.float64) for model in (one, other)]
    rounding = 1e-5 * (1.0 + np.abs(objectives[0]).max())
    assert np.abs(objectives[0] - objectives[1]).max() <= max(gaps) + rounding
    found, expected = one.decision_function(X), other.decision_function(X if of_other is None else of_other)
    norm = np.sqrt(2.0 * max(gaps[0], 0.0)) + np.sqrt(2.0 * max(gaps[1], 0.0))
    reach = np.sqrt(np.asarray(X, dtype=np.float64).sum(axis=1)) * norm
    assert (np.abs(found - expected) <= reach + 1e-4 * (1.0 + np.abs(found).max())).all()
