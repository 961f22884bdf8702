"""A table of numbers and categories with gaps, whose classes and numbers depend on pairs of columns."""

import numpy as np

CATEGORICAL = [2, 3]


def paired(n_rows=600, seed=0):
    """Two numbers, the first with NaN; two categories, the first with NaN; and a score that no sum of curves gives."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=(n_rows, 2)), rng.integers(0, 4, n_rows), rng.integers(1, 4, n_rows)]
    score = 2.0 * X[:, 0] * X[:, 1] + np.where(X[:, 2] % 2 == X[:, 3] % 2, 1.5, -1.5) + X[:, 1] * (X[:, 2] == 3)
    score += 0.3 * rng.standard_normal(n_rows)
    X[rng.random(n_rows) < 0.1, 0] = np.nan
    X[rng.random(n_rows) < 0.05, 2] = np.nan
    return X, score


def labels(score, n_classes=3):
    """Classes by the score."""
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def new_rows():
    """Rows like those of the training, beyond their range, and with levels that it had not."""
    X, _ = paired(200, seed=1)
    X[::7, 2], X[::11, 3], X[::5, 1], X[::13, 0] = 17.0, 0.5, 50.0, -1e6
    return X
