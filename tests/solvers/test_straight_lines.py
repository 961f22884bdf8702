"""Straight lines beside curves on ranks: where the truth is linear, as accurate as a linear model."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernline import AdditiveSVC, AdditiveSVR, kernels, tables, training
from kernline.solvers.straight_lines import lines_of_ranks

UNITS = np.array([1.0, 10.0, 100.0, 1e3, 1e4, 1e5])


def sums(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, UNITS.size))
    return X * UNITS, X.sum(axis=1)


def encoded(X):
    settings = training.AdditiveSettings(kernels.Intersection(), tables.Hats(16, spacing=1.0), scale="rank")
    return training.encode(X, settings)


def test_as_accurate_as_logistic_regression_where_it_is_right():
    X, score = sums(2000, 0)
    y = np.clip(np.round(score), -2, 2)
    ours = AdditiveSVC().fit(X[:1000], y[:1000])
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(X[:1000], y[:1000])
    assert ours.scale_ == "rank"
    assert ours.score(X[1000:], y[1000:]) >= linear.score(X[1000:], y[1000:]) - 0.01


def test_as_accurate_as_ridge_where_it_is_right():
    X, y = sums(400, 1)
    y = y + np.random.default_rng(0).normal(size=400)
    ours, linear = AdditiveSVR().fit(X[:200], y[:200]), make_pipeline(StandardScaler(), Ridge()).fit(X[:200], y[:200])
    assert ours.score(X[200:], y[200:]) >= linear.score(X[200:], y[200:]) - 0.03


def test_curves_stay_curves():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 3))
    y = np.abs(X[:, 0]) > 0.8
    assert AdditiveSVC().fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) > 0.98


def test_lines_are_straight_between_the_fences():
    rng = np.random.default_rng(3)
    rows = encoded(rng.beta(2.0, 3.0, size=(5000, 2)) * [1.0, 1e6])
    lines = lines_of_ranks(rows.encoder, rows.pair)
    for j, line in enumerate(lines):
        x = rows.encoder.number(j).values_at(np.arange(16) / 15)
        assert line[0] == 0.0
        assert_allclose(line / line[-1], (x - x[0]) / (x[-1] - x[0]), atol=1e-12)


def test_far_values_do_not_decide_the_slope():
    x = np.r_[np.arange(1000.0), 1e12]
    rows = encoded(x[:, None])
    line = lines_of_ranks(rows.encoder, rows.pair)[0]
    assert line[-1] < 5.0 * line[-2]
