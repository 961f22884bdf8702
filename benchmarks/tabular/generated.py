"""Generated tables. The shapes were written down before anything was measured on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3

Sample = tuple[Any, np.ndarray]


def _labels(score: np.ndarray, rng: np.random.Generator, noise: float = 1.0) -> np.ndarray:
    """Draw 0 or 1 from a logistic model whose score has the standard deviation 2 / noise."""
    score = 2.0 / noise * (score - score.mean()) / score.std()
    return (rng.random(score.size) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def three_per_class(seed: int) -> Sample:
    """Ten classes around ten centres in four columns."""
    rng = np.random.default_rng([1, seed])
    y = np.repeat(np.arange(10), 100)
    return 3.0 * rng.normal(size=(10, 4))[y] + rng.normal(size=(y.size, 4)), y


def one_feature(seed: int) -> Sample:
    """One column, four changes of the label."""
    rng = np.random.default_rng([2, seed])
    X = rng.normal(size=(1500, 1))
    return X, _labels(np.sin(3.0 * X[:, 0]), rng, 0.4)


def noise_columns(seed: int) -> Sample:
    """Three signals among 200 columns of noise."""
    rng = np.random.default_rng([3, seed])
    X = rng.normal(size=(1500, 203))
    return X, _labels(X[:, 10] + 1.5 * (np.abs(X[:, 70]) > 1.0) + np.sin(2.0 * X[:, 150]), rng, 0.5)


def lognormal(seed: int) -> Sample:
    """Ten heavy-tailed columns; the label depends on the logarithms of six."""
    rng = np.random.default_rng([4, seed])
    logs = rng.normal(size=(1500, 10))
    score = logs[:, 0] - logs[:, 1] + 0.5 * logs[:, 2] ** 2 + 0.5 * logs[:, 3:6].sum(axis=1)
    return np.exp(2.0 * logs), _labels(score, rng, 0.5)


def counts(seed: int) -> Sample:
    """Poisson counts of twenty events at rates that depend on the class, of which there are three."""
    rng = np.random.default_rng([5, seed])
    y = rng.integers(3, size=1500)
    rates = rng.gamma(1.0, 2.0, size=20) * rng.lognormal(0.0, 0.4, size=(3, 20))
    return rng.poisson(rates[y]).astype(np.float64), y


def thousand_levels(seed: int) -> Sample:
    """A text column of 1,000 levels, the first ones more frequent, beside three numeric columns."""
    rng = np.random.default_rng([6, seed])
    level = (1000 * rng.random(12_000) ** 3).astype(int)
    numbers = rng.normal(size=(level.size, 3))
    score = rng.normal(size=1000)[level] + numbers[:, 0] + 0.5 * numbers[:, 1] ** 2
    X = pd.DataFrame(numbers, columns=["first", "second", "third"])
    return X.assign(shop=[f"shop {k}" for k in level]), _labels(score, rng)


def half_missing(seed: int) -> Sample:
    """Eight columns; the larger a value, the more often it is missing: half of all."""
    rng = np.random.default_rng([7, seed])
    X = rng.normal(size=(6000, 8))
    y = _labels(X[:, 0] + X[:, 1] - X[:, 2] + X[:, 3] ** 2, rng)
    X[rng.random(X.shape) < 1.0 / (1.0 + np.exp(-2.0 * X))] = np.nan
    return X, y


def friedman1(seed: int) -> Sample:
    """Five of ten columns matter, two of them by their product."""
    return make_friedman1(5000, noise=1.0, random_state=seed)


def friedman2(seed: int) -> Sample:
    """The impedance of a circuit."""
    return make_friedman2(5000, noise=125.0, random_state=seed)


def friedman3(seed: int) -> Sample:
    """The phase of a circuit."""
    return make_friedman3(5000, noise=0.1, random_state=seed)


def houses(seed: int) -> Sample:
    """House prices by district: skewed numbers, a place, two text columns, gaps."""
    rng = np.random.default_rng([8, seed])
    n = 20_000
    latitude, longitude = rng.uniform(32.5, 42.0, n), rng.uniform(-124.0, -114.0, n)
    coast = np.hypot(latitude - 36.0, longitude + 122.0)
    income = rng.lognormal(1.2, 0.45, n)
    age = rng.integers(1, 53, n).astype(np.float64)
    rooms = rng.lognormal(1.65, 0.3, n)
    people = rng.lognormal(7.0, 0.7, n)
    county = rng.integers(58, size=n)
    place = np.select([coast < 2.0, coast < 4.0, rng.random(n) < 0.02], ["near bay", "near ocean", "island"], "inland")
    log_price = (
        0.8 * np.log(income) - 0.12 * coast + 0.004 * age + 0.3 * np.log(rooms) - 0.05 * np.log(people / 1000.0)
        + 0.25 * rng.normal(size=58)[county] + 0.4 * (place == "island") + 0.15 * (place == "near bay") * np.log(income)
    )  # fmt: skip
    bedrooms = np.where(rng.random(n) < 0.1, np.nan, rooms / rng.uniform(3.0, 6.0, n))
    X = pd.DataFrame(
        {"income": income, "age": age, "rooms": rooms, "bedrooms": bedrooms, "people": people, "latitude": latitude,
         "longitude": longitude, "place": place, "county": [f"county {k}" for k in county]}
    )  # fmt: skip
    return X, np.exp(log_price + 0.25 * rng.normal(size=n))
