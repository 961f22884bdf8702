"""ShapeFunctions: the one fitted form of every additive model, f(x) = b + Σ_j f_j(x_j)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from . import _core
from .encoding import Encoder
from .native import decision, native_table, slots_of, weights_in
from .sources import row_blocks, sources, with_own_indices
from .tables import Table

Array = NDArray[np.float64]


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
    _slots: NDArray[np.float32] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Arrange the weights as the core reads them; `weights` becomes a view of that, so that an edit is seen."""
        slots = slots_of(self.weights)
        object.__setattr__(self, "_slots", slots)
        object.__setattr__(self, "weights", weights_in(slots, self.weights.shape))

    @classmethod
    def of_slots(
        cls, encoder: Encoder, table: Table, slots: NDArray[np.float32], shape: tuple[int, ...], intercepts: Array
    ) -> ShapeFunctions:
        """Return the curves of weights of this `shape` that are arranged already; they are not copied."""
        shapes = cls.__new__(cls)
        weights = weights_in(slots, shape)
        shapes.__dict__.update(encoder=encoder, table=table, weights=weights, intercepts=intercepts, _slots=slots)
        return shapes

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_slots"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

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
        """f(x) of every row (validated CSR or array) and problem, a block of rows at a time; no codes are kept."""
        out = np.empty((X.shape[0], self.n_problems))
        slots, intercepts = self._slots, np.ascontiguousarray(self.intercepts, dtype=np.float64)
        if self.encoder.grid is not None:
            table = native_table(self.table)
            for rows, source in sources(X):
                _core.predict(self.encoder.native, source, table, slots, intercepts, out[rows], n_threads)
            return out
        for rows in row_blocks(X):
            data = self.encoder.transform(X[rows], write=False, n_threads=n_threads)
            out[rows] = decision(data, self.table, slots, intercepts, n_threads)
        return out

    def evaluate(self, feature: int, values: ArrayLike) -> Array:
        """f_j at `values` for feature number `feature`: (n_values, n_problems)."""
        column = np.asarray(values, dtype=np.float64).reshape(-1, 1)
        if not np.isfinite(column).all():
            raise ValueError("evaluate: values must be finite; got NaN or infinity.")
        row_start, _, cells = self.encoder.column(feature).transform(column, write=False).entries()
        curve = np.zeros((column.size, self.n_problems))
        curve[np.diff(row_start) > 0] = self.table.vectors(cells) @ self.weights[:, feature].T
        return curve

    def importance(self, X: Any) -> Array:
        """How much each curve moves the score over the rows of X, as a standard deviation: (n_features, n_problems)."""
        columns: Any = sp.csc_array(with_own_indices(X)) if sp.issparse(X) else np.asarray(X)
        if columns.shape[1] != self.n_features:
            raise ValueError(f"importance: X has {columns.shape[1]} features, and the model {self.n_features}.")
        spread = np.empty((self.n_features, self.n_problems))
        for j in range(self.n_features):
            column = columns[:, [j]].toarray() if sp.issparse(columns) else columns[:, j]
            spread[j] = self.evaluate(j, column).std(axis=0)
        return spread
