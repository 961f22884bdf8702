"""BudgetedSVC: the SVM of the Gaussian kernel with a fixed number of support vectors, for streams too."""

from __future__ import annotations

import threading
from dataclasses import asdict, replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .. import _core, validation
from ..array_types import Array, Labels, Matrix, MatrixLike
from ..class_signs import ClassWeight, costs
from ..landmarks.pairwise import PairKernel, svc_gamma
from ..landmarks.scaling import SCALES, Scaling, scaled_like, scaling_for, unscaled, unscaled_like
from ..randomness import RandomState, seed_of
from ..sklearn_compat import Constraints, Interval, StrOptions, fit_context
from ..solvers.budgeted_sgd import BudgetedModel, BudgetedSGD, PassReport, values_of
from ..threads import run_tasks, thread_count
from .fitting import in_one_step
from .labelled import labelled
from .one_vs_rest import OneAgainstRest
from .progress import FitProgress, logger, runs_callbacks
from .streaming import next_batch

SEARCHES = ("lookup-wd", "lookup-h", "gss", "gss-precise")
# Support vectors are dense: a few columns with huge numbers must not ask for more memory than there is.
_LARGEST_MODEL = 2**32
# Weights are counted in float32, whose squares must be finite.
_LARGEST_WEIGHT = 1e12


class BudgetedSVC(OneAgainstRest[Matrix]):
    """Support vector classifier with the Gaussian kernel exp(−gamma ‖x − x′‖²) and at most `budget` support vectors.

    Stochastic gradient descent on ½‖w‖² + C Σ_i max(0, 1 − y_i f(x_i)), with f(x) = Σ_b α_b k(x, b) + intercept. When a
    step would make one support vector too many, two are merged into the point between them that loses least. Time and
    memory are those of `budget` kernels a step, however long the stream. Several classes are fitted one against the
    rest.

    Parameters
    ----------
    gamma : "scale" or float, default="scale"
        Factor of the squared distance; "scale" is 1 / (n_features · X.var()), in `partial_fit` that of the first call.
    budget : int, default=500
        Most support vectors of a binary problem, at least 2.
    C : float, default=10.0
        Cost of a margin violation; smaller is smoother.
    scale : {"auto", "standard"} or None, default="auto"
        As for NystromSVC. In `partial_fit`, columns are scaled as the first call finds right.
    passes : int, default=20
        Most passes over the data of `fit`.
    merge : {"lookup-wd", "lookup-h", "gss", "gss-precise"}, default="lookup-wd"
        How the best pair is found: by a table of what merging loses, by a table of where to merge, or by golden section
        search to 0.01 or to 1e-10.
    maintenance : {"merge", "remove", "project"}, default="merge"
        What is done with one support vector too many: merge the smallest with its best partner, drop the smallest and
        oldest, or project the most dispensable onto the others, which takes budget² operations.
    grid_size : int, default=400
        Points of the tables in each direction.
    fit_intercept : bool, default=True
        Adds a constant 1 to the kernel, so that the intercept is penalised like the rest.
    average : bool, default=True
        Use the average of the last iterates instead of the last one; in `fit`, unless it got more rows of the last pass
        wrong before their step.
    tol : float, default=0.001
        Stop when three passes in a row have not lowered the mean loss by this share; 0 makes all passes.
    class_weight : dict, "balanced" or None, default=None
        Factor of C by class. `partial_fit` does not know all labels in advance, so it refuses "balanced".
    n_jobs : int or None, default=None
        Threads, for classes in a fit and for rows in a prediction. None is one, -1 all.
    random_state : int, RandomState or None, default=0
        Seed of the order of rows; None takes NumPy's global state. The result does not depend on `n_jobs`.
    verbose : int, default=0
        1 logs one line per class, 2 one line per pass, to the logger "kernline".

    Attributes
    ----------
    classes_ : the labels.
    support_vectors_ : float32 array (n, n_features), those of all binary problems one after another, scaled as X was.
    landmarks_ : the same in the units of X.
    n_support_ : how many of them each problem has.
    dual_coef_ : their coefficients α_b.
    intercept_ : one per problem.
    gamma_ : the factor used.
    scale_ : what was done to the columns (`name`: "standard" or None) and why (`reason`).
    n_iter_ : passes made, one per problem; history_ : for each problem a list of (epoch, seconds, loss, n_violations,
        n_maintained), one entry per pass. Of `fit` only.

    References
    ----------
    Wang, Crammer, Vucetic, "Breaking the curse of kernelization: budgeted stochastic gradient descent for large-scale
    SVM training", JMLR 13, 2012. Glasmachers, Qaadan, "Speeding up budgeted stochastic gradient descent SVM training
    with precomputed golden section search", 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import BudgetedSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = BudgetedSVC(budget=50, C=10, random_state=0).fit(X[:1200], y[:1200])
    >>> model.score(X[1200:], y[1200:]) > 0.9
    True
    >>> int(model.n_support_.max())
    50
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="neither")],
        "budget": [Interval(Integral, 2, None, closed="left")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "scale": [StrOptions(set(SCALES)), None],
        "passes": [Interval(Integral, 1, None, closed="left")],
        "merge": [StrOptions(set(SEARCHES))],
        "maintenance": [StrOptions({"merge", "remove", "project"})],
        "grid_size": [Interval(Integral, 2, 10_000, closed="both")],
        "fit_intercept": ["boolean"],
        "average": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        gamma: float | str = "scale",
        *,
        budget: int = 500,
        C: float = 10.0,
        scale: str | None = "auto",
        passes: int = 20,
        merge: str = "lookup-wd",
        maintenance: str = "merge",
        grid_size: int = 400,
        fit_intercept: bool = True,
        average: bool = True,
        tol: float = 1e-3,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
        self.gamma = gamma
        self.budget = budget
        self.C = C
        self.scale = scale
        self.passes = passes
        self.merge = merge
        self.maintenance = maintenance
        self.grid_size = grid_size
        self.fit_intercept = fit_intercept
        self.average = average
        self.tol = tol
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> BudgetedSVC:
        """Fit to X, (n_samples, n_features) dense or sparse, and labels y; `sample_weight` is a factor of C."""
        data = labelled(self, X, y, sample_weight, self.class_weight)
        budget = max(2, min(int(self.budget), data.X.shape[0]))  # more would only take memory
        self._check_size(data.X, data.classes, data.weights, budget)
        scaling = self._scaling_of(data.X, data.weight)
        X = scaling.transform(data.X, np.float32)
        gamma = self._gamma_of(X)
        settings = self._settings(gamma, seed_of(self.random_state), budget)
        rows = values_of(X, gamma)
        progress = FitProgress(self, data.names, self.passes, int(self.verbose), epochs_a_pass=1)
        if self.verbose:
            logger.info("%s", scaling)
        interrupted = threading.Event()

        def solve(index: int) -> tuple[BudgetedModel, list[PassReport]]:
            watch = progress.problem(index)
            solver = replace(settings, seed=settings.seed + index)
            model, history = solver.fit(rows, data.targets[index][:] * data.weights, watch, interrupted)
            watch.close(f"{len(history)} passes, mean loss {history[-1].loss:.4g}, {history[-1].seconds:.2f} s")
            return model, history

        results = run_tasks(solve, data.n_problems, thread_count(self.n_jobs), interrupted)
        progress.end(self.tol)
        self.classes_, self.gamma_, self.scale_ = data.classes, gamma, scaling
        self._keep([model for model, _ in results])
        self.history_ = [history for _, history in results]
        self.n_iter_ = np.array([len(history) for history in self.history_])
        return self

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> BudgetedSVC:
        """Go on with more rows of a stream, each seen once; the first call needs all `classes` there will be."""
        first = not hasattr(self, "_last")
        data = next_batch(self, X, y, classes, sample_weight, self.class_weight, first=first)
        rows, weights, signs = data.X, data.weights, data.targets
        self._check_size(rows, data.classes, weights, int(self.budget))
        scaling = self._scaling_of(rows, data.weight) if first else self._same_scaling()
        rows = scaling.transform(rows, np.float32)
        gamma = self._gamma_of(rows) if first else self._same_gamma()
        native = values_of(rows, gamma)
        before = [BudgetedModel.empty(rows.shape[1])] * len(signs) if first else self._models()
        seed = seed_of(self.random_state) + before[0].n_steps
        settings = self._settings(gamma, seed, int(self.budget))
        interrupted = threading.Event()

        def solve(index: int) -> BudgetedModel:
            solver = replace(settings, seed=seed + index)
            return solver.go_on(native, signs[index][:] * weights, before[index], interrupted)

        models = run_tasks(solve, len(signs), thread_count(self.n_jobs), interrupted)
        self.classes_, self.gamma_, self.scale_ = data.classes, gamma, scaling
        self._keep(models)
        return self

    def _scaling_of(self, X: Matrix, weight: Array | None) -> Scaling:
        return scaling_for(self.scale, self.gamma, PairKernel("rbf"), X, weight, thread_count(self.n_jobs))

    def _same_scaling(self) -> Scaling:
        """How the columns of a stream under way are scaled, which its support vectors are for."""
        scaling: Scaling = getattr(self, "scale_", unscaled("a stream of a former version"))
        if self.scale not in ("auto", scaling.name):
            raise ValueError(
                f"scale={self.scale!r}: the stream began with scale={scaling.name!r}. Begin a new model for it."
            )
        return scaling

    def _same_gamma(self) -> float:
        """The γ of a stream under way, which its support vectors are for."""
        if self.gamma not in ("scale", self.gamma_):
            raise ValueError(f"gamma={self.gamma!r}: the stream began with {self.gamma_:g}. Begin a new model for it.")
        n_support = int(self.n_support_.max())
        if int(self.budget) < n_support:
            raise ValueError(
                f"budget={self.budget}: the stream has {n_support} support vectors already. Begin a new model for it."
            )
        return float(self.gamma_)

    def _settings(self, gamma: float, seed: int, budget: int) -> BudgetedSGD:
        return BudgetedSGD(
            gamma=gamma,
            C=float(self.C),
            budget=budget,
            passes=int(self.passes),
            search=self.merge,
            maintenance=self.maintenance,
            grid_size=int(self.grid_size),
            intercept=bool(self.fit_intercept),
            average=bool(self.average),
            tol=float(self.tol),
            seed=seed,
        )

    def _gamma_of(self, X: Matrix) -> float:
        """The factor of the squared distance, checked to be within the range of float32."""
        gamma = svc_gamma(X) if self.gamma == "scale" else float(self.gamma)
        if not 1e-30 < gamma < 1e30:
            raise ValueError(f"gamma={self.gamma!r} is {gamma:.3g} here, beyond float32. Scale the data.")
        return gamma

    def _check_size(self, X: Matrix, classes: Labels, weights: Array, budget: int) -> None:
        """Refuse values and weights that float32 cannot hold, and a model that would not fit into memory."""
        validation.check_not_tiny(validation.check_squares(X, thread_count(self.n_jobs), validation.Names.of(self)))
        _ = costs(self.C, weights)
        if not (weights.min() >= 1.0 / _LARGEST_WEIGHT and weights.max() <= _LARGEST_WEIGHT):
            raise ValueError(
                f"sample_weight times class_weight ranges from {weights.min():.3g} to {weights.max():.3g}; it must lie "
                f"between {1.0 / _LARGEST_WEIGHT:g} and {_LARGEST_WEIGHT:g}. Put a common factor into C."
            )
        n_problems = classes.size if classes.size > 2 else 1
        between = 8 * budget if self.maintenance == "project" else 4 * budget if np.ptp(weights) > 0.0 else 0
        size = n_problems * (budget + 1) * (4 * X.shape[1] + between)
        if size > _LARGEST_MODEL:
            raise ValueError(
                f"{n_problems} × {budget} support vectors of {X.shape[1]:,} features take {size / 2**30:.3g} GB with "
                f"the distances that are kept; {_LARGEST_MODEL / 2**30:g} are allowed. Lower the budget, or the number "
                "of features: "
                "sklearn.feature_extraction.FeatureHasher and TruncatedSVD do that for sparse data."
            )

    def _keep(self, models: list[BudgetedModel]) -> None:
        self.support_vectors_ = np.concatenate([model.vectors for model in models])
        self.n_support_ = np.array([model.counts.size for model in models])
        self.dual_coef_ = np.concatenate([model.coefficients for model in models])
        self.intercept_ = np.array([model.intercept for model in models])
        # What partial_fit goes on from, as plain arrays; the vectors are those above.
        self._last = [asdict(replace(model, vectors=np.empty((0, 0), np.float32))) for model in models]

    @property
    def landmarks_(self) -> Array:
        """The support vectors in the units of the X that was passed to `fit`."""
        check_is_fitted(self, "intercept_")
        return np.asarray(unscaled_like(self, self.support_vectors_))

    def _models(self) -> list[BudgetedModel]:
        """The models as `_keep` was given them."""
        return [
            BudgetedModel(**last | {"vectors": self.support_vectors_[part]})
            for last, part in zip(self._last, self._parts(), strict=True)
        ]

    def _parts(self) -> list[slice]:
        """Each problem's support vectors."""
        ends = np.cumsum(self.n_support_)
        return [slice(end - n, end) for end, n in zip(ends, self.n_support_, strict=True)]

    def _check_new(self, X: MatrixLike) -> Matrix:
        check_is_fitted(self, "intercept_")
        return scaled_like(self, validation.check_new_points(self, X))

    def _scores(self, X: Matrix) -> Array:
        rows, n_threads = values_of(X, self.gamma_), thread_count(self.n_jobs)
        scores = np.empty((self.intercept_.size, X.shape[0]))
        for problem, part in enumerate(self._parts()):
            coefficients = self.dual_coef_[part].astype(np.float32)
            vectors = np.ascontiguousarray(self.support_vectors_[part])
            _core.budgeted_decision(rows, vectors, coefficients, self.gamma_, scores[problem], n_threads)
        return np.ascontiguousarray(scores.T) + self.intercept_
