"""Pictures of models, drawn with matplotlib (``pip install 'kernline[plot]'``).

Displays follow scikit-learn's convention: ``SomeDisplay.from_estimator(model, ...)`` collects the data and draws it,
``display.plot(ax=...)`` draws it again, ``figure_`` and ``axes_`` are what was drawn on. docs/gallery.md shows each.
"""

from .approximation import ApproximationDisplay
from .contribution import ContributionDisplay
from .convergence import ConvergenceDisplay
from .image import ImageDisplay
from .importance import ImportanceDisplay
from .merge_surface import MergeSurfaceDisplay
from .shape import ShapeDisplay

__all__ = [
    "ApproximationDisplay",
    "ContributionDisplay",
    "ConvergenceDisplay",
    "ImageDisplay",
    "ImportanceDisplay",
    "MergeSurfaceDisplay",
    "ShapeDisplay",
]
