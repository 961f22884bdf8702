"""A fit is all or nothing: an estimator has the attributes of the former fit, or all of the new one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
EstimatorT = TypeVar("EstimatorT")


def in_one_step(
    fit: Callable[Concatenate[EstimatorT, P], EstimatorT],
) -> Callable[Concatenate[EstimatorT, P], EstimatorT]:
    """Decorate a method that sets attributes, so that an error or Ctrl-C in it leaves the estimator as it was.

    The method runs on a shallow copy of the estimator. What it has set and deleted there is taken over by replacing
    ``__dict__``, which nothing can interrupt half-way. Returns the estimator itself.

    If two threads fit the same estimator, the last one to end decides: every attribute with a trailing underscore is
    then its own, even those that have the value of the former fit.
    """

    @wraps(fit)
    def fit_or_leave(estimator: EstimatorT, *args: P.args, **kwargs: P.kwargs) -> EstimatorT:
        before = dict(vars(estimator))
        copy = object.__new__(type(estimator))
        vars(copy).update(before)
        fit(copy, *args, **kwargs)
        after = vars(copy)
        new = {
            name: value
            for name, value in after.items()
            if name[-1] == "_" or name not in before or before[name] is not value
        }
        kept = {
            name: value
            for name, value in vars(estimator).items()
            if name[-1] != "_" and (name in after or name not in before)
        }
        estimator.__dict__ = kept | new
        return estimator

    return fit_or_leave
