"""Codes that every worker holds, and a task per problem: the plain estimator's results, bit for bit."""

import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning

from kernline import AdditiveSVC, AdditiveSVR
from kernline.dask import DaskAdditiveSVC, DaskAdditiveSVR, gathered
from kernline.dask.session import ClusterError, Session

from .clusters import Replaced, digits, in_chunks, kill, local_client, plain_worker

pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def client():
    with local_client() as client:
        yield client


def assert_same(model, local):
    assert_array_equal(model.shapes_.weights, local.shapes_.weights)
    assert_array_equal(model.intercept_, local.intercept_)
    assert_array_equal(model.objective_, local.objective_)
    assert_array_equal(model.dual_gap_, local.dual_gap_)
    for name in ("kernel_", "scale_", "loss_", "C_", "gamma_", "solver_", "n_iter_", "feature_importances_"):
        assert_array_equal(getattr(model, name), getattr(local, name))
    assert type(model.to_local()) is type(local)


CLASSIFIERS = {
    "hinge": {"kernel": "chi2"},
    "log, one by one": {"kernel": "chi2", "loss": "log", "multi_class": "ovr", "C": 1.0},
    "newton": {"kernel": "chi2", "loss": "log", "multi_class": "ovr", "C": 1.0, "solver": "newton"},
    "softmax": {"kernel": "chi2", "loss": "log"},
    "crammer-singer": {"kernel": "chi2", "multi_class": "crammer-singer"},
    "penalised": {"kernel": "linear", "intercept_scaling": 1.0, "class_weight": "balanced"},
}


@pytest.mark.parametrize("options", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_every_way_to_fit_classes(client, options):
    X, y = digits(450)
    labels = np.array(["a", "b", "c"])[y]
    model = DaskAdditiveSVC(client=client, **options).fit(*in_chunks(X, labels, 200))
    local = AdditiveSVC(**options).fit(X, labels)
    assert_same(model, local)
    assert_array_equal(model.classes_, local.classes_)
    assert_array_equal(model.to_local().predict(X), local.predict(X))


def test_the_defaults_on_a_table_are_those_of_the_plain_estimator(client):
    X, y = load_wine(return_X_y=True)
    model = DaskAdditiveSVC(client=client).fit(*in_chunks(X, y, 100))
    local = AdditiveSVC().fit(X, y)
    assert (model.loss_, model.solver_) == ("log", "joint")
    assert_same(model, local)
    assert_array_equal(model.shapes_.training.limits, local.shapes_.training.limits)
    assert_array_equal(model.feature_weights_, local.feature_weights_)


def test_interactions(client):
    random = np.random.default_rng(0)
    X = random.random((600, 3))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    model = DaskAdditiveSVC(client=client, interactions=1).fit(*in_chunks(X, y, 200))
    local = AdditiveSVC(interactions=1).fit(X, y)
    assert [pair.columns for pair in model.shapes_.pairs] == [(0, 1)]
    assert_same(model, local)
    assert model.to_local().score(X, y) > 0.9


@pytest.mark.parametrize("options", [{}, {"loss": "epsilon_insensitive"}, {"interactions": 2}])
def test_regression(client, options):
    X, y = load_diabetes(return_X_y=True)
    model = DaskAdditiveSVR(client=client, **options).fit(*in_chunks(X, y, 150))
    local = AdditiveSVR(**options).fit(X, y)
    assert_same(model, local)
    assert_array_equal(model.epsilon_, local.epsilon_)
    assert_array_equal(model.to_local().predict(X), local.predict(X))


def test_several_outputs_with_weights(client):
    X, y = load_diabetes(return_X_y=True)
    both, weight = np.column_stack([y, y**2]), np.random.default_rng(0).random(len(y)) + 0.5
    options = {"loss": "epsilon_insensitive", "C": 1.0}
    chunks = (da.from_array(one, chunks=(200, -1) if one.ndim == 2 else 200) for one in (X, both, weight))
    model = DaskAdditiveSVR(client=client, **options).fit(*chunks)
    assert_same(model, AdditiveSVR(**options).fit(X, both, weight))


def test_frames_and_sparse_blocks(client):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=500), "b": random.choice(["x", "y"], 500), "c": random.random(500)})
    frame.loc[::9, "a"] = np.nan
    labels = pd.Series(np.where(frame["b"] == "x", frame["c"] > 0.3, frame["c"] > 0.7))
    model = DaskAdditiveSVC(client=client).fit(*(dd.from_pandas(one, npartitions=3) for one in (frame, labels)))
    assert_same(model, AdditiveSVC().fit(frame, labels))
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    X = sp.random_array((400, 50), density=0.1, format="csr", random_state=0)
    y = np.asarray(X.sum(axis=1)).ravel() > 2.5
    blocks = da.from_array(X.toarray(), chunks=(150, -1)).map_blocks(sp.csr_matrix)
    found = DaskAdditiveSVC("chi2", client=client).fit(blocks, da.from_array(y, chunks=150))
    assert_same(found, AdditiveSVC("chi2").fit(X, y))


def test_the_result_does_not_depend_on_the_workers(client):
    X, y = digits(600)
    two = DaskAdditiveSVC("chi2", client=client).fit(*in_chunks(X, y, 200))
    with local_client(1) as other:
        one = DaskAdditiveSVC("chi2", client=other).fit(*in_chunks(X, y, 100))
    assert_same(one, two.to_local())


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {"loss": "hinge", "multi_class": "crammer-singer"}])
def test_a_fit_that_stops_early_warns_here(client, options):
    X, y = digits(450)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=1"):
        DaskAdditiveSVC("chi2", client=client, C=1e4, tol=1e-9, max_iter=1, **options).fit(*in_chunks(X, y, 150))


def test_random_states(client):
    X, y = digits(450)
    options = {"kernel": "chi2", "random_state": 7}
    assert_same(DaskAdditiveSVC(client=client, **options).fit(*in_chunks(X, y, 150)), AdditiveSVC(**options).fit(X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DaskAdditiveSVC("chi2", client=client, random_state=np.random.RandomState(0)).fit(*in_chunks(X, y, 150))


def test_what_needs_all_codes_is_refused_for_more(client, monkeypatch):
    monkeypatch.setattr(gathered, "MOST_BYTES", 0)
    X, y = digits(100)
    for name, value in (("interactions", 2), ("solver", "newton"), ("multi_class", "crammer-singer")):
        with pytest.raises(ValueError, match=f"{name}=.* needs all codes in one process"):
            DaskAdditiveSVC("chi2", client=client, loss="hinge", **{name: value}).fit(*in_chunks(X, y, 50))


@pytest.fixture(scope="module")
def bare():
    """A scheduler without workers: tests start their own, which have no nanny."""
    with local_client(0) as client:
        yield client


class TestFaults:
    """Workers that die while problems are solved."""

    @pytest.fixture
    def at_result(self, monkeypatch):
        def plan(moment, action):
            count, result = [0], Session.result

            def counted(session, future):
                count[0] += 1
                if count[0] == moment:
                    action()
                return result(session, future)

            monkeypatch.setattr(Session, "result", counted)
            return count

        return plan

    # Result 1 is that of the summaries, 2 the encoder, 3 to 5 the solutions of the three problems, 6 the outline.
    @pytest.mark.parametrize("moment", [1, 4, 6])
    def test_a_worker_is_killed(self, client, at_result, moment):
        X, y = digits()
        local = AdditiveSVC("chi2").fit(X, y)
        with plain_worker(client) as victim:
            count = at_result(moment, victim.kill)
            assert_same(DaskAdditiveSVC("chi2", client=client).fit(*in_chunks(X, y, 200)), local)
            assert count[0] == 6

    def test_one_with_a_nanny(self, client, at_result):
        X, y = digits()
        at_result(2, lambda: kill(client, next(iter(client.nthreads()))))
        model = DaskAdditiveSVC("chi2", client=client).fit(*in_chunks(X, y, 200))
        assert_same(model, AdditiveSVC("chi2").fit(X, y))

    def test_data_that_cannot_be_computed_again(self, bare, at_result):
        X, y = digits()
        with Replaced(bare) as worker:
            futures = bare.scatter([X[:450], X[450:]], hash=False)
            blocks = [da.from_delayed(one, (450, 64), dtype=float) for one in futures]
            at_result(2, worker.replace)
            with pytest.raises(ClusterError, match="cannot be computed again"):
                DaskAdditiveSVC("chi2", client=bare).fit(da.concatenate(blocks), da.from_array(y, chunks=450))
