"""NystromSVC: the SVM of any kernel, RBF first, at the cost of a linear one, by landmarks."""

from __future__ import annotations

import threading
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .. import losses, validation
from ..array_types import Array
from ..encoding import EncodedData
from ..landmarks import pairwise
from ..landmarks import selection as basis_of
from ..landmarks.memory import check_features, check_landmarks
from ..landmarks.nystrom_map import LandmarkMap, blocks, run_blocks, values
from ..landmarks.pairwise import PairKernel
from ..landmarks.points import Points
from ..native import row_norms
from ..sklearn_compat import Interval, StrOptions, fit_context
from ..solvers import BlockProblems, Blockwise, SolveResult
from ..sources import with_own_indices
from ..tables import linear_pair
from ..threads import one_blas_thread, thread_count
from .cross_validation import Fold, Path, ScorerName, Scoring, folds_of, follow, highest, increasing
from .fitting import in_one_step
from .one_vs_rest import OneAgainstRest
from .progress import FitProgress, logger, runs_callbacks
from .training import LARGEST, Labelled, TrainingRows, costs, intercept_constant, random_of, seed_from

# Rows looked at for the mean of K(x, x) and the like.
_SAMPLE = 500
# Values of the features of a block where they are not stored: 16 MB.
_BLOCK_VALUES = 4_000_000
# The γ that `choose` tries where none are given, as multiples of gamma="scale", and the C.
_GAMMAS, _CS = np.array([0.25, 0.5, 1.0, 2.0, 4.0]), np.geomspace(0.1, 100.0, 7)

# What `choose` adds to the fitted attributes.
_CHOICE = ("gammas_", "Cs_", "scores_", "best_score_")

KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(pairwise.NAMES)), callable],
    "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="neither")],
    "degree": [Interval(Real, 0.0, None, closed="neither")],
    "coef0": [Real],
    "basis": [StrOptions(set(basis_of.METHODS)), "array-like", "sparse matrix"],
    "n_basis": [Interval(Integral, 1, None, closed="left"), None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}


class NystromSVC(OneAgainstRest):
    """Support vector classifier of any kernel, by the Nyström approximation: f(x) = b + Σ_l a_l K(x, l).

    The kernel is approximated on a few landmarks l, K(x, y) ≈ z(x)·z(y), and a linear SVM trained on z: time and memory
    grow with the number of rows, not with its square. Several classes are fitted one against the rest.

    Parameters
    ----------
    kernel : str, a kernels object or callable, default="rbf"
        "rbf", "poly", "sigmoid", "laplacian"; "exp-chi2", exp(−γ Σ (x − y)²/(x + y)), for histograms; an additive
        kernel ("chi2", "intersection", …), a name of scikit-learn's pairwise kernels, or a function of two
        matrices, sparse where X is (landmarks from k-means are dense), that returns K between their rows.
    gamma : "scale" or float, default="scale"
        exp(−γ ‖x − y‖²), (γ x·y + coef0)^degree, tanh(γ x·y + coef0). "scale" is 1 / (n_features · X.var()) as in SVC;
        for "exp-chi2" and "laplacian" 1 over the mean distance. Kernels without a width are multiplied by it; "scale"
        makes the mean of their K(x, x) one.
    basis : {"kmeans", "l1", "leverage", "random"} or array of landmarks, default="kmeans"
        "l1" keeps those of √n candidates, at least 1,500, that an L1-regularised SVM (of C = 1, without weights) has a
        use for, and finds their number itself. It was up to 3 points above k-means below 100 landmarks on the data we
        measured, level from 200 on, and takes longer.
    n_basis : int or None, default=None
        Landmarks; more are more accurate, in time n · n_basis² + n_basis³ at most. None is 500, or what "l1" finds.
        Never more than rows; copies are left out.
    C : float, default=1.0
        Cost of a margin violation; smaller is smoother.
    degree, coef0 : float, default=3.0 and 1.0
        Of "poly" and "sigmoid".
    loss : {"hinge", "squared_hinge"}, default="hinge"
    store_features : bool, default=True
        Keep z of all rows, n × n_basis float32 numbers, while fitting. False computes them in
        blocks, again in every pass: slower, in memory that does not grow with n_basis · n.
    fit_intercept, intercept_scaling, tol, max_iter, solver, class_weight, verbose : as for AdditiveSVC
        Where features are not stored, the solver is coordinate descent, and max_iter counts passes over the blocks.
    n_jobs : int or None, default=None
        Threads: blocks of rows, then classes, side by side. None is one, -1 all.
    random_state : int, RandomState or None, default=0
        Seed of the landmarks and of the order of visits; None takes NumPy's global state. The result does
        not depend on `n_jobs`.

    Attributes
    ----------
    classes_ : the labels.
    basis_ : the landmarks in use, (n_landmarks, n_features).
    dual_coef_ : the a_l, (n_problems, n_landmarks).
    intercept_ : one per problem.
    gamma_ : the number used.
    n_dropped_ : landmarks left out, as K of the others determines theirs, or is not positive definite with them.
    n_iter_, objective_, dual_gap_, history_, solver_ : as for AdditiveSVC, of the linear problem.
    gammas_, Cs_, scores_, best_score_ : what `choose` tried, the scores of the held-out rows (n_gammas, n_Cs, n_folds),
        NaN where C was not tried (as for AdditiveSVCCV), and the mean score of the best.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import NystromSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NystromSVC(C=10, n_basis=200, random_state=0).fit(X[:1200], y[:1200])
    >>> model.score(X[1200:], y[1200:]) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "store_features": ["boolean"],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "dual-cd", "newton"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        *,
        basis: Any = "kmeans",
        n_basis: int | None = None,
        C: float = 1.0,
        degree: float = 3.0,
        coef0: float = 1.0,
        loss: str = "hinge",
        store_features: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.basis = basis
        self.n_basis = n_basis
        self.C = C
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.store_features = store_features
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NystromSVC:
        """Fit to X, (n_samples, n_features) dense or sparse, and labels y; `sample_weight` is a factor of C."""
        data = Labelled.of(self, X, y, sample_weight)
        check_features(self, data.X.shape[0], len(data.signs), n_stored=int(self.store_features))
        for name in _CHOICE:
            self.__dict__.pop(name, None)  # what `choose` found on other data
        progress = FitProgress(self, data.names, self.max_iter, int(self.verbose))
        self._train(data, self.gamma, costs(self.C, data.weights), progress)
        return self

    @one_blas_thread  # once: every change of the limit costs milliseconds
    def _train(self, data: Labelled, gamma: float | str, cost: Array, progress: FitProgress, first: int = 0) -> None:
        """Fit at this γ and these C_i; `first` is the number of the first problem in `progress`."""
        random, n_threads = random_of(self), thread_count(self.n_jobs)
        landmarks = fit_map(self, data.X, data.number, random, gamma)
        if self.verbose:
            kept, dropped, number = landmarks.width, landmarks.n_dropped, landmarks.kernel.gamma
            logger.info("%d landmarks, %d left out; gamma %.4g", kept, dropped, number)
        seed = seed_from(random)
        constant = self._intercept_constant(landmarks, data.X)
        if self.store_features:
            rows = self._rows(landmarks.features(data.X, n_threads), constant)
            results = self._solve(rows, data, cost, progress, seed, first)
        else:
            problems = self._blocks(landmarks, data, cost, constant)
            watches = [progress.problem(first + index) for index in range(len(data.signs))]
            results = Blockwise(self.tol, self.max_iter, seed, n_threads).solve(problems, watches, threading.Event())
            for watch, result in zip(watches, results, strict=True):
                watch.end(result)
        progress.end(self.tol)
        self._keep(results, data.classes, landmarks)

    @in_one_step
    @runs_callbacks
    def choose(
        self,
        X: Any,
        y: Any,
        gamma: ArrayLike | None = None,
        C: ArrayLike | None = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        sample_weight: Any = None,
    ) -> NystromSVC:
        """Set `gamma` and `C` to the best by cross-validation, and fit to all rows.

        The landmarks are chosen once, from all rows, and distances to them computed once; the features of a γ serve all
        C and folds, and are stored whatever `store_features` says. So the landmarks have seen the held-out rows, and
        with basis="l1" their labels: read `scores_` to compare, not as what to expect of new data.

        Parameters
        ----------
        X, y, sample_weight : as for fit
        gamma : increasing array of float or None, default=None
            None is gamma="scale" times 1/4, 1/2, 1, 2 and 4.
        C : increasing array of float or None, default=None
            None is seven values from 0.1 to 100. Once the scores have fallen, larger ones are not tried.
        cv, scoring : as for AdditiveSVCCV
        """
        self._validate_params()
        if not (scoring is None or callable(scoring) or ScorerName().is_satisfied_by(scoring)):
            raise ValueError(f"scoring: {scoring!r} is neither the name of a scorer of scikit-learn nor callable.")
        data = Labelled.of(self, X, y, sample_weight)
        check_features(self, data.X.shape[0], len(data.signs), n_stored=2)  # the base of the kernel, too
        folds = folds_of(cv, np.ravel(np.asarray(y)), sample_weight, data)
        Cs = _CS if C is None else increasing(C, "C")
        _ = costs(Cs[0], data.weights), costs(Cs[-1], data.weights)  # refuses what float32 cannot hold
        kernel = _kernel(self, data.X, "scale")
        gammas = _GAMMAS * kernel.gamma if gamma is None else increasing(gamma, "gamma")
        tasks = [
            f"gamma={g:.3g}, fold {fold}, {name}, C={c:.3g}"
            for g in gammas
            for fold in range(len(folds))
            for name in data.names
            for c in Cs
        ]
        progress = FitProgress(self, tasks + data.names, self.max_iter, int(self.verbose))
        scores = self._search(kernel, data, folds, gammas, Cs, Scoring(scoring, data), progress)
        found = [highest(of_gamma) for of_gamma in scores]
        best = max(range(gammas.size), key=lambda g: found[g])
        best_gamma, best_C = float(gammas[best]), float(Cs[-found[best][1]])
        self._train(data, best_gamma, costs(best_C, data.weights), progress, first=len(tasks))
        self.set_params(gamma=best_gamma, C=best_C)
        self.gammas_, self.Cs_, self.scores_, self.best_score_ = gammas, Cs, scores, found[best][0]
        return self

    def _search(
        self,
        kernel: PairKernel,
        data: Labelled,
        folds: list[Fold],
        gammas: Array,
        Cs: Array,
        scoring: Scoring,
        progress: FitProgress,
    ) -> Array:
        """Scores of held-out rows, (n_gammas, n_Cs, n_folds)."""
        random, n_threads = random_of(self), thread_count(self.n_jobs)
        points = _landmarks(self, kernel.with_gamma(float(gammas[gammas.size // 2])), data.X, data.number, random)
        base = np.empty((data.X.shape[0], len(points)), dtype=np.float32)
        precision = kernel.with_gamma(float(gammas[-1])).precision(points)

        def fill(rows: slice) -> None:
            base[rows] = kernel.base(data.X[rows], points, precision)

        run_blocks(fill, data.X.shape[0], max(data.X.shape[1], len(points)), n_threads)
        seed = seed_from(random)
        scores = np.full((gammas.size, Cs.size, len(folds)), np.nan)
        n_tasks = len(folds) * len(data.names) * Cs.size
        for g, gamma in enumerate(gammas):
            landmarks = LandmarkMap.fit(kernel.with_gamma(float(gamma)), points)
            rows = self._rows(landmarks.features_of_base(base, n_threads), self._intercept_constant(landmarks, data.X))
            scores[g] = follow(self, Path(rows, folds, data, Cs), scoring, progress, seed, g * n_tasks)
        return scores

    def _intercept_constant(self, landmarks: LandmarkMap, X: Any) -> float:
        """What the kernel gains for the intercept, by the mean of z(x)·z(x): never negative, whatever the kernel is."""
        mean = float(np.square(landmarks.features(_sample(X), 1, np.float64)).sum(axis=1).mean())
        if not mean < LARGEST:
            raise ValueError(
                f"K(x, x) is {mean:.3g} on average, too large for float32. Scale the data, or lower gamma or degree."
            )
        return intercept_constant(self, mean or 1.0)

    def _rows(self, features: NDArray[np.float32], intercept_square: float) -> TrainingRows:
        data, scales = EncodedData(features.shape, features), np.ones(features.shape[1])
        norms = row_norms(data, linear_pair(), scales, thread_count(self.n_jobs)) + intercept_square
        return TrainingRows(data, linear_pair(), scales, norms, intercept_square, self.loss)

    def _blocks(self, landmarks: LandmarkMap, data: Labelled, cost: Array, constant: float) -> BlockProblems:
        n_threads = thread_count(self.n_jobs)
        return BlockProblems(
            features=lambda rows: landmarks.features(data.X[rows], n_threads),
            blocks=blocks(data.X.shape[0], landmarks.width, _BLOCK_VALUES),
            width=landmarks.width,
            targets=cast(Any, data.signs),
            cost=cost,
            intercept_square=constant,
            loss=losses.get(self.loss),
        )

    def _keep(self, results: list[SolveResult], classes: NDArray[Any], landmarks: LandmarkMap) -> None:
        self.classes_ = classes
        self._keep_results(results)
        self.gamma_ = landmarks.kernel.gamma
        self.n_dropped_ = landmarks.n_dropped
        self.dual_coef_ = landmarks.coefficients(np.stack([result.weights[:, 0] for result in results]))
        self._kernel, self._points = landmarks.kernel, replace(landmarks.points)  # without what training needed of them

    @property
    def basis_(self) -> Any:
        """The landmarks in use."""
        check_is_fitted(self)
        return self._points.X

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return validation.check_new_rows(self, X, self._kernel.nonnegative_for)

    def _scores(self, X: Any) -> Array:
        return values(self._kernel, self._points, self.dual_coef_, X, thread_count(self.n_jobs)) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = bool(pairwise.get(self.kernel).nonnegative_for)
        return tags


def fit_map(
    model: Any, X: Any, number: NDArray[np.int64] | None, random: np.random.RandomState, gamma: float | str
) -> LandmarkMap:
    """The map of a model's kernel and basis, fitted to validated rows of class numbers `number`."""
    kernel = _kernel(model, X, gamma)
    return LandmarkMap.fit(kernel, _landmarks(model, kernel, X, number, random))


def _kernel(model: Any, X: Any, gamma: float | str) -> PairKernel:
    """The model's kernel, with γ as a number."""
    check_landmarks(model, X)
    kernel = pairwise.get(model.kernel, model.degree, model.coef0)
    validation.check_not_tiny(validation.check_rows(model, X, kernel.nonnegative_for))
    return kernel.with_gamma(kernel.scale(X, _sample(X)) if gamma == "scale" else float(gamma))


def _landmarks(
    model: Any, kernel: PairKernel, X: Any, number: NDArray[np.int64] | None, random: np.random.RandomState
) -> Points:
    """The landmarks given, or those chosen."""
    if isinstance(model.basis, str):
        return basis_of.select(model.basis, kernel, X, number, model.n_basis, random)
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "input_name": "basis"}
    given = check_array(with_own_indices(model.basis), **options)
    if given.shape[1] != X.shape[1]:
        raise ValueError(f"basis: the landmarks have {given.shape[1]} columns, and X has {X.shape[1]}.")
    given = validation.canonical(given)
    validation.check_rows(model, given, kernel.nonnegative_for)
    return Points.of(given, centred=not sp.issparse(X))


def _sample(X: Any) -> Any:
    """Some rows, evenly spread: the same for every seed."""
    return X[np.unique(np.linspace(0, X.shape[0] - 1, min(_SAMPLE, X.shape[0])).astype(np.int64))]
