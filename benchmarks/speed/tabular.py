"""Tall tables: covtype against gradient boosting, skin against LinearSVC on explicit hat features."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from kernline import AdditiveSVC, datasets, kernels, tables
from kernline.encoding import Encoder
from kernline.native import row_norms
from kernline.solvers import Problem
from kernline.solvers.certificate import explicit_features

from ..measure import interleave
from .bar import Bar

# EBM takes hours on all of covtype; both are timed on this many rows.
_EBM_ROWS = 20_000


def covtype(rounds: int) -> Iterator[Bar]:
    """A glass-box model of covtype, 7 classes, all on one thread."""
    data = datasets.load("covtype")
    X, y = _dense(data.X_train), data.y_train
    ours = AdditiveSVC("intersection", scale="rank", random_state=0)
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        print("covtype: lightgbm is not installed (pip install lightgbm); skipped")
    else:
        peer = LGBMClassifier(n_jobs=1, verbose=-1)
        runs = interleave({"ours": partial(ours.fit, X, y), "peer": partial(peer.fit, X, y)}, rounds)
        scores = [100 * model.score(_dense(data.X_test), data.y_test) for model in (ours, peer)]
        note = f"accuracy {scores[0]:.1f} / {scores[1]:.1f} %, 1 thread"
        yield Bar(
            f"covtype {X.shape[0]:,} × {X.shape[1]} intersection, rank",
            "LightGBM",
            runs["ours"].seconds,
            runs["peer"].seconds,
            1.0,
            note,
        )
    try:
        from interpret.glassbox import ExplainableBoostingClassifier
    except ImportError:
        print("covtype: interpret is not installed (pip install interpret-core); skipped")
        return
    rows = np.random.default_rng(0).choice(X.shape[0], _EBM_ROWS, replace=False)
    boosted = ExplainableBoostingClassifier(interactions=0, n_jobs=1)
    runs = interleave({"ours": partial(ours.fit, X[rows], y[rows]), "peer": partial(boosted.fit, X[rows], y[rows])}, 1)
    scores = [100 * model.score(_dense(data.X_test), data.y_test) for model in (ours, boosted)]
    note = f"on {_EBM_ROWS:,} of its rows, one round; accuracy {scores[0]:.1f} / {scores[1]:.1f} %"
    yield Bar("covtype, a part", "EBM, no interactions", runs["ours"].seconds, runs["peer"].seconds, 50.0, note)


def _dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def skin(rounds: int) -> Iterator[Bar]:
    """A gap of 1e-3 on 3 features. LinearSVC gets the hats of the same knots, and our dual bound."""
    data = datasets.load("skin")
    X, y = _dense(data.X_train), data.y_train
    for loss in ("hinge", "squared_hinge"):
        ours = AdditiveSVC("intersection", tol=1e-3, loss=loss, random_state=0)
        ours.fit(X, y)
        features, constant = _hat_features(X, ours)
        bound = float(ours.objective_[0] - ours.dual_gap_[0])
        peer = _loosest_peer(features, y, loss, constant, bound)
        runs = interleave({"ours": partial(ours.fit, X, y), "peer": partial(peer.fit, features, y)}, rounds)
        reached = _objective(peer, features, y, loss, constant) / bound - 1.0
        note = f"peer's features precomputed, tol={peer.tol:g}, its objective {100 * reached:+.2f} % of the dual bound"
        yield Bar(
            f"skin intersection, {loss}, gap 1e-3",
            "LinearSVC on hats",
            runs["ours"].seconds,
            runs["peer"].seconds,
            10.0,
            note,
        )


def _hat_features(X: Any, model: AdditiveSVC) -> tuple[Any, float]:
    """The rows as sparse hats times a square root of the kernel at the knots, so that products are the kernel."""
    pair = tables.build(kernels.Intersection(), tables.get("hats", tables.CROWDED))
    encoder = Encoder.fit(X, pair, kernel=kernels.Intersection())
    data = encoder.transform(X)
    norms = row_norms(data, pair, encoder.scales, 1)
    problem = Problem(data, pair, model.gamma_ * encoder.scales, np.ones(len(X)), np.ones(len(X)), norms)
    hats, _ = explicit_features(problem)
    values, vectors = np.linalg.eigh(pair.gram)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    blocks = sp.block_diag([np.sqrt(scale) * root for scale in problem.scales])
    constant = float(np.sqrt(model.gamma_ * norms.mean()))
    return np.ascontiguousarray((hats @ blocks).toarray()), constant


def _loosest_peer(features: Any, y: Any, loss: str, constant: float, bound: float) -> LinearSVC:
    for tol in (0.1, 0.01, 1e-3, 1e-4):
        peer = LinearSVC(
            loss=loss, dual=loss == "hinge", tol=tol, intercept_scaling=constant, random_state=0, max_iter=3000
        ).fit(features, y)
        if _objective(peer, features, y, loss, constant) <= 1.001 * bound:
            break
    return peer


def _objective(peer: LinearSVC, features: Any, y: Any, loss: str, constant: float) -> float:
    signs = np.where(y == peer.classes_[1], 1.0, -1.0)
    excess = np.maximum(0.0, 1.0 - signs * peer.decision_function(features))
    penalty = 0.5 * float((peer.coef_**2).sum() + (peer.intercept_ / constant).sum() ** 2)
    return penalty + float((excess if loss == "hinge" else excess**2).sum())
