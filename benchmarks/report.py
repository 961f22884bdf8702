"""Bars of the HTML report: seconds to write it, its size, and how fast the page is in a browser.

    python -m benchmarks.report     or, with the bars of explanations, python -m benchmarks.explain

Needs the data folder (KERNLINE_DATA) for MNIST and adult. The browser is a Chromium of the system, driven by
playwright; without one, what it would measure is left out.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

import kernline
from kernline import AdditiveSVC, datasets

from .browser import browser, missing
from .measure import machine, table
from .tabular import adult

_ROUNDS = 3

# Milliseconds from a letter in the search field until the list is drawn again.
_SEARCH = """() => new Promise((done) => {
  const field = document.getElementById("feature-search");
  const begun = performance.now();
  field.value = "99";
  field.dispatchEvent(new Event("input"));
  document.getElementById("feature-list").getBoundingClientRect();
  done(performance.now() - begun);
})"""


@dataclass(frozen=True)
class Limit:
    """A measured number, which should not exceed the bar."""

    work: str
    value: float
    bar: float
    unit: str

    def row(self) -> list[str]:
        """Cells of the printed table."""
        verdict = "yes" if self.value <= self.bar else "NO"
        return [self.work, f"{self.value:.3g} {self.unit}", f"≤ {self.bar:g} {self.unit}", verdict]


HEADER = ["work", "measured", "bar", "met"]
Open = Callable[[Path], Any]


@contextmanager
def pages() -> Iterator[Open | None]:
    """A function that opens a page in a browser and waits until it is ready; None without a browser."""
    lacking = missing()
    if lacking is not None:
        print(f"The page is not measured: {lacking}.")
        yield None
        return
    with browser() as context:

        def opened(file: Path) -> Any:
            page = context.new_page()
            page.goto(file.as_uri())
            page.wait_for_function("document.documentElement.dataset.ready")
            return page

        yield opened


def mnist(opened: Open | None) -> Iterator[Limit]:
    """784 features, ten classes, 10,000 rows."""
    data = datasets.load("mnist")
    model = AdditiveSVC("chi2", C=0.1, n_jobs=-1, random_state=0).fit(data.X_train, data.y_train)
    yield from _written("MNIST", model, data.X_test, data.y_test, 5.0, opened)


def wide_text(opened: Open | None) -> Iterator[Limit]:
    """10,000 words, 100 classes: each class has words of its own among frequent ones."""
    rng = np.random.default_rng(0)
    n_rows, n_words, n_classes = 4000, 10_000, 100
    y = rng.integers(n_classes, size=n_rows)
    share = 1.0 / np.arange(1, n_words + 1)
    common = rng.choice(n_words, (n_rows, 60), p=share / share.sum())
    own = y[:, None] * 100 + rng.integers(100, size=(n_rows, 8))
    columns = np.hstack([common, own])
    rows = np.repeat(np.arange(n_rows), columns.shape[1])
    X = sp.coo_array((np.ones(rows.size), (rows, columns.ravel())), shape=(n_rows, n_words)).tocsr()
    model = AdditiveSVC(n_jobs=-1, random_state=0).fit(X[:3000], y[:3000])
    yield from _written("text, 10,000 features, 100 classes", model, X[3000:], y[3000:], 10.0, opened)


def _written(
    name: str, model: AdditiveSVC, X: Any, y: np.ndarray, seconds: float, opened: Open | None
) -> Iterator[Limit]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        times = []
        for _ in range(_ROUNDS):
            begun = time.perf_counter()
            kernline.report(model, X, y, path)
            times.append(time.perf_counter() - begun)
        yield Limit(f"{name}: to the report", min(times), seconds, "s")
        yield Limit(f"{name}: size", path.stat().st_size / 1e6, 5.0, "MB")
        if opened is not None:
            yield from _seen(name, path, opened)


def _seen(name: str, path: Path, opened: Open) -> Iterator[Limit]:
    ready, searched = [], []
    for _ in range(_ROUNDS):
        page = opened(path)
        ready.append(page.evaluate("performance.getEntriesByName('ready')[0].startTime"))
        searched.append(page.evaluate(_SEARCH))
        page.close()
    yield Limit(f"{name}: first view, with its controls", min(ready) / 1e3, 1.0, "s")
    yield Limit(f"{name}: search", min(searched), 100.0, "ms")


def two_commands(opened: Open | None) -> Iterator[Limit]:
    """From adult's CSV files to a page in the browser."""
    frame, y = adult.load()
    parts = train_test_split(frame.assign(income=y), test_size=1 / 3, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("train.csv", "test.csv", "model.kern", "report.html")]
        for part, path in zip(parts, paths, strict=False):
            part.to_csv(path, index=False)
        train, test, model, page = map(str, paths)
        begun = time.perf_counter()
        _run("train", train, model, "--target", "income")
        _run("report", model, test, "-o", page)
        if opened is not None:
            opened(paths[3]).close()
        yield Limit("adult: from CSV to the page, by two commands", time.perf_counter() - begun, 10.0, "s")


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "kernline", *arguments, "-q"], check=True, stdout=subprocess.DEVNULL)


def bars() -> Iterator[Limit]:
    """All bars."""
    with pages() as opened:
        for measurement in (mnist, wide_text, two_commands):
            yield from measurement(opened)


def print_bars() -> None:
    """Print the table."""
    print(machine())
    print(table(HEADER, [limit.row() for limit in bars()]))


if __name__ == "__main__":
    print_bars()
