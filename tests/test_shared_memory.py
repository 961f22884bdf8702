"""X changes while it is read: results may be wrong and errors raised, but the process goes on."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from kernline import AdditiveSVC, BudgetedSVC, NystromSVC, kernels
from kernline.feature_maps import AdditiveKernelMap
from kernline.sources import with_own_indices

DATA = """
import logging, sys, threading
import numpy as np, scipy.sparse as sp
rng = np.random.default_rng(0)
X = sp.random_array((1500, 300), density=0.05, rng=rng, format="csr", dtype=np.float32)
y = rng.integers(0, 2, 1500)
if "wide" in sys.argv:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
"""

# The log line of an epoch is where a fit runs our code: all epochs but the first read what it wrote.
BETWEEN_EPOCHS = """
from kernline import AdditiveSVC, BudgetedSVC
class Scribble(logging.Handler):
    def emit(self, record):
        if "class" not in record.getMessage():
            return  # what was chosen, before X is read
        X.indices[:] = 2**30
        X.indptr[1:] = -(2**30)
        X.data[:] = np.nan
logger = logging.getLogger("kernline")
logger.addHandler(Scribble())
logger.propagate = False
kept = X.copy()
linear = AdditiveSVC("linear", C=10.0, tol=1e-5, max_iter=5, verbose=2)
for model in (linear, BudgetedSVC(budget=20, passes=3, verbose=2)):
    for part in ("data", "indices", "indptr"):
        getattr(X, part)[:] = getattr(kept, part)
    model.fit(X, y)
    assert X.indices[0] == 2**30
"""

BY_A_THREAD = """
import warnings
from kernline import AdditiveSVC, BudgetedSVC, NystromSVC, kernels
from kernline.feature_maps import AdditiveKernelMap
warnings.simplefilter("ignore")
part = getattr(X, sys.argv[1])
kept, done = part.copy(), False
wrong = [np.nan, np.inf, -1.0, 1e30] if part.dtype.kind == "f" else [-1, 0, 400, 2**30, -(2**30)]
def scribble():
    random = np.random.default_rng(1)
    while not done:
        part[random.integers(0, part.size, 50)] = random.choice(wrong)
        part[-1] = random.choice(wrong)
        part[:] = kept
fits = [
    AdditiveSVC("linear", C=10.0), AdditiveSVC(), AdditiveSVC(scale="rank"), AdditiveSVC(approximation="pmsvm"),
    BudgetedSVC(budget=20, passes=3), NystromSVC(n_basis=30), AdditiveKernelMap(),
]
for fit in fits:
    fit.fit(X, y)
calls = [lambda fit=fit: fit.fit(X, y) for fit in fits]
calls += [lambda fit=fit: fit.decision_function(X) for fit in fits[:-1]] * 5
calls += [lambda: fits[-1].transform(X), lambda: kernels.Chi2()(X[:1500], np.ones((5, 300)))] * 5
thread = threading.Thread(target=scribble)
thread.start()
outcomes = []
for _ in range(int(sys.argv[2])):
    for call in calls:
        try:
            call()
            outcomes.append("done")
        except (ValueError, FloatingPointError, MemoryError) as error:
            outcomes.append("refused")
done = True
thread.join()
print(sorted(set(outcomes)))
"""


def run(program, *arguments):
    command = [sys.executable, "-c", DATA + program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.parametrize("width", ["narrow", "wide"])
def test_changes_between_epochs(width):
    run(BETWEEN_EPOCHS, width)


@pytest.mark.parametrize(
    ("part", "width"),
    [("indices", "narrow"), ("indices", "wide"), ("indptr", "narrow"), ("indptr", "wide"), ("data", "narrow")],
)
def test_changes_by_another_thread(part, width):
    """At least one call met a change, or nothing was tried."""
    assert "refused" in run(BY_A_THREAD, part, "2", width)


FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
def test_own_indices_hold_the_same(format, container):
    rng = np.random.default_rng(0)
    X = container(rng.random((30, 20)) * (rng.random((30, 20)) < 0.3)).asformat(format)
    own = with_own_indices(X)
    assert type(own) is type(X)
    assert (own.toarray() == X.toarray()).all()
    if format in ("csr", "csc", "bsr", "coo"):
        assert np.shares_memory(own.data, X.data)
        for part in ("row", "col") if format == "coo" else ("indices", "indptr"):
            assert not np.shares_memory(getattr(own, part), getattr(X, part))


def test_values_past_the_last_offset_are_left_out():
    X = sp.csr_array(np.eye(3))
    X.data, X.indices = np.append(X.data, 7.0), np.append(X.indices, 99).astype(np.int32)
    own = with_own_indices(X)
    assert own.data.tolist() == [1.0, 1.0, 1.0]
    assert own.indices.tolist() == [0, 1, 2]


def broken(format, **parts):
    X = sp.csr_array(np.eye(6) + np.eye(6, k=1)).asformat(format)
    for name, value in parts.items():
        setattr(X, name, value(getattr(X, name)))
    return X


def put(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


# The fourth ends with 0, the fifth overflows the difference of two offsets: SciPy's own check passes both.
BAD_OFFSETS = [
    put(0, 1),
    put(3, 1),
    put(-1, 99),
    put(slice(3, None), [9, 2**30, 2**30, 0]),
    put([2, 3], [2**31 - 1, -3]),
]


@pytest.mark.parametrize("change", BAD_OFFSETS)
@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
def test_bad_offsets_are_refused(format, change):
    with pytest.raises(ValueError, match="indptr must begin with 0, not decrease, and end within"):
        with_own_indices(broken(format, indptr=change))


@pytest.mark.parametrize(("place", "value"), [(0, -1), (3, 6), (5, 2**31 - 1)])
@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
def test_bad_columns_are_refused(format, place, value):
    with pytest.raises(ValueError, match="indices must lie between 0 and 5"):
        with_own_indices(broken(format, indices=put(place, value)))


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize(
    "use", [AdditiveSVC("linear").fit, NystromSVC().fit, BudgetedSVC().fit, AdditiveKernelMap().fit]
)
def test_estimators_refuse_bad_columns(format, use):
    """Before they are converted: SciPy would write outside its arrays."""
    part = "col" if format == "coo" else "indices"
    with pytest.raises(ValueError, match=r"indices must lie|exceeds matrix dimension"):
        use(broken(format, **{part: put(0, 1000)}), [0, 1, 0, 1, 0, 1])


def test_gram_matrices_refuse_bad_columns():
    good, bad = broken("csr"), broken("csr", indices=put(0, 1000))
    for pair in ((bad,), (bad, good), (good, bad)):
        with pytest.raises(ValueError, match="indices must lie"):
            kernels.Chi2()(*pair)
