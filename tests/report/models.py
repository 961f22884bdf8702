"""Fitted models of every kind that a report takes, with rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from kernline import AdditiveSVC, AdditiveSVR, BudgetedSVC, NystromSVC

APPROXIMATIONS = ("hats", "plame", "pmsvm", "pmsvm-lut", "feature-map", "chebyshev", "low-dim", "hik")


def digits(n: int = 300):
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n], X[n : n + 200], y[n : n + 200]


def mixed(n: int = 400, seed: int = 0):
    """A table of numbers, text and gaps, and two columns that say something together only."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": np.exp(rng.normal(10, 1, n)),
            "balance": rng.normal(0, 5, n),
            "colour": rng.choice(["red", "green", "blue", "violet"], n),
            "grade": rng.integers(1, 5, n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    age, balance = (frame["age"] - 49) / 18, frame["balance"] / 5
    signal = age * balance * 2 + (frame["colour"] == "red") * 1.5 + frame["income"].isna() + 0.3 * balance
    return frame, signal.to_numpy(), rng


def table_model(*, pairs: int = 2):
    frame, signal, rng = mixed()
    y = np.where(signal + rng.normal(0, 0.5, len(signal)) > 0.3, "yes", "no")
    model = AdditiveSVC(
        scale="rank", loss="log", interactions=pairs, categorical=["colour", "grade"], random_state=0
    ).fit(frame[:300], y[:300])
    return model, frame[300:], y[300:]


def regression():
    frame, signal, _ = mixed()
    model = AdditiveSVR(random_state=0).fit(frame[:300], signal[:300])
    return model, frame[300:], signal[300:]


def words(n_features: int = 400, n_classes: int = 5, n: int = 300):
    """Sparse counts, of which each class has its own."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    X = sp.random_array((n, n_features), density=0.05, rng=rng, format="csr")
    X.data = np.ceil(4 * X.data)
    own = sp.csr_array((np.full(n, 3.0), (np.arange(n), y)), shape=X.shape)
    return (X + own).tocsr(), y


def sparse_model():
    X, y = words()
    return AdditiveSVC(random_state=0).fit(X[:200], y[:200]), X[200:], y[200:]


def all_kinds():
    """Names, models and rows."""
    X, y, X_test, y_test = digits()
    for name in APPROXIMATIONS:
        kernel = "intersection" if name == "hik" else "chi2"
        yield name, AdditiveSVC(kernel, name, random_state=0, tol=0.1).fit(X, y), X_test, y_test
    for kernel, scale in (("linear", "max"), ("linear", "minmax"), ("intersection", "minmax"), ("chi2", "rank")):
        model = AdditiveSVC(kernel, scale=scale, random_state=0, tol=0.1).fit(X - 3.0 * (scale != "max"), y)
        yield f"{kernel} {scale}", model, X_test - 3.0 * (scale != "max"), y_test
    yield "softmax", AdditiveSVC(loss="log", random_state=0).fit(X, y), X_test, y_test
    yield "sparse", *sparse_model()
    yield "table", *table_model()
    yield "regression", *regression()
    outputs = AdditiveSVR(random_state=0).fit(X, np.column_stack([y, 1e30 * X[:, 20]]))
    yield "two outputs", outputs, X_test, np.column_stack([y_test, 1e30 * X_test[:, 20]])
    edited = table_model()[0]
    shapes = edited.shapes_.edit("age", monotone="increasing").edit("colour", clip=(-0.5, 0.5)).centred()
    yield "edited", edited.with_shapes(shapes), *table_model()[1:]
    yield "pipeline", make_pipeline(MinMaxScaler(), AdditiveSVC(random_state=0)).fit(X, y), X_test, y_test


def landmark_models():
    X, y, X_test, y_test = digits()
    yield NystromSVC(n_basis=30, random_state=0).fit(X, y), X_test, y_test
    yield BudgetedSVC(budget=50, passes=2, random_state=0).fit(X, y), X_test, y_test
