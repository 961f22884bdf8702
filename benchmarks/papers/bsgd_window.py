"""How far averages of budgeted SGD reach back, chosen on held-out rows of data that the paper does not use.

``python -m benchmarks.papers.bsgd_window`` prints a table. The window is `merges` merges per support vector and 1 / `passes`
of a pass (native/bindings/bound_budgeted.hpp).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernline import datasets
from kernline.landmarks.pairwise import svc_gamma
from kernline.solvers.budgeted_sgd import as_model

from ..measure import table
from .bsgd_data import Problem
from .bsgd_runs import Scored, settings_of

# The classes that count as positive: half of them where there are many.
POSITIVE: dict[str, Any] = {
    "covtype": lambda y: y == 2,
    "letter": lambda y: y <= 13,
    "pendigits": lambda y: y % 2 == 0,
    "mushrooms": lambda y: y == y.max(),
    "spambase": lambda y: y == y.max(),
    "usps": lambda y: y <= 5,
}
MERGES = (0.03, 0.1, 0.3, 1.0, 3.0)
PASSES = (2.0, 20.0)
MOST_ROWS = 6000
# γ is scikit-learn's "scale" divided by these: flat kernels have large coefficients that cancel.
FLATTER = (1.0, 8.0)


def problem(name: str, C: float, flatter: float, seed: int) -> Problem:
    """Two thirds of the training rows, the rest held out. The test rows are not used."""
    data = datasets.load(name)
    X = data.X_train.toarray() if hasattr(data.X_train, "toarray") else np.asarray(data.X_train)
    X, _, y, _ = train_test_split(X, data.y_train, train_size=min(MOST_ROWS, len(X) - 1), random_state=seed)
    X = StandardScaler().fit_transform(X)
    return _held_out(X, np.where(POSITIVE[name](y), 1.0, -1.0), C, svc_gamma(X) / flatter, seed)


def generated(n_rows: int, seed: int) -> Problem:
    """Rows like those that stand in for SUSY, of another seed: a quadratic boundary and a very flat kernel."""
    rng = np.random.default_rng(100 + seed)
    X = rng.standard_normal((n_rows, 18)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2:8].sum(axis=1) + X[:, 8] ** 2 - 1.0
    y = np.where(score + 1.3 * rng.standard_normal(n_rows) > 0.0, 1.0, -1.0)
    return _held_out(X, y, 32.0, 2.0**-7, seed)


def _held_out(X: NDArray[Any], y: NDArray[np.float64], C: float, gamma: float, seed: int) -> Problem:
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=2 / 3, random_state=seed)
    return Problem(X_train, y_train, X_test, y_test, C, gamma, (50, 200), 10, 0.0)


def accuracies(found: Problem, budget: int, passes: int, seed: int) -> dict[tuple[float, float], float]:
    """Held-out accuracy by window, and of the last iterate as (0, 0)."""
    scored, result = Scored(found), {}
    for merges in MERGES:
        for reach in PASSES:
            core = settings_of(found, budget, seed=seed).core(scored.train, found.y_train)
            core.set_window(merges, reach)
            for epoch in range(passes):
                if epoch == min(1, passes - 1):
                    core.begin_average()
                while not core.run(1.0):
                    pass
            model = as_model(core)
            result[merges, reach] = scored.accuracy(model)
    result[0.0, 0.0] = scored.accuracy(model.without_average())
    return result


def cases() -> Iterator[tuple[str, list[dict[tuple[float, float], float]]]]:
    """Rows of the table: a data set, a kernel and a number of passes, for costs, budgets and seeds."""
    for name in POSITIVE:
        for flatter in FLATTER:
            for passes in (1, 10):
                found = [
                    accuracies(problem(name, C, flatter, seed), budget, passes, seed)
                    for seed in range(2)
                    for C in (1.0, 32.0)
                    for budget in (50, 200)
                ]
                yield f"{name}, γ/{flatter:g}, {passes} passes", found
    for n_rows in (30_000, 300_000):
        found = [accuracies(generated(n_rows, seed), budget, 1, seed) for seed in range(2) for budget in (200, 500)]
        yield f"generated, {n_rows:,} rows", found


def main() -> None:
    """Print mean accuracies of all windows, by data set."""
    rows, means = [], []
    for name, found in cases():
        mean = {window: float(np.mean([one[window] for one in found])) for window in found[0]}
        means.append(list(mean.values()))
        rows.append([name, *(f"{value:.2f}" for value in mean.values())])
        print(*rows[-1], flush=True)
    rows.append(["mean", *(f"{value:.2f}" for value in np.mean(means, axis=0))])
    header = ["last iterate" if merges == 0.0 else f"{merges:g}, {reach:g}" for merges, reach in mean]
    print(table(["held-out accuracy %, by window (merges, passes)", *header], rows))


if __name__ == "__main__":
    main()
