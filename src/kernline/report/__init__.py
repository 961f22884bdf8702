"""Reports: one HTML page about a fitted model. The module itself can be called: ``kernline.report(model, X, y, path)``.

Importing a module of this package makes `kernline.report` the package, so it must do what the function does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import ModuleType

from numpy.typing import ArrayLike

from ..array_types import MatrixLike
from .writing import report

__all__ = ["report"]


class _Callable(ModuleType):
    def __call__(
        self,
        model: object,
        X: MatrixLike,
        y: ArrayLike | Sequence[object],
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        source: str | None = None,
    ) -> None:
        report(model, X, y, path, title=title, source=source)

    __call__.__doc__ = report.__doc__


sys.modules[__name__].__class__ = _Callable
