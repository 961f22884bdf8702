"""Export models for other programs: as ONNX, as C, and as tables of the curves."""

from .c_header import to_c
from .curves import to_csv, to_json
from .onnx_graph import to_onnx

__all__ = ["to_c", "to_csv", "to_json", "to_onnx"]
