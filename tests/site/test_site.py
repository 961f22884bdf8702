"""The built site: no warning, no broken link, no error in a browser, no page wider than a telephone."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from benchmarks.browser import missing

ROOT = Path(__file__).parents[2]
if not (ROOT / "docs").is_dir():
    pytest.skip("the source distribution has no docs", allow_module_level=True)
if any(find_spec(name) is None for name in ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme")):
    pytest.skip("needs kernline[docs]", allow_module_level=True)
soupsieve = pytest.importorskip("soupsieve")
try:
    soupsieve.compile("li")
except soupsieve.SelectorSyntaxError:  # seen with Python 3.11.2, whose regular expressions have a bug
    pytest.skip("Sphinx's theme does not work with this version of Python", allow_module_level=True)


def build(folder):
    """Build the site."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(folder)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_site(tmp_path, request):
    """One test, as the site takes half a minute to build, and tests of a file may run in several processes."""
    build(tmp_path)
    pages = pages_of(tmp_path)
    check_links(tmp_path, pages)
    check_hosts(pages)
    check_reference(tmp_path)
    lacking = missing()
    if lacking is not None:
        pytest.skip(f"all but the pages in a browser was checked: {lacking}")
    check_in_browser(request.getfixturevalue("chromium"), tmp_path, pages)


def pages_of(site):
    """All pages, without the files of the theme."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


class _Page(HTMLParser):
    """The links, pictures and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors.add(given.get("id") or "")
        for name in ("href", "src"):
            if given.get(name) and tag in ("a", "img", "link", "script"):
                self.links.append(str(given[name]))


def check_links(site, paths):
    """Links and pictures lead to files that exist, and to headings in these."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in paths}
    assert len(pages) > 60
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                if parts.scheme not in ("https", "mailto", "data"):
                    broken.append(f"{path.relative_to(site)}: {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor_missing = parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors
            if not target.exists() or anchor_missing:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def check_hosts(pages):
    """Nothing is loaded from other hosts."""
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert 'src="http' not in text, path
        assert 'rel="stylesheet" href="http' not in text, path


def check_reference(site):
    """Every public name has a page."""
    from tools.docstrings import public_names

    for name in public_names():
        assert (site / "api" / "generated" / f"{name}.html").exists(), name


def check_in_browser(chromium, site, pages):
    """Every page at 400 pixels: no error on the console, no request that leaves it, nothing wider than the window."""
    found = []
    page = chromium.new_page()
    page.set_viewport_size({"width": 400, "height": 800})
    page.on("console", lambda message: found.append(f"{page.url}: {message.text}") if message.type != "log" else None)
    page.on("pageerror", lambda error: found.append(f"{page.url}: {error}"))
    page.on(
        "request", lambda request: None if request.url.startswith(("file:", "data:")) else found.append(request.url)
    )
    for path in pages:
        page.goto(path.as_uri())
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 400:
            found.append(f"{path.relative_to(site)}: {width} pixels wide")
    page.close()
    assert found == []
