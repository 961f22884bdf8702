"""What the estimators of additive models share: their parameters, and the steps of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import ClassVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import kernels, losses, tables, validation
from ..array_types import Array, Matrix, MatrixLike
from ..class_signs import costs
from ..encoding import SCALES, EncodedData, Scale, TermSpec
from ..randomness import RandomState, random_of, seed_from
from ..shapes import ShapeFunctions
from ..sklearn_compat import Constraints, Interval, Options, StrOptions, Tags
from ..solvers import DualCD
from ..threads import thread_count
from ..training import AdditiveRows, AdditiveSettings, Intercept, encode
from .progress import FitProgress
from .solving import Solutions, Solved, solve_all
from .training_data import AnyTrainingData

Kernel = str | kernels.AdditiveKernel


class AdditiveBase(Solved[Matrix | EncodedData]):
    """An estimator whose model is a sum of one curve per feature; AdditiveSVC describes the parameters.

    A derived class checks X and y, and calls `_fit_to`.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions(set(kernels.BY_NAME)), kernels.AdditiveKernel],
        "approximation": [StrOptions(set(tables.BY_NAME)), tables.Approximation],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="neither")],
        "p": [Interval(Real, None, 0.0, closed="both"), Options(Real, {-np.inf})],
        "scale": [StrOptions(set(SCALES))],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither"), None],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "dual-cd", "newton"})],
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
        scale: Scale,
        fit_intercept: bool,
        intercept_scaling: float | None,
        tol: float,
        max_iter: int,
        solver: str,
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _validate_params(self) -> None:
        with validation.kernel_hint(self.kernel, "NystromSVC (any kernel) or BudgetedSVC ('rbf')"):
            super()._validate_params()

    def _fit_to(self, data: AnyTrainingData, C: float) -> None:
        """Solve all problems for this C, and keep their curves."""
        seed, n_threads = seed_from(random_of(self.random_state)), thread_count(self.n_jobs)
        rows = self._rows(data, self._kernels()[0], seed)
        cost = costs(C, data.weights)
        progress = FitProgress(self, self._names(data), self.max_iter, int(self.verbose))
        results = self._solve(rows, data, cost, self._solver(seed), n_threads, progress)
        progress.end(self.tol)
        self._keep(results, rows)

    def _names(self, data: AnyTrainingData) -> list[str]:
        """The names of the problems."""
        return data.names

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
        """Solve all problems; `first` is the number of the first one in `progress`."""
        return solve_all(rows, data, cost, solver, n_threads, progress, first)

    def _rows(self, data: AnyTrainingData, kernel: Kernel, seed: int) -> AdditiveRows:
        """The rows, encoded for a kernel."""
        settings = AdditiveSettings(
            kernel=kernels.get(kernel, self.p),
            approximation=self.approximation,
            scale=self.scale,
            gamma=self.gamma,
            loss=self._loss(),
            intercept=Intercept(self.fit_intercept, self.intercept_scaling),
            terms=tuple(self._terms()),
            seed=seed,
            n_problems=data.n_problems,
            n_threads=thread_count(self.n_jobs),
        )
        return encode(data.X, settings, data.weight, validation.Names.of(self))

    def _loss(self) -> losses.Loss:
        return losses.get(self.loss)

    def _solver(self, seed: int) -> DualCD:
        return DualCD(self.tol, self.max_iter, seed, solver=self.solver)

    def _keep(self, results: Solutions, rows: AdditiveRows) -> None:
        self.gamma_ = rows.gamma
        self._keep_results(results)
        weights = results[0].curves if len(results) == 1 else np.concatenate([result.curves for result in results])
        names = getattr(self, "feature_names_in_", None)
        self.shapes_ = ShapeFunctions(rows.encoder, rows.pair.read, weights, self.intercept_, names)

    def _terms(self) -> Sequence[TermSpec]:
        """The terms to fit besides numbers."""
        return ()

    def _check_new(self, X: MatrixLike | EncodedData) -> Matrix | EncodedData:
        check_is_fitted(self)
        if isinstance(X, EncodedData):
            return validation.check_new_encoded(X, self.shapes_.encoder)
        return validation.check_new_data(self, X, self.shapes_.encoder)

    def _scores(self, X: Matrix | EncodedData) -> Array:
        return self.shapes_.decision(X, thread_count(self.n_jobs))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.scale == "max" and any(
            getattr(kernels.BY_NAME.get(kernel) if isinstance(kernel, str) else kernel, "nonnegative", False)
            for kernel in self._kernels()
        )
        return tags

    def _kernels(self) -> Sequence[Kernel]:
        """The kernel, or those to choose from."""
        return list(self.kernel) if isinstance(self.kernel, (list, tuple)) else [cast(Kernel, self.kernel)]
