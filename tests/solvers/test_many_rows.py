"""Many rows, whose weights are found on a sample, and categories of many levels, which have a diagonal of their own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from kernline import AdditiveSVC, AdditiveSVR
from kernline.solvers import evidence
from kernline.solvers.sampled_hessian import SampledHessian


def table(n_rows=4000):
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(-1.0, 1.0, (n_rows, 3)), 3)
    f = 2.0 * np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2
    return X, f + 0.3 * rng.standard_normal(n_rows)


@pytest.fixture
def sampled(monkeypatch):
    """A sample of more than 3000 rows has 1500; the row counts of all problems whose Hessian was formed."""
    monkeypatch.setattr(evidence, "_MANY_ROWS", 3000)
    monkeypatch.setattr(evidence, "SAMPLE_ROWS", 1500)
    sizes = []
    of = SampledHessian.of.__func__
    monkeypatch.setattr(
        SampledHessian,
        "of",
        classmethod(lambda cls, lbfgs, F: (sizes.append(lbfgs.basis.data.n_rows), of(cls, lbfgs, F))[1]),
    )
    return sizes


@pytest.mark.parametrize("interactions", [0, 2])
def test_all_rows_are_solved_from_the_solution_of_a_sample(sampled, monkeypatch, interactions):
    X, y = table()
    labels = (y > 0.5).astype(int)
    by_sample = AdditiveSVC(interactions=interactions).fit(X, labels)
    assert sampled[-1] == 4000
    assert sampled.count(4000) == 1  # the rounds of evidence have seen the sample only
    # The certificate is that of all rows: the loss of no model is below it.
    C, proba = by_sample.C_, by_sample.predict_proba(X)[np.arange(4000), labels]
    assert by_sample.dual_gap_[0] <= 0.01 * by_sample.objective_[0]
    assert by_sample.objective_[0] > -C * np.log(proba).sum()
    monkeypatch.setattr(evidence, "_MANY_ROWS", 5000)
    by_all = AdditiveSVC(interactions=interactions).fit(X, labels)
    assert sampled.count(4000) > 2
    assert np.abs(by_sample.predict_proba(X) - by_all.predict_proba(X)).mean() < 0.02
    assert by_sample.feature_weights_[2] < by_sample.feature_weights_[:2].min()


@pytest.mark.usefixtures("sampled")
def test_the_noise_of_a_regression_is_that_of_the_sample():
    X, y = table()
    model = AdditiveSVR().fit(X, y)
    assert_allclose(model.C_, y.var() / (2.0 * 0.3**2), rtol=0.2)


@pytest.mark.usefixtures("sampled")
def test_threads_and_repetitions_give_the_same():
    X, y = table()
    scores = [AdditiveSVC(interactions=1, n_jobs=n).fit(X, y > 0.5).decision_function(X) for n in (1, 2, 1)]
    assert_array_equal(scores[0], scores[1])
    assert_array_equal(scores[0], scores[2])


def test_many_levels_are_indicators():
    """Each level has one weight, as an indicator in a logistic regression; most levels are rare."""
    rng = np.random.default_rng(0)
    level = (600 * rng.random(2500) ** 3).astype(int)
    y = (rng.standard_normal(600)[level] + 0.5 * rng.standard_normal(2500) > 0).astype(int)
    X = level[:, None].astype(float)
    params = {"kernel": "intersection", "categorical": [0], "loss": "log", "gamma": 1.0, "C": 2.0}
    ours = AdditiveSVC(**params, tol=1e-8, max_iter=1000).fit(X, y)
    indicators = OneHotEncoder().fit_transform(X)
    peer = LogisticRegression(C=2.0, tol=1e-8, solver="newton-cg").fit(indicators, y)
    assert_allclose(ours.decision_function(X), peer.decision_function(indicators), atol=2e-3)
    assert ours.n_iter_[0] < 30
