"""``bench``: compare a few models, and scikit-learn's linear SVM, on your own data."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Annotated, Any

import typer

from . import options as opt
from .data import Reading
from .errors import UsageError
from .option_groups import Default
from .output import Output, table


def bench(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A data file, or @NAME for a named data set.")
    ] = "@digits",
    test: Annotated[
        str | None,
        typer.Argument(
            metavar="TEST", help="Data to test on. Default: @NAME.t for a named data set, else a third of DATA."
        ),
    ] = None,
    cost: Annotated[float, typer.Option("-c", "--cost", help="C for all models.")] = 1.0,
    *,
    reading: Annotated[opt.SingleLabelled, Default(threads=1)],
    out: Output,
) -> None:
    """Compare kernels with each other and with LinearSVC.

    Prints the accuracy and the seconds to fit and to predict. LinearSVC is scikit-learn's linear SVM.

    \b
    kernline bench
    kernline bench train.svm test.svm -c 10
    kernline bench table.csv --target species
    """
    with out.working():
        parts = _parts(Reading(out, reading), data, test)
        results: list[dict[str, Any]] = []
        for name, model in _contestants(parts[0], cost, reading.threads):
            with out.status(f"Training {name}"):
                results.append({"model": name, **_measure(model, *parts)})
        rows = [
            [result["model"], f"{100.0 * result['accuracy']:.2f} %"]
            + [f"{result[name]:.3f} s" for name in ("fit_seconds", "predict_seconds")]
            for result in results
        ]
        shape = {"rows": parts[0].shape[0], "test_rows": parts[2].shape[0], "features": parts[0].shape[1], "C": cost}
        head = "{rows:,} training rows, {test_rows:,} test rows, {features:,} features, C = {C:g}".format(**shape)
        lines = [head, "", *table(["model", "accuracy", "fit", "predict"], rows)]
        out.result(shape | {"threads": reading.threads, "results": results}, lines)


def _parts(reading: Reading, data: str, test: str | None) -> tuple[Any, Any, Any, Any]:
    """X and y to train on and to test on."""
    from sklearn.model_selection import train_test_split

    from .. import io

    content = reading.labelled(data)
    if test is None and not data.startswith("@"):
        X, X_test, y, y_test = train_test_split(content.X, content.y, test_size=1 / 3, random_state=0)
        return X, y, X_test, y_test
    test = test if test is not None else f"{data}.t"
    if io.format_of(test, reading.options.format) == "svmlight":  # a few rows may not show where indices start
        reading = replace(reading, options=replace(reading.options, zero_based=content.zero_based))
    held_out = reading.labelled(test)
    X, X_test = content.X, held_out.X
    if hasattr(X, "indptr"):
        for part in (X, X_test):
            part.resize((part.shape[0], max(X.shape[1], X_test.shape[1])))
    elif X.shape[1] != X_test.shape[1]:
        raise UsageError(
            f"{data} has {X.shape[1]} features, but {test} has {X_test.shape[1]}. They must have the same columns."
        )
    return X, content.y, X_test, held_out.y


def _contestants(X: Any, C: float, threads: int) -> list[tuple[str, Any]]:
    from sklearn.svm import LinearSVC

    import kernline

    low = (X.data if hasattr(X, "indptr") else X).min(initial=0.0)
    scale: Any = "max" if low >= 0.0 else "minmax"
    shared: dict[str, Any] = {"C": C, "n_jobs": threads, "random_state": 0}
    additive = [
        (f"kernline {kernel}", kernline.AdditiveSVC(kernel, scale="max" if kernel == "linear" else scale, **shared))
        for kernel in ("linear", "chi2", "intersection")
    ]
    nystrom = ("kernline rbf, 500 landmarks", kernline.NystromSVC(**shared))
    return [("scikit-learn LinearSVC", LinearSVC(C=C, random_state=0)), *additive, nystrom]


def _measure(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, float]:
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LinearSVC rarely converges on unscaled data
        model.fit(X, y)
    fitted = time.perf_counter()
    accuracy = float((model.predict(X_test) == y_test).mean())
    return {"accuracy": accuracy, "fit_seconds": fitted - begun, "predict_seconds": time.perf_counter() - fitted}
