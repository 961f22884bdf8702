"""The explicit maps as scikit-learn transformers: a kernel, additive or not, for any linear model."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import class_checks, kernels, tables, validation
from .array_types import Labels, Matrix, MatrixLike, is_sparse
from .encoding import ColumnRange, Encoder
from .estimators.fitting import in_one_step
from .estimators.nystrom import KERNEL_CONSTRAINTS
from .landmarks import pairwise, selection
from .landmarks.points import Values, precision_of
from .landmarks.settings import LandmarkSettings
from .memory import COLUMN_BYTES, check_width
from .randomness import RandomState, random_of
from .sklearn_compat import Constraints, Interval, StrOptions, Tags, check_feature_names_in, fit_context
from .tables.explicit import explicit_pair
from .threads import thread_count

_METHODS = ("homogeneous", "chebyshev", "low-dim", "hik", "hats")


class AdditiveKernelMap(TransformerMixin, BaseEstimator):
    """Map each feature to a few, so that dot products of the new ones approximate an additive kernel of the old.

    K(x, y) ≈ Φ(x)·Φ(y). `AdditiveSVC` computes the same without ever writing Φ down; this is for other linear models.

    Parameters
    ----------
    kernel : {"chi2", "intersection", "hellinger", "js", "power_mean"} or a kernels object, default="chi2"
    method : {"homogeneous", "chebyshev", "low-dim", "hik", "hats"}, default="homogeneous"
        Vedaldi and Zisserman's map (chi2, intersection, js, hellinger), Li's Chebyshev series (chi2), Chum's
        low-dimensional map and our hats (any kernel), libHIK's thermometer code (intersection).
    n_components : int, default=3
        New features for each old one; the homogeneous map needs an odd number, and one is enough for "hellinger".

    Attributes
    ----------
    n_components_ : new features for each old one.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from kernline.feature_maps import AdditiveKernelMap
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(AdditiveKernelMap("js"), LogisticRegression(max_iter=5000)).fit(X[:1200], y[:1200])
    >>> model.score(X[1200:], y[1200:]) > 0.88
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions(set(kernels.BY_NAME) - {"linear"}), kernels.AdditiveKernel],
        "method": [StrOptions(set(_METHODS))],
        "n_components": [Interval(Integral, 1, 255, closed="both")],
    }

    def __init__(
        self, kernel: str | kernels.AdditiveKernel = "chi2", method: str = "homogeneous", *, n_components: int = 3
    ) -> None:
        self.kernel = kernel
        self.method = method
        self.n_components = n_components

    def _validate_params(self) -> None:
        with validation.kernel_hint(self.kernel, "NystromMap"):
            super()._validate_params()

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> AdditiveKernelMap:
        """Learn the range of each column."""
        rows = validation.validated(self, X)
        kernel = kernels.get(self.kernel)
        check_width(rows, COLUMN_BYTES)
        found = ColumnRange.of(rows)
        validation.check_values(found, kernel, "max", validation.Names.of(self), sparse=is_sparse(rows))
        pair = self._pair(kernel)
        assert isinstance(pair.read, tables.DenseTable)
        self._features = pair.read.as_rows()
        self._encoder = Encoder.fit(rows, pair, column_range=found, kernel=kernel)
        self.n_components_ = self._features.shape[1]
        return self

    def _pair(self, kernel: kernels.AdditiveKernel) -> tables.TablePair:
        if self.method == "homogeneous":
            if self.n_components % 2 == 0:
                raise ValueError(
                    f"method='homogeneous' has 2n + 1 components; n_components={self.n_components} is even. Pass "
                    f"{self.n_components - 1} or {self.n_components + 1}."
                )
            return tables.HomogeneousMap(self.n_components // 2).build(kernel)
        if self.method == "chebyshev":
            return tables.ChebyshevMap(self.n_components).build(kernel)
        if self.method == "low-dim":
            return tables.LowDimensionalMap(self.n_components).build(kernel)
        if self.method == "hik":
            return tables.QuantisedIntersection(self.n_components).build(kernel)
        return _hats_map(kernel, self.n_components)

    def transform(self, X: MatrixLike) -> Matrix:
        """Return the mapped data, sparse if X is sparse: (n_samples, n_features · n_components_)."""
        check_is_fitted(self)
        X = validation.check_new_data(self, X, self._encoder)
        row_start, columns, codes = self._encoder.transform(X).entries()
        features = self._features[codes] * np.sqrt(self._encoder.scales)[columns][:, None]
        places = columns.astype(np.int64)[:, None] * self.n_components_ + np.arange(self.n_components_)
        if sp.issparse(X):
            shape = (X.shape[0], X.shape[1] * self.n_components_)
            return sp.csr_array((features.ravel(), places.ravel(), row_start * self.n_components_), shape=shape)
        mapped = np.zeros((X.shape[0], X.shape[1] * self.n_components_))
        rows = np.repeat(np.arange(X.shape[0]), np.diff(row_start))
        mapped[rows[:, None], places] = features
        return mapped

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Labels:
        """Return a name for each new feature: the old one's, and its number."""
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        return np.asarray([f"{name}_{k}" for name in names for k in range(self.n_components_)], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _hats_map(kernel: kernels.AdditiveKernel, n_components: int) -> tables.TablePair:
    """hat(u)ᵀ M hat(v) = Φ(u)·Φ(v) with Φ = Lᵀ hat, M = L Lᵀ; the knot at zero needs no component."""
    pair = tables.Hats(n_components + 1).build(kernel)
    assert pair.grid is not None
    assert isinstance(pair.read, tables.PairTable)
    knots = tables.Knots.spaced(n_components + 1, tables.CROWDED).positions[1:]
    values, vectors = np.linalg.eigh(kernel.scalar(knots[:, None], knots[None, :]))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return explicit_pair(pair.read.as_rows()[:, 1:] @ root, pair.grid)


class NystromMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map rows to z(x) = K(x, B) T, T Tᵀ = K(B, B)⁻¹, so that z(x)·z(y) approximates any kernel K(x, y).

    `NystromSVC` trains on the same features; this is for other linear models.

    Parameters
    ----------
    kernel, gamma, degree, coef0, n_basis, n_candidates, n_jobs : as for NystromSVC
    basis : {"kmeans", "l1", "leverage", "random"} or array of landmarks, default="kmeans"
        "l1" asks for class labels y.
    random_state : int, RandomState or None, default=0
        Seed of the landmarks; None takes NumPy's global state.

    Attributes
    ----------
    basis_ : the landmarks used, (n_landmarks, n_features).
    root_ : T, upper triangular.
    gamma_ : the number used.
    n_dropped_ : landmarks left out, as K of the others determines theirs, or is not positive definite with them.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from kernline.feature_maps import NystromMap
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(NystromMap(n_basis=200, random_state=0), RidgeClassifier()).fit(X[:1200], y[:1200])
    >>> model.score(X[1200:], y[1200:]) > 0.92
    True
    """

    _parameter_constraints: ClassVar[Constraints] = KERNEL_CONSTRAINTS

    def __init__(
        self,
        kernel: pairwise.KernelLike = "rbf",
        gamma: float | str = "scale",
        *,
        basis: str | MatrixLike = "kmeans",
        n_basis: int | None = None,
        n_candidates: int | str = selection.DEFAULT_CANDIDATES,
        degree: float = 3.0,
        coef0: float = 1.0,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.basis = basis
        self.n_basis = n_basis
        self.n_candidates = n_candidates
        self.degree = degree
        self.coef0 = coef0
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> NystromMap:
        """Choose the landmarks, and factorise the kernel between them."""
        number = None
        if self._asks_for_labels():
            rows, labels = validation.validated_with_labels(self, X, y)
            number = class_checks.check_classes(self, labels)[1]
        else:
            rows = validation.validated(self, X)
        kernel = pairwise.get(self.kernel, self.degree, self.coef0)
        n_classes = 1 if number is None else int(number.max()) + 1
        n_candidates = selection.candidate_count(self.n_candidates, rows.shape[0], n_classes)
        n_threads = thread_count(self.n_jobs)
        settings = LandmarkSettings(kernel, self.gamma, self.basis, self.n_basis, n_threads, n_candidates)
        self._map = settings.fit_map(rows, number, random_of(self.random_state), validation.Names.of(self))
        self.basis_, self.root_ = self._map.points.X, self._map.root
        self.gamma_, self.n_dropped_ = self._map.kernel.gamma, self._map.n_dropped
        return self

    def transform(self, X: MatrixLike) -> Values:
        """Return z of every row, (n_samples, n_landmarks): float32 if X is float32, otherwise float64."""
        check_is_fitted(self)
        X = validation.check_new_rows(self, X, self._map.kernel.nonnegative_for)
        return self._map.features(X, thread_count(self.n_jobs), precision_of(X))

    def _asks_for_labels(self) -> bool:
        return isinstance(self.basis, str) and self.basis == "l1"

    @property
    def _n_features_out(self) -> int:
        return self._map.width

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = bool(pairwise.get(self.kernel).nonnegative_for)
        tags.target_tags.required = self._asks_for_labels()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
