"""Ctrl-C at any bytecode of a fit: the estimator is as before or wholly new, and the threads of BLAS are as before.

KERNLINE_EVERY_BYTECODE=1 in the environment tries all bytecodes of this library, not a sample: some minutes.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import threadpoolctl
from sklearn.base import clone

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR, AdditiveSVRCV, BudgetedSVC, NystromSVC, threads
from kernline.estimators import fitting
from kernline.feature_maps import AdditiveKernelMap, NystromMap

LIBRARY = str(Path(kernline.__file__).parent)
# What keeps fits whole and limits threads.
CRITICAL = (fitting.__file__, threads.__file__)

RNG = np.random.default_rng(0)
OLD = pd.DataFrame(RNG.random((20, 3)), columns=["a", "b", "c"])
NEW = RNG.random((24, 4))
OLD_Y, NEW_Y = np.arange(20) % 2, np.arange(24) % 3


class Bytecodes:
    """Counts the bytecodes that run in some files, and raises KeyboardInterrupt at one of them."""

    def __init__(self, is_counted, target=-1):
        self.is_counted, self.target, self.count = is_counted, target, 0

    def __call__(self, frame, event, _):
        if not self.is_counted(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self.at_bytecode

    def at_bytecode(self, frame, event, _):
        if event == "opcode":
            self.count += 1
            if self.count - 1 == self.target:
                raise KeyboardInterrupt
        return self.at_bytecode

    def run(self, work):
        before = sys.gettrace()
        sys.settrace(self)
        try:
            work()
        finally:
            sys.settrace(before)
        return self.count


def blas_threads():
    return [module["num_threads"] for module in threadpoolctl.threadpool_info()]


def output(model, X):
    methods = [getattr(model, name, None) for name in ("transform", "decision_function", "predict")]
    return np.asarray(next(method for method in methods if method)(X))


def fit(model):
    return model.fit(NEW, NEW_Y)


def choose(model):
    return model.choose(NEW, NEW_Y, [0.5, 1.0], [1.0, 2.0], cv=2)


def partial_fit(model):
    """More rows of the stream, which changes everything but the columns."""
    return model.partial_fit(OLD[::-1], OLD_Y[::-1])


CASES = {
    "AdditiveSVC": (AdditiveSVC(max_iter=2), fit),
    "AdditiveSVC-joint": (AdditiveSVC(max_iter=2, multi_class="crammer-singer"), fit),
    "AdditiveSVC-pairs": (AdditiveSVC(max_iter=2, interactions=2), fit),
    "AdditiveSVC.partial_fit": (AdditiveSVC(max_iter=2), partial_fit),
    "AdditiveSVCCV": (AdditiveSVCCV(Cs=[1.0, 2.0], cv=2, max_iter=2), fit),
    "AdditiveSVR": (AdditiveSVR(max_iter=2), fit),
    "AdditiveSVRCV": (AdditiveSVRCV(Cs=[1.0, 2.0], cv=2, max_iter=2), fit),
    "NystromSVC": (NystromSVC(n_basis=4, max_iter=2), fit),
    "NystromSVC.choose": (NystromSVC(n_basis=4, max_iter=2), choose),
    "NystromSVC-blockwise": (NystromSVC(n_basis=4, max_iter=2, store_features=False), fit),
    "BudgetedSVC": (BudgetedSVC(budget=5, passes=2, grid_size=10), fit),
    "BudgetedSVC.partial_fit": (BudgetedSVC(budget=5, passes=2, grid_size=10), partial_fit),
    "NystromMap": (NystromMap(n_basis=4), fit),
    "AdditiveKernelMap": (AdditiveKernelMap("intersection", "hik"), fit),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("part", ["critical", "others"])
@pytest.mark.parametrize("name", CASES)
def test_all_or_nothing(name, part):
    def is_counted(path):
        return path.startswith(LIBRARY) and (path in CRITICAL) == (part == "critical")

    estimator, work = CASES[name]

    def fitted():
        return clone(estimator).fit(OLD, OLD_Y)

    old, new = fitted(), fitted()
    begun = blas_threads()
    n_bytecodes = Bytecodes(is_counted).run(lambda: work(new))
    for target in sample(n_bytecodes, 30 if part == "critical" and name == "NystromSVC" else 6):
        model = fitted()
        with pytest.raises(KeyboardInterrupt):
            Bytecodes(is_counted, target).run(lambda model=model: work(model))
        assert blas_threads() == begun
        assert any(is_same(model, expected) for expected in (old, new))


def sample(n_bytecodes, size):
    """Numbers of bytecodes, evenly spread from the first to the last."""
    every = os.environ.get("KERNLINE_EVERY_BYTECODE")
    return range(n_bytecodes) if every else np.unique(np.linspace(0, n_bytecodes - 1, size).astype(int)).tolist()


def is_same(model, expected):
    X = OLD if expected.n_features_in_ == 3 else NEW
    return (
        set(vars(model)) == set(vars(expected))
        and model.get_params() == expected.get_params()
        and model.n_features_in_ == expected.n_features_in_
        and np.array_equal(output(model, X), output(expected, X))
    )


def test_a_refused_fit_changes_nothing():
    model = AdditiveSVC("chi2", scale="max").fit(OLD, OLD_Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(-NEW, NEW_Y)
    assert vars(model) == before
