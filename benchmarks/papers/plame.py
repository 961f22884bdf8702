"""PLAME (Chan, Li, U, Cheng): tables I to III and figures 1 and 2."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, LinearSVC

from kernline import kernels, tables
from kernline.datasets import Dataset
from kernline.feature_maps import AdditiveKernelMap

from .common import HEADER, Measured, Page, Scope, binary, figure, liblinear, measure, svm
from .store import Results

INTRODUCTION = """Chan, Li, U, Cheng, "PLAME: Piecewise-linear approximate measure for additive kernel SVM (extended
abstract)". chi2 on values in [0, 1], gamma = 1, all methods with an intercept unless stated otherwise. The abstract does not give
its C. In Table III it is 10 on skin and 1 on covtype, where 10 takes too many epochs. skin is the paper's; covtype (class 2 against
the rest, 60,000 rows) stands in for casas, which is not available. Feature maps have seven dimensions per feature, as in the
paper; PLAME has 15 intervals.

LIBSVM would take hours on all rows. Hats with 1024 knots, "exact" below, stand in for it: they match the kernel to within
0.01 %. The comparison with SVC itself is on 6,000 rows. One thread, one run, seconds of processor time."""

CHI = kernels.Chi2()
C = {"skin": 10.0, "covtype": 1.0}
SWEEP = (1.0, 10.0, 100.0, 1000.0)
PUBLISHED = [
    ["skin", "0.992", "0.895", "0.927", "0.942", "0.949", "0.919", "0.988"],
    ["casas", "over 3 days", "0.71", "–", "–", "–", "0.728", "0.78"],
]
TABLE_I = [
    ["Kernel SVM solver", "low", "low", "high", "SVC"],
    ["Linear SVM solver", "high", "low", "low", "LIBLINEAR"],
    ["Feature approximation", "high", "high", "low", "VLFeat, Chebyshev, LD"],
    ["Function approximation", "high", "low", "low", "PmSVM"],
    ["PLAME", "low", "low", "low", "PLAME"],
]
EXACT = "exact"
OTHERS = ("VLFeat ×7", "Chebyshev ×7", "LD ×7", "PmSVM")


def main(scope: Scope) -> None:
    """Write the page."""
    page = Page("plame", "PLAME reproduced", INTRODUCTION, scope.folder)
    results = scope.results("plame")
    covtype = binary(scope.load("covtype"), 2)
    sets = {
        "skin": scope.load("skin"),
        "covtype": covtype._replace(X_train=covtype.X_train[:60_000], y_train=covtype.y_train[:60_000]),
    }
    page.add("## Table III: accuracy", "Published results (feature maps ×7):")
    page.add_table(["data", "LIBSVM", "LIBLINEAR", "VLFeat", "Chebyshev", "LD", "PmSVM", "PLAME"], PUBLISHED)
    found = {name: _accuracies(page, results, name, data, scope) for name, data in sets.items()}
    _default_settings(page, results, sets["skin"])
    _table_1(page, found["skin"])
    _sweep(page, results, sets["skin"], scope)
    page.add("## Is it the exact kernel?")
    for name, data in sets.items():
        _against_svc(page, results, name, data, scope)
    _figure_1(page, results, sets["skin"], scope)
    _figure_2(page, results, sets, found, scope)
    page.add(TEXT)
    page.add_items(ITEMS, results)
    page.write()


def methods(scope: Scope) -> dict[str, Any]:
    """The methods of the paper, and ours."""
    return {
        EXACT: tables.Hats(32 if scope.quick else 1024),
        "VLFeat ×7": tables.HomogeneousMap(3),
        "Chebyshev ×7": tables.ChebyshevMap(7),
        "LD ×7": tables.LowDimensionalMap(7),
        "PmSVM": tables.PmSVM(intercept=True),
        "PLAME, uniform": tables.Plame(15, spacing=1.0),
        "PLAME, quantile": tables.Plame(15, spacing="quantile"),
        "PLAME": tables.Plame(15),
        "hats (ours)": tables.Hats(),
    }


def _measured(name: str, data: Dataset, scope: Scope) -> list[dict[str, Any]]:
    """Every method on one set, with its distance from the exact kernel and the share of equal labels."""
    rows, exact = [], None
    for label, method in methods(scope).items():
        found = measure(label, svm(CHI, method, C[name], tol=0.003, max_iter=2000), data)
        positive = found.model.decision_function(data.X_test) > 0
        exact = positive if exact is None else exact
        rows.append(found.numbers() | {"same": 100 * float(np.mean(positive == exact))})
    return [*rows, measure("LIBLINEAR, C = 1", liblinear(), data).numbers()]


def _accuracies(page: Page, results: Results, name: str, data: Dataset, scope: Scope) -> list[Measured]:
    """Table III's accuracies, and figure 2's times."""
    page.add(f"### {name}, {data.y_train.size:,} rows")
    numbers = results.get(f"table 3 {name}", lambda: _measured(name, data, scope))
    same = [row.get("same") for row in numbers]
    found = [Measured(**{key: value for key, value in row.items() if key != "same"}) for row in numbers]
    exact = found[0].accuracy
    page.add_table(
        [*HEADER, "from exact", "labels as exact, %"],
        [
            [*one.row(), f"{one.accuracy - exact:+.2f}", "" if agree is None else f"{agree:.2f}"]
            for one, agree in zip(found, same, strict=True)
        ],
    )
    distance = {one.name: abs(one.accuracy - exact) for one in found}
    nearer = [label for label in OTHERS if distance["PLAME"] < distance[label]]
    farther = [label for label in OTHERS if label not in nearer]
    page.add(
        f"PLAME's accuracy is {distance['PLAME']:.2f} points from the exact kernel's: closer than {', '.join(nearer) or 'none'}"
        + (f", not closer than {', '.join(farther)}." if farther else ", as published.")
    )
    return found


def _default_settings(page: Page, results: Results, data: Dataset) -> None:
    """The paper's rivals as they come out of the box."""
    maps = {"VLFeat ×7": "homogeneous", "Chebyshev ×7": "chebyshev", "LD ×7": "low-dim"}
    models: dict[str, Any] = {"LIBLINEAR": liblinear()}
    models |= {
        name: make_pipeline(AdditiveKernelMap("chi2", method, n_components=7), liblinear())
        for name, method in maps.items()
    }
    models["PmSVM, C = 0.01"] = svm(kernels.PowerMean(-1.0), tables.PmSVM(), 0.01)
    levels = OneHotEncoder(handle_unknown="ignore")
    models["one-hot, additive (hinge)"] = make_pipeline(levels, LinearSVC(loss="hinge", max_iter=200, random_state=0))

    def score(model: Any) -> float:
        return 100.0 * float(model.fit(data.X_train, data.y_train).score(data.X_test, data.y_test))

    found = {name: results.get(f"default {name}", lambda m=model: score(m)) for name, model in models.items()}
    paper = {
        "LIBLINEAR": "89.5",
        "VLFeat ×7": "92.7",
        "Chebyshev ×7": "94.2",
        "LD ×7": "94.9",
        "PmSVM, C = 0.01": "91.9",
    }
    page.add("### skin with default settings: LIBLINEAR with C = 1 and no bias, PmSVM with C = 0.01")
    page.add_table(
        ["method", "paper %", "here %"], [[name, paper.get(name, "–"), f"{value:.2f}"] for name, value in found.items()]
    )
    page.add(
        "So the paper's rivals are near what default settings give. The last row is the largest additive model there is, a "
        "weight for each of the 256 values of each colour: it bounds from above, up to chance, what any additive kernel "
        "reaches on these rows. The paper's 0.992 of LIBSVM and 0.988 of PLAME are out of reach of every additive model here."
    )


def _table_1(page: Page, found: list[Measured]) -> None:
    """Table I with numbers."""
    by = {one.name: one for one in found}
    shown = {
        "SVC": "0.0 / – / hours",
        "LIBLINEAR": _three(by["LIBLINEAR, C = 1"], found),
        "VLFeat, Chebyshev, LD": "; ".join(_three(by[name], found) for name in OTHERS[:3]),
        "PmSVM": _three(by["PmSVM"], found),
        "PLAME": _three(by["PLAME"], found),
    }
    page.add("## Table I: the methods' qualities, and what they are on skin")
    header = [
        "method",
        "error, paper",
        "memory, paper",
        "time, paper",
        "here",
        "points below exact / bytes per value / s",
    ]
    page.add_table(header, [[*row, shown[row[-1]]] for row in TABLE_I])
    page.add(
        "Memory of feature maps is low here, because the solver reads codes and a table of the map, not mapped features: one or "
        "two bytes per value instead of seven numbers."
    )


def _three(one: Measured, found: list[Measured]) -> str:
    below = max(0.0, found[0].accuracy - one.accuracy)
    return f"{below:.1f} / {one.bytes_a_value:.1f} / {one.seconds:.1f}"


def _sweep(page: Page, results: Results, data: Dataset, scope: Scope) -> None:
    """Accuracy and gap over C."""
    page.add("## skin over C: accuracy %, relative gap, epochs, at most 300 passes over the rows")
    compared = {
        "hats, 256 knots": tables.Hats(16 if scope.quick else 256),
        "PLAME, as published": tables.Plame(15),
        "PLAME, symmetric (ours)": tables.Plame(15, symmetric=True),
        "hats (ours)": tables.Hats(),
    }

    def fitted(method: Any, cost: float) -> list[float]:
        model = svm(CHI, method, cost, tol=0.003, max_iter=300).fit(data.X_train, data.y_train)
        accuracy = 100.0 * float(model.score(data.X_test, data.y_test))
        return [accuracy, float(model.dual_gap_[0] / model.objective_[0]), int(model.n_iter_[0])]

    rows = []
    for label, method in compared.items():
        found = [results.get(f"sweep {label} {cost:g}", lambda m=method, c=cost: fitted(m, c)) for cost in SWEEP]
        rows.append([label, *(f"{accuracy:.2f}, {gap:.2g}, {epochs:,.0f}" for accuracy, gap, epochs in found)])
    page.add_table(["method", *(f"C = {cost:g}" for cost in SWEEP)], rows)
    page.add(
        "PLAME as published interpolates one argument of the kernel, so its matrix is not symmetric, and its iteration "
        "minimises nothing: for a large C it diverges. Its model is f_j = Σ_q W_q k(c_q, ·), a function of the kernel's own "
        "space. The best function of this form is found with weights M⁻¹ k(c, x) instead of the chord's hat(x), which approximate "
        "them (`tables.Plame(symmetric=True)`): a convex problem, with a duality gap, which is at most 0.3 % at every C of the table."
    )


def _against_svc(page: Page, results: Results, name: str, data: Dataset, scope: Scope) -> None:
    """SVC on the exact Gram matrix of a subset. Its bias is not penalised; ours is penalised little, to match."""
    subset = min(6000, data.y_train.size)

    def compared() -> list[float]:
        rng = np.random.default_rng(0)
        rows = rng.choice(data.y_train.size, subset, replace=False)
        test = rng.choice(data.y_test.size, min(10_000, data.y_test.size), replace=False)
        part = Dataset(data.X_train[rows], data.y_train[rows], data.X_test[test], data.y_test[test])
        svc = SVC(kernel="precomputed", C=1.0).fit(CHI(part.X_train), part.y_train)
        scores = svc.decision_function(CHI(part.X_test, part.X_train))
        exact = methods(scope)[EXACT]
        found = measure("", svm(CHI, exact, 1.0, intercept_scaling=5.0, max_iter=3000), part)
        ours = found.model.decision_function(part.X_test)
        return [float(np.corrcoef(ours, scores)[0, 1]), 100 * float(np.mean((ours > 0) == (scores > 0)))]

    correlation, same = results.get(f"against svc {name}", compared)
    page.add(
        f"{name}, {subset:,} rows, C = 1: scores of hats with 1024 knots correlate with those of SVC by {correlation:.5f}; "
        f"{same:.2f} % of the labels agree."
    )


def _figure_1(page: Page, results: Results, data: Dataset, scope: Scope) -> None:
    """Accuracy by dimensions."""
    page.add("## Figure 1: accuracy by dimensions of the feature maps")
    dimensions = (1, 3, 7) if scope.quick else (1, 3, 5, 7, 9, 13)
    families: dict[str, Any] = {
        "VLFeat": lambda n: tables.HomogeneousMap(n // 2),
        "Chebyshev": tables.ChebyshevMap,
        "LD": tables.LowDimensionalMap,
        "PLAME": lambda n: tables.Plame(),
        "hats": lambda n: tables.Hats(),
    }

    def accuracy(method: Any) -> float:
        return measure("", svm(CHI, method, C["skin"], tol=0.003), data).accuracy

    picture, axes = figure(1)
    ax, rows = axes[0, 0], []
    for label, make in families.items():
        fixed = label in ("PLAME", "hats")
        found = [
            results.get(f"figure 1 {label} {0 if fixed else n}", lambda m=make, n=n: accuracy(m(n))) for n in dimensions
        ]
        ax.plot(dimensions, found, {"PLAME": "k--", "hats": "C3:"}.get(label, "o-"), label=label)
        rows.append([label, *(f"{value:.2f}" for value in found)])
    ax.set(xlabel="dimensions per feature", ylabel="accuracy %", title="skin", xticks=dimensions)
    ax.legend(frameon=False)
    page.add_table(["skin, accuracy %", *(f"×{n}" for n in dimensions)], rows)
    page.add_figure(picture, "figure1", "Accuracy on skin by dimensions of the feature map")


def _figure_2(
    page: Page, results: Results, sets: dict[str, Dataset], found: dict[str, list[Measured]], scope: Scope
) -> None:
    """Training times, and those of LIBSVM on as many rows as it can do."""
    page.add("## Figure 2: training time")
    sizes = (100,) if scope.quick else (1000, 2000, 4000, 8000)

    def libsvm(data: Dataset, n: int) -> float:
        order = np.random.default_rng(0).permutation(data.y_train.size)[:n]
        start = time.process_time()
        SVC(kernel="precomputed", C=1.0).fit(CHI(data.X_train[order]), data.y_train[order])
        return time.process_time() - start

    picture, axes = figure(len(sets))
    rows = []
    for ax, (name, data) in zip(axes[0], sets.items(), strict=True):
        seconds = [results.get(f"libsvm {name} {n}", lambda d=data, n=n: libsvm(d, n)) for n in sizes]
        rows.append([name, *(f"{value:.1f}" for value in seconds)])
        bars = {one.name: one.seconds for one in found[name][1:]} | {f"LIBSVM, {sizes[-1]:,} rows": seconds[-1]}
        ax.barh(list(bars)[::-1], list(bars.values())[::-1], color="C0")
        ax.set(title=f"{name}, {data.y_train.size:,} rows", xlabel="train s")
    page.add_table(["LIBSVM, exact chi2, C = 1: seconds", *(f"{n:,} rows" for n in sizes)], rows)
    page.add_figure(
        picture, "figure2", "Training time of all methods on all rows, and of LIBSVM on as many as it can do"
    )
    page.add(
        "LIBSVM is given the Gram matrix, whose time is included. Eight thousand rows take half a gigabyte; memory grows with the "
        "square of the rows, and for the 171,539 rows of skin it would be 235 GB."
    )


TEXT = """## Discussion

**Agrees.** On skin PLAME is within 0.15 points of the exact kernel. PmSVM, and the feature maps with seven times the dimensions,
are not; the linear SVM is far behind. Hats, which interpolate both arguments, come as close, and the low-dimensional map needs
nine dimensions.

**Differs.** The paper's feature maps and PmSVM lose four to seven points on skin; ours lose 0.4 to 1.6 at C = 10, and about what
the paper says with default settings. No additive model here reaches the paper's 0.992 or 0.988, at any C; an earlier version of
this page said that the exact kernel nears 99 % at larger C, which is wrong. On covtype all methods except PmSVM are within three
tenths of a point of the exact kernel, so which one is closest is chance."""

_TABLE, _TEST, _PAGE = "`tables/plame.py`", "`tests/tables/test_papers.py`", "`benchmarks/papers/plame.py`"
ITEMS = [
    (
        "Table I, qualities of the methods",
        _PAGE,
        "Table I",
        "no",
        "feature maps take little memory where the solver reads codes",
    ),
    ("Definition 1 and equation 1, additive kernels", "`kernels.py`", "Table III", "yes", ""),
    ("Table II, four kernels", "`kernels.py`", "–", "yes", ""),
    ("Section III, P intervals of [L, U] = [0, 1]", "`tables/knots.py`", "Table III", "yes", ""),
    ("Equation 2, chords on the intervals", _TABLE, "Table III", "yes", ""),
    ("Equations 3 and 4, slope and intercept for χ²", _TEST, "–", "yes", ""),
    ("Section III, the same for JS, intersection, Hellinger", _TEST, "–", "yes", ""),
    (
        "Section I, PLAME in a linear SVM solver",
        "`solvers/dual_cd.py`",
        "skin over C",
        "no",
        "as published it diverges for a large C; `symmetric=True` converges",
    ),
    (
        "Table III, skin",
        _PAGE,
        "Table III",
        "no",
        "no additive model reaches 0.992 or 0.988 on skin; the rivals' figures come out at default settings",
    ),
    ("Table III, casas", _PAGE, "Table III", "no", "casas is not available; covtype stands in"),
    (
        "Figure 1, dimensions against accuracy",
        _PAGE,
        "Figure 1",
        "no",
        "on skin alone; feature maps come near PLAME from three dimensions on, at our C",
    ),
    (
        "Figure 2, training time",
        _PAGE,
        "Figure 2",
        "no",
        "LIBSVM is shown on the rows that it can do, not for three days",
    ),
]
