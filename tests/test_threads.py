"""Tasks side by side: errors, and the threads of NumPy beneath them."""

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
