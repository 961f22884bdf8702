"""AdditiveSVRCV: an AdditiveSVR that chooses its C, and its kernel, by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike

from .. import tables
from ..array_types import MatrixLike
from ..encoding import EncodedData, Scale
from ..mapped.dataset import Dataset
from ..randomness import RandomState
from ..sklearn_compat import Constraints, fit_context
from .additive_base import AdditiveBase, Categorical, Kernel
from .additive_search import AdditiveSearch, in_memory
from .additive_svr import AdditiveSVR
from .cross_validation import Scorer
from .fitting import in_one_step
from .progress import runs_callbacks


class AdditiveSVRCV(AdditiveSearch, AdditiveSVR):
    """AdditiveSVR with C chosen by cross-validation, and the kernel too where several are given.

    The folds are solved, and the model is refitted to all rows, as by AdditiveSVCCV. The standard deviation of y, which
    gives C its meaning, is that of all rows.

    Parameters
    ----------
    kernel : str, a kernels object, or a list of these, default="auto"
        As for AdditiveSVC. Of a list, the best is chosen.
    approximation : str or a tables object, default="hats"
    Cs : int or increasing array of float, default=10
        So many values from 0.01 to 100, evenly spread by their logarithms (1.0 for one), divided by the mean of
        `sample_weight`; or the values.
    cv : int, splitter or iterable of (train, test) rows, default=5
        An integer is the number of folds, in the order of the rows, as in scikit-learn. Pass KFold(5, shuffle=True) if
        that order has a meaning.
    scoring : str, callable or None, default=None
        None is R², weighted by `sample_weight` and averaged over outputs. A name is one of scikit-learn's scorers, such
        as "neg_root_mean_squared_error", given the weights too; a callable is called as scoring(model, X, y) for the
        held-out rows, and may ask the model for `predict` of all of these.
    epsilon, gamma, p, loss, scale, fit_intercept, intercept_scaling, tol, max_iter, solver : as for AdditiveSVR
    categorical, missing : as for AdditiveSVR
    n_jobs : int or None, default=None
        Threads, for folds and outputs. The result does not depend on it.
    random_state, verbose : as for AdditiveSVC. verbose=1 logs a line for each fold, output and C.

    Attributes
    ----------
    C_, kernel_, Cs_, scores_, best_score_ : the choice and its scores, as for AdditiveSVCCV.
    shapes_, intercept_, gamma_, epsilon_, target_unit_, n_iter_, objective_, dual_gap_, history_, solver_ : of the
        model refitted to all rows, as for AdditiveSVR.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kernline import AdditiveSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdditiveSVRCV(["chi2", "intersection"], scale="rank", Cs=[0.01, 0.1], cv=3).fit(X, y)
    >>> model.scores_.shape
    (2, 2, 3)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **{
            name: rules
            for name, rules in AdditiveSVR._parameter_constraints.items()
            if name not in ("C", "interactions")
        },
        **AdditiveSearch._search_constraints,
    }

    def __init__(
        self,
        kernel: Kernel | Sequence[Kernel] = "auto",
        approximation: str | tables.Approximation = "hats",
        *,
        Cs: int | ArrayLike = 10,
        cv: object = 5,
        scoring: Scorer = None,
        epsilon: float | str = "scale",
        gamma: float | str = "scale",
        p: float = -8.0,
        loss: str = "squared_error",
        scale: Scale | Literal["auto"] = "auto",
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
        # Not that of AdditiveSVR, which has a C.
        AdditiveBase.__init__(
            self,
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
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.epsilon = epsilon

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(
        self, X: MatrixLike | EncodedData | Dataset, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> AdditiveSVRCV:
        """Choose C and kernel, and fit to X and numbers y, as AdditiveSVR does; `sample_weight` is a factor of C."""
        grid = self._grid()
        X, y, sample_weight = in_memory(X, y, sample_weight)
        data = self._training_data(X, y, sample_weight)
        self._choose(grid, data, y, sample_weight)
        self._keep_targets(data)
        return self
