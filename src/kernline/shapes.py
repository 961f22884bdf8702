"""ShapeFunctions: the one fitted form of every additive model, f(x) = b + Σ_j f_j(x_j)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .encoding import Encoder
from .native import decision
from .tables import Table

Array = NDArray[np.float64]

# Cells encoded at a time when predicting: the codes of a block stay in cache, and no copy of the data is made.
_BLOCK_CELLS = 2_000_000


@dataclass(frozen=True)
class ShapeFunctions:
    """One curve a feature and problem. A problem is a class against the rest; a binary model has one.

    `weights` is W, (n_problems, n_features, width); with the `encoder` and the method's read `table` φ,
    f_j(x) = φ(code of x) · W_j.
    """

    encoder: Encoder
    table: Table
    weights: NDArray[np.float32]
    intercepts: Array

    @property
    def n_problems(self) -> int:
        """Curves a feature has."""
        return self.weights.shape[0]

    @property
    def n_features(self) -> int:
        """Features the model was fitted on."""
        return self.weights.shape[1]

    @property
    def nbytes(self) -> int:
        """Size of the model: weights, intercepts and what the encoder learnt of each feature."""
        learnt = (self.encoder.offsets, self.encoder.factors, self.encoder.edges, self.encoder.levels)
        return self.weights.nbytes + self.intercepts.nbytes + sum(array.nbytes for array in learnt)

    def decision(self, X: Any, n_threads: int = 1) -> Array:
        """f(x) of every row (validated CSR or array) and problem."""
        blocks = [
            decision(self.encoder.transform(X[rows], write=False), self.table, self.weights, self.intercepts, n_threads)
            for rows in self._row_blocks(X)
        ]
        return np.concatenate(blocks) if blocks else np.empty((0, self.n_problems))

    def evaluate(self, feature: int, values: ArrayLike) -> Array:
        """f_j at `values` for feature number `feature`: (n_values, n_problems)."""
        column = np.asarray(values, dtype=np.float64).ravel()
        X = sp.csr_array(
            (column, np.full(column.size, feature), np.arange(column.size + 1)), shape=(column.size, self.n_features)
        )
        return self.decision(X) - self.intercepts

    def importance(self, X: Any) -> Array:
        """How much each curve moves the score over the rows of X, as a standard deviation: (n_features, n_problems)."""
        columns = sp.csc_array(X) if sp.issparse(X) else X
        spread = np.empty((self.n_features, self.n_problems))
        for j in range(self.n_features):
            column = columns[:, [j]].toarray() if sp.issparse(columns) else columns[:, j]
            spread[j] = self.evaluate(j, column).std(axis=0)
        return spread

    def _row_blocks(self, X: Any) -> Iterator[slice]:
        step = max(1, _BLOCK_CELLS // max(1, X.shape[1]))
        for begin in range(0, X.shape[0], step):
            yield slice(begin, min(begin + step, X.shape[0]))
