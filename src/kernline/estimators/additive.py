"""AdditiveSVC: the SVM of an additive kernel, trained at the cost of a linear one."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from .. import kernels, tables
from ..array_types import Array, Labels, Matrix, MatrixLike
from ..class_signs import ClassWeight
from ..encoding import EncodedData, Scale
from ..mapped.dataset import Dataset
from ..randomness import RandomState
from ..sklearn_compat import Constraints, Interval, StrOptions, Tags, fit_context
from ..solvers import DualCD, JointCD
from ..training import AdditiveRows
from ..validation import level_of_caller
from .additive_base import AdditiveBase, Categorical
from .additive_stream import follow
from .fitting import in_one_step
from .joint_fit import Interactions, is_none
from .labelled import AnyLabelled, labelled_table
from .multi_class import check_multi_class, has_several_classes
from .multilabel import MultiLabelled, is_indicator, multilabelled
from .one_vs_rest import OneAgainstRest
from .probabilities import class_probabilities, probabilities_of_log_loss
from .progress import FitProgress, runs_callbacks
from .solving import Solutions, solve_jointly
from .streaming import has_partial_fit, next_batch
from .training_data import AnyTrainingData
from .warm_start import WarmStart


class AdditiveSVC(OneAgainstRest[Matrix | EncodedData | Dataset], AdditiveBase):
    """Classifier with an additive kernel, gamma · Σ_j k(x_j, y_j): a support vector machine, or logistic regression.

    With nothing set, it looks at the data. A table gets the log loss, with a weight for each column by evidence instead
    of C. Columns of one unit (counts, pixels, fractions) keep their raw values and the chi2 kernel; other tables are
    ranked, with the intersection kernel. A table is dense, and has at most 200 columns, or more if they are not of one
    unit (up to 20,000,000 values). Other data gets the hinge loss, with C = 1, or 10 for ranks. `kernel_`, `scale_`,
    `loss_` and `C_` show what was chosen; with verbose=1, a line of the log says why.

    The model is a sum of one curve per feature, f(x) = b + Σ_j f_j(x_j), kept in ``shapes_``. Several classes are
    fitted one against the rest, or together.

    Parameters
    ----------
    kernel : {"auto", "chi2", "intersection", "hellinger", "js", "power_mean", "linear"} or a kernels object
        "chi2" and "intersection" suit histograms and counts, "intersection" with scale="rank" suits tables. "auto", the
        default, is one of these two; "linear" for sparse data with negative values. For a kernel that is named, other
        parameters that are "auto" make a support vector machine of it: hinge loss on the raw values.
    approximation : str or a tables object, default="hats"
        How the kernel becomes a table: "hats", "plame", "pmsvm", "pmsvm-lut" or "low-dim" for any kernel, "feature-map"
        for chi2, intersection, js and hellinger, "chebyshev" for chi2, "hik" for the intersection. The linear kernel
        needs none. Hats have 16 knots; with ranks and C by evidence, 32 or 64 where each has 25 rows or more.
    C : float or "auto", default="auto"
        Cost of an error; smaller is smoother. "auto" finds a weight for each column with the log loss, by maximum
        evidence, on one fit: there is no cross-validation (solvers/evidence.py). `sample_weight` then counts relative
        to its mean. Otherwise it is 1, and 10 for ranks.
    gamma : "scale" or float, default="scale"
        Factor of the kernel. "scale" makes the mean of K(x_i, x_i) one, so that C = 1 is a fair start on pixels, counts
        and fractions; 1.0 is the kernel as defined.
    p : float, default=-8.0
        Exponent of kernel="power_mean", at most 0.
    loss : {"auto", "log", "hinge", "squared_hinge"}, default="auto"
        "log" has probabilities (`predict_proba`). The hinges are those of support vector machines. "auto" is "log" for
        tables if no kernel is named.
    multi_class : {"auto", "ovr", "crammer-singer"}, default="auto"
        How more than two classes are fitted: "ovr" as one binary problem per class, one against the rest;
        "crammer-singer" as one problem, in which a row costs 1 plus the highest score of another class minus the score
        of its own, if that is positive. That is more accurate on most data and takes up to twice as long, four to six
        times on wide sparse data with many classes. It needs the hinge loss, which loss="auto" then is, and "hats", an
        explicit map or the linear kernel. "auto" is one problem too for loss="log" (softmax), unless `solver` is given,
        and "ovr" for other losses. With two classes it makes no difference: all have one binary problem.
    scale : {"auto", "max", "minmax", "rank"}, default="auto"
        How values reach [0, 1]. "max" keeps the kernel that of the raw values, which must not be negative; "minmax" and
        "rank" change the values, for tables with negative or skewed columns. "auto" is "max" for columns of one unit,
        and for a kernel that is named if it takes the values; otherwise "rank".
    interactions : int, "auto" or list of pairs of columns, default=0
        Functions of two columns besides the curves: so many, chosen by what they would explain of the errors of the
        curves; "auto" chooses about one for 100 rows, more if columns have few values, and 400 at most, and keeps them
        if they lower the loss of rows held out; or the pairs, by name or number. For the log loss.
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
    categorical : "auto", list of names or numbers of columns, boolean mask, or None, default="auto"
        Columns with an exact weight for each level instead of a curve. "auto": columns of text, and those of type
        category in a data frame; booleans are the numbers 0 and 1. A list or a mask names all of them. None: there are
        none, and text is refused. A level that the training data does not hold adds nothing to the score.
    missing : {"own", "error"}, default="own"
        "own": NaN, None, pandas.NA and empty text have a weight of their own in every column that has some in training.
        In a column that has none, a missing category adds nothing, and a missing number counts as the middle of the
        training values: the median for scale="rank", the middle of the range for "minmax", zero for "max". "error":
        they are refused.
    class_weight : dict, "balanced" or None, default=None
        Factor of C by class.
    warm_start : bool, default=False
        Whether `fit` starts from the former solution, and keeps its own for the next: for another C or tol, or a few
        labels that have changed. The result is within `tol` of the same optimum. On another number of rows, the former
        curves are the start, which helps losses with a derivative; hinge starts from zero.
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
    classes_ : the labels; of an indicator matrix, the numbers of its columns.
    multilabel_ : whether the model was fitted to an indicator matrix.
    shapes_ : ShapeFunctions, the fitted curves.
    feature_importances_ : one number per feature, in all 1: the standard deviation of its curve over the training rows
        (2,000 of them at most), averaged over the problems. ``shapes_.importance(X)`` has mean distances by problem.
    intercept_ : one per problem.
    kernel_, scale_, loss_, C_ : what was used; C_ is where the evidence began, if it decided.
    feature_weights_ : for loss="log", the weight of each column's curve by evidence; 1 for a C that was given.
    gamma_ : the factor used.
    n_iter_, objective_, dual_gap_ : epochs, primal objective and its distance from the dual one, one per problem, or
        one in all for classes that are fitted together. The distance is a certificate for "hats" and "linear"; for the
        others it measures how near their iteration is to its fixed point.
    history_ : for each problem a list of (epoch, seconds, dual, gap, n_active), one entry per epoch or Newton step.
    n_samples_seen_ : rows of `fit`, and of all batches of `partial_fit`.
    solver_ : "dual-cd", "newton", or "dual-cd+newton" where the second ended what the first began, for some problem;
        "joint" for the log loss of all classes.

    Notes
    -----
    There is no early stopping on held-out rows. The problem is convex: it has one optimum, `dual_gap_` certifies how
    near a model is to it, and a fit stops once that is within `tol`. A model stopped earlier is one of an unknown,
    stronger regularisation, which depends on the order of visits; a smaller C is the same thing with a name, and
    AdditiveSVCCV chooses it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits, load_wine
    >>> from kernline import AdditiveSVC
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdditiveSVC().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95, model.scale_
    (True, 'rank')
    >>> X, y = load_digits(return_X_y=True)
    >>> AdditiveSVC(kernel="chi2").fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **AdditiveBase._parameter_constraints,
        "C": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
        "interactions": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left"), "array-like"],
        "loss": [StrOptions({"auto", "hinge", "squared_hinge", "log"})],
        "multi_class": [StrOptions({"auto", "ovr", "crammer-singer"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        kernel: str | kernels.AdditiveKernel = "auto",
        approximation: str | tables.Approximation = "hats",
        *,
        C: float | Literal["auto"] = "auto",
        gamma: float | str = "scale",
        p: float = -8.0,
        loss: str = "auto",
        multi_class: str = "auto",
        scale: Scale | Literal["auto"] = "auto",
        interactions: Interactions = 0,
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = "auto",
        categorical: Categorical = "auto",
        missing: Literal["own", "error"] = "own",
        class_weight: ClassWeight = None,
        warm_start: bool = False,
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
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.warm_start = warm_start

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(
        self, X: MatrixLike | EncodedData | Dataset, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> AdditiveSVC:
        """Fit to X, (n_samples, n_features), and labels y; `sample_weight` is a factor of C.

        X is an array, a sparse matrix, or a table with columns of text and missing values: a data frame of pandas,
        polars or pyarrow, an array of objects, or what ``io.read`` returns. It may also be what ``io.read(encoder=)``
        returns: codes of the encoder of a model with the same kernel, approximation and scale. No values are held then.
        Or it is a `Dataset`, with its own labels and weights unless others are given: one in a file of more than 64 MB
        of codes is read part by part, and memory holds 5 bytes per row and 4 per row and problem. "auto" is then the
        kernel and scale of the Dataset, and the hinge; evidence, softmax, pairs, "crammer-singer", Newton's method and
        `warm_start` need `dataset.rows`.

        y may be a matrix of zeros and ones, dense or sparse, with a column for each label: rows then have any number of
        labels, each a problem of its own, and `predict` returns such a matrix.
        """
        data = self._training_data(X, y, sample_weight)
        self._fit_to(data, self.C)
        self._keep_targets(data)
        return self

    def _keep_targets(self, data: AnyLabelled) -> None:
        self.classes_, self.n_samples_seen_ = data.classes, int(data.weights.size)
        self.multilabel_ = isinstance(data, MultiLabelled)
        self.shapes_ = self.shapes_.with_classes(self.classes_)

    @available_if(has_partial_fit)
    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> AdditiveSVC:
        """Go on with a batch of more rows; the first call, unless after `fit`, needs all `classes` there will be.

        A step moves f by as little as the batch asks for, min ½‖f − f_before‖² + C Σ ℓ over its rows, and the model is
        the average of all steps, later ones counting more. One pass over shuffled batches is about as accurate as `fit`
        to all rows with the same C; further passes act like a larger C. The encoder and gamma="scale" are learnt from
        the first batch, which should be typical: later values outside its range are clipped to it. The intercept is
        penalised, as with intercept_scaling=1. `objective_`, `dual_gap_`, `n_iter_` and `history_` are those of the
        batch. After `load`, the stream goes on from the average. Pairs of a former `fit` stay as they are, and batches
        alone give no pairs.
        """
        if getattr(self, "multilabel_", False):
            raise ValueError("partial_fit takes one label per row; the model was fitted to an indicator matrix.")
        first = not hasattr(self, "shapes_")
        if first and not is_none(self.interactions):
            warnings.warn(
                "partial_fit fits curves only: pairs are chosen by fit, on all rows. Start with fit, or pass "
                "interactions=0.",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        data = next_batch(self, X, y, classes, sample_weight, self.class_weight, self._table_rules(), first=first)
        follow(self, data, first=first)
        self.classes_, self.multilabel_ = data.classes, False
        self.shapes_ = self.shapes_.with_classes(self.classes_)
        return self

    @probabilities_of_log_loss
    def predict_proba(self, X: MatrixLike | EncodedData | Dataset) -> Array:
        """The probability of each class, or of each label, (n_samples, n_classes), for loss="log"."""
        scores = self._scores(self._check_new(X))
        if getattr(self, "multilabel_", False):
            return expit(scores)
        return class_probabilities(scores, "softmax" if self.solver_ == "joint" else "each")

    @probabilities_of_log_loss
    def predict_log_proba(self, X: MatrixLike | EncodedData | Dataset) -> Array:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _training_data(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> AnyLabelled:
        rules = self._table_rules()
        make = multilabelled if is_indicator(y) else labelled_table
        data: AnyLabelled = make(self, X, y, sample_weight, self.class_weight, rules)
        check_multi_class(self, data)
        return data

    def predict(self, X: MatrixLike | EncodedData | Dataset) -> Labels:
        """The class of the highest score; after a fit to an indicator matrix, the matrix of positive scores."""
        if getattr(self, "multilabel_", False):
            return (self.decision_function(X) > 0.0).astype(np.int64)
        return super().predict(X)

    @property
    def _auto_losses(self) -> tuple[str, str]:
        return ("hinge", "hinge") if self.multi_class == "crammer-singer" else ("log", "hinge")

    def _may_be_smooth(self, data: AnyTrainingData) -> bool:
        one_by_one = self.multi_class == "ovr" and has_several_classes(data)
        return super()._may_be_smooth(data) and not one_by_one

    def _is_joint(self, data: AnyTrainingData) -> TypeGuard[AnyLabelled]:
        return self.multi_class == "crammer-singer" and has_several_classes(data)

    def _solve(
        self,
        rows: AdditiveRows,
        data: AnyTrainingData,
        cost: Array,
        solver: DualCD,
        n_threads: int,
        progress: FitProgress,
        first: int = 0,
        warm: WarmStart | None = None,
    ) -> Solutions:
        if not self._is_joint(data):
            return super()._solve(rows, data, cost, solver, n_threads, progress, first, warm)
        joint = JointCD(solver.tol, solver.max_iter, solver.seed)
        return solve_jointly(rows, data, cost, joint, progress, first, warm)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.multi_class != "crammer-singer"
        return tags
