"""The drawings of start.md, choosing.md and how-it-works.md: ``python -m examples.drawings`` writes docs/drawings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from examples.gallery import DOCS, write
from kernline import AdditiveSVC, kernels, tables
from kernline.datasets import make_customers
from kernline.display import ShapeDisplay

FOLDER = DOCS / "drawings"
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#666666"
# Questions and what follows from a yes; the last is what is left.
QUESTIONS = [
    ("numbers to predict?", "AdditiveSVR()"),
    ("rows come as a stream?", "BudgetedSVC(budget=500)"),
    ("values ≥ 0 of one unit?\ncounts, pixels, histograms", 'AdditiveSVC("chi2")'),
    ("columns of different units,\ntext, gaps?", "AdditiveSVC()"),
    ("pairs of columns\nmatter together?", 'AdditiveSVC(interactions="auto")'),
]
REST = "NystromSVC()"


def figure(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    """A figure of so many inches, and its axes."""
    import matplotlib.pyplot as plt

    return plt.subplots(1, columns, figsize=(width, height), layout="constrained")


def customers() -> Any:
    """The curves of docs/start.md, drawn by its code."""
    X, y = make_customers(4000)
    return ShapeDisplay.from_estimator(AdditiveSVC().fit(X[:3000], y[:3000])).figure_


def choosing() -> Any:
    """A path of questions, each with its estimator."""
    drawing, axes = figure(7.0, 5.2)
    axes.set(xlim=(0, 10), ylim=(-len(QUESTIONS) - 0.6, 0.7))
    axes.axis("off")
    box = {"boxstyle": "round,pad=0.4", "facecolor": "white"}
    arrow = {"arrowstyle": "->", "color": GREY, "shrinkA": 0, "shrinkB": 2}
    for k, (question, answer) in enumerate(QUESTIONS):
        axes.text(2.4, -k, question, ha="center", va="center", bbox={**box, "edgecolor": GREY})
        axes.text(7.7, -k, answer, ha="center", va="center", family="monospace", bbox={**box, "edgecolor": BLUE})
        axes.annotate("", (5.0, -k), (4.4, -k), arrowprops=arrow)
        axes.text(4.7, -k + 0.15, "yes", ha="center", color=GREY, fontsize=8)
        axes.annotate("", (2.4, -k - 0.68), (2.4, -k - 0.34), arrowprops=arrow)
        axes.text(2.6, -k - 0.52, "no", va="center", color=GREY, fontsize=8)
    bottom = {**box, "edgecolor": BLUE}
    axes.text(2.4, -len(QUESTIONS), REST, ha="center", va="center", family="monospace", bbox=bottom)
    axes.text(4.4, -len(QUESTIONS), "features matter together in other ways", va="center", color=GREY, fontsize=9)
    return drawing


def curves_of_kernels() -> Any:
    """k(u, v) for a fixed v, and a curve that a model of three rows has."""
    drawing, (left, right) = figure(7.0, 2.9, 2)
    u = np.linspace(0.0, 1.0, 400)
    known = {"chi2": kernels.Chi2(), "intersection": kernels.Intersection(), "hellinger": kernels.Hellinger()}
    for name, kernel in {**known, "linear": kernels.Linear()}.items():
        left.plot(u, kernel.scalar(u, 0.4), label=name)
        right.plot(u, kernel.scalar(u, 0.15) - 1.4 * kernel.scalar(u, 0.4) + 0.9 * kernel.scalar(u, 0.8), label=name)
    left.set(xlabel="u", title="k(u, 0.4)")
    right.set(xlabel="u", title="a curve: three rows, weighted")
    left.legend(fontsize=8)
    return drawing


def cost() -> Any:
    """Accuracy on digits by C."""
    X, y = load_digits(return_X_y=True)
    costs = 10.0 ** np.arange(-3.0, 3.1, 0.5)
    drawing, axes = figure(5.0, 2.9)
    for rows, colour in ((200, ORANGE), (1200, BLUE)):
        scores = [AdditiveSVC("chi2", C=C).fit(X[:rows], y[:rows]).score(X[1200:], y[1200:]) for C in costs]
        axes.semilogx(costs, 100 * np.array(scores), "o-", color=colour, markersize=4, label=f"{rows:,} rows")
    axes.set(xlabel="C", ylabel="accuracy, %", title="digits, chi2, gamma='scale'")
    axes.legend(fontsize=8)
    return drawing


def hats() -> Any:
    """A curve between knots, and the two hats that a value reads."""
    drawing, axes = figure(6.0, 3.0)
    knots = tables.Knots.spaced(16, 2.0).positions
    u = np.linspace(0.0, 1.0, 1000)
    curve = sum(beta * kernels.Chi2().scalar(u, v) for beta, v in ((4.0, 0.05), (-5.0, 0.25), (2.6, 0.9)))
    at_knots = np.interp(knots, u, curve)
    axes.plot(u, curve, color="#cccccc", linewidth=4, label="exact curve")
    axes.plot(knots, at_knots, "o-", color=BLUE, markersize=4, linewidth=1, label="16 knots, straight between")
    value = 0.55
    right = int(np.searchsorted(knots, value))
    for k in (right - 1, right):
        hat = np.interp(u, knots, np.eye(16)[k])
        axes.fill_between(u, 0.1 * hat - 0.3, -0.3, color=ORANGE, alpha=0.35, linewidth=0)
    axes.axvline(value, color=ORANGE, linewidth=1)
    axes.text(value + 0.22, -0.27, "a value reads two hats", color=ORANGE, fontsize=8)
    axes.set(xlabel="u", ylabel="f(u)")
    axes.legend(fontsize=8)
    return drawing


def gap() -> Any:
    """The duality gap of a fit."""
    X, y = load_digits(return_X_y=True)
    model = AdditiveSVC("chi2", C=10, tol=1e-4).fit(X, y == 8)
    (history,) = model.history_
    drawing, axes = figure(5.0, 2.7)
    objective = float(model.objective_[0])
    axes.semilogy(
        [one.epoch for one in history],
        [max(one.gap, 1e-12) / objective for one in history],
        "o-",
        color=BLUE,
        markersize=3,
    )
    axes.axhline(0.01, color=ORANGE, linewidth=1)
    axes.text(
        0.99,
        0.011,
        "tol = 0.01: the default stops here",
        color=ORANGE,
        fontsize=8,
        ha="right",
        transform=axes.get_yaxis_transform(),
    )
    axes.set(xlabel="epoch", ylabel="duality gap / objective")
    return drawing


DRAWINGS: dict[str, Callable[[], Any]] = {
    "customers": customers,
    "choosing": choosing,
    "kernels": curves_of_kernels,
    "cost": cost,
    "hats": hats,
    "gap": gap,
}


def draw(folder: Path) -> Iterator[Path]:
    """Write all drawings."""
    for name, drawing in DRAWINGS.items():
        yield write(drawing(), folder / f"{name}.png")


def main() -> None:
    """Write docs/drawings."""
    import matplotlib as mpl

    mpl.use("Agg")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file in draw(FOLDER):
        print(f"wrote {file.relative_to(DOCS.parent)}, {file.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
