"""Linear SVM against chi2 and intersection: what the kernel buys, and what it costs."""

import time

from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from kernline import AdditiveSVC, datasets

HEADER = f"{'method':<26}{'accuracy':>9}{'fit':>10}{'predict':>10}{'model':>10}"


def main() -> None:
    """Print a table for each data set."""
    compare("Handwritten digits (real, from scikit-learn)", datasets.load("digits"))
    compare("Bag of words (generated)", datasets.load("bag_of_words"))
    print(
        "\nAll models at C = 1; LinearSVC on values scaled to [0, 1], its usual advice. One thread. The model is what has"
        "\nto be kept to predict. A kernel model reads two numbers a feature value where a linear one reads one."
    )


def compare(title: str, data: datasets.Dataset) -> None:
    """Fit each method and print its row."""
    n_train, n_features = data.X_train.shape
    n_test, n_classes = data.X_test.shape[0], len(set(data.y_train))
    print(f"\n{title}: {n_train:,} to train, {n_test:,} to test, {n_features:,} features, {n_classes} classes")
    print(f"{HEADER}\n{'-' * len(HEADER)}")
    scaler = MaxAbsScaler().fit(data.X_train)
    scaled = data._replace(X_train=scaler.transform(data.X_train), X_test=scaler.transform(data.X_test))
    row("scikit-learn LinearSVC", LinearSVC(loss="hinge", random_state=0), scaled)
    for kernel in ("linear", "chi2", "intersection"):
        row(f"kernline {kernel}", AdditiveSVC(kernel, random_state=0), data)


def row(name: str, model: AdditiveSVC | LinearSVC, data: datasets.Dataset) -> None:
    """Fit, predict and print."""
    start = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    fitted = time.perf_counter()
    accuracy = model.score(data.X_test, data.y_test)
    predicted = time.perf_counter()
    n_bytes = model.shapes_.nbytes if hasattr(model, "shapes_") else model.coef_.nbytes + model.intercept_.nbytes
    times = f"{fitted - start:>8.2f} s{1e3 * (predicted - fitted):>7.1f} ms"
    print(f"{name:<26}{100 * accuracy:>7.1f} %{times}{n_bytes / 1024:>7.0f} KB", flush=True)


if __name__ == "__main__":
    main()
