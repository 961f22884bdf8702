"""Progress of a long fit: log lines by `verbose`, and scikit-learn's callbacks in versions that have them."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable
from typing import TypeVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ..sklearn_compat import with_callbacks
from ..solvers import EPOCHS_A_PASS, EpochReport, Outcome, PassReport
from ..validation import level_of_caller

logger = logging.getLogger("kernline")

FitT = TypeVar("FitT", bound=Callable[..., object])


def runs_callbacks(fit: FitT) -> FitT:
    """Decorate a fit method so that callbacks are torn down however it ends."""
    return with_callbacks(fit) if with_callbacks is not None else fit


def show_log() -> None:
    """Make `verbose` visible for those who have not set up logging; what they have set up is left alone."""
    if not logger.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)
    if logger.getEffectiveLevel() > logging.INFO:
        logger.setLevel(logging.INFO)


class FitProgress:
    """The progress of one fit over `names`, one name a binary problem. Workers may call it from several threads."""

    def __init__(
        self,
        estimator: BaseEstimator,
        names: list[str],
        max_iter: int,
        verbose: int,
        epochs_a_pass: int = EPOCHS_A_PASS,
    ) -> None:
        self.estimator = estimator
        self.names = names
        self.max_iter = max_iter
        self.max_epochs = epochs_a_pass * max_iter
        self.verbose = verbose
        self.lock = threading.Lock()
        self.n_ended = 0
        self.unfinished: list[tuple[float, str]] = []
        self.context = None
        if hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx"):
            self.context = estimator._init_callback_context(max_subtasks=len(names), sequential_subtasks=False)
            self.context.call_on_fit_task_begin(estimator=estimator)
        if verbose:
            show_log()

    def problem(self, index: int) -> ProblemProgress:
        """Begin problem number `index`."""
        return ProblemProgress(self, index)

    def end(self, tol: float) -> None:
        """Tell that the fit is over, and in one warning which problems it left short of `tol`."""
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.estimator)
        if self.unfinished:
            relative, name = max(self.unfinished)
            warnings.warn(
                f"{len(self.unfinished)} of {self.n_ended} problems stopped at max_iter={self.max_iter} passes; the "
                f"worst, {name}, has a relative gap of {relative:.2g} where tol={tol:g} was asked. Raise max_iter or "
                "tol, or lower C, which makes the problem easier.",
                ConvergenceWarning,
                stacklevel=level_of_caller(),
            )


class ProblemProgress:
    """The progress of one binary problem: call it after each epoch; True asks to stop."""

    def __init__(self, fit: FitProgress, index: int) -> None:
        self.fit = fit
        self.name = fit.names[index]
        self.label = f"{self.name} ({index + 1}/{len(fit.names)})"
        self.context = None
        if fit.context is not None:
            with fit.lock:
                self.context = fit.context.subcontext(self.label, task_id=index, max_subtasks=fit.max_epochs)
                self.context.call_on_fit_task_begin(estimator=fit.estimator)

    @property
    def is_idle(self) -> bool:
        """Whether a call does nothing, so that solvers need not return after every epoch."""
        return self.context is None and self.fit.verbose <= 1

    def __call__(self, report: EpochReport | PassReport) -> bool:
        """Log the epoch and run the callbacks on it."""
        if self.fit.verbose > 1:
            logger.info("%s %s", self.label, report.line())
        if self.context is None:
            return False
        with self.fit.lock:
            epoch = self.context.subcontext(f"epoch {report.epoch}")
            epoch.call_on_fit_task_begin(estimator=self.fit.estimator)
            return bool(epoch.call_on_fit_task_end(estimator=self.fit.estimator))

    def end(self, result: Outcome) -> None:
        """Tell how the problem ended."""
        relative = result.gap / result.primal if result.primal else 0.0
        with self.fit.lock:
            self.fit.n_ended += 1
            if not result.converged and not result.stopped:
                self.fit.unfinished.append((relative, self.name))
        seconds = result.history[-1].seconds if result.history else 0.0
        self.close(f"{result.n_iter} epochs, relative gap {relative:.2g}, {seconds:.2f} s")

    def close(self, summary: str) -> None:
        """Tell that the problem is done with."""
        if self.fit.verbose:
            logger.info("%s: %s", self.label, summary)
        if self.context is not None:
            with self.fit.lock:
                self.context.call_on_fit_task_end(estimator=self.fit.estimator)
