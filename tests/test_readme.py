"""README.md, taken literally: its Python is run from top to bottom, and its commands in a shell."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
needs_all = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("typer", "pyarrow", "onnx", "bokeh", "matplotlib", "pandas")),
    reason="needs kernline[cli,io,onnx,plot,report] and pandas",
)


@needs_all
def test_python(tmp_path):
    """One program of all blocks, in a process of its own: no name is there that README does not import."""
    blocks = re.findall(r"^```python\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 4
    ended = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert sorted(os.listdir(tmp_path)) == ["digits.h", "digits.kern", "digits.onnx"]


@needs_all
def test_commands(tmp_path):
    section = README.partition("## From the command line")[2].partition("## ")[0]
    commands = re.findall(r"^    kernline .*", section, flags=re.MULTILINE)
    assert len(commands) >= 8
    script = "\n".join(["set -e", f'kernline() {{ "{sys.executable}" -m kernline "$@"; }}', *commands])
    ended = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    accuracy = re.search(r"# (Accuracy = .*?\)),", README)
    assert accuracy is not None
    assert accuracy.group(1) in ended.stdout
    assert (tmp_path / "model.onnx").stat().st_size > 0


@needs_all
def test_options_that_are_named(tmp_path):
    """Habits of LIBLINEAR's users that README promises."""
    script = (
        f'kernline() {{ "{sys.executable}" -m kernline "$@"; }}\nset -e\n'
        "kernline convert @digits d.svm\nkernline train -v 5 d.svm\nkernline train -C -v 2 d.svm\n"
        "kernline train -B 1 -w1 2 d.svm m.kern\nkernline predict d.svm m.kern out.txt\n"
    )
    ended = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Cross Validation Accuracy = 9" in ended.stdout
    assert "Best C = " in ended.stdout
