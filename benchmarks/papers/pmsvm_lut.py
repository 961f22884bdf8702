"""PmSVM-LUT (Yang and Wu, ACML 2012): tables 1-7 and figures 1-4."""

from __future__ import annotations

import numpy as np

from kernline import analysis, datasets, kernels, tables
from kernline.datasets import Dataset
from kernline.display import ApproximationDisplay

from .common import CHI2, HEADER, HI, Page, binary, figure, liblinear, load, measure, svm

INTRODUCTION = """Yang and Wu, "Practical large scale classification with additive kernels", ACML 2012. C = 0.01 for the
kernels, C = 1 for LIBLINEAR, degree 2 and 1000 bins unless stated otherwise, no bias. MNIST and covtype are the paper's;
scene15_bow stands in for Caltech 101 (both are counts of visual words). KDDA, URL and RCV1 are not available. The data
here are generated word counts with a fraction of their rows and columns. Times and bytes can be compared with each other,
accuracies only between methods.

**Misprints and remarks.** Algorithm 3 prints "G = g(x_i)", for y_i g(x_i) − 1. The index ⌊bx⌋ runs from 0 to b: b + 1
entries, not b. The Chebyshev nodes are those for x, but the polynomial is in ln(x + 0.05), for which they are not
optimal: on values crowded near zero, the ad hoc nodes are better (docs/approximation.md). In the last row of Table 1 the
mean errors exceed the largest errors, which is impossible."""

AD_HOC = (0.01, 0.06, 0.75)
CHI = kernels.Chi2()
# (largest, mean) error of Chebyshev and of ad hoc nodes, relative, as printed
PUBLISHED_ERRORS = {
    "Caltech 101": ["0.77–8.30 %", "0.87–5.31 %", "0.30–1.25 %", "0.45–2.73 %"],
    "MNIST": ["1.56–2.03 %", "1.88–2.55 %", "0.85–1.33 %", "0.81–1.43 %"],
}


def main() -> None:
    """Write docs/papers/pmsvm-lut.md."""
    page = Page("pmsvm-lut", "PmSVM-LUT reproduced", INTRODUCTION)
    sets = {"MNIST": load("mnist"), "scene15_bow": load("scene15_bow")}
    _errors(page, sets)
    _degrees(page, sets)
    covtype = binary(load("covtype"), 2)
    generated = {name: _generated(name) for name in SHAPES}
    _nodes(page, {"covtype": covtype, **generated})
    _accuracy_by_degree(page, {"covtype": covtype, "URL-like": generated["URL-like"]})
    _bins(page, {"covtype": covtype, "scene15_bow": sets["scene15_bow"]})
    _large(page, generated)
    page.write()


def _columns(data: Dataset) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three features that are non-zero in many rows, and random α for one class against the rest."""
    counts = (data.X_train > 0).sum(axis=0)
    order = np.argsort(counts)
    chosen = [int(order[int(q * (order.size - 1))]) for q in (0.6, 0.8, 0.97)]
    signs = np.where(data.y_train == np.unique(data.y_train)[0], 1.0, -1.0)
    return {str(j): data.X_train[:, j].astype(float) for j in chosen}, analysis.random_coefficients(signs)


def _errors(page: Page, sets: dict[str, Dataset]) -> None:
    """Tables 1 and 2, figure 1."""
    page.add("## Tables 1 and 2, figure 1: Chebyshev (C) against ad hoc (A) nodes", POINTS_TEXT)
    methods = {"C": tables.PolynomialGradient(), "A": tables.PolynomialGradient(nodes=AD_HOC)}
    rows = [[f"{name} (paper)", *cells] for name, cells in PUBLISHED_ERRORS.items()]
    picture, axes = figure(2)
    for ax, (name, data) in zip(axes[0], sets.items(), strict=True):
        columns, coefficients = _columns(data)
        found = analysis.error_table(CHI, methods, columns, coefficients, POINTS)
        for c, a in zip(found[0::2], found[1::2], strict=True):
            cells = [row[f"{kind}_relative"] for kind in ("max", "mean") for row in (c, a)]
            rows.append([f"{name}, j = {c['feature']}", *(f"{100 * float(cell):.2f} %" for cell in cells)])
        j, values = list(columns.items())[-1]
        curves = {label: analysis.gradient_curve(CHI, m, values, coefficients) for label, m in methods.items()}
        ApproximationDisplay({"Chebyshev": curves["C"], "ad hoc": curves["A"]}).plot(ax)
        ax.set_title(f"{name}, j = {j}")
    page.add_table(["data", "max (C)", "max (A)", "mean (C)", "mean (A)"], rows)
    page.add_figure(picture, "figure1", "g_j and its approximation of degree 2, by nodes")


POINTS = np.linspace(0.05, 1.0, 951)
POINTS_TEXT = """Errors of g_j relative to its largest value, for x from 0.05 to 1. The paper states neither, but its
pairs of absolute and relative numbers fit this. On MNIST our errors, and the order of the nodes, then agree with the paper's.
Below x = 0.05 the Chebyshev polynomial of degree 2 misses g_j(0) = 0: from x = 0.001 on, its largest error is 3 to 7 %, and
that of the ad hoc nodes stays below 2.4 %."""


def _degrees(page: Page, sets: dict[str, Dataset]) -> None:
    """Figure 2."""
    page.add("## Figure 2: relative error by degree")
    degrees = (2, 3, 4, 5)
    methods = {str(m): tables.PolynomialGradient(m) for m in degrees}
    picture, axes = figure(2)
    rows = []
    for ax, (name, data) in zip(axes[0], sets.items(), strict=True):
        columns, coefficients = _columns(data)
        found = analysis.error_table(CHI, methods, columns, coefficients, POINTS)
        of_degree = [[row for row in found if row["method"] == label] for label in methods]
        largest = [100 * max(float(row["max_relative"]) for row in group) for group in of_degree]
        mean = [100 * float(np.mean([float(row["mean_relative"]) for row in group])) for group in of_degree]
        ax.semilogy(degrees, largest, "o-", label="largest")
        ax.semilogy(degrees, mean, "s--", label="mean")
        ax.set(title=name, xlabel="degree", ylabel="relative error, %", xticks=degrees)
        ax.legend(frameon=False)
        rows.append([name, *(f"{a:.2f} / {b:.3f}" for a, b in zip(largest, mean, strict=True))])
    page.add_table(["largest / mean, %", *(f"degree {m}" for m in degrees)], rows)
    page.add_figure(picture, "figure2", "Relative error of g_j by degree, Chebyshev nodes")
    page.add(
        'The paper: "at degree 5, the maximum relative errors … are all below 0.5 % and the mean relative errors below '
        '0.1 %". On MNIST and scene15_bow the largest error is also below 0.5 %. On scene15_bow the mean levels off '
        "higher, at the error of the 1000 bins: its features have few values, most of them small."
    )


# name: rows, columns, words per document before bursts merge, the paper's sizes
SHAPES = {
    "RCV1-like": (67_740, 47_236, 90, "677,399 × 47,236"),
    "URL-like": (120_000, 323_196, 125, "2.4 M × 3.2 M"),
    "KDDA-like": (420_000, 1_011_000, 40, "8.4 M × 20 M"),
}


def _generated(name: str) -> Dataset:
    rows, columns, words, _ = SHAPES[name]
    data = datasets.make_bag_of_words(rows, rows // 10, columns, n_classes=2, words_a_document=words, random_state=1)
    top = data.X_train.max(axis=0).toarray().ravel()
    factor = np.divide(1.0, top, out=np.zeros_like(top), where=top > 0)
    X_train, X_test = (X.multiply(factor[None, :]).tocsr().astype(np.float32) for X in (data.X_train, data.X_test))
    X_test.data = np.minimum(X_test.data, 1.0)
    return data._replace(X_train=X_train, X_test=X_test)


def _nodes(page: Page, sets: dict[str, Dataset]) -> None:
    """Table 3."""
    page.add("## Table 3: accuracy, Chebyshev against ad hoc nodes")
    published = {"covtype": "72.09 / 71.14 %", "RCV1-like": "97.92 / 97.85 %", "URL-like": "98.77 / 98.74 %"}
    rows = []
    for name, data in sets.items():
        found = [
            measure("", svm(CHI2, tables.PolynomialGradient(nodes=nodes), fit_intercept=False), data).accuracy
            for nodes in ("chebyshev", AD_HOC)
        ]
        hats = measure("", svm(CHI2, "hats", fit_intercept=False), data).accuracy
        paper = published.get(name, "89.61 / 89.62 %")
        rows.append([name, paper, f"{found[0]:.2f} / {found[1]:.2f} %", f"{hats:.2f} %"])
    page.add_table(["data", "paper, C / A", "ours, C / A", "hats"], rows)


def _accuracy_by_degree(page: Page, sets: dict[str, Dataset]) -> None:
    """Figures 3 and 4."""
    page.add("## Figures 3 and 4: accuracy and time by degree")
    degrees = (2, 3, 4, 5)
    picture, axes = figure(2)
    rows = []
    for ax, (name, data) in zip(axes[0], sets.items(), strict=True):
        found = [measure("", svm(CHI2, tables.PolynomialGradient(m), fit_intercept=False), data) for m in degrees]
        ax.plot(degrees, [m.accuracy for m in found], "C0o-")
        twin = ax.twinx()
        twin.plot(degrees, [m.seconds for m in found], "C1s--")
        ax.set(title=name, xlabel="degree", ylabel="accuracy % (blue)", xticks=degrees)
        twin.set_ylabel("train s (orange)")
        rows.append([name, *(f"{m.accuracy:.2f} / {m.seconds:.2f}" for m in found)])
    page.add_table(["accuracy % / train s", *(f"degree {m}" for m in degrees)], rows)
    page.add_figure(picture, "figure3", "Accuracy and training time by degree")
    page.add(
        "In the paper, accuracy rises visibly with the degree on covtype but not on URL, and time rises on both. Here "
        "accuracy rises on neither: at C = 0.01 the curves of covtype are too smooth to need a higher degree."
    )


def _bins(page: Page, sets: dict[str, Dataset]) -> None:
    """Section 5.2."""
    page.add("## Section 5.2: bins")
    bins = (10, 100, 1000, 10_000)
    rows = []
    for name, data in sets.items():
        found = [measure("", svm(CHI2, tables.PolynomialGradient(bins=b), fit_intercept=False), data) for b in bins]
        rows.append([name, *(f"{m.accuracy:.2f} / {m.bytes_a_value:.1f}" for m in found)])
    page.add_table(["accuracy % / bytes per value", *(f"{b:,} bins" for b in bins)], rows)
    page.add(
        "In the paper, 10 and 100 bins lose 0.2 to 0.5 points, and 10,000 gain nothing over 1000. Here 10 bins lose "
        "several points on counts, whose values are small, and nothing on covtype. From 100 bins on, all are equal."
    )


PUBLISHED_LARGE = [
    [
        "PmSVM-LUT-χ²",
        "55.0 s, 89.61 %, 3267 MB, 75 ms",
        "7.5 s, 98.77 %, 1199 MB, 596 ms",
        "2.2 s, 97.85 %, 530 MB, 7 ms",
    ],
    [
        "PmSVM-χ²",
        "66.6 s, 89.62 %, 6880 MB, 341 ms",
        "11.0 s, 98.73 %, 2812 MB, 2545 ms",
        "3.5 s, 97.82 %, 1007 MB, 27 ms",
    ],
    ["fm-χ²", "59.9 s, 89.60 %, 5853 MB", "10.0 s, 98.62 %, 2304 MB", "3.3 s, 97.60 %, 828 MB"],
    ["PmSVM-LUT-HI", "55.2 s, 89.61 %", "7.5 s, 98.77 %", "2.1 s, 97.85 %"],
    ["PmSVM-HI", "110.7 s, 89.62 %", "31.2 s, 98.74 %", "12.3 s, 97.85 %"],
    ["fm-HI", "66.4 s, 89.56 %", "11.1 s, 98.55 %", "3.2 s, 97.57 %"],
    ["LIBLINEAR", "1481.5 s, 88.56 %, 5542 MB", "127.2 s, 98.45 %, 2253 MB", "7.1 s, 97.17 %, 825 MB"],
]


def _large(page: Page, sets: dict[str, Dataset]) -> None:
    """Tables 4 to 7."""
    page.add("## Tables 4–7: training time, accuracy, memory, testing time", "Published results:")
    page.add_table(["method", "KDDA", "URL", "RCV1"], PUBLISHED_LARGE)
    no_bias = {"fit_intercept": False, "tol": 0.01}
    for name, data in sets.items():
        n_rows, n_features = data.X_train.shape
        page.add(f"### {name}: {n_rows:,} × {n_features:,}, {data.X_train.nnz:,} non-zeros (paper: {SHAPES[name][3]})")
        models = {
            "PmSVM-LUT-χ²": svm(CHI2, "pmsvm-lut", **no_bias),
            "PmSVM-χ²": svm(CHI2, tables.PmSVM(shortcut=True), tol=0.01),
            "fm-χ²": svm("chi2", "feature-map", **no_bias),
            "PmSVM-LUT-HI": svm(HI, "pmsvm-lut", **no_bias),
            "PmSVM-HI": svm(HI, tables.PmSVM(shortcut=True), tol=0.01),
            "fm-HI": svm("intersection", "feature-map", **no_bias),
            "LIBLINEAR, C = 1": liblinear(),
            "hats-χ² (ours)": svm("chi2", "hats", **no_bias),
            "hats-HI (ours)": svm("intersection", "hats", **no_bias),
        }
        page.add_table(HEADER, [measure(label, model, data).row() for label, model in models.items()])
    page.add(LARGE_TEXT)


LARGE_TEXT = """**Agrees.** The look-up table removes PmSVM's preparation, which costs more than the training itself, and
most of its memory. All kernel methods are within a few tenths of each other, the Chebyshev nodes are slightly ahead, and
LIBLINEAR is the least accurate.

**Differs.** LIBLINEAR is not slow here: it separates the classes of these generated words in about ten iterations, while
the paper's data take hundreds. Hats take 4 bytes per value, column and code in one word, up to 16 million columns. The
two-byte codes of PmSVM-LUT and the feature maps need 8 bytes beyond 65,536 columns, which is the paper's number. Hats write
16 numbers per value, PmSVM-LUT 3; on a million rare columns these miss the cache, so hats train slower there. Testing times
include encoding the test data."""
