"""AdditiveSVCCV: an AdditiveSVC that chooses its C, and its kernel, by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike

from .. import tables
from ..array_types import MatrixLike
from ..class_signs import ClassWeight
from ..encoding import EncodedData, Scale
from ..mapped.dataset import Dataset
from ..randomness import RandomState
from ..sklearn_compat import Constraints, Tags, fit_context
from .additive import AdditiveSVC
from .additive_base import AdditiveBase, Categorical, Kernel
from .additive_search import AdditiveSearch, in_memory
from .cross_validation import Scorer
from .fitting import in_one_step
from .multilabel import is_indicator
from .progress import runs_callbacks

# Parameters of AdditiveSVC that a search has no use for.
_NOT_HERE = ("C", "warm_start", "interactions")


class AdditiveSVCCV(AdditiveSearch, AdditiveSVC):
    """AdditiveSVC with C chosen by cross-validation, and the kernel too where several are given.

    The model is refitted to all rows with the C and the kernel of the highest mean score; the folds are solved to three
    times its tol, at most 0.03, unless that is looser already. The encoder, and with it
    gamma="scale", sees all rows once: the columns' largest values (with scale="rank" their quantiles) are those of the
    held-out rows too. Their labels are not seen, except the counts for class_weight="balanced".

    Parameters
    ----------
    kernel : str, a kernels object, or a list of these, default="auto"
        As for AdditiveSVC. Of a list, the best is chosen.
    approximation : str or a tables object, default="hats"
    Cs : int or increasing array of float, default=10
        So many values from 0.01 to 100, evenly spread by their logarithms (1.0 for one), divided by the mean of
        `sample_weight`; or the values.
    cv : int, splitter or iterable of (train, test) rows, default=5
        An integer is the number of stratified folds, in the order of the rows, as in scikit-learn.
    scoring : str, callable or None, default=None
        None is accuracy, weighted by `sample_weight`. A name is one of scikit-learn's scorers, given the weights too; a
        callable is called as scoring(model, X, y) for the held-out rows, and may ask the model for `predict`,
        `decision_function` and, with loss="log", `predict_proba` of all of these.
    loss : {"auto", "log", "hinge", "squared_hinge"}, default="auto"
        As for AdditiveSVC. With the log loss and a number of `Cs`, a weight for each column by evidence, as in
        AdditiveSVC(C="auto"), is tried besides, and taken unless a C scores higher by more than twice the standard
        error of the difference.
    gamma, p, scale, fit_intercept, intercept_scaling, tol, max_iter, solver, categorical, missing, class_weight :
        as for AdditiveSVC
    multi_class : {"auto", "ovr", "crammer-singer"}, default="auto"
        As for AdditiveSVC.
    n_jobs : int or None, default=None
        Threads, for folds and classes. The result does not depend on it.
    random_state, verbose : as for AdditiveSVC. verbose=1 logs a line for each fold, class and C.

    Attributes
    ----------
    C_, kernel_ : the chosen ones. Of equal scores, the smaller C is taken, then the first kernel. If the evidence
        decided, C_ is where it began, and `feature_weights_` what it found.
    evidence_scores_ : the scores of the evidence, (n_kernels, n_folds), if it was tried.
    Cs_ : the C tried.
    scores_ : the scores of the held-out rows, (n_kernels, n_Cs, n_folds). Where they have risen along C, and then
        three C in a row score below the best by more than twice the standard error of the difference, larger C are not
        tried, and their scores are NaN. verbose=1 logs which.
    best_score_ : the mean score of the chosen ones over the folds.
    classes_, shapes_, intercept_, gamma_, n_iter_, objective_, dual_gap_, history_, solver_ : of the model refitted to
        all rows, as for AdditiveSVC.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVCCV
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVCCV(["chi2", "intersection"], Cs=[0.1, 1.0], cv=3, random_state=0).fit(X, y)
    >>> model.scores_.shape
    (2, 2, 3)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **{name: rules for name, rules in AdditiveSVC._parameter_constraints.items() if name not in _NOT_HERE},
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
        gamma: float | str = "scale",
        p: float = -8.0,
        loss: str = "auto",
        multi_class: str = "auto",
        scale: Scale | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = "auto",
        categorical: Categorical = "auto",
        missing: Literal["own", "error"] = "own",
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
        # Not that of AdditiveSVC, which has a C.
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
        self.multi_class = multi_class
        self.class_weight = class_weight

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(
        self, X: MatrixLike | EncodedData | Dataset, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> AdditiveSVCCV:
        """Choose C and kernel, and fit to X and labels y, as AdditiveSVC does; `sample_weight` is a factor of C."""
        grid = self._grid()
        if is_indicator(y):
            raise ValueError(
                f"{type(self).__name__} takes one label per row; y has several columns. For several labels, search for "
                'C with sklearn.model_selection.GridSearchCV(AdditiveSVC(), {"C": [...]}).'
            )
        X, y, sample_weight = in_memory(X, y, sample_weight)
        data = self._training_data(X, y, sample_weight)
        self._choose(grid, data, y, sample_weight)
        self.classes_ = data.classes
        self.shapes_ = self.shapes_.with_classes(self.classes_)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags
