"""Shared by the pages: data as the papers prepare it, the measurement of one method, the page itself."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from kernline import AdditiveSVC, datasets, kernels, tables
from kernline.datasets import Dataset

from ..measure import machine, table
from . import store
from .store import Results

mpl.use("Agg")
from matplotlib import pyplot as plt

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "papers"
HI = kernels.PowerMean(-8.0)  # the papers' stand-in for the histogram intersection
CHI2 = kernels.PowerMean(-1.0)


@dataclass(frozen=True)
class Scope:
    """Where a page goes and its measurements are kept. `quick` only shows that a page can be written: generated data of
    a few rows stand in for all sets, and nothing is repeated.
    """

    folder: Path = FOLDER
    kept: Path | None = store.FOLDER
    quick: bool = False

    def results(self, page: str) -> Results:
        """The measurements of a page."""
        return Results(page, self.kept)

    def load(self, name: str) -> Dataset:
        """A data set with every column scaled to [0, 1], as the papers assume; float32."""
        return few_rows(2 if name == "skin" else 4) if self.quick else load(name)


def few_rows(n_classes: int, n_rows: int = 240, n_features: int = 8, seed: int = 0) -> Dataset:
    """Non-negative values up to one, a third of them zero, and classes that depend on some of them."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.gamma(1.0, 0.3, (n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.7), 0.0, 1.0)
    X[0] = 1.0
    y = np.digitize(X[:, :3].sum(axis=1), np.quantile(X[:, :3].sum(axis=1), np.arange(1, n_classes) / n_classes)) + 1
    half = n_rows // 2
    return Dataset(X[:half].astype(np.float32), y[:half], X[half:].astype(np.float32), y[half:])


def load(name: str) -> Dataset:
    """A data set with every column scaled to [0, 1], as the papers assume; float32."""
    data = datasets.load(name)
    if sp.issparse(data.X_train):
        top = np.asarray(data.X_train.max(axis=0).toarray()).ravel()
        factor = np.divide(1.0, top, out=np.zeros_like(top), where=top > 0)
        X_train, X_test = (sp.csr_array(X.multiply(factor[None, :])) for X in (data.X_train, data.X_test))
        X_test.data = np.minimum(X_test.data, 1.0)
        return data._replace(X_train=X_train.astype(np.float32), X_test=X_test.astype(np.float32))
    low, high = data.X_train.min(axis=0), data.X_train.max(axis=0)
    low = np.minimum(low, 0.0)
    span = np.where(high > low, high - low, 1.0)
    X_train, X_test = (np.clip((X - low) / span, 0.0, 1.0).astype(np.float32) for X in (data.X_train, data.X_test))
    return data._replace(X_train=X_train, X_test=X_test)


def binary(data: Dataset, positive: Any) -> Dataset:
    """One class against the rest."""
    return data._replace(y_train=data.y_train == positive, y_test=data.y_test == positive)


@dataclass
class Measured:
    """One method on one data set."""

    name: str
    seconds: float
    test_seconds: float
    accuracy: float
    iterations: str
    bytes_a_value: float
    model: Any = field(default=None, repr=False)

    def numbers(self) -> dict[str, Any]:
        """What the store keeps; `Measured(**numbers)` is the same without the model."""
        return {name: value for name, value in vars(self).items() if name != "model"}

    def row(self) -> list[str]:
        """Cells of a table with the columns of `HEADER`."""
        return [
            self.name,
            f"{self.seconds:.2f}",
            f"{1e3 * self.test_seconds:.0f}",
            f"{self.accuracy:.2f}",
            self.iterations,
            f"{self.bytes_a_value:.1f}",
        ]


HEADER = ["method", "train s", "test ms", "accuracy %", "iterations", "bytes / value"]


def measure(name: str, model: Any, data: Dataset, rounds: int = 1) -> Measured:
    """Fit and score, in seconds of processor time: one thread, and other programs may run meanwhile.

    Memory is that of the training data as the method stores it, per non-zero value.
    """
    seconds, test_seconds = np.inf, np.inf
    for _ in range(rounds):
        start = time.process_time()
        model.fit(data.X_train, data.y_train)
        seconds = min(seconds, time.process_time() - start)
        start = time.process_time()
        accuracy = 100.0 * model.score(data.X_test, data.y_test)
        test_seconds = min(test_seconds, time.process_time() - start)
    n_values = data.X_train.nnz if sp.issparse(data.X_train) else int(np.count_nonzero(data.X_train))
    if isinstance(model, AdditiveSVC):
        iterations = np.unique([model.n_iter_.min(), model.n_iter_.max()])
        held = model.shapes_.encoder.transform(data.X_train).nbytes / n_values
        return Measured(name, seconds, test_seconds, accuracy, " – ".join(map(str, iterations)), held, model)
    return Measured(name, seconds, test_seconds, accuracy, f"≤ {model.n_iter_}", 16.0, model)


def svm(kernel: Any, approximation: Any, C: float = 0.01, **options: Any) -> AdditiveSVC:
    """The raw kernel, gamma = 1, as in the papers, to a gap of 0.1 % so that accuracies differ by method only."""
    options = {"tol": 1e-3, "max_iter": 300} | options
    return AdditiveSVC(kernel, approximation, C=C, gamma=1.0, random_state=0, **options)


def liblinear(C: float = 1.0) -> LinearSVC:
    """LIBLINEAR with its defaults: squared hinge, tol 0.1, no bias."""
    return LinearSVC(C=C, loss="squared_hinge", dual=True, tol=0.1, fit_intercept=False, random_state=0)


def contestants(C: float = 0.01) -> dict[str, Any]:
    """The methods of the papers' tables, and ours."""
    no_bias = {"fit_intercept": False}
    return {
        "PmSVM-χ²": svm(CHI2, tables.PmSVM(shortcut=True), C),
        "PmSVM-HI": svm(HI, tables.PmSVM(shortcut=True), C),
        "PmSVM-LUT-χ²": svm(CHI2, "pmsvm-lut", C, **no_bias),
        "PmSVM-LUT-HI": svm(HI, "pmsvm-lut", C, **no_bias),
        "LIBLINEAR, C = 1": liblinear(),
        "libHIK, v̄ = 3": svm("intersection", "hik", C, **no_bias),
        "fm-χ²": svm("chi2", "feature-map", C, **no_bias),
        "fm-HI": svm("intersection", "feature-map", C, **no_bias),
        "PLAME-χ²": svm("chi2", "plame", C),
        "PLAME-HI": svm("intersection", "plame", C),
        "hats-χ² (ours)": svm("chi2", "hats", C),
        "hats-HI (ours)": svm("intersection", "hats", C),
        "hats-χ², no bias (ours)": svm("chi2", "hats", C, **no_bias),
        "hats-HI, no bias (ours)": svm("intersection", "hats", C, **no_bias),
        "hats-χ², C = 1 (ours)": svm("chi2", "hats", 1.0),
    }


def verdict(measured: list[Measured]) -> str:
    """Compare our best method with the best of the others, at equal C."""
    at_equal_c = [m for m in measured if "C = 1" not in m.name]
    ours = max((m for m in at_equal_c if "(ours)" in m.name), key=lambda m: m.accuracy)
    best = max((m for m in at_equal_c if "(ours)" not in m.name), key=lambda m: m.accuracy)
    difference = ours.accuracy - best.accuracy
    if difference >= 0.0:
        return f"At equal C, {ours.name} is the most accurate, {difference:.2f} points above {best.name}."
    within = "within" if difference >= -0.3 else "**more than**"
    return f"At equal C, {best.name} is the most accurate; {ours.name} is {-difference:.2f} points below, {within} 0.3."


class Page:
    """A Markdown page, written part by part, with its pictures in the same folder."""

    def __init__(self, name: str, title: str, introduction: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.parts = [f"# {title}", f"Written by `python -m benchmarks.papers {name}`.", introduction, machine() + "."]

    def add(self, *parts: str) -> None:
        """Append paragraphs and print them."""
        self.parts += parts
        self.write()  # so that an interrupted run leaves the parts so far
        print("\n\n".join(parts) + "\n", flush=True)

    def add_table(self, header: list[str], rows: list[list[str]]) -> None:
        """Append a table."""
        self.add(table(header, rows))

    def add_items(self, rows: list[tuple[str, str, str, str, str]], results: Results) -> None:
        """The last table: every item of the paper, where it is, and whether it agrees. Before it, the dates."""
        self.add("Results by date: " + ", ".join(f"{n} of {day}" for day, n in sorted(results.dates.items())) + ".")
        for item, _, _, agrees, reason in rows:
            assert agrees == "yes" or reason, item
        self.add("## The paper, item by item")
        self.add_table(
            ["item of the paper", "in the code", "on this page", "agrees?", "if not, why"], list(map(list, rows))
        )

    def add_figure(self, figure: Any, name: str, caption: str) -> None:
        """Save a picture and add it to the page."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = f"{self.name}-{name}.png"
        figure.savefig(self.folder / file, dpi=110)
        plt.close(figure)
        self.add(f"![{caption}]({file})", f"*{caption}*")

    def write(self) -> None:
        """Write the page."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{self.name}.md").write_text("\n\n".join(self.parts) + "\n")


def figure(n_axes: int = 1) -> Any:
    """A row of axes."""
    return plt.subplots(1, n_axes, figsize=(5.0 * n_axes, 3.5), layout="constrained", squeeze=False)
