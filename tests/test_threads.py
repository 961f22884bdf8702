"""Tasks side by side: errors, and the threads of NumPy beneath them."""

import os
import subprocess
import sys
import threading

import pytest
from threadpoolctl import threadpool_info

from kernline.threads import run_tasks


def test_an_error_in_a_thread_stops_the_others():
    def work(index):
        if index == 1:
            raise OSError("of task 1")
        assert interrupted.wait(10.0)

    interrupted = threading.Event()
    with pytest.raises(OSError, match="of task 1"):
        run_tasks(work, 3, 3, interrupted)


def test_blas_is_limited_while_any_fit_runs():
    def blas_threads():
        return [module["num_threads"] for module in threadpool_info() if module["user_api"] == "blas"]

    def work(_):
        run_tasks(lambda index: index, 1, 1, threading.Event())  # ends while this one still runs
        return blas_threads()

    before = blas_threads()
    (during,) = run_tasks(work, 1, 1, threading.Event())
    assert set(during) <= {1}
    assert blas_threads() == before


def blas_threads():
    return [module["num_threads"] for module in threadpool_info() if module["user_api"] == "blas"]


def in_a_thread(work):
    """Run it in another thread, which lives on until this one is done with its result."""
    result, ended = [], threading.Event()

    def body():
        result.append(work())
        ended.wait(10.0)

    thread = threading.Thread(target=body)
    thread.start()
    while thread.is_alive() and not result:
        thread.join(0.01)
    return result[0], ended


def test_blas_is_limited_in_any_thread():
    """The main thread has limited it before, which to threadpoolctl makes it the only one that may."""
    run_tasks(lambda index: index, 1, 1, threading.Event())
    (during,), ended = in_a_thread(lambda: run_tasks(lambda _: blas_threads(), 1, 1, threading.Event()))
    ended.set()
    assert set(during) <= {1}


def test_the_last_thread_restores_the_limit_of_the_first():
    before = blas_threads()
    entered, left, second_is_in = threading.Event(), threading.Event(), threading.Event()

    def first(_):
        entered.set()
        assert second_is_in.wait(10.0)

    def first_thread():
        run_tasks(first, 1, 1, threading.Event())
        left.set()
        done.wait(10.0)

    def second(_):
        second_is_in.set()
        assert left.wait(10.0)
        return blas_threads()

    done = threading.Event()
    thread = threading.Thread(target=first_thread)
    thread.start()
    assert entered.wait(10.0)
    (during,) = run_tasks(second, 1, 1, threading.Event())
    after = blas_threads()
    done.set()
    thread.join()
    assert set(during) <= {1}
    assert after == before


FORK = """
import os, signal, sys, threading, time
import numpy as np
from threadpoolctl import threadpool_info
import kernline

def blas_threads():
    return [module["num_threads"] for module in threadpool_info() if module["user_api"] == "blas"]

def fit():
    return kernline.{model}.fit(X, y)

rng = np.random.default_rng(0)
X, y = rng.random((60, 5)), np.arange(60) % 3
expected, limits, stop = fit().predict(X), blas_threads(), threading.Event()

def fit_on():
    while not stop.is_set():
        fit()

thread = threading.Thread(target=fit_on)
thread.start()
codes = []
for _ in range({n_forks}):
    time.sleep(0.01 * rng.random())
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that hangs
        same = blas_threads() == limits and np.array_equal(fit().predict(X), expected)
        os._exit(0 if same else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
thread.join()
sys.exit(f"exit codes of the children: {{codes}}" if any(codes) else 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("model", ["AdditiveSVC()", "NystromSVC(n_basis=10)", "BudgetedSVC(budget=5, passes=2)"])
def test_a_child_forked_while_a_thread_fits(model):
    script = FORK.format(model=model, n_forks=15)
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=500)
    assert result.returncode == 0, result.stderr
