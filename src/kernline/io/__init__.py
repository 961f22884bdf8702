"""Data in and out: files of the usual formats, plain or compressed, to what the estimators take, and back."""

from .reading import FORMATS, TABLES, Data, format_of, read
from .writing import write

__all__ = ["FORMATS", "TABLES", "Data", "format_of", "read", "write"]
