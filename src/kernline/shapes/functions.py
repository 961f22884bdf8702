"""ShapeFunctions: the one fitted form of every additive model, f(x) = b + Σ_j f_j(x_j), and pairs f_jk(x_j, x_k)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from .. import _core
from ..array_types import Array, Floats, Indices, Labels, Matrix, MatrixLike, is_sparse
from ..caching import cached_property
from ..encoding import EncodedData, Encoder, TableTerm
from ..encoding.terms import column_values
from ..native import decision, native_table, slots_of, weights_in
from ..pair_functions import PairFunction, sum_of_pairs
from ..sklearn_compat import check_feature_names
from ..sources import row_blocks, sources, with_own_indices
from ..table_input import new_matrix
from ..tables import Table
from .checked_rows import checked_rows
from .comparison import HasShapes, compare, frame_of
from .contributions import Contributions, explain
from .curves import Curve, curve_of, shifted
from .edits import Change, Direction, Ends, Replacement, edited
from .names import FunctionKey, check_column, check_number, number_of
from .training_facts import TrainingFacts

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

_NAMES_SHOWN = 5  # in a summary


@dataclass(frozen=True, repr=False)
class ShapeFunctions:
    """One curve per feature and problem. A problem is a class against the rest; a binary model has one.

    `weights` is W, (n_problems, n_columns, width), with a row for each solver column; with the `encoder` and the
    method's read `table` φ, a cell adds φ(code) · W of its column. f_j is the sum of the terms that read feature j.
    `feature_names_in_` are the names of the columns that the model was fitted on, None if they had none. `pairs` are
    the tables of pairs of features. Functions are numbered: the curve of each feature, then the pairs.

    `training` is what is kept of the training rows, None for models of older files. `class_names` has the class of each
    problem (of two classes, the second), None for a regression. `edits` lists what was changed by hand. `offsets`,
    (n_functions, n_problems), are subtracted from the functions of `centred` shapes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kernline import AdditiveSVC
    >>> wine = load_wine(as_frame=True)
    >>> model = AdditiveSVC().fit(wine.data, wine.target)
    >>> model.shapes_.name_of(model.shapes_.top(1)[0]) in wine.data.columns
    True
    >>> model.shapes_.evaluate("alcohol", [12.0, 14.0]).shape
    (2, 3)
    """

    encoder: Encoder
    table: Table
    weights: Floats
    intercepts: Array
    feature_names_in_: Labels | None = None
    pairs: tuple[PairFunction, ...] = ()
    training: TrainingFacts | None = None
    class_names: Labels | None = None
    edits: tuple[str, ...] = ()
    offsets: Array | None = None
    _slots: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Arrange the weights as the core reads them; `weights` becomes a view of that, so that an edit is seen."""
        slots = slots_of(self.weights)
        object.__setattr__(self, "_slots", slots)
        object.__setattr__(self, "weights", weights_in(slots, self.weights.shape))

    @classmethod
    def of_slots(
        cls,
        encoder: Encoder,
        table: Table,
        slots: Floats,
        shape: tuple[int, ...],
        intercepts: Array,
        pairs: tuple[PairFunction, ...] = (),
    ) -> ShapeFunctions:
        """Return the curves of weights of this `shape` that are arranged already; they are not copied."""
        shapes = cls.__new__(cls)
        weights = weights_in(slots, shape)
        shapes.__dict__.update(encoder=encoder, table=table, weights=weights, intercepts=intercepts, _slots=slots)
        shapes.__dict__.update(pairs=pairs, training=None, class_names=None, edits=(), offsets=None)
        return shapes

    @classmethod
    def of_curves(
        cls,
        encoder: Encoder,
        table: Table,
        curves: Sequence[Floats],
        intercepts: Array,
        pairs: tuple[PairFunction, ...] = (),
    ) -> ShapeFunctions:
        """Return the curves of every problem, (n_columns, width)."""
        shape = (len(curves), *curves[0].shape)
        return cls.of_slots(encoder, table, slots_of(curves), shape, intercepts, pairs)

    def with_names(self, names: Labels | None) -> ShapeFunctions:
        """Return the same curves, not copied, of features with these names."""
        return self._with(feature_names_in_=names)

    def with_classes(self, classes: Labels | None) -> ShapeFunctions:
        """Return the same curves, not copied, of these classes; of two that share a problem, the second is named."""
        names = classes if classes is None or len(classes) == self.n_problems else classes[1:]
        return self._with(class_names=names)

    def with_history(self, training: TrainingFacts | None = None, edits: tuple[str, ...] = ()) -> ShapeFunctions:
        """Return the same curves, not copied, with these facts of the training rows, and these changes since."""
        return self._with(training=training, edits=edits)

    def _with(self, **changes: object) -> Self:
        changed = type(self).__new__(type(self))
        changed.__dict__.update(self.__dict__, **changes)
        return changed

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

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_slots", "_native_table")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update({"pairs": ()} | state)
        self.__post_init__()

    @property
    def n_problems(self) -> int:
        """Curves a feature has."""
        return self.weights.shape[0]

    @property
    def n_features(self) -> int:
        """Features the model was fitted on."""
        return self.encoder.n_features

    @property
    def n_functions(self) -> int:
        """Curves, one for each feature, and tables of pairs of features, which come after them."""
        return self.encoder.n_functions + len(self.pairs)

    @property
    def functions(self) -> Sequence[tuple[int, ...]]:
        """The columns that each function reads: every single one, then pairs."""
        return [*self.encoder.functions, *(pair.columns for pair in self.pairs)]

    @property
    def functions_of_pairs(self) -> Sequence[tuple[int, ...]]:
        """Those that read two columns."""
        return [*self.encoder.pairs_of_terms, *(pair.columns for pair in self.pairs)]

    @property
    def function_names(self) -> list[str]:
        """The names of all functions: those of the features, or their numbers; a pair as "a × b"."""
        named = self.feature_names_in_
        names = [str(j) for j in range(self.n_features)] if named is None else [str(name) for name in named]
        return names + [" × ".join(names[j] for j in columns) for columns in self.functions[self.n_features :]]

    def name_of(self, k: int) -> str:
        """The name of one function."""
        named = self.feature_names_in_
        columns = (k,) if k < self.n_features else self.functions[k]
        return " × ".join(str(j) if named is None else str(named[j]) for j in columns)

    @property
    def problem_names(self) -> list[str]:
        """The name of each problem: its class, or "prediction" of a regression, with a number if there are several."""
        if self.class_names is not None:
            return [str(name) for name in self.class_names.tolist()]
        return ["prediction"] if self.n_problems == 1 else [f"prediction {p}" for p in range(self.n_problems)]

    def number_of(self, feature: FunctionKey) -> int:
        """The number of a function, which is given by its name or number; of a pair, also by two of these."""
        return number_of(self, feature, "number_of")

    @property
    def nbytes(self) -> int:
        """Size of the model: weights, intercepts, what the encoder learnt of each feature, and facts of training."""
        learnt = [self.encoder.offsets, self.encoder.factors, self.encoder.edges, self.encoder.levels]
        axes = (axis for term in self.encoder.terms if isinstance(term, TableTerm) for axis in term.axes)
        learnt += [axis.points for axis in axes]
        learnt += [pair.values for pair in self.pairs]
        facts = 0 if self.training is None else self.training.nbytes
        return self.weights.nbytes + self.intercepts.nbytes + sum(array.nbytes for array in learnt) + facts

    def decision(self, X: Matrix | EncodedData, n_threads: int = 1) -> Array:
        """f(x) of every row and problem. Rows (validated CSR or array) are encoded in blocks, and no codes are kept.

        X may also be rows that the model's encoder has encoded, unless there are pairs.
        """
        out = self.sum_of_curves(X, n_threads)
        if not self.pairs:
            return out
        if isinstance(X, EncodedData):
            raise ValueError("decision: a model with pairs of features takes values, not codes.")
        out += sum_of_pairs(self.pairs, X)
        return out

    @property
    def own_intercepts(self) -> Array:
        """The intercepts that belong to the weights: those of the functions before they were centred."""
        return self.intercepts if self.offsets is None else self.intercepts - self.offsets.sum(axis=0)

    @property
    def native_weights(self) -> tuple[Floats, Array]:
        """Weights and intercepts as the core reads them."""
        return self._slots, np.ascontiguousarray(self.own_intercepts, dtype=np.float64)

    @cached_property
    def _native_table(self) -> _core.Table:
        return native_table(self.table)

    def sum_of_curves(self, X: Matrix | EncodedData, n_threads: int = 1) -> Array:
        """As `decision`, without the tables of pairs."""
        slots, intercepts = self.native_weights
        if isinstance(X, EncodedData):
            payload = self.encoder.payload
            data = X if payload is None else replace(X, payload=payload.compute(X.cells, write=False))
            return decision(data, self.table, slots, intercepts, n_threads)
        out = np.empty((X.shape[0], self.n_problems))
        if self.encoder.is_native:
            for rows, source in sources(X):
                _core.predict(self.encoder.native, source, self._native_table, slots, intercepts, out[rows], n_threads)
            return out
        for rows in row_blocks(X):
            data = self.encoder.transform(X[rows], write=False, n_threads=n_threads)
            out[rows] = decision(data, self.table, slots, intercepts, n_threads)
        return out

    def evaluate(self, feature: FunctionKey, values: ArrayLike) -> Array:
        """f_j at `values` for one feature, by its number from 0 or its name: (n_values, n_problems).

        Values of a column of text are the names of levels. From n_features on, a pair of features has the number;
        `values` is then (n_values, 2).
        """
        k = number_of(self, feature, "evaluate")
        columns = self.functions[k]
        if len(columns) == 1:
            check_column(self, k, values)
        rows = self._values_of(columns, values)
        offset = 0.0 if self.offsets is None else self.offsets[k]
        if k >= len(self.encoder.functions):
            return self.pairs[k - len(self.encoder.functions)].evaluate(self.encoder.filled(columns, rows)) - offset
        return self._curve(columns, rows) - offset

    def _curve(self, columns: tuple[int, ...], rows: Array) -> Array:
        """f_S of these columns at rows of numbers."""
        rows = self.encoder.filled(columns, rows)
        curve = np.zeros((len(rows), self.n_problems))
        if len(columns) == 1 and self.encoder.is_number[columns[0]]:
            known = ~np.isnan(rows[:, 0])
            curve[known] = self.number_curve(columns[0], rows[known])
        for number, term in enumerate(self.encoder.terms):
            if term.columns == columns:
                curve += self._term_curve(number, rows)
        return curve

    def _values_of(self, columns: tuple[int, ...], values: ArrayLike) -> Array:
        """Values of some columns as numbers, (n_values, n_columns)."""
        has_text = any(j in self.encoder.columns.of_text for j in columns)
        given = np.asarray(values, dtype=object if has_text else np.float64)
        if given.ndim > 2 or (given.ndim == 2 and given.shape[1] != len(columns)):
            what = "one feature" if len(columns) == 1 else f"{len(columns)} features"
            raise ValueError(f"evaluate: values must be those of {what}; got shape {given.shape}.")
        rows = given.reshape(-1, len(columns))
        if has_text:
            parts = [self.encoder.columns.column(j, rows[:, k], self._name(j)) for k, j in enumerate(columns)]
            rows = np.column_stack(parts).astype(np.float64)
        if np.isinf(rows).any() or (np.isnan(rows).any() and not self._reads_nan(columns)):
            raise ValueError("evaluate: values must be finite; got NaN or infinity.")
        return rows

    def _reads_nan(self, columns: tuple[int, ...]) -> bool:
        return self.encoder.columns.gaps != "error" or bool(np.isin(columns, self.encoder.nan_columns).any())

    def _name(self, j: int) -> str:
        return str(j) if self.feature_names_in_ is None else repr(str(self.feature_names_in_[j]))

    def number_curve(self, j: int, values: ArrayLike) -> Array:
        """The part of f_j that is the term of a number, at finite `values`."""
        column = np.asarray(values, dtype=np.float64).reshape(-1, 1)
        row_start, _, cells = self.encoder.column(j).transform(column, write=False).entries()
        curve = np.zeros((column.size, self.n_problems))
        curve[np.diff(row_start) > 0] = self.table.vectors(cells) @ self.weights[:, j].T
        return curve

    def term_scores(self, number: int) -> Array:
        """φ(1) · W for every solver column of a term: (n_columns of the term, n_problems)."""
        n_columns = self.encoder.terms[number].n_columns
        return self._scores(number, np.arange(n_columns), np.ones(n_columns))

    def _term_curve(self, number: int, rows: Array) -> Array:
        column, u = self.encoder.cells(self.encoder.terms[number], rows)
        has_cell = (column >= 0) & (self.encoder.quantised(u) != 0)
        curve = np.zeros((len(rows), self.n_problems))
        curve[has_cell] = self._scores(number, column[has_cell], u[has_cell])
        return curve

    def _scores(self, number: int, column: Indices, u: Array) -> Array:
        """φ(u) · W of these columns of a term."""
        cells = self.encoder.quantised(u)
        if self.encoder.payload is not None:
            cells = self.encoder.payload.compute(cells, write=False)
        weights = self.weights[:, self.encoder.term_start[number] + column].astype(np.float64)
        return np.einsum("nk,pnk->np", self.table.vectors(cells), weights)

    def curve(self, k: FunctionKey, *, centred: bool = False, n_points: int | None = None) -> Curve:
        """One function as arrays: the points between which it is straight, or `n_points` evenly spaced ones.

        With `centred`, its mean over the training rows is subtracted.
        """
        shapes = self.centred() if centred else self
        number = number_of(self, k, "curve")
        curve = curve_of(shapes, number, n_points)
        return curve if shapes.offsets is None else shifted(curve, shapes.offsets[number])

    def frame(self, functions: Iterable[FunctionKey] | None = None, *, centred: bool = False) -> pd.DataFrame:
        """The curves as a data frame of pandas: feature, class, value, (value2 of pairs), effect and density.

        `density` is the share of the training rows nearest to the point. `functions` are numbers or names; None: all.
        """
        return frame_of(self, functions, centred=centred)

    def compare(self, other: ShapeFunctions | HasShapes) -> pd.DataFrame:
        """How the functions differ from those of another model of the same columns: see `kernline.shapes.compare`."""
        return compare(self, other)

    def centred(self) -> ShapeFunctions:
        """The same model with functions of mean zero over the training rows, and the intercepts moved accordingly."""
        offsets = self._facts("centred").mean.astype(np.float64)
        return self._with(offsets=offsets, intercepts=self.own_intercepts + offsets.sum(axis=0))

    def is_centred_for(self, X: object) -> bool:
        """Whether contributions to the scores of X are best shown centred, as reports, pictures and `explain` do.

        Those of sparse rows are not: there a zero adds nothing, and only words that occur count. Nor can functions be
        centred if the means are not known.
        """
        return self.training is not None and not is_sparse(X)

    def uncentred(self) -> ShapeFunctions:
        """The same model with the functions as they were fitted."""
        return self._with(offsets=None, intercepts=self.own_intercepts)

    def edit(
        self,
        k: FunctionKey,
        *,
        smooth: float | None = None,
        clip: Ends | None = None,
        monotone: Direction | None = None,
        replace: Replacement | None = None,
        problem: int | None = None,
    ) -> ShapeFunctions:
        """The model with one function changed, for one problem or all of them; `edits` says so.

        ``model.with_shapes(shapes)`` returns an estimator with these functions, which predicts, saves and exports.

        Parameters
        ----------
        k : number or name of the function, or a pair of features.
        smooth : a share of the range of the values (of their ranks for scale="rank"): waves shorter than that vanish.
            Points with many training rows move less.
        clip : (low, high), either of them None for no limit.
        monotone : "increasing" or "decreasing": the nearest such curve, where points with many rows count more.
        replace : for the curve of a number, a constant, (x, effect) to be interpolated, or a function of x; for a
            category, a number or a dict from names of levels; for a pair, a number or a table of its places.
        problem : the number of the problem, None for all.

        Several changes are made in the order replace, smooth, monotone, clip. The curve of a number is zero at its
        lowest value: a constant that a change adds there is added to the intercept. Curves without codes (the linear
        kernel, PmSVM) can only be replaced by a constant. `training` is updated from counts of the training rows.
        """
        return edited(self, number_of(self, k, "edit"), Change(replace, smooth, monotone, clip), problem)

    def explain(self, X: MatrixLike, n_threads: int = 1) -> Contributions:
        """What each function adds to the scores of the rows of X; with the intercepts, these sum to `decision`.

        The contributions are sparse if X is, unless the functions are centred. X is checked as `predict` checks it.
        """
        return explain(self, checked_rows(self, X, n_threads), n_threads)

    def top(self, k: int = 10, problem: int | None = None) -> list[int]:
        """The numbers of the k most important functions, for one problem or all of them."""
        check_number(k, "top")
        importance = self._facts("top").importance
        total = importance.sum(axis=1, dtype=np.float64) if problem is None else importance[:, problem]
        return np.argsort(-total, kind="stable")[:k].tolist()

    def importance(self, X: MatrixLike | None = None) -> Array:
        """How much each function moves the score, (n_functions, n_problems).

        This is the mean distance of f from its mean: over the training rows, which `fit` has kept, or over those of X.
        Its columns are checked as `predict` checks them: their number, and their names in order if both have any.
        """
        if X is None:
            return self._facts("importance").importance.astype(np.float64)
        matrix = new_matrix(self, X, self.encoder.columns)
        if matrix is X:
            check_feature_names(self, X, reset=False)
        finite = "allow-nan" if self._reads_nan(tuple(range(self.n_features))) else True
        columns = check_array(
            with_own_indices(matrix), accept_sparse="csc", dtype=np.float64, input_name="X", ensure_all_finite=finite
        )
        if columns.shape[1] != self.n_features:
            raise ValueError(f"importance: X has {columns.shape[1]} features, and the model {self.n_features}.")
        distance = np.empty((self.n_functions, self.n_problems))
        for k, inputs in enumerate(self.encoder.functions):
            distance[k] = _mean_distance(self._curve(inputs, column_values(columns, inputs)))
        for k, pair in enumerate(self.pairs, len(self.encoder.functions)):
            rows = self.encoder.filled(pair.columns, column_values(columns, pair.columns))
            distance[k] = _mean_distance(pair.evaluate(rows))
        return distance

    def _facts(self, call: str) -> TrainingFacts:
        if self.training is None:
            raise ValueError(
                f"{call}: the model keeps nothing of its training rows, as it is from a file of an earlier version. "
                "Fit it again, or pass rows: importance(X)."
            )
        return self.training


def _mean_distance(values: Array) -> Array:
    """The mean distance from the mean, of each column."""
    distance: Array = np.abs(values - values.mean(axis=0)).mean(axis=0)
    return distance
