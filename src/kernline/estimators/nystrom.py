"""NystromSVC: the SVM of any kernel, RBF first, at the cost of a linear one, by landmarks."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .. import losses, validation
from ..array_types import Array, Labels, Matrix, MatrixLike
from ..class_signs import ClassWeight, costs
from ..landmarks import pairwise
from ..landmarks import selection as basis_of
from ..landmarks.nystrom_map import LandmarkMap, values
from ..landmarks.scaling import SCALES, scaled_like, scaling_for, unscaled_like
from ..landmarks.settings import LandmarkSettings
from ..randomness import RandomState, random_of, seed_from
from ..sklearn_compat import Constraints, Interval, StrOptions, Tags, fit_context
from ..solvers import DualCD, SolveResult
from ..threads import one_blas_thread, thread_count
from ..training import Intercept, TrainingRows
from .cross_validation import Scorer, ScorerName, increasing
from .fitting import in_one_step
from .labelled import Labelled, labelled
from .landmark_problems import LandmarkProblems, base_of
from .one_vs_rest import OneAgainstRest
from .progress import FitProgress, logger, runs_callbacks
from .search import Search

# The γ that `choose` tries by default, as multiples of gamma="scale", and the C.
_GAMMAS, _CS = np.array([0.25, 0.5, 1.0, 2.0, 4.0]), np.geomspace(0.1, 100.0, 7)
# What `choose` adds to the fitted attributes.
_CHOICE = ("C_", "gammas_", "Cs_", "scores_", "best_score_")

KERNEL_CONSTRAINTS: Constraints = {
    "kernel": [StrOptions(set(pairwise.NAMES)), callable],
    "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="neither")],
    "degree": [Interval(Real, 0.0, None, closed="neither")],
    "coef0": [Real],
    "basis": [StrOptions(set(basis_of.METHODS)), "array-like", "sparse matrix"],
    "n_basis": [Interval(Integral, 1, None, closed="left"), None],
    "n_candidates": [StrOptions(set(basis_of.CANDIDATES)), Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}


class NystromSVC(OneAgainstRest[Matrix]):
    """Support vector classifier of any kernel, by the Nyström approximation: f(x) = b + Σ_l a_l K(x, l).

    The kernel is approximated on a few landmarks l, K(x, y) ≈ z(x)·z(y), and a linear SVM trained on z: time and memory
    grow with the number of rows, not with its square. Several classes are fitted one against the rest.

    Parameters
    ----------
    kernel : str, a kernels object or callable, default="rbf"
        "rbf", "poly", "sigmoid", "laplacian"; "exp-chi2", exp(−γ Σ (x − y)²/(x + y)), for histograms; an additive
        kernel ("chi2", "intersection", …), a name of scikit-learn's pairwise kernels, or a function of two
        matrices, sparse if X is (landmarks from k-means are dense), that returns K between their rows.
    gamma : "scale" or float, default="scale"
        exp(−γ ‖x − y‖²), (γ x·y + coef0)^degree, tanh(γ x·y + coef0). "scale" is 1 / (n_features · X.var()) as in SVC;
        for "exp-chi2" and "laplacian" 1 over the mean distance. Kernels without a width are multiplied by it; "scale"
        makes the mean of their K(x, x) one.
    basis : {"kmeans", "l1", "leverage", "random"} or array of landmarks, default="kmeans"
        "l1" keeps those of some candidates that an L1-regularised SVM (of C = 1, without weights) has a use for, and
        finds their number itself. It was up to 3 points above k-means below 100 landmarks on the data we measured,
        level from 200 on, and takes longer.
    n_basis : int or None, default=None
        Landmarks; more are more accurate, in time n · n_basis² + n_basis³ at most. None is 500, or what "l1" finds.
        Never more than rows; copies are left out.
    n_candidates : int, "sqrt" or "sqrt-per-class", default=1500
        Of "l1": rows that may become landmarks, and as many on which the SVM is trained. "sqrt" is √n, as published,
        and "sqrt-per-class" √n times the number of classes, the other reading of the paper. At least three per landmark
        if `n_basis` is given.
    C : float, default=10.0
        Cost of a margin violation; smaller is smoother.
    scale : {"auto", "standard"} or None, default="auto"
        "standard" standardises columns, and cuts them off at three deviations. "auto" does so if they are of different
        units: with negative values, few zeros or different ranges. Columns of one unit (pixels, counts, fractions) and
        None leave them as they are; so does "auto" if gamma is a number, which refers to distances as they are, and for
        kernels of histograms.
    degree, coef0 : float, default=3.0 and 1.0
        Of "poly" and "sigmoid".
    loss : {"hinge", "squared_hinge"}, default="hinge"
    store_features : bool, default=True
        Keep z of all rows, n × n_basis float32 numbers, while fitting. False computes them in
        blocks, again in every pass: slower, in memory that does not grow with n_basis · n.
    fit_intercept, intercept_scaling, tol, max_iter, solver, class_weight, verbose : as for AdditiveSVC
        Where features are not stored, the solver is coordinate descent, and max_iter counts passes over the blocks.
    n_jobs : int or None, default=None
        Threads, for blocks of rows and then for classes. None is one, -1 all.
    random_state : int, RandomState or None, default=0
        Seed of the landmarks and of the order of visits; None takes NumPy's global state. The result does
        not depend on `n_jobs`.

    Attributes
    ----------
    classes_ : the labels.
    basis_ : the landmarks used, (n_landmarks, n_features), scaled as X was.
    landmarks_ : the same in the units of X.
    dual_coef_ : the a_l, (n_problems, n_landmarks).
    intercept_ : one per problem.
    gamma_ : the number used.
    scale_ : what was done to the columns (`name`: "standard" or None) and why (`reason`).
    n_dropped_ : landmarks left out, as K of the others determines theirs, or is not positive definite with them.
    n_iter_, objective_, dual_gap_, history_, solver_ : as for AdditiveSVC, of the linear problem.
    C_, gammas_, Cs_, scores_, best_score_ : of `choose` only. The C chosen, the values tried, the scores of held-out
        rows (n_gammas, n_Cs, n_folds), NaN where C was not tried (as for AdditiveSVCCV), and the best mean score.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import NystromSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NystromSVC(C=10, n_basis=200, random_state=0).fit(X[:1200], y[:1200])
    >>> model.score(X[1200:], y[1200:]) > 0.95
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "scale": [StrOptions(set(SCALES)), None],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "store_features": ["boolean"],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither"), None],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "dual-cd", "newton"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        kernel: pairwise.KernelLike = "rbf",
        gamma: float | str = "scale",
        *,
        basis: str | MatrixLike = "kmeans",
        n_basis: int | None = None,
        n_candidates: int | str = basis_of.DEFAULT_CANDIDATES,
        C: float = 10.0,
        scale: str | None = "auto",
        degree: float = 3.0,
        coef0: float = 1.0,
        loss: str = "hinge",
        store_features: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = "auto",
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.basis = basis
        self.n_basis = n_basis
        self.n_candidates = n_candidates
        self.C = C
        self.scale = scale
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
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> NystromSVC:
        """Fit to X, (n_samples, n_features) dense or sparse, and labels y; `sample_weight` is a factor of C."""
        data = labelled(self, X, y, sample_weight, self.class_weight)
        data, settings = self._scaled(data, self._settings(self.gamma, data), self.gamma)
        settings.check_features(data.X.shape[0], data.n_problems, n_stored=int(self.store_features))
        for name in _CHOICE:
            self.__dict__.pop(name, None)  # what `choose` found on other data
        progress = FitProgress(self, data.names, self.max_iter, int(self.verbose))
        self._train(data, settings, costs(self.C, data.weights), progress)
        return self

    def _settings(self, gamma: float | str, data: Labelled[Matrix]) -> LandmarkSettings:
        kernel = pairwise.get(self.kernel, self.degree, self.coef0)
        n_candidates = basis_of.candidate_count(self.n_candidates, data.X.shape[0], data.classes.size)
        return LandmarkSettings(kernel, gamma, self.basis, self.n_basis, thread_count(self.n_jobs), n_candidates)

    def _scaled(
        self, data: Labelled[Matrix], settings: LandmarkSettings, gamma: float | str
    ) -> tuple[Labelled[Matrix], LandmarkSettings]:
        """The rows in one scale, and settings that know it; `gamma` is "scale" unless the user gave numbers."""
        settings.check_landmarks(data.X)  # first: a range for each column may take too much memory
        validation.check_rows(data.X, settings.kernel.nonnegative_for, settings.n_threads, validation.Names.of(self))
        scaling = scaling_for(self.scale, gamma, settings.kernel, data.X, data.weight, settings.n_threads)
        return replace(data, X=scaling.transform(data.X, np.float32)), replace(settings, scaling=scaling)

    @one_blas_thread  # once: every change of the limit costs milliseconds
    def _train(
        self,
        data: Labelled[Matrix],
        settings: LandmarkSettings,
        cost: Array,
        progress: FitProgress,
        first: int = 0,
    ) -> None:
        """Fit with these settings and C_i; `first` is the number of the first problem in `progress`."""
        random = random_of(self.random_state)
        landmarks = settings.fit_map(data.X, data.number, random, validation.Names.of(self))
        if self.verbose:
            kept, dropped, number = landmarks.width, landmarks.n_dropped, landmarks.kernel.gamma
            logger.info("%s", settings.scaling)
            logger.info("%d landmarks, %d left out; gamma %.4g", kept, dropped, number)
        problems = LandmarkProblems(landmarks, data, self._intercept(), losses.get(self.loss), settings.n_threads)
        solve = problems.solve if self.store_features else problems.solve_blockwise
        results = solve(cost, self._solver(seed_from(random)), progress, first)
        progress.end(self.tol)
        self._keep(results, data.classes, landmarks)
        assert settings.scaling is not None
        self.scale_ = settings.scaling

    def _intercept(self) -> Intercept:
        return Intercept(self.fit_intercept, self.intercept_scaling)

    def _solver(self, seed: int) -> DualCD:
        return DualCD(self.tol, self.max_iter, seed, solver=self.solver)

    @in_one_step
    @runs_callbacks
    def choose(
        self,
        X: MatrixLike,
        y: ArrayLike,
        gamma: ArrayLike | None = None,
        C: ArrayLike | None = None,
        *,
        cv: object = 5,
        scoring: Scorer = None,
        sample_weight: ArrayLike | None = None,
    ) -> NystromSVC:
        """Choose γ and C by cross-validation, and fit to all rows with these, `gamma_` and `C_`.

        Parameters stay as they are: ``set_params(gamma=model.gamma_, C=model.C_, scale=model.scale_.name)`` takes the
        choice over.

        The landmarks are chosen once, from all rows, and distances to them computed once; the features of a γ serve all
        C and folds, and are stored even with store_features=False. So the landmarks have seen the held-out rows, and
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
        data = labelled(self, X, y, sample_weight, self.class_weight)
        data, settings = self._scaled(data, self._settings("scale", data), "scale" if gamma is None else 1.0)
        settings.check_features(data.X.shape[0], data.n_problems, n_stored=2)  # the base of the kernel, too
        search = Search(data, y, sample_weight, _CS if C is None else increasing(C, "C"), cv, scoring)
        kernel = settings.kernel_on(data.X, validation.Names.of(self))
        gammas = _GAMMAS * kernel.gamma if gamma is None else increasing(gamma, "gamma")
        tasks = search.tasks(f"gamma={value:.3g}" for value in gammas)
        progress = FitProgress(self, tasks + data.names, self.max_iter, int(self.verbose))
        random = random_of(self.random_state)
        middle = kernel.with_gamma(float(gammas[gammas.size // 2]))
        points = settings.landmarks(middle, data.X, data.number, random)
        base = base_of(kernel.with_gamma(float(gammas[-1])), points, data.X, settings.n_threads)

        def rows_of(value: float) -> TrainingRows:
            landmarks = LandmarkMap.fit(kernel.with_gamma(value), points)
            problems = LandmarkProblems(landmarks, data, self._intercept(), losses.get(self.loss), settings.n_threads)
            return problems.rows_of_base(base)

        solver = self._solver(seed_from(random))
        found, _ = search.run(gammas.tolist(), rows_of, solver, settings.n_threads, progress)
        best = replace(settings, gamma=found.best_value)
        self._train(data, best, costs(found.best_C, data.weights), progress, first=len(tasks))
        self.C_, self.gammas_, self.Cs_ = found.best_C, gammas, found.Cs
        self.scores_, self.best_score_ = found.scores, found.best_score
        return self

    def _keep(self, results: list[SolveResult], classes: Labels, landmarks: LandmarkMap) -> None:
        self.classes_ = classes
        self._keep_results(results)
        self.gamma_ = landmarks.kernel.gamma
        self.n_dropped_ = landmarks.n_dropped
        self.dual_coef_ = landmarks.coefficients(np.stack([result.weights[:, 0] for result in results]))
        self._kernel, self._points = landmarks.kernel, replace(landmarks.points)  # without what training needed of them

    @property
    def basis_(self) -> Matrix:
        """The landmarks used."""
        check_is_fitted(self)
        return self._points.X

    @property
    def landmarks_(self) -> Matrix:
        """The landmarks used, in the units of the X that was passed to `fit`."""
        return unscaled_like(self, self.basis_)

    def _check_new(self, X: MatrixLike) -> Matrix:
        check_is_fitted(self)
        return scaled_like(self, validation.check_new_rows(self, X, self._kernel.nonnegative_for))

    def _scores(self, X: Matrix) -> Array:
        return values(self._kernel, self._points, self.dual_coef_, X, thread_count(self.n_jobs)) + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = bool(pairwise.get(self.kernel).nonnegative_for)
        return tags
