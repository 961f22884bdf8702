"""A headless Chromium of the system, driven by playwright. Nothing is downloaded."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing() -> str | None:
    """What has to be installed first; None if a browser can be started."""
    if importlib.util.find_spec("playwright") is None:
        return "the package playwright is not installed (kernline[dev])"
    if not any(map(shutil.which, _NAMES)):
        return f"no browser: none of {', '.join(_NAMES)} is installed"
    return None


@contextmanager
def browser() -> Iterator[Any]:
    """A browser with a new, empty profile, as a context of playwright."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, _NAMES)))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            profile, executable_path=path, args=_FLAGS, viewport={"width": 1400, "height": 900}
        )
        try:
            yield context
        finally:
            context.close()
