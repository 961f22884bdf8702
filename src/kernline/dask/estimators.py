"""DaskAdditiveSVC and DaskAdditiveSVR: the additive estimators on the partitions of a Dask collection."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

import dask.array as da
import numpy as np
from distributed import Client
from sklearn.base import clone

from .. import kernels, tables
from ..class_signs import ClassWeight
from ..encoding import Scale
from ..estimators.additive import AdditiveSVC
from ..estimators.additive_base import AdditiveBase, Categorical
from ..estimators.additive_svr import AdditiveSVR
from ..estimators.fitting import in_one_step
from ..estimators.joint_fit import Interactions
from ..estimators.progress import runs_callbacks
from ..randomness import RandomState
from ..sklearn_compat import Constraints, fit_context
from . import fitting
from .pieces import is_collection
from .session import CANCELLED, ClusterError, Session, chosen_client

_CLIENT: Constraints = {"client": [Client, None]}


class _OnCluster(AdditiveBase):
    """What both estimators share."""

    client: Client | None
    _local: ClassVar[type[AdditiveSVC | AdditiveSVR]]

    @abstractmethod
    def _keep_found(self, targets: fitting.Targets) -> None:
        """Keep what the model has of y."""

    def _fit_on_cluster(self, X: Any, y: Any, weight: Any) -> None:
        fitting.check_supported(self)
        with Session(chosen_client(self.client)) as session:
            try:
                fitting.fit(self, session, X, y, weight, self._seed)
            except CANCELLED as error:
                raise ClusterError.of_lost() from error

    def __sklearn_clone__(self) -> Self:
        """As `sklearn.base.clone`, but with the same client: a connection cannot be copied."""
        params = self.get_params(deep=False)
        kept = {"client": params.pop("client")}
        copy = type(self)(**kept, **{name: clone(value, safe=False) for name, value in params.items()})
        if hasattr(self, "_metadata_request"):
            copy._metadata_request = clone(self._metadata_request, safe=False)
        if hasattr(self, "_skl_callbacks"):
            copy._skl_callbacks = self._skl_callbacks
        return copy

    def to_local(self) -> Any:
        """The fitted model as an ordinary estimator, which needs no Dask; `kernline.save` takes it."""
        local: Any = self._local()
        known = local.get_params()
        local.set_params(**{name: value for name, value in self.get_params(deep=False).items() if name in known})
        own = set(self.get_params(deep=False))
        vars(local).update({name: value for name, value in vars(self).items() if name not in own})
        return local

    def _per_partition(self, X: Any, method: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """A method of the local model on every partition, lazily; `shape` is that of a row's result."""
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X)
        if isinstance(X, da.Array):
            X = X.rechunk({1: -1})
            axes = {"drop_axis": 1} if not shape else {"chunks": (X.chunks[0], shape)}
            nothing = np.empty((0, *shape), dtype)
            return X.map_blocks(_apply, local, method, nothing, dtype=dtype, meta=nothing, **axes)
        return da.concatenate(
            [
                da.from_delayed(_delayed(local, method, part, np.empty((0, *shape), dtype)), (np.nan, *shape), dtype)
                for part in X.to_delayed()
            ],
            allow_unknown_chunksizes=True,
        )


def _delayed(local: Any, method: str, part: Any, nothing: Any) -> Any:
    from dask import delayed

    return delayed(_apply)(part, local, method, nothing)


def _apply(X: Any, local: Any, method: str, nothing: Any) -> Any:
    """The result of a method; `nothing` is that of no rows."""
    return getattr(local, method)(X) if X.shape[0] else nothing


class DaskAdditiveSVC(_OnCluster, AdditiveSVC):
    """AdditiveSVC on a Dask cluster.

    `fit` takes dask arrays (dense or sparse blocks) or dask data frames, with text, categories and missing values; or
    names of files, such as ``"part-*.parquet"``, with the name of the column of labels as y. y and `sample_weight` have
    the partitions of X, which are encoded where they are.

    Up to a gigabyte of codes, a byte per value, workers fetch all of them, and each problem is a task: a class against
    the rest, or all classes together. The result is that of AdditiveSVC on the same codes. Larger data stays where it
    is. Each class is then fitted against the rest, by local coordinate descent on each partition and a safe sum of the
    changes (solvers/rounds.py), without evidence, interactions, "crammer-singer" and Newton's method. `dual_gap_` is
    the exact certificate in both cases, and the result does not depend on the number of workers.

    A worker that dies costs time, not the fit.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        None is the current client. No cluster is started.
    kernel, approximation, C, gamma, p, loss, multi_class, scale, interactions : as for AdditiveSVC
        The approximation must have a symmetric kernel. For more than a gigabyte of codes, C="auto" is 30 for the log
        loss, and else 1, or 10 for ranks.
    fit_intercept, intercept_scaling, tol, max_iter, solver : as for AdditiveSVC
    categorical, missing, class_weight, random_state, verbose : as for AdditiveSVC
        The seeds of tasks follow from `random_state`, so that a fit can be repeated.
    n_jobs : int or None, default=None
        Threads of `predict` in memory.

    Attributes
    ----------
    Those of AdditiveSVC; for more than a gigabyte of codes, `n_iter_` counts rounds. ``to_local()`` is an AdditiveSVC.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
    >>> model = DaskAdditiveSVC().fit(X, y)  # doctest: +SKIP
    >>> model.predict(X_new).compute()  # doctest: +SKIP
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **{name: allowed for name, allowed in AdditiveSVC._parameter_constraints.items() if name != "warm_start"},
        **_CLIENT,
    }
    _local = AdditiveSVC

    def __init__(
        self,
        kernel: str | kernels.AdditiveKernel = "auto",
        approximation: str | tables.Approximation = "hats",
        *,
        client: Client | None = None,
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
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
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
        self.client = client
        self.C = C
        self.interactions = interactions
        self.multi_class = multi_class
        self.class_weight = class_weight

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the partitions of X, y and the weights."""
        self._fit_on_cluster(X, y, sample_weight)
        return self

    def _keep_found(self, targets: fitting.Targets) -> None:
        assert targets.classes is not None
        self.classes_, self.multilabel_ = targets.classes, False
        self.n_samples_seen_ = targets.n_rows
        self.shapes_ = self.shapes_.with_classes(self.classes_)

    def decision_function(self, X: Any) -> Any:
        """Scores, as of AdditiveSVC; of a collection, a lazy dask array."""
        shape = () if self.classes_.size == 2 else (self.classes_.size,)
        return self._per_partition(X, "decision_function", shape, np.float64)

    def predict(self, X: Any) -> Any:
        """The class of the highest score; of a collection, a lazy dask array."""
        return self._per_partition(X, "predict", (), self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, for loss="log"; of a collection, a lazy dask array."""
        return self._per_partition(X, "predict_proba", (self.classes_.size,), np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy; that of collections is computed now."""
        if not is_collection(X):
            return float(self.to_local().score(X, y, sample_weight))
        correct = self.predict(X) == _column(y)
        if sample_weight is None:
            return float(correct.mean().compute())
        weight = _column(sample_weight)
        return float(((correct * weight).sum() / weight.sum()).compute())


class DaskAdditiveSVR(_OnCluster, AdditiveSVR):
    """AdditiveSVR on a Dask cluster; see DaskAdditiveSVC.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        None is the current client. No cluster is started.
    kernel, approximation, C, epsilon, gamma, p, loss, scale, interactions : as for AdditiveSVR
        For more than a gigabyte of codes, there are no interactions and no evidence: C="auto" is 1, or 10 for ranks.
    fit_intercept, intercept_scaling, tol, max_iter, solver : as for AdditiveSVR
    categorical, missing, n_jobs, random_state, verbose : as for AdditiveSVR
        `n_jobs` are the threads of `predict` in memory.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
    >>> model = DaskAdditiveSVR().fit("part-*.parquet", "price")  # doctest: +SKIP
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **AdditiveSVR._parameter_constraints,
        **_CLIENT,
    }
    _local = AdditiveSVR

    def __init__(
        self,
        kernel: str | kernels.AdditiveKernel = "auto",
        approximation: str | tables.Approximation = "hats",
        *,
        client: Client | None = None,
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
        self.client = client
        self.C = C
        self.interactions = interactions
        self.epsilon = epsilon

    @fit_context(prefer_skip_nested_validation=True)
    @in_one_step
    @runs_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the partitions of X, y and the weights."""
        self._fit_on_cluster(X, y, sample_weight)
        return self

    def _keep_found(self, targets: fitting.Targets) -> None:
        assert targets.epsilons is not None
        self.epsilon_ = targets.epsilons
        self.target_unit_ = np.array([output.unit for output in targets.outputs])

    def predict(self, X: Any) -> Any:
        """f(x); of a collection, a lazy dask array."""
        shape = () if self.intercept_.size == 1 else (self.intercept_.size,)
        return self._per_partition(X, "predict", shape, np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², averaged over outputs; that of collections is computed now."""
        if not is_collection(X):
            return float(self.to_local().score(X, y, sample_weight))
        y, found = _column(y), self.predict(X)
        weight = da.ones_like(y if y.ndim == 1 else y[:, 0]) if sample_weight is None else _column(sample_weight)
        w = weight if y.ndim == 1 else weight[:, None]
        mean = (w * y).sum(axis=0) / w.sum(axis=0)
        errors, spread = (w * (y - found) ** 2).sum(axis=0), (w * (y - mean) ** 2).sum(axis=0)
        return float(np.mean((1.0 - errors / spread).compute()))


def _column(y: Any) -> Any:
    """Labels or weights as a dask array."""
    if isinstance(y, da.Array):
        return y
    return y.to_dask_array() if hasattr(y, "to_dask_array") else da.asarray(np.asarray(y))
