"""The public way from values to a solution: encode, state the problem, solve."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernline import AdditiveSVC, kernels, losses
from kernline.randomness import random_of, seed_from
from kernline.solvers import DualCD
from kernline.solvers.certificate import certify
from kernline.training import AdditiveSettings, Intercept, encode
from kernline.validation import Names


@pytest.mark.parametrize("approximation", ["hats", "plame", "pmsvm", "feature-map"])
def test_the_three_steps_are_what_an_estimator_does(digits, approximation):
    X, y = digits
    signs = np.where(y == 3, 1.0, -1.0)
    seed = seed_from(random_of(7))
    settings = AdditiveSettings(kernels.Chi2(), approximation, seed=seed)
    result = DualCD(0.01, seed=seed).solve(encode(X, settings).problem(signs, np.full(len(y), 2.0)))
    model = AdditiveSVC("chi2", approximation, C=2.0, random_state=7).fit(X, signs)
    assert_array_equal(model.shapes_.weights[0], result.weights)
    assert model.intercept_[0] == result.intercept


@pytest.mark.parametrize("loss", ["log", "squared_error", "epsilon_insensitive"])
def test_losses_that_no_estimator_offers(digits, loss):
    X, y = digits
    rows = encode(X[:300], AdditiveSettings(kernels.Intersection(), loss=losses.get(loss), intercept=Intercept(False)))
    targets = np.where(y[:300] == 3, 1.0, -1.0)
    problem = rows.problem(targets, np.ones(300))
    assert problem.intercept_square == 0.0
    result = DualCD(1e-3).solve(problem)
    assert certify(problem, result.beta).gap <= 1.01e-3 * result.primal


def test_part_of_the_rows(digits):
    X, y = digits
    signs, members = np.where(y == 3, 1.0, -1.0), np.arange(0, 400, 2, dtype=np.int32)
    rows = encode(X[:400], AdditiveSettings(kernels.Chi2(), gamma=1.0))
    part = encode(X[:400:2], AdditiveSettings(kernels.Chi2(), gamma=1.0))
    problem = rows.problem(signs[members], np.ones(200), members)
    assert_array_equal(problem.curvature - problem.intercept_square, rows.norms[members] - rows.intercept_square)
    assert problem.n_rows == part.data.n_rows == 200


def test_messages_have_the_names_of_columns():
    X = np.array([[1.0, -2.0], [2.0, 3.0]])
    with pytest.raises(ValueError, match="column 'age' has minimum -2"):
        encode(X, AdditiveSettings(kernels.Chi2()), names=Names("AdditiveSVC", np.array(["height", "age"])))
    with pytest.raises(ValueError, match="column 1 has minimum -2"):
        encode(X, AdditiveSettings(kernels.Chi2()))
