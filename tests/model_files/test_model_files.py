"""Model files keep every bit of a model."""

import copy
import os

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

import kernline
from kernline import AdditiveSVC, BudgetedSVC, NystromMap, NystromSVC, kernels
from kernline.shapes import TrainingFacts
from kernline.solvers import EpochReport, PassReport

from .models import MAPS, MODELS, REGRESSORS, seeded


def saved(model, path):
    kernline.save(model, path)
    return kernline.load(path)


def assert_params_equal(a, b):
    a, b = a.get_params(), b.get_params()
    assert a.keys() == b.keys()
    for name, value in a.items():
        same = np.array_equal(value, b[name]) if isinstance(value, np.ndarray) else value == b[name]
        assert same, name
        assert type(value) is type(b[name])


def assert_states_equal(a, b, where="model"):
    """Compare types and bits of every attribute, except the seconds of a history, which are not saved."""
    a, b = (copy.copy(each) if isinstance(each, TrainingFacts) else each for each in (a, b))  # those that waited, too
    assert type(a) is type(b), where
    if isinstance(a, EpochReport | PassReport):
        a, b = tuple(a._replace(seconds=0.0)), tuple(b._replace(seconds=0.0))
    if sp.issparse(a):
        a, b = [a.data, a.indices, a.indptr], [b.data, b.indices, b.indptr]
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        np.testing.assert_array_equal(a, b, err_msg=where)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for k, (left, right) in enumerate(zip(a, b, strict=True)):
            assert_states_equal(left, right, f"{where}.{k}")
    elif isinstance(a, dict):
        assert_states_equal(list(a.items()), list(b.items()), where)
    elif hasattr(a, "__dict__"):
        cached = {"native", "is_number", "functions", "_moved", "_moved32", "_raw", "_raw32", "largest_norm", "_root32"}
        cached |= {"_native_table", "_slots"}
        assert vars(a).keys() - cached == vars(b).keys() - cached, where
        for name in vars(a).keys() - cached:
            assert_states_equal(vars(a)[name], vars(b)[name], f"{where}.{name}")
    else:
        assert a == b or a != a, where


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_classifiers_round_trip(name, sparse, data, tmp_path):
    X, y = data
    X = sp.csr_array(X) if sparse else X
    model = seeded(MODELS[name]).fit(X, y)
    again = saved(model, tmp_path / "model.kern")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert_params_equal(model, again)
    assert_states_equal(model, again)


@pytest.mark.parametrize("unit", [1.0, 1e-200])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_round_trip(name, n_outputs, unit, data, tmp_path):
    X, y = data
    Y = unit * (y if n_outputs == 1 else np.column_stack([X[:, 20], y, -y]))
    model = seeded(REGRESSORS[name]).fit(X, Y)
    again = saved(model, tmp_path / "model.kern")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert_params_equal(model, again)
    assert_states_equal(model, again)


@pytest.mark.parametrize("name", MAPS)
def test_maps_round_trip(name, data, tmp_path):
    X, _ = data
    model = seeded(MAPS[name]).fit(X)
    again = saved(model, tmp_path / "map.kern")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert_states_equal(model, again)


@pytest.mark.parametrize(
    "labels",
    [[3, -1], [-2.0, 1.0], ["ä\n", "b" * 40], [False, True], ["x", "y", "z"], [1, 2, 3]],
    ids=["int", "float", "text", "bool", "three texts", "three ints"],
)
@pytest.mark.parametrize("as_objects", [False, True])
def test_labels_of_any_type(labels, as_objects, data, tmp_path):
    X, number = data
    y = np.array(labels, dtype=object if as_objects and isinstance(labels[0], str) else None)[number % len(labels)]
    model = AdditiveSVC(random_state=0).fit(X, y)
    again = saved(model, tmp_path / "model.kern")
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_feature_names_are_saved(data, tmp_path):
    import pandas as pd

    X, y = data
    frame = pd.DataFrame(X, columns=[f"pixel {j}" for j in range(64)])
    again = saved(AdditiveSVC().fit(frame, y), tmp_path / "model.kern")
    assert list(again.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[frame.columns[::-1]])


def test_pipelines(data, tmp_path):
    X, y = data
    model = make_pipeline(
        Normalizer("l1"), MinMaxScaler(), StandardScaler(), NystromMap(n_basis=30), AdditiveSVC("linear")
    )
    model.fit(X, y)
    again = saved(model, tmp_path / "model.kern")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert [name for name, _ in again.steps] == [name for name, _ in model.steps]


def test_random_state_continues(data, tmp_path):
    X, y = data
    model = AdditiveSVC(random_state=np.random.RandomState(5)).fit(X, y)
    again = saved(model, tmp_path / "model.kern")
    assert again.random_state.randint(1 << 30) == model.random_state.randint(1 << 30)


def test_error_names_what_cannot_be_saved(data, tmp_path):
    X, y = data
    custom = kernels.Custom(lambda u, v: np.minimum(u, v))
    refused = [
        (AdditiveSVC(custom), "kernel is a Custom"),
        (NystromSVC(lambda A, B: A @ B.T, n_basis=5), "kernel is a function"),
        (make_pipeline(PCA(5), NystromSVC(n_basis=5)), "step 'pca' is a PCA"),
    ]
    for model, message in refused:
        with pytest.raises(ValueError, match=message):
            kernline.save(model.fit(X, y), tmp_path / "model.kern")
    with pytest.raises(NotFittedError):
        kernline.save(AdditiveSVC(), tmp_path / "model.kern")
    assert os.listdir(tmp_path) == []


def test_failed_save_leaves_the_old_file(data, tmp_path, monkeypatch):
    X, y = data
    path = tmp_path / "model.kern"
    model = AdditiveSVC().fit(X, y)
    kernline.save(model, path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        kernline.save(AdditiveSVC(C=2.0).fit(X, y), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.kern"]


def test_files_are_small(data, tmp_path):
    X, y = data
    model = AdditiveSVC().fit(X, y)
    kernline.save(model, tmp_path / "model.kern")
    assert (tmp_path / "model.kern").stat().st_size < 1.1 * model.shapes_.nbytes + 20_000


def test_safetensors_reads_our_files(data, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is the referee of the format")
    X, y = data
    model = AdditiveSVC().fit(X, y)
    kernline.save(model, tmp_path / "model.kern")
    arrays = safetensors.load_file(tmp_path / "model.kern")
    np.testing.assert_array_equal(arrays["shapes_.weights"].transpose(2, 0, 1), model.shapes_.weights)
    np.testing.assert_array_equal(arrays["intercept_"], model.intercept_)


def test_joblib(data, tmp_path):
    import joblib

    X, y = data
    for model in (AdditiveSVC(scale="rank"), NystromSVC(n_basis=20)):
        joblib.dump(model.fit(X, y), tmp_path / "model.joblib")
        again = joblib.load(tmp_path / "model.joblib")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_skops(data):
    skops = pytest.importorskip("skops.io", reason="skops is optional")
    X, y = data
    for model in (AdditiveSVC(scale="rank"), AdditiveSVC("chi2", "pmsvm"), NystromSVC(n_basis=20)):
        content = skops.dumps(model.fit(X, y))
        again = skops.loads(content, trusted=skops.get_untrusted_types(data=content))
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        kernline.load(tmp_path / "nowhere.kern")


def test_partial_fit_continues_after_load(data, tmp_path):
    X, y = data
    model = BudgetedSVC(budget=20, random_state=0).fit(X, y)
    again = saved(model, tmp_path / "model.kern")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert_states_equal(model, again)
    model.partial_fit(X, y)
    again.partial_fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
