"""Data in: files of the usual formats, plain or compressed, to what the estimators take."""

from .reading import FORMATS, Data, read

__all__ = ["FORMATS", "Data", "read"]
