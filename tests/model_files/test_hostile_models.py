"""Malicious model files: cases that the fuzzer found, and its initial corpus."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernline
from kernline import AdditiveSVC
from kernline.threads import thread_count

from ..fuzz.model_use import load_and_use
from .forging import edit, forged, put

CORPUS = sorted((Path(__file__).parents[1] / "fuzz" / "models").iterdir())
BEGINNINGS = [path for path in CORPUS if path.suffix == ".kern"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_corpus_is_refused_or_works(path):
    assert load_and_use(path) or path not in BEGINNINGS


def step(name, part, **changes):
    """A change to the attributes or parameters of a pipeline's step."""

    def change(tree, arrays):
        dict(tree["model"]["params"]["steps"])[name][part].update(changes)

    return change


def steps(edited):
    """A change to a pipeline's steps."""

    def change(tree, arrays):
        params = tree["model"]["params"]
        params["steps"] = edited(params["steps"])

    return change


def last_state(**changes):
    """A change to the state from which partial_fit continues."""

    def change(tree, arrays):
        items = tree["model"]["attributes"]["_last"][0]["items"]
        kept = [item for item in items if item[0] not in changes]
        tree["model"]["attributes"]["_last"][0]["items"] = kept + [list(item) for item in changes.items()]

    return change


def random_position(position):
    def change(tree, arrays):
        tree["model"]["params"]["random_state"]["state"]["items"][2] = position

    return change


def wide_values(tree, arrays):
    """Two weights per value, although the linear kernel has one."""
    put("shapes_", "table", "width", 2)(tree, arrays)
    arrays["shapes_.weights"] = np.repeat(arrays["shapes_.weights"], 2, axis=1)


def again_and_again(tree, arrays):
    """Many small nodes that refer to one large array."""
    attributes = tree["model"]["attributes"]
    arrays["shapes_.weights"] = np.ones((4000, 64, 1), np.float32)
    attributes["history_"] = [attributes["shapes_"]] * 300


FORGERIES = [
    ("hats", random_position(10**6), "position 1000000"),
    ("hats", random_position(-5), "position -5"),
    ("hats", edit("random_state.1", lambda key: np.resize(key, 10_000)), "10000 words"),
    ("hats", again_and_again, "memory"),
    ("hats", put("history_", [{"kind": "texts", "items": ["x" * 60_000] + [""] * 1000}] * 30), "memory"),
    ("hats", put("history_", {"kind": "scalar", "dtype": "float64", "value": [1.0, 2.0]}), "a number is"),
    ("hats", put("history_", {"kind": "tuple", "items": {"kind": "tensor", "name": "intercept_"}}), "ndarray"),
    ("hats", put("history_", {"kind": "objects", "items": {"kind": "tensor", "name": "intercept_"}}), "ndarray"),
    ("hats", put("shapes_", "table", "width", 4.0), "width"),
    ("hats", put("classes_", {"kind": "texts", "items": ["yes", "no"]}), "increase"),
    ("hats", put("feature_names_in_", {"kind": "objects", "items": [1, None, []]}), "text"),
    ("linear", wide_values, "width of 1"),
    ("pmsvm", put("shapes_", "encoder", "payload", "kernel", "p", None), "TypeError"),
    ("pmsvm", put("shapes_", "encoder", "payload", "kernel", {"kind": "object", "of": "Hats", "fields": {}}), "Hats"),
    ("chi2", put("_kernel", "function", "n_jobs", []), "n_jobs"),
    ("chi2", put("_kernel", "nonnegative_for", []), "kernel's name"),
    ("cosine", put("_kernel", "function", "name", "os.system"), "scikit-learn"),
    ("rbf", put("_points", "unit", 1e200), "unit"),
    ("poly", put("_points", "size", 1e200), "size"),
    ("budgeted", last_state(j=1), "other parts"),
    ("budgeted", last_state(n_steps=2**63), "n_steps"),
    ("budgeted", last_state(n_steps=1.5), "n_steps"),
    ("budgeted", last_state(n_seen=5e-324), "n_seen"),
    ("pipeline", steps(lambda old: []), "without steps"),
    ("pipeline", steps(lambda old: [["a", "tensor"], *old]), "a str"),
    ("pipeline", steps(lambda old: [old[-1], *old]), "has no transform"),
    ("pipeline", lambda tree, _: tree["model"]["params"].update(memory="folder"), "memory"),
    ("pipeline", step("maxabsscaler", "attributes", scale_=None), "scale_"),
    ("pipeline", step("minmaxscaler", "attributes", min_=[0.0]), "min_"),
    ("pipeline", step("minmaxscaler", "params", feature_range={"kind": "tuple", "items": [0]}), "feature_range"),
    ("pipeline", step("minmaxscaler", "params", feature_range={"kind": "tuple", "items": ["a", "b"]}), "feature_range"),
    ("pipeline", step("standardscaler", "attributes", mean_=None), "mean_"),
    ("pipeline", step("normalizer", "attributes", n_features_in_="3"), "n_features_in_"),
    ("pipeline", edit("step 'maxabsscaler'.scale_", lambda a: a[:1]), "scale_"),
]


@pytest.mark.parametrize(("name", "change", "message"), FORGERIES, ids=range(len(FORGERIES)))
def test_forged_files_are_refused(name, change, message, tmp_path):
    path = tmp_path / "model.kern"
    path.write_bytes((CORPUS[0].parent / f"{name}.kern").read_bytes())
    with pytest.raises(ValueError, match=message) as caught:
        kernline.load(forged(path, change))
    assert str(caught.value).startswith(str(path))


def test_scalers_without_unused_attributes(tmp_path):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    for scaler in (StandardScaler(with_mean=False), StandardScaler(with_std=False)):
        model = make_pipeline(scaler, "passthrough", AdditiveSVC("linear")).fit(X, y)
        kernline.save(model, tmp_path / "model.kern")
        again = kernline.load(tmp_path / "model.kern")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_pipeline_with_memory_is_refused(tmp_path):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    model = make_pipeline(StandardScaler(), AdditiveSVC("linear"), memory=str(tmp_path)).fit(X, y)
    with pytest.raises(ValueError, match="memory=None"):
        kernline.save(model, tmp_path / "model.kern")


def test_largest_number_of_threads():
    assert thread_count(10**30) == thread_count(10**9) == 1024
