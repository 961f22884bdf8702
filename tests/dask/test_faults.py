"""Workers that die, come late or are slow: they cost time, not the fit. A cluster that is gone is an error."""

import importlib
import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from kernline import AdditiveSVC
from kernline.dask import DaskAdditiveSVC, fitting, gathered
from kernline.dask import session as session_module
from kernline.dask.session import ClusterError, Session

from .clusters import LIMIT, QUIET, Replaced, digits, in_chunks, local_client, plain_worker, wait_until

pytestmark = pytest.mark.edge
X, Y = digits(600, 2)


@pytest.fixture(scope="module")
def bare():
    """A scheduler without workers: tests start their own, which have no nanny."""
    with local_client(0) as client:
        yield client


@pytest.fixture(scope="module")
def steady():
    """A scheduler with a worker that stays: tests start the one that does not."""
    with local_client(0) as client, plain_worker(client):
        yield client


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(fitting, "LEAST_CELLS", 1)
    monkeypatch.setattr(gathered, "MOST_BYTES", 0)


@pytest.fixture
def at_result(monkeypatch):
    """Call a function when the fit is about to wait for its n-th result; returns the count of results."""

    def plan(actions):
        count, result = [0], Session.result

        def counted(session, future):
            count[0] += 1
            action = actions.get(count[0])
            if action is not None:
                action()
            return result(session, future)

        monkeypatch.setattr(Session, "result", counted)
        return count

    return plan


def assert_fits(client: Client, chunks: tuple[da.Array, da.Array] | None = None) -> None:
    """The fit ends within the tolerance of the optimum, by its exact certificate and by that of one process."""
    model = DaskAdditiveSVC("chi2", client=client).fit(*(chunks or in_chunks(X, Y, 150)))
    local = AdditiveSVC("chi2").fit(X, Y)
    assert model.dual_gap_ <= 0.01 * model.objective_
    assert local.objective_ - local.dual_gap_ <= model.objective_ * (1 + 1e-4)
    assert model.objective_ - model.dual_gap_ <= local.objective_ * (1 + 1e-4)


# Results 1 and 2 are those of summaries and codes, 3 that of the first round, 4 of its margin.
@pytest.mark.parametrize("moment", [2, 5])
def test_a_worker_without_a_nanny_is_killed(steady, at_result, moment):
    with plain_worker(steady) as victim:
        count = at_result({moment: victim.kill})
        assert_fits(steady)
        assert count[0] > moment


def test_a_worker_dies_in_the_middle_of_its_tasks(steady):
    with plain_worker(steady) as victim:
        threading.Timer(0.3, victim.kill).start()
        assert_fits(steady)


def test_one_worker_joins_late_and_the_first_one_leaves(bare, at_result):
    late = []
    with plain_worker(bare) as first:

        def join() -> None:
            context = plain_worker(bare)
            late.append(context)
            context.__enter__()

        try:
            at_result({3: join, 6: first.kill})
            assert_fits(bare)
        finally:
            for context in late:
                context.__exit__(None, None, None)


def test_a_slow_worker(steady):
    """It is stopped nine tenths of the time."""
    with plain_worker(steady) as slow:
        steady.run(importlib.import_module, "kernline.dask.tasks")  # at full speed
        done = threading.Event()

        def slow_down() -> None:
            while not done.wait(0.01):
                os.kill(slow.pid, signal.SIGSTOP)
                time.sleep(0.09)
                os.kill(slow.pid, signal.SIGCONT)

        thread = threading.Thread(target=slow_down)
        thread.start()
        try:
            assert_fits(steady)
        finally:
            done.set()
            thread.join()


def test_all_workers_leave(bare, at_result, monkeypatch):
    monkeypatch.setattr(session_module, "_PATIENCE", 2.0)
    with plain_worker(bare) as worker:
        at_result({3: worker.kill})
        with pytest.raises(ClusterError, match="has had no workers"):
            assert_fits(bare)


def test_the_scheduler_goes_away(at_result, monkeypatch):
    monkeypatch.setattr(session_module, "_PATIENCE", 2.0)
    cluster = LocalCluster(n_workers=1, **QUIET)
    client = Client(cluster, set_as_default=False)
    try:
        at_result({3: lambda: cluster.close(timeout=LIMIT)})
        with pytest.raises(ClusterError, match="Dask cluster at"):
            assert_fits(client)
    finally:
        client.close(timeout=LIMIT)


def test_data_that_cannot_be_computed_again(bare, at_result):
    with Replaced(bare) as worker:
        futures = bare.scatter([X[:300], X[300:]], hash=False)
        blocks = [da.from_delayed(one, (300, 64), dtype=float) for one in futures]
        chunks = da.concatenate(blocks), da.from_array(Y, chunks=300)
        at_result({3: worker.replace})
        with pytest.raises(ClusterError, match="cannot be computed again"):
            assert_fits(bare, chunks)


def test_ctrl_c_leaves_nothing_on_the_cluster(steady, at_result):
    def interrupt() -> None:
        raise KeyboardInterrupt

    at_result({4: interrupt})
    model = DaskAdditiveSVC("chi2", client=steady)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*in_chunks(X, Y, 150))
    assert not hasattr(model, "shapes_")
    wait_until(steady, lambda dask_scheduler: not dask_scheduler.tasks)


def test_the_graph_does_not_grow_with_the_rounds(steady, at_result):
    sizes = []

    def count() -> None:
        sizes.append(steady.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))

    at_result(dict.fromkeys(range(3, 200), count))
    DaskAdditiveSVC("chi2", client=steady, tol=1e-4).fit(*in_chunks(X, Y, 150))
    n = np.array(sizes)
    assert len(n) > 12
    # The scheduler forgets released tasks a little later, so that single counts may be high. In a graph that grows,
    # all late counts are above all early ones.
    assert n[len(n) // 2 :].min() <= n[: len(n) // 2].max()
