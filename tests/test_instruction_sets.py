"""Every build of the loops, in a process of its own: Gram matrices and decision values against NumPy, and a fit."""

import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from kernline import AdditiveSVC, BudgetedSVC, NystromSVC, _core, kernels, load, save, tables
from kernline.encoding import Encoder
from kernline.shapes import ShapeFunctions

from .conftest import KERNELS

TARGETS = ("baseline", "avx2", "avx512")
METHODS = ("hats", "plame", "pmsvm", "pmsvm-lut", "feature-map", "linear")
FITTED = [*KERNELS, kernels.Linear()]


def points():
    """Columns that no register width divides, some zeros, more problems than a register holds."""
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, 1.0, (33, 21)) * (rng.random((33, 21)) < 0.7)


def model(method, n_problems):
    kernel = kernels.Linear() if method == "linear" else kernels.Chi2()
    pair = tables.build(kernel, "hats" if method == "linear" else method)
    weights = np.random.default_rng(n_problems).standard_normal((n_problems, 21, pair.width)).astype(np.float32)
    if isinstance(pair.read, tables.PairTable):
        weights[:, :, 0] = 0.0  # the knot at u = 0
    return ShapeFunctions(Encoder.fit(points(), pair, kernel=kernel), pair.read, weights, np.zeros(n_problems))


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


@cache
def fitted(kernel):
    return AdditiveSVC(kernel, random_state=0).fit(*digits())


def compute():
    """All that is compared, by the loops of this process."""
    X, y = digits()
    fits = [fitted(kernel) for kernel in FITTED]
    return {
        "target": _core.target(),
        "gram": {kernel.name: kernel(points()) for kernel in KERNELS},
        "decision": {(method, n): model(method, n).decision(points()) for method in METHODS for n in (1, 3, 10, 27)},
        "contributions": {
            (method, n): model(method, n).explain(points()).values for method in METHODS for n in (1, 3, 6, 10, 27)
        },
        "objective": {fit.kernel.name: fit.objective_.sum() for fit in fits},
        "score": {fit.kernel.name: fit.score(X, y) for fit in fits},
    }


# How far scores may be apart, as a share of the largest: those of one model, and of fits to the same data. A fit takes
# other turns when a rounding differs, and ends elsewhere within its tolerance.
SAME_MODEL, SAME_DATA = 1e-5, 0.05
KINDS = {
    "chi2": AdditiveSVC(random_state=0),
    "rank": AdditiveSVC("intersection", scale="rank", random_state=0),
    "linear": AdditiveSVC("linear", random_state=0),
    "pmsvm": AdditiveSVC(approximation="pmsvm", random_state=0),
    "large C": AdditiveSVC(C=1000.0, random_state=0),
    "BudgetedSVC": BudgetedSVC(budget=50, random_state=0),
    "NystromSVC": NystromSVC(n_basis=50, random_state=0),
    "NystromSVC chi2": NystromSVC("chi2", n_basis=50, random_state=0),
}


def scores(folder):
    """Of each kind of model, by the loops of this process: of the saved one, and of one fitted here."""
    X, y = load_digits(return_X_y=True)
    return {
        kind: (load(Path(folder) / f"{kind}.kern").decision_function(X), fit.fit(X[::6], y[::6]).decision_function(X))
        for kind, fit in KINDS.items()
    }


def run(target, program, *arguments):
    environment = os.environ | {"KERNLINE_TARGET": target}
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, env=environment, cwd=root, capture_output=True, check=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder of models that this process fitted, and their scores here."""
    X, y = load_digits(return_X_y=True)
    folder, here = tmp_path_factory.mktemp("models"), {}
    for kind, fit in KINDS.items():
        save(fit.fit(X[::6], y[::6]), folder / f"{kind}.kern")
        here[kind] = fit.decision_function(X)
    return folder, here


@pytest.mark.parametrize("target", TARGETS)
def test_scores_are_near_those_of_this_process(saved, target):
    if target not in _core.targets():
        pytest.skip(f"this processor does not run {target}; it runs {', '.join(_core.targets())}")
    program = "import pickle, sys; from tests.test_instruction_sets import scores; "
    folder, here = saved
    done = run(target, program + "pickle.dump(scores(sys.argv[1]), sys.stdout.buffer)", folder)
    assert done.returncode == 0, done.stderr.decode()
    there = pickle.loads(done.stdout)
    for kind, expected in here.items():
        of_saved, of_fitted = there[kind]
        largest = np.abs(expected).max()
        assert_allclose(of_saved, expected, atol=SAME_MODEL * largest, err_msg=kind)
        assert_allclose(of_fitted, expected, atol=SAME_DATA * largest, err_msg=kind)


@pytest.fixture(scope="module", params=TARGETS)
def computed(request):
    """What the build of this name gives."""
    if request.param not in _core.targets():
        pytest.skip(f"this processor does not run {request.param}; it runs {', '.join(_core.targets())}")
    program = (
        "import pickle, sys; from tests.test_instruction_sets import compute; pickle.dump(compute(), sys.stdout.buffer)"
    )
    done = run(request.param, program)
    assert done.returncode == 0, done.stderr.decode()
    found = pickle.loads(done.stdout)
    assert found["target"] == request.param
    return found


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_gram_matrices(computed, kernel):
    X = points()
    expected = kernel.scalar(X[:, None, :], X[None, :, :]).sum(axis=2)
    assert_allclose(computed["gram"][kernel.name], expected, rtol=1e-12)


@pytest.mark.parametrize("n_problems", [1, 3, 6, 10, 27])
@pytest.mark.parametrize("method", METHODS)
def test_contributions(computed, method, n_problems):
    shapes = model(method, n_problems)
    expected = np.stack([shapes.evaluate(j, column) for j, column in enumerate(points().T)], axis=1)
    largest = np.abs(expected).max()
    assert_allclose(computed["contributions"][method, n_problems], expected, atol=1e-5 * largest)


@pytest.mark.parametrize("n_problems", [1, 3, 10, 27])
@pytest.mark.parametrize("method", METHODS)
def test_decision_values(computed, method, n_problems):
    shapes = model(method, n_problems)
    expected = sum(shapes.evaluate(j, column) for j, column in enumerate(points().T))
    assert_allclose(computed["decision"][method, n_problems], expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", FITTED, ids=lambda kernel: kernel.name)
def test_fits(computed, kernel):
    """Within the tolerance of the fit of what this process computes."""
    X, y = digits()
    here = fitted(kernel)
    assert_allclose(computed["objective"][kernel.name], here.objective_.sum(), rtol=0.01)
    assert_allclose(computed["score"][kernel.name], here.score(X, y), atol=0.01)


def test_the_best_is_the_default():
    assert run("", "from kernline import _core; assert _core.target() == _core.targets()[-1]").returncode == 0


@pytest.mark.parametrize("name", ["AVX2", "sse9", *(set(TARGETS) - set(_core.targets()))])
def test_an_unavailable_target_is_refused(name):
    done = run(name, "from kernline import AdditiveSVC")
    assert done.returncode != 0
    message = done.stderr.decode().splitlines()[-1]
    assert f"KERNLINE_TARGET={name} is not available" in message
    assert ", ".join(_core.targets()) in message
