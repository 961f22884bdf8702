"""AdditiveSVC: the SVM of an additive kernel, trained at the cost of a linear one."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import kernels, tables, validation
from ..array_types import Array
from ..encoding import SCALES, Scale, TermSpec
from ..shapes import ShapeFunctions
from ..sklearn_compat import Interval, Options, StrOptions, fit_context
from ..solvers import SolveResult
from ..threads import thread_count
from .fitting import in_one_step
from .one_vs_rest import OneAgainstRest
from .progress import FitProgress, runs_callbacks
from .training import Labelled, Prepared, costs, prepare, random_of, seed_from


class AdditiveSVC(OneAgainstRest):
    """Support vector classifier with an additive kernel, gamma · Σ_j k(x_j, y_j).

    The model is a sum of one curve per feature, f(x) = b + Σ_j f_j(x_j), kept in ``shapes_``. Several classes are
    fitted one against the rest.

    Parameters
    ----------
    kernel : {"chi2", "intersection", "hellinger", "js", "power_mean", "linear"} or a kernels object, default="chi2"
        "chi2" and "intersection" suit histograms and counts, "intersection" with scale="rank" suits tables.
    approximation : str or a tables object, default="hats"
        How the kernel becomes a table: "hats", "plame", "pmsvm", "pmsvm-lut" or "low-dim" for any kernel, "feature-map"
        for chi2, intersection, js and hellinger, "chebyshev" for chi2, "hik" for the intersection. The linear kernel
        needs none.
    C : float, default=1.0
        Cost of a margin violation; smaller is smoother.
    gamma : "scale" or float, default="scale"
        Factor of the kernel. "scale" makes the mean of K(x_i, x_i) one, so that C = 1 is a fair start on pixels, counts
        and fractions alike; 1.0 is the kernel as it is.
    p : float, default=-8.0
        Exponent of kernel="power_mean", at most 0.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    scale : {"max", "minmax", "rank"}, default="max"
        How values reach [0, 1]. "max" keeps the kernel that of the raw values, which must not be negative; "minmax" and
        "rank" change the values, for tables with negative or skewed columns.
    fit_intercept : bool, default=True
        Adds a constant to the kernel, so that the intercept is penalised like the curves. "pmsvm" has none, as
        published.
    intercept_scaling : float, default=1.0
        The constant is the square of this times the mean of K(x_i, x_i). A larger one penalises the intercept less, and
        slows the fit: at 10, about tenfold, for no accuracy on the data we measured.
    tol : float, default=0.01
        Stop at a duality gap of tol times the objective. Below about 1e-5, float32 may not get there.
    max_iter : int, default=1000
        Most passes over the data and Newton steps, a problem.
    solver : {"auto", "dual-cd", "newton"}, default="auto"
        Coordinate descent on the dual, Newton's method on the primal, or ("auto") the first until the second pays: for
        large C, and for many rows of few features. Only "hats", the linear kernel and the explicit maps have a primal.
    class_weight : dict, "balanced" or None, default=None
        Factor of C by class.
    n_jobs : int or None, default=None
        Threads: classes are fitted side by side, and share what is left over. None is one, -1 all.
    random_state : int, RandomState or None, default=0
        Seed of the order of visits; None takes NumPy's global state. The result does not depend on `n_jobs`. Models of
        different seeds are all within `tol` of the best, and their scores differ by a few tenths at the default. At
        tol=0.001 it is less than 0.1 on most data, in 1.1 to 2 times the time, and no more accurate.
    verbose : int, default=0
        1 logs one line per class, 2 one line per epoch, to the logger "kernline".

    Attributes
    ----------
    classes_ : the labels.
    shapes_ : ShapeFunctions, the fitted curves.
    intercept_ : one per problem.
    gamma_ : the factor used.
    n_iter_, objective_, dual_gap_ : epochs, primal objective and its distance from the dual one, one per problem. The
        distance is a certificate for "hats" and "linear"; for the others it measures how near their iteration is to its
        fixed point.
    history_ : for each problem a list of (epoch, seconds, dual, gap, n_active), one entry per epoch or Newton step.
    solver_ : "dual-cd", "newton", or "dual-cd+newton" where the second ended what the first began, for some problem.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> AdditiveSVC(kernel="chi2").fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(kernels.BY_NAME)), kernels.AdditiveKernel],
        "approximation": [StrOptions(set(tables.BY_NAME)), tables.Approximation],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="neither")],
        "p": [Interval(Real, None, 0.0, closed="both"), Options(Real, {-np.inf})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "scale": [StrOptions(set(SCALES))],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "dual-cd", "newton"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        kernel: str | kernels.AdditiveKernel = "chi2",
        approximation: str | tables.Approximation = "hats",
        *,
        C: float = 1.0,
        gamma: float | str = "scale",
        p: float = -8.0,
        loss: str = "hinge",
        scale: Scale = "max",
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
        self.approximation = approximation
        self.C = C
        self.gamma = gamma
        self.p = p
        self.loss = loss
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _validate_params(self) -> None:
        with validation.kernel_hint(self.kernel, "NystromSVC (any kernel) or BudgetedSVC ('rbf')"):
            super()._validate_params()

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdditiveSVC:
        """Fit to X, (n_samples, n_features) dense or sparse, and labels y; `sample_weight` is a factor of C."""
        data = Labelled.of(self, X, y, sample_weight)
        seed = seed_from(random_of(self))
        prepared = prepare(self, self.kernel, data.X, data.weight, seed, len(data.signs))
        cost = costs(self.C, data.weights)
        progress = FitProgress(self, data.names, self.max_iter, int(self.verbose))
        results = self._solve(prepared, data, cost, progress, seed)
        progress.end(self.tol)
        self._keep(results, data.classes, prepared)
        return self

    def _keep(self, results: list[SolveResult], classes: NDArray[Any], prepared: Prepared) -> None:
        self.classes_ = classes
        self.gamma_ = prepared.gamma
        self._keep_results(results)
        weights = np.stack([result.weights for result in results])
        names = getattr(self, "feature_names_in_", None)
        self.shapes_ = ShapeFunctions(prepared.encoder, prepared.pair.read, weights, self.intercept_, names)

    def _terms(self) -> Sequence[TermSpec]:
        """The terms to fit besides numbers."""
        return ()

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return validation.check_new_data(self, X, self.shapes_.encoder)

    def _scores(self, X: Any) -> Array:
        return self.shapes_.decision(X, thread_count(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.scale == "max" and any(
            getattr(kernels.BY_NAME.get(kernel) if isinstance(kernel, str) else kernel, "nonnegative", False)
            for kernel in self._kernels()
        )
        return tags

    def _kernels(self) -> list[Any]:
        return [self.kernel]
