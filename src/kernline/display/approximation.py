"""ApproximationDisplay: a curve of the exact kernel, and what methods make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels
from ..analysis import GradientCurve, gradient_curve, random_coefficients
from ..array_types import Array, MatrixLike, is_sparse
from ..encoding.terms import NumberTerm
from ..kernels import AdditiveKernel
from ..shapes.names import number_of
from ..tables import Approximation
from . import style
from .model_parts import model_parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass
class ApproximationDisplay:
    """g_j(x) = Σ_t α_t y_t k(x, x_tj) exactly, as a broad grey line, and its approximations (kernline.analysis).

    Attributes
    ----------
    curves : a `GradientCurve` for each method.
    figure_, axes_ : the figure and the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVC("chi2").fit(X[:300], y[:300])
    >>> from kernline.display import ApproximationDisplay
    >>> display = ApproximationDisplay.from_estimator(model, X[:300], y[:300], feature=20, methods={"hats": "hats"})
    >>> len(display.curves)
    1
    """

    curves: Mapping[str, GradientCurve]

    figure_: Figure | None = None
    axes_: Axes | None = None

    @classmethod
    def from_methods(
        cls,
        kernel: AdditiveKernel,
        methods: Mapping[str, str | Approximation],
        values: ArrayLike,
        coefficients: ArrayLike,
        x: ArrayLike | None = None,
        *,
        ax: Axes | None = None,
    ) -> ApproximationDisplay:
        """Draw the curves of several methods; the other arguments are those of `analysis.gradient_curve`."""
        curves = {name: gradient_curve(kernel, method, values, coefficients, x) for name, method in methods.items()}
        return cls(curves).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: MatrixLike,
        y: ArrayLike,
        feature: int | str = 0,
        *,
        methods: Mapping[str, str | Approximation] | None = None,
        ax: Axes | None = None,
    ) -> ApproximationDisplay:
        """Draw one feature's curve with the kernel and the approximation of a fitted model, or with other `methods`.

        The coefficients are random, with the sign of the first label in `y` against the others (`random_coefficients`).
        The feature is a number; its values are scaled to [0, 1] as the model scales them.
        """
        parts = model_parts(estimator, cls.__name__)
        model, column = parts.model, number_of(parts.shapes, feature, cls.__name__)
        number = parts.shapes.encoder.number(column) if column < parts.shapes.n_features else None
        if number is None:
            raise ValueError(f"ApproximationDisplay: feature {feature!r:.80} is not a number.")
        rows = parts.rows(X)
        if is_sparse(rows):
            values = rows.tocsr()[:, [column]].toarray().ravel()
        else:
            values = np.asarray(rows.iloc[:, column] if hasattr(rows, "iloc") else np.asarray(rows)[:, column])
        labels = np.asarray(y)
        if methods is None:
            name = model.approximation if isinstance(model.approximation, str) else type(model.approximation).__name__
            methods = {name: model.approximation}
        kernel = kernels.get(model.kernel_, model.p)
        coefficients = random_coefficients(np.where(labels == labels[0], 1.0, -1.0))
        return cls.from_methods(kernel, methods, _units(number, values.astype(np.float64)), coefficients, ax=ax)

    def plot(self, ax: Axes | None = None) -> ApproximationDisplay:
        """Draw on `ax`, or on a new figure."""
        if not self.curves:
            raise ValueError("ApproximationDisplay: there are no curves to draw. Pass at least one.")
        self.axes_ = axes = style.axes_for(ax, (5.0, 3.5))
        self.figure_ = style.figure_of(axes)
        first = next(iter(self.curves.values()))
        handles = axes.plot(first.x, first.exact, color="0.8", linewidth=6, solid_capstyle="round")
        for k, curve in enumerate(self.curves.values()):
            handles += axes.plot(curve.x, curve.approximate, **style.line_look(k))
        axes.set_xlabel("feature value", fontsize=9)
        axes.set_ylabel("g", fontsize=9)
        axes.tick_params(labelsize=8)
        style.class_legend(axes, handles, ["exact", *self.curves], on_figure=False)
        return self


def _units(number: NumberTerm, values: Array) -> Array:
    """Values of a number as the model scales them to [0, 1]."""
    if number.points is not None:
        return np.interp(values, *number.points)
    return np.clip((values - number.offset) * number.factor, 0.0, 1.0)
