"""Who takes part: ours with its defaults, and the peers with theirs. No parameter is chosen for a data set.

Linear models get the usual preparation: gaps filled, numbers standardised, text as indicators. LightGBM gets text as
pandas categories. EBM reads the table itself, as ours does. More iterations than the default are allowed where a solver
would stop early, and the number of threads is that of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import kernline
from kernline import AdditiveSVC


@dataclass(frozen=True)
class Contestant:
    """`make` takes the number of threads and whether the data is a DataFrame, and returns an unfitted estimator."""

    label: str
    make: Callable[[int, bool], Any]
    package: str
    ours: bool = False
    slow: bool = False

    def version(self) -> str:
        """Name and version of the package."""
        try:
            return f"{self.package} {version(self.package)}"
        except PackageNotFoundError:
            return f"{self.package} missing"


def _svc(threads: int, is_frame: bool, **parameters: Any) -> Any:
    return AdditiveSVC(n_jobs=threads, **parameters)


def _svr(threads: int, is_frame: bool, **parameters: Any) -> Any:
    if not hasattr(kernline, "AdditiveSVR"):
        raise ImportError("this version of kernline has no AdditiveSVR")
    return kernline.AdditiveSVR(n_jobs=threads, **parameters)


def _before(threads: int, is_frame: bool, **parameters: Any) -> Any:
    """A setting of kernline 0.1.0, which reads neither text nor gaps, every parameter as it was."""
    return make_pipeline(_numeric(is_frame, None), AdditiveSVC(n_jobs=threads, loss="hinge", **parameters))


def _linear(model: Any, is_frame: bool) -> Any:
    return make_pipeline(_numeric(is_frame, StandardScaler()), model)


def _numeric(is_frame: bool, scaler: Any) -> Any:
    """Fill gaps, scale, and replace text by indicators."""
    numbers = make_pipeline(SimpleImputer(), scaler)
    if not is_frame:
        return numbers
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        sparse_threshold=0.3 if scaler is not None else 0.0,
    )


def _ebm(name: str, threads: int, **parameters: Any) -> Any:
    from interpret import glassbox

    return getattr(glassbox, name)(n_jobs=threads, **parameters)


def _lightgbm(name: str, threads: int, is_frame: bool) -> Any:
    import lightgbm

    model = getattr(lightgbm, name)(n_jobs=threads, verbose=-1)
    return make_pipeline(FunctionTransformer(_categories), model) if is_frame else model


def _categories(X: Any) -> Any:
    text = make_column_selector(dtype_exclude="number")(X)
    return X.astype(dict.fromkeys(text, "category"))


def _logistic(threads: int, is_frame: bool) -> Any:
    return _linear(LogisticRegression(max_iter=10_000), is_frame)


def _linear_svc(threads: int, is_frame: bool) -> Any:
    return _linear(LinearSVC(max_iter=10_000), is_frame)


CLASSIFIERS = {
    "kernline": Contestant("AdditiveSVC()", _svc, "kernline", ours=True),
    "kernline-log": Contestant('loss="log"', lambda n, f: _svc(n, f, loss="log"), "kernline", ours=True),
    "kernline-pairs": Contestant(
        'interactions="auto"', lambda n, f: _svc(n, f, interactions="auto"), "kernline", ours=True
    ),
    "today": Contestant("0.1.0 chi2", lambda n, f: _before(n, f, kernel="chi2", scale="max", C=1.0), "kernline"),
    "today-rank": Contestant(
        "0.1.0 rank", lambda n, f: _before(n, f, kernel="intersection", scale="rank", C=1.0), "kernline"
    ),
    "today-rank-10": Contestant(
        "0.1.0 rank, C=10", lambda n, f: _before(n, f, kernel="intersection", scale="rank", C=10.0), "kernline"
    ),
    "logistic": Contestant("LogisticRegression", _logistic, "scikit-learn"),
    "linear-svc": Contestant("LinearSVC", _linear_svc, "scikit-learn"),
    "lightgbm": Contestant("LightGBM", lambda n, f: _lightgbm("LGBMClassifier", n, f), "lightgbm"),
    "ebm-mains": Contestant(
        "EBM mains",
        lambda n, f: _ebm("ExplainableBoostingClassifier", n, interactions=0),
        "interpret-core",
        slow=True,
    ),
    "ebm": Contestant("EBM", lambda n, f: _ebm("ExplainableBoostingClassifier", n), "interpret-core", slow=True),
}
REGRESSORS = {
    "kernline": Contestant("AdditiveSVR()", _svr, "kernline", ours=True),
    "kernline-pairs": Contestant(
        'interactions="auto"', lambda n, f: _svr(n, f, interactions="auto"), "kernline", ours=True
    ),
    "ridge": Contestant("Ridge", lambda n, f: _linear(Ridge(), f), "scikit-learn"),
    "lightgbm": Contestant("LightGBM", lambda n, f: _lightgbm("LGBMRegressor", n, f), "lightgbm"),
    "ebm-mains": Contestant(
        "EBM mains", lambda n, f: _ebm("ExplainableBoostingRegressor", n, interactions=0), "interpret-core", slow=True
    ),
    "ebm": Contestant("EBM", lambda n, f: _ebm("ExplainableBoostingRegressor", n), "interpret-core", slow=True),
}
NAMES = list(dict.fromkeys([*CLASSIFIERS, *REGRESSORS]))


def contestants_for(*, regression: bool) -> dict[str, Contestant]:
    """The contestants of a classification or a regression table, by name."""
    return REGRESSORS if regression else CLASSIFIERS
