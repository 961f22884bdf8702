"""Approximation analysis against sums written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernline import AdditiveSVC, analysis, kernels, tables


@pytest.fixture
def column():
    rng = np.random.default_rng(0)
    return rng.beta(0.5, 3.0, 300) * (rng.random(300) < 0.7)


@pytest.fixture
def coefficients(column):
    """One class against fourteen, as in PmSVM's figure 1: the curve is monotone."""
    return analysis.random_coefficients(np.where(np.arange(300) % 15 == 0, 1, -1))


def test_exact_curve_is_its_sum(kernel, column, coefficients):
    x = np.array([0.1, 0.5, 1.0])
    curve = analysis.gradient_curve(kernel, "hats", column, coefficients, x)
    expected = [sum(c * kernel.scalar(point, v) for c, v in zip(coefficients, column, strict=True)) for point in x]
    assert_allclose(curve.exact, expected)


@pytest.mark.parametrize(
    "approximation", ["hats", "plame", "pmsvm", "pmsvm-lut", "feature-map", "chebyshev", "low-dim"]
)
def test_every_method_comes_near(column, coefficients, approximation):
    curve = analysis.gradient_curve(kernels.Chi2(), approximation, column, coefficients)
    assert curve.error.max() < 0.1 * np.abs(curve.exact).max()


def test_summary_is_of_the_errors(column, coefficients):
    curve = analysis.gradient_curve(kernels.Chi2(), "hats", column, coefficients)
    summary = curve.summary()
    assert summary["max"] == np.abs(curve.exact - curve.approximate).max()
    assert summary["mean_relative"] <= summary["max_relative"]


def test_a_fitted_models_curve_is_reproduced(histograms):
    """With α of a solution, the approximate curve is the model's own."""
    X, y = histograms
    dense = X.toarray() / X.toarray().max(axis=0)
    from kernline.solvers import DualCD

    from .solvers.test_solver import make_problem

    problem = make_problem(dense, y, tables.Hats().build(kernels.Chi2()), gamma=1.0)
    result = DualCD(tol=1e-3, seed=0).solve(problem)
    curve = analysis.gradient_curve(kernels.Chi2(), "hats", dense[:, 3], result.beta, [0.2, 0.9])
    model = AdditiveSVC(gamma=1.0, random_state=0).fit(dense, y)
    shapes = type(model.shapes_)(model.shapes_.encoder, problem.pair.read, result.weights[None], np.zeros(1))
    assert_allclose(shapes.evaluate(3, [0.2, 0.9])[:, 0], curve.approximate, atol=1e-4)


def test_error_table(column, coefficients):
    methods = {f"degree {m}": tables.PolynomialGradient(m) for m in (2, 3)}
    rows = analysis.error_table(kernels.Chi2(), methods, {"a": column}, coefficients)
    assert [row["method"] for row in rows] == ["degree 2", "degree 3"]


def test_bad_values(column):
    with pytest.raises(ValueError, match="one coefficient per value"):
        analysis.gradient_curve(kernels.Chi2(), "hats", column, [1.0])
    with pytest.raises(ValueError, match=r"values must lie in \[0, 1\]; got 0 to 3"):
        analysis.gradient_curve(kernels.Chi2(), "hats", [0.0, 3.0], [1.0, 1.0])
