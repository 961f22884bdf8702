"""The figures of the page on budgeted SGD."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from kernline.landmarks import merging

from .bsgd_data import SEARCHES
from .common import Page, figure


def figure_1(page: Page) -> None:
    """The merging problem in the plane of α_i φ(x_i) and α_j φ(x_j), with the curve of all φ(z) seen from there."""
    kappa, a, b = 0.4, 0.7, 1.0
    x, other = np.array([1.0, 0.0]), np.array([kappa, np.sqrt(1 - kappa**2)])
    best = float(merging.best_h(a / (a + b), kappa))
    # φ(z) lies outside the plane; its part in the plane is determined by its products with φ(x_i) and φ(x_j).
    h = np.linspace(0.0, 1.0, 101)
    gram = np.array([[1.0, kappa], [kappa, 1.0]])
    products = np.array([kappa ** ((1 - h) ** 2), kappa ** (h**2)])
    path = np.linalg.solve(gram, products).T @ np.array([x, other])
    whole = a * x + b * other
    merged = (a * kappa ** ((1 - best) ** 2) + b * kappa ** (best**2)) * path[round(100 * best)]
    picture, axes = figure()
    ax = axes[0, 0]
    arrows = (
        (a * x, "α_i φ(x_i)", "C0", (-30, -14)),
        (b * other, "α_j φ(x_j)", "C0", (-20, 8)),
        (whole, "their sum", "k", (6, -4)),
        (merged, "α_z φ(z)", "C3", (-20, 8)),
    )
    for end, label, colour, shift in arrows:
        ax.annotate("", end, (0.0, 0.0), arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.6})
        ax.annotate(label, end, textcoords="offset points", xytext=shift, color=colour)
    ax.plot(*path.T, "C2--", lw=1, label="φ(z), z from x_j to x_i (its part in this plane)")
    ax.plot(*np.array([merged, whole]).T, "C3:", label="Δ (its part in this plane)")
    ax.set(xlim=(-0.1, 1.75), ylim=(-0.15, 1.45), aspect="equal", xticks=[], yticks=[])
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    page.add("## Figure 1: the merging problem")
    page.add_figure(
        picture, "figure1", f"Two terms and the one that replaces them, for κ = {kappa}, α_i = {a}, α_j = {b}"
    )


def figure_2(page: Page) -> None:
    """h and WD over m and κ."""
    page.add("## Figure 2: h and WD over m and κ")
    h, loss = merging.published_tables(400)
    axis = np.linspace(0.0, 1.0, 400)
    picture, axes = figure(2)
    shown = ((axes[0, 0], h, "h"), (axes[0, 1], np.log10(np.maximum(loss, 1e-8)), "log10 WD"))
    for ax, values, title in shown:
        mesh = ax.pcolormesh(axis, axis, values, shading="auto", rasterized=True)
        ax.set(xlabel="κ", ylabel="m", title=title)
        picture.colorbar(mesh, ax=ax)
    page.add_figure(picture, "figure2", "h(m, κ), which jumps at m = 1/2 for κ < e⁻², and WD(m, κ)")


def figure_3(page: Page, cases: list[tuple[str, int]], parts: dict[tuple[str, int, str], tuple[float, float]]) -> None:
    """Merging time of all sets and budgets: A is the search for h or WD, B everything else."""
    picture, axes = plt.subplots(2, len(cases) // 2, figsize=(3.0 * len(cases) / 2, 6.0), layout="constrained")
    for k, (name, budget) in enumerate(cases):
        ax: Any = axes[k % 2, k // 2]
        search, rest = np.array([parts[name, budget, search] for search in SEARCHES]).T
        ax.bar(SEARCHES, search, label="A: h or WD")
        ax.bar(SEARCHES, rest, bottom=search, label="B: everything else")
        ax.set_title(f"{name}, budget {budget}", fontsize=9)
        ax.tick_params(axis="x", labelrotation=30, labelsize=7)
        if k % 2 == 0 and k // 2 == 0:
            ax.set_ylabel("seconds")
            ax.legend(frameon=False, fontsize=8)
    page.add_figure(picture, "figure3", "Merging time as published: A is the search for h or WD, B everything else")


def figure_last_pass(page: Page, found: dict[str, list[float]]) -> None:
    """The last iterates of a run, and their average."""
    last, average = np.array(found["last"]), np.array(found["average"])
    page.add("## The last iterate is noise: ADULT, budget 100")
    picture, axes = figure()
    ax = axes[0, 0]
    ax.plot(found["share"], last, ".-", lw=0.6, ms=3, label="last iterate")
    ax.plot(found["share"], average, label="average (ours)")
    ax.set(xlabel="share of the last pass", ylabel="test accuracy %")
    ax.legend(frameon=False)
    caption = "Test accuracy along the last pass on ADULT, budget 100, lookup-wd"
    page.add_figure(picture, "last-pass", caption)
    page.add(
        f"Within the last pass the last iterate has a mean of {last.mean():.2f} %, a deviation of {last.std():.2f} and a range "
        f"from {last.min():.2f} to {last.max():.2f} %; the average {average.mean():.2f} ± {average.std():.2f} %. With C = 32 a "
        "violation changes its coefficient by 1/(λt) = 32 n/t, at least 32/20 in these passes, and neighbours of the row change "
        "sides. A table of last iterates, as Table 2 is, shows where each run happened to stop."
    )
