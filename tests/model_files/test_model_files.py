"""Model files: what goes in comes out, bit by bit; and what others made up is refused."""

import json
import os
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV, BudgetedSVC, NystromMap, NystromSVC, kernels, tables
from kernline.feature_maps import AdditiveKernelMap
from kernline.model_files.files import FORMAT
from kernline.model_files.tensor_file import TensorFile, write_tensors
from kernline.solvers import EpochReport, PassReport

MODELS = {
    "hats": AdditiveSVC(),
    "linear": AdditiveSVC("linear"),
    "plame": AdditiveSVC("js", "plame"),
    "pmsvm": AdditiveSVC("chi2", "pmsvm"),
    "pmsvm-lut": AdditiveSVC("power_mean", "pmsvm-lut", p=-np.inf),
    "feature-map": AdditiveSVC("hellinger", "feature-map"),
    "chebyshev": AdditiveSVC("chi2", "chebyshev", class_weight="balanced"),
    "low-dim": AdditiveSVC("intersection", "low-dim"),
    "hik": AdditiveSVC("intersection", "hik", gamma=0.5),
    "rank": AdditiveSVC("intersection", scale="rank"),
    "minmax": AdditiveSVC("chi2", scale="minmax"),
    "objects": AdditiveSVC(kernels.PowerMean(-4.0), tables.Hats(8, spacing="quantile"), random_state=3),
    "nodes": AdditiveSVC("chi2", tables.PmSVM(nodes=(0.1, 0.5), intercept=True)),
    "cv": AdditiveSVCCV(["chi2", kernels.Intersection()], Cs=[0.1, 1.0], cv=2, n_jobs=1),
    "rbf": NystromSVC(n_basis=20),
    "own landmarks": NystromSVC("poly", 0.1, basis=np.eye(64), degree=2.0),
    "chi2 landmarks": NystromSVC("chi2", n_basis=20, basis="random"),
    "theirs": NystromSVC("cosine", n_basis=20, basis="random"),
}
MAPS = {
    "nystrom": NystromMap("sigmoid", 0.001, n_basis=20),
    "additive": AdditiveKernelMap("js"),
    "hats": AdditiveKernelMap("chi2", "hats", n_components=5),
}


@pytest.fixture(scope="module")
def data():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def saved(model, path):
    kernline.save(model, path)
    return kernline.load(path)


def seeded(model):
    return clone(model).set_params(random_state=0) if "random_state" in model.get_params() else clone(model)


def assert_params_equal(a, b):
    a, b = a.get_params(), b.get_params()
    assert a.keys() == b.keys()
    for name, value in a.items():
        same = np.array_equal(value, b[name]) if isinstance(value, np.ndarray) else value == b[name]
        assert same, name
        assert type(value) is type(b[name])


def assert_states_equal(a, b, where="model"):
    """Every attribute, to the last bit and type, but for the seconds of a history, which are not saved."""
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


def test_names_of_features_are_kept(data, tmp_path):
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


def test_random_state_goes_on(data, tmp_path):
    X, y = data
    model = AdditiveSVC(random_state=np.random.RandomState(5)).fit(X, y)
    again = saved(model, tmp_path / "model.kern")
    assert again.random_state.randint(1 << 30) == model.random_state.randint(1 << 30)


def test_what_cannot_be_saved_is_named(data, tmp_path):
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


def test_a_failed_save_leaves_the_old_file(data, tmp_path, monkeypatch):
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


# What others made up. `forged` writes a file with the right digests, after a change to what it says.


def described_by(path):
    with TensorFile(path) as file:
        return json.loads(file.metadata["kernline"]), {name: file.read(name) for name in file.entries}


def forged(path, change):
    tree, arrays = described_by(path)
    change(tree, arrays)
    with open(path, "wb") as file:
        write_tensors(file, arrays, {"kernline": json.dumps(tree)})
    return path


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """A saved model of each kind that reaches the core in its own way, as bytes."""
    X, y = data
    folder = tmp_path_factory.mktemp("files")
    content = {}
    for name in ("hats", "rank", "plame", "pmsvm", "linear", "rbf", "chi2 landmarks"):
        X_kind = sp.csr_array(X) if name == "chi2 landmarks" else X
        kernline.save(seeded(MODELS[name]).set_params(n_jobs=1).fit(X_kind[:60], y[:60] % 3), folder / "model.kern")
        content[name] = (folder / "model.kern").read_bytes()
    return content


def at(tree, *names):
    """The node of an attribute, by names of attributes and fields."""
    node = tree["model"]["attributes"]
    for name in names:
        node = node[name] if name in node else node["fields"][name]
    return node


def put(*names_and_value):
    """A change: the attribute of these names becomes the value."""
    *names, last, value = names_and_value

    def change(tree, arrays):
        node = at(tree, *names)
        (node["fields"] if last in node.get("fields", ()) else node)[last] = value

    return change


def edit(name, edited):
    """A change to an array."""

    def change(tree, arrays):
        arrays[name] = edited(arrays[name].copy())

    return change


def setting(place, value):
    def edited(array):
        array[place] = value
        return array

    return edited


ENCODER = "shapes_.encoder"
FORGERIES = [
    ("hats", edit("shapes_.weights", setting((0, 0, 0), np.nan)), "not finite"),
    ("hats", edit("shapes_.weights", lambda W: W[:-1]), "weights"),
    ("hats", edit("shapes_.weights", lambda W: W[:, :-1]), "width"),
    ("hats", edit("shapes_.weights", lambda W: W[:, :, :-1]), "weights"),
    ("hats", edit("shapes_.weights", lambda W: W.astype(np.float64)), "float64"),
    ("hats", edit("shapes_.weights", lambda W: W[0]), "unpack"),
    ("hats", edit("shapes_.weights", lambda W: W[:0]), "without weights"),
    ("hats", edit("intercept_", lambda b: b[:-1]), "intercept_"),
    ("hats", edit(f"{ENCODER}.offsets", lambda a: a[:-1]), "offsets"),
    ("hats", edit(f"{ENCODER}.factors", setting(0, np.inf)), "factors"),
    ("hats", edit(f"{ENCODER}.grid.thresholds", lambda a: a[::-1]), "thresholds"),
    ("hats", edit(f"{ENCODER}.grid.thresholds", lambda a: np.append(a, 1.0)), "thresholds"),
    ("hats", edit(f"{ENCODER}.grid.thresholds", setting(0, np.nan)), "thresholds"),
    ("hats", put("shapes_", "table", "steps", 15), "steps"),
    ("hats", put("shapes_", "table", "steps", 1 << 40), "steps"),
    ("hats", put("shapes_", "table", "width", 17), "width"),
    ("hats", put("shapes_", "table", "width", "16"), "width"),
    ("hats", put("shapes_", "table", {"kind": "object", "of": "ValueTable", "fields": {"width": 16}}), "PairTable"),
    ("hats", put("shapes_", "encoder", None), "encoder"),
    ("hats", put("n_features_in_", 65), "weights"),
    ("hats", put("n_features_in_", "64"), "n_features_in_"),
    ("hats", put("classes_", [0, 1]), "classes_"),
    ("hats", put("shapes_", 5), "shapes_"),
    ("hats", put("history_", {"kind": "os.system"}), "kind"),
    ("hats", put("history_", {"kind": "object", "of": "Popen", "fields": {}}), "Popen"),
    ("hats", put("history_", {"kind": "tensor", "name": "nowhere"}), "nowhere"),
    ("hats", put("history_", {"kind": "texts", "items": ["x" * 100_000] + [""] * 10_000}), "memory"),
    ("hats", lambda tree, _: tree["model"].update(of="Popen"), "Popen"),
    ("hats", lambda tree, _: tree["model"]["params"].update(C=-1.0), "'C' parameter"),
    ("hats", lambda tree, _: tree["model"]["params"].update(colour="red"), "colour"),
    ("hats", lambda tree, _: tree.update(model=None), "not a JSON object"),
    ("plame", edit("shapes_.table.rows", lambda rows: rows[:-1]), "the table"),
    ("plame", edit("shapes_.table.rows", setting((3, 3), np.nan)), "the table"),
    ("rank", edit(f"{ENCODER}.edge_start", setting(1, 1 << 40)), "edge_start"),
    ("rank", edit(f"{ENCODER}.edge_start", setting(1, -5)), "edge_start"),
    ("rank", edit(f"{ENCODER}.edge_start", lambda a: a[:-1]), "edge_start"),
    ("rank", edit(f"{ENCODER}.levels", lambda a: a[:-1]), "levels"),
    ("pmsvm", put("shapes_", "encoder", "payload", "nodes", [0.1]), "nodes"),
    ("pmsvm", put("shapes_", "encoder", "payload", None), "does not fit"),
    ("linear", put("shapes_", "table", "width", 2), "width"),
    ("rbf", edit("dual_coef_", lambda a: a[:, :-1]), "dual_coef_"),
    ("rbf", edit("_points.X", setting((0, 0), np.nan)), "landmarks"),
    ("rbf", edit("_points.center", lambda a: a[:-1]), "center"),
    ("rbf", put("_points", "unit", 0.0), "unit"),
    ("rbf", put("_kernel", "kind", "factor"), "function"),
    ("rbf", put("_kernel", "gamma", "1"), "kernel"),
    ("chi2 landmarks", edit("_points.X.indices", setting(0, 1 << 20)), "ValueError"),
    ("chi2 landmarks", edit("_points.X.indices", setting(0, -1)), "ValueError"),
    ("chi2 landmarks", edit("_points.X.indptr", setting(1, 1 << 20)), "ValueError"),
    ("chi2 landmarks", put("_points", "X", "shape", [1 << 50, 64]), "ValueError"),
]


@pytest.mark.parametrize(("name", "change", "message"), FORGERIES, ids=range(len(FORGERIES)))
def test_forged_files_are_refused(name, change, message, files, tmp_path):
    path = tmp_path / "model.kern"
    path.write_bytes(files[name])
    with pytest.raises(ValueError, match=message) as caught:
        kernline.load(forged(path, change))
    assert str(caught.value).startswith(str(path))


HEADERS = [
    b"",
    b"\x00" * 7,
    struct.pack("<Q", 1 << 60) + b"{}",
    struct.pack("<Q", 2) + b"{}",
    struct.pack("<Q", 100_000) + b"[" * 100_000,
    struct.pack("<Q", 4) + b"null",
    struct.pack("<Q", 18) + b'{"__metadata__":1}',
    b"PK\x03\x04" + b"\x00" * 100,
]


@pytest.mark.parametrize("content", HEADERS, ids=range(len(HEADERS)))
def test_what_is_no_model_file(content, tmp_path):
    (tmp_path / "model.kern").write_bytes(content)
    with pytest.raises(ValueError, match="not a model file"):
        kernline.load(tmp_path / "model.kern")


def lying(content, change):
    """The file with another header, of the right digest."""
    import hashlib

    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    change(header)
    header["__metadata__"]["sha256"] = "0" * 64
    text = json.dumps(header).encode()
    text = text.replace(b"0" * 64, hashlib.sha256(text).hexdigest().encode(), 1)
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


LIES = [
    lambda header: header["shapes_.weights"].update(shape=[1 << 40, 16, 3]),
    lambda header: header["shapes_.weights"].update(shape=[1 << 62, 1 << 62, 3]),
    lambda header: header["shapes_.weights"].update(shape=[-64, -16, 3]),
    lambda header: header["shapes_.weights"].update(shape=[64.0, 16, 3]),
    lambda header: header["shapes_.weights"].update(dtype="F64"),
    lambda header: header["shapes_.weights"].update(dtype="object"),
    lambda header: header["shapes_.weights"].update(data_offsets=[0, 1 << 50]),
    lambda header: header["shapes_.weights"].update(data_offsets=[-8, 16]),
    lambda header: header["shapes_.weights"].update(data_offsets="ab"),
    lambda header: header.update(more={"dtype": "U8", "shape": [9], "data_offsets": [0, 9]}),
    lambda header: header.pop("shapes_.weights"),
    lambda header: header["__metadata__"].pop("crc32"),
    lambda header: header["__metadata__"].update(crc32="{}"),
    lambda header: header["__metadata__"].update(kernline="[]"),
]


@pytest.mark.parametrize("lie", LIES, ids=range(len(LIES)))
def test_headers_that_lie(lie, files, tmp_path):
    (tmp_path / "model.kern").write_bytes(lying(files["hats"], lie))
    with pytest.raises(ValueError, match="not a model file"):
        kernline.load(tmp_path / "model.kern")


def test_damage_is_found(files, tmp_path):
    content = bytearray(files["hats"])
    content[-5] ^= 1
    (tmp_path / "model.kern").write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.kern.*checksum"):
        kernline.load(tmp_path / "model.kern")


@pytest.mark.parametrize("name", ["hats", "rank", "chi2 landmarks"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_and_missing_bytes_are_found(name, data, files, tmp_path):
    content = bytearray(files[name])
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4, unique=True)):
            content[place] ^= data.draw(st.integers(1, 255))
    (tmp_path / "model.kern").write_bytes(content)
    with pytest.raises(ValueError, match="not a model file"):
        kernline.load(tmp_path / "model.kern")


NONSENSE = st.one_of(
    st.none(),
    st.integers(-3, 1 << 62),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from([[], {}, {"kind": "tensor", "name": "intercept_"}]),
)


@pytest.mark.parametrize("name", ["hats", "rank", "pmsvm", "rbf", "chi2 landmarks"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_nonsense_in_a_tree_is_an_error_or_harmless(name, data, files, tmp_path):
    """Any node replaced by anything: the load fails, or what it gives predicts."""
    path = tmp_path / "model.kern"
    path.write_bytes(files[name])

    def change(tree, arrays):
        node = tree["model"]
        for _ in range(data.draw(st.integers(1, 5))):
            inner = [key for key, item in node.items() if isinstance(item, dict)]
            if not inner:
                break
            node = node[data.draw(st.sampled_from(sorted(inner)))]
        keys = sorted(node)
        node[data.draw(st.sampled_from(keys))] = data.draw(NONSENSE)

    try:
        model = kernline.load(forged(path, change))
        X = np.full((3, 64), 2.0)
        model.decision_function(X)
    except (ValueError, TypeError, AttributeError, KeyError):
        pass


def test_versions(files, tmp_path):
    path = tmp_path / "model.kern"

    def of_version(text, more=None):
        path.write_bytes(files["hats"])

        def change(tree, arrays):
            tree["format"] = text
            tree["model"]["params"].update(more or {})
            at(tree, "shapes_", "encoder")["fields"].update(more or {})

        return kernline.load(forged(path, change))

    major, minor = FORMAT
    X = np.ones((2, 64))
    newer = of_version(f"{major}.{minor + 1}", {"colour": "red"})
    np.testing.assert_array_equal(newer.decision_function(X), of_version(f"{major}.{minor}").decision_function(X))
    with pytest.raises(ValueError, match=r"format 3\.0.*reads 1\.x and 2\.x.*Update kernline"):
        of_version("3.0")
    with pytest.raises(ValueError, match="in between"):
        of_version("0.9")
    with pytest.raises(ValueError, match="format 'new'"):
        of_version("new")


def test_a_missing_file_is_told_as_usual(tmp_path):
    with pytest.raises(FileNotFoundError):
        kernline.load(tmp_path / "nowhere.kern")


def test_budgeted_models_go_on_from_where_they_were(data, tmp_path):
    X, y = data
    model = BudgetedSVC(budget=20, random_state=0).fit(X, y)
    again = saved(model, tmp_path / "model.kern")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert_states_equal(model, again)
    model.partial_fit(X, y)
    again.partial_fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
