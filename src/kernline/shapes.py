"""ShapeFunctions: the one fitted form of every additive model, f(x) = b + Σ_j f_j(x_j)."""

from __future__ import annotations

import difflib
import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names

from . import _core
from .encoding import Encoder
from .native import decision, native_table, slots_of, weights_in
from .sources import row_blocks, sources
from .tables import Table

Array = NDArray[np.float64]

_NAMES_SHOWN, _NAMES_LISTED = 5, 20  # in a summary; in an error


@dataclass(frozen=True, repr=False)
class ShapeFunctions:
    """One curve per feature and problem. A problem is a class against the rest; a binary model has one.

    `weights` is W, (n_problems, n_features, width); with the `encoder` and the method's read `table` φ,
    f_j(x) = φ(code of x) · W_j. `feature_names_in_` are the names of the columns that the model was fitted on, None if
    they had none.
    """

    encoder: Encoder
    table: Table
    weights: NDArray[np.float32]
    intercepts: Array
    feature_names_in_: NDArray[Any] | None = None
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

    def with_names(self, names: NDArray[Any] | None) -> ShapeFunctions:
        """Return the same curves, not copied, of features with these names."""
        named = type(self).__new__(type(self))
        named.__dict__.update(self.__dict__, feature_names_in_=names)
        return named

    def __repr__(self) -> str:
        parts = [
            f"{self.n_features} features",
            f"{self.n_problems} {'curve' if self.n_problems == 1 else 'curves'} each",
        ]
        parts.append(f"{type(self.table).__name__} of width {self.weights.shape[2]}")
        if self.feature_names_in_ is not None:
            shown = ", ".join(map(str, self.feature_names_in_[:_NAMES_SHOWN]))
            parts.append(f"named {shown}{', …' if self.n_features > _NAMES_SHOWN else ''}")
        return f"ShapeFunctions({', '.join(parts)})"

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

    def evaluate(self, feature: int | str, values: ArrayLike) -> Array:
        """f_j at `values` for one feature, by its number from 0 or its name: (n_values, n_problems)."""
        j = self._number(feature)
        self._check_column(j, values)
        column = np.asarray(values, dtype=np.float64)
        if column.ndim > 2 or (column.ndim == 2 and column.shape[1] != 1):
            raise ValueError(f"evaluate: values must be those of one feature; got shape {column.shape}.")
        column = column.reshape(-1, 1)
        if not np.isfinite(column).all():
            raise ValueError("evaluate: values must be finite; got NaN or infinity.")
        row_start, _, cells = self.encoder.column(j).transform(column, write=False).entries()
        curve = np.zeros((column.size, self.n_problems))
        curve[np.diff(row_start) > 0] = self.table.vectors(cells) @ self.weights[:, j].T
        return curve

    def importance(self, X: Any) -> Array:
        """How much each curve moves the score over the rows of X, as a standard deviation: (n_features, n_problems).

        The columns of X are checked as `predict` checks them: their number, and their names in order if both have any.
        """
        _check_feature_names(self, X, reset=False)
        columns: Any = check_array(X, accept_sparse="csc", dtype=np.float64, input_name="X")
        if columns.shape[1] != self.n_features:
            raise ValueError(f"importance: X has {columns.shape[1]} features, and the model {self.n_features}.")
        spread = np.empty((self.n_features, self.n_problems))
        for j in range(self.n_features):
            column = columns[:, [j]].toarray() if sp.issparse(columns) else columns[:, j]
            spread[j] = self.evaluate(j, column).std(axis=0)
        return spread

    def _number(self, feature: int | str) -> int:
        """The number of a feature."""
        if isinstance(feature, str):
            return self._number_of_name(feature)
        try:
            j = operator.index(feature)
        except TypeError:
            raise TypeError(f"evaluate: feature must be a number or a name, not {feature!r:.50}.") from None
        if not 0 <= j < self.n_features:
            raise IndexError(f"evaluate: no feature {j}. There are {self.n_features}, 0 to {self.n_features - 1}.")
        return j

    def _number_of_name(self, name: str) -> int:
        if self.feature_names_in_ is None:
            raise ValueError(
                f"evaluate: no feature {name!r}. The model was fitted on columns without names: pass a number, 0 to "
                f"{self.n_features - 1}."
            )
        names = [str(known) for known in self.feature_names_in_]
        if name not in names:
            near = difflib.get_close_matches(name, names, n=3)
            listed = ", ".join(names[:_NAMES_LISTED]) + (", …" if len(names) > _NAMES_LISTED else "")
            hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {listed}."
            raise ValueError(f"evaluate: no feature {name!r}. {hint}")
        return names.index(name)

    def _check_column(self, j: int, values: Any) -> None:
        """Refuse a column of pandas, or of a like library, that has the name of another feature."""
        names = getattr(values, "columns", [getattr(values, "name", None)])
        if self.feature_names_in_ is None or len(names) != 1 or names[0] is None:
            return
        given, expected = str(names[0]), str(self.feature_names_in_[j])
        if given != expected and given in self.feature_names_in_:
            raise ValueError(f"evaluate: the values are those of {given!r}, and feature {j} is {expected!r}.")
