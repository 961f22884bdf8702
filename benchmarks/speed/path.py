"""Choosing C: AdditiveSVCCV against a fit for every fold and C."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kernline import AdditiveSVCCV, datasets

from ..additive import nonnegative
from ..measure import interleave
from ..path import part, separate_fits
from .bar import Bar

_ROWS = 10_000


def cross_validation(rounds: int) -> Iterator[Bar]:
    """Ten C and five folds on parts of three data sets, one thread. One round, as it has many fits."""
    Cs = np.geomspace(0.01, 100.0, 10)
    common: dict[str, Any] = {"random_state": 0}
    for name in ("mnist", "usps", "covtype"):
        data = part(nonnegative(datasets.load(name)), _ROWS)
        runs = interleave(
            {
                "ours": lambda data=data: AdditiveSVCCV(Cs=Cs, cv=5, **common).fit(data.X_train, data.y_train),
                "loop": lambda data=data: separate_fits(data, Cs, common),
            },
            rounds=1,
        )
        ours, loop = runs["ours"].model, runs["loop"].model
        scores = [100 * model.score(data.X_test, data.y_test) for model in (ours, loop.model)]
        note = f"C = {ours.C_:.3g} / {loop.C_:.3g}, test accuracy {scores[0]:.2f} / {scores[1]:.2f} %"
        work = f"AdditiveSVCCV, {name} {data.X_train.shape[0]:,} rows"
        yield Bar(work, "51 AdditiveSVC", runs["ours"].seconds, runs["loop"].seconds, 5.0, note)
