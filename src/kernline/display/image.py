"""ImageDisplay: a model whose features are pixels, each class as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Array, MatrixLike
from . import style
from .model_parts import ModelParts, model_parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PICTURES = 20


@dataclass
class ImageDisplay:
    """For each class, what every pixel adds to its score.

    Attributes
    ----------
    images : (n_pictures, height, width).
    class_names : the class of each picture.
    what : what a pixel's colour means.
    figure_ : the figure; axes_ : one axes per picture.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernline import AdditiveSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AdditiveSVC("chi2").fit(X[:300], y[:300])
    >>> from kernline.display import ImageDisplay
    >>> ImageDisplay.from_estimator(model).images.shape
    (10, 8, 8)
    """

    images: Array
    class_names: Sequence[str]
    what: str

    figure_: Figure | None = None
    axes_: list[Axes] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        shape: tuple[int, int] | None = None,
        X: MatrixLike | None = None,
        *,
        classes: Sequence[object] | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        columns: int = 5,
    ) -> ImageDisplay:
        """Draw a fitted model of pixels.

        Parameters
        ----------
        shape : height and width of a picture, whose pixels are the features row by row; by default a square.
        X : rows to explain: a picture is then the mean contribution of each pixel over these rows. By default it is
            the difference between the highest and the lowest value of the pixel, such as ink and paper.
        classes : the classes to draw; by default all, or the first twenty.
        """
        parts = model_parts(estimator, cls.__name__)
        height, width = _size(parts.shapes.n_features, shape)
        names = parts.problem_names
        n_all = min(len(names), _MOST_PICTURES)
        problems = list(range(n_all)) if classes is None else [parts.problem(name) for name in classes]
        values = _contrast(parts) if X is None else _mean_contribution(parts, X)
        what = f"effect of a high value on the {parts.outcome}" if X is None else "mean contribution"
        images = values[:, problems].T.reshape(-1, height, width)
        return cls(images, [names[p] for p in problems], what).plot(ax, columns=columns)

    def plot(self, ax: Axes | Sequence[Axes] | None = None, *, columns: int = 5) -> ImageDisplay:
        """Draw on `ax`, one axes for each picture, or on a new figure."""
        n, (height, width) = len(self.images), self.images.shape[1:]
        if ax is None:
            ratio = min(max(height / width, 0.4), 2.5)
            self.figure_, self.axes_ = style.grid_of_axes(n, columns, (1.5, 1.5 * ratio + 0.25))
        else:
            self.axes_ = style.given_axes(ax, n, "ImageDisplay")
            self.figure_ = style.figure_of(self.axes_[0])
        largest = float(np.abs(self.images).max(initial=0.0)) or 1.0
        for axes, image, name in zip(self.axes_, self.images, self.class_names, strict=True):
            picture = axes.imshow(image, cmap=style.diverging(), vmin=-largest, vmax=largest, interpolation="nearest")
            axes.set_xticks([])
            axes.set_yticks([])
            axes.set_title(style.shown(name, 14), fontsize=9.5, parse_math=False)
        bar = style.figure_of(self.axes_[0]).colorbar(picture, ax=self.axes_, shrink=0.8, aspect=25)
        bar.set_label(self.what, fontsize=8)
        bar.ax.tick_params(labelsize=8)
        style.few_ticks(bar.ax.yaxis)
        return self


def _size(n_features: int, shape: tuple[int, int] | None) -> tuple[int, int]:
    """Height and width, checked."""
    if shape is None:
        side = math.isqrt(n_features)
        if side * side != n_features:
            raise ValueError(
                f"ImageDisplay: the model has {n_features} features, which is not the number of pixels of a square. "
                "Pass shape=(height, width)."
            )
        shape = (side, side)
    if len(shape) != 2 or shape[0] * shape[1] != n_features:
        raise ValueError(
            f"ImageDisplay: shape={tuple(shape)} has {math.prod(shape)} pixels, and the model has "
            f"{n_features} features. Pass shape=(height, width)."
        )
    return int(shape[0]), int(shape[1])


def _contrast(parts: ModelParts) -> Array:
    """f_j at the highest value of a pixel minus f_j at the lowest, (n_features, n_problems)."""
    encoder = parts.shapes.encoder
    if not encoder.is_number.all():
        names = parts.columns(int(np.argmin(encoder.is_number)))
        raise ValueError(f"ImageDisplay: feature {names[0]!r:.80} is a category, not a pixel. Leave it out.")
    if encoder.numbers == "rank":
        low, high = encoder.edges[encoder.edge_start[:-1]], encoder.edges[encoder.edge_start[1:] - 1]
    else:
        units = np.tile([0.0, 1.0], (encoder.n_features, 1))
        if not encoder.clips and parts.shapes.training is not None:  # values are kept as they are
            units = parts.shapes.training.cells.ranges[: encoder.n_features]
        varies = encoder.factors > 0.0
        steps = np.where(varies, 1.0 / np.where(varies, encoder.factors, 1.0), 0.0)
        low, high = encoder.offsets + units[:, 0] * steps, encoder.offsets + units[:, 1] * steps
    # Two rows are explained: a curve for each of 60,000 pixels would take half a minute.
    found = parts.shapes.with_names(None).explain(np.stack([low, high])).values
    assert not isinstance(found, list)
    return (found[1] - found[0])[: parts.shapes.n_features].astype(np.float64)


def _mean_contribution(parts: ModelParts, X: MatrixLike) -> Array:
    shapes = parts.model.shapes_
    found = shapes.explain(parts.rows(X))
    if isinstance(found.values, list):
        values = np.stack([np.asarray(part.mean(axis=0)).ravel() for part in found.values], axis=1)
    else:
        values = np.asarray(found.values).mean(axis=0)
    return values[: shapes.n_features]
