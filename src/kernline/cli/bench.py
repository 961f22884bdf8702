"""``bench``: compare a few models, and scikit-learn's linear SVM, on your own data."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol, TypedDict, cast

import typer

from . import options as opt
from .data import Reading, resized
from .errors import UsageError
from .option_groups import Default
from .output import Output, table

if TYPE_CHECKING:
    from ..array_types import Labels, Matrix
    from ..encoding import LevelTable, Scale


class _Split(NamedTuple):
    X: Matrix
    y: Labels
    X_test: Matrix
    y_test: Labels


class _Classifier(Protocol):
    def fit(self, X: Matrix, y: Labels) -> object: ...

    def predict(self, X: Matrix) -> Labels: ...


class _Result(TypedDict):
    model: str
    accuracy: float
    fit_seconds: float
    predict_seconds: float


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
    cost: Annotated[
        float, typer.Option("-c", "--cost", metavar="C", help="C for all models except kernline auto.")
    ] = 1.0,
    *,
    reading: Annotated[opt.SingleLabelled, Default(threads=1)],
    out: Output,
) -> None:
    """Compare kernels with each other and with LinearSVC.

    Prints the accuracy and the seconds to fit and to predict. LinearSVC is scikit-learn's linear SVM. It and landmarks
    get a column of 0 and 1 for each text of a table, and the mean in place of a missing number. "kernline auto" is what
    train does with no options: it chooses kernel, scale, loss and C.

    \b
    kernline bench
    kernline bench train.svm test.svm -c 10
    kernline bench table.csv --target species
    """
    with out.working():
        split = _split(Reading(out, reading), data, test)
        results: list[_Result] = []
        for name, model in _contestants(split.X, cost, reading.threads):
            with out.status(f"Training {name}"):
                results.append(_measure(name, model, split))
        rows = [
            [
                result["model"],
                f"{100.0 * result['accuracy']:.2f} %",
                f"{result['fit_seconds']:.3f} s",
                f"{result['predict_seconds']:.3f} s",
            ]
            for result in results
        ]
        n_rows, n_features = split.X.shape
        n_test = split.X_test.shape[0]
        head = f"{n_rows:,} training rows, {n_test:,} test rows, {n_features:,} features, C = {cost:g}"
        record = {"rows": n_rows, "test_rows": n_test, "features": n_features, "C": cost}
        lines = [head, "", *table(["model", "accuracy", "fit", "predict"], rows)]
        out.result(record | {"threads": reading.threads, "results": results}, lines)


def _split(reading: Reading, data: str, test: str | None) -> _Split:
    """Rows to train on and rows to test on."""
    from sklearn.model_selection import train_test_split

    from .. import io
    from ..array_types import is_sparse

    content = reading.labelled(data)
    if test is None and not data.startswith("@"):
        X, X_test, y, y_test = train_test_split(content.X, content.y, test_size=1 / 3, random_state=0)
        return _Split(X, y, X_test, y_test)
    test = test if test is not None else f"{data}.t"
    if io.format_of(test, reading.options.format) == "svmlight":  # a few rows may not show where indices start
        reading = replace(reading, options=replace(reading.options, zero_based=content.zero_based))
    held_out = reading.labelled(test)
    X, X_test = content.X, held_out.X
    if is_sparse(X):
        n_features = max(X.shape[1], X_test.shape[1])
        X, X_test = resized(X, n_features), resized(X_test, n_features)
    elif X.shape[1] != X_test.shape[1]:
        raise UsageError(
            f"{data} has {X.shape[1]} features, but {test} has {X_test.shape[1]}. They must have the same columns."
        )
    return _Split(X, content.y, X_test, held_out.y)


def _contestants(X: Matrix, C: float, threads: int) -> list[tuple[str, _Classifier]]:
    import numpy as np
    from sklearn.svm import LinearSVC

    import kernline

    from ..array_types import is_sparse
    from ..encoding import LevelTable

    table = X if isinstance(X, LevelTable) else None
    numbers = np.delete(table.values, list(table.levels), axis=1) if table is not None else X
    values = numbers.data if is_sparse(numbers) else numbers
    low = np.nanmin(values, initial=0.0)
    has_gaps = bool(np.isnan(values).any())

    def on_numbers(model: _Classifier) -> _Classifier:
        return _encoded(model, table) if table is not None or has_gaps else model

    models: list[tuple[str, _Classifier]] = [("scikit-learn LinearSVC", on_numbers(LinearSVC(C=C, random_state=0)))]
    for kernel in ("linear", "chi2", "intersection"):
        scale: Scale = "max" if kernel == "linear" or low >= 0.0 else "minmax"
        models.append(
            (f"kernline {kernel}", kernline.AdditiveSVC(kernel, scale=scale, C=C, n_jobs=threads, random_state=0))
        )
    models.append(("kernline auto", kernline.AdditiveSVC(n_jobs=threads, random_state=0)))
    landmarks = kernline.NystromSVC(C=C, n_jobs=threads, random_state=0)
    models.append(("kernline rbf, 500 landmarks", on_numbers(landmarks)))
    return models


def _encoded(model: _Classifier, table: LevelTable | None) -> _Classifier:
    """A model of numbers, with a column of 0 and 1 per text, and means in place of missing numbers."""
    import numpy as np
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    from ..encoding import Columns

    levels = {} if table is None else table.levels
    columns = Columns(tuple(levels), tuple(np.array(texts, dtype=object) for texts in levels.values()))
    texts = OneHotEncoder(handle_unknown="ignore")
    encoder = ColumnTransformer([("texts", texts, list(levels))], remainder=SimpleImputer())
    return cast("_Classifier", make_pipeline(FunctionTransformer(columns.matrix), encoder, model))


def _measure(name: str, model: _Classifier, split: _Split) -> _Result:
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LinearSVC rarely converges on unscaled data
        model.fit(split.X, split.y)
    fitted = time.perf_counter()
    accuracy = float((model.predict(split.X_test) == split.y_test).mean())
    ended = time.perf_counter()
    return {"model": name, "accuracy": accuracy, "fit_seconds": fitted - begun, "predict_seconds": ended - fitted}
