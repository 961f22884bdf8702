"""The examples, in their short form, and the gallery: its code is run, and its page is up to date."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

if any(find_spec(name) is None for name in ("matplotlib", "pandas")):
    pytest.skip("needs kernline[plot] and pandas", allow_module_level=True)

import matplotlib as mpl
from matplotlib import image

from examples import drawings, gallery

ROOT = Path(__file__).parents[1]
PICTURES = {
    "words": ["words-curves.png", "words-document.png"],
    "table": ["table-curves.png", "table-importance.png", "table-row.png"],
    "sensors": ["sensors-convergence.png", "sensors-curves.png", "sensors-importance.png"],
    "digits": ["digits-classes.png", "digits-curves.png", "digits-wrong.png"],
}
# What they use where the data is not on this machine.
SUBSTITUTES = {
    "words": "documents of SciPy",
    "table": "using generated customers",
    "sensors": "using simulated windows",
    "digits": "using scikit-learn's digits",
}


@pytest.mark.parametrize("name", PICTURES)
def test_example(name, tmp_path):
    environment = {
        **os.environ,
        "KERNLINE_OFFLINE": "1",
        "KERNLINE_CACHE": str(tmp_path / "cache"),
        "MPLBACKEND": "Agg",
    }
    ended = subprocess.run(
        [sys.executable, "-m", f"examples.{name}", "--quick", "--out", str(tmp_path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert SUBSTITUTES[name] in ended.stdout
    assert sorted(path.name for path in tmp_path.glob("*.png")) == PICTURES[name]
    accuracy = float(ended.stdout.partition("accuracy")[2].partition(" %")[0].split()[-1])
    assert 60.0 < accuracy <= 100.0


def test_gallery_draws_every_display(tmp_path):
    mpl.use("Agg")
    files = list(gallery.draw(tmp_path))
    assert [file.stem for file in files] == [one.name for one in gallery.PICTURES]
    for file in files:
        assert image.imread(file).std() > 0.02  # not blank
    from kernline import display

    code = "".join(one.code for one in gallery.PICTURES)
    assert [name for name in display.__all__ if f"{name}.from_estimator" not in code] == []


@pytest.mark.skipif(not gallery.DOCS.is_dir(), reason="the source distribution has no docs")
def test_gallery_page_is_up_to_date():
    assert (gallery.DOCS / "gallery.md").read_text(encoding="utf-8") == gallery.page()
    used = {f"{one.name}.png" for one in gallery.PICTURES} | {"mnist.png"}
    files = {file.name: file.stat().st_size for file in (gallery.DOCS / "images").iterdir()}
    assert set(files) == used
    assert max(files.values()) < 100_000
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "docs/images/mnist.png" in readme


@pytest.mark.parametrize("name", ["choosing", "kernels", "hats", "gap"])
def test_drawings(name, tmp_path):
    mpl.use("Agg")
    file = gallery.write(drawings.DRAWINGS[name](), tmp_path / "drawing.png")
    assert image.imread(file).std() > 0.02


@pytest.mark.skipif(not drawings.FOLDER.is_dir(), reason="the source distribution has no docs")
def test_drawings_are_those_of_the_pages():
    files = {file.stem: file.stat().st_size for file in drawings.FOLDER.iterdir()}
    assert set(files) == set(drawings.DRAWINGS)
    assert max(files.values()) < 100_000
    pages = "".join(
        (gallery.DOCS / name).read_text(encoding="utf-8") for name in ("choosing.md", "how-it-works.md", "start.md")
    )
    assert all(f"(drawings/{name}.png)" in pages for name in files)
