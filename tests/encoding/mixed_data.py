"""A table with a category, missing values and a pair of columns, and models of its terms."""

import numpy as np

from kernline import AdditiveSVC
from kernline.encoding import TermSpec

CATEGORY, MISSING, PAIR = TermSpec("category", (2,)), TermSpec("missing", (0,)), TermSpec("pair", (2, 3))
BINNED = TermSpec("pair", (1, 2), {"bins": (4, None)})
TERMS = (CATEGORY, MISSING, PAIR, BINNED, TermSpec("missing", (2,)))


def mixed(n_rows=400, seed=0):
    """Two numbers, the first with NaN; a category of -1, 0, 1, 2 and NaN; a number of few values; three classes."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.gamma(1.0, 1.0, (n_rows, 2)), rng.integers(-1, 3, n_rows), rng.integers(1, 4, n_rows)]
    score = X[:, 0] - X[:, 1] + 2.0 * (X[:, 2] == 0) + (X[:, 2] * X[:, 3] > 2) + 0.3 * rng.standard_normal(n_rows)
    X[rng.random(n_rows) < 0.2, 0] = np.nan
    X[rng.random(n_rows) < 0.05, 2] = np.nan
    return X, np.digitize(score, [0.0, 1.0])


def new_rows():
    """Rows like those of the training, beyond their range, and with levels that it had not."""
    X, _ = mixed(100, seed=1)
    X[::7, 2], X[::11, 3], X[::5, 1] = 17.0, 0.5, 50.0
    return X


def indicators(X, columns):
    """A column of 0 and 1 for each combination of levels that is in the training data's table."""
    training, _ = mixed()
    levels = [np.unique(training[:, j][~np.isnan(training[:, j])]) for j in columns]
    grid = np.stack(np.meshgrid(*levels, indexing="ij"), axis=-1).reshape(-1, len(columns))
    return np.stack([(X[:, list(columns)] == cell).all(axis=1) for cell in grid], axis=1).astype(np.float64)


def with_terms(model, *terms):
    """The model with terms besides its numbers."""
    model._terms = lambda: terms
    return model


def fitted(*terms, y=None, X=None, **params):
    """An AdditiveSVC of the table, with the chi2 kernel of its raw values."""
    table, labels = mixed()
    model = with_terms(AdditiveSVC(**({"kernel": "chi2", "scale": "max", "random_state": 0} | params)), *terms)
    return model.fit(table if X is None else X, labels if y is None else y)
