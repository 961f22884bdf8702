"""The version is stated once; the manual page is that of the command line."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

import kernline

ROOT = Path(__file__).parents[2]


def test_one_version():
    assert version("kernline") == kernline.__version__
    assert f"\nversion: {kernline.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    latest = re.search(r"^## (\S+)", changes, flags=re.MULTILINE)
    assert latest is not None
    assert latest[1] == kernline.__version__


def test_the_manual_page_is_up_to_date():
    """Compared by names and texts: how typer shows the type of a value differs between its versions."""
    pytest.importorskip("typer")
    from tools import command_help

    page = (ROOT / "man" / "kernline.1").read_text(encoding="utf-8")
    for one in command_help.helps():
        assert command_help._roff(one.name) in page
        for options in one.groups.values():
            for option, text in options:
                name = option.split(" ")[0].rstrip(",")
                words = text.split("  [")[0]
                assert command_help._roff(name) in page, f"{option}: run make man"
                assert command_help._roff(words) in page, f"{one.name} {option}: run make man"
