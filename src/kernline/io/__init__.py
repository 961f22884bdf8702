"""Data files of the usual formats, plain or compressed: read them as arrays for the estimators, and write them.

Formats register themselves when their files are imported. `register_format` adds one from another package.
"""

from ..encoding import LevelTable
from . import arrays, arrow, delimited, svmlight  # noqa: F401
from .formats import FORMATS, BadLines, Data, Format, ReadSettings, format_of, register_format
from .reading import read
from .streams import Source
from .writing import write

__all__ = [
    "FORMATS",
    "BadLines",
    "Data",
    "Format",
    "LevelTable",
    "ReadSettings",
    "Source",
    "format_of",
    "read",
    "register_format",
    "write",
]
