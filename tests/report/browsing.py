"""A headless Chromium of the system. Nothing is downloaded."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def browser():
    """A browser with a new profile, as a context of playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (kernline[dev])")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, playwright.sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            profile, executable_path=path, args=FLAGS, viewport={"width": 1400, "height": 900}
        )
        yield context
        context.close()


class Opened:
    """A page, and everything that the browser reported about it."""

    def __init__(self, context, path: Path) -> None:
        self.page = context.new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.messages.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_function("document.documentElement.dataset.ready", timeout=20_000)

    def see_all(self) -> None:
        """Scroll through the page, so that every chart is drawn."""
        self.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.page.wait_for_timeout(200)

    def scores(self) -> list[float]:
        """The decision values under "What if", as the page computed them."""
        return self.page.evaluate("JSON.parse(document.getElementById('row-decision').dataset.scores)")

    def outside(self) -> list[str]:
        """Requests that leave the page."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]


@contextmanager
def opened(context, path: Path) -> Iterator[Opened]:
    """Open a page, and close it."""
    page = Opened(context, path)
    try:
        yield page
    finally:
        page.page.close()
