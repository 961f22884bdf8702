"""Pipelines with scikit-learn's steps for tables: the same predictions after `load`, and forged ones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from kernline import AdditiveSVC, AdditiveSVR, load, save

from .forging import forged

NUMBERS, TEXTS = ["age", "income"], ["city", "job"]


def table(n_rows=120, seed=0):
    """Numbers and text, both with gaps."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows).astype(float),
            "city": rng.choice(["Rome", "Oslo", "Bern", "Lima"], n_rows),
            "income": rng.lognormal(size=n_rows),
            "job": rng.choice(["a", "b", "c"], n_rows, p=[0.6, 0.35, 0.05]),
        }
    )
    y = (frame["age"] / 30.0 + (frame["city"] == "Rome") * 2.0 + frame["income"] > 3.0).to_numpy()
    frame.loc[::9, "age"] = np.nan
    return frame, y


def new_rows():
    """Rows with categories that the training data does not have."""
    frame, _ = table(60, seed=1)
    frame.loc[::5, "city"] = "Paris"
    return frame


def columns(*, encoder=None, number=None, remainder="drop", selector=False):
    wanted = (
        (make_column_selector(dtype_include=float), make_column_selector(dtype_exclude=float))
        if selector
        else (NUMBERS, TEXTS)
    )
    number = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()) if number is None else number
    encoder = OneHotEncoder(handle_unknown="ignore") if encoder is None else encoder
    return ColumnTransformer([("number", number, wanted[0]), ("text", encoder, wanted[1])], remainder=remainder)


UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
PIPELINES = {
    "one-hot": make_pipeline(columns(), AdditiveSVC()),
    "selectors": make_pipeline(columns(selector=True), AdditiveSVC("linear")),
    "dense": make_pipeline(columns(encoder=OneHotEncoder(handle_unknown="ignore", sparse_output=False)), AdditiveSVC()),
    "frames": make_pipeline(
        columns(encoder=OneHotEncoder(handle_unknown="ignore", sparse_output=False)), AdditiveSVC()
    ).set_output(transform="pandas"),
    "infrequent": make_pipeline(
        columns(encoder=OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist")), AdditiveSVC()
    ),
    "drop": make_pipeline(columns(encoder=OneHotEncoder(drop="first", handle_unknown="ignore")), AdditiveSVC()),
    "ordinal": make_pipeline(columns(encoder=OrdinalEncoder(**UNKNOWN)), AdditiveSVC(categorical=[2, 3])),
    "imputed text": make_pipeline(
        columns(encoder=make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder(**UNKNOWN))),
        AdditiveSVC(),
    ),
    "passthrough": make_pipeline(columns(number="passthrough", encoder="drop"), AdditiveSVC()),
    "remainder": make_pipeline(
        ColumnTransformer([("text", OneHotEncoder(handle_unknown="ignore"), TEXTS)], remainder="passthrough"),
        SimpleImputer(strategy="constant", fill_value=0.0),
        AdditiveSVC(),
    ),
    "scaled remainder": make_pipeline(
        ColumnTransformer([("text", OneHotEncoder(handle_unknown="ignore"), TEXTS)], remainder=MinMaxScaler()),
        AdditiveSVC(),
    ),
    "slice": make_pipeline(ColumnTransformer([("first", SimpleImputer(), slice(0, 1))]), AdditiveSVC()),
}


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("name", PIPELINES)
def test_predictions_are_the_same(name, tmp_path):
    frame, y = table()
    model = PIPELINES[name].fit(frame, y)
    save(model, tmp_path / "m.kern")
    same = load(tmp_path / "m.kern")
    for rows in (frame, new_rows()):
        np.testing.assert_array_equal(same.decision_function(rows), model.decision_function(rows))
    assert same.feature_names_in_.tolist() == list(frame)
    save(same, tmp_path / "again.kern")
    assert (tmp_path / "again.kern").read_bytes() == (tmp_path / "m.kern").read_bytes()


def test_a_loaded_pipeline_can_be_fitted_again(tmp_path):
    frame, y = table()
    model = make_pipeline(columns(), AdditiveSVR()).fit(frame, y.astype(float))
    save(model, tmp_path / "m.kern")
    again = load(tmp_path / "m.kern").fit(frame, y.astype(float))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_integer_categories(tmp_path):
    X = np.random.default_rng(0).integers(0, 4, (100, 2))
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore", dtype=np.float32), AdditiveSVC()).fit(X, X[:, 0] > 1)
    save(model, tmp_path / "m.kern")
    np.testing.assert_array_equal(load(tmp_path / "m.kern").predict(X + 1), model.predict(X + 1))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (FunctionTransformer(np.log1p), "func is a ufunc"),
        (SimpleImputer(add_indicator=True), "is a MissingIndicator"),
        (ColumnTransformer([("a", "passthrough", [0])], n_jobs=2), r"n_jobs=2\. Call set_params\(n_jobs=None\)"),
    ],
    ids=["function", "indicator", "processes"],
)
def test_what_cannot_be_saved(step, message, tmp_path):
    X = np.random.default_rng(0).random((50, 2))
    X[::7] = np.nan
    model = make_pipeline(step, AdditiveSVC()).fit(X, np.arange(50) % 2)
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "m.kern")


def part(of, where, **changes):
    """A change to the parameters or attributes of the first estimator of a class."""

    def change(tree, arrays):
        found = next(node for node in fitted(tree["model"]) if node.get("of") == of)
        for name, value in changes.items():
            found[where][name] = value(found[where].get(name)) if callable(value) else value

    return change


def fitted(node):
    """All fitted estimators of a tree."""
    if isinstance(node, dict) and node.get("kind") == "estimator" and node["attributes"]:
        yield node
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from fitted(item)


def items(*values):
    return {"kind": "tuple", "items": list(values)}


def places(*changed):
    return {"kind": "dict", "items": [list(pair) for pair in changed]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (part("ColumnTransformer", "params", n_jobs=64), "n_jobs"),
        (part("ColumnTransformer", "attributes", sparse_output_=3), "sparse_output_"),
        (part("ColumnTransformer", "attributes", transformers_=7), "transformers_ must be a list"),
        (part("ColumnTransformer", "attributes", transformers_=[items("a", "drop")]), "three parts"),
        (part("ColumnTransformer", "attributes", transformers_=[items("number", "rm -r", [])]), "a str, not an"),
        (part("ColumnTransformer", "attributes", _transformer_to_input_indices=places()), "not those of the input"),
        (
            part("ColumnTransformer", "attributes", _transformer_to_input_indices=places(["number", [0, 99]])),
            "not those of the input",
        ),
        (part("ColumnTransformer", "attributes", _sklearn_output_config=places(["transform", "x"])), "not known"),
        (part("OneHotEncoder", "attributes", categories_=[]), "categories_ must have one list"),
        (part("OneHotEncoder", "attributes", _n_features_outs=[1, 10**9]), "numbers of columns"),
        (part("OneHotEncoder", "attributes", _n_features_outs=[1, 1]), "numbers of columns"),
        (part("OneHotEncoder", "attributes", _n_features_outs=None), "_n_features_outs"),
        (part("OneHotEncoder", "attributes", _infrequent_enabled=1), "_infrequent_enabled"),
        (part("OneHotEncoder", "attributes", _default_to_infrequent_mappings=[None]), "one mapping"),
        (part("OneHotEncoder", "params", dtype={"kind": "dtype", "name": "S3", "class": True}), "type 'S3' is not"),
        (part("SimpleImputer", "attributes", statistics_=None), "statistics_"),
        (part("SimpleImputer", "attributes", _fill_dtype="float64"), "_fill_dtype must be a type"),
        (part("SimpleImputer", "params", add_indicator=True), "add_indicator"),
        (part("FunctionTransformer", "params", func="os.system"), "func"),
        (part("FunctionTransformer", "params", kw_args=places(["a", 1])), "arguments"),
        (part("ColumnTransformer", "params", transformer_weights=places(["number", 10**400])), "must be numbers"),
    ],
    ids=range(21),
)
def test_forged_files_are_refused(change, message, tmp_path):
    frame, y = table()
    encoder = OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist")
    step = columns(encoder=encoder, remainder="passthrough")
    model = make_pipeline(step, AdditiveSVC()).fit(frame.assign(more=1.0), y)
    save(model, tmp_path / "m.kern")
    with pytest.raises(ValueError, match=message):
        load(forged(tmp_path / "m.kern", change))
