"""The corpora of the native fuzzers (`make fuzz`), replayed without sanitizers. Each target checks its results."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUZZ = ROOT / "tests" / "fuzz"
TARGETS = ("svmlight", "encode", "products", "descent", "budgeted")
COMPILER = shutil.which("c++")
OPTIONS = ["-std=c++20", "-O0", "-Wno-psabi", "-DKERNLINE_TARGET=baseline", f"-I{ROOT / 'native'}", f"-I{FUZZ}"]


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
def test_corpora(tmp_path):
    subprocess.run([COMPILER, *OPTIONS, "-c", ROOT / "native/loops/loops.cpp", "-o", tmp_path / "loops.o"], check=True)
    for target in TARGETS:
        corpus = sorted((FUZZ / target).iterdir())
        sources = [FUZZ / f"{target}.cpp", FUZZ / "replay.cpp", tmp_path / "loops.o"]
        subprocess.run([COMPILER, *OPTIONS, *sources, "-o", tmp_path / target, "-pthread"], check=True)
        done = subprocess.run([tmp_path / target, *corpus], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), target
        assert done.stdout == f"{len(corpus)} inputs\n"
