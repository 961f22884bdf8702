"""What the estimators of additive models share: their parameters, and the steps of a fit."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .. import kernels, losses, tables, validation
from ..array_types import Array, Matrix, MatrixLike
from ..caching import cached_property
from ..class_signs import costs
from ..encoding import SCALES, EncodedData, Scale, TermSpec
from ..mapped.dataset import Dataset
from ..pair_functions import PairFunction
from ..randomness import RandomState, seed_of
from ..shapes import ShapeFunctions, TrainingFacts
from ..sklearn_compat import Constraints, Interval, Options, StrOptions, Tags
from ..solvers import Blockwise, DualCD
from ..table_input import TableRules
from ..threads import thread_count
from ..training import AdditiveRows, AdditiveSettings, Intercept, encode
from .choices import JOINT_LOSSES, Asked, Choice, choose
from .importances import LaterFacts, importances, importances_of_counts, later_facts, training_facts
from .joint_fit import Interactions, JointSettings, checked_interactions, is_none, solve_results
from .joint_fit import fit as fit_jointly
from .labelled import ALL_CLASSES
from .progress import FitProgress, logger, show_log
from .solving import Solutions, Solved, solve_all
from .training_data import AnyTrainingData
from .warm_start import WarmStart

Kernel = str | kernels.AdditiveKernel
# The name of the one problem, where all are solved together.
ALL_PROBLEMS = "all together"
Categorical = Literal["auto"] | ArrayLike | None


class AdditiveBase(Solved[Matrix | EncodedData | Dataset]):
    """An estimator whose model is a sum of one curve per feature; AdditiveSVC describes the parameters.

    A derived class checks X and y, and calls `_fit_to`.
    """

    shapes_: ShapeFunctions

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions({"auto", *kernels.BY_NAME}), kernels.AdditiveKernel],
        "approximation": [StrOptions(set(tables.BY_NAME)), tables.Approximation],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="neither")],
        "p": [Interval(Real, None, 0.0, closed="both"), Options(Real, {-np.inf})],
        "scale": [StrOptions({"auto", *SCALES})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither"), None],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "dual-cd", "newton"})],
        "categorical": [StrOptions({"auto"}), "array-like", None],
        "missing": [StrOptions({"own", "error"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        kernel: Kernel | Sequence[Kernel],
        approximation: str | tables.Approximation,
        gamma: float | str,
        p: float,
        loss: str,
        scale: Scale | Literal["auto"],
        fit_intercept: bool,
        intercept_scaling: float | None,
        tol: float,
        max_iter: int,
        solver: str,
        categorical: Categorical,
        missing: Literal["own", "error"],
        n_jobs: int | None,
        random_state: RandomState,
        verbose: int,
    ) -> None:
        self.kernel = kernel
        self.approximation = approximation
        self.gamma = gamma
        self.p = p
        self.loss = loss
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.categorical = categorical
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _validate_params(self) -> None:
        with validation.kernel_hint(self.kernel, "NystromSVC (any kernel) or BudgetedSVC ('rbf')"):
            super()._validate_params()

    def _fit_to(self, data: AnyTrainingData, C: float | str) -> None:
        """Choose what is left to choose, solve all problems, and keep their curves."""
        seed, n_threads = self._seed, thread_count(self.n_jobs)
        choice = self._choice(data, C)
        if isinstance(data.X, Dataset):
            self._fit_to_parts(data, choice, seed)
            return
        rows = self._rows(data, choice, seed)
        self._keep_choice(choice)
        warm = self._warm_start(data, choice)
        if self._is_smooth(choice, data):
            self._fit_jointly(data, rows, choice, seed)
            return
        cost = costs(choice.C if choice.C is not None else 1.0, data.weights)
        progress = FitProgress(self, self._names(data), self.max_iter, int(self.verbose))
        results = self._solve(rows, data, cost, self._solver(seed), n_threads, progress, warm=warm)
        progress.end(self.tol)
        self._keep(results, rows, may_wait=True)
        if warm is not None:
            self._starts = warm.starts

    @property
    def _seed(self) -> int:
        return seed_of(self.random_state)

    @abstractmethod
    def _training_data(
        self, X: MatrixLike | EncodedData | Dataset, y: Any, weight: ArrayLike | None
    ) -> AnyTrainingData:
        """What the arguments of `fit` are, checked."""

    @abstractmethod
    def _keep_targets(self, data: Any) -> None:
        """Keep what the fitted model has of y."""

    def _fit_to_parts(self, data: AnyTrainingData, choice: Choice, seed: int) -> None:
        """Solve all problems on rows that are read part by part, and keep their curves."""
        from .parts_fit import PartsFit

        self._check_parts(data)
        fit = PartsFit(data, self._settings(data, choice, seed))
        progress = FitProgress(self, self._names(data), self.max_iter, int(self.verbose))
        solver = Blockwise(self.tol, self.max_iter, seed, thread_count(self.n_jobs))
        results = fit.solve(choice.C if choice.C is not None else 1.0, solver, progress)
        progress.end(self.tol)
        self._keep_choice(choice)
        self._warm_start(data, choice)
        self._keep(data.in_units(results), fit.rows)

    def _check_parts(self, data: AnyTrainingData) -> None:
        """Refuse what needs all rows in memory."""
        asked = {
            "multi_class='crammer-singer'": self._is_joint(data),
            "solver='newton'": self.solver == "newton",
            f"interactions={self._interactions()!r:.50}": not is_none(self._interactions()),
            "warm_start=True": getattr(self, "warm_start", False),
        }
        refused = [name for name, is_asked in asked.items() if is_asked]
        if refused:
            raise ValueError(
                f"{refused[0]} needs all codes in memory, and the Dataset is read part by part. Pass dataset.rows and "
                "dataset.y to fit, or leave the parameter at its default."
            )

    def _is_joint(self, data: AnyTrainingData) -> bool:
        """Whether all classes are fitted as Crammer and Singer's one problem."""
        return False

    def _names(self, data: AnyTrainingData) -> list[str]:
        """The names of the problems."""
        return [ALL_CLASSES] if self._is_joint(data) else data.names

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
        """Solve all problems, in the unit of y; `first` is the number of the first one in `progress`."""
        return data.in_units(solve_all(rows, data, cost, solver, n_threads, progress, first, warm))

    def _warm_start(self, data: AnyTrainingData, choice: Choice) -> WarmStart | None:
        """Where the problems start, if not from zero; what a former fit has left is forgotten."""
        asked = getattr(self, "warm_start", False) and not self._is_smooth(choice, data)
        warm = WarmStart(self, data, choice) if asked else None
        for name in ("_starts", "_last_step", "feature_weights_"):
            self.__dict__.pop(name, None)
        return warm

    def _choice(self, data: AnyTrainingData, C: float | str) -> Choice:
        """The kernel, scale, loss and C of this fit."""
        asked = Asked(
            kernel=self._kernels()[0],
            scale=self.scale,
            loss=self.loss,
            C=C,
            is_joint=self._may_be_smooth(data),
            has_pairs=not is_none(self._interactions()),
            losses=self._auto_losses,
        )
        choice = choose(asked, data, data.terms, thread_count(self.n_jobs))
        if self.verbose and "auto" in (asked.kernel, asked.scale, asked.loss, asked.C):
            show_log()
            logger.info("%s", choice.line)
        return choice

    def _choice_apart(self, data: AnyTrainingData, C: float | str, kernel: Kernel | None = None) -> Choice:
        """The choice where problems are solved one by one: for a search along C, and for batches."""
        kernel = self._kernels()[0] if kernel is None else kernel
        asked = Asked(kernel, self.scale, self.loss, C, is_joint=False, has_pairs=False, losses=self._auto_losses)
        return choose(asked, data, data.terms, thread_count(self.n_jobs))

    @property
    def _known_loss(self) -> str:
        """The loss, as far as it is known without data: "auto" if it depends on these (choices.py)."""
        depends = self.kernel == "auto" or not is_none(self._interactions())
        return self.loss if self.loss != "auto" or depends else self._auto_losses[1]

    def _keep_choice(self, choice: Choice) -> None:
        self.kernel_, self.scale_, self.loss_ = choice.kernel, choice.scale, choice.loss
        self.C_ = choice.C
        self._reason = choice.reason
        if choice.doubt is not None:
            warnings.warn(choice.doubt, UserWarning, stacklevel=2)

    @property
    @abstractmethod
    def _auto_losses(self) -> tuple[str, str]:
        """What loss="auto" is for a table, and for other data."""

    def _interactions(self) -> Interactions:
        return getattr(self, "interactions", 0)

    def _may_be_smooth(self, data: AnyTrainingData) -> bool:
        """Whether the tables and the solver leave it to the solver of smooth losses; the loss decides then."""
        has_hats = self.approximation == "hats" or isinstance(self.approximation, tables.Hats)
        has_primal = has_hats or self._kernels()[0] == "linear"
        return has_primal and self.solver == "auto" and not isinstance(data.X, Dataset)

    def _is_smooth(self, choice: Choice, data: AnyTrainingData) -> bool:
        """Whether all problems are solved together."""
        is_smooth = self._may_be_smooth(data) and choice.loss in JOINT_LOSSES
        if not is_smooth and not is_none(self._interactions()):
            raise ValueError(
                f"interactions={self._interactions()!r:.50} needs loss in {JOINT_LOSSES}, approximation='hats' (or a "
                "tables.Hats object), solver='auto' and, for several classes, multi_class='auto'; got "
                f"loss={choice.loss!r}, approximation={self.approximation!r}, solver={self.solver!r}."
            )
        return is_smooth

    def _joint_settings(self, data: AnyTrainingData, choice: Choice, seed: int) -> JointSettings:
        """How all problems are solved together, without pairs."""
        C = data.first_cost if choice.C is None else choice.C
        return JointSettings(
            tol=self.tol,
            max_iter=self.max_iter,
            seed=seed,
            n_threads=thread_count(self.n_jobs),
            by_evidence=choice.C is None,
            prior_scale=C if data.is_classification else 1.0,
            has_intercept=self.fit_intercept,
            interactions=0,
            recost=data.recost,
        )

    def _fit_jointly(
        self,
        data: AnyTrainingData,
        rows: AdditiveRows,
        choice: Choice,
        seed: int,
        progress: FitProgress | None = None,
        number: int = 0,
    ) -> None:
        """Solve all problems together, as problem `number` of a longer fit if its `progress` is given."""
        if progress is None:
            progress = FitProgress(self, [self._name_of_all(data)], self.max_iter, int(self.verbose))
        watch = progress.problem(number)
        by_evidence = choice.C is None
        data = data.with_mean_weight_one() if by_evidence else data
        C = data.first_cost if choice.C is None else choice.C
        loss = data.joint_loss(costs(C, data.weights))
        pairs = checked_interactions(self._interactions(), validation.Names.of(self), rows)
        settings = self._joint_settings(data, choice, seed)
        model = fit_jointly(rows, loss, replace(settings, interactions=pairs), watch)
        results = solve_results(model)
        watch.end(results[0])
        progress.end(self.tol)
        self._keep(data.in_units(results), rows, data.pairs_in_units(model.pairs), model.pair_places)
        self._keep_as_one()
        self.feature_weights_ = model.column_weights
        self.C_ = model.C if by_evidence else choice.C

    def _name_of_all(self, data: AnyTrainingData) -> str:
        return ALL_PROBLEMS if data.n_problems > 1 else data.names[0]

    def _keep_as_one(self) -> None:
        """How the one problem of all ended."""
        for name in ("n_iter_", "objective_", "dual_gap_"):
            setattr(self, name, getattr(self, name)[:1])
        self.history_ = self.history_[:1]
        self.solver_ = "joint"

    def _rows(self, data: AnyTrainingData, choice: Choice, seed: int) -> AdditiveRows:
        """The rows, encoded."""
        assert not isinstance(data.X, Dataset)
        settings = self._settings(data, choice, seed)
        known = None if isinstance(data.X, EncodedData) else data.column_range(settings.n_threads)
        rows = encode(data.X, settings, data.weight, validation.Names.of(self), known)
        if (self.scale, self.kernel) != ("auto", "auto"):
            return rows
        # Whoever did not ask for raw values should not be refused a negative one later: it counts as zero.
        return replace(rows, encoder=replace(rows.encoder, nonnegative_for=""))

    def _settings(self, data: AnyTrainingData, choice: Choice, seed: int) -> AdditiveSettings:
        return AdditiveSettings(
            kernel=kernels.get(choice.kernel, self.p),
            approximation=choice.method(self.approximation),
            scale=choice.scale,
            gamma=self.gamma,
            loss=losses.get(choice.loss),
            intercept=Intercept(self.fit_intercept, self.intercept_scaling),
            terms=data.terms,
            columns=data.columns,
            seed=seed,
            n_problems=data.n_problems,
            n_threads=thread_count(self.n_jobs),
        )

    def _solver(self, seed: int) -> DualCD:
        return DualCD(self.tol, self.max_iter, seed, solver=self.solver)

    def _keep(
        self,
        results: Solutions,
        rows: AdditiveRows,
        pairs: tuple[PairFunction, ...] = (),
        pair_places: tuple[Array, ...] = (),
        former: TrainingFacts | None = None,
        *,
        may_wait: bool = False,
    ) -> None:
        """Keep the curves of the solutions; `former` are facts of rows that they have seen before these.

        Facts that may wait are computed when they are asked for, from a sample of the rows.
        """
        self.gamma_ = rows.gamma
        self._keep_results(results)
        curves = [weights for result in results for weights in result.curves]
        shapes = ShapeFunctions.of_curves(rows.encoder, rows.pair.read, curves, self.intercept_, pairs)
        shapes = shapes.with_names(getattr(self, "feature_names_in_", None))
        later = later_facts(shapes, rows) if may_wait else None
        if later is not None:
            self.shapes_ = shapes.with_history(later)
            self.__dict__.pop("feature_importances_", None)  # those of a former fit
            return
        facts, spread = training_facts(shapes, rows, pair_places, former)
        self.shapes_ = shapes.with_history(facts)
        self.feature_importances_ = importances(shapes, spread)

    @cached_property
    def feature_importances_(self) -> Array:
        """One number per feature, in all 1; computed here if the facts of the training rows had to wait."""
        facts = self.shapes_.training if hasattr(self, "shapes_") else None
        if not isinstance(facts, LaterFacts):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'feature_importances_'")
        return importances(self.shapes_, facts.spread)

    def __getstate__(self) -> dict[str, Any]:
        hasattr(self, "feature_importances_")  # computed now if not yet
        state: dict[str, Any] = super().__getstate__()
        return state

    def with_shapes(self, shapes: ShapeFunctions) -> Self:
        """Return a copy of the fitted estimator with these functions, such as ``shapes_.edit(...)`` returns.

        It predicts, saves and exports them. Other results of the fit, such as `dual_gap_`, stay as they were.
        """
        check_is_fitted(self)
        fitted = self.shapes_
        if (shapes.n_features, shapes.n_problems) != (fitted.n_features, fitted.n_problems):
            raise ValueError(
                f"with_shapes: the functions must be those of a model of {fitted.n_features} features with "
                f"{fitted.n_problems} curves each; got {shapes!r}."
            )
        other = copy(self)
        for name in ("_starts", "_last_step"):  # a later fit would go on from the curves before the change
            other.__dict__.pop(name, None)
        other.shapes_ = shapes.uncentred()
        other.intercept_ = other.shapes_.intercepts
        if shapes.training is not None:
            other.feature_importances_ = importances_of_counts(other.shapes_)
        return other

    def _terms(self) -> Sequence[TermSpec]:
        """The terms to fit besides numbers, categories and missing values."""
        return ()

    def _table_rules(self) -> TableRules:
        """How a table becomes numbers and terms."""
        return TableRules(self.categorical, self.missing, tuple(self._terms()))

    def _check_new(self, X: MatrixLike | EncodedData | Dataset) -> Matrix | EncodedData | Dataset:
        check_is_fitted(self)
        if isinstance(X, EncodedData | Dataset):
            return validation.check_new_encoded(X, self.shapes_.encoder)
        return validation.check_new_data(self, X, self.shapes_.encoder)

    def _scores(self, X: Matrix | EncodedData | Dataset) -> Array:
        if isinstance(X, Dataset):
            return np.concatenate([self._scores(part) for part in X.read_ahead(X.parts, lambda _, part: part)])
        return self.shapes_.decision(X, thread_count(self.n_jobs))

    def _html_repr(self) -> str:
        """scikit-learn's diagram and, of a fitted model, the most important curves beside it, for notebooks."""
        diagram: str = super()._html_repr()
        if not hasattr(self, "shapes_"):
            return diagram
        from ..display.sparklines import curves_html

        curves = curves_html(self.shapes_)
        layout = "display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start"
        return f'<div style="{layout}"><div>{diagram}</div>{curves}</div>' if curves else diagram

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # scale="auto" ranks what the kernel does not take.
        tags.input_tags.allow_nan = self.missing == "own"
        tags.input_tags.string = isinstance(self.categorical, str)
        tags.input_tags.positive_only = self.scale == "max" and any(
            getattr(kernels.BY_NAME.get(kernel) if isinstance(kernel, str) else kernel, "nonnegative", False)
            for kernel in self._kernels()
        )
        return tags

    def _kernels(self) -> Sequence[Kernel]:
        """The kernel, or those to choose from."""
        return list(self.kernel) if isinstance(self.kernel, (list, tuple)) else [cast(Kernel, self.kernel)]
