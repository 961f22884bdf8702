"""Generated data of any size."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .catalogue import Dataset


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
