"""Linear SVM against chi2 and intersection: accuracy, time and model size; and a report of another model."""

import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from kernline import AdditiveSVC, datasets, report

REPORT = Path(__file__).parents[1] / "build" / "demo.html"
HEADER = f"{'method':<26}{'accuracy':>9}{'fit':>10}{'predict':>10}{'model':>10}"


def main() -> None:
    """Print a table for each data set, and write a report."""
    compare("Handwritten digits (real, from scikit-learn)", datasets.load("digits"), C=10.0)
    compare("Bag of words (generated)", datasets.load("bag_of_words"), C=1.0)
    print(
        "\nfit and predict: time on one thread, predict for all test rows. model: memory needed to predict."
        "\nC is the same for all: LinearSVC gets rows of mean squared length one, as gamma='scale' gives kernline."
    )
    write_report(REPORT)
    print(f"\nA report of a model you can look at (breast cancer, 30 measurements): {REPORT}")


def compare(title: str, data: datasets.Dataset, C: float) -> None:
    """Fit each method and print its row."""
    n_train, n_features = data.X_train.shape
    n_test, n_classes = data.X_test.shape[0], len(set(data.y_train))
    print(f"\n{title}")
    print(f"{n_train:,} rows to train, {n_test:,} to test, {n_features:,} features, {n_classes} classes, C = {C:g}\n")
    print(f"{HEADER}\n{'-' * len(HEADER)}")
    length = np.sqrt(data.X_train.power(2).sum() if sp.issparse(data.X_train) else (data.X_train**2).sum())
    unit = length / np.sqrt(n_train)
    scaled = data._replace(X_train=data.X_train / unit, X_test=data.X_test / unit)
    row("scikit-learn LinearSVC", LinearSVC(loss="hinge", C=C, tol=0.1, random_state=0), scaled)
    for kernel in ("linear", "chi2", "intersection"):
        row(f"kernline {kernel}", AdditiveSVC(kernel, C=C, random_state=0), data)


def row(name: str, model: AdditiveSVC | LinearSVC, data: datasets.Dataset) -> None:
    """Fit, predict and print."""
    start = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    fitted = time.perf_counter()
    accuracy = model.score(data.X_test, data.y_test)
    predicted = time.perf_counter()
    if hasattr(model, "shapes_"):
        n_bytes = model.shapes_.nbytes - model.shapes_.training.nbytes  # facts of the rows are not needed to predict
    else:
        n_bytes = model.coef_.nbytes + model.intercept_.nbytes
    times = f"{fitted - start:>8.2f} s{1e3 * (predicted - fitted):>7.1f} ms"
    print(f"{name:<26}{100 * accuracy:>7.1f} %{times}{n_bytes / 1024:>7.0f} KB", flush=True)


def write_report(path: Path) -> None:
    """Fit a table with named columns, and write a page about the model."""
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    X_train, X_test, y_train, y_test = train_test_split(data.data, labels, test_size=0.4, random_state=0)
    model = AdditiveSVC(interactions=3, random_state=0).fit(X_train, y_train)
    path.parent.mkdir(exist_ok=True)
    report(model, X_test, y_test, path, title="Breast cancer: benign or malignant")


if __name__ == "__main__":
    main()
