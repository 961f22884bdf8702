"""The estimators on a cluster of two processes, against those in one process."""

import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_diabetes

import kernline
from kernline import AdditiveSVC, AdditiveSVR
from kernline.dask import DaskAdditiveSVC, DaskAdditiveSVR, fitting, gathered
from kernline.dask.session import Session

from .clusters import digits, in_chunks, kill, local_client

pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def client():
    with local_client() as client:
        yield client


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Every partition is a part."""
    monkeypatch.setattr(fitting, "LEAST_CELLS", 1)
    monkeypatch.setattr(gathered, "MOST_BYTES", 0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
def test_objective_and_certificate_are_those_of_one_process(client, loss):
    X, y = digits()
    options = {"kernel": "chi2", "loss": loss, "C": 1.0, "tol": 0.01}
    model = DaskAdditiveSVC(client=client, **options).fit(*in_chunks(X, y, 300))
    local = AdditiveSVC(**options, multi_class="ovr").fit(X, y)
    assert (model.dual_gap_ <= 0.01 * model.objective_).all()
    # Each is within its gap of the same optimum.
    assert (model.objective_ - model.dual_gap_ <= local.objective_ * (1 + 1e-4)).all()
    assert (local.objective_ - local.dual_gap_ <= model.objective_ * (1 + 1e-4)).all()
    assert model.gamma_ == pytest.approx(local.gamma_)
    assert (model.to_local().predict(X) == local.predict(X)).mean() > 0.98


def test_predictions_are_lazy_and_those_of_the_local_model(client):
    X, y = digits()
    chunks = in_chunks(X, y, 300)
    model = DaskAdditiveSVC("chi2", client=client, loss="log", C=1.0).fit(*chunks)
    local = model.to_local()
    assert type(local) is AdditiveSVC
    for method in ("predict", "decision_function", "predict_proba"):
        found = getattr(model, method)(chunks[0])
        assert isinstance(found, da.Array)
        np.testing.assert_allclose(client.compute(found).result(), getattr(local, method)(X))
    with client.as_current():
        assert model.score(*chunks) == pytest.approx(local.score(X, y))


def test_the_result_does_not_depend_on_the_workers(client):
    X, y = digits(600, 2)
    chunks = in_chunks(X, y, 200)
    two = DaskAdditiveSVC("chi2", client=client).fit(*chunks)
    with local_client(1) as other:
        one = DaskAdditiveSVC("chi2", client=other).fit(*chunks)
    np.testing.assert_array_equal(one.shapes_.weights, two.shapes_.weights)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


def test_a_worker_with_a_nanny_is_killed(client, monkeypatch):
    X, y = digits(600, 2)
    count, result = [0], Session.result

    def kill_at_third(session, future):
        count[0] += 1
        if count[0] == 3:
            kill(client, next(iter(client.nthreads())))
        return result(session, future)

    monkeypatch.setattr(Session, "result", kill_at_third)
    model = DaskAdditiveSVC("chi2", client=client).fit(*in_chunks(X, y, 150))
    local = AdditiveSVC("chi2").fit(X, y)
    assert count[0] > 3
    assert model.dual_gap_ <= 0.01 * model.objective_
    # Each is within its gap of the same optimum.
    assert model.objective_ - model.dual_gap_ <= local.objective_ * (1 + 1e-4)
    assert local.objective_ - local.dual_gap_ <= model.objective_ * (1 + 1e-4)


def test_the_model_is_saved_without_dask(client, tmp_path):
    X, y = digits(400, 2)
    model = DaskAdditiveSVC("chi2", client=client).fit(*in_chunks(X, y, 200))
    kernline.save(model.to_local(), tmp_path / "m.kern")
    loaded = kernline.load(tmp_path / "m.kern")
    np.testing.assert_allclose(loaded.decision_function(X), model.decision_function(X), atol=1e-5)


def test_frames_with_text_categories_and_gaps(client):
    random = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame({"size": random.normal(size=n), "colour": random.choice(["red", "green", "blue"], n)})
    frame["kind"] = pd.Categorical(random.choice(["a", "b"], n), categories=["b", "a", "c"])
    y = np.where((frame["size"] > 0.3) ^ (frame["colour"] == "red"), "yes", "no")
    frame.loc[5, "size"] = np.nan  # in the first partition only
    collection = dd.from_pandas(frame, npartitions=3)
    labels = dd.from_pandas(pd.Series(y, index=frame.index), npartitions=3)
    options = {"kernel": "intersection", "scale": "rank", "C": 10.0}
    model = DaskAdditiveSVC(client=client, **options).fit(collection, labels)
    local = AdditiveSVC(**options).fit(frame, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == ["size", "colour", "kind"]
    assert model.shapes_.encoder.equals(local.shapes_.encoder)
    assert model.objective_ == pytest.approx(local.objective_, rel=0.02)
    with client.as_current():
        assert model.predict(collection).compute().tolist() == model.to_local().predict(frame).tolist()


def test_sparse_blocks_and_a_penalised_intercept(client):
    X, y = digits(600, 2)
    blocks = in_chunks(X, y, 200)
    sparse = blocks[0].map_blocks(sp.csr_matrix, dtype=np.float64)
    options = {"kernel": "chi2", "intercept_scaling": 1.0, "tol": 1e-3}
    model = DaskAdditiveSVC(client=client, **options).fit(sparse, blocks[1])
    local = AdditiveSVC(**options).fit(sp.csr_matrix(X), y)
    assert model.objective_ == pytest.approx(local.objective_, rel=2e-3)
    assert model.intercept_ == pytest.approx(local.intercept_, abs=0.05)


def test_weights_of_rows_and_classes(client):
    X, y = digits(600, 2)
    weight = np.random.default_rng(0).integers(0, 3, 600).astype(float)
    options = {"kernel": "chi2", "class_weight": "balanced"}
    chunks = in_chunks(X, y, 200)
    model = DaskAdditiveSVC(client=client, **options).fit(*chunks, sample_weight=da.from_array(weight, chunks=200))
    local = AdditiveSVC(**options).fit(X, y, sample_weight=weight)
    assert model.objective_ == pytest.approx(local.objective_, rel=0.02)


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
def test_regression(client, loss):
    X, y = load_diabetes(return_X_y=True)
    chunks = in_chunks(X, y, 150)
    model = DaskAdditiveSVR(client=client, loss=loss, C=1.0).fit(*chunks)
    local = AdditiveSVR(loss=loss, C=1.0, solver="dual-cd").fit(X, y)
    assert model.objective_ == pytest.approx(local.objective_, rel=0.02)
    with client.as_current():
        assert model.score(*chunks) == pytest.approx(model.to_local().score(X, y))


def test_files_are_read_by_the_workers(client, tmp_path):
    X, y = digits(300, 2)
    X[:, 60:] = 0.0
    X[250:, 63] = 1.0  # the other files are narrower
    for k in range(3):
        rows = slice(100 * k, 100 * k + 100)
        dump_svmlight_file(X[rows], y[rows], str(tmp_path / f"part-{k}.svm"), zero_based=False)
        frame = pd.DataFrame(X[rows], columns=[f"p{j}" for j in range(64)]).assign(label=y[rows])
        frame.to_parquet(tmp_path / f"part-{k}.parquet")
    local = AdditiveSVC("chi2").fit(X, y)
    for pattern, target in (("part-*.svm", None), ("part-*.parquet", "label")):
        model = DaskAdditiveSVC("chi2", client=client).fit(str(tmp_path / pattern), target)
        assert getattr(model.to_local(), "target_name_", None) == target
        assert model.objective_ == pytest.approx(local.objective_, rel=0.02)


def test_clones_keep_the_client(client):
    model = DaskAdditiveSVC("chi2", client=client, C=3.0)
    copy = clone(model)
    assert copy is not model
    assert copy.client is client
    assert (copy.kernel, copy.C) == ("chi2", 3.0)
    with config_context(enable_metadata_routing=True):
        copy = clone(model.set_fit_request(sample_weight=True))
        assert copy.get_metadata_routing().fit.requests["sample_weight"] is True


def test_predictions_of_an_empty_partition_have_their_type(client):
    X, y = digits(100, 2)
    names = np.array(["a", "b"])[y]
    model = DaskAdditiveSVC("chi2", client=client).fit(*in_chunks(X, names, 50))
    found = model.predict(da.from_array(X, chunks=((0, 100), -1))).compute(scheduler="synchronous")
    assert found.dtype == names.dtype
    assert_array_equal(found, model.to_local().predict(X))
    empty = model.predict(da.from_array(X[:0], chunks=(1, -1))).compute(scheduler="synchronous")
    assert empty.dtype == names.dtype


def test_small_partitions_become_one_part(client, monkeypatch):
    monkeypatch.setattr(fitting, "LEAST_CELLS", 2**21)
    X, y = digits(300, 2)
    model = DaskAdditiveSVC("chi2", client=client, tol=1e-3).fit(*in_chunks(X, y, 20))
    assert model.dual_gap_ <= 1e-3 * model.objective_


def test_progress_and_parameters():
    assert "client" in DaskAdditiveSVC().get_params()
    assert DaskAdditiveSVC(C=3.0).to_local().C == 3.0
    assert isinstance(DaskAdditiveSVR().to_local(), AdditiveSVR)


def test_without_a_client_there_is_an_error():
    X, y = digits(100, 2)
    with pytest.raises(ValueError, match="There is no Dask client"):
        DaskAdditiveSVC().fit(*in_chunks(X, y, 50))


def test_importing_kernline_does_not_import_dask():
    import subprocess
    import sys

    code = "import sys, kernline; kernline.AdditiveSVC; assert 'dask' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_dask_the_error_names_the_extra():
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['distributed'] = None\ntry:\n import kernline.dask\nexcept ImportError as e: print(e)"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "pip install kernline[dask]" in found.stdout


class TestBadInput:
    def fit(self, client: Client, X, y, **options) -> DaskAdditiveSVC:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return DaskAdditiveSVC("chi2", client=client, **options).fit(X, y)

    def test_an_empty_partition(self, client):
        X, y = digits(300, 2)
        chunks = da.from_array(X, chunks=((100, 0, 200), 64)), da.from_array(y, chunks=((100, 0, 200),))
        model = self.fit(client, *chunks)
        with client.as_current():
            assert model.predict(chunks[0]).compute().shape == (300,)

    def test_a_class_that_only_one_partition_has(self, client):
        X, y = digits(300, 2)
        y[:5] = 7
        model = self.fit(client, *in_chunks(X, y, 100))
        assert model.classes_.tolist() == [0, 1, 7]

    def test_one_class(self, client):
        X, y = digits(100, 2)
        with pytest.raises(ValueError, match="at least two classes"):
            self.fit(client, *in_chunks(X, np.zeros_like(y), 50))

    def test_nan_that_is_refused(self, client):
        X, y = digits(300, 2)
        X[250, 3] = np.nan
        with pytest.raises(ValueError, match="NaN in column 3"):
            self.fit(client, *in_chunks(X, y, 100), missing="error")

    def test_nan_in_one_partition_has_a_weight(self, client):
        X, y = digits(300, 2)
        X[250:280, 3] = np.nan
        model = self.fit(client, *in_chunks(X, y, 100))
        assert model.shapes_.encoder.nan_columns.tolist() == [3]

    def test_nan_labels(self, client):
        X, y = digits(300, 2)
        y = y.astype(float)
        y[299] = np.nan
        with pytest.raises(ValueError, match="partition 2"):
            self.fit(client, *in_chunks(X, y, 100))

    def test_labels_of_another_length(self, client):
        X, y = digits(300, 2)
        with pytest.raises(ValueError, match="y has 299 rows, and X has 300"):
            self.fit(client, da.from_array(X, chunks=100), da.from_array(y[:299], chunks=100))

    def test_labels_of_another_length_that_is_not_known(self, client):
        frame = dd.from_pandas(pd.DataFrame(np.ones((30, 2))), npartitions=3)
        labels = dd.from_pandas(pd.Series(np.arange(27) % 2), npartitions=3)
        with pytest.raises(ValueError, match=r"partition .: X has 10 rows, and y has 9"):
            self.fit(client, frame, labels)

    def test_labels_in_other_partitions_are_divided_again_if_lengths_are_known(self, client):
        X, y = digits(300, 2)
        model = self.fit(client, da.from_array(X, chunks=(100, 32)), da.from_array(y, chunks=150))
        assert model.n_samples_seen_ == 300

    def test_labels_in_other_partitions(self, client):
        frame = dd.from_pandas(pd.DataFrame(np.ones((30, 2))), npartitions=3)
        with pytest.raises(ValueError, match="y has 2 partitions, and X has 3"):
            self.fit(client, frame, dd.from_pandas(pd.Series(np.arange(30) % 2), npartitions=2))

    def test_partitions_with_other_columns(self, client):
        from dask import delayed

        parts = [pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), pd.DataFrame({"a": [1.0, 2.0], "c": [1.0, 2.0]})]
        frame = dd.from_delayed([delayed(part) for part in parts], meta=parts[0], verify_meta=False)
        labels = dd.from_pandas(pd.Series([0, 1, 0, 1]), npartitions=2)
        with pytest.raises(ValueError, match=r"columns a, c, and the first one: a, b"):
            self.fit(client, frame, labels)

    def test_partitions_with_text_and_numbers(self, client):
        from dask import delayed

        parts = [pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"a": ["x", "y"]})]
        frame = dd.from_delayed([delayed(part) for part in parts], meta=parts[0], verify_meta=False)
        labels = dd.from_pandas(pd.Series([0, 1, 0, 1]), npartitions=2)
        with pytest.raises(ValueError, match="numbers in one batch and text"):
            self.fit(client, frame, labels)

    def test_values_that_the_kernel_refuses(self, client):
        X, y = digits(300, 2)
        X[250, 3] = -1.0
        with pytest.raises(ValueError, match="column 3 has minimum -1"):
            self.fit(client, *in_chunks(X, y, 100), scale="max")

    def test_what_is_not_supported(self, client):
        chunks = in_chunks(*digits(100, 2), 50)
        for options, message in (
            ({"solver": "newton"}, "solver='newton'"),
            ({"multi_class": "crammer-singer"}, "multi_class='crammer-singer'"),
            ({"approximation": "plame"}, "approximation='plame'"),
        ):
            with pytest.raises(ValueError, match=message):
                self.fit(client, *chunks, **options)

    def test_arrays_in_memory(self, client):
        X, y = digits(100, 2)
        with pytest.raises(TypeError, match="X in memory is for AdditiveSVC"):
            self.fit(client, X, y)

    def test_no_such_files(self, client):
        with pytest.raises(FileNotFoundError):
            self.fit(client, "no-such-*.parquet", "label")
