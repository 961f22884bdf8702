"""README.md and the pages of the site, taken literally: their Python and their commands are run."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from . import snippets

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("**/*.md"))] if DOCS.is_dir() else [ROOT / "README.md"]
# gallery.md is written from code that tests/test_examples.py runs.
WITH_CODE = [path for path in PAGES if path.name != "gallery.md" and snippets.blocks(path.read_text(encoding="utf-8"))]

# Parts of the library that not every installation has.
NEEDS = {"large.md": ("kernline.mapped",), "cluster.md": ("distributed", "kernline.dask")}


@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("typer", "pyarrow", "onnx", "bokeh", "matplotlib", "pandas")),
    reason="needs kernline[cli,io,onnx,plot,report] and pandas",
)
@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_page(path, tmp_path, monkeypatch):
    import matplotlib as mpl

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    for module in NEEDS.get(path.name, ()):
        if find_spec(module) is None:
            pytest.skip(f"needs {module}")
    assert snippets.run(path.read_text(encoding="utf-8"), path.name, tmp_path) > 0


@pytest.mark.skipif(not DOCS.is_dir(), reason="the source distribution has no docs")
def test_pages_with_code_are_found():
    names = {path.name for path in WITH_CODE}
    assert {"README.md", "start.md", "words.md", "tables.md", "coming-from.md", "command-line.md"} <= names


class TestRunner:
    """The runner itself fails where a page would mislead."""

    def test_wrong_output_of_python(self, tmp_path):
        with pytest.raises(AssertionError, match="Expected"):
            snippets.run("```python\n>>> 1 + 1\n3\n```\n", "page", tmp_path)

    def test_wrong_output_of_a_command(self, tmp_path):
        with pytest.raises(AssertionError, match="printed"):
            snippets.run("```console\n$ echo one\ntwo\n```\n", "page", tmp_path)

    def test_commands_that_fail(self, tmp_path):
        with pytest.raises(AssertionError, match="false"):
            snippets.run("```console\n$ false\n```\n", "page", tmp_path)

    def test_blocks_share_names_and_the_folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        page = "```python\nx = 2\nopen('f', 'w').write('two')\n```\n```console\n$ cat f\ntwo\n```\n"
        assert snippets.run(page + "```python\n>>> x\n2\n```\n", "page", tmp_path) == 3
