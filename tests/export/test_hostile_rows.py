"""A few models of the fuzzer of exports (`make fuzz-exports`)."""

import shutil

import pytest

from ..fuzz.exports import check


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("seed", range(4))
def test_c_and_onnx_on_hostile_rows(seed, tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is the referee of ONNX files")
    pytest.importorskip("onnx", reason="to_onnx needs onnx")
    assert check(seed, tmp_path) == ""
