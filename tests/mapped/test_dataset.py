"""Dataset: the same codes as a fit to the values, in memory, in a file, and in batches."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.svm import LinearSVC

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR, Dataset, NystromSVC, io, kernels
from kernline.mapped import file as kdata


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(kdata, "CHUNK_BYTES", 2000)


class Batches:
    """Some rows at a time, as often as they are asked for."""

    def __init__(self, X, y, weight=None, cuts=(0, 1, 250, 250, 700)):
        self.all, self.cuts = (X, y, weight), cuts

    def __iter__(self):
        for begin, end in zip(self.cuts, self.cuts[1:], strict=False):
            rows = slice(begin, end)
            yield tuple(
                None if one is None else one.iloc[rows] if hasattr(one, "iloc") else one[rows] for one in self.all
            )


def mixed_table():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=700), "b": random.choice(["x", "y", "z"], 700), "c": random.random(700)})
    X.loc[random.random(700) < 0.1, "a"] = np.nan
    return X, np.where(random.random(700) < 0.5, "no", "yes")


SPARSE = sp.random_array((700, 60), density=0.1, format="csr", random_state=0)


@pytest.mark.parametrize("X", [mixed_table()[0], SPARSE, np.abs(SPARSE.toarray())], ids=["table", "sparse", "dense"])
@pytest.mark.parametrize("kernel", ["auto", "linear"])
def test_codes_are_those_of_a_fit(tmp_path, X, kernel):
    y = mixed_table()[1]
    fitted = AdditiveSVC(kernel, loss="hinge", scale="rank" if isinstance(X, pd.DataFrame) else "auto").fit(X, y)
    encoder = fitted.shapes_.encoder
    for source in (
        Dataset(X, y, kernel=kernel, scale=fitted.scale_),
        Dataset(Batches(X, y), kernel=kernel, scale=fitted.scale_),
    ):
        assert source.encoder.equals(encoder)
        source.save(tmp_path / "x.kdata")
        loaded = Dataset.load(tmp_path / "x.kdata")
        assert len(loaded.parts) == 1
        assert loaded.encoder.equals(encoder)
        assert_array_equal(loaded.y, y)
        again = AdditiveSVC(kernel, loss="hinge", scale=fitted.scale_).fit(loaded)
        assert_array_equal(again.shapes_.weights, fitted.shapes_.weights)
        assert_array_equal(again.predict(loaded), fitted.predict(X))
        assert getattr(again, "feature_names_in_", None) is None or list(again.feature_names_in_) == ["a", "b", "c"]


def test_files_as_sources(tmp_path):
    rows = np.round(SPARSE.toarray(), 6)
    y = np.arange(700) % 3
    for name, options in (
        ("x.svm", {}),
        ("x.csv", {"target": "label"}),
        ("x.npz", {}),
        ("x.parquet", {"target": "label"}),
    ):
        path = tmp_path / name
        X = sp.csr_array(rows) if name == "x.svm" else rows
        names = None if name in ("x.svm", "x.npz") else [f"f{j}" for j in range(60)]
        with open(path, "wb") as stream:
            io.write(stream, X, y, name=name, feature_names=names)
        dataset = Dataset(path, **options)
        dataset.save(tmp_path / "y.kdata")
        assert_array_equal(Dataset.load(tmp_path / "y.kdata").y, y)
        whole = Dataset(io.read(path, **options).X, y)
        assert dataset.encoder.equals(whole.encoder)
        assert_array_equal(dataset.rows.to_csr().toarray(), whole.rows.to_csr().toarray())


def test_weights_and_numbers(tmp_path):
    X, _ = mixed_table()
    random = np.random.default_rng(1)
    y, weight = random.normal(size=700), random.integers(0, 3, 700).astype(float)
    Dataset(Batches(X, y, weight)).save(tmp_path / "x.kdata")
    loaded = Dataset.load(tmp_path / "x.kdata")
    kept = weight > 0.0
    assert_array_equal(loaded.y, y[kept])
    assert_array_equal(loaded.sample_weight, weight[kept])
    found, expected = (
        AdditiveSVR(C=1.0).fit(loaded),
        AdditiveSVR(C=1.0, scale="rank", kernel="intersection").fit(loaded.rows, y[kept], weight[kept]),
    )
    assert_array_equal(found.predict(loaded), expected.predict(loaded.rows))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_parts_reach_the_optimum_of_all_rows(tmp_path, loss, C):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 8))
    y = np.where(X[:, 0] + np.sin(3.0 * X[:, 1]) + random.normal(size=3000) > 0.5, 1, -1)
    Dataset(X, y).save(tmp_path / "x.kdata")
    loaded = Dataset.load(tmp_path / "x.kdata")
    whole = AdditiveSVC(C=C, loss=loss, tol=1e-4, solver="dual-cd").fit(loaded.rows, y)
    loaded = Dataset.load(tmp_path / "x.kdata")
    loaded.part_bytes = 4000
    assert loaded.is_in_parts
    found = AdditiveSVC(C=C, loss=loss, tol=0.01).fit(loaded)
    assert found.dual_gap_[0] <= 0.01 * found.objective_[0]
    assert found.objective_[0] - found.dual_gap_[0] <= whole.objective_[0] * (1.0 + 1e-6)
    # The objective, from the formula and the values.
    f = found.decision_function(loaded)
    losses = {
        "hinge": np.maximum(0.0, 1.0 - y * f),
        "squared_hinge": np.maximum(0.0, 1.0 - y * f) ** 2,
        "log": np.logaddexp(0.0, -y * f),
    }
    assert C * losses[loss].sum() <= found.objective_[0] * (1.0 + 1e-5)
    assert found.objective_[0] <= 1.01 * whole.objective_[0]
    assert found.shapes_.training.n_rows == 3000


def test_several_classes_and_numbers_in_parts(tmp_path):
    random = np.random.default_rng(0)
    X = random.random((2000, 6))
    y = (3.0 * X[:, 0] + 0.3 * random.normal(size=2000)).clip(0, 2.9).astype(int)
    for model, target in (
        (AdditiveSVC(C=1.0, loss="hinge"), y),
        (AdditiveSVC(C=1.0, class_weight="balanced", loss="squared_hinge"), np.array(["a", "b", "c"])[y]),
        (AdditiveSVR(C=1.0, loss="epsilon_insensitive"), 5.0 * y + random.random(2000)),
        (AdditiveSVC(C=1.0, loss="hinge", intercept_scaling=1.0), y),
    ):
        Dataset(X, target).save(tmp_path / "x.kdata")
        loaded = Dataset.load(tmp_path / "x.kdata")
        whole = model.fit(loaded.rows, target).objective_
        loaded = Dataset.load(tmp_path / "x.kdata")
        loaded.part_bytes = 4000
        found = model.fit(loaded)
        assert (found.dual_gap_ <= 0.01 * found.objective_).all()
        np.testing.assert_allclose(found.objective_, whole, rtol=0.011)
    found = AdditiveSVCCV(Cs=[0.1, 1.0], cv=2).fit(Dataset(X, y))
    assert found.C_ in (0.1, 1.0)


def test_what_parts_do_not_support(tmp_path):
    X, y = np.random.default_rng(0).random((2000, 4)), np.arange(2000) % 3
    Dataset(X, y).save(tmp_path / "x.kdata")
    loaded = Dataset.load(tmp_path / "x.kdata")
    loaded.part_bytes = 2000
    for params in ({"multi_class": "crammer-singer"}, {"solver": "newton"}, {"warm_start": True}, {"interactions": 2}):
        with pytest.raises(ValueError, match=r"dataset\.rows"):
            AdditiveSVC(**params).fit(loaded)
    with pytest.raises(ValueError, match="encoded for another kernel"):
        AdditiveSVC("linear").fit(loaded)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AdditiveSVC().fit(loaded, y[:-1])
    Dataset(X).save(tmp_path / "z.kdata")
    with pytest.raises(ValueError, match="no labels"):
        AdditiveSVC().fit(Dataset.load(tmp_path / "z.kdata"))


def test_parameters_of_columns_are_those_of_the_dataset():
    X, y = mixed_table()
    dataset = Dataset(X, y)
    for params in ({"missing": "error"}, {"categorical": ["c"]}, {"categorical": None}, {"categorical": [1, 2]}):
        for model, target in ((AdditiveSVC(**params), y), (AdditiveSVR(**params), np.arange(700.0))):
            with pytest.raises(ValueError, match=r"Pass it to Dataset\."):
                model.fit(dataset, target)
    AdditiveSVC(categorical=["b"], C=0.01).fit(dataset)
    AdditiveSVC(missing="error", C=0.01).fit(Dataset(X[["b", "c"]], y))


def test_bad_settings():
    X = np.random.default_rng(0).random((50, 2))
    for params, message in (({"scale": "ranks"}, "'minmax', 'rank'"), ({"missing": "zero"}, "'own', 'error'")):
        with pytest.raises(ValueError, match=message):
            Dataset(X, **params)
    for random_state in (None, np.random.RandomState(1)):
        assert Dataset(X, random_state=random_state).shape == (50, 2)


def test_where_values_are_needed():
    X, y = np.random.default_rng(0).random((60, 3)), np.arange(60) % 2
    dataset = Dataset(X, y)
    fitted = AdditiveSVC(C=1.0).fit(X, y)
    for call in (
        lambda: np.asarray(dataset),
        lambda: NystromSVC().fit(dataset, y),
        lambda: LinearSVC().fit(dataset, y),
        lambda: fitted.partial_fit(dataset, y),
    ):
        with pytest.raises(TypeError, match="a Dataset holds codes"):
            call()
    with pytest.raises(TypeError, match="not iterable"):
        list(dataset)
    for k in (0, np.int64(1)):
        with pytest.raises(TypeError, match="no single rows"):
            dataset[k]
    assert dataset[3:4].n_rows == 1


def test_bad_sources():
    X, y = np.ones((4, 2)), [1, 2, 1, 2]
    for source, error, message in (
        (iter([X]), TypeError, "only once"),
        ([(X, y), (X[:, :1], y)], ValueError, "1 columns, and the first one 2"),
        ([(X, y), (X, y[:3])], ValueError, "4 rows, and its y 3"),
        ([(X, y), X], ValueError, "some batches have labels"),
        ([(X, [1.0, np.nan, 1.0, 1.0])], ValueError, "1 labels are missing"),
        ([(X, y), (X, list("abcd"))], ValueError, "text and numbers"),
        ([(X, y, [1.0, -1.0, 1.0, 1.0])], ValueError, "not negative"),
        ([X[:0], X[:0]], ValueError, "every batch is empty"),
        ([(X, y), (np.full((4, 2), np.inf), y)], ValueError, "infinity"),
    ):
        with pytest.raises(error, match=message):
            Dataset(source)
    with pytest.raises(ValueError, match="4 rows, and y has 3"):
        Dataset(X, y[:3])
    with pytest.raises(ValueError, match="NaN in column 1"):
        Dataset([X, np.array([[1.0, np.nan]])], missing="error")
    with pytest.raises(ValueError, match="pipe"):
        Dataset("-")

    class Changing:
        n = 0

        def __iter__(self):
            self.n += 1
            yield np.random.default_rng(0).random((10 * self.n, 2))

    with pytest.raises(ValueError, match=r"first pass .* found 10 rows, and the second 20"):
        Dataset(Changing()).hold()


def test_classes_of_weight_zero(tmp_path):
    X, y = np.random.default_rng(0).random((2000, 4)), np.arange(2000) % 3
    dataset = Dataset(X, y, (y != 2).astype(float))
    message = "every sample of class 2 has weight zero"
    with pytest.raises(ValueError, match=message):
        AdditiveSVC().fit(X, y, (y != 2).astype(float))
    with pytest.raises(ValueError, match=message):
        AdditiveSVC().fit(dataset)
    dataset.save(tmp_path / "x.kdata")
    loaded = Dataset.load(tmp_path / "x.kdata")
    loaded.part_bytes = 2000
    with pytest.raises(ValueError, match=message):
        AdditiveSVC().fit(loaded)
    assert AdditiveSVR(C=1.0).fit(Dataset(X, y, (y != 2).astype(float))).predict(X).max() < 1.5
    with pytest.raises(ValueError, match="one class only: 1"):
        AdditiveSVC().fit(Dataset(X, y, (y == 1).astype(float)))


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1), (2, 3), (3, 2)])
def test_labels_and_weights_are_those_of_the_first_pass(tmp_path, first, second):
    class Changing:
        n_parts = first

        def __iter__(self):
            random = np.random.default_rng(0)
            yield (random.random((10, 2)), np.arange(10) % 2, random.random(10) + 0.1)[: self.n_parts]
            self.n_parts = second

    with pytest.raises(ValueError, match="in only one of the two passes"):
        Dataset(Changing()).save(tmp_path / "x.kdata")
    assert not os.listdir(tmp_path)


def _saved(tmp_path):
    X = np.random.default_rng(0).random((700, 5))
    Dataset(X, np.arange(700) % 2).save(tmp_path / "x.kdata")
    return tmp_path / "x.kdata"


def test_every_flipped_bit_is_found(tmp_path):
    path = _saved(tmp_path)
    content = path.read_bytes()
    for position in np.random.default_rng(1).integers(0, len(content), 60).tolist():
        damaged = bytearray(content)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"x\.kdata"):
            AdditiveSVC().fit(Dataset.load(path))


def test_truncated_files_and_other_versions(tmp_path, monkeypatch):
    path = _saved(tmp_path)
    content = path.read_bytes()
    for size in (0, 5, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"x\.kdata: not a \.kdata file"):
            Dataset.load(path)
    with monkeypatch.context() as patch:
        patch.setattr(kdata, "FORMAT", (2, 0))
        _saved(tmp_path)
    with pytest.raises(
        ValueError, match=rf"format 2\.0, .* this one reads 1\.x. Update kernline to {kernline.__version__} or"
    ):
        Dataset.load(path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"n_rows":700', '"n_rows":9999999999999'),
        ('"n_rows":700', '"n_rows":699'),
        ('"n_rows":700', '"n_rows":100'),
        ('"chunk_rows":400', '"chunk_rows":401'),
        ('"classes":{', '"classes":null,"other":{'),
        ('"has_weights":false', '"has_weights":true'),
    ],
)
def test_headers_that_do_not_fit_the_chunks(tmp_path, monkeypatch, before, after):
    """Their checksums are right: someone wrote them so."""
    finish = kdata.TensorWriter.finish

    def changed(writer, metadata):
        assert before in metadata["kernline-data"]
        finish(writer, {key: text.replace(before, after) for key, text in metadata.items()})

    monkeypatch.setattr(kdata.TensorWriter, "finish", changed)
    with pytest.raises(ValueError, match=r"x\.kdata: not a \.kdata file .*(chunk|rows|weight)"):
        _saved(tmp_path)


def test_a_kernel_of_other_parameters(tmp_path):
    """As a forged file might have it; a fuzzer found it."""
    X, y = np.random.default_rng(0).random((40, 9)), np.arange(40) % 2
    Dataset(X, y, kernel=kernels.Chi2(n_jobs=np.int64(2))).save(tmp_path / "x.kdata")
    assert Dataset.load(tmp_path / "x.kdata").kernel == kernels.Chi2(n_jobs=2)
    with pytest.raises(ValueError, match=r"the kernel's n_jobs must be an integer or None\."):
        Dataset(X, y, kernel=kernels.Chi2(n_jobs=[2])).save(tmp_path / "y.kdata")


def test_a_full_disk_leaves_no_file(tmp_path):
    """The limit is set in another process: it cannot be raised again in this one."""
    import subprocess
    import sys

    code = (
        "import resource, numpy as np; from kernline import Dataset\n"
        "data = Dataset(np.random.default_rng(0).random((100_000, 10)))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: data.save('x.kdata')\n"
        "except OSError as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "x.kdata" in out.stdout
    assert os.listdir(tmp_path) == []


def test_model_files_are_told_apart(tmp_path):
    import kernline

    model = AdditiveSVC().fit(np.random.default_rng(0).random((20, 2)), np.arange(20) % 2)
    kernline.save(model, tmp_path / "m.kern")
    with pytest.raises(ValueError, match=r"a model, which kernline\.load reads"):
        Dataset.load(tmp_path / "m.kern")
    with pytest.raises(ValueError, match="not a model file"):
        kernline.load(_saved(tmp_path))


def test_the_header_has_no_code(tmp_path):
    content = _saved(tmp_path).read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert b"pickle" not in content
    assert {"cells.0", "y.0"} <= set(header)
