"""Reports: one HTML page about a fitted model. The module itself can be called: ``kernline.report(model, X, y, path)``.

Importing a module of this package makes `kernline.report` the package, so it must do what the function does.
"""

import sys
from types import ModuleType

__all__ = ["report"]


class _Callable(ModuleType):
    def __call__(self, *args: object, **options: object) -> None:
        from .writing import report

        report(*args, **options)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> object:
        if name != "report":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .writing import report

        return report


sys.modules[__name__].__class__ = _Callable
