"""AdditiveSVR: regression with an additive kernel, trained at the cost of a linear one."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from .. import kernels, losses, tables
from ..array_types import Array, Matrix, MatrixLike
from ..encoding import EncodedData, Scale
from ..mapped.dataset import Dataset
from ..randomness import RandomState
from ..sklearn_compat import Constraints, Interval, StrOptions, Tags, fit_context
from .additive_base import AdditiveBase, Categorical
from .fitting import in_one_step
from .joint_fit import Interactions
from .measured import AnyMeasured, Goal, measured_table
from .one_vs_rest import one_column_flat
from .progress import runs_callbacks


class AdditiveSVR(RegressorMixin, AdditiveBase):
    """Regression with an additive kernel, gamma · Σ_j k(x_j, y_j).

    The model is a sum of one curve per feature, f(x) = b + Σ_j f_j(x_j), kept in ``shapes_``, in the unit of y. If y
    has several columns, each has curves of its own.

    Parameters
    ----------
    kernel, approximation : as for AdditiveSVC
    C : float or "auto", default="auto"
        Cost of an error, for y in units of its standard deviation: the same C suits y in metres and in millimetres.
        Smaller is smoother. "auto" finds it with the squared error by maximum evidence, as 1 / 2σ² for the variance σ²
        of the noise, and a weight for each column (solvers/evidence.py), and `sample_weight` counts relative to its
        mean; otherwise it is 1, and 10 for ranks.
        scikit-learn's SVR with C · y.std() is the same problem; the squared losses do not depend on the unit.
        "squared_error" is kernel ridge regression with alpha = 1 / 2C.
    epsilon : "scale" or float, default="scale"
        Errors up to epsilon cost nothing, for the two losses with that name; in the unit of y, as in scikit-learn.
        "scale" is a tenth of the standard deviation of y.
    loss : {"squared_error", "epsilon_insensitive", "squared_epsilon_insensitive"}, default="squared_error"
        Cost of an error: its square, what it exceeds epsilon by (less affected by outliers), or the square of that.
    interactions : int, "auto" or list of pairs of columns, default=0
        As for AdditiveSVC, for the squared error.
    gamma, p, scale, fit_intercept, intercept_scaling, tol, max_iter, solver, categorical, missing : as for
        AdditiveSVC
    n_jobs : int or None, default=None
        Threads, for outputs; remaining threads are shared among them. None is one, -1 all.
    random_state, verbose : as for AdditiveSVC

    Attributes
    ----------
    shapes_ : ShapeFunctions, the fitted curves.
    intercept_ : one per output.
    kernel_, scale_, loss_, C_, feature_weights_ : as for AdditiveSVC.
    gamma_ : the kernel's factor used.
    epsilon_ : the epsilon used, one per output, in the unit of y; 0 for loss="squared_error".
    target_unit_ : the unit of the curves and intercepts, one per output. It is 1, the unit of y, unless float32 cannot
        hold numbers of that size: if the standard deviation of y is below 1e-25 or above 1e25, it is the unit.
    n_iter_, objective_, dual_gap_, history_, solver_ : as for AdditiveSVC, one per output. Objectives are those of y in
        standard deviations.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kernline import AdditiveSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdditiveSVR().fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.4
    True
    """

    _auto_losses = ("squared_error", "squared_error")

    _parameter_constraints: ClassVar[Constraints] = {
        **AdditiveBase._parameter_constraints,
        "C": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
        "interactions": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left"), "array-like"],
        "epsilon": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="left")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive", "squared_error"})],
    }

    def __init__(
        self,
        kernel: str | kernels.AdditiveKernel = "auto",
        approximation: str | tables.Approximation = "hats",
        *,
        C: float | Literal["auto"] = "auto",
        epsilon: float | str = "scale",
        gamma: float | str = "scale",
        p: float = -8.0,
        loss: str = "squared_error",
        scale: Scale | Literal["auto"] = "auto",
        interactions: Interactions = 0,
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = "auto",
        categorical: Categorical = "auto",
        missing: Literal["own", "error"] = "own",
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
            categorical=categorical,
            missing=missing,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.C = C
        self.interactions = interactions
        self.epsilon = epsilon

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(
        self, X: MatrixLike | EncodedData | Dataset, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> AdditiveSVR:
        """Fit to X, (n_samples, n_features), and numbers y, (n_samples,) or (n_samples, n_outputs).

        `sample_weight` is a factor of C. X is an array, a sparse matrix, a table with text and missing values, or what
        ``io.read(encoder=)`` returns, or a `Dataset`, which has its own y, as for AdditiveSVC.
        """
        data = self._training_data(X, y, sample_weight)
        self._fit_to(data, self.C)
        self._keep_targets(data)
        return self

    def _training_data(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> AnyMeasured:
        goal = Goal(losses.get(self.loss), self.epsilon, self.fit_intercept and self.intercept_scaling is None)
        return measured_table(self, X, y, sample_weight, self._table_rules(), goal)

    def _keep_targets(self, data: AnyMeasured) -> None:
        self.epsilon_, self.target_unit_ = data.epsilons, data.units

    def predict(self, X: MatrixLike | EncodedData | Dataset) -> Array:
        """f(x): one number per row, or (n_samples, n_outputs) if y had several columns."""
        return one_column_flat(self._scores(self._check_new(X)))

    def _scores(self, X: Matrix | EncodedData | Dataset) -> Array:
        values = super()._scores(X)
        if (self.target_unit_ != 1.0).any():
            values *= self.target_unit_
        return values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
