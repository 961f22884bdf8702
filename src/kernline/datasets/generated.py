"""Generated data of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..array_types import Labels
from ..pandas_import import pandas_for
from .catalogue import Dataset

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


def make_bag_of_words(
    n_train: int = 100_000,
    n_test: int = 20_000,
    n_features: int = 2_000,
    *,
    n_classes: int = 4,
    words_a_document: int = 60,
    random_state: int = 0,
) -> Dataset:
    """Word counts of documents, as sparse matrices.

    Words follow Zipf's law, and each class prefers some of them by a random factor. Counts are bursty, as in real text:
    a word that appears once appears again, so whether it appears is more informative than how often. On such data, chi2
    and intersection kernels are better than linear models.

    Parameters
    ----------
    n_train, n_test : int
        Documents of each part.
    n_features : int, default=2000
        Words.
    n_classes : int, default=4
        Classes.
    words_a_document : int, default=60
        Mean number of different draws per document.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        Sparse counts, and labels from 0.

    Examples
    --------
    >>> from kernline.datasets import make_bag_of_words
    >>> make_bag_of_words(100, 10, n_features=50).X_test.shape
    (10, 50)
    """
    rng = np.random.default_rng(random_state)
    zipf = 1.0 / np.arange(1, n_features + 1)
    preferences = zipf * np.exp(0.6 * rng.standard_normal((n_classes, n_features)))
    cumulative = np.cumsum(preferences / preferences.sum(axis=1, keepdims=True), axis=1)
    n_documents = n_train + n_test
    y = rng.integers(n_classes, size=n_documents)
    length = rng.poisson(words_a_document, size=n_documents)
    row = np.repeat(np.arange(n_documents, dtype=np.int32), length)
    word = np.empty(row.size, dtype=np.int32)
    draw = rng.random(row.size)
    for label in range(n_classes):
        mine = y[row] == label
        word[mine] = np.searchsorted(cumulative[label, :-1], draw[mine])
    burst = rng.geometric(rng.choice([0.15, 0.6, 0.95], size=row.size))
    counts = sp.coo_array((burst.astype(np.float64), (row, word)), (n_documents, n_features))
    X = counts.tocsr()
    return Dataset(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def make_customers(n_rows: int = 4_000, *, random_state: int = 0) -> tuple[pd.DataFrame, Labels]:
    """Customers of a shop and whether each comes back: a data frame of numbers, text and gaps, and labels.

    Income is skewed and often not given, more so by the young; whether a customer comes back depends on age and income
    by curves, on the region, on a gap in income, and on visits and discounts together.

    Parameters
    ----------
    n_rows : int, default=4000
        Customers.
    random_state : int, default=0
        Seed.

    Returns
    -------
    X : pandas.DataFrame
        Age, income, region, visits and discount.
    y : array
        "returns" or "leaves".

    Examples
    --------
    >>> from kernline.datasets import make_customers
    >>> X, y = make_customers(100)
    >>> list(X.columns)
    ['age', 'income', 'region', 'visits', 'discount']
    """
    pd = pandas_for("make_customers")
    rng = np.random.default_rng(random_state)
    age = np.clip(rng.normal(42.0, 14.0, n_rows), 18.0, 90.0).round()
    income = np.exp(rng.normal(10.2 + 0.01 * (age - 42.0), 0.6, n_rows)).round(-2)
    region = rng.choice(["north", "south", "east", "west", "islands"], n_rows, p=[0.3, 0.3, 0.2, 0.15, 0.05])
    visits = rng.poisson(3.0, n_rows)
    discount = rng.random(n_rows) < 0.4
    gap = rng.random(n_rows) < np.where(age < 30.0, 0.4, 0.1)
    effect = {"north": 0.0, "south": 0.6, "east": -0.4, "west": 0.2, "islands": -1.2}
    score = -(((age - 45.0) / 15.0) ** 2) + 0.8 * np.log(income / 27_000.0) + np.vectorize(effect.get)(region)
    score += 0.5 * np.sqrt(visits) + np.where(discount, 0.4 * (visits - 3.0), 0.0) - 0.8 * gap + 0.4
    y = np.where(rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score)), "returns", "leaves")
    table = {"age": age, "income": np.where(gap, np.nan, income), "region": region, "visits": visits}
    return pd.DataFrame(table | {"discount": discount}), y
