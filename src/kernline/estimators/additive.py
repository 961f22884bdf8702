"""AdditiveSVC: the SVM of an additive kernel, trained at the cost of a linear one."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar, TypeGuard

from numpy.typing import ArrayLike

from .. import kernels, tables
from ..array_types import Array, Matrix, MatrixLike
from ..class_signs import ClassWeight
from ..encoding import EncodedData, Scale
from ..randomness import RandomState
from ..sklearn_compat import Constraints, Interval, StrOptions, fit_context
from ..solvers import DualCD, JointCD
from ..training import AdditiveRows
from .additive_base import AdditiveBase
from .fitting import in_one_step
from .labelled import ALL_CLASSES, AnyLabelled, Labelled, labelled_or_encoded
from .one_vs_rest import OneAgainstRest
from .progress import FitProgress, runs_callbacks
from .solving import Solutions, solve_jointly
from .training_data import AnyTrainingData


class AdditiveSVC(OneAgainstRest[Matrix | EncodedData], AdditiveBase):
    """Support vector classifier with an additive kernel, gamma · Σ_j k(x_j, y_j).

    The model is a sum of one curve per feature, f(x) = b + Σ_j f_j(x_j), kept in ``shapes_``. Several classes are
    fitted one against the rest, or together.

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
        and fractions; 1.0 is the kernel as defined.
    p : float, default=-8.0
        Exponent of kernel="power_mean", at most 0.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    multi_class : {"auto", "ovr", "crammer-singer"}, default="auto"
        How more than two classes are fitted: "ovr" as one binary problem per class, one against the rest;
        "crammer-singer" as one problem, in which a row costs 1 plus the highest score of another class minus the score
        of its own, if that is positive. That is more accurate on most data and takes up to twice as long, four to six
        times on wide sparse data with many classes. It needs loss="hinge" and "hats", an explicit map or the linear
        kernel. "auto" is "ovr". With two classes it makes no difference: both have one binary problem.
    scale : {"max", "minmax", "rank"}, default="max"
        How values reach [0, 1]. "max" keeps the kernel that of the raw values, which must not be negative; "minmax" and
        "rank" change the values, for tables with negative or skewed columns.
    fit_intercept : bool, default=True
        Whether the model has an intercept. "pmsvm" has none, as published.
    intercept_scaling : float or None, default=None
        None does not penalise the intercept, as in SVC. A number penalises it as LIBLINEAR does: the kernel gains a
        constant, the square of this number times the mean of K(x_i, x_i). The methods "plame" and "pmsvm-lut", which
        have no symmetric kernel, always penalise it; None is 1 for these.
    tol : float, default=0.01
        Stop at a duality gap of tol times the objective. Below about 1e-5, float32 may not get there.
    max_iter : int, default=1000
        Most passes over the rows per problem; a step of Newton's method counts as one.
    solver : {"auto", "dual-cd", "newton"}, default="auto"
        Coordinate descent on the dual, Newton's method on the primal, or ("auto") the first until the second pays: for
        large C, and for many rows of few features. Only "hats", the linear kernel and the explicit maps have a primal.
        "crammer-singer" is solved by coordinate descent only.
    class_weight : dict, "balanced" or None, default=None
        Factor of C by class.
    n_jobs : int or None, default=None
        Threads, for classes; remaining threads are shared among them. None is one, -1 all. "crammer-singer" uses them
        to prepare the rows, and then one.
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
    n_iter_, objective_, dual_gap_ : epochs, primal objective and its distance from the dual one, one per problem; a
        single one for "crammer-singer". The
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

    _parameter_constraints: ClassVar[Constraints] = {
        **AdditiveBase._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multi_class": [StrOptions({"auto", "ovr", "crammer-singer"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
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
        multi_class: str = "auto",
        scale: Scale = "max",
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
        super().__init__(
            kernel=kernel,
            approximation=approximation,
            gamma=gamma,
            p=p,
            loss=loss,
            scale=scale,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            tol=tol,
            max_iter=max_iter,
            solver=solver,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.C = C
        self.multi_class = multi_class
        self.class_weight = class_weight

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(self, X: MatrixLike | EncodedData, y: ArrayLike, sample_weight: ArrayLike | None = None) -> AdditiveSVC:
        """Fit to X, (n_samples, n_features) dense or sparse, and labels y; `sample_weight` is a factor of C.

        X may also be what ``io.read(encoder=)`` returns: codes of the encoder of a model with the same kernel,
        approximation and scale. No values are held then.
        """
        data = self._labelled(X, y, sample_weight)
        self._fit_to(data, self.C)
        self.classes_ = data.classes
        return self

    def _labelled(self, X: MatrixLike | EncodedData, y: ArrayLike, sample_weight: ArrayLike | None) -> AnyLabelled:
        self._check_multi_class()
        return labelled_or_encoded(self, X, y, sample_weight, self.class_weight, self._terms())

    def _check_multi_class(self) -> None:
        """Refuse parameters that the joint problem does not have, whatever the number of classes."""
        if self.multi_class != "crammer-singer":
            return
        if self.loss != "hinge":
            raise ValueError(
                f"multi_class='crammer-singer' needs loss='hinge'; got loss={self.loss!r}. Change one of the two: "
                "multi_class='ovr' takes any loss."
            )
        if self.solver == "newton":
            raise ValueError(
                "multi_class='crammer-singer' is solved by coordinate descent; got solver='newton'. Pass "
                "solver='auto', or multi_class='ovr'."
            )

    def _is_joint(self, data: AnyTrainingData) -> TypeGuard[AnyLabelled]:
        """Whether all classes are fitted as one problem."""
        return self.multi_class == "crammer-singer" and isinstance(data, Labelled) and data.classes.size > 2

    def _names(self, data: AnyTrainingData) -> list[str]:
        return [ALL_CLASSES] if self._is_joint(data) else super()._names(data)

    def _solve(
        self,
        rows: AdditiveRows,
        data: AnyTrainingData,
        cost: Array,
        solver: DualCD,
        n_threads: int,
        progress: FitProgress,
        first: int = 0,
    ) -> Solutions:
        if not self._is_joint(data):
            return super()._solve(rows, data, cost, solver, n_threads, progress, first)
        return solve_jointly(rows, data, cost, JointCD(solver.tol, solver.max_iter, solver.seed), progress, first)
