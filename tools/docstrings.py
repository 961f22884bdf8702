"""Checks the docstrings of the API reference with numpydoc: ``python -m tools.docstrings``.

A name is public if docs/api/index.rst lists it. It has a summary, its parameters, what it returns, and an example,
which the tests run; its public methods have a docstring. Objects that only the library makes, such as displays, explain
their attributes instead of parameters.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from numpydoc.validate import Validator, validate

_REFERENCE = Path(__file__).parents[1] / "docs" / "api" / "index.rst"
# No docstring or summary; parameters missing or unknown; no return value, yielded value or example.
_CHECKS = {"GL08", "SS01", "PR01", "PR02", "RT01", "YD01", "EX01"}
_MADE_BY_THE_LIBRARY = re.compile(r"kernline\.(display\.\w+|shapes\.[A-Z]\w+|ShapeFunctions|io\.(Data|LevelTable))")


def public_names() -> list[str]:
    """The names in the reference."""
    listed = re.findall(r"^   ([\w.]+)$", _REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [f"kernline.{name}" for name in listed]


def failures() -> Iterator[str]:
    """What is missing, with the name that misses it."""
    for name in public_names():
        for code, text in validate(name)["errors"]:
            if code in _CHECKS and not (code == "PR01" and _MADE_BY_THE_LIBRARY.fullmatch(name)):
                yield f"{name}: {code} {text}"
        found = Validator._load_obj(name)
        if inspect.isclass(found):
            for method, value in vars(found).items():
                if not method.startswith("_") and callable(value) and not inspect.getdoc(getattr(found, method)):
                    yield f"{name}.{method}: no docstring"


def main() -> None:
    """Print all failures; the exit code is 1 if there are any."""
    found = list(failures())
    print("\n".join(found) or f"{len(public_names())} public names have complete docstrings")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
