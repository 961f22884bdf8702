"""PLAME (Chan, Li, U, Cheng): table III and figures 1 and 2."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC

from kernline import kernels, tables
from kernline.datasets import Dataset

from .common import HEADER, Measured, Page, binary, figure, liblinear, load, measure, svm

INTRODUCTION = """Chan, Li, U, Cheng, "PLAME: Piecewise-linear approximate measure for additive kernel SVM (extended
abstract)". chi2 on values in [0, 1], gamma = 1, all methods with an intercept. The abstract does not give its C. Here it
is 10 on skin and 1 on covtype, where 10 takes too many epochs. skin is the paper's; covtype (class 2 against the rest, 60,000
rows) stands in for casas, which is not available. Feature maps have seven dimensions per feature, as in the paper; PLAME has
15 intervals.

LIBSVM would take hours on all rows. Hats with 1024 knots, "exact" below, stand in for it: they match the kernel to within
0.01 %. The comparison with SVC itself is on 6,000 rows."""

CHI = kernels.Chi2()
C = {"skin": 10.0, "covtype": 1.0}
SUBSET = 6000
PUBLISHED = [
    ["skin", "0.992", "0.895", "0.927", "0.942", "0.949", "0.919", "0.988"],
    ["casas", "over 3 days", "0.71", "–", "–", "–", "0.728", "0.78"],
]


def main() -> None:
    """Write docs/papers/plame.md."""
    page = Page("plame", "PLAME reproduced", INTRODUCTION)
    covtype = binary(load("covtype"), 2)
    sets = {
        "skin": load("skin"),
        "covtype": covtype._replace(X_train=covtype.X_train[:60_000], y_train=covtype.y_train[:60_000]),
    }
    page.add("## Table III: accuracy", "Published results (feature maps ×7):")
    page.add_table(["data", "LIBSVM", "LIBLINEAR", "VLFeat", "Chebyshev", "LD", "PmSVM", "PLAME"], PUBLISHED)
    times = {name: _accuracies(page, name, data) for name, data in sets.items()}
    page.add("## Is it the exact kernel?")
    for name, data in sets.items():
        _against_svc(page, name, data)
    _figure_1(page, sets)
    _figure_2(page, times)
    page.write()


def methods() -> dict[str, Any]:
    """The methods of the paper, and ours."""
    return {
        EXACT: tables.Hats(1024),
        "VLFeat ×7": tables.HomogeneousMap(3),
        "Chebyshev ×7": tables.ChebyshevMap(7),
        "LD ×7": tables.LowDimensionalMap(7),
        "PmSVM": tables.PmSVM(intercept=True),
        "PLAME, uniform": tables.Plame(15, spacing=1.0),
        "PLAME, quantile": tables.Plame(15, spacing="quantile"),
        "PLAME": tables.Plame(15),
        "hats (ours)": tables.Hats(),
    }


EXACT = "exact"
OTHERS = ("VLFeat ×7", "Chebyshev ×7", "LD ×7", "PmSVM")


def _accuracies(page: Page, name: str, data: Dataset) -> list[Measured]:
    """Table III's accuracies, each method's distance from the exact kernel, and figure 2's times."""
    page.add(f"### {name}, {data.y_train.size:,} rows")
    measured = [
        measure(label, svm(CHI, method, C[name], tol=0.003, max_iter=2000), data) for label, method in methods().items()
    ]
    exact = measured[0].model.decision_function(data.X_test)
    rows, distance = [], {}
    for found in measured:
        scores = found.model.decision_function(data.X_test)
        same = 100 * np.mean((scores > 0) == (exact > 0))
        distance[found.name] = abs(found.accuracy - measured[0].accuracy)
        rows.append([*found.row(), f"{found.accuracy - measured[0].accuracy:+.2f}", f"{same:.2f}"])
    linear = measure("LIBLINEAR, C = 1", liblinear(), data)
    rows.append([*linear.row(), f"{linear.accuracy - measured[0].accuracy:+.2f}", ""])
    page.add_table([*HEADER, "from exact", "labels as exact, %"], rows)
    nearer = [label for label in OTHERS if distance["PLAME"] < distance[label]]
    farther = [label for label in OTHERS if label not in nearer]
    page.add(
        f"PLAME's accuracy is {distance['PLAME']:.2f} points from the exact kernel's: closer than {', '.join(nearer) or 'none'}"
        + (f", not closer than {', '.join(farther)}." if farther else ", as published.")
    )
    return [*measured[1:], linear]


def _against_svc(page: Page, name: str, data: Dataset) -> None:
    """SVC on the exact Gram matrix of a subset. Its bias is not penalised; ours is penalised little, to match."""
    rng = np.random.default_rng(0)
    rows = rng.choice(data.y_train.size, SUBSET, replace=False)
    test = rng.choice(data.y_test.size, 10_000, replace=False)
    part = Dataset(data.X_train[rows], data.y_train[rows], data.X_test[test], data.y_test[test])
    svc = SVC(kernel="precomputed", C=1.0).fit(CHI(part.X_train), part.y_train)
    scores = svc.decision_function(CHI(part.X_test, part.X_train))
    found = measure("", svm(CHI, tables.Hats(1024), 1.0, intercept_scaling=5.0, max_iter=3000), part)
    ours = found.model.decision_function(part.X_test)
    page.add(
        f"{name}, {SUBSET:,} rows, C = 1: scores of hats with 1024 knots correlate with those of SVC by "
        f"{np.corrcoef(ours, scores)[0, 1]:.5f}; {100 * np.mean((ours > 0) == (scores > 0)):.2f} % of the labels agree."
    )


def _figure_1(page: Page, sets: dict[str, Dataset]) -> None:
    """Accuracy by dimensions."""
    page.add("## Figure 1: accuracy by dimensions of the feature maps")
    dimensions = (1, 3, 5, 7, 9, 13)
    families = {
        "VLFeat": lambda n: tables.HomogeneousMap(n // 2),
        "Chebyshev": tables.ChebyshevMap,
        "LD": tables.LowDimensionalMap,
    }
    picture, axes = figure(1)
    data, ax, rows = sets["skin"], axes[0, 0], []
    for label, make in families.items():
        found = [measure("", svm(CHI, make(n), C["skin"], tol=0.003), data).accuracy for n in dimensions]
        ax.plot(dimensions, found, "o-", label=label)
        rows.append([label, *(f"{accuracy:.2f}" for accuracy in found)])
    for label, method, style in (("PLAME", tables.Plame(), "k--"), ("hats", tables.Hats(), "k:")):
        accuracy = measure("", svm(CHI, method, C["skin"], tol=0.003), data).accuracy
        ax.axhline(accuracy, ls=style[1:], color="k", label=label)
        rows.append([label, *([f"{accuracy:.2f}"] * len(dimensions))])
    ax.set(xlabel="dimensions per feature", ylabel="accuracy %", title="skin")
    ax.legend(frameon=False)
    page.add_table(["skin, accuracy %", *(f"×{n}" for n in dimensions)], rows)
    page.add_figure(picture, "figure1", "Accuracy on skin by dimensions of the feature map")


def _figure_2(page: Page, times: dict[str, list[Measured]]) -> None:
    """Training times."""
    page.add("## Figure 2: training time")
    picture, axes = figure(len(times))
    for ax, (name, measured) in zip(axes[0], times.items(), strict=True):
        ax.barh([m.name for m in measured][::-1], [m.seconds for m in measured][::-1], color="C0")
        ax.set(title=name, xlabel="train s")
    page.add_figure(picture, "figure2", "Training time of all methods")
    page.add(TEXT)


TEXT = """**Agrees.** On skin PLAME is as accurate as the exact kernel. PmSVM, and the feature maps with seven times the dimensions,
are not; the linear SVM is far behind. Hats, which interpolate both arguments, come nearly as close, and the low-dimensional
map needs nine dimensions or more.

**Differs.** The paper's feature maps and PmSVM lose four to seven points on skin; ours lose 0.3 to 1.3. The maps and kernels
are the same, so the difference must come from the paper's C, which the abstract does not give, or from its stopping rule. At
larger C the exact kernel approaches the paper's 99 %, but coordinate descent then takes very many epochs on three features;
that case needs a primal solver. On covtype all methods except PmSVM are within a tenth of a point of the exact kernel, so
which one is closest is chance. PmSVM is the farthest there too."""
